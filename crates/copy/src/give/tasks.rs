//! What is wanted and not offered yet.
//!
//! Invariant: a range of a file waits here once at most, however often it is asked for.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::lister::Listed;

/// Something to send.
#[derive(Debug)]
pub(super) enum Task {
    /// A small file.
    Whole(u64, Listed),
    /// A range of a file.
    Range(u64, u64),
}

/// Files in the order in which they are wanted first, and of each its ranges in order.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    queue: VecDeque<Wanted>,
    ranges: HashMap<u64, Ranges>,
}

#[derive(Debug)]
enum Wanted {
    Whole(u64, Listed),
    /// Those of a file.
    Ranges(u64),
}

/// Ranges of one file: where such begin that follow one another, and before which they end.
#[derive(Debug, Default)]
struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    fn add(&mut self, mut first: u64, mut end: u64) {
        if let Some((&before, &until)) = self.0.range(..first).next_back()
            && until >= first
        {
            first = before;
        }
        while let Some((&within, &until)) = self.0.range(first..=end).next() {
            end = end.max(until);
            self.0.remove(&within);
        }
        self.0.insert(first, end);
    }

    fn take(&mut self) -> Option<u64> {
        let (first, end) = self.0.pop_first()?;
        if first + 1 < end {
            self.0.insert(first + 1, end);
        }
        Some(first)
    }
}

impl Tasks {
    /// A small file is wanted.
    pub(super) fn want(&mut self, entry: u64, listed: Listed) {
        self.queue.push_back(Wanted::Whole(entry, listed));
    }

    /// Ranges of a file are, from the first to before the second.
    pub(super) fn want_ranges(&mut self, entry: u64, (first, end): (u64, u64)) {
        if first < end {
            let is_new = !self.ranges.contains_key(&entry);
            self.ranges.entry(entry).or_default().add(first, end);
            self.queue.extend(is_new.then_some(Wanted::Ranges(entry)));
        }
    }

    /// The file that the next is a range of.
    pub(super) fn next_ranged(&self) -> Option<u64> {
        match self.queue.front()? {
            Wanted::Ranges(entry) => Some(*entry),
            Wanted::Whole(..) => None,
        }
    }

    /// The next.
    pub(super) fn take(&mut self) -> Option<Task> {
        while let Some(entry) = self.next_ranged() {
            if let Some(range) = self.ranges.get_mut(&entry).and_then(Ranges::take) {
                return Some(Task::Range(entry, range));
            }
            self.ranges.remove(&entry);
            self.queue.pop_front();
        }
        match self.queue.pop_front()? {
            Wanted::Whole(entry, listed) => Some(Task::Whole(entry, listed)),
            Wanted::Ranges(_) => None,
        }
    }

    /// The next, if it is a small file that `is_meant`.
    pub(super) fn take_whole(&mut self, is_meant: impl FnOnce(&Listed) -> bool) -> Option<(u64, Listed)> {
        match self.queue.pop_front()? {
            Wanted::Whole(entry, listed) if is_meant(&listed) => Some((entry, listed)),
            other => {
                self.queue.push_front(other);
                None
            }
        }
    }

    /// Nothing more of a file goes in ranges.
    pub(super) fn drop_ranges(&mut self, entry: u64) {
        if self.ranges.remove(&entry).is_some() {
            self.queue.retain(|wanted| !matches!(wanted, Wanted::Ranges(of) if *of == entry));
        }
    }

    /// The small files.
    pub(super) fn whole(&self) -> impl Iterator<Item = &Listed> {
        self.queue.iter().filter_map(|wanted| match wanted {
            Wanted::Whole(_, listed) => Some(listed),
            Wanted::Ranges(_) => None,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(tasks: &mut Tasks) -> Vec<(u64, u64)> {
        let take = || match tasks.take()? {
            Task::Range(entry, range) => Some((entry, range)),
            Task::Whole(..) => None,
        };
        std::iter::from_fn(take).collect()
    }

    #[test]
    fn what_is_asked_for_again_and_again_waits_once() {
        let mut tasks = Tasks::default();
        for _ in 0..1000 {
            [(0, 1), (5, 7), (2, 3), (1, 2), (6, 8), (3, 3), (9, 4)]
                .iter()
                .for_each(|&asked| tasks.want_ranges(7, asked));
        }
        tasks.want_ranges(3, (0, u64::MAX));
        assert_eq!((tasks.queue.len(), tasks.ranges[&7].0.len()), (2, 2));
        assert_eq!(tasks.next_ranged(), Some(7));
        let mut all: Vec<_> = (0..6).filter_map(|_| tasks.take()).collect();
        all.extend(tasks.take());
        tasks.drop_ranges(3);
        let all: Vec<_> =
            all.iter().map(|task| if let Task::Range(of, range) = task { (*of, *range) } else { panic!() }).collect();
        assert_eq!(all, [(7, 0), (7, 1), (7, 2), (7, 5), (7, 6), (7, 7), (3, 0)]);
        assert!(tasks.is_empty() && tasks.ranges.is_empty());
    }

    #[test]
    fn what_was_taken_may_be_asked_for_again() {
        let mut tasks = Tasks::default();
        for _ in 0..3 {
            tasks.want_ranges(7, (0, 2));
            assert_eq!(taken(&mut tasks), [(7, 0), (7, 1)]);
        }
        assert!(tasks.is_empty());
    }
}
