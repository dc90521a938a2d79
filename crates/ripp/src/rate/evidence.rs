//! The latest rounds of a lane, kept for a verdict.

use std::collections::VecDeque;

use super::Round;

/// Rounds that are kept: six seconds of the shortest, forty of those on a path around the world.
const KEPT: usize = 512;

/// The latest rounds of a lane; those of the search for the rate are dropped when it has ended.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    rounds: VecDeque<Round>,
}

impl Evidence {
    /// Adds a round.
    pub fn note(&mut self, round: Round) {
        if self.rounds.len() == KEPT {
            self.rounds.pop_front();
        }
        self.rounds.push_back(round);
    }

    /// Forgets what was seen: the search for the rate has ended.
    pub(crate) fn clear(&mut self) {
        self.rounds.clear();
    }

    /// The rounds, the oldest first.
    pub fn rounds(&self) -> impl Iterator<Item = &Round> {
        self.rounds.iter()
    }
}
