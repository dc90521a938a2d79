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

/// What is shorter, and stands where no token is to be, is a name: a token has 22 signs.
const LEAST_TOKEN: usize = 16;

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
    note_lost(write(&mut out).and_then(|()| out.flush()));
}

/// What was said to standard output may not have been written.
pub(crate) fn note_lost(written: io::Result<()>) {
    if let Err(cause) = written
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
    let all = problem.chain().map(told).fold(String::new(), |before, cause| match before.as_str() {
        "" => cause,
        _ if before.contains(&cause) => before,
        _ => format!("{before}: {cause}"),
    });
    without_tokens(&all)
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
pub(crate) fn printable(lines: &str) -> String {
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

/// A name as a terminal may show it, in which a line may end.
pub(crate) fn in_one_line(name: &str) -> String {
    printable(name).replace('\n', "\\u000a")
}

/// The text without what stands between `://` and `@`, unless it is the word that examples have there, and without tokens of URLs of which one of the
/// two is missing.
fn without_tokens(text: &str) -> String {
    let words = text.split_inclusive(char::is_whitespace);
    words.map(|word| if word.contains("://") { without_secret(word) } else { without_bare_token(word) }).collect()
}

/// A word that has URLs in it.
fn without_secret(word: &str) -> String {
    let (mut safe, mut rest) = (String::new(), word);
    while let Some((before, after)) = rest.split_once("://") {
        safe = safe + before + "://";
        let secret = match after.rfind('@') {
            Some(end) => &after[..end],
            None => cut_off(before, after),
        };
        safe += if secret.is_empty() || secret == "TOKEN" { secret } else { "..." };
        rest = &after[secret.len()..];
    }
    safe + rest
}

/// What may be the token of a RIPP URL that ends behind it: no host, for that has a port.
fn cut_off<'a>(scheme: &str, after: &'a str) -> &'a str {
    let end = after.find(|sign| !is_of_token(sign)).unwrap_or(after.len());
    let goes_on = after[end..].strip_prefix([':', '.']).is_some_and(|rest| rest.starts_with(is_of_token));
    if scheme.ends_with("ripp") && end >= LEAST_TOKEN && !goes_on { &after[..end] } else { "" }
}

/// A word in which a token stands before an `@`, and no scheme before that.
fn without_bare_token(word: &str) -> String {
    let Some((before, behind)) = word.split_once('@') else { return word.to_owned() };
    let first = before.trim_end_matches(is_of_token);
    if before.len() - first.len() < LEAST_TOKEN { word.to_owned() } else { format!("{first}...@{behind}") }
}

fn is_of_token(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || "-_".contains(sign)
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
        let token = "MDEyMzQ1Njc4OWFiY2RlZg";
        for broken in [
            "T@host:1/x#F",
            "ripp:/T@host:1",
            "ripp:T@h",
            "'ripp://T @host:1/x'",
            "ripp://T",
            "ripp://T: no such",
            "ripp:// T@h:1",
            "é/T@h",
        ] {
            let (told, expected) = (broken.replace('T', token), broken.replace('T', "..."));
            assert_eq!(without_tokens(&told), expected);
            assert_eq!(without_tokens(&expected), expected);
        }
        for name in [
            "see https://example.org/ or a@b",
            "ripp://host",
            "ripp://a-long-name-of-a-host:4000/x",
            "ripp://a-long-name-of-a-host.org",
            "s3://a-long-name-of-a-bucket/x",
            "run@12/x.npy user@host:x",
        ] {
            assert_eq!(without_tokens(name), name);
        }
    }
}
