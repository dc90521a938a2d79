//! A fixed rate, with a circuit breaker (RFC 8084): what the path does not carry at all is not sent for ever.

use std::time::Duration;

use super::{Cause, Causes, Round};
use crate::time::Time;

/// Share of what is sent that must arrive.
const LEAST_SHARE: f64 = 0.5;
/// How long less may arrive before the breaker opens, at least; and in round trips.
const PATIENCE: Duration = Duration::from_secs(2);
const PATIENCE_ROUNDS: u32 = 10;

/// A fixed rate.
#[derive(Debug)]
pub struct Fixed {
    rate_bps: u64,
    failing: Option<(Time, u32)>,
    broken: bool,
    causes: Causes,
}

impl Fixed {
    /// A fixed rate in bits of IP packets per second.
    #[must_use]
    pub fn new(rate_bps: u64) -> Self {
        Self { rate_bps: rate_bps.max(1), failing: None, broken: false, causes: Causes::default() }
    }

    /// The rate now: as asked for, or what arrived when the breaker opened.
    #[must_use]
    pub const fn rate_bps(&self) -> u64 {
        self.rate_bps
    }

    /// The breaker has opened: less than half of what was sent arrived, for long.
    #[must_use]
    pub const fn is_broken(&self) -> bool {
        self.broken
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
            return;
        }
        let (since, rounds) = self.failing.unwrap_or((now, 0));
        self.failing = Some((since, rounds + 1));
        if now.since(since) >= PATIENCE && rounds >= PATIENCE_ROUNDS {
            self.rate_bps = ((self.rate_bps as f64 * (1.0 - round.loss)) as u64).max(1);
            self.broken = true;
            self.failing = None;
        }
    }
}
