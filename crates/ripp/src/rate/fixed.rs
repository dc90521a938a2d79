//! A fixed rate, with a circuit breaker (RFC 8084): what the path does not carry at all is not sent for ever. When the path carries it again,
//! the rate comes back.

use std::time::Duration;

use super::{Cause, Causes, Round};
use crate::time::Time;

/// Share of what is sent that must arrive.
const LEAST_SHARE: f64 = 0.5;
/// How long less may arrive before the breaker opens, at least; and in round trips.
const PATIENCE: Duration = Duration::from_secs(2);
const PATIENCE_ROUNDS: u32 = 10;
/// Share of the rate that is still sent when nothing arrives, to see whether something does.
const LEAST_RATE: u64 = 16;

/// A fixed rate.
#[derive(Clone, Debug)]
pub struct Fixed {
    asked_bps: u64,
    rate_bps: u64,
    /// Since when and for how many rounds the path has been failing, or well again.
    failing: Option<(Time, u32)>,
    well: Option<Time>,
    causes: Causes,
}

impl Fixed {
    /// A fixed rate in bits of IP packets per second.
    #[must_use]
    pub fn new(rate_bps: u64) -> Self {
        let rate_bps = rate_bps.max(1);
        Self { asked_bps: rate_bps, rate_bps, failing: None, well: None, causes: Causes::default() }
    }

    /// The rate now: as asked for, or what arrived when the breaker opened.
    #[must_use]
    pub const fn rate_bps(&self) -> u64 {
        self.rate_bps
    }

    /// The breaker is open: less than half of what was sent arrived, for long.
    #[must_use]
    pub const fn is_broken(&self) -> bool {
        self.rate_bps < self.asked_bps
    }

    /// Another rate from here on; what does not arrive of it does not of a greater one.
    pub(super) fn ask(&mut self, rate_bps: u64) {
        let was_broken = self.is_broken();
        self.asked_bps = rate_bps.max(1);
        self.rate_bps = if was_broken { self.rate_bps.min(self.asked_bps) } else { self.asked_bps };
    }

    pub(super) const fn causes(&self) -> &Causes {
        &self.causes
    }

    pub(super) fn on_round(&mut self, now: Time, round: &Round) {
        self.causes.count(match round {
            _ if round.kernel_drops > 0 => Cause::Receiver,
            _ if round.source_limited => Cause::Source,
            _ if round.loss > 0.05 => Cause::Policer,
            _ => Cause::Rate,
        });
        if 1.0 - round.loss >= LEAST_SHARE {
            self.failing = None;
            self.recover(now, round);
            return;
        }
        self.well = None;
        let (since, rounds) = self.failing.unwrap_or((now, 0));
        self.failing = Some((since, rounds + 1));
        if now.since(since) >= PATIENCE && rounds >= PATIENCE_ROUNDS {
            let carried = (self.rate_bps as f64 * (1.0 - round.loss)) as u64;
            self.rate_bps = carried.max(self.asked_bps / LEAST_RATE).max(1);
            self.failing = None;
        }
    }

    fn recover(&mut self, now: Time, round: &Round) {
        if !self.is_broken() || round.loss > 0.1 {
            self.well = None;
            return;
        }
        let since = *self.well.get_or_insert(now);
        if now.since(since) >= PATIENCE {
            self.rate_bps = (self.rate_bps * 2).min(self.asked_bps);
            self.well = None;
        }
    }
}
