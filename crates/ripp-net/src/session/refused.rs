//! Sessions that a listener has refused, for the program to keep a record of: whoever dials can make many of them, so few are told, and the others counted.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant, SystemTime};

/// So many are told of one after the other, and wait to be.
const AT_ONCE: u32 = 16;
/// And then one in this time.
const EVERY: Duration = Duration::from_secs(10);

/// A session that was refused.
#[derive(Clone, Debug)]
pub struct Refused {
    /// Who dialled.
    pub peer: SocketAddr,
    /// When.
    pub when: SystemTime,
    /// Why, as the dialler was told.
    pub why: String,
    /// Others that were refused since the one before, of which nothing is told.
    pub untold: u64,
}

/// Those that are to be told.
#[derive(Debug)]
pub(super) struct Refusals {
    waiting: VecDeque<Refused>,
    allowance: Allowance,
}

impl Refusals {
    pub(super) const fn new(now: Instant) -> Self {
        Self { waiting: VecDeque::new(), allowance: Allowance::new(now) }
    }

    /// A session is refused.
    pub(super) fn note(&mut self, now: Instant, peer: SocketAddr, why: &str) {
        if self.waiting.len() >= AT_ONCE as usize {
            self.allowance.leave_out(1);
        } else if let Some(untold) = self.allowance.spend(now) {
            self.waiting.push_back(Refused { peer, when: SystemTime::now(), why: why.to_owned(), untold });
        }
    }

    /// The next that is to be told.
    pub(super) fn take(&mut self) -> Option<Refused> {
        self.waiting.pop_front()
    }
}

/// How much may be told now, of what strangers cause.
#[derive(Debug)]
pub(super) struct Allowance {
    untold: u64,
    /// How many may be told now; and since when no more may.
    left: u32,
    since: Instant,
}

impl Allowance {
    pub(super) const fn new(now: Instant) -> Self {
        Self { untold: 0, left: AT_ONCE, since: now }
    }

    /// If this one may be told: how many were left out since the one before. If not, it is one of those.
    pub(super) fn spend(&mut self, now: Instant) -> Option<u64> {
        self.earn(now);
        if self.left == 0 {
            self.untold += 1;
            return None;
        }
        self.left -= 1;
        Some(std::mem::take(&mut self.untold))
    }

    /// So many more are not told.
    pub(super) const fn leave_out(&mut self, count: u64) {
        self.untold += count;
    }

    fn earn(&mut self, now: Instant) {
        let earned = now.saturating_duration_since(self.since).as_secs() / EVERY.as_secs();
        let earned = u32::try_from(earned).map_or(AT_ONCE, |earned| earned.min(AT_ONCE));
        self.left = (self.left + earned).min(AT_ONCE);
        self.since = if self.left == AT_ONCE { now } else { self.since + EVERY * earned };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_flood_few_are_told_and_the_others_counted() {
        let peer = ([192, 0, 2, 1], 7).into();
        let mut now = Instant::now();
        let mut refusals = Refusals::new(now);
        let mut told = Vec::new();
        // An hour of a hundred a second, of which somebody keeps a record all the time.
        for _ in 0..3600 * 100 {
            now += Duration::from_millis(10);
            refusals.note(now, peer, "the token is wrong");
            told.extend(refusals.take());
        }
        assert_eq!(told.len(), AT_ONCE as usize + 3600 / 10 - 1);
        assert!(told[..16].iter().all(|refused| refused.untold == 0));
        assert!(told[17..].iter().all(|refused| refused.untold == 999));
        // When it is over, the next few are told, each for itself.
        now += Duration::from_secs(3600);
        for at in 0..20 {
            refusals.note(now, peer, "the token is wrong");
            assert_eq!(refusals.take().is_some(), at < 16);
        }
    }

    #[test]
    fn where_nobody_asks_no_more_are_kept() {
        let mut now = Instant::now();
        let mut refusals = Refusals::new(now);
        for _ in 0..100 {
            now += EVERY;
            refusals.note(now, ([192, 0, 2, 1], 7).into(), "why");
        }
        assert_eq!(std::iter::from_fn(|| refusals.take()).count(), AT_ONCE as usize);
        refusals.note(now, ([192, 0, 2, 1], 7).into(), "why");
        assert_eq!(refusals.take().map(|refused| refused.untold), Some(100 - u64::from(AT_ONCE)));
    }
}
