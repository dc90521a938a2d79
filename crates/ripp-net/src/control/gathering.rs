//! Which messages are written at once: a connection that has just begun may have ten packets under way, however small, and the rest arrives a round trip later.

use std::time::{Duration, Instant};

/// Messages that wait together are written at once up to so many bytes.
pub(super) const GATHERED: usize = 16 << 10;
/// Over a long path, too, what follows a message within this share of a round trip, and within this time.
const SHARE: u32 = 64;
const MOST: Duration = Duration::from_millis(1);
/// Less than this is not waited for.
const LEAST: Duration = Duration::from_micros(100);

/// A message that comes alone is written at once; those that come shortly after it wait for one another.
#[derive(Debug)]
pub(super) struct Gathering {
    time: Option<Duration>,
    until: Option<Instant>,
}

impl Gathering {
    /// `rtt` is that of the path, where it is known.
    pub(super) fn over(rtt: Option<Duration>) -> Self {
        let time = rtt.map(|rtt| (rtt / SHARE).min(MOST)).filter(|time| *time >= LEAST);
        Self { time, until: None }
    }

    /// Until when what is queued waits, if it does.
    pub(super) fn until(&mut self, now: Instant) -> Option<Instant> {
        self.until = self.until.filter(|until| *until > now);
        self.until
    }

    /// So many bytes were written at once.
    pub(super) fn wrote(&mut self, bytes: usize, now: Instant) {
        // More may wait already where this was as much as goes at once.
        self.until = self.time.filter(|_| bytes < GATHERED).map(|time| now + time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn what_follows_a_message_over_a_long_path_waits_for_more_of_it() {
        let now = Instant::now();
        let mut gathering = Gathering::over(Some(300 * MS));
        assert_eq!(gathering.until(now), None, "a message alone waited");
        gathering.wrote(60, now);
        assert_eq!(gathering.until(now + MS / 2), Some(now + MS));
        assert_eq!(gathering.until(now + MS), None);
        gathering.wrote(GATHERED, now + MS);
        assert_eq!(gathering.until(now + MS), None, "what did not fit waited");
    }

    #[test]
    fn the_time_is_a_small_share_of_a_round_trip() {
        let waits = |rtt| {
            let now = Instant::now();
            let mut gathering = Gathering::over(rtt);
            gathering.wrote(60, now);
            gathering.until(now).map(|until| until - now)
        };
        assert_eq!(waits(Some(32 * MS)), Some(MS / 2));
        assert_eq!(waits(Some(MS)), None);
        assert_eq!(waits(None), None);
    }
}
