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
