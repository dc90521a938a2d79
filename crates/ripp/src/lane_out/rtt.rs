//! Round-trip times: least, smooth, and the distribution of the latest.

use std::time::Duration;

const KEPT: usize = 1024;

/// Round-trip times of a lane.
#[derive(Clone, Debug, Default)]
pub struct RoundTrip {
    least_us: Option<u32>,
    smooth_us: f64,
    latest: Vec<u32>,
    at: usize,
}

impl RoundTrip {
    /// Adds a measurement.
    pub fn note(&mut self, rtt: Duration) {
        let us = u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX);
        self.smooth_us =
            if self.least_us.is_some() { self.smooth_us * 0.875 + f64::from(us) * 0.125 } else { f64::from(us) };
        self.least_us = Some(self.least_us.map_or(us, |least| least.min(us)));
        if self.latest.len() < KEPT {
            self.latest.push(us);
        } else {
            self.latest[self.at] = us;
            self.at = (self.at + 1) % KEPT;
        }
    }

    /// The least seen.
    #[must_use]
    pub fn least(&self) -> Duration {
        Duration::from_micros(u64::from(self.least_us.unwrap_or(0)))
    }

    /// The smoothed present one (RFC 6298).
    #[must_use]
    pub fn smooth(&self) -> Duration {
        Duration::from_micros(self.smooth_us as u64)
    }

    /// The quantile `share` (0 to 1) of the latest.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Duration {
        let mut sorted = self.latest.clone();
        sorted.sort_unstable();
        let at = ((sorted.len().saturating_sub(1)) as f64 * share).round() as usize;
        Duration::from_micros(u64::from(sorted.get(at).copied().unwrap_or(0)))
    }
}
