//! Files that may be the same at both ends: hashes, as far as they are known.

use std::collections::HashMap;

use crate::ranges::RangeHash;

/// What is known of a file.
#[derive(Debug)]
struct Hashes {
    has_holes: bool,
    /// Only the other end's hash is asked for.
    there_alone: bool,
    here: Option<RangeHash>,
    there: Option<RangeHash>,
}

/// A file of which all is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Compared {
    pub(super) is_same: bool,
    /// Of the file at the other end.
    pub(super) hash: RangeHash,
    pub(super) has_holes: bool,
}

#[derive(Debug, Default)]
pub(super) struct Comparing(HashMap<u64, Hashes>);

impl Comparing {
    /// A file to be compared; or one of which only the other end's hash is asked for.
    pub(super) fn begin(&mut self, entry: u64, has_holes: bool, there_alone: bool) {
        self.0.insert(entry, Hashes { has_holes, there_alone, here: None, there: None });
    }

    pub(super) fn holds(&self, entry: u64) -> bool {
        self.0.contains_key(&entry)
    }

    pub(super) fn drop(&mut self, entry: u64) {
        self.0.remove(&entry);
    }

    /// The hash of the file here; what comes of it, if the other end's is known.
    pub(super) fn here(&mut self, entry: u64, hash: RangeHash) -> Option<Compared> {
        self.0.get_mut(&entry)?.here = Some(hash);
        self.decide(entry)
    }

    /// The hash at the other end, which may tell one that was not asked for.
    pub(super) fn there(&mut self, entry: u64, hash: RangeHash) -> Option<Compared> {
        self.0.get_mut(&entry)?.there = Some(hash);
        self.decide(entry)
    }

    fn decide(&mut self, entry: u64) -> Option<Compared> {
        let Hashes { has_holes, there_alone, here, there } = *self.0.get(&entry)?;
        let hash = there?;
        let is_same = if there_alone { true } else { here? == hash };
        self.0.remove(&entry);
        Some(Compared { is_same, hash, has_holes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_decided_once_both_hashes_are_known() {
        let (one, other) = ([1; 32], [2; 32]);
        let mut comparing = Comparing::default();
        comparing.begin(4, true, false);
        assert_eq!((comparing.there(3, one), comparing.there(4, one)), (None, None));
        assert_eq!(comparing.here(4, other), Some(Compared { is_same: false, hash: one, has_holes: true }));
        assert_eq!(comparing.here(4, one), None, "decided before");
        comparing.begin(5, false, true);
        assert_eq!(comparing.there(5, one), Some(Compared { is_same: true, hash: one, has_holes: false }));
    }
}
