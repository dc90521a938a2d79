//! Keeps what all streams of a session send together below what the user and the receiver allow.

use std::time::Duration;

use visapult_ripp::pacer::Pacer;
use visapult_ripp::time::Time;

use super::FRAME_PAYLOAD;
use crate::session::Options;

/// The time of the rate that is drawn at once.
const PORTION: Duration = Duration::from_millis(2);
const LEAST_PORTION: u64 = 1_448;
/// Bytes drawn at once without a limit.
const MOST_PORTION: u64 = 4 * FRAME_PAYLOAD;
const MOST_DEBT: Duration = Duration::from_millis(25);

/// The pace of all streams together; without a limit it is TCP's.
#[derive(Debug, Default)]
pub(in crate::session) struct Pace {
    own_bps: Option<u64>,
    /// What the program allows of that at present.
    share_bps: Option<u64>,
    peer_bps: Option<u64>,
    pacer: Option<Pacer>,
}

impl Pace {
    /// The pace that the user's options allow.
    pub(in crate::session) fn new(options: &Options) -> Self {
        let mut pace = Self { own_bps: options.rate.most_bps(), ..Self::default() };
        pace.apply(Time::ZERO);
        pace
    }

    /// The receiver wants at most `bps`; 0 sets no limit.
    pub(in crate::session) fn set_peer(&mut self, now: Time, bps: u64) {
        let wanted = Some(bps).filter(|&bps| bps > 0);
        if wanted != self.peer_bps {
            self.peer_bps = wanted;
            self.apply(now);
        }
    }

    /// The program wants at most `bps`; 0 sets no limit.
    pub(in crate::session) fn set_share(&mut self, now: Time, bps: u64) {
        self.share_bps = Some(bps).filter(|&bps| bps > 0);
        self.apply(now);
    }

    fn apply(&mut self, now: Time) {
        let least = [self.own_bps, self.share_bps, self.peer_bps].into_iter().flatten().min();
        match (least, &mut self.pacer) {
            (Some(bps), Some(pacer)) => pacer.set_rate(now, bps),
            (Some(bps), none) => *none = Some(Pacer::new(bps.max(1), MOST_DEBT, now)),
            (None, pacer) => *pacer = None,
        }
    }

    /// Bytes that may be drawn now, or when some may.
    pub(super) fn allowance(&self, now: Time) -> Result<u64, Time> {
        match &self.pacer {
            None => Ok(MOST_PORTION),
            Some(pacer) if pacer.next() > now => Err(pacer.next()),
            Some(pacer) => {
                let portion = u128::from(pacer.rate_bps()) * PORTION.as_micros() / 8_000_000;
                Ok((portion as u64).clamp(LEAST_PORTION, MOST_PORTION))
            }
        }
    }

    /// Accounts for `bytes` that leave.
    pub(super) fn spend(&mut self, now: Time, bytes: u64) {
        if let Some(pacer) = &mut self.pacer {
            pacer.spend(now, bytes);
        }
    }

    /// There is nothing to send.
    pub(super) fn rest(&mut self, now: Time) {
        if let Some(pacer) = &mut self.pacer {
            pacer.rest(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Rate;

    #[test]
    fn the_least_of_both_ends_wishes_is_kept() {
        let mut pace = Pace::new(&Options { rate: Rate::Fixed(80_000_000), ..Options::default() });
        pace.set_peer(Time::ZERO, 8_000_000);
        let mut now = Time::ZERO;
        let mut sent = 0;
        while now < Time::from_ns(1_000_000_000) {
            match pace.allowance(now) {
                Ok(bytes) => {
                    pace.spend(now, bytes);
                    sent += bytes;
                }
                Err(until) => now = until,
            }
        }
        assert!((1_000_000..1_004_000).contains(&sent), "{sent}");
        pace.set_peer(now, 0);
        pace.set_share(now, 40_000_000);
        assert_eq!(pace.allowance(now.after(Duration::from_secs(1))), Ok(10_000), "2 ms of 40 Mbit/s");
        pace.set_share(now, 0);
        let before = pace.allowance(now.after(Duration::from_secs(1))).unwrap();
        assert_eq!(before, 20_000, "2 ms of 80 Mbit/s");
    }

    #[test]
    fn without_a_limit_nothing_waits() {
        let mut pace = Pace::new(&Options::default());
        pace.spend(Time::ZERO, 1 << 40);
        assert_eq!(pace.allowance(Time::ZERO), Ok(MOST_PORTION));
    }
}
