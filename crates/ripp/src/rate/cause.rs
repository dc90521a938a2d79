//! What limits a lane, told apart by its signals.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What limited a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// There was not enough to send.
    Source,
    /// The sender could not keep its own schedule.
    Sender,
    /// The receiver's host dropped datagrams or fell behind.
    Receiver,
    /// A queue on the path grew: more is sent than it carries.
    Queue,
    /// A queue stays that is not ours: the path is shared.
    Shared,
    /// What is sent above a certain rate is lost, and no queue shows: a policer, or hardly any queue.
    Policer,
    /// Loss that does not depend on the rate.
    RandomLoss,
    /// Nothing: the rate itself.
    Rate,
}

impl Cause {
    /// All causes.
    pub const ALL: [Self; 8] = [
        Self::Source,
        Self::Sender,
        Self::Receiver,
        Self::Queue,
        Self::Shared,
        Self::Policer,
        Self::RandomLoss,
        Self::Rate,
    ];
}

impl fmt::Display for Cause {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Source => "source",
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::Queue => "queue",
            Self::Shared => "shared",
            Self::Policer => "policer",
            Self::RandomLoss => "random-loss",
            Self::Rate => "rate",
        })
    }
}

/// How many rounds each cause limited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Causes {
    rounds: [u64; Cause::ALL.len()],
}

impl Causes {
    /// Counts a round.
    pub fn count(&mut self, cause: Cause) {
        self.rounds[cause as usize] += 1;
    }

    /// Rounds that `cause` limited.
    #[must_use]
    pub fn rounds(&self, cause: Cause) -> u64 {
        self.rounds[cause as usize]
    }

    /// Adds the counts of another lane.
    pub fn add(&mut self, other: &Self) {
        self.rounds.iter_mut().zip(other.rounds).for_each(|(mine, theirs)| *mine += theirs);
    }
}
