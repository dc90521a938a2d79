//! How much of a step that was received is its own, and whose part is not.

use serde::{Deserialize, Serialize};
use visapult_volume::StepIndex;

/// Parts that are told of one by one.
pub(crate) const MOST_PARTS: usize = 16;

/// How fresh a step is. What did not come keeps the values of the step before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Freshness {
    /// Which step.
    pub step: StepIndex,
    /// Share of its values that are its own, 0 to 1.
    pub fresh: f64,
    /// Time since all of it had come, in milliseconds.
    pub age_ms: f64,
    /// Ranks that publish.
    pub ranks: usize,
    /// Ranks that are not there now, or of which nothing is in this step.
    pub missing: usize,
    /// The first of these.
    pub parts: Vec<MissingPart>,
    /// Why a program is not taken that has come since the last rank left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// The part of a rank that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingPart {
    /// The rank, from 0.
    pub rank: usize,
    /// The step that its part is of; none if it never came.
    pub step: Option<StepIndex>,
}

impl Freshness {
    /// Whether the two say the same, but for the time that has passed.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        *self == Self { age_ms: self.age_ms, ..other.clone() }
    }
}
