//! Watches for new steps of what is live, and wakes the sessions that show it.

use std::sync::Weak;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use visapult_volume::StepIndex;

use super::BackEnd;
use crate::flow::FlowHandle;
use crate::lock::lock;

/// How often the watcher looks whether it is still needed.
const PERIOD: Duration = Duration::from_millis(250);

impl BackEnd {
    fn on_new_step(&self, interval: Option<Duration>) {
        if let Some(interval) = interval {
            let mut smoothed = lock(&self.step_interval);
            *smoothed = Some(smoothed.map_or(interval, |before| (before * 7 + interval) / 8));
        }
        self.wake_sessions();
    }
}

/// Wakes the sessions whenever the simulation has a new step or has been steered, until the back end is gone.
pub(super) fn watch_steps(back_end: &Weak<BackEnd>) {
    let mut seen = None;
    let mut heard = None;
    let mut runs = 0;
    let mut seen_at: Option<Instant> = None;
    while let Some(back_end) = back_end.upgrade() {
        if back_end.closing.load(Ordering::Relaxed) {
            return;
        }
        let newest = back_end.has_steps_within(PERIOD).then(|| match seen {
            None => back_end.steps().last,
            Some(step) => back_end.store.source().wait_beyond(step, PERIOD),
        });
        let handle = back_end.handle.as_ref();
        let runs_now = handle.map_or(0, FlowHandle::runs);
        if std::mem::replace(&mut runs, runs_now) != runs_now {
            back_end.store.forget();
            back_end.predictions.forget();
            (seen, seen_at) = (None, None);
            continue;
        }
        let news = handle.map(|handle| (handle.view().map(|(revision, _)| revision), handle.comings()));
        if std::mem::replace(&mut heard, news) != news {
            back_end.wake_sessions();
        }
        if let Some(newest) = newest.filter(|newest| seen.is_none_or(|step| *newest > step)) {
            let now = Instant::now();
            let steps_since = seen.map_or(1, |step| newest - step);
            back_end.on_new_step(seen_at.map(|at| interval(now - at, steps_since)));
            seen = Some(newest);
            seen_at = Some(now);
        }
    }
}

/// Time from one step to the next, of so many within `took`.
fn interval(took: Duration, steps: StepIndex) -> Duration {
    took / u32::try_from(steps).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_numbered_as_far_apart_as_their_program_likes() {
        let second = Duration::from_secs(1);
        assert_eq!([1, 4, 1 << 32].map(|steps| interval(second, steps).as_millis()), [1000, 250, 0]);
    }
}
