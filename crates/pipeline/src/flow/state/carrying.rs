//! How fast the paths from the ranks carry what is under way.

use std::time::{Duration, Instant};

/// Time with something under way that is measured at once.
const SPAN: Duration = Duration::from_millis(500);

/// What comes while something is under way: what ranks are slow to compute says nothing of the path.
#[derive(Default)]
pub(in crate::flow) struct Carrying {
    /// Something is under way, and counted until then.
    since: Option<Instant>,
    bytes: u64,
    time: Duration,
    bps: Option<f64>,
}

impl Carrying {
    /// Something is under way from now on, or more is.
    pub(in crate::flow) fn begin(&mut self, now: Instant) {
        self.since.get_or_insert(now);
    }

    /// So many bytes have come that were under way, and this was the last of it or not.
    pub(in crate::flow) fn on_arrival(&mut self, bytes: u64, is_last: bool, now: Instant) {
        self.bytes += bytes;
        self.time += self.since.map_or(Duration::ZERO, |since| now.duration_since(since));
        self.since = (!is_last).then_some(now);
        if self.time >= SPAN {
            let bps = self.bytes as f64 * 8.0 / self.time.as_secs_f64();
            self.bps = Some(self.bps.map_or(bps, |before| (before + bps) / 2.0));
            (self.bytes, self.time) = (0, Duration::ZERO);
        }
    }

    /// Bits per second; none while that is not known.
    pub(super) const fn bps(&self) -> Option<f64> {
        self.bps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_which_nothing_is_under_way_is_not_counted() {
        let (mut carrying, mut now) = (Carrying::default(), Instant::now());
        assert_eq!(carrying.bps(), None);
        for _ in 0..6 {
            carrying.begin(now);
            now += Duration::from_millis(50);
            carrying.on_arrival(400, false, now);
            now += Duration::from_millis(50);
            carrying.on_arrival(600, true, now);
            now += Duration::from_secs(3);
        }
        // 1000 bytes in 100 ms, whenever.
        assert!(carrying.bps().is_some_and(|bps| (bps - 80_000.0).abs() < 1e-3), "{:?}", carrying.bps());
    }
}
