//! Peers that lie, flood and stall: what they cost is bounded, and the next honest session works.

use std::collections::HashSet;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use visapult_ripp::cipher::Cipher;
use visapult_ripp::control::{Hello, Message, VERSIONS, Welcome};
use visapult_ripp_net::{
    Clients, ControlError, ControlEvent, ControlLink, ControlReceiver, ControlSender, Listener, ListenerOptions, Mode,
    Options, RippUrl, Session, SessionError, Token, Trust,
};

use crate::common::{PATIENCE, assert_works, dial, eventually, listener};

/// What a session may cost beside its data: offers, messages that wait, and what the allocator keeps of them.
const MOST_MEMORY: u64 = 256 << 20;

fn hello(url: &RippUrl) -> Hello {
    Hello {
        versions: VERSIONS.to_vec(),
        token: url.token.as_ref().map(Token::encoded),
        name: url.name.clone(),
        join: None,
        lanes: 1,
        ciphers: vec![Cipher::Aes128Gcm],
        transport: None,
        mtu: None,
        service: None,
        request: String::new(),
        plain_secret: None,
        most_bps: None,
        room: 0,
        most_lanes: None,
    }
}

/// A connection that has passed TLS and says what it likes.
struct Hostile {
    sender: ControlSender,
    receiver: ControlReceiver,
}

impl Hostile {
    fn connect(url: &RippUrl) -> Self {
        let link = ControlLink::dial(url, &Trust::for_url(url).unwrap(), None, PATIENCE).unwrap();
        let (sender, receiver) = link.split().unwrap();
        Self { sender, receiver }
    }

    /// In a session, with the token it was given.
    fn admitted(url: &RippUrl, listener: &Listener) -> (Self, Session, Welcome) {
        let hostile = Self::connect(url);
        hostile.say(&Message::Hello(hello(url)));
        let Message::Welcome(welcome) = hostile.hear() else { panic!("no welcome") };
        let session = listener.accept(PATIENCE).unwrap().unwrap();
        (hostile, session, welcome)
    }

    fn say(&self, message: &Message) {
        self.say_bytes(&message.to_bytes());
    }

    fn say_bytes(&self, bytes: &[u8]) {
        let deadline = Instant::now() + PATIENCE;
        while let Err(ControlError::BackedUp) = self.sender.send(bytes) {
            assert!(Instant::now() < deadline, "nobody takes what is said");
            std::thread::yield_now();
        }
    }

    fn hear(&self) -> Message {
        match self.receiver.recv_timeout(PATIENCE) {
            Some(ControlEvent::Message(bytes)) => Message::from_bytes(&bytes).unwrap(),
            other => panic!("no message but {other:?}"),
        }
    }
}

fn open_flow(hostile: &Hostile, name: String) {
    hostile.say(&Message::Flow { flow: 0, name, mode: Mode::Reliable, weight: 1 });
}

/// Memory of this process, in bytes.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

fn assert_honest_sessions_work(listener: &Listener, url: &RippUrl) {
    let left = dial(url);
    let right = loop {
        let session = listener.accept(PATIENCE).unwrap().unwrap();
        if session.name() == url.name && session.is_alive() {
            break session;
        }
    };
    assert_works(&left, &right);
}

fn assert_ended(session: &Session, needle: &str) {
    eventually("the end", || !session.is_alive());
    let why = session.why_ended().unwrap_or_default();
    assert!(why.contains(needle), "{why}");
}

#[test]
fn who_breaks_the_protocol_is_told_from_who_is_gone() {
    let (listener, url) = listener();
    let breaches = [
        Message::Accept { object: 77 },
        Message::Offer { object: 0, flow: 9, name: "in no flow".to_owned(), length: 1 },
    ];
    let breaches = breaches.map(|message| message.to_bytes()).into_iter().chain([b"[".repeat(1000)]);
    for said in breaches {
        let (hostile, session, _) = Hostile::admitted(&url, &listener);
        hostile.say_bytes(&said);
        eventually("the end", || !session.is_alive());
        let cause = session.next_arrival(PATIENCE).unwrap_err();
        assert!(matches!(&cause, SessionError::Breach(why) if Some(why) == session.why_ended().as_ref()), "{cause:?}");
        assert!(matches!(session.ended(), SessionError::Breach(_)));
    }
    let (hostile, session, _) = Hostile::admitted(&url, &listener);
    hostile.say(&Message::Bye { why: "no more".to_owned() });
    eventually("the end", || !session.is_alive());
    assert!(matches!(session.next_arrival(PATIENCE), Err(SessionError::Ended(why)) if why.contains("no more")));
    let (hostile, session, _) = Hostile::admitted(&url, &listener);
    drop(hostile);
    eventually("the end", || !session.is_alive());
    assert!(matches!(session.ended(), SessionError::Ended(_)));
}

/// `offer` offers in flow 0, whose name is as long as one may be.
fn assert_offers_cost_bounded_memory(offer: impl FnOnce(&Hostile)) {
    let (listener, url) = listener();
    let (hostile, session, _) = Hostile::admitted(&url, &listener);
    let before = memory();
    open_flow(&hostile, "f".repeat(4096));
    offer(&hostile);
    hostile.say(&Message::Bye { why: String::new() });
    eventually("the last offer", || !session.is_alive());
    let grown = memory().saturating_sub(before);
    assert!(grown < MOST_MEMORY, "{} MiB", grown >> 20);
    drop(session);
    assert_honest_sessions_work(&listener, &url);
}

#[test]
fn objects_of_2_to_the_60_bytes_end_the_session() {
    let (listener, url) = listener();
    let (hostile, session, _) = Hostile::admitted(&url, &listener);
    open_flow(&hostile, "flow".to_owned());
    hostile.say(&Message::Offer { object: 0, flow: 0, name: "all of it".to_owned(), length: 1 << 60 });
    assert_ended(&session, "length below 2^48");
    assert_honest_sessions_work(&listener, &url);
}

#[test]
fn a_hundred_thousand_offers_cost_bounded_memory() {
    assert_offers_cost_bounded_memory(|hostile| {
        for object in 0..100_000 {
            hostile.say(&Message::Offer { object, flow: 0, name: "n".repeat(500), length: 1 << 40 });
        }
    });
}

#[test]
fn offers_that_are_taken_back_at_once_cost_bounded_memory() {
    assert_offers_cost_bounded_memory(|hostile| {
        for object in 0..60_000 {
            hostile.say(&Message::Offer { object, flow: 0, name: "n".repeat(500), length: 1 << 20 });
            hostile.say(&Message::Cancel { object, why: "changed my mind".to_owned() });
        }
    });
}

#[test]
fn long_reasons_for_taking_offers_back_cost_bounded_memory() {
    let why = "w".repeat(60_000);
    assert_offers_cost_bounded_memory(|hostile| {
        for object in 0..8_000 {
            hostile.say(&Message::Offer { object, flow: 0, name: String::new(), length: 1 << 20 });
            hostile.say(&Message::Cancel { object, why: why.clone() });
        }
    });
}

#[test]
fn messages_that_make_no_sense_end_the_session_and_say_so() {
    for (bytes, needle) in [
        (b"\0\xff\xfe garbage".as_slice(), "not understood"),
        (b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "not understood"),
        (br#"{"type":"offer","object":0,"flow":7,"name":"","length":1}"#, "not opened"),
        (br#"{"type":"accept","object":12}"#, "not offered"),
        (br#"{"type":"done","object":4294967295,"arrived":1,"fault":null}"#, "not offered"),
    ] {
        let (listener, url) = listener();
        let (hostile, session, _) = Hostile::admitted(&url, &listener);
        hostile.say_bytes(bytes);
        assert_ended(&session, needle);
        assert_honest_sessions_work(&listener, &url);
    }
}

#[test]
fn messages_and_fields_of_later_builds_are_passed_over() {
    let (listener, url) = listener();
    let (hostile, session, _) = Hostile::admitted(&url, &listener);
    hostile.say_bytes(br#"{"type":"telepathy","strength":3}"#);
    hostile.say_bytes(br#"{"type":"flow","flow":0,"name":"flow","mode":"reliable","weight":1,"colour":"red"}"#);
    hostile.say_bytes(br#"{"type":"offer","object":0,"flow":0,"name":"late","length":5,"smell":null}"#);
    let offer = session.next_offer(PATIENCE).unwrap().unwrap();
    assert_eq!((offer.name.as_str(), offer.length), ("late", 5));
}

#[test]
fn builds_without_a_common_version_are_told_which_to_update() {
    let (listener, url) = listener();
    for (versions, needle) in [
        (vec![1], "it speaks version 2 of the protocol, you 1: update yours"),
        (vec![98, 99], "it speaks version 2 of the protocol, you 98 and 99: update the one there"),
    ] {
        let hostile = Hostile::connect(&url);
        hostile.say(&Message::Hello(Hello { versions, ..hello(&url) }));
        let Message::Rejected { why, .. } = hostile.hear() else { panic!("not rejected") };
        assert!(why.contains(needle), "{why}");
    }
    let hostile = Hostile::connect(&url);
    hostile.say(&Message::Hello(Hello { versions: vec![99, VERSIONS[0]], ..hello(&url) }));
    assert!(matches!(hostile.hear(), Message::Welcome(welcome) if welcome.version == VERSIONS[0]));
    drop(listener);
}

#[test]
fn a_later_build_is_understood_as_far_as_possible_and_told_what_is_not() {
    let (_listener, url) = listener();
    let token = url.token.as_ref().map(Token::encoded).unwrap();
    let answer = |rest: &str| {
        let hostile = Hostile::connect(&url);
        let hello = format!(r#"{{"type":"hello","versions":[3,2,1],"token":"{token}","name":"test",{rest}}}"#);
        hostile.say_bytes(hello.as_bytes());
        hostile.hear()
    };
    let Message::Welcome(welcome) = answer(r#""lanes":4096,"ciphers":["aegis-128l","aes256-gcm"],"wings":2"#) else {
        panic!("no welcome")
    };
    assert_eq!((welcome.version, welcome.cipher), (VERSIONS[0], Cipher::Aes256Gcm));
    assert_eq!(welcome.ports.len(), 64);
    for (rest, needle) in [
        (r#""lanes":1,"ciphers":["aes128-gcm"],"transport":"pigeon""#, "`pigeon`"),
        (r#""lanes":1,"ciphers":["aegis-128l"]"#, "no cipher that both ends know"),
        (r#""lanes":0,"ciphers":["aes128-gcm"]"#, "1 lane at least"),
        (r#""lanes":"many","ciphers":["aes128-gcm"]"#, "not understood"),
    ] {
        let Message::Rejected { why, .. } = answer(rest) else { panic!("not rejected: {rest}") };
        assert!(why.contains(needle), "{why}");
    }
}

#[test]
fn a_stranger_at_the_lanes_is_not_answered_and_changes_nothing() {
    let (listener, url) = listener();
    let (left, right) = (dial(&url), listener.accept(PATIENCE).unwrap().unwrap());
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    stranger.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let garbage: Vec<u8> = (0..1500_u32).map(|i| ((i * 7919) >> 3) as u8).collect();
    for lane in own_udp_ports().into_iter().filter(|lane| *lane != stranger.local_addr().unwrap()) {
        for length in (0..1500).step_by(7) {
            stranger.send_to(&garbage[..length], lane).unwrap();
        }
    }
    assert_works(&left, &right);
    let answer = stranger.recv_from(&mut [0; 2000]).unwrap_err().kind();
    assert!(matches!(answer, ErrorKind::WouldBlock | ErrorKind::TimedOut), "{answer}");
}

/// UDP sockets of this process on 127.0.0.1.
fn own_udp_ports() -> Vec<SocketAddr> {
    let sockets: HashSet<String> = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok()?.into_os_string().into_string().ok())
        .filter_map(|link| Some(link.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let table = std::fs::read_to_string("/proc/self/net/udp").unwrap();
    let own = table.lines().skip(1).filter_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        let port = words.get(1)?.strip_prefix("0100007F:")?;
        let port = u16::from_str_radix(port, 16).ok()?;
        sockets.contains(*words.get(9)?).then(|| SocketAddr::from(([127, 0, 0, 1], port)))
    });
    own.collect()
}

#[test]
fn half_open_handshakes_do_not_keep_others_out() {
    let (listener, url) = listener();
    let at = SocketAddr::from(([127, 0, 0, 1], url.port));
    let before = memory();
    let half_open: Vec<_> = (0..300)
        .map(|index| {
            let mut stream = TcpStream::connect_timeout(&at, PATIENCE).unwrap();
            // The head of a TLS record that never comes, or nothing at all; those pushed out may be gone already.
            let _ = stream.write_all(&[0x16, 0x03, 0x01, 0x40, 0x00, 0x01][..index % 7]);
            stream
        })
        .collect();
    assert_honest_sessions_work(&listener, &url);
    assert!(memory().saturating_sub(before) < MOST_MEMORY);
    drop(half_open);
}

#[test]
fn links_that_never_say_who_they_are_do_not_keep_others_out() {
    let (listener, url) = listener();
    let silent: Vec<_> = (0..150).map(|_| Hostile::connect(&url)).collect();
    assert_honest_sessions_work(&listener, &url);
    drop(silent);
}

#[test]
fn who_is_refused_and_stays_is_pushed_out_by_those_who_come_later() {
    const MANY: usize = 300;
    let insecure =
        ListenerOptions { identity: None, token: None, clients: Clients::default(), session: Options::default() };
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), insecure).unwrap();
    let url = listener.url("127.0.0.1", "test");
    let refused = Message::Hello(Hello { versions: vec![1], ..hello(&url) }).to_bytes();
    let stays = |_| {
        let mut stream = TcpStream::connect(listener.local_addr()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(&(refused.len() as u32).to_be_bytes()).unwrap();
        stream.write_all(&refused).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        assert!(String::from_utf8_lossy(&answer).contains("update yours"), "{answer:?}");
        stream
    };
    let staying: Vec<_> = (0..MANY).map(stays).collect();
    // There are 64 places, and a thread that has lost its own may need a moment to see it.
    let held = held_connections(url.port);
    assert!(held < 200, "{held} of {MANY} are held");
    let left = Session::dial(&url, &Trust::InsecureLoopback, None, &Options::default()).unwrap();
    assert_works(&left, &listener.accept(PATIENCE).unwrap().unwrap());
    drop(staying);
}

/// Connections at this port of 127.0.0.1 that a process has: what it has closed belongs to none.
fn held_connections(port: u16) -> usize {
    const LISTENS: &str = "0A";
    let local = format!("0100007F:{port:04X}");
    let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    let is_held = |line: &&str| {
        let words: Vec<_> = line.split_whitespace().collect();
        words[1] == local && words[3] != LISTENS && words[9] != "0"
    };
    table.lines().skip(1).filter(is_held).count()
}

#[test]
fn guesses_of_the_token_are_all_refused() {
    let (listener, url) = listener();
    for _ in 0..20 {
        let hostile = Hostile::connect(&url);
        let guess = Token::fresh().unwrap().encoded();
        hostile.say(&Message::Hello(Hello { token: Some(guess), ..hello(&url) }));
        assert!(matches!(hostile.hear(), Message::Rejected { .. }));
    }
    assert_honest_sessions_work(&listener, &url);
}
