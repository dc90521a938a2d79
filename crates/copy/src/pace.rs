//! How fast a copy goes, and how long it will take.

use std::fmt;
use std::time::{Duration, Instant};

use crate::report::{Progress, Tally, rate, size};

/// The rate is that of the latest seconds.
const OVER: Duration = Duration::from_secs(3);

/// What has arrived in the latest seconds.
#[derive(Debug, Default)]
pub struct Pace {
    arrived: Vec<(Instant, u64)>,
}

/// How far a copy is, and how fast it goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Headway {
    /// How far.
    pub progress: Progress,
    /// Bits of content per second.
    pub bps: f64,
}

impl Pace {
    /// Takes note of how far it is at this time.
    pub fn note(&mut self, now: Instant, progress: &Progress) -> Headway {
        self.arrived.retain(|(at, _)| now.duration_since(*at) < OVER);
        if self.arrived.first().is_some_and(|(_, bytes)| *bytes > progress.arrived) {
            // It was dialled again, and counts anew.
            self.arrived.clear();
        }
        self.arrived.push((now, progress.arrived));
        let bps = self.arrived.first().map_or(0.0, |(at, bytes)| {
            (progress.arrived - bytes) as f64 * 8.0 / now.duration_since(*at).as_secs_f64().max(1e-3)
        });
        Headway { progress: *progress, bps }
    }
}

impl Headway {
    /// Bytes that are there, of those that are wanted.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let Tally { wanted_bytes, resumed_bytes, .. } = self.progress.tally;
        (self.progress.arrived + resumed_bytes).min(wanted_bytes)
    }

    /// How long it will take from now on, in seconds, if that can be told.
    #[must_use]
    pub fn left_s(&self) -> Option<f64> {
        let left = (self.progress.tally.wanted_bytes - self.bytes()) as f64 * 8.0 / self.bps.max(1.0);
        (self.progress.is_listed && self.bps > 0.0 && left < 1e6).then_some(left)
    }
}

impl fmt::Display for Headway {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { files, wanted_files, wanted_bytes, .. } = self.progress.tally;
        let more = if self.progress.is_listed { "" } else { "+" };
        write!(out, "{} of {}{more}, ", size(self.bytes()), size(wanted_bytes))?;
        write!(out, "{files} of {wanted_files}{more} files, {}", rate(self.bps))?;
        if let Some(left) = self.left_s() {
            write!(out, ", {} left", time(left))?;
        }
        self.progress.limit.map_or(Ok(()), |limit| write!(out, ", limited by {limit}"))
    }
}

fn time(seconds: f64) -> String {
    let seconds = seconds.ceil() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m}:{s:02} min"),
        (h, m, s) => format!("{h}:{m:02}:{s:02} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_tells_what_is_left() {
        let tally = Tally { files: 1, wanted_files: 4, wanted_bytes: 2_000_000_000, ..Tally::default() };
        let at = |arrived| Progress { tally, is_listed: true, arrived, ..Progress::default() };
        let (mut pace, began) = (Pace::default(), Instant::now());
        assert_eq!(pace.note(began, &at(980_000_000)).left_s(), None);
        let headway = pace.note(began + Duration::from_secs(2), &at(1_000_000_000));
        assert_eq!(headway.to_string(), "1.00 GB of 2.00 GB, 1 of 4 files, 80.0 Mbit/s, 1:40 min left");
        // Dialled again.
        assert_eq!(pace.note(began + Duration::from_secs(3), &at(0)).bps, 0.0);
        assert_eq!(pace.note(began + Duration::from_secs(4), &at(1_000_000)).bps, 8_000_000.0);
    }
}
