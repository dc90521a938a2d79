//! What the receiver allows, and for how long.

use std::time::Duration;

use crate::time::Time;
use crate::wire::Report;

/// Datagrams that may be sent before the first report.
const FIRST: u64 = 1 << 16;
const FIRST_LIFETIME: Duration = Duration::from_secs(2);
/// Longest lifetime that a receiver can give: silence ends sending.
const MOST_LIFETIME: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct CreditLine {
    below: u64,
    /// The receiver has spoken: its word replaces the first allowance.
    heard: bool,
    most_bps: u64,
    renewed: Time,
    lifetime: Duration,
}

impl CreditLine {
    /// Before the first report, of a lane that goes on with packet number `number`.
    pub(super) fn first(now: Time, number: u64) -> Self {
        Self { below: number + FIRST, heard: false, most_bps: 0, renewed: now, lifetime: FIRST_LIFETIME }
    }

    /// The same where the receiver has not been heard yet, or not where it is.
    pub(super) fn begin_again(&mut self, now: Time, number: u64) {
        *self = Self { most_bps: self.most_bps, ..Self::first(now, number) };
    }

    /// What the receiver has told beforehand, until it reports; 0 sets no limit.
    pub(super) const fn foresee(&mut self, most_bps: u64) {
        self.most_bps = most_bps;
    }

    pub(super) fn renew(&mut self, now: Time, report: &Report) {
        self.below = if self.heard { self.below.max(report.credit) } else { report.credit };
        self.heard = true;
        self.most_bps = report.most_rate_bps;
        self.renewed = now;
        self.lifetime = Duration::from_millis(u64::from(report.lifetime_ms)).min(MOST_LIFETIME);
    }

    /// Datagrams that may be sent now, when the next packet number is `next`.
    pub(super) fn datagrams(&self, now: Time, next: u64) -> u64 {
        if now.since(self.renewed) >= self.lifetime { 0 } else { self.below.saturating_sub(next) }
    }

    /// The receiver allows less than `bps`.
    pub(super) const fn is_below(&self, bps: u64) -> bool {
        self.most_bps != 0 && self.most_bps < bps
    }

    /// The rate that is allowed of `bps`: no more than the receiver's limit, and half in the second half of the credit's life.
    pub(super) fn limit(&self, now: Time, bps: u64) -> u64 {
        let most = if self.most_bps == 0 { bps } else { bps.min(self.most_bps) };
        if now.since(self.renewed) > self.lifetime / 2 { (most / 2).max(1) } else { most }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renewed(lifetime_ms: u32) -> CreditLine {
        let mut line = CreditLine::first(Time::ZERO, 0);
        line.renew(Time::ZERO, &Report { credit: 100, lifetime_ms, ..Report::default() });
        line
    }

    fn at_ms(ms: u64) -> Time {
        Time::ZERO.after(Duration::from_millis(ms))
    }

    #[test]
    fn credit_halves_the_rate_at_half_its_life_and_ends_with_it() {
        let line = renewed(1_000);
        assert_eq!([499, 501].map(|ms| line.limit(at_ms(ms), 100)), [100, 50]);
        assert_eq!([999, 1_000].map(|ms| line.datagrams(at_ms(ms), 90)), [10, 0]);
    }

    #[test]
    fn credit_lives_no_longer_than_the_longest_life() {
        let line = renewed(u32::MAX);
        assert_eq!(line.datagrams(Time::ZERO.after(MOST_LIFETIME), 0), 0);
    }
}
