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
    /// How many PEs each of them has; as many as the others, give or take one, where nothing is said.
    counts: Vec<usize>,
}

impl Membership {
    pub(crate) fn first(size: usize) -> Self {
        Self { epoch: 0, members: (0..size).collect(), counts: Vec::new() }
    }

    /// The same once more, so that what was under way is void.
    pub(crate) fn again(&self) -> Self {
        Self { epoch: self.epoch + 1, ..self.clone() }
    }

    /// Without a process that is gone; none if it is not there anyway.
    pub(crate) fn without(&self, rank: usize) -> Option<Self> {
        let members: Vec<usize> = self.members.iter().copied().filter(|member| *member != rank).collect();
        (members.len() < self.members.len()).then(|| Self { epoch: self.epoch + 1, members, counts: Vec::new() })
    }

    /// The PEs of process `rank`, of `pes` in all.
    pub(crate) fn share(&self, rank: usize, pes: usize) -> Range<usize> {
        let Some(place) = self.place(rank) else { return 0..0 };
        let fits = self.counts.len() == self.members.len() && self.counts.iter().sum::<usize>() == pes;
        let cut = |place: usize| {
            if fits { self.counts[..place].iter().sum() } else { (place * pes).div_ceil(self.members.len()) }
        };
        cut(place)..cut(place + 1)
    }

    fn place(&self, rank: usize) -> Option<usize> {
        self.members.iter().position(|member| *member == rank)
    }

    /// With one of `pes` PEs given by `from` to `to`; none where `from` would have none left, or one of them is not there.
    pub(crate) fn relieved(&self, from: usize, to: usize, pes: usize) -> Option<Self> {
        let (giver, taker) = (self.place(from)?, self.place(to)?);
        let mut counts: Vec<usize> = self.members.iter().map(|rank| self.share(*rank, pes).len()).collect();
        if giver == taker || counts[giver] < 2 {
            return None;
        }
        counts[giver] -= 1;
        counts[taker] += 1;
        Some(Self { epoch: self.epoch + 1, members: self.members.clone(), counts })
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
    fn who_is_relieved_has_a_pe_less_and_keeps_one() {
        let even = Membership::first(3);
        let one = even.relieved(0, 2, 6).unwrap();
        assert_eq!([0, 1, 2].map(|rank| one.share(rank, 6)), [0..1, 1..3, 3..6]);
        assert_eq!((one.epoch, one.owner(3, 6)), (1, 2));
        assert_eq!(one.relieved(0, 2, 6), None);
        assert_eq!(even.relieved(1, 1, 6), None);
        assert_eq!(one.without(1).unwrap().share(0, 6), 0..3);
    }

    #[test]
    fn who_is_gone_is_gone_once() {
        let fewer = Membership::first(3).without(1).unwrap();
        assert_eq!((fewer.members.clone(), fewer.share(1, 6)), (vec![0, 2], 0..0));
        assert_eq!(fewer.without(1), None);
    }
}
