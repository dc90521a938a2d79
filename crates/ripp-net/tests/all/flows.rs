//! Flows as a whole: their completion, progress and end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use visapult_ripp_net::{
    Flow, Incoming, Lanes, MemorySink, Mode, Options, Outgoing, Rate, Session, Sink, Source, Trust,
};

use crate::common::{
    InRuns, PATIENCE, assert_works, bytes_of, content, eventually, listener, loopback_carries, next_offer, sessions,
    where_loopback_carries,
};

const LENGTH: usize = 100_000;

fn offered(flow: &Flow, count: usize) -> Vec<Outgoing> {
    (0..count).map(|index| flow.send(&index.to_string(), Arc::new(content(LENGTH))).unwrap()).collect()
}

fn accepted(session: &Session, count: usize) -> Vec<Incoming> {
    (0..count).map(|_| next_offer(session).accept(Arc::new(MemorySink::new(LENGTH)))).collect()
}

#[test]
fn a_flow_is_over_when_all_its_objects_are_whatever_becomes_of_others() {
    let (left, right) = sessions();
    let [flow, other] = ["flow", "other"].map(|name| left.open_flow(name, Mode::Reliable, 1).unwrap());
    offered(&flow, 20);
    assert_eq!(flow.progress().1, 20 * LENGTH as u64);
    accepted(&right, 20);
    let ignored = offered(&other, 1);
    flow.wait().unwrap();
    assert_eq!(flow.progress(), (20 * LENGTH as u64, 20 * LENGTH as u64));
    assert!(!ignored[0].is_over());
    // It may have come, and is accepted by nobody.
    assert_eq!(other.progress().1, LENGTH as u64);
}

#[test]
fn a_flow_that_is_cancelled_takes_back_what_is_under_way_and_may_be_used_again() {
    let (left, right) = sessions();
    let [flow, other] = ["flow", "other"].map(|name| left.open_flow(name, Mode::Reliable, 1).unwrap());
    let (taken_back, kept) = (offered(&flow, 3), offered(&other, 1));
    flow.cancel();
    assert!(taken_back.iter().all(|object| object.wait().unwrap_err().why.contains("cancelled by the sender")));
    assert!(!kept[0].is_over());
    assert!(flow.wait().unwrap_err().why.contains("cancelled by the sender"));
    flow.wait().unwrap();
    assert_works(&left, &right);
}

/// More than can be read in a test.
struct Endless;

impl Source for Endless {
    fn length(&self) -> u64 {
        1 << 40
    }

    fn read_at(&self, _: u64, into: &mut [u8]) -> std::io::Result<()> {
        into.fill(7);
        Ok(())
    }
}

struct Nowhere;

impl Sink for Nowhere {
    fn write_at(&self, _: u64, _: &[u8]) -> std::io::Result<()> {
        Ok(())
    }

    fn read_at(&self, _: u64, _: &mut [u8]) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn nobody_waits_for_the_digest_of_what_was_cancelled() {
    let (left, right) = sessions();
    let flow = left.open_flow("flow", Mode::Reliable, 1).unwrap();
    let large = flow.send("large", Arc::new(Endless)).unwrap();
    let arriving = next_offer(&right).accept(Arc::new(Nowhere));
    eventually("some of it arrives", || arriving.arrived() > 0);
    large.cancel();
    arriving.wait().unwrap_err();
    let small = offered(&left.open_flow("other", Mode::Reliable, 1).unwrap(), 1);
    accepted(&right, 1);
    eventually("a small object is verified behind it", || small[0].is_over());
    small[0].wait().unwrap();
}

#[test]
fn all_lanes_carry_whatever_bounds_their_rate() {
    const MOST_BPS: u64 = 100_000_000;
    for (own, sent, received) in [(Some(MOST_BPS), 0, 0), (None, MOST_BPS, 0), (None, 0, MOST_BPS)] {
        let (listener, url) = listener();
        let options = Options { lanes: Lanes::Exactly(4), rate: Rate::Auto { most_bps: own }, ..Options::default() };
        let left = Session::dial(&url, &Trust::for_url(&url).unwrap(), None, &options).unwrap();
        let right = listener.accept(PATIENCE).unwrap().unwrap();
        left.limit(sent, 0);
        right.limit(0, received);
        let endless = left.open_flow("flow", Mode::Reliable, 1).unwrap().send("endless", Arc::new(Endless)).unwrap();
        let _arriving = next_offer(&right).accept(Arc::new(Nowhere));
        let carries = || left.statistics().lanes.iter().filter(|lane| lane.sent.arrived_bytes > 0).count();
        eventually(&format!("all lanes carry ({own:?} {sent} {received})"), || carries() == 4);
        endless.cancel();
    }
}

#[test]
fn an_object_that_fails_is_told_by_its_flow() {
    let (left, right) = sessions();
    let flow = left.open_flow("flow", Mode::Reliable, 1).unwrap();
    offered(&flow, 2);
    next_offer(&right).refuse("not this one");
    let rest = accepted(&right, 1);
    assert!(flow.wait().unwrap_err().why.contains("not this one"));
    assert!(rest[0].wait().is_ok());
}

#[test]
fn a_flow_whose_session_has_ended_is_not_delivered() {
    let (left, right) = sessions();
    let flow = left.open_flow("flow", Mode::Reliable, 1).unwrap();
    let sent = offered(&flow, 2);
    right.end_because("no more today");
    assert!(sent[0].wait().is_err());
    assert!(flow.wait().unwrap_err().why.contains("no more today"));
}

#[test]
fn a_program_bounds_what_is_sent_and_received_while_it_goes_on() {
    const BPS: u64 = 80_000_000;
    const LENGTH: usize = 8 << 20;
    let (left, right) = sessions();
    let carry = |from: &Session, to: &Session| {
        let before = to.statistics().received_bytes;
        let flow = from.open_flow("bytes", Mode::Reliable, 1).unwrap();
        let outgoing = flow.send("object", Arc::new(content(LENGTH))).unwrap();
        let incoming = next_offer(to).accept(Arc::new(MemorySink::new(LENGTH)));
        incoming.wait().unwrap();
        outgoing.wait().unwrap();
        assert!(to.statistics().received_bytes - before > LENGTH as u64);
        from.statistics().lanes[0].kept_bps / BPS as f64
    };
    left.limit(BPS, 0);
    let sent = carry(&left, &right);
    assert!(sent < 1.3, "{sent}");
    // The other end hears of it with the first report.
    left.limit(0, BPS);
    let received = carry(&right, &left);
    assert!(received < 3.0, "{received}");
    left.limit(0, 0);
    carry(&left, &right);
}

#[test]
fn a_bound_that_is_lifted_holds_nothing_up() {
    let (left, right) = sessions();
    for (bounds, from_left) in [((1, 0), true), ((0, 1), false)] {
        left.limit(bounds.0, bounds.1);
        let (from, to) = if from_left { (&left, &right) } else { (&right, &left) };
        let flow = from.open_flow("bytes", Mode::Reliable, 1).unwrap();
        let outgoing = flow.send("object", Arc::new(content(1 << 20))).unwrap();
        let incoming = next_offer(to).accept(Arc::new(MemorySink::new(1 << 20)));
        thread::sleep(Duration::from_millis(500));
        assert!(!incoming.is_over());
        left.limit(0, 0);
        // A datagram would take hours.
        eventually("delivery", || incoming.is_over() && outgoing.is_over());
        incoming.wait().unwrap();
    }
}

#[test]
fn what_prefers_runs_is_read_and_written_in_fewer_calls_than_it_has_datagrams() {
    let (listener, url) = listener();
    let options = Options { mtu: Some(1_300), ..Options::default() };
    let left = Session::dial(&url, &Trust::for_url(&url).unwrap(), None, &options).unwrap();
    let right = listener.accept(PATIENCE).unwrap().unwrap();
    let flow = left.open_flow("files", Mode::Reliable, 1).unwrap();
    // Several of them share a burst, and none ends with a full datagram.
    let ends = [3_000_001, 700, 5, 90_001, 40_000].map(|length| {
        let source = Arc::new(InRuns::new(content(length)));
        let sent = flow.send("file", Arc::<InRuns>::clone(&source)).unwrap();
        let sink = Arc::new(InRuns::new(vec![0; length]));
        let taken = next_offer(&right).accept(Arc::<InRuns>::clone(&sink));
        (source, sink, sent, taken)
    });
    for (source, sink, sent, taken) in &ends {
        taken.wait().unwrap();
        sent.wait().unwrap();
        assert!(bytes_of(&sink.sink) == source.memory, "wrong bytes");
    }
    let (source, sink, ..) = &ends[0];
    let calls = [source, sink].map(|end| end.calls.load(Ordering::Relaxed));
    assert!(calls.iter().all(|calls| *calls < 3_000_000 / 1_300), "{calls:?}");
}

#[test]
fn where_the_way_comes_to_take_smaller_packets_only_those_are_sent() {
    where_loopback_carries(9_000, || {
        let (listener, url) = listener();
        let options = Options { rate: Rate::Fixed(80_000_000), ..Options::default() };
        let left = Session::dial(&url, &Trust::for_url(&url).unwrap(), None, &options).unwrap();
        let right = listener.accept(PATIENCE).unwrap().unwrap();
        let flow = left.open_flow("flow", Mode::Reliable, 1).unwrap();
        let sent = content(5_000_000);
        let outgoing = flow.send("object", Arc::new(sent.clone())).unwrap();
        let sink = Arc::new(MemorySink::new(sent.len()));
        let incoming = next_offer(&right).accept(Arc::<MemorySink>::clone(&sink));
        eventually("some of it", || outgoing.arrived() > 0);
        let datagram = || left.statistics().lanes[0].datagram;
        assert!(datagram() > 8_000 && loopback_carries(1_400));
        incoming.wait().unwrap();
        assert!(bytes_of(&sink) == sent, "wrong bytes");
        assert!(datagram() < 1_400);
    });
}
