//! Round-trip times: least, smooth, and the distribution of the latest.

use std::time::Duration;

use crate::time::Time;

const KEPT: usize = 1024;
/// The least is that of this long at most, and of half of it at least: routes change.
const MEMORY: Duration = Duration::from_secs(20);

/// Round-trip times of a lane.
#[derive(Clone, Debug, Default)]
pub struct RoundTrip {
    /// Least of the present half of the memory and of the half before, and when the present one began.
    least_us: Option<(u32, u32, Time)>,
    /// Least since it was asked for last.
    round_us: Option<u32>,
    smooth_us: f64,
    latest: Vec<u32>,
    at: usize,
}

impl RoundTrip {
    /// Adds a measurement.
    pub fn note(&mut self, now: Time, rtt: Duration) {
        let us = u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX);
        let weight = if self.least_us.is_some() { 0.125 } else { 1.0 };
        self.smooth_us += weight * (f64::from(us) - self.smooth_us);
        self.least_us = Some(match self.least_us {
            None => (us, us, now),
            Some((present, _, since)) if now.since(since) > MEMORY / 2 => (us, present, now),
            Some((present, before, since)) => (present.min(us), before, since),
        });
        self.round_us = Some(self.round_us.map_or(us, |least| least.min(us)));
        if self.latest.len() < KEPT {
            self.latest.push(us);
        } else {
            self.latest[self.at] = us;
            self.at = (self.at + 1) % KEPT;
        }
    }

    /// The least seen lately.
    #[must_use]
    pub fn least(&self) -> Duration {
        Duration::from_micros(self.least_us.map_or(0, |(present, before, _)| u64::from(present.min(before))))
    }

    /// The least since this was asked last; none if none was measured.
    pub(crate) fn take_round(&mut self) -> Option<Duration> {
        self.round_us.take().map(|us| Duration::from_micros(u64::from(us)))
    }

    /// The route is another, as long as this: what was less before is of no account.
    pub(crate) fn begin_again(&mut self, now: Time, rtt: Duration) {
        self.least_us = None;
        self.note(now, rtt);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_follows_a_longer_route() {
        let mut rtt = RoundTrip::default();
        let second = |second: u64| Time::from_ns(second * 1_000_000_000);
        rtt.note(second(0), Duration::from_millis(10));
        (1..60).for_each(|at| rtt.note(second(at), Duration::from_millis(30)));
        assert_eq!(rtt.least(), Duration::from_millis(30));
    }
}
