//! Which processes there are, and whose each PE is.
//!
//! Invariant: every PE belongs to exactly one process, and the PEs of a process have consecutive numbers: computed the same by all.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The processes of a back end at one time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Membership {
    /// Grows with every change.
    pub(crate) epoch: u64,
    /// Ranks, ascending; the head's is 0.
    pub(crate) members: Vec<usize>,
}

impl Membership {
    pub(crate) fn first(size: usize) -> Self {
        Self { epoch: 0, members: (0..size).collect() }
    }

    /// Without a process that is gone; none if it is not there anyway.
    pub(crate) fn without(&self, rank: usize) -> Option<Self> {
        let members: Vec<usize> = self.members.iter().copied().filter(|member| *member != rank).collect();
        (members.len() < self.members.len()).then(|| Self { epoch: self.epoch + 1, members })
    }

    /// The PEs of process `rank`, of `pes` in all.
    pub(crate) fn share(&self, rank: usize, pes: usize) -> Range<usize> {
        let processes = self.members.len();
        let Some(place) = self.members.iter().position(|member| *member == rank) else { return 0..0 };
        let cut = |place: usize| (place * pes).div_ceil(processes);
        cut(place)..cut(place + 1)
    }

    /// Whose PE `pe` of `pes` is.
    pub(crate) fn owner(&self, pe: usize, pes: usize) -> usize {
        self.members.iter().copied().find(|rank| self.share(*rank, pes).contains(&pe)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pe_has_one_owner_and_the_head_has_one_at_least() {
        for (size, pes) in [(1, 4), (3, 7), (4, 4), (5, 2)] {
            let mut all = Membership::first(size);
            loop {
                let shares: Vec<_> = all.members.iter().map(|rank| all.share(*rank, pes)).collect();
                assert_eq!(shares.iter().cloned().flatten().collect::<Vec<_>>(), (0..pes).collect::<Vec<_>>());
                assert!(!shares[0].is_empty());
                let (least, most) = (shares.iter().map(Range::len).min(), shares.iter().map(Range::len).max());
                assert!(most.unwrap() - least.unwrap() <= 1);
                assert!((0..pes).all(|pe| all.share(all.owner(pe, pes), pes).contains(&pe)));
                let Some(fewer) = all.members.last().filter(|last| **last > 0).and_then(|last| all.without(*last))
                else {
                    break;
                };
                assert_eq!(fewer.epoch, all.epoch + 1);
                all = fewer;
            }
        }
    }

    #[test]
    fn who_is_gone_is_gone_once() {
        let fewer = Membership::first(3).without(1).unwrap();
        assert_eq!((fewer.members.clone(), fewer.share(1, 6)), (vec![0, 2], 0..0));
        assert_eq!(fewer.without(1), None);
    }
}
