//! The latest rounds of a lane, kept for a verdict.

use std::collections::VecDeque;

use super::Round;

/// Rounds that are kept: six seconds of the shortest, forty of those on a path around the world.
const KEPT: usize = 512;
/// Rounds after the search for the rate in which what it sent too much may still be drained and repaired.
const SETTLING: usize = 8;

/// The latest rounds of a lane; those of the search for the rate, and the first after it, are dropped once there are others.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    rounds: VecDeque<Round>,
    settles: bool,
}

impl Evidence {
    /// Adds a round.
    pub fn note(&mut self, round: Round) {
        if self.rounds.len() == KEPT {
            self.rounds.pop_front();
        }
        self.rounds.push_back(round);
        if self.settles && self.rounds.len() == 2 * SETTLING {
            self.settles = false;
            self.rounds.drain(..SETTLING);
        }
    }

    /// Forgets what was seen: the search for the rate has ended.
    pub(crate) fn clear(&mut self) {
        self.rounds.clear();
        self.settles = true;
    }

    /// The rounds, the oldest first.
    pub fn rounds(&self) -> impl Iterator<Item = &Round> {
        self.rounds.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_search_for_the_rate_cost_is_forgotten_once_there_is_more() {
        let mut evidence = Evidence::default();
        evidence.note(Round { loss: 0.5, ..Round::default() });
        evidence.clear();
        let lossy = |evidence: &Evidence| evidence.rounds().filter(|round| round.loss > 0.0).count();
        (0..15).for_each(|at| evidence.note(Round { loss: if at < 3 { 0.3 } else { 0.0 }, ..Round::default() }));
        assert_eq!((evidence.rounds().count(), lossy(&evidence)), (15, 3));
        (0..600).for_each(|_| evidence.note(Round::default()));
        assert_eq!((evidence.rounds().count(), lossy(&evidence)), (KEPT, 0));
    }
}
