//! Sessions over links that swallow datagrams: streams take over. Needs root, /dev/net/tun and iproute2; says so where one is missing.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{self, Write};
use std::process::{Command, Output};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use visapult_ripp_net::{
    Identity, Listener, ListenerOptions, MemorySink, Mode, Options, Rate, Session, SessionError, Sink, Token,
    Transport, Trust,
};
use visapult_testbed::namespaces::{Side, enter};

const PATIENCE: Duration = Duration::from_secs(30);
const RIGHT: &str = "10.7.0.2";

struct Testbed {
    name: String,
}

impl Testbed {
    /// A link of its own, or nothing where there can be none.
    fn up(test: &str, options: &[&str]) -> Option<Self> {
        let tun = std::path::Path::new("/dev/net/tun").exists();
        let iproute = Command::new("ip").arg("-V").output().is_ok();
        if !rustix::process::geteuid().is_root() || !tun || !iproute {
            let line = format!("SKIPPED {test}: needs root, /dev/net/tun and iproute2\n");
            io::stderr().write_all(line.as_bytes()).unwrap();
            return None;
        }
        let name = format!("test-{test}-{}", std::process::id());
        let output = wan(&[&["up", "--name", &name, "--for", "2m"], options].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(Self { name })
    }

    fn set(&self, settings: &[&str]) {
        let output = wan(&[&["set", "--name", &self.name], settings].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// A listener on the right, and a session to it from the left.
    fn session(&self, options: Options) -> Result<(Listener, Session), SessionError> {
        let (left, right) = (Side::Left.namespace(&self.name), Side::Right.namespace(&self.name));
        let listener = thread::spawn(move || {
            enter(&right).unwrap();
            let identity = Some(Identity::load_or_create(tempfile::tempdir().unwrap().path()).unwrap());
            let token = Some(Token::fresh().unwrap());
            let options = ListenerOptions { identity, token, session: Options::default() };
            Listener::bind(format!("{RIGHT}:0").parse().unwrap(), options).unwrap()
        });
        let listener = listener.join().unwrap();
        let url = listener.url(RIGHT, "");
        let dial = move || {
            enter(&left).unwrap();
            Session::dial(&url, &Trust::for_url(&url).unwrap(), None, &options)
        };
        thread::spawn(dial).join().unwrap().map(|session| (listener, session))
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        wan(&["down", "--name", &self.name]);
    }
}

fn wan(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wan")).args(arguments).output().unwrap()
}

fn content(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 31 + at / 253) as u8).collect()
}

/// Sends an object from one to the other, and calls `underway` when some of it has arrived.
fn send_one(from: &Session, to: &Session, length: usize, underway: impl FnOnce()) {
    let flow = from.open_flow("one", Mode::Reliable, 1).unwrap();
    let outgoing = flow.send("one", Arc::new(content(length))).unwrap();
    let offer = to.next_offer(PATIENCE).unwrap().unwrap();
    let sink = Arc::new(MemorySink::new(length));
    let incoming = offer.accept(Arc::<MemorySink>::clone(&sink));
    while incoming.arrived() < length as u64 / 8 && from.is_alive() {
        thread::yield_now();
    }
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
        let (listener, left) = testbed.session(Options::default()).unwrap();
        let right = listener.accept(PATIENCE).unwrap().unwrap();
        send_one(&left, &right, 3_000_000, || {});
        assert_eq!((left.transport(), right.transport()), (Transport::Tcp, Transport::Tcp));
        assert_eq!(left.statistics().lanes.len(), 4);
        send_one(&right, &left, 3_000_000, || {});
    }
}

#[test]
fn who_insists_on_datagrams_is_told_that_they_are_blocked() {
    let Some(testbed) = Testbed::up("insists", &["--block", "udp"]) else { return };
    let (_listener, left) = testbed.session(Options { transport: Some(Transport::Udp), ..Options::default() }).unwrap();
    let Err(SessionError::Ended(why)) = left.next_offer(PATIENCE) else { panic!("it goes on") };
    assert!(why.contains("no datagram comes through"), "{why}");
}

#[test]
fn streams_take_over_when_datagrams_stop_in_the_middle() {
    for blocked in ["both", "to-right", "to-left"] {
        let Some(testbed) = Testbed::up("middle", &["--rate", "500M", "--rtt", "20ms"]) else { return };
        let options = Options { rate: Rate::Fixed(100_000_000), ..Options::default() };
        let (listener, left) = testbed.session(options).unwrap();
        let right = listener.accept(PATIENCE).unwrap().unwrap();
        assert_eq!(left.transport(), Transport::Udp);
        let block = || match blocked {
            "both" => testbed.set(&["block=udp"]),
            side => testbed.set(&[&format!("{side}:block=udp")]),
        };
        send_one(&left, &right, 10_000_000, block);
        assert_eq!((left.transport(), right.transport()), (Transport::Tcp, Transport::Tcp), "{blocked}");
        assert!(left.statistics().sent().arrived_bytes >= 10_000_000);
        send_one(&right, &left, 1_000_000, || {});
    }
}

#[test]
fn a_session_that_insists_on_datagrams_ends_when_they_stop() {
    let Some(testbed) = Testbed::up("stops", &["--rtt", "20ms"]) else { return };
    let options = Options { transport: Some(Transport::Udp), ..Options::default() };
    let (listener, left) = testbed.session(options).unwrap();
    let right = listener.accept(PATIENCE).unwrap().unwrap();
    while [&left, &right].iter().any(|session| session.statistics().lanes.is_empty() && session.is_alive()) {
        thread::yield_now();
    }
    testbed.set(&["block=udp"]);
    for session in [&left, &right] {
        let Err(SessionError::Ended(why)) = session.next_offer(PATIENCE) else { panic!("it goes on") };
        assert!(why.contains("no datagram has come through"), "{why}");
    }
}
