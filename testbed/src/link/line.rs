//! What is on the wire, ordered by when it arrives.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::Facts;

type Entry<T> = (T, Facts, bool);

/// Packets under way. Most arrive in the order in which they were sent; the few others wait aside.
#[derive(Debug)]
pub(super) struct Line<T> {
    ordered: VecDeque<(u64, Entry<T>)>,
    aside: BinaryHeap<Reverse<Aside>>,
    entries: slots::Slots<Entry<T>>,
    number: u64,
}

/// Due time, a number that keeps equals in order, and where the entry is.
type Aside = (u64, u64, usize);

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self { ordered: VecDeque::new(), aside: BinaryHeap::new(), entries: slots::Slots::default(), number: 0 }
    }
}

impl<T: Copy> Line<T> {
    /// The earliest time from `due` on that does not overtake.
    pub(super) fn in_order(&self, due: u64) -> u64 {
        self.ordered.back().map_or(due, |(last, _)| due.max(*last))
    }

    pub(super) fn push(&mut self, due: u64, packet: T, facts: Facts, marked: bool) {
        if self.in_order(due) == due {
            self.ordered.push_back((due, (packet, facts, marked)));
        } else {
            self.push_late(due, packet, facts, marked);
        }
    }

    /// For a packet that others may overtake, or that overtakes.
    pub(super) fn push_late(&mut self, due: u64, packet: T, facts: Facts, marked: bool) {
        self.number += 1;
        self.aside.push(Reverse((due, self.number, self.entries.put((packet, facts, marked)))));
    }

    pub(super) fn pop(&mut self, now: u64) -> Option<(T, Facts, bool, u64)> {
        let ordered = self.ordered.front().map(|(due, _)| *due);
        let aside = self.aside.peek().map(|Reverse((due, ..))| *due);
        let from_aside = aside.is_some_and(|due| ordered.is_none_or(|other| due < other));
        if from_aside {
            let Reverse((due, _, slot)) = *self.aside.peek().filter(|Reverse((due, ..))| *due <= now)?;
            self.aside.pop();
            let (packet, facts, marked) = self.entries.take(slot)?;
            return Some((packet, facts, marked, due));
        }
        if ordered? > now {
            return None;
        }
        let (due, (packet, facts, marked)) = self.ordered.pop_front()?;
        Some((packet, facts, marked, due))
    }

    pub(super) fn next_due(&self) -> Option<u64> {
        let ordered = self.ordered.front().map(|(due, _)| *due);
        let aside = self.aside.peek().map(|Reverse((due, ..))| *due);
        [ordered, aside].into_iter().flatten().min()
    }

    pub(super) fn len(&self) -> usize {
        self.ordered.len() + self.aside.len()
    }
}

mod slots {
    /// Values at places that are used again.
    #[derive(Debug)]
    pub(super) struct Slots<V> {
        values: Vec<Option<V>>,
        free: Vec<usize>,
    }

    impl<V> Default for Slots<V> {
        fn default() -> Self {
            Self { values: Vec::new(), free: Vec::new() }
        }
    }

    impl<V> Slots<V> {
        pub(super) fn put(&mut self, value: V) -> usize {
            let place = self.free.pop().unwrap_or_else(|| {
                self.values.push(None);
                self.values.len() - 1
            });
            self.values[place] = Some(value);
            place
        }

        pub(super) fn take(&mut self, place: usize) -> Option<V> {
            let value = self.values.get_mut(place)?.take();
            self.free.push(place);
            value
        }
    }
}
