//! The log of what was asked of a simulation, as a file: a line of JSON for each action once it is known what came of it. A later run that is
//! given the file does the same before the same steps.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use visapult_volume::StepIndex;

use crate::error::FlowError;
use crate::steering::{Action, Logged, Parameter};

/// Lines that may wait for a slow disk.
const MOST_WAITING: usize = 1024;
/// Longest log that is read.
const MOST_BYTES: u64 = 64 << 20;
/// Longest line of it.
const MOST_LINE: usize = 4096;

/// Writes the log on a thread of its own: nobody waits for a disk. Dropping it waits until all is written.
#[derive(Debug)]
pub struct SteeringLog {
    lines: Option<SyncSender<String>>,
    thread: Option<JoinHandle<()>>,
}

impl SteeringLog {
    /// Continues the log in `path`, or begins it.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn open(path: &Path) -> Result<Self, FlowError> {
        let failed = |cause: std::io::Error| FlowError::Usage(format!("the steering log {}: {cause}", path.display()));
        let file = OpenOptions::new().append(true).create(true).open(path).map_err(failed)?;
        let (lines, waiting) = sync_channel(MOST_WAITING);
        let name = path.to_owned();
        let thread = thread::Builder::new().name("steering-log".to_owned());
        let thread = thread.spawn(move || write_lines(file, &name, &waiting)).map_err(failed)?;
        Ok(Self { lines: Some(lines), thread: Some(thread) })
    }

    /// Writes an action of which it is known what came of it.
    pub fn write(&self, entry: &Logged) {
        // Whoever has ended with a full disk has said so; a disk that is a thousand actions behind gets no more.
        if let (Some(lines), Ok(line)) = (&self.lines, serde_json::to_string(entry)) {
            let _ = lines.try_send(line + "\n");
        }
    }
}

impl Drop for SteeringLog {
    fn drop(&mut self) {
        self.lines = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn write_lines(mut file: File, path: &Path, lines: &Receiver<String>) {
    for line in lines {
        if let Err(cause) = file.write_all(line.as_bytes()) {
            tracing::warn!("the steering log {} ends here: {cause}; the simulation goes on", path.display());
            return;
        }
    }
}

/// What a log has to be done again: changes and the end, each before its step. That somebody paused changes no value, and is left out.
pub(crate) fn read(path: &Path, parameters: &[Parameter]) -> Result<Vec<(StepIndex, Action)>, FlowError> {
    let shown = path.display();
    let refuse = |why: String| FlowError::Usage(format!("the steering log {shown} cannot be done again: {why}"));
    let file = File::open(path).map_err(|cause| refuse(cause.to_string()))?;
    let mut lines = BufReader::new(file.take(MOST_BYTES + 1));
    let (mut actions, mut line, mut bytes) = (Vec::new(), Vec::new(), 0);
    for number in 1_usize.. {
        line.clear();
        let read = (&mut lines).take(MOST_LINE as u64 + 1).read_until(b'\n', &mut line);
        let read = read.map_err(|cause| refuse(cause.to_string()))?;
        if read == 0 {
            break;
        }
        bytes += read as u64;
        if read > MOST_LINE || bytes > MOST_BYTES {
            return Err(refuse(format!("line {number} is longer than {MOST_LINE} bytes, or all than {MOST_BYTES}")));
        }
        let before = actions.last().map_or(0, |(step, _)| *step);
        let action = replayed(&line, before, parameters).map_err(|why| refuse(format!("line {number}: {why}")))?;
        actions.extend(action);
    }
    Ok(actions)
}

fn replayed(line: &[u8], before: StepIndex, parameters: &[Parameter]) -> Result<Option<(StepIndex, Action)>, String> {
    let entry: Logged = serde_json::from_slice(line).map_err(|cause| cause.to_string())?;
    let Some(at) = entry.at else { return Ok(None) };
    if !matches!(entry.action, Action::Set { .. } | Action::Stop) {
        return Ok(None);
    }
    if let Some(problem) = entry.problem {
        return Err(format!("it was not done as asked: {problem}"));
    }
    if at < before {
        return Err(format!("step {at} comes after step {before}: this is the log of more than one run"));
    }
    entry.action.check(parameters)?;
    Ok(Some((at, entry.action)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::steering::tests::{parameters, set};

    fn entry(action: Action, at: Option<StepIndex>) -> Logged {
        Logged { who: "page 3fA9".to_owned(), unix_s: 1.5, action, at, problem: None }
    }

    #[test]
    fn what_is_logged_is_done_again_but_for_pauses_and_what_was_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("steering.jsonl");
        let log = SteeringLog::open(&path).unwrap();
        log.write(&entry(set("strength", 2.5), Some(4)));
        log.write(&entry(Action::Pause, Some(6)));
        log.write(&entry(set("sources", 7.0), None));
        drop(log);
        // A second back end goes on where the first has ended.
        SteeringLog::open(&path).unwrap().write(&entry(Action::Stop, Some(9)));
        assert_eq!(read(&path, &parameters()).unwrap(), [(4, set("strength", 2.5)), (9, Action::Stop)]);
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 4);
    }

    #[test]
    fn a_full_disk_ends_the_log_and_nothing_else() {
        let log = SteeringLog::open(Path::new("/dev/full")).unwrap();
        (0..3000).for_each(|at| log.write(&entry(Action::Pause, Some(at))));
    }

    #[test]
    fn a_log_that_makes_no_sense_is_refused_with_file_line_and_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wrong.jsonl");
        let line = |action, at| serde_json::to_string(&entry(action, Some(at))).unwrap();
        for (text, expected) in [
            ("{".to_owned(), "line 1: EOF"),
            ("x".repeat(5000), "longer than 4096"),
            (line(set("strength", 11.0), 3), "line 1: strength takes 0 to 10 Pa, not 11"),
            (line(set("colour", 1.0), 3), "no parameter colour"),
            (format!("{}\n{}\n", line(Action::Stop, 9), line(Action::Stop, 3)), "line 2: step 3 comes after step 9"),
        ] {
            fs::write(&path, text).unwrap();
            let said = read(&path, &parameters()).unwrap_err().to_string();
            assert!(said.contains("wrong.jsonl") && said.contains(expected), "{said}");
        }
        let said = read(&folder.path().join("none"), &parameters()).unwrap_err().to_string();
        assert!(said.contains("No such file"), "{said}");
    }
}
