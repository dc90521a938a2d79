//! What the data connections of a session may carry now: a window of credit, by what their path was measured to be.
//!
//! Owns no clock: the caller passes `now`. Invariants: no message is put on the way while more than a window of bytes is unacknowledged; what is
//! measured of a path is measured anew while it is used, and opens no window before that.

mod of_late;
mod rate;
mod round_trip;
#[cfg(test)]
mod tests;
mod traffic;

use std::time::{Duration, Instant};

use self::of_late::OfLate;
use self::rate::Rate;
use self::round_trip::RoundTrip;
use self::traffic::{Purpose, Traffic};

/// Part of a second's worth of bytes that may be on the way, beyond what a round trip takes.
const WINDOW_S: f64 = 0.33;
/// Window before anything is measured, and when what was measured is old, in bytes.
const FIRST_WINDOW: u64 = 512 * 1024;
/// Least window, in bytes.
const LEAST_WINDOW: u64 = 64 * 1024;
/// Largest window, in bytes.
const MOST_WINDOW: u64 = 32 * 1024 * 1024;
/// How long a measured rate counts, and a round trip.
const MEMORY: Duration = Duration::from_secs(10);

/// The data connections of a session, which share a path.
#[derive(Debug, Default)]
pub(crate) struct Link {
    traffic: Traffic,
    rate: Rate,
    round_trip: RoundTrip,
    /// How long messages were on the way, the least of late first.
    times: OfLate<Duration>,
}

impl Link {
    /// Of so many connections.
    pub(crate) fn of(connections: usize) -> Self {
        Self { traffic: Traffic::of(connections), ..Self::default() }
    }

    /// A connection begins, in place of one before.
    pub(crate) fn attach(&mut self, which: usize) {
        self.traffic.attach(which);
    }

    /// Whether a further message may be sent now. Once in a while all is to arrive before: what is on the way hides how long the way is.
    pub(crate) fn has_room(&self, now: Instant) -> bool {
        let window = window_bytes(self.present_bytes_per_s(), self.round_trip.least().unwrap_or_default());
        self.traffic.under_way() < window && (self.is_idle() || !self.round_trip.is_probe_due(now))
    }

    /// Whether a message that carries nothing is to go first: it takes a round trip, and no time to send.
    pub(crate) fn wants_probe(&self, now: Instant) -> bool {
        self.is_idle() && self.round_trip.is_probe_due(now)
    }

    /// Whether all that was sent has arrived.
    pub(crate) fn is_idle(&self) -> bool {
        self.traffic.is_idle()
    }

    /// Bytes of a connection that are on the way.
    pub(crate) fn under_way(&self, which: usize) -> u64 {
        self.traffic.under_way_over(which)
    }

    /// Whether it has told what it carries, again after a pause, or carried all of something small.
    pub(crate) fn is_known(&self) -> bool {
        self.present_bytes_per_s().is_some() || (self.traffic.has_delivered() && self.is_idle())
    }

    /// Notes a message put on the way to find out how long that is.
    pub(crate) fn on_probe_sent(&mut self, which: usize, bytes: u64, now: Instant) {
        self.round_trip.on_probe_sent(now);
        self.note_sent(which, bytes, Purpose::Probe, now);
    }

    /// Notes a message put on the way; those of the same `now` are sent at once.
    pub(crate) fn on_sent(&mut self, which: usize, bytes: u64, now: Instant) {
        self.note_sent(which, bytes, Purpose::Content, now);
    }

    fn note_sent(&mut self, which: usize, bytes: u64, purpose: Purpose, now: Instant) {
        if self.traffic.has_paused(MEMORY, now) {
            self.rate.on_pause();
        }
        self.traffic.on_sent(which, bytes, purpose, now);
    }

    /// Notes that `received` bytes have arrived since the connection opened; false if that cannot be.
    pub(crate) fn on_ack(&mut self, which: usize, received: u64, now: Instant) -> bool {
        let Ok(arrival) = self.traffic.on_ack(which, received, now) else { return false };
        let Some(arrival) = arrival else { return true };
        let took = arrival.took;
        let later = match arrival.purpose {
            Purpose::Probe => {
                self.round_trip.on_probe(took);
                None
            }
            Purpose::Content => {
                let least = self.round_trip.least();
                self.round_trip.on_message(took);
                least.and_then(|least| took.checked_sub(least))
            }
        };
        self.rate.on_arrival(&arrival, later, now);
        self.times.add(took, now, |kept, new| kept >= new);
        true
    }

    /// How much longer the oldest message has been on the way than one needs at least.
    pub(crate) fn behind(&self, now: Instant) -> Duration {
        let oldest = self.traffic.oldest().map_or(Duration::ZERO, |at| now.duration_since(at));
        oldest.saturating_sub(self.times.most_extreme().copied().unwrap_or_default())
    }

    /// Greatest delivery rate of late, or of before a pause, in bytes per second.
    pub(crate) fn throughput_bytes_per_s(&self) -> Option<f64> {
        self.rate.bytes_per_s()
    }

    /// The same; none after a pause, until it is measured anew.
    pub(crate) fn present_bytes_per_s(&self) -> Option<f64> {
        self.rate.present_bytes_per_s()
    }
}

/// Bytes that may be on the way over a path that is known to carry so much, or not known yet.
fn window_bytes(bytes_per_s: Option<f64>, round_trip: Duration) -> u64 {
    let worth = |rate: f64| ((rate * (WINDOW_S + round_trip.as_secs_f64())) as u64).clamp(LEAST_WINDOW, MOST_WINDOW);
    bytes_per_s.map_or(FIRST_WINDOW, worth)
}
