//! Time steps: which exist, and when they are.

/// Number of a time step, counted from 0 by its source.
pub type StepIndex = u64;

/// The steps that can be read now: a file's are fixed, a simulation's move on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepSpan {
    /// Oldest step that can still be read.
    pub first: StepIndex,
    /// Newest step that can be read.
    pub last: StepIndex,
}

impl StepSpan {
    /// The readable step nearest to `step`.
    pub fn clamp(&self, step: StepIndex) -> StepIndex {
        step.clamp(self.first, self.last)
    }
}
