//! What a data connection carries: credit in flight and measured throughput.
//!
//! Owns no clock: the caller passes `now`. Invariant: no message is put on the way while more than a window of bytes
//! is unacknowledged.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Part of a second's worth of bytes that may be on the way.
const WINDOW_S: f64 = 0.33;
/// Window before anything is measured, and the least, in bytes.
const LEAST_WINDOW: u64 = 512 * 1024;
/// Largest window, in bytes.
const MOST_WINDOW: u64 = 16 * 1024 * 1024;
/// How long a measured rate counts.
const MEMORY: Duration = Duration::from_secs(10);
/// Fewer bytes than this tell nothing of the rate: their time is latency.
const TELLING_BYTES: u64 = 16 * 1024;

#[derive(Clone, Copy, Debug)]
struct Sent {
    end: u64,
    at: Instant,
    delivered_before: u64,
}

/// One data connection.
#[derive(Debug, Default)]
pub(crate) struct Link {
    sent: u64,
    delivered: u64,
    under_way: VecDeque<Sent>,
    rates: VecDeque<(Instant, f64)>,
    /// How long messages were on the way, the least of late first.
    times: VecDeque<(Instant, Duration)>,
}

impl Link {
    /// Whether a further message may be sent now.
    pub(crate) fn has_room(&self) -> bool {
        self.sent - self.delivered < self.window_bytes()
    }

    fn window_bytes(&self) -> u64 {
        let worth = self.throughput_bytes_per_s().unwrap_or(0.0) * WINDOW_S;
        (worth as u64).clamp(LEAST_WINDOW, MOST_WINDOW)
    }

    /// Whether all that was sent has arrived.
    pub(crate) fn is_idle(&self) -> bool {
        self.sent == self.delivered
    }

    /// Whether it has told what it carries, or carried all of something small.
    pub(crate) fn is_known(&self) -> bool {
        self.throughput_bytes_per_s().is_some() || (self.sent > 0 && self.is_idle())
    }

    /// Notes a message put on the way.
    pub(crate) fn on_sent(&mut self, bytes: u64, now: Instant) {
        self.sent += bytes;
        self.under_way.push_back(Sent { end: self.sent, at: now, delivered_before: self.delivered });
    }

    /// Notes that `received` bytes have arrived since the connection opened; false if that cannot be.
    pub(crate) fn on_ack(&mut self, received: u64, now: Instant) -> bool {
        if received > self.sent || received < self.delivered {
            return false;
        }
        let mut newest = None;
        while self.under_way.front().is_some_and(|sent| sent.end <= received) {
            newest = self.under_way.pop_front();
        }
        self.delivered = received;
        if let Some(sent) = newest {
            let took = now.duration_since(sent.at);
            self.measure(received - sent.delivered_before, took, now);
            keep_extreme(&mut self.times, took, now, |kept, new| kept >= new);
        }
        true
    }

    /// How much longer the oldest message has been on the way than one needs at least.
    pub(crate) fn behind(&self, now: Instant) -> Duration {
        let oldest = self.under_way.front().map_or(Duration::ZERO, |sent| now.duration_since(sent.at));
        let least = self.times.front().map_or(Duration::ZERO, |(_, least)| *least);
        oldest.saturating_sub(least)
    }

    /// Delivery rate over the time the newest acknowledged message was on the way; the greatest of late is kept.
    fn measure(&mut self, bytes: u64, took: Duration, now: Instant) {
        if bytes < TELLING_BYTES || took.is_zero() {
            return;
        }
        let rate = bytes as f64 / took.as_secs_f64();
        keep_extreme(&mut self.rates, rate, now, |kept, new| kept <= new);
    }

    /// Greatest delivery rate of late, in bytes per second.
    pub(crate) fn throughput_bytes_per_s(&self) -> Option<f64> {
        self.rates.front().map(|(_, rate)| *rate)
    }
}

/// Adds what was measured `now` to what was of late, where the first is the most extreme: `yields` tells what a new one makes pointless.
fn keep_extreme<T>(of_late: &mut VecDeque<(Instant, T)>, new: T, now: Instant, yields: impl Fn(&T, &T) -> bool) {
    while of_late.front().is_some_and(|(at, _)| now.duration_since(*at) > MEMORY) {
        of_late.pop_front();
    }
    while of_late.back().is_some_and(|(_, kept)| yields(kept, &new)) {
        of_late.pop_back();
    }
    of_late.push_back((now, new));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_is_what_arrives_while_a_message_is_on_the_way() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut link = Link::default();
        link.on_sent(100_000, at(0));
        link.on_sent(100_000, at(0));
        assert!(link.on_ack(100_000, at(10)));
        assert!(link.on_ack(200_000, at(20)));
        let rate = link.throughput_bytes_per_s().unwrap();
        assert!(link.is_known());
        assert!((9e6..=10.1e6).contains(&rate), "{rate}");
    }

    #[test]
    fn a_link_is_known_once_something_has_arrived() {
        let start = Instant::now();
        let mut link = Link::default();
        assert!(!link.is_known());
        link.on_sent(1000, start);
        link.on_sent(1000, start);
        assert!(link.on_ack(1000, start + Duration::from_millis(30)) && !link.is_known());
        assert!(link.on_ack(2000, start + Duration::from_millis(60)) && link.is_known());
    }

    #[test]
    fn a_page_that_does_not_read_is_sent_a_bounded_amount() {
        let now = Instant::now();
        let mut link = Link::default();
        let mut sent = 0;
        while link.has_room() {
            link.on_sent(256 * 1024, now);
            sent += 256 * 1024;
        }
        assert!(sent <= LEAST_WINDOW + 256 * 1024);
    }

    #[test]
    fn a_link_is_behind_by_what_its_oldest_message_takes_beyond_the_least() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut link = Link::default();
        assert_eq!(link.behind(at(0)), Duration::ZERO);
        link.on_sent(1000, at(0));
        assert!(link.on_ack(1000, at(80)));
        assert_eq!(link.behind(at(500)), Duration::ZERO);
        link.on_sent(1000, at(500));
        link.on_sent(1000, at(600));
        assert_eq!(link.behind(at(570)), Duration::ZERO);
        assert_eq!(link.behind(at(700)), Duration::from_millis(120));
        assert!(link.on_ack(2000, at(700)));
        assert_eq!(link.behind(at(700)), Duration::from_millis(20));
    }

    #[test]
    fn acknowledging_what_was_never_sent_is_refused() {
        let now = Instant::now();
        let mut link = Link::default();
        link.on_sent(10, now);
        assert!(!link.on_ack(11, now));
        assert!(link.on_ack(10, now));
        assert!(!link.on_ack(9, now));
    }
}
