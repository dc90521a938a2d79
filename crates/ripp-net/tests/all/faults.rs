//! Sessions over loopback on bad days: sources and sinks that fail, ends that give up, programs that do not look.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use visapult_ripp_net::perf::{self, Amount};
use visapult_ripp_net::{
    Arrival, Clients, Flow, Listener, ListenerOptions, MemorySink, Mode, Offer, Options, Outgoing, Rate, Session,
    SessionError, Sink, Source, Token, Trust,
};

use crate::common::{
    Failing, Forgetful, PATIENCE, Slow, Vast, assert_works, bytes_of, content, dial, eventually, listener, next_offer,
    self_signed, sessions,
};

const LENGTH: usize = 4 << 20;

/// Two ends, of which the left one offers an object.
struct Offered {
    left: Session,
    right: Session,
    flow: Flow,
    outgoing: Outgoing,
    offer: Offer,
}

fn offered(source: impl Source + 'static) -> Offered {
    let (left, right) = sessions();
    let flow = left.open_flow("flow", Mode::Reliable, 1).unwrap();
    let outgoing = flow.send("object", Arc::new(source)).unwrap();
    let offer = next_offer(&right);
    Offered { left, right, flow, outgoing, offer }
}

#[test]
fn a_sink_that_fails_is_told_to_both_ends_and_the_session_goes_on() {
    let Offered { left, right, outgoing, offer, .. } = offered(content(LENGTH));
    let incoming = offer.accept(Arc::new(Failing::new(LENGTH, 1 << 20)));
    assert!(incoming.wait().unwrap_err().why.contains("the disk is full"));
    let told = outgoing.wait().unwrap_err().why;
    assert!(told.contains("receiver") && told.contains("the disk is full"), "{told}");
    assert_works(&left, &right);
}

#[test]
fn a_source_that_fails_is_told_to_both_ends_and_the_session_goes_on() {
    let Offered { left, right, outgoing, offer, .. } = offered(Failing::new(LENGTH, 1 << 20));
    let incoming = offer.accept(Arc::new(MemorySink::new(LENGTH)));
    assert!(outgoing.wait().unwrap_err().why.contains("the disk is full"));
    let told = incoming.wait().unwrap_err().why;
    assert!(told.contains("sender") && told.contains("the disk is full"), "{told}");
    assert_works(&left, &right);
}

/// Panics where it is read or written, from a place on, or for its digest.
struct Panicking {
    bytes: Vec<u8>,
    /// Of reads and writes.
    from: u64,
    digests: bool,
}

impl Panicking {
    fn for_its_digest() -> Self {
        Self { bytes: content(LENGTH), from: u64::MAX, digests: true }
    }

    fn from(from: u64) -> Self {
        Self { bytes: content(LENGTH), from, digests: false }
    }
}

impl Source for Panicking {
    fn length(&self) -> u64 {
        LENGTH as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        assert!(offset < self.from, "the program's own mistake");
        Source::read_at(&self.bytes, offset, into)
    }

    fn own_digest(&self) -> Option<io::Result<[u8; 32]>> {
        assert!(!self.digests, "the program's own mistake");
        Some(Ok([0; 32]))
    }
}

impl Sink for Panicking {
    fn write_at(&self, offset: u64, _: &[u8]) -> io::Result<()> {
        // What came ahead is written by who accepts the object.
        let is_accepted = !thread::current().name().is_some_and(|name| name.starts_with("ripp-"));
        assert!(is_accepted || offset < self.from, "the program's own mistake");
        Ok(())
    }

    fn read_at(&self, _: u64, _: &mut [u8]) -> io::Result<()> {
        panic!("the program's own mistake")
    }
}

#[test]
fn a_digest_whose_making_panics_costs_its_object_alone() {
    let Offered { left, right, outgoing, offer, .. } = offered(Panicking::for_its_digest());
    let incoming = offer.accept(Arc::new(MemorySink::new(LENGTH)));
    assert!(outgoing.wait().unwrap_err().why.contains("panicked"));
    assert!(incoming.wait().unwrap_err().why.contains("panicked"));
    assert_works(&left, &right);

    let Offered { left, right, outgoing, offer, .. } = offered(content(LENGTH));
    let incoming = offer.accept(Arc::new(Panicking::from(u64::MAX)));
    assert!(incoming.wait().unwrap_err().why.contains("panicked"));
    assert!(outgoing.wait().unwrap_err().why.contains("panicked"));
    assert_works(&left, &right);
}

#[test]
fn a_source_or_sink_that_panics_ends_the_session_and_is_told() {
    let Offered { left, right, outgoing, offer, .. } = offered(Panicking::from(1 << 20));
    let incoming = offer.accept(Arc::new(MemorySink::new(LENGTH)));
    assert!(outgoing.wait().unwrap_err().why.contains("panicked"));
    assert!(incoming.wait().is_err());
    assert!(left.why_ended().unwrap().contains("panicked") && !right.is_alive());

    let Offered { left, right, outgoing, offer, .. } = offered(content(32 * LENGTH));
    let incoming = offer.accept(Arc::new(Panicking::from(1 << 20)));
    assert!(incoming.wait().unwrap_err().why.contains("panicked"));
    assert!(outgoing.wait().is_err());
    assert!(right.why_ended().unwrap().contains("panicked") && !left.is_alive());
}

#[test]
fn an_offer_may_be_waited_for_without_end() {
    let (left, right) = sessions();
    let flow = left.open_flow("flow", Mode::Reliable, 1).unwrap();
    let _sent = flow.send("object", Arc::new(content(1))).unwrap();
    assert!(right.next_offer(Duration::MAX).unwrap().is_some());
}

#[test]
fn a_sink_slower_than_the_link_gets_every_byte_right() {
    let sent = content(LENGTH / 2);
    let Offered { left: _left, right: _right, outgoing, offer, .. } = offered(sent.clone());
    let sink = Arc::new(Slow::new(sent.len(), Duration::from_millis(1)));
    let incoming = offer.accept(Arc::<Slow>::clone(&sink));
    assert_eq!(incoming.wait().unwrap().arrived, sent.len() as u64);
    outgoing.wait().unwrap();
    assert!(bytes_of(&sink.sink) == sent, "wrong bytes");
}

#[test]
fn a_receiver_without_memory_refuses_and_says_so() {
    let Offered { left, right, outgoing, offer, .. } = offered(content(LENGTH));
    offer.refuse("no memory for 4 MiB");
    assert_eq!(outgoing.wait().unwrap_err().why, "no memory for 4 MiB");
    assert_works(&left, &right);
}

#[test]
fn an_object_that_no_memory_can_hold_is_refused_and_the_session_goes_on() {
    let Offered { left, right, outgoing, offer, .. } = offered(Vast(1 << 47));
    let none = MemorySink::try_new(offer.length as usize).unwrap_err();
    offer.refuse(&none.to_string());
    let told = outgoing.wait().unwrap_err().why;
    assert!(told.contains("no 140737488355328 bytes of memory"), "{told}");
    assert_works(&left, &right);
}

#[test]
fn content_that_differs_from_what_was_sent_is_told_to_both_ends() {
    let Offered { left, right, outgoing, offer, .. } = offered(content(LENGTH));
    let incoming = offer.accept(Arc::new(Forgetful(MemorySink::new(LENGTH))));
    for told in [incoming.wait().unwrap_err().why, outgoing.wait().unwrap_err().why] {
        assert!(told.contains("not what was sent"), "{told}");
    }
    assert_works(&left, &right);
}

#[test]
fn the_sender_may_take_an_object_back() {
    let Offered { left, right, outgoing, offer, .. } = offered(content(LENGTH));
    let incoming = offer.accept(Arc::new(Slow::new(LENGTH, Duration::from_millis(1))));
    eventually("the first byte", || incoming.arrived() > 0);
    outgoing.cancel();
    assert!(outgoing.wait().unwrap_err().why.contains("cancelled by the sender"));
    assert!(incoming.wait().unwrap_err().why.contains("cancelled by the sender"));
    assert_works(&left, &right);
}

#[test]
fn the_receiver_may_give_an_object_up() {
    let Offered { left, right, outgoing, offer, .. } = offered(content(LENGTH));
    let incoming = offer.accept(Arc::new(Slow::new(LENGTH, Duration::from_millis(1))));
    eventually("the first byte", || incoming.arrived() > 0);
    incoming.cancel();
    assert!(incoming.wait().unwrap_err().why.contains("cancelled by the receiver"));
    assert!(outgoing.wait().unwrap_err().why.contains("cancelled by the receiver"));
    assert_works(&left, &right);
}

#[test]
fn an_object_that_nobody_accepts_waits_and_may_be_taken_back() {
    let Offered { left, right, outgoing: ignored, offer, .. } = offered(content(LENGTH));
    assert_works(&left, &right);
    assert!(!ignored.is_over());
    ignored.cancel();
    assert!(ignored.wait().unwrap_err().why.contains("cancelled"));
    // By when another object has come, what was said before it has been heard.
    assert_works(&left, &right);
    // Too late, and told so.
    let late = offer.accept(Arc::new(MemorySink::new(LENGTH)));
    assert!(late.wait().unwrap_err().why.contains("cancelled"), "the sender took it back");
}

#[test]
fn an_offer_that_is_dropped_is_refused() {
    let Offered { left, right, outgoing, offer, .. } = offered(content(LENGTH));
    drop(offer);
    assert!(outgoing.wait().is_err());
    assert_works(&left, &right);
}

#[test]
fn a_reason_that_no_message_has_room_for_is_told_in_part() {
    let Offered { left, right, outgoing, offer, .. } = offered(content(LENGTH));
    offer.refuse(&"no \u{7}".repeat(100_000));
    assert!(outgoing.wait().unwrap_err().why.starts_with("no "));
    assert_works(&left, &right);
}

#[test]
fn what_no_object_or_flow_can_be_is_refused_at_once_and_the_session_goes_on() {
    let (left, right) = sessions();
    let day = Duration::from_secs(86_400);
    let long = "n".repeat(4097);
    assert!(left.open_flow(&long, Mode::Reliable, 1).unwrap_err().to_string().contains("4096 bytes"));
    assert!(left.open_flow("flow", Mode::Deadline(2 * day), 1).unwrap_err().to_string().contains("a day"));
    let flow = left.open_flow("flow", Mode::Deadline(day), 1).unwrap();
    assert!(flow.send(&long, Arc::new(Vec::new())).unwrap_err().to_string().contains("4096 bytes"));
    assert!(flow.send("object", Arc::new(Vast(1 << 48))).unwrap_err().to_string().contains("below 2^48"));
    assert_works(&left, &right);
}

#[test]
fn what_was_said_before_the_end_is_heard_however_much_it_is() {
    let (left, right) = sessions();
    let notes: Vec<_> = (0..20_000).map(|index| index.to_string()).collect();
    notes.iter().for_each(|note| left.note(note).unwrap());
    left.end_because("that is all");
    let mut heard = Vec::new();
    let why = loop {
        match right.next_arrival(PATIENCE) {
            Ok(Some(Arrival::Note(note))) => heard.push(note.text),
            Ok(other) => panic!("{other:?}"),
            Err(why) => break why.to_string(),
        }
    };
    assert!(heard == notes, "{} notes", heard.len());
    assert!(why.contains("that is all"), "{why}");
}

#[test]
fn an_end_that_goes_away_says_why() {
    let Offered { left, right, flow, outgoing, offer } = offered(content(LENGTH));
    right.end_because("the building is on fire");
    assert!(outgoing.wait().unwrap_err().why.contains("the building is on fire"));
    assert!(matches!(left.next_offer(PATIENCE), Err(SessionError::Ended(why)) if why.contains("on fire")));
    assert!(matches!(flow.send("late", Arc::new(vec![1])), Err(SessionError::Ended(_))));
    assert!(offer.accept(Arc::new(MemorySink::new(LENGTH))).wait().is_err());
}

#[test]
fn thousands_of_small_objects_at_once_all_arrive() {
    const OBJECTS: usize = 5_000;
    let (left, right) = sessions();
    let flow = left.open_flow("flow", Mode::Reliable, 1).unwrap();
    let sent: Vec<_> =
        (0..OBJECTS).map(|i| flow.send(&i.to_string(), Arc::new(i.to_be_bytes().to_vec())).unwrap()).collect();
    let accept = |_| {
        let sink = Arc::new(MemorySink::new(8));
        let offer = next_offer(&right);
        (offer.name.parse::<usize>().unwrap(), offer.accept(Arc::<MemorySink>::clone(&sink)), sink)
    };
    let received: Vec<_> = (0..OBJECTS).map(accept).collect();
    for (index, incoming, sink) in received {
        assert_eq!(incoming.wait().unwrap().arrived, 8);
        assert_eq!(bytes_of(&sink), index.to_be_bytes());
    }
    sent.iter().for_each(|outgoing| assert!(outgoing.wait().is_ok()));
}

#[test]
fn names_are_not_shown_on_a_terminal_as_they_come() {
    let (left, right) = sessions();
    right.end_because("\u{1b}[2J\u{7}gone");
    let Err(SessionError::Ended(why)) = left.next_offer(PATIENCE) else { panic!("the session goes on") };
    assert!(!why.contains('\u{1b}') && !why.contains('\u{7}') && why.contains("gone"), "{why:?}");
}

#[test]
fn reasons_are_not_shown_on_a_terminal_as_they_come() {
    let Offered { left, right, outgoing, offer, .. } = offered(content(LENGTH));
    offer.refuse("no \u{1b}[2Jroom");
    assert_eq!(outgoing.wait().unwrap_err().why, "no  [2Jroom");
    assert_works(&left, &right);
}

#[test]
fn a_wrong_token_is_refused_with_what_to_do() {
    let (_listener, mut url) = listener();
    url.token = Some(Token::fresh().unwrap());
    let refused = Session::dial(&url, &Trust::for_url(&url).unwrap(), None, &Options::default()).unwrap_err();
    let told = refused.to_string();
    assert!(told.contains("token") && told.contains("whole URL"), "{told}");
}

#[test]
fn a_listener_that_takes_nobody_turns_the_surplus_away() {
    let (listener, url) = listener();
    let held: Vec<_> = (0..24).map(|_| dial(&url)).collect();
    eventually("an end", || held.iter().any(|session| !session.is_alive()));
    let away = held.iter().find(|session| !session.is_alive()).unwrap();
    assert!(away.why_ended().is_some_and(|why| why.contains("busy")), "{:?}", away.why_ended());
    drop(listener);
}

#[test]
fn where_nobody_can_listen_it_is_said_what_to_choose_instead() {
    let (first, _) = listener();
    // The second is for documentation, and nobody's (RFC 5737).
    for (at, advice) in
        [(first.local_addr(), "choose another port"), (([192, 0, 2, 1], 0).into(), "an address that this computer has")]
    {
        let options = ListenerOptions {
            identity: Some(self_signed()),
            token: Some(Token::fresh().unwrap()),
            clients: Clients::default(),
            session: Options::default(),
        };
        let told = Listener::bind(at, options).unwrap_err().to_string();
        assert!(told.contains(&at.to_string()) && told.contains(advice), "{told}");
    }
}

#[test]
fn a_rate_of_next_to_nothing_still_moves_things() {
    let (listener, url) = listener();
    let options = Options { rate: Rate::Fixed(300_000), ..Options::default() };
    let left = Session::dial(&url, &Trust::for_url(&url).unwrap(), None, &options).unwrap();
    let right = listener.accept(PATIENCE).unwrap().unwrap();
    let flow = left.open_flow("flow", Mode::Reliable, 1).unwrap();
    let outgoing = flow.send("object", Arc::new(content(20_000))).unwrap();
    let sink = Arc::new(MemorySink::new(20_000));
    next_offer(&right).accept(Arc::<MemorySink>::clone(&sink)).wait().unwrap();
    outgoing.wait().unwrap();
    assert_eq!(bytes_of(&sink), content(20_000));
}

/// What a sending side says of a measurement in which all went well.
const REPORT: &str = r#"{"goodput_bps":1,"bytes":100000,"verified":true,"faults":[],"wire_bytes":1,"datagrams":1,"datagrams_lost":0,
    "bytes_lost":0,"bytes_retransmitted":0,"rtt_us":{"min":1,"median":1,"p99":1},"ramp_to_90_s":1,"seconds":1,"setup_s":1,
    "sender_cpu_s":1,"receiver_cpu_s":1,"rate_error_ppm":null,"limited_by":"nobody\u001b","limits":[],"transport":"udp","datagram":1472,
    "lanes":1,"bytes_per_100_ms":[]}"#;

#[test]
fn a_measurement_of_wrong_content_is_not_verified_whatever_the_sender_says() {
    let (left, right) = sessions();
    let stop = AtomicBool::new(false);
    let report = thread::scope(|scope| {
        let receiving = scope.spawn(|| perf::receive(&right, &stop, |_| {}));
        let flow = left.open_flow("perf", Mode::Lossy, 1).unwrap();
        flow.send("0", Arc::new(vec![7; 100_000])).unwrap().wait().unwrap();
        let notes = left.open_flow("perf-notes", Mode::Reliable, 1).unwrap();
        let end = notes.send("end", Arc::new(br#""end""#.to_vec())).unwrap();
        let account = next_offer(&left);
        let room = Arc::new(MemorySink::new(account.length as usize));
        account.accept(Arc::<MemorySink>::clone(&room)).wait().unwrap();
        end.wait().unwrap();
        assert!(String::from_utf8(bytes_of(&room)).unwrap().contains("wrong content"));
        notes.send("report", Arc::new(REPORT.as_bytes().to_vec())).unwrap().wait().unwrap();
        receiving.join().unwrap().unwrap()
    });
    assert_eq!((report.verified, report.faults), (false, vec!["object 0: wrong content".to_owned()]));
    assert_eq!((report.bytes, report.limited_by.as_str()), (0, "nobody "));
}

#[test]
fn a_measurement_that_is_stopped_does_not_wait_for_an_account_that_never_comes() {
    let (left, right) = sessions();
    let stop = AtomicBool::new(false);
    let outcome = thread::scope(|scope| {
        let sending = scope.spawn(|| perf::send(&left, Amount::Bytes(100_000), Mode::Reliable, &stop, |_| {}));
        // It takes what is sent, hears that this was all, and says nothing.
        let mut taken = Vec::new();
        while taken.len() < 3 && !taken.iter().any(|(name, _): &(String, _)| name == "end") {
            let offer = next_offer(&right);
            let length = offer.length as usize;
            taken.push((offer.name.clone(), offer.accept(Arc::new(MemorySink::new(length)))));
        }
        eventually("the last object", || taken.iter().all(|(_, incoming)| incoming.is_over()));
        stop.store(true, Ordering::Relaxed);
        sending.join().unwrap()
    });
    assert!(outcome.unwrap_err().to_string().contains("stopped by its user"));
}
