//! How far the giving end is, and what holds it back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use visapult_ripp_net::Verdict;

use super::Giving;
use crate::report::{Event, Limit, Progress};
use crate::source::ReadTime;
use crate::words::Word;

const TELL_EVERY: Duration = Duration::from_millis(200);

/// What was told last, and when.
#[derive(Debug)]
pub(super) struct Headway {
    began: Instant,
    told_at: Instant,
    /// How long reads took, and how long they had until it was told last.
    pub(super) read_time: Arc<ReadTime>,
    read_until: [Duration; 3],
    limit: Option<Limit>,
}

impl Headway {
    pub(super) fn new(read_time: Arc<ReadTime>) -> Self {
        let now = Instant::now();
        Self { began: now, told_at: now, read_time, read_until: [Duration::ZERO; 3], limit: None }
    }

    pub(super) fn is_due(&self) -> bool {
        self.told_at.elapsed() > TELL_EVERY
    }

    /// It is told now; true if most of the time since the last time went into reading: for what was sent, for its hashes, or of small files.
    fn told(&mut self) -> bool {
        let before = std::mem::replace(&mut self.read_until, self.read_time.totals());
        let elapsed = std::mem::replace(&mut self.told_at, Instant::now()).elapsed();
        self.read_until.iter().zip(before).any(|(now, before)| now.saturating_sub(before) * 2 > elapsed)
    }
}

impl Giving<'_> {
    pub(super) fn tell(&mut self) {
        let is_listed = self.listings.is_whole();
        let is_reading = self.readers.bytes() > 0 || !is_listed;
        let is_source_slow = self.headway.told();
        let limit = self.session.verdict().and_then(|verdict| limit_of(verdict, is_reading, is_source_slow));
        if limit != self.headway.limit {
            self.headway.limit = limit;
            let by = limit.map(|limit| limit.to_string()).unwrap_or_default();
            // It is only told for people to see.
            let _ = self.say(&Word::Limit { by });
        }
        let (tally, arrived, elapsed) = (self.tally, self.under_way.arrived(), self.headway.began.elapsed());
        (self.watch)(Event::Progress(Progress { tally, is_listed, arrived, elapsed, limit }));
    }
}

/// What limits the copy where `verdict` is what limits the session: a lane that waits for a disk is late, as one is on a machine that is busy.
fn limit_of(verdict: Verdict, is_reading: bool, is_source_slow: bool) -> Option<Limit> {
    match verdict {
        Verdict::Receiver => Some(Limit::SinkDisk),
        Verdict::Sender | Verdict::Source if is_source_slow => Some(Limit::SourceDisk),
        Verdict::Sender => Some(Limit::Sender),
        // With nothing to be read, the other end has not said yet what it wants.
        Verdict::Source => is_reading.then_some(Limit::SourceDisk),
        Verdict::Rate => Some(Limit::Rate),
        Verdict::Shared | Verdict::ShallowQueue | Verdict::Policer | Verdict::RandomLoss | Verdict::Link => {
            Some(Limit::Network)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_disk_is_told_from_a_busy_machine() {
        assert_eq!(limit_of(Verdict::Sender, false, true), Some(Limit::SourceDisk));
        assert_eq!(limit_of(Verdict::Sender, false, false), Some(Limit::Sender));
        assert_eq!(limit_of(Verdict::Source, false, false), None);
        assert_eq!(limit_of(Verdict::Link, true, true), Some(Limit::Network));
    }
}
