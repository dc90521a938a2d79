//! What processes owe one another of a picture that they make together: what each shows in the places that another puts together.
//!
//! Invariant: nothing is waited for on a rendering thread, and whoever takes part sends all that it owes before it waits.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use visapult_render::Patch;

use super::Crew;
use super::bytes::{Precision, Reader, Writer};
use super::messages::Message;

/// Whoever has not sent its part within this time is left out: less than the head waits for the whole.
const PATIENCE: Duration = Duration::from_secs(30);

/// Processes and PEs of theirs that follow one another, from front to back.
pub(super) type Runs = Vec<(usize, Vec<usize>)>;

/// What a process has made of a picture.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Part<T> {
    /// Tiles or patches, in the places that it puts together.
    pub(crate) made: Vec<T>,
    pub(crate) samples: u64,
    /// Processes that have not sent what they owe it.
    pub(crate) missing: Vec<u64>,
}

/// What the processes have made of their runs, in the order of all runs; nothing of those of whom nothing came.
pub(super) fn in_order(runs: &Runs, made: impl IntoIterator<Item = (usize, Vec<Vec<Patch>>)>) -> Vec<Vec<Patch>> {
    let mut made: HashMap<usize, _> = made.into_iter().map(|(rank, patches)| (rank, patches.into_iter())).collect();
    runs.iter().map(|(owner, _)| made.get_mut(owner).and_then(Iterator::next).unwrap_or_default()).collect()
}

/// The runs of process `rank`.
pub(super) fn of(runs: &Runs, rank: usize) -> Vec<Vec<usize>> {
    runs.iter().filter(|(owner, _)| *owner == rank).map(|(_, run)| run.clone()).collect()
}

impl Crew {
    /// Sends each of `takers` the patches of which it is the `composer`, by run; keeps the others.
    pub(super) fn give_out(
        &self,
        number: u64,
        patches: &mut [Vec<Patch>],
        takers: BTreeSet<usize>,
        composer: impl Fn(&Patch) -> Option<usize>,
        precision: Precision,
    ) {
        for taker in takers {
            let is_theirs = |patch: &mut Patch| composer(patch) == Some(taker);
            let theirs: Vec<Vec<Patch>> =
                patches.iter_mut().map(|run| run.extract_if(.., is_theirs).collect()).collect();
            let mut part = Writer::default();
            part.patches(&theirs, precision);
            self.give(number, taker, &part.0);
        }
    }

    /// Tells `takers` that they need not wait for this process.
    pub(super) fn give_nothing(&self, number: u64, takers: BTreeSet<usize>) {
        takers.into_iter().for_each(|taker| self.give(number, taker, &[]));
    }

    fn give(&self, number: u64, taker: usize, part: &[u8]) {
        self.send_or_nothing(taker, |part| Message::Part(number, part), part);
    }

    /// What all have made of their runs in the places of this process, which has made `own`, in the order of `runs`; and who has sent nothing.
    pub(super) fn take_in(
        &self,
        number: u64,
        runs: &Runs,
        own: Vec<Vec<Patch>>,
        givers: BTreeSet<usize>,
        precision: Precision,
    ) -> (Vec<Vec<Patch>>, Vec<u64>) {
        let until = Instant::now() + PATIENCE;
        let (mut made, mut missing) = (vec![(self.rank, own)], Vec::new());
        for giver in givers {
            let part = self.exchange.take(number, giver, until);
            match part.and_then(|part| Reader(&part).patches(precision)) {
                Some(patches) => made.push((giver, patches)),
                None => missing.push(giver as u64),
            }
        }
        (in_order(runs, made), missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_keep_their_order_and_those_of_whom_nothing_came_are_empty() {
        let runs = vec![(0, vec![0]), (1, vec![1, 2]), (0, vec![3]), (2, vec![4])];
        let patch = |tile| {
            let rect = visapult_render::TileRect { x: 0, y: 0, width: 1, height: 1 };
            vec![Patch { tile, slab: 0, rect, rgba: vec![[0.0; 4]] }]
        };
        let made = in_order(&runs, [(2, vec![patch(4)]), (0, vec![patch(0), patch(3)])]);
        assert_eq!(made, [patch(0), vec![], patch(3), patch(4)]);
        assert_eq!(of(&runs, 0), [[0], [3]]);
    }
}
