//! Sessions over streams of TLS, on loopback: whole content, both directions at once, streams that die, joins that are refused.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use visapult_ripp_net::perf::{self, Amount, Request};
use visapult_ripp_net::{
    Clients, ControlEvent, ControlLink, ControlReceiver, ControlSender, Identity, Lanes, Listener, ListenerOptions,
    Memory, MemorySink, Mode, Options, Rate, RippUrl, Session, SessionError, Sink, Statistics, Token, Transport, Trust,
};

use crate::common::{Failing, eventually, next_offer};

const PATIENCE: Duration = Duration::from_secs(60);

fn listener(session: Options) -> Listener {
    let identity = Some(Identity::load_or_create(tempfile::tempdir().unwrap().path()).unwrap());
    let options =
        ListenerOptions { identity, token: Some(Token::fresh().unwrap()), clients: Clients::default(), session };
    Listener::bind("127.0.0.1:0".parse().unwrap(), options).unwrap()
}

fn streams(lanes: u16) -> Options {
    Options { lanes: Lanes::Exactly(lanes), transport: Some(Transport::Tcp), ..Options::default() }
}

fn dial(url: &RippUrl, options: &Options) -> Result<Session, SessionError> {
    Session::dial(url, &Trust::for_url(url).unwrap(), None, options)
}

fn pair(listener: &Listener, url: &RippUrl, options: &Options) -> (Session, Session) {
    let dialled = dial(url, options).unwrap();
    (dialled, listener.accept(PATIENCE).unwrap().unwrap())
}

fn content(seed: usize, length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 31 + at / 253 + seed * 17) as u8).collect()
}

/// Receives `count` objects, of any order, by name.
fn receive(session: &Session, count: usize) -> Vec<(usize, Vec<u8>)> {
    let mut under_way = Vec::new();
    while under_way.len() < count {
        let Some(offer) = session.next_offer(PATIENCE).unwrap() else { panic!("no offer") };
        let (index, sink) = (offer.name.parse().unwrap(), Arc::new(MemorySink::new(offer.length as usize)));
        under_way.push((index, Arc::clone(&sink), offer.accept(sink)));
    }
    let whole = |(index, sink, incoming): (usize, Arc<MemorySink>, visapult_ripp_net::Incoming)| {
        assert!(incoming.wait().unwrap().digest.is_some());
        let mut bytes = vec![0; sink.length()];
        sink.read_at(0, &mut bytes).unwrap();
        (index, bytes)
    };
    under_way.into_iter().map(whole).collect()
}

const LENGTHS: [usize; 6] = [0, 1, 65_511, 65_513, 3_000_000, 9_999_999];

fn send_all(session: &Session, seed: usize) {
    let flow = session.open_flow("all", Mode::Reliable, 1).unwrap();
    let send = |(index, &length): (usize, &usize)| {
        flow.send(&index.to_string(), Arc::new(content(seed + index, length))).unwrap()
    };
    let outgoing: Vec<_> = LENGTHS.iter().enumerate().map(send).collect();
    outgoing.iter().for_each(|object| assert!(object.wait().unwrap().digest.is_some()));
}

/// The sender's statistics, which have all of [`LENGTHS`]: the receiver's word that an object is whole may come before the last acknowledgement on a stream.
fn once_all_is_acknowledged(sender: &Session) -> Statistics {
    let all = LENGTHS.iter().sum::<usize>() as u64;
    let deadline = Instant::now() + PATIENCE;
    while sender.statistics().sent().arrived_bytes < all && Instant::now() < deadline {
        thread::yield_now();
    }
    let statistics = sender.statistics();
    assert_eq!(statistics.sent().arrived_bytes, all);
    statistics
}

fn assert_all(received: Vec<(usize, Vec<u8>)>, seed: usize) {
    for (index, bytes) in received {
        assert!(bytes == content(seed + index, LENGTHS[index]), "object {index}");
    }
}

#[test]
fn objects_arrive_whole_in_both_directions_at_once() {
    for lanes in [1, 4] {
        let listener = listener(Options::default());
        let url = listener.url("127.0.0.1", "here");
        let (left, right) = pair(&listener, &url, &streams(lanes));
        assert_eq!(left.transport(), Transport::Tcp);
        thread::scope(|scope| {
            scope.spawn(|| send_all(&left, 1));
            scope.spawn(|| send_all(&right, 2));
            scope.spawn(|| assert_all(receive(&left, LENGTHS.len()), 2));
            assert_all(receive(&right, LENGTHS.len()), 1);
        });
        assert_eq!(right.transport(), Transport::Tcp);
        let sent = once_all_is_acknowledged(&left);
        assert_eq!(sent.lanes.len(), usize::from(lanes));
        assert!(sent.sent().wire_bytes > sent.sent().arrived_bytes);
        left.close();
        assert!(matches!(right.next_offer(PATIENCE), Err(SessionError::Ended(why)) if why.is_empty()));
    }
}

#[test]
fn a_listener_may_want_streams_and_need_no_token_or_tls_on_loopback() {
    let options = ListenerOptions { identity: None, token: None, clients: Clients::default(), session: streams(1) };
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), options).unwrap();
    let url = listener.url("127.0.0.1", "here");
    let left = Session::dial(&url, &Trust::InsecureLoopback, None, &Options::default()).unwrap();
    let right = listener.accept(PATIENCE).unwrap().unwrap();
    assert_eq!(left.transport(), Transport::Tcp);
    thread::scope(|scope| {
        scope.spawn(|| send_all(&right, 3));
        assert_all(receive(&left, LENGTHS.len()), 3);
    });
}

#[test]
fn what_the_two_ends_insist_on_must_agree() {
    let udp = Options { transport: Some(Transport::Udp), ..Options::default() };
    let (wants_udp, wants_tcp) = (listener(udp.clone()), listener(streams(1)));
    for (listener, options) in [(&wants_udp, streams(1)), (&wants_tcp, udp)] {
        let refused = dial(&listener.url("127.0.0.1", ""), &options).unwrap_err();
        assert!(matches!(&refused, SessionError::Refused { why, .. } if why.contains("transport auto")), "{refused}");
    }
}

#[test]
fn late_objects_are_given_up_and_told() {
    let listener = listener(Options::default());
    let url = listener.url("127.0.0.1", "");
    let slow = Options { rate: Rate::Fixed(8_000_000), ..streams(2) };
    let (left, right) = pair(&listener, &url, &slow);
    let flow = left.open_flow("now", Mode::Deadline(Duration::from_millis(100)), 1).unwrap();
    let outgoing = flow.send("0", Arc::new(content(1, 2_000_000))).unwrap();
    let offer = right.next_offer(PATIENCE).unwrap().unwrap();
    let incoming = offer.accept(Arc::new(MemorySink::new(2_000_000)));
    let delivery = incoming.wait().unwrap();
    assert!(delivery.arrived < 2_000_000 && !delivery.holes.is_empty());
    assert_eq!(outgoing.wait().unwrap().arrived, delivery.arrived);
}

#[test]
fn the_receiver_caps_the_sum_of_all_streams() {
    let bps = 80_000_000;
    let listener = listener(Options { most_receive_bps: bps, ..Options::default() });
    let url = listener.url("127.0.0.1", "");
    let (left, right) = pair(&listener, &url, &streams(3));
    thread::scope(|scope| {
        scope.spawn(|| receive(&right, LENGTHS.len()));
        send_all(&left, 1);
    });
    let kept: f64 = left.statistics().lanes.iter().map(|lane| lane.kept_bps).fold(0.0, f64::max);
    assert!(kept > 0.0 && kept < bps as f64, "{kept}");
}

#[test]
fn what_cannot_be_read_is_not_delivered_as_something_else() {
    const LENGTH: usize = 200_000;
    let listener = listener(Options::default());
    let url = listener.url("127.0.0.1", "");
    let (left, right) = pair(&listener, &url, &streams(1));
    let flow = left.open_flow("flow", Mode::Lossy, 1).unwrap();
    for _ in 0..100 {
        let other = flow.send("other", Arc::new(content(1, LENGTH))).unwrap();
        let outgoing = flow.send("object", Arc::new(Failing::new(LENGTH, 140_000))).unwrap();
        let [other_in, incoming] = [0, 1].map(|_| next_offer(&right).accept(Arc::new(MemorySink::new(LENGTH))));
        assert!(outgoing.wait().is_err());
        assert!(incoming.wait().unwrap_err().why.contains("could not read"));
        assert_eq!(other.wait().unwrap().arrived, LENGTH as u64);
        assert_eq!(other_in.wait().unwrap().arrived, LENGTH as u64);
    }
}

#[test]
fn what_comes_is_acknowledged_while_the_way_back_is_full() {
    const LENGTH: usize = 12 << 20;
    let listener = listener(Options::default());
    let relay = Relay::slow(listener.local_addr());
    let url = RippUrl { port: relay.local.port(), ..listener.url("127.0.0.1", "") };
    let (left, right) = pair(&listener, &url, &streams(1));
    let ends = [(&left, &right), (&right, &left)].map(|(from, to)| {
        let flow = from.open_flow("flow", Mode::Reliable, 1).unwrap();
        let outgoing = flow.send("object", Arc::new(content(1, LENGTH))).unwrap();
        (outgoing, next_offer(to).accept(Arc::new(MemorySink::new(LENGTH))))
    });
    eventually("an acknowledgement", || ends.iter().all(|(outgoing, _)| outgoing.arrived() > 1 << 20));
    assert!(ends.iter().all(|(_, incoming)| incoming.arrived() < LENGTH as u64));
}

/// Passes connections on, and cuts those it is told to.
struct Relay {
    local: SocketAddr,
    connections: Arc<Mutex<Vec<[TcpStream; 2]>>>,
    passed: Arc<AtomicU64>,
}

impl Relay {
    fn new(to: SocketAddr) -> Self {
        Self::pausing(to, Duration::ZERO)
    }

    /// Some 2 MB/s each way, of which it holds little.
    fn slow(to: SocketAddr) -> Self {
        Self::pausing(to, Duration::from_millis(4))
    }

    /// Pauses for so long after what it takes at once.
    fn pausing(to: SocketAddr, pause: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let local = listener.local_addr().unwrap();
        let connections = Arc::new(Mutex::new(Vec::new()));
        let passed = Arc::new(AtomicU64::new(0));
        let (kept, counted) = (Arc::clone(&connections), Arc::clone(&passed));
        thread::spawn(move || {
            for near in listener.incoming() {
                let (near, far) = (near.unwrap(), TcpStream::connect(to).unwrap());
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let counted = Arc::clone(&counted);
                    thread::spawn(move || pass(from, to, pause, &counted));
                }
                kept.lock().unwrap().push([near, far]);
            }
        });
        Self { local, connections, passed }
    }

    fn cut(&self, index: usize) {
        let connections = self.connections.lock().unwrap();
        connections[index].iter().for_each(|end| drop(end.shutdown(std::net::Shutdown::Both)));
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, pause: Duration, counted: &AtomicU64) {
    use std::io::{Read, Write};
    if !pause.is_zero() {
        rustix::net::sockopt::set_socket_recv_buffer_size(&from, 32 << 10).unwrap();
    }
    let mut buffer = vec![0; if pause.is_zero() { 16 << 10 } else { 8 << 10 }];
    while let Ok(bytes @ 1..) = from.read(&mut buffer) {
        thread::sleep(pause);
        counted.fetch_add(bytes as u64, Ordering::Relaxed);
        if to.write_all(&buffer[..bytes]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Write);
}

fn through_a_relay(lanes: u16) -> (Listener, Relay, Session, Session) {
    let listener = listener(Options::default());
    let relay = Relay::new(listener.local_addr());
    let url = RippUrl { port: relay.local.port(), ..listener.url("127.0.0.1", "") };
    let options = Options { rate: Rate::Fixed(400_000_000), ..streams(lanes) };
    let (left, right) = pair(&listener, &url, &options);
    (listener, relay, left, right)
}

#[test]
fn what_a_dead_stream_had_under_way_comes_over_the_others() {
    let (_listener, relay, left, right) = through_a_relay(3);
    thread::scope(|scope| {
        scope.spawn(|| send_all(&left, 5));
        scope.spawn(|| {
            eventually("4 MB through the relay", || relay.passed.load(Ordering::Relaxed) >= 4_000_000);
            relay.cut(2);
        });
        assert_all(receive(&right, LENGTHS.len()), 5);
    });
    once_all_is_acknowledged(&left);
    assert!(left.is_alive() && right.is_alive());
}

#[test]
fn without_any_stream_the_session_ends_and_says_why() {
    let (_listener, relay, left, right) = through_a_relay(2);
    relay.cut(1);
    relay.cut(2);
    for session in [&left, &right] {
        let Err(SessionError::Ended(why)) = session.next_offer(PATIENCE) else { panic!("it goes on") };
        assert!(why.contains("all streams are gone"), "{why}");
    }
}

#[test]
fn a_wrong_number_joins_nothing() {
    let listener = listener(Options::default());
    let url = listener.url("127.0.0.1", "");
    let (left, _right) = pair(&listener, &url, &streams(1));
    for token in [url.token.as_ref().map(Token::encoded), None] {
        let link = ControlLink::dial(&url, &Trust::for_url(&url).unwrap(), None, PATIENCE).unwrap();
        let (control, receiver) = link.split().unwrap();
        let hello = serde_json::json!({
            "type": "hello", "versions": [1], "token": token, "name": "", "join": "0".repeat(32), "lanes": 1,
            "ciphers": ["aes128-gcm"],
        });
        control.send(hello.to_string().as_bytes()).unwrap();
        let ControlEvent::Message(answer) = receiver.recv() else { panic!("no answer") };
        let answer: serde_json::Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(answer["type"], "rejected", "{answer}");
    }
    assert!(left.is_alive());
}

/// Says *hello* by hand, to join a session or begin one; what comes first is the answer.
fn said(url: &RippUrl, join: Option<&str>) -> (ControlSender, ControlReceiver, Vec<u8>) {
    let link = ControlLink::dial(url, &Trust::for_url(url).unwrap(), None, PATIENCE).unwrap();
    let (control, receiver) = link.split().unwrap();
    let token = url.token.as_ref().map(Token::encoded);
    let hello = serde_json::json!({
        "type": "hello", "versions": [2], "token": token, "name": "", "join": join, "lanes": 1,
        "ciphers": ["aes128-gcm"],
    });
    control.send(hello.to_string().as_bytes()).unwrap();
    let ControlEvent::Message(answer) = receiver.recv() else { panic!("no answer") };
    (control, receiver, answer)
}

fn told(answer: &[u8]) -> serde_json::Value {
    serde_json::from_slice(answer).unwrap_or_default()
}

#[test]
fn a_stream_for_which_there_is_no_room_is_told_so() {
    let listener = listener(Options { memory: Some(Memory::LEAST), ..Options::default() });
    let url = listener.url("127.0.0.1", "");
    let (_control, _receiver, welcome) = said(&url, None);
    let session = listener.accept(PATIENCE).unwrap().unwrap();
    let number = told(&welcome)["session"].as_str().map(str::to_owned);
    let joined: Vec<_> = (0..5).map(|_| said(&url, number.as_deref())).collect();
    assert!(joined[..4].iter().all(|(_, _, answer)| answer.len() == 28));
    let answer = told(&joined[4].2);
    assert!(answer["why"].as_str().is_some_and(|why| why.contains("4 streams") && why.contains("memory")), "{answer}");
    assert!(session.is_alive());
}

#[test]
fn a_session_whose_listener_allows_datagrams_only_is_joined_by_no_stream() {
    let datagrams = Options { transport: Some(Transport::Udp), ..Options::default() };
    let listener = listener(datagrams);
    let url = listener.url("127.0.0.1", "");
    let (_control, _receiver, welcome) = said(&url, None);
    let session = listener.accept(PATIENCE).unwrap().unwrap();
    let answer = told(&said(&url, told(&welcome)["session"].as_str()).2);
    assert!(answer["why"].as_str().is_some_and(|why| why.contains("datagrams only")), "{answer}");
    assert_eq!(session.transport(), Transport::Udp);
}

#[test]
fn a_measurement_over_streams_is_complete_in_either_direction() {
    for reverse in [false, true] {
        let listener = listener(Options::default());
        let url = listener.url("127.0.0.1", "perf");
        let request = Request::new(Amount::Bytes(30_000_000), Mode::Reliable, reverse);
        let options = Options { request: request.to_text(), ..streams(2) };
        let (left, right) = pair(&listener, &url, &options);
        let (sender, receiver) = if reverse { (&right, &left) } else { (&left, &right) };
        let stop = AtomicBool::new(false);
        let (sent, received) = thread::scope(|scope| {
            let receiving = scope.spawn(|| perf::receive(receiver, &stop, |_| {}));
            let sent = perf::send(sender, request.amount, request.mode, &stop, |_| {});
            (sent.unwrap(), receiving.join().unwrap().unwrap())
        });
        for report in [sent, received] {
            assert!(report.verified && report.bytes == 30_000_000 && report.goodput_bps > 0.0);
            assert_eq!((report.transport, report.lanes), (Transport::Tcp, 2));
            assert!(report.wire_bytes > report.bytes && report.rtt_us.min > 0);
        }
    }
}
