//! What the data connections of a session carry together: credit in flight and measured throughput.
//!
//! Owns no clock: the caller passes `now`. Invariants: no message is put on the way while more than a window of bytes is unacknowledged; what is
//! measured of a path is measured anew while it is used, and opens no window before that.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Part of a second's worth of bytes that may be on the way, beyond what a round trip takes.
const WINDOW_S: f64 = 0.33;
/// Window before anything is measured, and when what was measured is old, in bytes.
const FIRST_WINDOW: u64 = 512 * 1024;
/// Least window, in bytes.
const LEAST_WINDOW: u64 = 64 * 1024;
/// Largest window, in bytes.
const MOST_WINDOW: u64 = 32 * 1024 * 1024;
/// How long a measured rate counts, and a round trip.
const MEMORY: Duration = Duration::from_secs(10);
/// Fewer bytes than this tell nothing of the rate but that it is no less: their time is latency.
const TELLING_BYTES: u64 = 16 * 1024;
/// Times of arrival are no more exact than this.
const EXACT_TO: Duration = Duration::from_millis(10);
/// A path may carry so many times what came over it, as far as can be told from how soon that came: the next finer level has as many times the bytes.
const MOST_BEYOND: f64 = 8.0;
/// What comes so much later than a round trip tells that the path carries less than it did: no window is worth as much.
const TOO_LATE: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
struct Sent {
    /// Bytes of its connection, it included.
    end: u64,
    at: Instant,
    /// Bytes delivered by all connections before, and since when those have come that will be by then.
    delivered_before: u64,
    delivering_since: Instant,
    /// Bytes sent at once by all connections, up to this.
    at_once: u64,
    is_probe: bool,
}

#[derive(Debug, Default)]
struct Connection {
    sent: u64,
    delivered: u64,
    under_way: VecDeque<Sent>,
}

/// The data connections of a session, which share a path.
#[derive(Debug, Default)]
pub(crate) struct Link {
    connections: Vec<Connection>,
    /// Bytes of all of them.
    under_way: u64,
    delivered: u64,
    rates: VecDeque<(Instant, f64)>,
    /// How long messages were on the way, the least of late first.
    times: VecDeque<(Instant, Duration)>,
    /// When something was sent last, and how much at that moment.
    sent_at: Option<(Instant, u64)>,
    probed_at: Option<Instant>,
    /// What the last probe took, or less.
    round_trip: Option<Duration>,
    /// What the last probe took, where that was longer.
    longer: Option<Duration>,
    heard_at: Option<Instant>,
    /// When something was sent last while nothing was on the way.
    flowing_since: Option<Instant>,
    /// What was measured is of before a pause, and nothing has come since that tells the rate.
    is_anew: bool,
}

impl Link {
    /// Of so many connections.
    pub(crate) fn of(connections: usize) -> Self {
        Self { connections: (0..connections).map(|_| Connection::default()).collect(), ..Self::default() }
    }

    /// A connection begins, in place of one before.
    pub(crate) fn attach(&mut self, which: usize) {
        let before = std::mem::take(&mut self.connections[which]);
        self.under_way -= before.sent - before.delivered;
    }

    /// Whether a further message may be sent now. Once in a while all is to arrive before: what is on the way hides how long the way is.
    pub(crate) fn has_room(&self, now: Instant) -> bool {
        self.under_way < self.window_bytes() && (self.is_idle() || !self.is_probe_due(now))
    }

    /// Whether a message that carries nothing is to go first: it takes a round trip, and no time to send.
    pub(crate) fn wants_probe(&self, now: Instant) -> bool {
        self.is_idle() && self.is_probe_due(now)
    }

    fn is_probe_due(&self, now: Instant) -> bool {
        self.probed_at.is_none_or(|at| now.duration_since(at) > MEMORY)
    }

    fn window_bytes(&self) -> u64 {
        let round_trip_s = self.round_trip.unwrap_or_default().as_secs_f64();
        let worth = |rate: f64| ((rate * (WINDOW_S + round_trip_s)) as u64).clamp(LEAST_WINDOW, MOST_WINDOW);
        self.present_bytes_per_s().map_or(FIRST_WINDOW, worth)
    }

    /// Whether all that was sent has arrived.
    pub(crate) fn is_idle(&self) -> bool {
        self.under_way == 0
    }

    /// Bytes of a connection that are on the way.
    pub(crate) fn under_way(&self, which: usize) -> u64 {
        self.connections[which].sent - self.connections[which].delivered
    }

    /// Whether it has told what it carries, again after a pause, or carried all of something small.
    pub(crate) fn is_known(&self) -> bool {
        self.present_bytes_per_s().is_some() || (self.delivered > 0 && self.is_idle())
    }

    /// Notes a message put on the way to find out how long that is.
    pub(crate) fn on_probe_sent(&mut self, which: usize, bytes: u64, now: Instant) {
        self.probed_at = Some(now);
        self.note_sent(which, bytes, now, true);
    }

    /// Notes a message put on the way; those of the same `now` are sent at once.
    pub(crate) fn on_sent(&mut self, which: usize, bytes: u64, now: Instant) {
        self.note_sent(which, bytes, now, false);
    }

    fn note_sent(&mut self, which: usize, bytes: u64, now: Instant, is_probe: bool) {
        if self.is_idle() {
            self.is_anew |= self.heard_at.is_some_and(|at| now.duration_since(at) > MEMORY);
            self.flowing_since = Some(now);
        }
        let at_once = bytes + self.sent_at.filter(|(at, _)| *at == now).map_or(0, |(_, bytes)| bytes);
        self.sent_at = Some((now, at_once));
        self.under_way += bytes;
        let connection = &mut self.connections[which];
        connection.sent += bytes;
        connection.under_way.push_back(Sent {
            end: connection.sent,
            at: now,
            delivered_before: self.delivered,
            delivering_since: self.heard_at.max(self.flowing_since).unwrap_or(now),
            at_once,
            is_probe,
        });
    }

    /// Notes that `received` bytes have arrived since the connection opened; false if that cannot be.
    pub(crate) fn on_ack(&mut self, which: usize, received: u64, now: Instant) -> bool {
        let connection = &mut self.connections[which];
        if received > connection.sent || received < connection.delivered {
            return false;
        }
        let mut newest = None;
        while connection.under_way.front().is_some_and(|sent| sent.end <= received) {
            newest = connection.under_way.pop_front();
        }
        let arrived = received - connection.delivered;
        connection.delivered = received;
        self.delivered += arrived;
        self.under_way -= arrived;
        if let Some(sent) = newest {
            let took = now.duration_since(sent.at);
            let later = self.round_trip.filter(|_| !sent.is_probe).and_then(|least| took.checked_sub(least));
            if sent.is_probe {
                self.learn_round_trip(took);
            } else {
                self.round_trip = self.round_trip.map(|least| least.min(took));
            }
            self.measure(&sent, later, now);
            keep_extreme(&mut self.times, took, now, |kept, new| kept >= new);
        }
        self.heard_at = Some(now);
        true
    }

    /// One that is longer than it was is asked for again, and believed then: machines pause.
    fn learn_round_trip(&mut self, took: Duration) {
        self.round_trip = match (self.round_trip, self.longer.take()) {
            (Some(least), None) if took > least => {
                (self.longer, self.probed_at) = (Some(took), None);
                Some(least)
            }
            (_, before) => Some(before.map_or(took, |before| before.min(took))),
        };
    }

    /// How much longer the oldest message has been on the way than one needs at least.
    pub(crate) fn behind(&self, now: Instant) -> Duration {
        let oldest = self.connections.iter().filter_map(|connection| connection.under_way.front()).map(|sent| sent.at);
        let oldest = oldest.min().map_or(Duration::ZERO, |at| now.duration_since(at));
        let least = self.times.front().map_or(Duration::ZERO, |(_, least)| *least);
        oldest.saturating_sub(least)
    }

    /// Delivery rate up to now, when `sent` is acknowledged, so much later than a round trip; the greatest of late is kept. Over a long way it
    /// is no more than what was sent: there, how much later what was sent at once came tells more. What came as soon as can be told speaks
    /// against nothing.
    fn measure(&mut self, sent: &Sent, later: Option<Duration>, now: Instant) {
        let (bytes, since) = (self.delivered - sent.delivered_before, now.duration_since(sent.delivering_since));
        let came_at_once = later.is_some_and(|later| later <= EXACT_TO);
        if since.is_zero() || (bytes < TELLING_BYTES && (!came_at_once || self.rates.is_empty())) {
            return;
        }
        let carried = bytes as f64 / since.as_secs_f64();
        let beyond = later.map_or(0.0, |later| sent.at_once as f64 / later.max(EXACT_TO).as_secs_f64());
        let rate = beyond.min(MOST_BEYOND * carried).max(carried);
        if let Some((at, _)) = self.rates.back_mut().filter(|(_, of_late)| came_at_once && rate <= *of_late) {
            if !self.is_anew {
                *at = now;
            }
            return;
        }
        if later.is_some_and(|later| later > TOO_LATE) {
            self.rates.retain(|(_, of_late)| *of_late < 2.0 * rate);
        }
        keep_extreme(&mut self.rates, rate, now, |kept, new| kept <= new);
        self.is_anew = false;
    }

    /// Greatest delivery rate of late, or of before a pause, in bytes per second.
    pub(crate) fn throughput_bytes_per_s(&self) -> Option<f64> {
        self.rates.front().map(|(_, rate)| *rate)
    }

    /// The same; none after a pause, until it is measured anew.
    pub(crate) fn present_bytes_per_s(&self) -> Option<f64> {
        self.throughput_bytes_per_s().filter(|_| !self.is_anew)
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
        let mut link = Link::of(1);
        link.on_sent(0, 100_000, at(0));
        link.on_sent(0, 100_000, at(0));
        assert!(link.on_ack(0, 100_000, at(10)));
        assert!(link.on_ack(0, 200_000, at(20)));
        let rate = link.throughput_bytes_per_s().unwrap();
        assert!(link.is_known());
        assert!((9e6..=10.1e6).contains(&rate), "{rate}");
    }

    #[test]
    fn a_link_is_known_once_something_has_arrived() {
        let start = Instant::now();
        let mut link = Link::of(1);
        assert!(!link.is_known());
        link.on_sent(0, 1000, start);
        link.on_sent(0, 1000, start);
        assert!(link.on_ack(0, 1000, start + Duration::from_millis(30)) && !link.is_known());
        assert!(link.on_ack(0, 2000, start + Duration::from_millis(60)) && link.is_known());
    }

    #[test]
    fn a_page_that_does_not_read_is_sent_a_bounded_amount() {
        let now = Instant::now();
        let mut link = Link::of(1);
        let mut sent = 0;
        while link.has_room(now) {
            link.on_sent(0, 256 * 1024, now);
            sent += 256 * 1024;
        }
        assert!(sent <= FIRST_WINDOW + 256 * 1024);
    }

    #[test]
    fn a_link_is_behind_by_what_its_oldest_message_takes_beyond_the_least() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut link = Link::of(1);
        assert_eq!(link.behind(at(0)), Duration::ZERO);
        link.on_sent(0, 1000, at(0));
        assert!(link.on_ack(0, 1000, at(80)));
        assert_eq!(link.behind(at(500)), Duration::ZERO);
        link.on_sent(0, 1000, at(500));
        link.on_sent(0, 1000, at(600));
        assert_eq!(link.behind(at(570)), Duration::ZERO);
        assert_eq!(link.behind(at(700)), Duration::from_millis(120));
        assert!(link.on_ack(0, 2000, at(700)));
        assert_eq!(link.behind(at(700)), Duration::from_millis(20));
    }

    /// A path that takes `way` and carries `bytes_per_s` of two connections, and a page that acknowledges each message.
    struct Path {
        link: Link,
        now: Instant,
        way: Duration,
        bytes_per_s: f64,
        is_free_at: Instant,
        acks: VecDeque<(Instant, usize, u64)>,
        sent: [u64; 2],
    }

    impl Path {
        fn new(way_ms: u64, bytes_per_s: f64) -> Self {
            let (now, way) = (Instant::now(), Duration::from_millis(way_ms));
            Self { link: Link::of(2), now, way, bytes_per_s, is_free_at: now, acks: VecDeque::new(), sent: [0; 2] }
        }

        fn send(&mut self, which: usize, bytes: u64) {
            if self.link.wants_probe(self.now) {
                self.carry(which, 1);
                self.link.on_probe_sent(which, 1, self.now);
            }
            self.carry(which, bytes);
            self.link.on_sent(which, bytes, self.now);
        }

        fn carry(&mut self, which: usize, bytes: u64) {
            self.sent[which] += bytes;
            self.is_free_at = self.is_free_at.max(self.now) + Duration::from_secs_f64(bytes as f64 / self.bytes_per_s);
            self.acks.push_back((self.is_free_at + self.way, which, self.sent[which]));
        }

        fn pass(&mut self, time: Duration) {
            let until = self.now + time;
            while let Some((at, which, received)) = self.acks.pop_front_if(|(at, ..)| *at <= until) {
                self.now = at;
                assert!(self.link.on_ack(which, received, at));
            }
            self.now = until;
        }

        /// Sends as much as it may; the bytes.
        fn fill(&mut self, time: Duration) -> u64 {
            let (until, before) = (self.now + time, self.sent);
            while self.now < until {
                while self.link.has_room(self.now) {
                    let which = usize::from(self.link.under_way(0) > self.link.under_way(1));
                    self.send(which, 64 * 1024);
                }
                self.pass(Duration::from_millis(5));
            }
            self.sent.iter().sum::<u64>() - before.iter().sum::<u64>()
        }

        /// Sends steps of as many bytes as it is said to carry of them, up to `most`, ten a second.
        fn follow(&mut self, seconds: u64, most: u64) {
            for _ in 0..10 * seconds {
                let worth = self.link.throughput_bytes_per_s().unwrap_or(12.5e6) * 0.1;
                let bytes = (worth as u64).clamp(20_000, most);
                if self.link.has_room(self.now) && self.link.behind(self.now) <= Duration::from_millis(200) {
                    [0, 1].into_iter().for_each(|which| self.send(which, bytes / 2));
                }
                self.pass(Duration::from_millis(100));
            }
        }

        /// As a share of what it carries.
        fn told(&self) -> f64 {
            self.link.throughput_bytes_per_s().unwrap() / self.bytes_per_s
        }
    }

    #[test]
    fn a_long_way_is_filled() {
        let mut path = Path::new(20, 12.5e6);
        for way_ms in [20, 300, 800, 20, 800] {
            path.way = Duration::from_millis(way_ms);
            path.fill(Duration::from_secs(22));
            let carried = path.fill(Duration::from_secs(20)) as f64 / 20.0 / path.bytes_per_s;
            assert!(carried > 0.8, "{carried} of the rate over {way_ms} ms");
            assert!((0.8..=1.2).contains(&path.told()), "{} told over {way_ms} ms", path.told());
        }
    }

    #[test]
    fn what_is_on_the_way_is_soon_there_over_a_slow_link() {
        let mut path = Path::new(20, 250e3);
        path.fill(Duration::from_secs(65));
        let waits = path.is_free_at - path.now;
        assert!(waits < Duration::from_millis(900), "{waits:?}");
    }

    #[test]
    fn steps_that_follow_faster_than_the_way_is_long_find_out_what_it_carries() {
        for way_ms in [20, 300] {
            let mut path = Path::new(way_ms, 12.5e6);
            path.follow(20, 1_000_000);
            assert!((0.8..=1.2).contains(&path.told()), "{} told over {way_ms} ms", path.told());
        }
    }

    #[test]
    fn a_link_that_changes_is_followed() {
        let mut path = Path::new(300, 250e3);
        path.follow(30, 1_000_000);
        assert!((0.7..=1.3).contains(&path.told()), "{} told", path.told());
        path.bytes_per_s = 12.5e6;
        path.follow(30, 1_000_000);
        assert!((0.8..=1.2).contains(&path.told()), "{} told of a faster one", path.told());
        path.bytes_per_s = 250e3;
        path.follow(30, 1_000_000);
        assert!((0.7..=1.3).contains(&path.told()), "{} told of a slower one", path.told());
    }

    #[test]
    fn one_probe_that_was_held_up_makes_no_link_faster() {
        let mut path = Path::new(20, 12.5e6);
        path.follow(20, 500_000);
        path.pass(Duration::from_millis(500));
        path.link.probed_at = None;
        path.way += Duration::from_millis(30);
        path.link.on_probe_sent(0, 1, path.now);
        path.carry(0, 1);
        path.way -= Duration::from_millis(30);
        path.send(1, 500_000);
        path.pass(Duration::from_millis(500));
        assert!(path.told() < 1.2, "{} told", path.told());
    }

    #[test]
    fn what_comes_far_too_late_tells_that_a_link_is_slower_at_once() {
        let mut path = Path::new(20, 12.5e6);
        path.follow(20, 1_000_000);
        path.bytes_per_s = 250e3;
        // A step takes 4 s.
        path.follow(6, 1_000_000);
        assert!((0.7..=1.3).contains(&path.told()), "{} told", path.told());
    }

    #[test]
    fn a_step_of_the_next_level_is_tried_over_a_long_way() {
        let mut path = Path::new(300, 12.5e6);
        for _ in 0..100 {
            [0, 1].into_iter().for_each(|which| path.send(which, 11_000));
            path.pass(Duration::from_millis(100));
        }
        assert!(path.link.throughput_bytes_per_s().unwrap() > 1.3e6);
    }

    #[test]
    fn small_steps_that_come_at_once_tell_that_a_link_is_not_slow_any_more() {
        let mut path = Path::new(20, 250e3);
        path.fill(Duration::from_secs(5));
        path.bytes_per_s = 12.5e6;
        for _ in 0..200 {
            path.send(0, 8000);
            path.pass(Duration::from_millis(100));
        }
        assert!(path.link.throughput_bytes_per_s().unwrap() > 600e3);
    }

    #[test]
    fn what_is_measured_of_a_fast_link_outlives_small_things_that_come_at_once() {
        let mut path = Path::new(20, 125e6);
        path.fill(Duration::from_secs(5));
        for _ in 0..200 {
            path.send(0, 8000);
            path.pass(Duration::from_millis(100));
        }
        path.send(0, 8000);
        path.is_free_at += Duration::from_millis(30);
        path.send(0, 20_000);
        path.pass(Duration::from_secs(1));
        assert!((0.8..=1.2).contains(&path.told()), "{} told", path.told());
    }

    #[test]
    fn steps_of_one_size_over_a_slow_link_are_told_for_what_they_are() {
        let mut path = Path::new(300, 250e3);
        path.follow(60, 22_000);
        assert!((0.7..=1.3).contains(&path.told()), "{} told", path.told());
    }

    #[test]
    fn what_was_measured_before_a_pause_opens_no_window() {
        let mut path = Path::new(20, 12.5e6);
        path.fill(Duration::from_secs(5));
        path.pass(Duration::from_secs(3600));
        path.bytes_per_s = 250e3;
        path.send(0, 1000);
        path.pass(Duration::from_millis(500));
        assert_eq!((path.link.is_known(), path.link.present_bytes_per_s()), (true, None));
        while path.link.has_room(path.now) {
            path.send(0, 64 * 1024);
        }
        assert!(!path.link.is_known());
        assert!(path.is_free_at - path.now < Duration::from_secs(3), "{:?}", path.is_free_at - path.now);
        path.pass(Duration::from_secs(3));
        assert!(path.link.is_known());
        assert!((0.8..=1.2).contains(&path.told()), "{} told", path.told());
    }

    #[test]
    fn acknowledging_what_was_never_sent_is_refused() {
        let now = Instant::now();
        let mut link = Link::of(1);
        link.on_sent(0, 10, now);
        assert!(!link.on_ack(0, 11, now));
        assert!(link.on_ack(0, 10, now));
        assert!(!link.on_ack(0, 9, now));
    }
}
