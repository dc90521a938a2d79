//! The last published steps of a simulation, bounded in bytes.
//!
//! Invariant: buffers of steps that left are used again unless somebody still reads them: fresh memory is slow.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use visapult_volume::{StepIndex, StepSpan};

/// Published steps and the signal that there is a new one.
pub(super) struct History {
    values_per_step: usize,
    steps_kept: usize,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    first: StepIndex,
    steps: VecDeque<Arc<Vec<f32>>>,
    stopped: bool,
}

impl State {
    /// Steps from `first` on; before the first is published, step 0, which [`History::get`] waits for.
    fn span(&self) -> StepSpan {
        StepSpan { first: self.first, last: self.first + self.steps.len().saturating_sub(1) as u64 }
    }
}

impl History {
    /// Keeps as many steps of `values_per_step` as fit `bytes`, at least two.
    pub(super) fn new(values_per_step: usize, bytes: usize) -> Self {
        let steps_kept = (bytes / (values_per_step * size_of::<f32>())).max(2);
        let state = State { first: 0, steps: VecDeque::new(), stopped: false };
        Self { values_per_step, steps_kept, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn span(&self) -> StepSpan {
        self.lock().span()
    }

    /// The values of a step that is still kept. Waits for the very first one.
    pub(super) fn get(&self, step: StepIndex) -> Option<Arc<Vec<f32>>> {
        let state = self.lock();
        let waited = self.changed.wait_while(state, |state| state.steps.is_empty() && !state.stopped);
        let state = waited.unwrap_or_else(PoisonError::into_inner);
        let index = usize::try_from(step.checked_sub(state.first)?).ok()?;
        state.steps.get(index).map(Arc::clone)
    }

    /// Publishes a step that `write` fills; the oldest leaves when there is no room.
    pub(super) fn publish(&self, write: impl FnOnce(&mut [f32])) {
        let mut values = self.retire().unwrap_or_else(|| vec![0.0; self.values_per_step]);
        write(&mut values);
        self.lock().steps.push_back(Arc::new(values));
        self.changed.notify_all();
    }

    fn retire(&self) -> Option<Vec<f32>> {
        let mut state = self.lock();
        if state.steps.len() < self.steps_kept {
            return None;
        }
        state.first += 1;
        let oldest = state.steps.pop_front()?;
        Arc::into_inner(oldest)
    }

    /// Waits until a step after `step` is there, `limit` has passed or the simulation ends; tells the newest.
    pub(super) fn wait_beyond(&self, step: StepIndex, limit: Duration) -> StepIndex {
        let state = self.lock();
        let waited = self.changed.wait_timeout_while(state, limit, |state| state.span().last <= step && !state.stopped);
        waited.unwrap_or_else(PoisonError::into_inner).0.span().last
    }

    /// Asks the simulation to end.
    pub(super) fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    /// Sleeps for `time` or until asked to end; tells whether to go on.
    pub(super) fn sleep(&self, time: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), time, |state| !state.stopped);
        !waited.unwrap_or_else(PoisonError::into_inner).0.stopped
    }
}
