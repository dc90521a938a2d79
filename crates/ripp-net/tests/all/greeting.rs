//! What a dialler sends along with its hello, before the listening program has accepted it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use visapult_ripp_net::{
    Incoming, Lanes, Memory, MemorySink, Mode, Offer, Options, Outgoing, RippUrl, Session, Token, Trust,
};

use crate::common::{PATIENCE, assert_works, bytes_of, content, eventually, listener, listener_of, next_offer};

const LENGTH: usize = 3_000_000;
/// Time for what should not happen to happen.
const A_WHILE: Duration = Duration::from_millis(300);

fn begin(url: &RippUrl) -> Session {
    Session::begin(url, &Trust::for_url(url).unwrap(), None, &Options::default()).unwrap()
}

fn take(offer: Offer) -> (Arc<MemorySink>, Incoming) {
    let sink = Arc::new(MemorySink::new(offer.length as usize));
    let incoming = offer.accept(Arc::<MemorySink>::clone(&sink));
    (sink, incoming)
}

#[test]
fn an_object_comes_before_it_is_accepted_and_is_whole_once_it_is() {
    let (listener, url) = listener();
    let left = begin(&url);
    let flow = left.open_flow("flow", Mode::Reliable, 1).unwrap();
    let sent = content(LENGTH);
    let outgoing = flow.send("object", Arc::new(sent.clone())).unwrap();
    let right = listener.accept(PATIENCE).unwrap().unwrap();
    let offer = next_offer(&right);
    eventually("all of it is there", || outgoing.arrived() == LENGTH as u64);
    assert!(!outgoing.is_over());
    let (sink, incoming) = take(offer);
    assert!(incoming.wait().unwrap().digest.is_some());
    assert_eq!(outgoing.wait().unwrap().arrived, LENGTH as u64);
    assert!(bytes_of(&sink) == sent, "wrong bytes");
    assert_eq!(left.statistics().sent().resent_bytes, 0);
}

#[test]
fn so_it_is_with_what_the_listener_offers_where_the_dialler_keeps_it() {
    let (listener, url) = listener();
    let begin = |options| {
        let left = Session::begin(&url, &Trust::for_url(&url).unwrap(), None, &options).unwrap();
        let right = listener.accept(PATIENCE).unwrap().unwrap();
        let flow = right.open_flow("flow", Mode::Reliable, 1).unwrap();
        let sent = ["refused", "object"].map(|name| flow.send(name, Arc::new(content(LENGTH))).unwrap());
        let offers = [next_offer(&left), next_offer(&left)];
        (left, right, sent, offers)
    };
    let (left, right, [refused, outgoing], [refusing, offer]) = begin(Options::default());
    eventually("all of it is there", || refused.arrived() + outgoing.arrived() == 2 * LENGTH as u64);
    assert!(!outgoing.is_over());
    refusing.refuse("not wanted");
    assert_eq!(refused.wait().unwrap_err().why, "not wanted");
    let (sink, incoming) = take(offer);
    assert!(incoming.wait().unwrap().digest.is_some());
    assert!(bytes_of(&sink) == content(LENGTH), "wrong bytes");
    assert_eq!(right.statistics().sent().resent_bytes, 0);
    assert_works(&left, &right);

    // The first of several lanes does so, too.
    let (_left, _right, sent, offers) = begin(Options { lanes: Lanes::Exactly(2), ..Options::default() });
    eventually("all of it is there", || sent.iter().map(Outgoing::arrived).sum::<u64>() == 2 * LENGTH as u64);
    for (_, incoming) in offers.map(take) {
        incoming.wait().unwrap();
    }
}

/// Either end says how much it takes at most before anything is sent to it.
#[test]
fn what_is_sent_ahead_comes_no_faster_than_its_receiver_takes_it() {
    const MOST_BPS: u64 = 8_000_000;
    // A few datagrams, of the size of loopback's. Who does not know of it begins with 64 of 1500 bytes.
    const AT_ONCE: u64 = 40_000;
    let bounded = || Options { most_receive_bps: MOST_BPS, ..Options::default() };
    let sent = |of: &Session| {
        let flow = of.open_flow("flow", Mode::Reliable, 1).unwrap();
        flow.send("object", Arc::new(content(LENGTH))).unwrap()
    };
    let stays_below = |began: Instant, of: &Session| loop {
        let sent_bytes = of.statistics().sent().wire_bytes;
        let most = AT_ONCE + MOST_BPS / 8 * began.elapsed().as_millis() as u64 / 1_000;
        assert!(sent_bytes <= most, "{sent_bytes} bytes of {most}");
        if sent_bytes > AT_ONCE / 2 && began.elapsed() > A_WHILE {
            break;
        }
        thread::yield_now();
    };
    let (listener, url) = listener();
    let _left = Session::begin(&url, &Trust::for_url(&url).unwrap(), None, &bounded()).unwrap();
    let right = listener.accept(PATIENCE).unwrap().unwrap();
    let began = Instant::now();
    let _sent = sent(&right);
    stays_below(began, &right);

    let (_listener, url) = listener_of(bounded());
    let began = Instant::now();
    let left = begin(&url);
    let _sent = sent(&left);
    stays_below(began, &left);
}

#[test]
fn what_is_refused_when_it_has_come_is_gone() {
    let (listener, url) = listener();
    let left = begin(&url);
    let flow = left.open_flow("flow", Mode::Reliable, 1).unwrap();
    let send = |name| flow.send(name, Arc::new(content(LENGTH))).unwrap();
    let (first, second) = (send("first"), send("second"));
    let right = listener.accept(PATIENCE).unwrap().unwrap();
    let offers = [next_offer(&right), next_offer(&right)];
    eventually("both are there", || first.arrived() + second.arrived() == 2 * LENGTH as u64);
    let [refused, accepted] = offers;
    refused.refuse("not wanted");
    assert_eq!(first.wait().unwrap_err().why, "not wanted");
    let (sink, incoming) = take(accepted);
    incoming.wait().unwrap();
    assert!(bytes_of(&sink) == content(LENGTH), "wrong bytes");
    assert_works(&left, &right);
}

#[test]
fn no_more_comes_than_is_kept() {
    let (listener, url) = listener_of(Options { memory: Some(Memory::LEAST), ..Options::default() });
    let left = begin(&url);
    let flow = left.open_flow("flow", Mode::Reliable, 1).unwrap();
    let sent = content(4 * LENGTH);
    let outgoing = flow.send("object", Arc::new(sent.clone())).unwrap();
    let right = listener.accept(PATIENCE).unwrap().unwrap();
    let offer = next_offer(&right);
    let room = Memory::LEAST.limits(1).held as u64;
    eventually("some of it is there", || outgoing.arrived() > room / 2);
    thread::sleep(A_WHILE);
    assert!(outgoing.arrived() <= room, "{} of {room}", outgoing.arrived());
    let (sink, incoming) = take(offer);
    incoming.wait().unwrap();
    assert!(bytes_of(&sink) == sent, "wrong bytes");
}

#[test]
fn what_may_be_lost_waits_until_it_is_accepted() {
    let (listener, url) = listener();
    let left = begin(&url);
    let flow = left.open_flow("flow", Mode::Lossy, 1).unwrap();
    let outgoing = flow.send("object", Arc::new(content(LENGTH))).unwrap();
    let right = listener.accept(PATIENCE).unwrap().unwrap();
    let offer = next_offer(&right);
    thread::sleep(A_WHILE);
    assert_eq!(outgoing.arrived(), 0);
    let (_, incoming) = take(offer);
    assert!(incoming.wait().unwrap().arrived > 0);
}

/// Several are told of one port, which the first of them has; what the others send before it is accepted is kept, too.
#[test]
fn all_who_dial_at_once_are_served() {
    const DIALLERS: usize = 12;
    let (listener, url) = listener();
    let there = AtomicUsize::new(0);
    let all_are_there = || eventually("all are there", || there.load(Ordering::Relaxed) == DIALLERS);
    thread::scope(|scope| {
        let (there, all_are_there) = (&there, &all_are_there);
        for number in 0..DIALLERS {
            let url = RippUrl { name: number.to_string(), ..url.clone() };
            scope.spawn(move || {
                let left = begin(&url);
                let flow = left.open_flow("flow", Mode::Reliable, 1).unwrap();
                let send = |name| flow.send(name, Arc::new(content(LENGTH + number))).unwrap();
                // What went to a port that another had is sent again once the object is accepted.
                let first = send("first");
                left.admitted().unwrap();
                let second = send("second");
                eventually("some of it is there", || second.arrived() > 0);
                there.fetch_add(1, Ordering::Relaxed);
                assert!([first, second].iter().all(|sent| sent.wait().unwrap().arrived == (LENGTH + number) as u64));
            });
        }
        for _ in 0..DIALLERS {
            let session = listener.accept(PATIENCE).unwrap().unwrap();
            scope.spawn(move || {
                let length = LENGTH + session.name().parse::<usize>().unwrap();
                let offers = [next_offer(&session), next_offer(&session)];
                all_are_there();
                for (sink, incoming) in offers.map(take) {
                    incoming.wait().unwrap();
                    assert!(bytes_of(&sink) == content(length), "wrong bytes");
                }
                // Its dialler hears of it before the session ends.
                eventually("the end", || !session.is_alive());
            });
        }
    });
}

#[test]
fn who_does_not_know_the_token_sends_nothing_and_takes_nobodys_port() {
    let (listener, url) = listener();
    let wrong = RippUrl { token: Some(Token::fresh().unwrap()), ..url.clone() };
    let refused = begin(&wrong);
    let flow = refused.open_flow("flow", Mode::Reliable, 1).unwrap();
    // Where it is refused at once there is no session to send in.
    let outgoing = flow.send("object", Arc::new(content(LENGTH)));
    assert!(refused.admitted().unwrap_err().to_string().contains("the token is wrong"));
    assert!(outgoing.is_err() || outgoing.unwrap().wait().is_err());
    let left = begin(&url);
    let flow = left.open_flow("flow", Mode::Reliable, 1).unwrap();
    let outgoing = flow.send("object", Arc::new(content(LENGTH))).unwrap();
    let right = listener.accept(PATIENCE).unwrap().unwrap();
    let offer = next_offer(&right);
    eventually("it is there", || outgoing.arrived() == LENGTH as u64);
    let (sink, incoming) = take(offer);
    incoming.wait().unwrap();
    assert!(bytes_of(&sink) == content(LENGTH), "wrong bytes");
}
