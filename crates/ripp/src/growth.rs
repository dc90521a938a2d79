//! How many lanes: one, until a processor core is what limits it, and then twice as many as long as that makes it faster.
//!
//! Knows no clock and no thread: it is shown how busy they were.

use std::time::Duration;

use crate::time::Time;

/// Share of a core that the busiest thread of a lane takes, above which it is taken to need all of it.
const BUSY: f64 = 0.85;
/// Looks in a row in which it does.
const LOOKS: u32 = 3;
/// What more lanes have to gain, for still more to be tried.
const GAIN: f64 = 1.15;
/// New lanes find their rates within this time, and so many round trips.
const SETTLING: Duration = Duration::from_secs(1);
const SETTLING_ROUNDS: u32 = 12;

/// What was seen since the last look.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Lanes that there are.
    pub lanes: u16,
    /// Share of a core that the busiest thread of a lane took.
    pub busy: f64,
    /// Bits per second that were sent and received.
    pub bps: f64,
    /// The paths' round-trip time.
    pub rtt: Duration,
}

/// Decides when there should be more lanes.
#[derive(Debug)]
pub struct Growth {
    most: u16,
    /// Rates of the latest looks that showed a busy thread.
    busy: Vec<f64>,
    /// When there came to be more, whichever end had them opened, and the rate before.
    grown: Option<(Time, f64)>,
    /// Lanes of the last look, and their rate.
    last: Option<(u16, f64)>,
}

impl Growth {
    /// There are never more than `most`.
    #[must_use]
    pub const fn to(most: u16) -> Self {
        Self { most, busy: Vec::new(), grown: None, last: None }
    }

    /// There may be more than so many lanes.
    #[must_use]
    pub const fn goes_on(&self, lanes: u16) -> bool {
        lanes < self.most
    }

    /// How many lanes there should be, if more than there are.
    pub fn look(&mut self, now: Time, look: Look) -> Option<u16> {
        if !self.goes_on(look.lanes) {
            return None;
        }
        let last = self.last.replace((look.lanes, look.bps));
        if let Some((_, bps)) = last.filter(|(lanes, _)| look.lanes > *lanes) {
            self.grown = Some((now, bps));
        }
        let settling = SETTLING.max(look.rtt * SETTLING_ROUNDS);
        let settles = self.grown.is_some_and(|(since, _)| now.since(since) < settling);
        if look.busy < BUSY || settles {
            self.busy.clear();
            return None;
        }
        self.busy.push(look.bps);
        if self.busy.len() < LOOKS as usize {
            return None;
        }
        let bps = self.busy.drain(..).sum::<f64>() / f64::from(LOOKS);
        if self.grown.is_some_and(|(_, before_bps)| bps < GAIN * before_bps) {
            // Something else limits it by now.
            self.most = look.lanes;
            return None;
        }
        self.grown = Some((now, bps));
        Some(look.lanes.saturating_mul(2).min(self.most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Duration = Duration::from_millis(200);

    /// Lanes after each of so many looks; of `lanes` lanes the busiest thread takes `busy` of a core, and they send `bps`.
    fn grow(most: u16, rtt: Duration, busy: impl Fn(u16) -> f64, bps: impl Fn(u16) -> f64) -> Vec<u16> {
        let mut growth = Growth::to(most);
        let mut lanes = 1;
        let looks = (1..=60).map(|at| {
            let look = Look { lanes, busy: busy(lanes), bps: bps(lanes), rtt };
            lanes = growth.look(Time::ZERO.after(EVERY * at), look).unwrap_or(lanes);
            lanes
        });
        looks.collect()
    }

    fn last(seen: &[u16]) -> u16 {
        seen[seen.len() - 1]
    }

    #[test]
    fn lanes_double_while_a_core_limits_each_and_there_is_something_to_win() {
        let short = Duration::from_millis(1);
        let seen = grow(6, short, |_| 0.97, |lanes| 1e10 * f64::from(lanes));
        assert!(seen.is_sorted() && [1, 2, 4, 6].iter().all(|lanes| seen.contains(lanes)), "{seen:?}");
        assert_eq!(last(&seen), 6);
        // The first look shows little, and new lanes need their time.
        assert_eq!(seen[..9], [1, 1, 2, 2, 2, 2, 2, 2, 2]);
        // Four are enough for the path.
        assert_eq!(
            last(&grow(16, short, |lanes| if lanes < 4 { 1.0 } else { 0.7 }, |lanes| 1e10 * f64::from(lanes))),
            4
        );
    }

    #[test]
    fn there_is_one_where_no_core_limits_it_or_no_more_may_be() {
        let short = Duration::from_millis(1);
        assert_eq!(last(&grow(16, short, |_| 0.5, |_| 1e9)), 1);
        assert_eq!(last(&grow(1, short, |_| 1.0, |_| 1e10)), 1);
    }

    #[test]
    fn lanes_that_win_nothing_are_the_last() {
        let seen = grow(16, Duration::from_millis(1), |_| 1.0, |_| 1e10);
        assert_eq!(last(&seen), 2);
    }

    #[test]
    fn lanes_that_the_other_end_has_had_opened_are_given_their_time_and_held_to_what_they_gain() {
        let mut growth = Growth::to(16);
        let look = |lanes, bps| Look { lanes, busy: 1.0, bps, rtt: Duration::from_millis(1) };
        assert_eq!(growth.look(Time::ZERO.after(EVERY), look(1, 1e10)), None);
        // They gain nothing: whoever had them opened.
        let asked = (2..60).filter_map(|at| growth.look(Time::ZERO.after(EVERY * at), look(2, 1e10)));
        assert_eq!(asked.count(), 0);
    }

    #[test]
    fn on_a_long_path_new_lanes_have_longer_to_show_what_they_are_good_for() {
        let seen = grow(16, Duration::from_millis(300), |_| 1.0, |lanes| 1e10 * f64::from(lanes));
        let second = seen.iter().position(|&lanes| lanes == 4).unwrap();
        assert!(EVERY * (second as u32 - 2) >= Duration::from_millis(3_600), "{seen:?}");
    }
}
