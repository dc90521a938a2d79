//! What another computer says, before anybody reads it; what the system says, as people understand it; and where something stands in a text.

use std::io;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// Of what another computer says the beginning, fit for a terminal and a log.
pub(crate) fn printable(said: &str) -> String {
    const MOST: usize = 500;
    said.chars().take(MOST).map(|sign| if sign.is_control() { ' ' } else { sign }).collect()
}

/// The line, from 1, in which the byte at this offset of `text` stands.
#[must_use]
pub fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|&byte| byte == b'\n').count()
}

/// The system's reason, and what to do about it where it is no lack of file descriptors.
pub(crate) fn reason_and(cause: &io::Error, mend: &str) -> String {
    let reason = system_reason(cause);
    if is_lack(cause) { reason } else { format!("{reason}; {mend}") }
}

fn is_lack(cause: &io::Error) -> bool {
    Errno::from_io_error(cause) == Some(Errno::MFILE)
}

/// The system's reason; where a process has no file descriptors left, how many it may have, and what to do.
#[must_use]
pub fn system_reason(cause: &io::Error) -> String {
    if !is_lack(cause) {
        return cause.to_string();
    }
    let most = getrlimit(Resource::Nofile).current.map_or_else(|| "so".to_owned(), |most| most.to_string());
    format!(
        "the process may have {most} files and connections open (ulimit -n), which are too few: start it after ulimit -n 4096"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one() {
        let text = "a\nb\n";
        assert_eq!([0, 1, 2, 4, 9].map(|at| line_of(text, at)), [1, 1, 2, 3, 3]);
    }
}
