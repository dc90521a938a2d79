//! Parts that processes send one another: what came, until it is taken or too old.
//!
//! Invariant: no wait is without end: it ends with its time, with the process that is waited for, and with the back end.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::lock::{lock, unpoisoned};

/// What nobody has taken for so long is not waited for any more.
const KEPT: Duration = Duration::from_secs(120);

/// What has come to this process for work that several do together, by the number of that work.
#[derive(Default)]
pub(super) struct Exchange {
    parts: Mutex<Parts>,
    changed: Condvar,
}

#[derive(Default)]
struct Parts {
    /// By number of the work and rank of the sender.
    came: HashMap<(u64, usize), (Instant, Vec<u8>)>,
    gone: BTreeSet<usize>,
    is_over: bool,
}

impl Exchange {
    /// A part has come.
    pub(super) fn put(&self, number: u64, from: usize, part: Vec<u8>) {
        let now = Instant::now();
        let mut parts = lock(&self.parts);
        parts.came.retain(|_, (came, _)| now.duration_since(*came) < KEPT);
        parts.came.insert((number, from), (now, part));
        drop(parts);
        self.changed.notify_all();
    }

    /// Nothing comes from a process any more.
    pub(super) fn lose(&self, from: usize) {
        lock(&self.parts).gone.insert(from);
        self.changed.notify_all();
    }

    /// Nothing comes from anybody any more.
    pub(super) fn end(&self) {
        lock(&self.parts).is_over = true;
        self.changed.notify_all();
    }

    /// Waits for a part until a time; none where it has not come by then, or will not.
    pub(super) fn take(&self, number: u64, from: usize, until: Instant) -> Option<Vec<u8>> {
        let mut parts = lock(&self.parts);
        loop {
            if let Some((_, part)) = parts.came.remove(&(number, from)) {
                return Some(part);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || parts.is_over || parts.gone.contains(&from) {
                return None;
            }
            parts = unpoisoned(self.changed.wait_timeout(parts, left)).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn a_part_is_had_once_whether_it_comes_before_or_after_it_is_waited_for() {
        let exchange = Exchange::default();
        exchange.put(7, 1, vec![1]);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| exchange.take(7, 2, Instant::now() + PATIENCE));
            exchange.put(8, 2, vec![3]);
            exchange.put(7, 2, vec![2]);
            assert_eq!(waiting.join().unwrap(), Some(vec![2]));
        });
        assert_eq!(exchange.take(7, 1, Instant::now()), Some(vec![1]));
        assert_eq!(exchange.take(7, 1, Instant::now()), None);
    }

    #[test]
    fn nobody_waits_for_who_is_gone_or_at_the_end() {
        let exchange = Exchange::default();
        thread::scope(|scope| {
            let for_lost = scope.spawn(|| exchange.take(1, 1, Instant::now() + PATIENCE));
            let for_other = scope.spawn(|| exchange.take(1, 2, Instant::now() + PATIENCE));
            exchange.lose(1);
            assert_eq!(for_lost.join().unwrap(), None);
            exchange.end();
            assert_eq!(for_other.join().unwrap(), None);
        });
    }
}
