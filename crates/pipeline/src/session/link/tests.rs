use std::collections::VecDeque;

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
    path.link.round_trip.ask_again();
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
    assert!(path.link.is_known() && path.link.present_bytes_per_s().is_some());
    assert!((0.8..=1.2).contains(&path.told()), "{} told", path.told());
}

#[test]
fn what_comes_at_once_after_a_pause_makes_nothing_new_of_what_was_measured_before() {
    let mut path = Path::new(20, 12.5e6);
    path.fill(Duration::from_secs(5));
    path.pass(Duration::from_secs(3600));
    path.bytes_per_s = 250e3;
    for bytes in [100, 100, 100_000] {
        path.send(0, bytes);
        path.pass(Duration::from_secs(1));
    }
    assert!((0.8..=1.2).contains(&path.told()), "{} told", path.told());
}

#[test]
fn content_that_comes_sooner_than_a_probe_that_was_held_up_tells_how_long_the_way_is() {
    let mut path = Path::new(600, 12.5e6);
    for way_ms in [600, 300] {
        path.way = Duration::from_millis(way_ms);
        path.send(0, 1000);
        path.pass(Duration::from_secs(1));
    }
    path.follow(5, 1_000_000);
    assert!((0.8..=1.2).contains(&path.told()), "{} told", path.told());
}

#[test]
fn what_was_under_way_over_a_connection_that_is_replaced_is_so_no_more() {
    let now = Instant::now();
    let mut link = Link::of(2);
    link.on_sent(0, FIRST_WINDOW, now);
    link.on_sent(1, 1000, now);
    assert!(!link.has_room(now));
    link.attach(0);
    assert_eq!((link.under_way(0), link.under_way(1), link.is_idle()), (0, 1000, false));
    assert!(link.on_ack(1, 1000, now) && link.has_room(now) && link.is_idle());
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
