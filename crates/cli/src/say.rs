//! What is said to whoever reads it: one that is gone, a pipe that is closed or a terminal, ends nothing, and what others have named moves no
//! cursor. Nor does a file end it that takes no more; but that is told in the end, for somebody will read it.

use std::error::Error;
use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, LineWriter, Write};
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use visapult_copy::turns;
use visapult_ripp_net::system_reason;

/// What a system says of a terminal that is gone, and of a disk that is broken.
const EIO: i32 = 5;

/// Bytes of a line that are shown as one.
const LONGEST_LINE: usize = 1 << 16;

/// Why the first line that is lost could not be written.
static LOST: OnceLock<io::Error> = OnceLock::new();

/// Standard output is what would be a file.
static GIVEN_AWAY: AtomicBool = AtomicBool::new(false);

/// From here on what is said goes beside standard output, which is what would be a file.
pub(crate) fn give_away() {
    GIVEN_AWAY.store(true, Ordering::Relaxed);
}

pub(crate) fn is_given_away() -> bool {
    GIVEN_AWAY.load(Ordering::Relaxed)
}

/// A line of what a command is for.
pub(crate) fn say(line: &str) {
    let line = printable(line) + "\n";
    if is_given_away() {
        return say_beside(&line);
    }
    pour(|out| out.write_all(line.as_bytes()));
}

/// What would be a file, to standard output.
pub(crate) fn pour(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
    let mut out = output();
    if let Err(cause) = write(&mut out).and_then(|()| out.flush())
        && !is_gone(&cause)
    {
        // Those that follow most often have the same cause.
        let _ = LOST.set(cause);
    }
}

/// Standard output: a program or file gets all bytes as they are, a terminal lines as it may show them.
pub(crate) fn output() -> Box<dyn Write> {
    let out = io::stdout().lock();
    if out.is_terminal() { Box::new(LineWriter::with_capacity(LONGEST_LINE, Printable(out))) } else { Box::new(out) }
}

/// Shows whole lines, as a terminal may.
struct Printable<W>(W);

impl<W: Write> Write for Printable<W> {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        self.0.write_all(printable(&String::from_utf8_lossy(lines)).as_bytes())?;
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Why not all is written that was said, where somebody was to read it.
pub(crate) fn lost() -> Option<&'static io::Error> {
    LOST.get()
}

/// Nobody reads any more.
fn is_gone(cause: &io::Error) -> bool {
    let is_file = || io::stdout().as_fd().try_clone_to_owned().and_then(|out| File::from(out).metadata());
    let is_terminal = cause.raw_os_error() == Some(EIO) && !is_file().is_ok_and(|found| found.is_file());
    cause.kind() == ErrorKind::BrokenPipe || is_terminal
}

/// A line beside it, of the program; where that quotes a URL, as one that was taken for a file, its token is left out.
pub(crate) fn tell(line: &str) {
    say_beside(&format!("visapult: {}\n", printable(&without_tokens(line))));
}

/// What went wrong, and the causes of it that are not in what it says itself.
pub(crate) fn with_causes(problem: &anyhow::Error) -> String {
    let told = |cause: &(dyn Error + 'static)| cause.downcast_ref().map_or_else(|| cause.to_string(), system_reason);
    problem.chain().map(told).fold(String::new(), |before, cause| match before.as_str() {
        "" => cause,
        _ if before.contains(&cause) => before,
        _ => format!("{before}: {cause}"),
    })
}

/// Words beside it, as they are.
pub(crate) fn say_beside(text: &str) {
    let mut out = io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// A line beside it in the place of the last one of these, on a terminal: what does not fit is left out, for the next could not take the place of two.
pub(crate) fn say_in_place(line: &str) {
    // One that does not know its width says 0.
    let known = terminal_size::terminal_size_of(io::stderr()).filter(|(width, _)| width.0 > 0);
    let columns = known.map_or(80, |(width, _)| usize::from(width.0));
    say_beside(&format!("\r{}\x1b[K", fitting(line, columns - 1)));
}

/// As many of the parts of a line, which commas divide, as there is room for: half a number would be another one.
fn fitting(line: &str, room: usize) -> String {
    let mut parts = line;
    while parts.chars().count() > room
        && let Some((before, _)) = parts.rsplit_once(", ")
    {
        parts = before;
    }
    parts.chars().take(room).collect()
}

/// Lines as a terminal may show them: fields, units and files can have any name, and come from anybody. What would move the cursor, or turn the text around it, is written as
/// JSON may write it, in whose strings alone it stands there: names are read from it as they are.
fn printable(lines: &str) -> String {
    let mut shown = String::with_capacity(lines.len());
    for sign in lines.chars() {
        if (sign.is_control() && sign != '\n') || turns(sign) {
            shown += &format!("\\u{:04x}", u32::from(sign));
        } else {
            shown.push(sign);
        }
    }
    shown
}

/// The text without what stands between `://` and `@`, unless it is the word that examples have there.
fn without_tokens(text: &str) -> String {
    let mut safe = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        safe = safe + before + "://";
        let word = after.split(|end: char| end.is_whitespace()).next().unwrap_or_default();
        let token = &word[..word.rfind('@').unwrap_or(0)];
        safe += if token.is_empty() || token == "TOKEN" { token } else { "..." };
        rest = &after[token.len()..];
    }
    safe + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_moves_no_cursor() {
        assert_eq!(printable("a\x1b[2J\u{9b}1m\r\nb"), "a\\u001b[2J\\u009b1m\\u000d\nb");
        let mut shown = Vec::new();
        Printable(&mut shown).write_all(b"1f  \x1b[2J\xff\n").unwrap();
        assert_eq!(String::from_utf8(shown).unwrap(), "1f  \\u001b[2J\u{fffd}\n");
        assert_eq!(printable("a\u{202e}gpj.exe"), "a\\u202egpj.exe");
    }

    #[test]
    fn a_narrow_terminal_shows_whole_parts() {
        let line = "980.0 MB of 2.00 GB, 12 of 400 files, 80.0 Mbit/s, 1:40 min left";
        let shown = [100, line.len(), line.len() - 1, 40, 35, 19, 12, 0].map(|room| fitting(line, room));
        let [most, two, one] = [49, 36, 19].map(|length| &line[..length]);
        assert_eq!(shown, [line, line, most, two, one, one, &line[..12], ""]);
    }

    #[test]
    fn a_cause_is_told_once() {
        use anyhow::Context;
        use visapult_ripp_net::{ControlError, RippUrl, SessionError};
        let full = || io::Error::from_raw_os_error(28);
        let written = anyhow::Error::from(full()).context("cannot write a.png");
        assert_eq!(with_causes(&written), format!("cannot write a.png: {}", full()));
        let token = "ripp://c2hvcnQ@host:1/x".parse::<RippUrl>().context("of the share").unwrap_err();
        let too_many = io::Error::from_raw_os_error(24);
        let lost = anyhow::Error::from(SessionError::from(ControlError::from(too_many)));
        for (told, cause) in [(with_causes(&token), "the token has"), (with_causes(&lost), "the process may have")] {
            assert_eq!(told.matches(cause).count(), 1, "{told}");
            assert!(!told.contains("(os error 24)"), "{told}");
        }
    }

    #[test]
    fn json_says_the_same() {
        let name = serde_json::json!("a\x1b\u{9b}1m\x7f");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&printable(&name.to_string())).unwrap(), name);
    }

    #[test]
    fn tokens_are_not_repeated() {
        let told = "invalid value 'ripp://SECRET@host:99999/perf#F' for '<URL>': in ripp://TOKEN@host:port, x@y";
        let safe = without_tokens(told);
        assert_eq!(safe, "invalid value 'ripp://...@host:99999/perf#F' for '<URL>': in ripp://TOKEN@host:port, x@y");
        assert_eq!(without_tokens("see https://example.org/ or a@b"), "see https://example.org/ or a@b");
    }
}
