//! How fast something comes, over spans that are long beside the bunches in which it does.

use std::time::{Duration, Instant};

const SPAN: Duration = Duration::from_millis(500);

/// Measures how much of something comes in a second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Meter {
    since: Option<Instant>,
    amount: f64,
    per_s: Option<f64>,
}

impl Meter {
    /// Something has come at `now`.
    pub(super) fn add(&mut self, amount: f64, now: Instant) {
        let Some(since) = self.since else {
            // What came first says nothing of how long it took.
            self.since = Some(now);
            return;
        };
        self.amount += amount;
        let span = now.duration_since(since);
        if span >= SPAN {
            let per_s = self.amount / span.as_secs_f64();
            self.per_s = Some(self.per_s.map_or(per_s, |before| (before + per_s) / 2.0));
            (self.since, self.amount) = (Some(now), 0.0);
        }
    }

    /// Nothing comes for a while, for nobody wants it: that says nothing of how fast it can.
    pub(super) fn rest(&mut self) {
        (self.since, self.amount) = (None, 0.0);
    }

    /// How much comes in a second, of late; 0 while that is not known.
    pub(super) fn per_s(&self) -> f64 {
        self.per_s.unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_in_bunches_is_not_taken_for_fast() {
        let (mut meter, began) = (Meter::default(), Instant::now());
        for bunch in 0..10 {
            for part in 0..5 {
                meter.add(2.0, began + Duration::from_millis(bunch * 200 + part));
            }
        }
        assert!((40.0..60.0).contains(&meter.per_s()), "{}", meter.per_s());
    }

    #[test]
    fn what_comes_rarely_is_measured_all_the_same() {
        let (mut meter, began) = (Meter::default(), Instant::now());
        meter.add(1.0, began);
        assert_eq!(meter.per_s(), 0.0);
        meter.add(1.0, began + Duration::from_secs(4));
        assert_eq!(meter.per_s(), 0.25);
        meter.rest();
        meter.add(1.0, began + Duration::from_secs(400));
        assert_eq!(meter.per_s(), 0.25);
    }
}
