//! Lanes over loopback: what is sent arrives, whatever the kernel can do.

use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

use visapult_ripp_net::{Ecn, LaneSocket, MAX_BURST_BYTES, RecvArena, SendOutcome};

use crate::common::{eventually, where_loopback_carries};

const PATIENCE: Duration = Duration::from_secs(10);

fn loopback() -> LaneSocket {
    LaneSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap()
}

/// Datagrams until `bytes` bytes are here: contents, senders, marks.
fn collect(lane: &LaneSocket, bytes: usize) -> Vec<(Vec<u8>, SocketAddr, Ecn)> {
    let mut arena = RecvArena::new();
    let mut found = Vec::new();
    let mut arrived = 0;
    while arrived < bytes {
        let batch = lane.recv_batch(&mut arena, PATIENCE).unwrap();
        let before = arrived;
        for datagram in batch.datagrams {
            arrived += datagram.bytes.len();
            found.push((datagram.bytes.to_vec(), datagram.from, datagram.ecn));
        }
        assert!(arrived > before, "nothing more came after {arrived} of {bytes} bytes");
    }
    found
}

fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 31 + i / 251) as u8).collect()
}

#[test]
fn a_burst_arrives_as_the_datagrams_it_was_cut_into() {
    let (left, right) = (loopback(), loopback());
    for segment in [1, 100, 1472, 8972] {
        let burst = pattern(segment * 40 + segment / 2);
        assert_eq!(left.send_burst(right.local_addr(), &burst, segment).unwrap(), SendOutcome::Sent);
        let found = collect(&right, burst.len());
        assert!(found.iter().all(|(_, from, _)| *from == left.local_addr()));
        let sent: Vec<&[u8]> = burst.chunks(segment).collect();
        assert_eq!(found.iter().map(|(bytes, _, _)| bytes.as_slice()).collect::<Vec<_>>(), sent);
    }
}

#[test]
fn one_datagram_is_sent_as_it_is() {
    let (left, right) = (loopback(), loopback());
    left.send_burst(right.local_addr(), b"alone", 1472).unwrap();
    assert_eq!(collect(&right, 5)[0].0, b"alone");
}

#[test]
fn a_peer_without_offloads_sees_ordinary_datagrams() {
    let left = loopback();
    let plain = UdpSocket::bind("127.0.0.1:0").unwrap();
    plain.set_read_timeout(Some(PATIENCE)).unwrap();
    left.send_burst(plain.local_addr().unwrap(), &pattern(3000), 1472).unwrap();
    let mut buffer = [0; 4096];
    let sizes = [(); 3].map(|()| plain.recv(&mut buffer).unwrap());
    assert_eq!(sizes, [1472, 1472, 56]);
}

#[test]
fn marks_arrive_with_the_datagrams_that_bore_them() {
    for at in ["127.0.0.1:0", "[::1]:0"] {
        let (Ok(left), Ok(right)) = (LaneSocket::bind(at.parse().unwrap()), LaneSocket::bind(at.parse().unwrap()))
        else {
            continue; // No IPv6 here.
        };
        for ecn in [Ecn::NotCapable, Ecn::Capable0, Ecn::Capable1, Ecn::Congested] {
            left.set_ecn(ecn).unwrap();
            left.send_burst(right.local_addr(), &pattern(5000), 1000).unwrap();
            assert!(collect(&right, 5000).iter().all(|(_, _, borne)| *borne == ecn), "{at} {ecn:?}");
        }
    }
}

#[test]
fn an_ipv6_socket_at_any_address_serves_ipv4() {
    let Ok(both) = LaneSocket::bind("[::]:0".parse().unwrap()) else { return };
    let v4 = loopback();
    let at = SocketAddr::from(([127, 0, 0, 1], both.local_addr().port()));
    v4.set_ecn(Ecn::Capable0).unwrap();
    v4.send_burst(at, b"there", 100).unwrap();
    let found = collect(&both, 5);
    assert_eq!((found[0].1, found[0].2), (v4.local_addr(), Ecn::Capable0));
    both.send_burst(found[0].1, b"back", 100).unwrap();
    assert_eq!(collect(&v4, 4)[0].1, at);
}

#[test]
fn a_datagram_larger_than_any_can_be_is_told_as_such() {
    let (left, right) = (loopback(), loopback());
    let outcome = left.send_burst(right.local_addr(), &pattern(70_000), 70_000).unwrap();
    assert_eq!(outcome, SendOutcome::TooLarge { sent: 0 });
    // The lane goes on, offload and all.
    let offload = left.gso_max_segments();
    assert_eq!(left.send_burst(right.local_addr(), &pattern(2000), 1000).unwrap(), SendOutcome::Sent);
    assert_eq!(left.gso_max_segments(), offload);
}

#[test]
fn more_than_one_call_can_take_goes_out_in_several() {
    let (left, right) = (loopback(), loopback());
    let burst = pattern(3 * MAX_BURST_BYTES);
    assert_eq!(left.send_burst(right.local_addr(), &burst, 1200).unwrap(), SendOutcome::Sent);
    let found: Vec<u8> = collect(&right, burst.len()).into_iter().flat_map(|(bytes, _, _)| bytes).collect();
    assert!(found == burst);
}

#[test]
fn nobody_listening_does_not_fail_the_lane() {
    let (left, right) = (loopback(), loopback());
    let gone = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for _ in 0..10 {
        assert_eq!(left.send_burst(gone, b"anybody?", 100).unwrap(), SendOutcome::Sent);
    }
    left.send_burst(right.local_addr(), b"you", 100).unwrap();
    assert_eq!(collect(&right, 3)[0].0, b"you");
}

#[test]
fn what_a_full_buffer_costs_is_counted() {
    let (left, right) = (loopback(), loopback());
    let burst = pattern(MAX_BURST_BYTES);
    // Twice what the buffer can hold, whatever the system has granted.
    let rounds = 2 * right.recv_buffer() / burst.len() + 2;
    for _ in 0..rounds {
        while left.send_burst(right.local_addr(), &burst, 8000).unwrap() != SendOutcome::Sent {
            assert!(left.wait_writable(PATIENCE).unwrap());
        }
    }
    let mut arena = RecvArena::new();
    // The kernel tells with the first datagram that is queued after the loss.
    eventually("a word of what was dropped", || {
        let dropped = right.recv_batch(&mut arena, Duration::ZERO).unwrap().dropped;
        left.send_burst(right.local_addr(), b"next", 100).unwrap();
        dropped > 0
    });
}

#[test]
fn another_thread_ends_the_wait() {
    let lane = loopback();
    let waker = lane.waker();
    thread::scope(|scope| {
        scope.spawn(move || waker.wake());
        let mut arena = RecvArena::new();
        let batch = lane.recv_batch(&mut arena, PATIENCE).unwrap();
        assert!(batch.woken && batch.datagrams.count() == 0);
    });
    let mut arena = RecvArena::new();
    assert!(!lane.recv_batch(&mut arena, Duration::from_millis(1)).unwrap().woken, "a wake-up counts once");
}

#[test]
fn the_route_tells_its_mtu() {
    let lane = loopback();
    let told = lane.route_mtu("127.0.0.1:9".parse().unwrap()).unwrap();
    let interface: usize = std::fs::read_to_string("/sys/class/net/lo/mtu").unwrap().trim().parse().unwrap();
    // A route may be told narrower than its interface, never wider than an IP packet.
    assert_eq!(told, interface.min(65_535));
}

#[test]
fn a_burst_of_nothing_is_refused() {
    let lane = loopback();
    assert!(lane.send_burst(lane.local_addr(), b"x", 0).is_err());
}

#[test]
fn a_datagram_larger_than_the_interface_carries_is_told_and_the_lane_goes_on() {
    where_loopback_carries(1500, || {
        let (left, right) = (loopback(), loopback());
        let to = right.local_addr();
        assert_eq!(left.route_mtu(to).unwrap(), 1500);
        let offload = left.gso_max_segments();
        for bytes in [1473, 2000, 9000] {
            assert_eq!(left.send_burst(to, &pattern(bytes), bytes).unwrap(), SendOutcome::TooLarge { sent: 0 });
            assert_eq!(left.send_burst(to, &pattern(5 * bytes), bytes).unwrap(), SendOutcome::TooLarge { sent: 0 });
        }
        assert_eq!(left.gso_max_segments(), offload, "too large is no reason to give up offload");
        assert_eq!(left.send_burst(to, &pattern(14_720), 1472).unwrap(), SendOutcome::Sent);
        assert_eq!(collect(&right, 14_720).len(), 10);
    });
}
