//! Sessions over links that swallow datagrams, all or large ones. Needs root, /dev/net/tun and iproute2; says so where one is missing.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use visapult_ripp_net::{MemorySink, Mode, Options, Rate, Session, SessionError, Sink, Transport};

use crate::common::{PATIENCE, Testbed, eventually, session};

/// Time for what should not happen to happen.
const A_WHILE: Duration = Duration::from_millis(300);

fn content(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 31 + at / 253) as u8).collect()
}

/// Sends an object from one to the other, calls `offered` before it is accepted, and `underway` when some of it has arrived.
fn send_one(from: &Session, to: &Session, length: usize, offered: impl FnOnce(), underway: impl FnOnce()) {
    let flow = from.open_flow("one", Mode::Reliable, 1).unwrap();
    let outgoing = flow.send("one", Arc::new(content(length))).unwrap();
    let offer = to.next_offer(PATIENCE).unwrap().unwrap();
    offered();
    let sink = Arc::new(MemorySink::new(length));
    let incoming = offer.accept(Arc::<MemorySink>::clone(&sink));
    eventually("a part of the object", &[from, to], || incoming.arrived() >= length as u64 / 8);
    underway();
    incoming.wait().unwrap();
    outgoing.wait().unwrap();
    let mut bytes = vec![0; length];
    sink.read_at(0, &mut bytes).unwrap();
    assert!(bytes == content(length));
}

#[test]
fn streams_take_over_where_datagrams_are_blocked_in_one_or_both_directions() {
    for blocked in [&["--block", "udp"][..], &["--to-right", "block=udp"], &["--to-left", "block=udp"]] {
        let Some(testbed) = Testbed::up("blocked", &[&["--rate", "500M", "--rtt", "20ms"], blocked].concat()) else {
            return;
        };
        let (listener, left) = session(&testbed, Options::default()).unwrap();
        let right = listener.accept(PATIENCE).unwrap().unwrap();
        send_one(&left, &right, 3_000_000, || {}, || {});
        assert_eq!((left.transport(), right.transport()), (Transport::Tcp, Transport::Tcp));
        assert_eq!(left.statistics().lanes.len(), 4);
        send_one(&right, &left, 3_000_000, || {}, || {});
    }
}

/// The dialler sends some of it before, which datagrams lose.
#[test]
fn what_nobody_has_accepted_yet_waits_where_streams_take_over() {
    let Some(testbed) = Testbed::up("waits", &["--rate", "500M", "--rtt", "20ms", "--block", "udp"]) else { return };
    let (listener, left) = session(&testbed, Options::default()).unwrap();
    let right = listener.accept(PATIENCE).unwrap().unwrap();
    let taken_over = || {
        let ends = [&left, &right];
        eventually("streams", &ends, || ends.iter().all(|end| end.transport() == Transport::Tcp));
        thread::sleep(A_WHILE);
    };
    send_one(&left, &right, 3_000_000, taken_over, || {});
}

#[test]
fn who_insists_on_datagrams_is_told_that_they_are_blocked() {
    let Some(testbed) = Testbed::up("insists", &["--block", "udp"]) else { return };
    let (_listener, left) =
        session(&testbed, Options { transport: Some(Transport::Udp), ..Options::default() }).unwrap();
    let Err(SessionError::Ended(why)) = left.next_offer(PATIENCE) else { panic!("it goes on") };
    assert!(why.contains("no datagram comes through"), "{why}");
}

#[test]
fn streams_take_over_when_datagrams_stop_in_the_middle() {
    for blocked in ["both", "to-right", "to-left"] {
        let Some(testbed) = Testbed::up("middle", &["--rate", "500M", "--rtt", "20ms"]) else { return };
        let options = Options { rate: Rate::Fixed(100_000_000), ..Options::default() };
        let (listener, left) = session(&testbed, options).unwrap();
        let right = listener.accept(PATIENCE).unwrap().unwrap();
        assert_eq!(left.transport(), Transport::Udp);
        let block = || match blocked {
            "both" => testbed.must("set", &["block=udp"]),
            side => testbed.must("set", &[&format!("{side}:block=udp")]),
        };
        send_one(&left, &right, 10_000_000, || {}, block);
        assert_eq!((left.transport(), right.transport()), (Transport::Tcp, Transport::Tcp), "{blocked}");
        assert!(left.statistics().sent().arrived_bytes >= 10_000_000);
        send_one(&right, &left, 1_000_000, || {}, || {});
    }
}

#[test]
fn a_session_that_insists_on_datagrams_ends_when_they_stop() {
    let Some(testbed) = Testbed::up("stops", &["--rtt", "20ms"]) else { return };
    let options = Options { transport: Some(Transport::Udp), ..Options::default() };
    let (listener, left) = session(&testbed, options).unwrap();
    let right = listener.accept(PATIENCE).unwrap().unwrap();
    let ends = [&left, &right];
    eventually("lanes", &ends, || ends.iter().all(|end| !end.statistics().lanes.is_empty()));
    testbed.must("set", &["block=udp"]);
    for session in [&left, &right] {
        let Err(SessionError::Ended(why)) = session.next_offer(PATIENCE) else { panic!("it goes on") };
        assert!(why.contains("no datagram has come through"), "{why}");
    }
}

#[test]
fn any_number_of_objects_is_told_of_where_large_packets_are_swallowed() {
    const OBJECTS: usize = 1_000;
    let Some(testbed) = Testbed::up("hole", &["--rate", "500M", "--rtt", "20ms", "--mtu-hole", "1400"]) else { return };
    let (listener, left) = session(&testbed, Options::default()).unwrap();
    let right = listener.accept(PATIENCE).unwrap().unwrap();
    let flow = left.open_flow("many", Mode::Reliable, 1).unwrap();
    let sent: Vec<_> = (0..OBJECTS).map(|at| flow.send(&at.to_string(), Arc::new(vec![7; 10])).unwrap()).collect();
    let accept = |_| right.next_offer(PATIENCE).unwrap().unwrap().accept(Arc::new(MemorySink::new(10)));
    let _incoming: Vec<_> = (0..OBJECTS).map(accept).collect();
    sent.iter().for_each(|outgoing| assert_eq!(outgoing.wait().unwrap().arrived, 10));
}
