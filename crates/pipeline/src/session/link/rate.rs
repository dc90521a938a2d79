//! What a path carries: the greatest delivery rate of late.

use std::time::{Duration, Instant};

use super::of_late::OfLate;
use super::traffic::Arrival;

/// Fewer bytes than this tell nothing of the rate but that it is no less: their time is latency.
const TELLING_BYTES: u64 = 16 * 1024;
/// Times of arrival are no more exact than this.
const EXACT_TO: Duration = Duration::from_millis(10);
/// A path may carry so many times what came over it, as far as can be told from how soon that came: the next finer level has as many times the bytes.
const MOST_BEYOND: f64 = 8.0;
/// What comes so much later than a round trip tells that the path carries less than it did: no window is worth as much.
const TOO_LATE: Duration = Duration::from_secs(1);

/// What is believed of the rate of a path.
#[derive(Debug, Default)]
pub(super) struct Rate {
    /// Bytes per second.
    of_late: OfLate<f64>,
    /// All of that is of before a pause.
    is_old: bool,
}

impl Rate {
    /// Greatest of late, or of before a pause, in bytes per second.
    pub(super) fn bytes_per_s(&self) -> Option<f64> {
        self.of_late.most_extreme().copied()
    }

    /// The same; none after a pause, until it is measured anew.
    pub(super) fn present_bytes_per_s(&self) -> Option<f64> {
        self.bytes_per_s().filter(|_| !self.is_old)
    }

    /// There was a pause: the path may be another.
    pub(super) fn on_pause(&mut self) {
        self.is_old = true;
    }

    /// Something has come, so much `later` than a round trip, where that is known. What came as soon as can be told speaks against nothing.
    pub(super) fn on_arrival(&mut self, arrival: &Arrival, later: Option<Duration>, now: Instant) {
        let came_at_once = later.is_some_and(|later| later <= EXACT_TO);
        let is_telling = arrival.bytes >= TELLING_BYTES || (came_at_once && !self.of_late.is_empty());
        if !is_telling || arrival.within.is_zero() {
            return;
        }
        let rate = told_bytes_per_s(arrival, later);
        if came_at_once && self.of_late.last().is_some_and(|last| rate <= *last) {
            if !self.is_old {
                self.of_late.renew_last(now);
            }
            return;
        }
        if later.is_some_and(|later| later > TOO_LATE) {
            self.of_late.retain(|of_late| *of_late < 2.0 * rate);
        }
        self.of_late.add(rate, now, |kept, new| kept <= new);
        self.is_old = false;
    }
}

/// What came in its time. Over a long way that is no more than what was sent: there, how much later what was sent at once came tells more.
fn told_bytes_per_s(arrival: &Arrival, later: Option<Duration>) -> f64 {
    let carried = arrival.bytes as f64 / arrival.within.as_secs_f64();
    let beyond = later.map_or(0.0, |later| arrival.at_once as f64 / later.max(EXACT_TO).as_secs_f64());
    beyond.min(MOST_BEYOND * carried).max(carried)
}
