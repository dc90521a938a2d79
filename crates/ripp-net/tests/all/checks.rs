//! Checks of a path, which a listener answers by itself.

use std::thread;
use std::time::{Duration, Instant};

use visapult_ripp_net::perf::{Answered, check};
use visapult_ripp_net::{Clients, Listener, ListenerOptions, Member, Options, RippUrl, Token, Trust};

const LONG: Duration = Duration::from_millis(1_500);
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
    let (_listener, url) = listener();
    let one = || {
        let options = Options { most_receive_bps: 1_000_000, ..Options::default() };
        check(&url, &Trust::InsecureLoopback, None, &options, LONG, true).map(drop)
    };
    let both = thread::scope(|scope| [scope.spawn(one), scope.spawn(one)].map(|one| one.join().unwrap()));
    let refused: Vec<_> = both.into_iter().filter_map(Result::err).collect();
    assert_eq!(refused.len(), 1);
    assert!(refused[0].to_string().contains("busy with another check"), "{}", refused[0]);
}

#[test]
fn who_is_let_in_by_a_policy_is_not_measured_with() {
    let token = Token::fresh().unwrap();
    let ana = Member { name: "ana".to_owned(), token: token.clone(), most_bps: None };
    let (listener, url) = listener_for(Clients { members: vec![ana], ..Clients::default() });
    let url = RippUrl { token: Some(token), ..url };
    let refused = check(&url, &Trust::InsecureLoopback, None, &Options::default(), SHORT, false).unwrap_err();
    assert!(refused.to_string().contains("let in by a policy"), "{refused}");
    assert!(next_answered(&listener).fault.unwrap().contains("let in by a policy"));
}
