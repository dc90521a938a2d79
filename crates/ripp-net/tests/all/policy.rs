//! The policy file is obeyed by whoever dials and whoever listens.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::thread;

use visapult_ripp_net::perf::{self, Amount, Report};
use visapult_ripp_net::{
    Clients, Lanes, Listener, ListenerOptions, Memory, Mode, Options, PolicyFile, Rate, Session, SessionError, Token,
    Transport, Trust,
};

use crate::common::{PATIENCE, self_signed};

/// What may leave at once: the schedule that a sender has missed, and one burst.
const AT_ONCE_S: f64 = 0.03;

fn options(folder: &Path, policy: &str) -> Options {
    let path = folder.join("paths.toml");
    fs::write(&path, policy).unwrap();
    Options { policy: PolicyFile::At(path), ..Options::default() }
}

fn listener(session: Options) -> Listener {
    let (identity, token) = (Some(self_signed()), Some(Token::fresh().unwrap()));
    Listener::bind(
        "127.0.0.1:0".parse().unwrap(),
        ListenerOptions { identity, token, clients: Clients::default(), session },
    )
    .unwrap()
}

fn sessions(dialling: &Options, listening: Options) -> Result<(Session, Session), SessionError> {
    let listener = listener(listening);
    let url = listener.url("127.0.0.1", "test");
    let dialer = Session::dial(&url, &Trust::for_url(&url).unwrap(), None, dialling)?;
    Ok((dialer, listener.accept(PATIENCE).unwrap().unwrap()))
}

/// What comes of sending 2 MB from the dialler to the listener.
fn measured(dialling: &Options, listening: Options) -> Report {
    let (sender, receiver) = sessions(dialling, listening).unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let receiving = scope.spawn(|| perf::receive(&receiver, &stop, |_| {}));
        let sent = perf::send(&sender, Amount::Bytes(2_000_000), Mode::Reliable, &stop, |_| {}).unwrap();
        assert!(receiving.join().unwrap().unwrap().verified);
        sent
    })
}

/// However late its threads came: a sender sent no more than its rate allows from its start to its end.
fn assert_kept(bps: f64, report: &Report) {
    let allowed = bps / 8.0 * (report.seconds + AT_ONCE_S);
    assert!(report.wire_bytes as f64 <= allowed, "{} bytes in {} s", report.wire_bytes, report.seconds);
}

#[test]
fn a_fixed_rate_is_cut_to_what_the_senders_policy_allows() {
    let folder = tempfile::tempdir().unwrap();
    let policy = "[[path]]\nto = \"127.0.0.0/8\"\nmost_send = \"20M\"\n";
    let asked = Options { rate: Rate::Fixed(500_000_000), ..options(folder.path(), policy) };
    let report = measured(&asked, Options::default());
    assert_kept(20e6, &report);
    assert_eq!(report.limited_by, "policy");
    let ruling = report.policy.sender.unwrap();
    assert!(ruling.place.ends_with("paths.toml line 1"), "{ruling:?}");
}

#[test]
fn a_rate_that_is_found_is_cut_to_what_the_receivers_policy_allows() {
    let folder = tempfile::tempdir().unwrap();
    let listening = options(folder.path(), "[[path]]\nto = \"127.0.0.1\"\nmost_receive = \"20M\"\n");
    let report = measured(&Options { lanes: Lanes::Exactly(3), ..Options::default() }, listening);
    // What leaves before the receiver's first report is bounded by its first credit, not by its rate.
    assert!(report.policy.receiver.is_some() && report.policy.sender.is_none());
    assert_eq!(report.limited_by, "policy");
}

#[test]
fn streams_keep_to_the_policy_too() {
    let folder = tempfile::tempdir().unwrap();
    let dialling = options(folder.path(), "[[path]]\nto = \"*\"\nmost_send = \"20M\"\ntransport = \"tcp\"\n");
    let report = measured(&dialling, Options::default());
    assert_eq!(report.transport, Transport::Tcp);
    assert_kept(20e6, &report);
}

#[test]
fn datagrams_are_no_larger_than_the_policy_allows() {
    let folder = tempfile::tempdir().unwrap();
    let dialling = options(folder.path(), "[[path]]\nto = \"127.0.0.1\"\nmtu = 1400\n");
    assert_eq!(measured(&dialling, Options::default()).datagram, 1_372);
}

#[test]
fn a_path_that_no_rule_fits_is_free() {
    let folder = tempfile::tempdir().unwrap();
    let dialling = options(folder.path(), "[[path]]\nto = [\"10.0.0.0/8\", \"*.example.org\"]\nmost_send = \"1k\"\n");
    let report = measured(&dialling, Options::default());
    assert!(report.policy.sender.is_none() && report.limited_by != "policy");
}

#[test]
fn a_transport_that_is_not_allowed_is_refused_by_either_end() {
    let folder = tempfile::tempdir().unwrap();
    let policy = options(folder.path(), "[[path]]\nto = \"127.0.0.1\"\ntransport = \"udp\"\n");
    let tcp = Options { transport: Some(Transport::Tcp), ..Options::default() };
    let here = sessions(&Options { transport: tcp.transport, ..policy.clone() }, Options::default()).unwrap_err();
    assert!(here.to_string().contains("line 1") && here.to_string().contains("udp"), "{here}");
    let there = sessions(&tcp, policy).unwrap_err();
    assert!(there.to_string().contains("datagrams only"), "{there}");
}

const LITTLE: &str = "[[path]]\nto = \"127.0.0.1\"\nmemory = \"32MiB\"\n";

#[test]
fn with_little_memory_at_either_end_there_are_as_many_lanes_as_it_has_room_for() {
    let folder = tempfile::tempdir().unwrap();
    let many = Options { lanes: Lanes::Exactly(64), ..Options::default() };
    let room = usize::from(Memory::LEAST.limits(64).lanes);
    assert!((2..64).contains(&room));
    let there = measured(&many, options(folder.path(), LITTLE));
    let here = measured(&Options { lanes: Lanes::Exactly(64), ..options(folder.path(), LITTLE) }, Options::default());
    assert_eq!((there.lanes, here.lanes), (room, room));
    let asked = Options { memory: Some(Memory::LEAST), ..many };
    assert_eq!(measured(&asked, Options::default()).lanes, room);
}

#[test]
fn with_little_memory_there_are_as_many_streams_as_it_has_room_for() {
    let folder = tempfile::tempdir().unwrap();
    let many = Options { lanes: Lanes::Exactly(16), transport: Some(Transport::Tcp), ..Options::default() };
    let report = measured(&many, options(folder.path(), LITTLE));
    assert_eq!((report.transport, report.lanes), (Transport::Tcp, usize::from(Memory::LEAST.limits(16).streams)));
}

#[test]
fn a_policy_that_is_not_understood_stops_everything_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let bad = options(folder.path(), "[[path]]\nto = \"*\"\nmost_speed = \"1G\"\n");
    let refusal = sessions(&bad, Options::default()).unwrap_err().to_string();
    assert!(refusal.contains("line 3") && refusal.contains("most_speed"), "{refusal}");
    let (identity, token) = (Some(self_signed()), Some(Token::fresh().unwrap()));
    let listening = ListenerOptions { identity, token, clients: Clients::default(), session: bad };
    assert!(Listener::bind("127.0.0.1:0".parse().unwrap(), listening).is_err());
}
