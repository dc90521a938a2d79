//! How much is on offer ahead of what has arrived: an offer takes a round trip to be accepted, and the path must not run dry meanwhile.

use visapult_ripp_net::{Rate, Statistics};

/// Time of the rate that is on offer beside three round trips, in seconds.
const AHEAD_S: f64 = 0.25;
/// On offer before it is known how fast the path is, and at most.
const LEAST: u64 = 16 << 20;
const LEAST_STORED: u64 = 128 << 20;
const MOST: u64 = 256 << 20;

#[derive(Debug)]
pub(super) struct Ahead {
    bytes: u64,
}

impl Ahead {
    /// A store gives the more the more it is asked for at one time.
    pub(super) fn of(rate: Rate, is_stored: bool) -> Self {
        let least = if is_stored { LEAST_STORED } else { LEAST };
        let bytes = match rate {
            Rate::Fixed(bps) => (bps as f64 / 8.0 * 2.0 * AHEAD_S) as u64,
            Rate::Auto { .. } => least,
        };
        Self { bytes: bytes.clamp(least, MOST) }
    }

    /// Bytes on offer at most, now that this is known of the path: it never becomes less.
    pub(super) fn bytes(&mut self, statistics: &Statistics) -> u64 {
        let of = |rate_bps: u64, rtt_s: f64| rate_bps as f64 / 8.0 * (AHEAD_S + 3.0 * rtt_s);
        let wanted: f64 = statistics.lanes.iter().map(|lane| of(lane.rate_bps, lane.rtt.smooth().as_secs_f64())).sum();
        self.bytes = self.bytes.max(wanted as u64).min(MOST);
        self.bytes
    }
}
