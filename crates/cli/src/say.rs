//! What is said to whoever reads it: one that is gone, a pipe that is closed or a terminal, ends nothing.

use std::io::Write;

/// A line of what a command is for.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Words beside it, as they are.
pub(crate) fn say_beside(text: &str) {
    let mut out = std::io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
