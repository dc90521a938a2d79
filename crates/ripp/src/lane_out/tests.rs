//! When a lane sends, and how much.

use super::*;
use crate::outbox::Mode;
use crate::rate::{Auto, Fixed};
use crate::wire::Page;

const SIZES: Sizes = Sizes { datagram: 1472, headers: 28, burst: 44 };
const MOST_BPS: u64 = 1_600_000;

/// A lane with much to send.
struct Busy {
    lane: LaneOut,
    outbox: Outbox,
    burst: Burst,
}

impl Busy {
    fn new(lane: LaneOut) -> Self {
        let mut outbox = Outbox::default();
        outbox.open_flow(0, Mode::Reliable, 1);
        outbox.offer(0, 0, 1 << 30, Time::ZERO);
        outbox.open(0);
        Self { lane, outbox, burst: Burst::default() }
    }

    /// Bytes that leave from `now` until `end`.
    fn send(&mut self, mut now: Time, end: Time) -> u64 {
        let before = self.lane.counts().wire_bytes;
        while now < end {
            if let Turn::Wait(until) = self.lane.turn(now, &mut self.outbox, &mut self.burst) {
                now = until;
            }
        }
        self.lane.counts().wire_bytes - before
    }

    /// All that was sent is reported to have come, at this rate.
    fn report(&mut self, now: Time, mbps: u64) {
        let to = self.lane.numbers.load(Ordering::Relaxed);
        let span_bytes = (TRAIN / 2 * SIZES.wire(SIZES.payload())) as u32;
        let report = Report {
            highest: to - 1,
            bytes: self.lane.counts().wire_bytes,
            span_us: span_bytes * 8 / mbps as u32,
            span_bytes,
            credit: to + WINDOW / 2,
            lifetime_ms: 500,
            page: Page { from: 0, to, missing: Vec::new() },
            ..Report::default()
        };
        self.lane.on_report(now, &report, &mut self.outbox);
    }
}

const RTT: Duration = Duration::from_millis(200);

fn lane(controller: Controller) -> LaneOut {
    LaneOut::new(Arc::default(), SIZES, controller, RTT, Time::ZERO)
}

#[test]
fn what_the_receiver_has_told_beforehand_holds_from_the_first_datagram_on() {
    let controllers = [
        || Controller::Fixed(Fixed::new(1_000_000_000)),
        || Controller::Auto(Box::new(Auto::new(1_000_000_000, None))),
    ];
    let most = MOST_BPS / 8 / 10 + 2 * SIZES.wire(SIZES.payload());
    for controller in controllers {
        let sent = |lane| Busy::new(lane).send(Time::ZERO, Time::ZERO.after(RTT / 2));
        assert!(sent(lane(controller())) > 10 * most);
        let bounded = sent(lane(controller()).to_receiver_of(MOST_BPS));
        assert!((most / 2..=most).contains(&bounded), "{bounded} of {most}");
    }
}

#[test]
fn no_more_is_under_way_than_the_receiver_can_tell_apart() {
    let mut busy = Busy::new(lane(Controller::Fixed(Fixed::new(100_000_000_000))));
    let credit = u64::MAX >> 1;
    let page = Page { from: 0, to: 0, missing: Vec::new() };
    let report = Report { credit, lifetime_ms: 5_000, page, ..Report::default() };
    busy.lane.on_report(Time::ZERO, &report, &mut busy.outbox);
    let sent = busy.send(Time::ZERO, Time::ZERO.after(RTT / 2));
    assert_eq!(sent.div_ceil(SIZES.wire(SIZES.payload())), WINDOW / 2);
}

/// One that looks for its rate, whose first train came at this one; when that is told, and bytes of a train.
fn after_train(mbps: u64) -> (Busy, Time, u64) {
    let mut busy = Busy::new(lane(Controller::Auto(Box::new(Auto::new(4_000_000, None)))));
    let told = Time::ZERO.after(RTT);
    busy.send(Time::ZERO, told);
    busy.report(told, mbps);
    (busy, told, TRAIN * SIZES.wire(SIZES.payload()))
}

#[test]
fn a_train_that_was_held_up_is_followed_by_one_that_tells_more() {
    let (mut busy, first, train) = after_train(200);
    assert_eq!(busy.lane.controller.rate_bps(), 140_000_000);
    // Beside what is paced, which is less in this time.
    let soon = first.after(Duration::from_millis(4));
    assert!(busy.send(first, soon) >= train, "no second train");
    let second = first.after(RTT);
    busy.send(soon, second);
    busy.report(second, 1_000);
    let told_bps = busy.lane.controller.rate_bps();
    assert!(told_bps >= 700_000_000, "{told_bps}");
    // There is no third.
    assert!(busy.send(second, second.after(Duration::from_micros(500))) < train);
}

#[test]
fn until_a_train_is_told_no_more_leaves_than_a_slow_path_can_take() {
    let mut busy = Busy::new(lane(Controller::Auto(Box::new(Auto::new(20_000_000, None)))));
    let wire = SIZES.wire(SIZES.payload());
    let second = Time::ZERO.after(Duration::from_secs(1));
    let first = busy.send(Time::ZERO, second);
    assert!((TRAIN * wire..=3 * TRAIN * wire).contains(&first), "{first}");
    // Three have come, too few to tell how fast.
    let to = TRAIN + 1;
    let (credit, missing) = (to + WINDOW / 2, vec![(3, to)]);
    let page = Page { from: 0, to, missing };
    let report = Report { highest: to, credit, lifetime_ms: 500, page, ..Report::default() };
    busy.lane.on_report(second, &report, &mut busy.outbox);
    let more = busy.send(second, second.after(RTT));
    assert_eq!(more, 6 * wire);
}

#[test]
fn a_lane_all_of_whose_first_datagrams_are_lost_goes_on() {
    let mut busy = Busy::new(lane(Controller::Auto(Box::new(Auto::new(20_000_000, None)))));
    let wire = SIZES.wire(SIZES.payload());
    let mut now = Time::ZERO;
    for round in 0..9 {
        let next = now.after(Duration::from_secs(1));
        let sent = busy.send(now, next);
        assert!((TRAIN / 4 * wire..=3 * TRAIN * wire).contains(&sent), "{sent} in round {round}");
        let to = busy.lane.numbers.load(Ordering::Relaxed);
        let page = Page { from: 0, to, missing: vec![(0, to)] };
        let report = Report { highest: to, credit: to + WINDOW / 2, lifetime_ms: 5_000, page, ..Report::default() };
        busy.lane.on_report(next, &report, &mut busy.outbox);
        now = next;
    }
}

#[test]
fn a_path_that_a_train_would_fill_has_one() {
    let (mut busy, first, train) = after_train(30);
    assert!(busy.send(first, first.after(RTT / 16)) < train);
}

#[test]
fn one_that_looks_for_its_rate_anew_begins_with_a_train_and_keeps_its_bounds() {
    let most_bps = 50_000_000;
    let mut busy = Busy::new(lane(Controller::Auto(Box::new(Auto::new(40_000_000, Some(most_bps))))));
    busy.lane.controller.go_on_at(64_000.0);
    let now = Time::ZERO.after(RTT);
    busy.lane.restart_rate_search(now, Sizes { datagram: 1172, ..SIZES });
    assert!(busy.lane.is_starting() && busy.lane.train.left() > 0);
    assert_eq!((busy.lane.sizes().datagram, busy.lane.controller().most_bps()), (1172, most_bps));
    assert!(busy.lane.rate_bps() > 1_000_000, "{}", busy.lane.rate_bps());

    let mut fixed = lane(Controller::Fixed(Fixed::new(most_bps)));
    fixed.restart_rate_search(now, Sizes { datagram: 1172, ..SIZES });
    assert_eq!((fixed.rate_bps(), fixed.train.left()), (most_bps, 0));
}

#[test]
fn one_whose_other_end_is_elsewhere_than_was_said_sends_all_once_more_with_fresh_credit() {
    let mut busy = Busy::new(lane(Controller::Fixed(Fixed::new(100_000_000))));
    let second = Time::ZERO.after(Duration::from_secs(60));
    let first = busy.send(Time::ZERO, second);
    assert!(first > 0 && busy.send(second, second.after(RTT)) == 0, "credit does not end");
    busy.lane.begin_again(second, &mut busy.outbox);
    assert!(!busy.lane.is_under_way());
    let again = busy.send(second, second.after(RTT));
    assert!(again > 0, "nothing leaves again");
    let region = busy.burst.regions.first().copied().unwrap();
    assert!(region.resent && region.offset < first, "{region:?}");
}
