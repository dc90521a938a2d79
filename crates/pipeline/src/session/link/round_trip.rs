//! How long the way is: what a message takes that carries nothing, sent once in a while when nothing else is under way.

use std::time::{Duration, Instant};

use super::MEMORY;

/// What is believed of the round trip of a path.
#[derive(Debug, Default)]
pub(super) struct RoundTrip {
    probed_at: Option<Instant>,
    /// What the last probe took, or less.
    least: Option<Duration>,
    /// What the last probe took, where that was longer.
    longer: Option<Duration>,
}

impl RoundTrip {
    pub(super) fn is_probe_due(&self, now: Instant) -> bool {
        self.probed_at.is_none_or(|at| now.duration_since(at) > MEMORY)
    }

    pub(super) fn least(&self) -> Option<Duration> {
        self.least
    }

    pub(super) fn on_probe_sent(&mut self, now: Instant) {
        self.probed_at = Some(now);
    }

    /// A probe took so long. What is longer than it was is asked for again, and believed then: machines pause.
    pub(super) fn on_probe(&mut self, took: Duration) {
        self.least = match (self.least, self.longer.take()) {
            (Some(least), None) if took > least => {
                self.longer = Some(took);
                self.ask_again();
                Some(least)
            }
            (_, before) => Some(before.map_or(took, |before| before.min(took))),
        };
    }

    /// A message with content took so long: the way is no longer, if it is known at all.
    pub(super) fn on_message(&mut self, took: Duration) {
        self.least = self.least.map(|least| least.min(took));
    }

    pub(super) fn ask_again(&mut self) {
        self.probed_at = None;
    }
}
