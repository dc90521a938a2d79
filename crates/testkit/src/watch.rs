//! What the transport promises of one lane's sending, held against what it does.

use std::time::Duration;

use visapult_ripp::pacer::SLACK;
use visapult_ripp::time::Time;
use visapult_ripp::wire::Report;

/// Datagrams that may be sent before the receiver has said anything, and for how long.
const FIRST_CREDIT: (u64, Duration) = (1 << 16, Duration::from_secs(2));
/// The longest that a receiver's word holds.
const MOST_LIFETIME: Duration = Duration::from_secs(5);
/// What a sender at a fixed rate may make good after a stall.
const MOST_DEBT_S: f64 = 0.025;
/// The time of the rate that a burst may hold, if that is more than one datagram.
const BURST_S: f64 = 0.0005;

/// A bucket that leaks at a rate: its level never exceeds `b` if and only if never more than `rate * t + b` flows in within any time `t`.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    bytes_per_ns: f64,
    level: f64,
    last: Time,
}

impl Bucket {
    fn new(bps: f64, now: Time) -> Self {
        Self { bytes_per_ns: bps / 8e9, level: 0.0, last: now }
    }

    fn pour(&mut self, now: Time, bytes: u64) -> f64 {
        // Times are whole nanoseconds, rounded down once for each burst.
        let leaked = (now.since(self.last).as_nanos() as f64 + 2.0) * self.bytes_per_ns;
        self.level = (self.level - leaked).max(0.0) + bytes as f64;
        self.last = now;
        self.level
    }
}

/// Holds one lane's sending to its promises.
#[derive(Debug)]
pub struct LaneWatch {
    next_number: u64,
    credit: u64,
    has_report: bool,
    heard: Time,
    lifetime: Duration,
    /// The rate that is fixed or allowed, from the first datagram on.
    promised: RateWatch,
    /// The receiver's limit, while it is one and the same.
    limit: Option<(u64, RateWatch)>,
}

/// Holds sending to a rate.
#[derive(Debug)]
struct RateWatch {
    fast: Bucket,
    exact: Bucket,
    bytes_per_s: f64,
    largest: u64,
}

impl LaneWatch {
    /// A watch over a lane that begins now with packet number `first`, and never sends at more than `most_bps`.
    #[must_use]
    pub fn new(most_bps: u64, first: u64, now: Time) -> Self {
        Self {
            next_number: first,
            credit: first + FIRST_CREDIT.0,
            has_report: false,
            heard: now,
            lifetime: FIRST_CREDIT.1,
            promised: RateWatch::new(most_bps, now),
            limit: None,
        }
    }

    /// A packet number is used: never twice.
    ///
    /// # Errors
    /// If it was used before.
    pub fn number(&mut self, number: u64) -> Result<(), String> {
        if number < self.next_number {
            return Err(format!("packet number {number} after {}: a nonce may repeat", self.next_number));
        }
        self.next_number = number + 1;
        Ok(())
    }

    /// A report has come.
    pub fn report(&mut self, now: Time, report: &Report) {
        self.credit = if self.has_report { self.credit.max(report.credit) } else { report.credit };
        self.has_report = true;
        if report.most_rate_bps == 0 {
            self.limit = None;
        } else if self.limit.as_ref().is_none_or(|&(bps, _)| bps != report.most_rate_bps) {
            self.limit = Some((report.most_rate_bps, RateWatch::new(report.most_rate_bps, now)));
        }
        self.heard = now;
        self.lifetime = Duration::from_millis(u64::from(report.lifetime_ms)).min(MOST_LIFETIME);
    }

    /// A burst of data leaves, of which `last` is the highest packet number and `bytes` the size on the wire; `full` is that of a full datagram.
    ///
    /// # Errors
    /// If rate, credit or the receiver's silence forbid it.
    pub fn burst(&mut self, now: Time, last: u64, bytes: u64, full: u64) -> Result<(), String> {
        let credit = self.credit;
        if last >= credit {
            return Err(format!("data under packet number {last} with a credit of {credit}"));
        }
        let silence = now.since(self.heard);
        if silence > 2 * self.lifetime {
            return Err(format!("data after {silence:?} of silence, with a credit for {:?}", self.lifetime));
        }
        let limit = self.limit.as_mut().map(|(_, limit)| limit);
        std::iter::once(&mut self.promised).chain(limit).try_for_each(|watch| watch.burst(now, bytes, full))
    }
}

impl RateWatch {
    fn new(bps: u64, now: Time) -> Self {
        Self {
            fast: Bucket::new(bps as f64 * 9.0 / 8.0, now),
            exact: Bucket::new(bps as f64, now),
            bytes_per_s: bps as f64 / 8.0,
            largest: 0,
        }
    }

    fn burst(&mut self, now: Time, bytes: u64, full: u64) -> Result<(), String> {
        self.largest = self.largest.max(full);
        let (fast, exact) = (self.fast.pour(now, bytes), self.exact.pour(now, bytes));
        let burst = (self.bytes_per_s * BURST_S).max(self.largest as f64) + 1.0;
        // A timer may be late by the pacer's slack, and that is made good at once.
        let slack = self.bytes_per_s * SLACK.as_secs_f64() * 9.0 / 8.0;
        if fast > burst + slack {
            return Err(format!("{fast:.0} bytes above 9/8 of the rate, with bursts of {burst:.0}"));
        }
        if exact > burst + slack + self.bytes_per_s * MOST_DEBT_S {
            return Err(format!("{exact:.0} bytes above the rate, with bursts of {burst:.0}"));
        }
        Ok(())
    }
}
