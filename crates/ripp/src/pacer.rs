//! Pacing by error diffusion: what an integer division leaves is carried forward, so that the long-run rate is exact at any rate.

use std::time::Duration;

use crate::time::Time;

const NS_BITS: u128 = 8 * 1_000_000_000;

/// Schedule that a late sender makes good at once: timers are late by about this much.
pub const SLACK: Duration = Duration::from_millis(1);

/// When the next burst may leave.
///
/// A sender that was kept from its schedule for longer than [`SLACK`] makes good at most so much of the rest as it is told to, and at most at 9/8 of
/// the rate: a stall is never followed by a burst. In any time `t`, no more leaves than 9/8 of the rate times `t + SLACK`, and one burst.
#[derive(Clone, Debug)]
pub struct Pacer {
    rate_bps: u64,
    /// When the schedule allows the next burst; behind the clock by [`SLACK`] at most.
    due: Time,
    /// Schedule missed before that, still to be made good.
    debt: Duration,
    remainder: u128,
    /// Bytes that left last.
    last_bytes: u64,
    most_debt: Duration,
}

impl Pacer {
    /// A pacer at `rate_bps` bits per second of IP packets, ready at once.
    ///
    /// # Panics
    /// If the rate is zero.
    #[must_use]
    pub fn new(rate_bps: u64, most_debt: Duration, now: Time) -> Self {
        assert!(rate_bps > 0, "a rate of zero never sends");
        Self { rate_bps, due: now, debt: Duration::ZERO, remainder: 0, last_bytes: 0, most_debt }
    }

    /// The rate, in bits per second.
    #[must_use]
    pub const fn rate_bps(&self) -> u64 {
        self.rate_bps
    }

    /// Changes the rate from here on. At a greater one no longer is waited than the burst before takes then, from now on.
    pub fn set_rate(&mut self, now: Time, rate_bps: u64) {
        let rate_bps = rate_bps.max(1);
        if rate_bps > self.rate_bps {
            let cost = u128::from(self.last_bytes) * NS_BITS / u128::from(rate_bps);
            self.due = self.due.min(now.after(Duration::from_nanos(cost as u64)));
        }
        if rate_bps != self.rate_bps {
            self.rate_bps = rate_bps;
            self.remainder = 0;
        }
    }

    /// When the next burst may leave; not in the future if at once.
    #[must_use]
    pub const fn next(&self) -> Time {
        self.due
    }

    /// Forgets what the sender is owed: it had nothing to send.
    pub fn rest(&mut self, now: Time) {
        self.due = self.due.max(now);
        self.debt = Duration::ZERO;
    }

    /// Accounts for `bytes` that leave at `now`.
    pub fn spend(&mut self, now: Time, bytes: u64) {
        let earliest = now.before(SLACK);
        if self.due < earliest {
            self.debt = (self.debt + earliest.since(self.due)).min(self.most_debt);
            self.due = earliest;
        }
        self.last_bytes = bytes;
        let owed = u128::from(bytes) * NS_BITS + self.remainder;
        let rate = u128::from(self.rate_bps);
        let cost = Duration::from_nanos((owed / rate) as u64);
        self.remainder = owed % rate;
        let made_good = self.debt.min(cost / 9);
        self.debt -= made_good;
        self.due = self.due.after(cost - made_good);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent_in(pacer: &mut Pacer, from: Time, to: Time, bytes: u64) -> u64 {
        let mut sent = 0;
        let mut now = pacer.next().max(from);
        while now < to {
            pacer.spend(now, bytes);
            sent += bytes;
            now = pacer.next().max(now);
        }
        sent
    }

    #[test]
    fn the_long_run_rate_is_exact_at_any_rate() {
        for rate in [1_000_000, 7_777_777, 949_999_999, 12_345_678_901, 99_999_999_977_u64] {
            let mut pacer = Pacer::new(rate, Duration::from_millis(20), Time::ZERO);
            let bursts = 100_000_u64;
            for _ in 0..bursts {
                let now = pacer.next();
                pacer.spend(now, 63_001);
            }
            let exact = u128::from(bursts) * 63_001 * NS_BITS / u128::from(rate);
            assert!(u128::from(pacer.next().ns()).abs_diff(exact) <= 1, "{rate}");
        }
    }

    #[test]
    fn a_rate_that_has_risen_is_waited_for_no_longer_than_a_burst_takes() {
        let mut pacer = Pacer::new(1_000, Duration::from_millis(20), Time::ZERO);
        pacer.spend(Time::ZERO, 1500);
        let [at_first, half] = [Duration::from_secs(12), Duration::from_secs(6)].map(|wait| Time::ZERO.after(wait));
        assert_eq!(pacer.next(), at_first);
        pacer.set_rate(half, 500);
        assert_eq!(pacer.next(), at_first);
        pacer.set_rate(half, 500_000);
        assert_eq!(pacer.next(), half.after(Duration::from_millis(24)));
        // However often it rises, and falls.
        (0..9).for_each(|_| [500, 500_000].into_iter().for_each(|bps| pacer.set_rate(half, bps)));
        assert_eq!(pacer.next(), half.after(Duration::from_millis(24)));
    }

    #[test]
    fn a_stall_is_made_good_slowly_and_not_beyond_the_limit() {
        let rate = 1_000_000_000;
        let ms = |ms: u64| Time::from_ns(ms * 1_000_000);
        let mut pacer = Pacer::new(rate, Duration::from_millis(20), Time::ZERO);
        sent_in(&mut pacer, Time::ZERO, ms(100), 15_000);
        let after = sent_in(&mut pacer, ms(1_000), ms(1_010), 15_000);
        assert!(after <= 125_000 * 11 * 9 / 8 + 15_000, "{after}");
        let long = sent_in(&mut pacer, ms(1_010), ms(2_000), 15_000) + after;
        assert!(long <= 125_000 * (1_000 + 21) + 15_000, "{long}");
        assert!(long >= 125_000 * (1_000 + 20) - 15_000, "{long}");
    }
}
