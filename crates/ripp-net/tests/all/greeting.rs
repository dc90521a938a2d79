//! What a dialler sends along with its hello, before the listening program has accepted it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use visapult_ripp_net::{
    Clients, Incoming, Listener, ListenerOptions, Memory, MemorySink, Mode, Offer, Options, RippUrl, Session, Token,
    Trust,
};

use crate::common::{PATIENCE, assert_works, bytes_of, content, eventually, listener, next_offer, self_signed};

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

    // Who asks for several lanes keeps nothing, as older builds do; nor does who bounds the rate, which is heard with the first report.
    let bounded = Options { most_receive_bps: 1_000_000_000, ..Options::default() };
    for options in [Options { lanes: 2, ..Options::default() }, bounded] {
        let (_left, _right, sent, offers) = begin(options);
        thread::sleep(A_WHILE);
        assert!(sent.iter().all(|outgoing| outgoing.arrived() == 0));
        for (_, incoming) in offers.map(take) {
            incoming.wait().unwrap();
        }
    }
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
    let options = ListenerOptions {
        identity: Some(self_signed()),
        token: Some(Token::fresh().unwrap()),
        clients: Clients::default(),
        session: Options { memory: Some(Memory::LEAST), ..Options::default() },
    };
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), options).unwrap();
    let left = begin(&listener.url("127.0.0.1", "test"));
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
