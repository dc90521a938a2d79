//! What is asked of the simulation that a back end shows, where it shows one.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use visapult_publish::Action;
use visapult_volume::StepIndex;

use super::BackEnd;
use crate::error::PipelineError;
use crate::flow::{FlowHandle, Look, SteeringView};
use crate::wire::Freshness;

impl BackEnd {
    /// Whether there is a step to show, within `limit`.
    pub(crate) fn has_steps_within(&self, limit: Duration) -> bool {
        self.handle.as_ref().is_none_or(|handle| handle.has_steps_within(limit))
    }

    /// Looks at the simulation, if there is one, for as long as the answer lives.
    pub(crate) fn look(&self) -> Option<Look> {
        self.handle.as_ref().map(FlowHandle::look)
    }

    /// Why nothing more comes of a simulation at present: nobody publishes it.
    pub(crate) fn why_deserted(&self) -> Option<String> {
        self.handle.as_ref()?.why_deserted()
    }

    /// Whether a step is asked for only when the last one has gone to the pages.
    pub(crate) fn is_serial(&self) -> bool {
        self.handle.as_ref().is_some_and(FlowHandle::is_serial)
    }

    /// Whether the simulation that is received goes on beyond `step`.
    pub(crate) fn goes_on_beyond(&self, step: StepIndex) -> bool {
        self.handle.as_ref().is_some_and(|handle| handle.has_passed(step))
    }

    /// How fresh a step is, where it was received.
    pub(crate) fn freshness(&self, step: StepIndex) -> Option<Freshness> {
        self.handle.as_ref()?.freshness(step)
    }

    /// What there is to steer, and a number that grows with every change of it.
    pub(crate) fn steering(&self) -> Option<(u64, SteeringView)> {
        self.handle.as_ref()?.view()
    }

    /// Whether there is a simulation that may declare what can be steered.
    pub fn shows_simulation(&self) -> bool {
        self.handle.is_some()
    }

    /// Writes what the simulation is asked for, and what came of it, to the file at `path`.
    ///
    /// # Errors
    /// [`PipelineError`] if there is no simulation, or the file cannot be written.
    pub fn log_steering(&self, path: &Path) -> Result<(), PipelineError> {
        let nothing = || PipelineError::Option("a steering log was asked for, but no simulation is shown".to_owned());
        self.handle.as_ref().ok_or_else(nothing)?.log_to(path).map_err(|cause| PipelineError::Flow(Arc::new(cause)))
    }

    /// Asks something of the simulation for session `who`.
    pub(crate) fn steer(&self, who: &str, action: Action) -> Result<(), String> {
        let handle = self.handle.as_ref().ok_or("there is no simulation to be steered here")?;
        handle.steer(who, action).map_err(|cause| cause.to_string())?;
        self.wake_sessions();
        Ok(())
    }
}
