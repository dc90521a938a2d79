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
            self.measure(received - sent.delivered_before, now.duration_since(sent.at), now);
        }
        true
    }

    /// Delivery rate over the time the newest acknowledged message was on the way; the greatest of late is kept.
    fn measure(&mut self, bytes: u64, took: Duration, now: Instant) {
        if bytes < TELLING_BYTES || took.is_zero() {
            return;
        }
        let rate = bytes as f64 / took.as_secs_f64();
        while self.rates.front().is_some_and(|(at, _)| now.duration_since(*at) > MEMORY) {
            self.rates.pop_front();
        }
        while self.rates.back().is_some_and(|(_, smaller)| *smaller <= rate) {
            self.rates.pop_back();
        }
        self.rates.push_back((now, rate));
    }

    /// Greatest delivery rate of late, in bytes per second.
    pub(crate) fn throughput_bytes_per_s(&self) -> Option<f64> {
        self.rates.front().map(|(_, rate)| *rate)
    }
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
        assert!((9e6..=10.1e6).contains(&rate), "{rate}");
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
    fn acknowledging_what_was_never_sent_is_refused() {
        let now = Instant::now();
        let mut link = Link::default();
        link.on_sent(10, now);
        assert!(!link.on_ack(11, now));
        assert!(link.on_ack(10, now));
        assert!(!link.on_ack(9, now));
    }
}
