//! The host's clock, and how it is brought into line with that of another host.
//!
//! Events are stamped with the host's monotonic clock, which all processes of a host share; the offset to the session's clock is added
//! as they are written.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// No offset is known: the session's clock is that of this host.
const UNKNOWN: i64 = i64::MIN;
static OFFSET_NS: AtomicI64 = AtomicI64::new(UNKNOWN);

/// Samples among which the one with the least delay counts: the network's queues come and go within them, the clocks' drift does not.
const WINDOW: usize = 16;

/// Nanoseconds of the host's monotonic clock.
#[must_use]
pub fn now_ns() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec)
}

/// Unix time of that clock's zero, in nanoseconds.
pub(crate) fn epoch_ns() -> Option<i64> {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(unix.as_nanos()).ok()?.checked_sub(now_ns())
}

/// What to add to this host's clock to get the session's; for events that are written from now on.
pub fn set_offset(offset_ns: i64) {
    OFFSET_NS.store(offset_ns.max(UNKNOWN + 1), Ordering::Relaxed);
}

/// The offset in force, if one is known.
pub(crate) fn offset_ns() -> Option<i64> {
    Some(OFFSET_NS.load(Ordering::Relaxed)).filter(|offset| *offset != UNKNOWN)
}

/// The four times of one question and its answer, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// We ask, by our clock.
    pub asked: i64,
    /// The question arrives, by the other's clock.
    pub heard: i64,
    /// The answer leaves, by the other's clock.
    pub answered: i64,
    /// The answer arrives, by our clock.
    pub received: i64,
}

/// How far another clock is ahead of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// The other clock minus ours.
    pub offset_ns: i64,
    /// The truth is within so much of it, whatever the asymmetry of the path: half of the time on the path.
    pub error_ns: i64,
}

/// Estimates how far another clock is ahead of ours (RFC 5905, sections 8 and 10: four time stamps, the sample with the least delay).
#[derive(Clone, Debug, Default)]
pub struct OffsetEstimator {
    samples: VecDeque<Offset>,
}

impl OffsetEstimator {
    /// Takes one exchange into account, and says what is best known now. Times that contradict themselves are passed over.
    pub fn add(&mut self, exchange: Exchange) -> Option<Offset> {
        if let Some(sample) = exchange.offset() {
            if self.samples.len() == WINDOW {
                self.samples.pop_front();
            }
            self.samples.push_back(sample);
        }
        self.best()
    }

    /// What is best known: of equal delays the newest.
    #[must_use]
    pub fn best(&self) -> Option<Offset> {
        self.samples.iter().rev().min_by_key(|sample| sample.error_ns).copied()
    }
}

impl Exchange {
    fn offset(&self) -> Option<Offset> {
        let here = self.received.checked_sub(self.asked)?;
        let there = self.answered.checked_sub(self.heard)?;
        let delay = here.checked_sub(there)?;
        if here < 0 || there < 0 || delay < 0 {
            return None;
        }
        let twice =
            i128::from(self.heard) - i128::from(self.asked) + i128::from(self.answered) - i128::from(self.received);
        Some(Offset { offset_ns: i64::try_from(twice / 2).ok()?, error_ns: delay / 2 + delay % 2 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUTH: i64 = 5_000_000_123;

    fn exchange(at: i64, out: i64, back: i64) -> Exchange {
        let heard = at + out + TRUTH;
        let answered = heard + 40_000;
        Exchange { asked: at, heard, answered, received: answered - TRUTH + back }
    }

    #[test]
    fn a_symmetric_path_gives_the_exact_offset() {
        let mut estimator = OffsetEstimator::default();
        let found = estimator.add(exchange(1_000, 40_000_000, 40_000_000)).unwrap();
        assert_eq!(found, Offset { offset_ns: TRUTH, error_ns: 40_000_000 });
    }

    #[test]
    fn the_error_covers_every_asymmetry() {
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..10_000 {
            let mut estimator = OffsetEstimator::default();
            let found = estimator.add(exchange(rng.i64(0..1 << 40), rng.i64(0..1 << 30), rng.i64(0..1 << 30))).unwrap();
            assert!((found.offset_ns - TRUTH).abs() <= found.error_ns);
        }
    }

    #[test]
    fn queues_do_not_spoil_what_a_quiet_moment_has_shown() {
        let mut rng = fastrand::Rng::with_seed(2);
        let mut estimator = OffsetEstimator::default();
        for round in 0..200_i64 {
            let queue = if round % 8 == 3 { 0 } else { rng.i64(5_000_000..80_000_000) };
            estimator.add(exchange(round * 1_000_000_000, 40_000_000 + queue, 40_000_000));
            if round >= 3 {
                assert_eq!(estimator.best().unwrap().offset_ns, TRUTH);
            }
        }
    }

    #[test]
    fn an_old_quiet_moment_is_forgotten_so_that_drift_is_followed() {
        let mut estimator = OffsetEstimator::default();
        estimator.add(exchange(0, 10, 10));
        let mut drifted = exchange(1, 1000, 1000);
        drifted.heard += 77;
        drifted.answered += 77;
        for _ in 0..WINDOW {
            estimator.add(drifted);
        }
        assert_eq!(estimator.best().unwrap().offset_ns, TRUTH + 77);
    }

    #[test]
    fn times_that_contradict_themselves_are_passed_over() {
        let mut estimator = OffsetEstimator::default();
        let sound = exchange(1_000, 5, 5);
        for nonsense in [
            Exchange { received: sound.asked - 1, ..sound },
            Exchange { answered: sound.heard - 1, ..sound },
            Exchange { answered: i64::MAX, heard: i64::MIN, ..sound },
            Exchange { asked: i64::MIN, received: i64::MAX, ..sound },
        ] {
            assert_eq!(estimator.add(nonsense), None);
        }
    }

    #[test]
    fn the_hosts_clock_does_not_run_backwards() {
        let first = now_ns();
        assert!(now_ns() >= first);
    }
}
