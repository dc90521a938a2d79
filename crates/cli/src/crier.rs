//! Says lines from a thread of its own: whoever has something to say never waits for who reads it.
//!
//! Invariant: no more lines wait than [`MOST_WAITING`] bytes; those that come then are left out and counted, which is said once somebody reads again.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of lines that wait.
const MOST_WAITING: usize = 4 << 20;
/// How long what waits in the end has to be read.
const LAST_PATIENCE: Duration = Duration::from_secs(1);

/// Lines are said to it by any thread.
pub(crate) struct Crier(Arc<Queue>);

#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    lines: VecDeque<String>,
    bytes: usize,
    left_out: u64,
    is_saying: bool,
}

impl Crier {
    /// Whose lines `say` says, which may take as long as it likes; `note` makes a line of how many were left out.
    ///
    /// # Errors
    /// If there is no thread for it.
    pub(crate) fn start(
        say: impl Fn(&str) + Send + 'static,
        note: impl Fn(u64) -> String + Send + 'static,
    ) -> io::Result<Self> {
        let queue = Arc::new(Queue::default());
        let its = Arc::clone(&queue);
        thread::Builder::new().name("crier".to_owned()).spawn(move || its.say_all(&say, &note))?;
        Ok(Self(queue))
    }

    /// Has a line said, unless too many wait.
    pub(crate) fn say(&self, line: String) {
        let mut waiting = self.0.look();
        // What comes behind lines that were left out waits for that to be said.
        if waiting.left_out > 0 || waiting.bytes + line.len() > MOST_WAITING {
            waiting.left_out += 1;
        } else {
            waiting.bytes += line.len();
            waiting.lines.push_back(line);
        }
        self.0.changed.notify_all();
    }

    /// Waits until all is said, a short time at most.
    pub(crate) fn finish(&self) {
        let deadline = Instant::now() + LAST_PATIENCE;
        let mut waiting = self.0.look();
        while waiting.is_saying || !waiting.lines.is_empty() || waiting.left_out > 0 {
            let Some(rest) = deadline.checked_duration_since(Instant::now()) else { return };
            let woken = self.0.changed.wait_timeout(waiting, rest);
            waiting = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Queue {
    fn look(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say_all(&self, say: &dyn Fn(&str), note: &dyn Fn(u64) -> String) {
        let mut waiting = self.look();
        loop {
            let line = if let Some(line) = waiting.lines.pop_front() {
                waiting.bytes -= line.len();
                line
            } else if waiting.left_out > 0 {
                note(std::mem::take(&mut waiting.left_out))
            } else {
                waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            waiting.is_saying = true;
            drop(waiting);
            say(&line);
            waiting = self.look();
            waiting.is_saying = false;
            self.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn nobody_waits_for_a_reader_and_what_is_left_out_is_counted() {
        let (read, reader) = mpsc::sync_channel::<String>(0);
        let say = move |line: &str| drop(read.send(line.to_owned()));
        let crier = Crier::start(say, |count| format!("{count} left out")).unwrap();
        let long = "x".repeat(MOST_WAITING / 4);
        // One is being said, four wait.
        crier.say("first".to_owned());
        let deadline = Instant::now() + Duration::from_secs(60);
        while crier.0.look().bytes > 0 {
            assert!(Instant::now() < deadline, "the first is not said");
            thread::yield_now();
        }
        (0..7).for_each(|_| crier.say(long.clone()));
        let next = || reader.recv().unwrap();
        assert_eq!(next(), "first");
        (0..4).for_each(|_| assert_eq!(next(), long));
        assert_eq!(next(), "3 left out");
        crier.say("last".to_owned());
        assert_eq!(next(), "last");
        crier.finish();
        assert!(crier.0.look().lines.is_empty());
    }
}
