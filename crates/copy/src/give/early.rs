//! Ranges that are offered before the other end could ask for them: of what it does not have, they are under way two round trips sooner.
//!
//! What it refuses of them it may still ask for: a build that does not know of this refuses all.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::lister::Listed;
use super::reader::open;
use super::under_way::What;
use super::{Begin, Giving};
use crate::error::CopyError;
use crate::ranges::count;

/// Ranges at most: 64 MiB.
pub(crate) const MOST_EARLY: usize = 4;

/// Ranges of one file that are offered, and were not asked for yet.
#[derive(Debug)]
pub(super) struct Early {
    begin: Begin,
    entry: u64,
    ranges: BTreeSet<u64>,
}

impl Early {
    pub(super) const fn new(begin: Begin) -> Self {
        Self { begin, entry: 0, ranges: BTreeSet::new() }
    }

    /// Nothing was offered yet, and it may be before it is asked for.
    pub(super) fn is_to_begin(&self) -> bool {
        self.begin == Begin::AtOnce
    }

    /// This range of a file is one of them.
    pub(super) fn holds(&self, (entry, range): (u64, u64)) -> bool {
        entry == self.entry && self.ranges.contains(&range)
    }

    /// The file whose first ranges may be, of the first that are listed.
    pub(super) fn of(files: &[(u64, Listed)]) -> Option<(u64, Listed)> {
        files.iter().find(|(_, listed)| listed.is_ranged && listed.is_at_hand()).cloned()
    }

    /// A range is refused; true if it was one of them.
    pub(super) fn forget(&mut self, (entry, range): (u64, u64)) -> bool {
        entry == self.entry && self.ranges.remove(&range)
    }
}

impl Giving<'_> {
    /// Offers the first ranges of this file; nothing else is offered early.
    pub(super) fn offer_early(&mut self, file: Option<(u64, Listed)>) -> Result<(), CopyError> {
        self.early.begin = Begin::WhenAsked;
        let Some((entry, listed)) = file else { return Ok(()) };
        // Why it cannot be read is told when it is asked for.
        let Ok(file) = open(&listed) else { return Ok(()) };
        let file = Arc::new(file);
        self.open = Some((entry, Arc::clone(&file)));
        self.early.entry = entry;
        for index in 0..count(file.size).min(MOST_EARLY as u64) {
            self.offer_range_of(entry, index, Arc::clone(&file))?;
            self.early.ranges.insert(index);
        }
        Ok(())
    }

    /// Those of the ranges that are asked for, as first and end each, that are not under way yet.
    pub(super) fn not_offered(&mut self, entry: u64, ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
        let is_asked = |range: u64| ranges.iter().any(|&(first, end)| (first..end).contains(&range));
        let early = &mut self.early;
        let asked = early.ranges.iter().copied().filter(|&range| entry == early.entry && is_asked(range));
        let asked: BTreeSet<u64> = asked.collect();
        // What it has not asked for it may refuse later.
        early.ranges.retain(|range| !asked.contains(range));
        // What came of those is known: it is not what comes of those that follow.
        let is_refused = |&range: &u64| self.under_way.forget_failed(What::Range { entry, index: range });
        let (_, offered): (BTreeSet<u64>, BTreeSet<u64>) = asked.into_iter().partition(is_refused);
        ranges.into_iter().flat_map(|(first, end)| without(first, end, &offered)).collect()
    }
}

/// What is left of the ranges from `first` on, before `end`, without `some`.
fn without(first: u64, end: u64, some: &BTreeSet<u64>) -> Vec<(u64, u64)> {
    let mut left = Vec::new();
    let mut next = first;
    for &range in some.range(first.min(end)..end).chain([&end]) {
        left.extend((next < range).then_some((next, range)));
        next = range + 1;
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_under_way_is_not_offered_again() {
        let some = BTreeSet::from([0, 1, 5]);
        assert_eq!(without(0, 8, &some), [(2, 5), (6, 8)]);
        assert_eq!(without(1, 6, &some), [(2, 5)]);
        assert_eq!(without(6, 9, &some), [(6, 9)]);
        assert_eq!(without(0, 2, &some), []);
        assert_eq!(without(3, 3, &some), []);
    }
}
