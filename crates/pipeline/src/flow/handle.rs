//! What can be asked of a simulation whose flow is received.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use visapult_publish::{Action, FlowError, SteeringLog};
use visapult_volume::StepIndex;

use super::look::Look;
use super::receiver::Receiver;
use super::state::{FlowStatistics, Link};
use super::steering_coordinator::SteeringView;
use crate::wire::Freshness;

/// What can be asked of a simulation whose flow is received.
#[derive(Clone)]
pub struct FlowHandle(Arc<Receiver>);

impl FlowHandle {
    pub(super) fn of(receiver: &Arc<Receiver>) -> Self {
        Self(Arc::clone(receiver))
    }

    /// What has been received.
    #[must_use]
    pub fn statistics(&self) -> FlowStatistics {
        self.0.lock().statistics
    }

    /// Whether a step is asked for only when the last one has gone to the pages.
    #[must_use]
    pub fn is_serial(&self) -> bool {
        self.0.options.ahead == Some(0)
    }

    /// Looks at it: steps of a running simulation are asked for as long as the answer lives.
    #[must_use]
    pub fn look(&self) -> Look {
        Look::at(&self.0)
    }

    /// Whether there is a step to show, within `limit`; of what does not move there always is.
    #[must_use]
    pub fn has_steps_within(&self, limit: Duration) -> bool {
        self.0.has_steps_within(limit)
    }

    /// Why nothing comes, where no rank is there. They may come back.
    pub(crate) fn why_deserted(&self) -> Option<String> {
        let state = self.0.lock();
        let is_deserted = state.links.iter().all(|link| link.session.is_none());
        is_deserted.then(|| state.trouble.clone().unwrap_or_else(|| "nobody publishes it".to_owned()))
    }

    /// The ranks that are there have passed `step`.
    pub(crate) fn has_passed(&self, step: StepIndex) -> bool {
        self.0.lock().present().any(|link| link.newest > Some(step))
    }

    /// How often the simulation has been started anew: each run counts its steps from the beginning.
    pub(crate) fn runs(&self) -> u64 {
        self.0.lock().runs
    }

    /// How fresh a step is that is kept.
    #[must_use]
    pub fn freshness(&self, step: StepIndex) -> Option<Freshness> {
        let state = self.0.lock();
        let are_there: Vec<bool> = state.links.iter().map(Link::is_present).collect();
        let kept = state.kept.iter().find(|kept| kept.step == step)?;
        Some(Freshness { refused: state.turned_away.clone(), ..kept.freshness(&are_there) })
    }

    /// A number that grows whenever a rank comes or goes, or is refused while none is there.
    #[must_use]
    pub fn comings(&self) -> u64 {
        self.0.lock().comings
    }

    /// What there is to steer, and a number that grows whenever that changes; `None` where the simulation has declared nothing.
    #[must_use]
    pub fn view(&self) -> Option<(u64, SteeringView)> {
        let state = self.0.lock();
        let view = &state.coordinator.view;
        (!view.parameters.is_empty()).then(|| (state.coordinator.revision, view.clone()))
    }

    /// Writes every action to the file at `path` once it is known what came of it, a line of JSON each, after what the file holds.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn log_to(&self, path: &Path) -> Result<(), FlowError> {
        let log = SteeringLog::open(path)?;
        self.0.lock().coordinator.log_to(log);
        Ok(())
    }

    /// Asks something of the simulation for `who`.
    ///
    /// # Errors
    /// Why it cannot be asked.
    pub fn steer(&self, who: &str, action: Action) -> Result<(), FlowError> {
        self.0.lock().steer(who, action).map_err(FlowError::Usage)
    }
}
