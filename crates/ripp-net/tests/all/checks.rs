//! Checks of a path, which a listener answers by itself.

use std::thread;
use std::time::{Duration, Instant};

use visapult_ripp_net::perf::{Amount, Answered, Request, check};
use visapult_ripp_net::{Clients, Listener, ListenerOptions, Member, Mode, Options, RippUrl, Session, Token, Trust};

const LONG: Duration = Duration::from_secs(3);
const PATIENCE: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(200);

fn listener() -> (Listener, RippUrl) {
    listener_for(Clients::default())
}

fn listener_for(clients: Clients) -> (Listener, RippUrl) {
    let options = ListenerOptions { identity: None, token: None, clients, session: Options::default() };
    let listener = Listener::bind(([127, 0, 0, 1], 0).into(), options).unwrap();
    let url = listener.url("127.0.0.1", "anything");
    (listener, url)
}

/// The end of a session is seen by the other end first.
fn next_answered(listener: &Listener) -> Answered {
    let until = Instant::now() + PATIENCE;
    loop {
        match listener.answered_check() {
            Some(answered) => return answered,
            None => assert!(Instant::now() < until, "no check was answered"),
        }
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_listener_answers_checks_both_ways_and_its_program_hears_nothing_of_them() {
    let (listener, url) = listener();
    for reverse in [false, true] {
        let checked = check(&url, &Trust::InsecureLoopback, None, &Options::default(), SHORT, reverse).unwrap();
        assert!(checked.report.verified && checked.report.bytes > 0, "{:?}", checked.report);
    }
    assert!(listener.accept(Duration::ZERO).unwrap().is_none());
    // But who keeps a record of what it serves can ask what came.
    for _ in 0..2 {
        let answered = next_answered(&listener);
        assert!(answered.fault.is_none() && answered.bytes > 0 && answered.peer.ip().is_loopback(), "{answered:?}");
    }
}

#[test]
fn of_two_checks_at_a_time_one_is_told_to_come_again() {
    let (listener, url) = listener();
    // It is served for as long as it takes nothing of what it asked for, whenever the other comes.
    let request = Request { kind: "check".to_owned(), ..Request::new(Amount::Time(LONG), Mode::Reliable, true) };
    let options = Options { request: request.to_text(), ..Options::default() };
    let first = Session::dial(&url, &Trust::InsecureLoopback, None, &options).unwrap();
    let held = first.next_offer(PATIENCE).unwrap().expect("an offer");
    let other = || check(&url, &Trust::InsecureLoopback, None, &Options::default(), SHORT, false);
    let refused = other().unwrap_err().to_string();
    assert!(refused.contains("busy with another check"), "{refused}");
    drop(held);
    first.close();
    let answered = [next_answered(&listener), next_answered(&listener)];
    assert!(
        answered.iter().any(|answered| answered.fault.as_ref().is_some_and(|why| why.contains("busy"))),
        "{answered:?}"
    );
    assert!(other().unwrap().report.verified);
}

#[test]
fn who_is_let_in_by_a_policy_is_not_measured_with() {
    let token = Token::fresh().unwrap();
    let ana = Member { name: "ana".to_owned(), token: token.clone(), most_bps: None };
    let (listener, url) = listener_for(Clients { members: vec![ana], ..Clients::default() });
    let url = RippUrl { token: Some(token), ..url };
    let refused = check(&url, &Trust::InsecureLoopback, None, &Options::default(), SHORT, false).unwrap_err();
    assert!(refused.to_string().contains("let in by a policy"), "{refused}");
    let answered = next_answered(&listener);
    assert_eq!(answered.who.as_deref(), Some("ana"));
    assert!(answered.fault.unwrap().contains("let in by a policy"));
}
