//! A URL that is dialled for something else than is served there is told as that, between builds that know each other's services or do not.

use visapult_ripp::control::Message;
use visapult_ripp_net::{
    Clients, ControlEvent, ControlListener, Listener, ListenerOptions, Options, RippUrl, Security, Service, Session,
    SessionError, Trust,
};

use crate::common::PATIENCE;

const PERF: Service = Service { name: "perf", printed_by: "a meter", taken_by: "another" };
const SHARE: Service = Service { name: "share", printed_by: "a librarian", taken_by: "readers" };

fn options(service: Option<Service>) -> Options {
    Options { service, ..Options::default() }
}

fn listening(service: Option<Service>) -> (Listener, RippUrl) {
    let options =
        ListenerOptions { identity: None, token: None, clients: Clients::default(), session: options(service) };
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), options).unwrap();
    let url = listener.url("127.0.0.1", "test");
    (listener, url)
}

fn dial(url: &RippUrl, service: Option<Service>) -> Result<Session, SessionError> {
    Session::dial(url, &Trust::InsecureLoopback, None, &options(service))
}

#[test]
fn who_dials_for_something_else_is_told_what_is_there_and_what_is_wanted() {
    let (listener, url) = listening(Some(PERF));
    let refused = dial(&url, Some(SHARE)).unwrap_err();
    assert!(matches!(refused, SessionError::OtherService { wanted: Some(SHARE), .. }), "{refused:?}");
    assert_eq!(refused.to_string(), "this URL is of a meter, for another; here one is wanted that a librarian prints");
    assert!(listener.refused().is_some_and(|refused| refused.why.contains("a meter")));
    assert!(dial(&url, Some(PERF)).is_ok());
}

#[test]
fn who_does_not_say_what_is_served_or_wanted_is_admitted() {
    for (served, wanted) in [(None, Some(SHARE)), (Some(SHARE), None), (None, None)] {
        let (listener, url) = listening(served);
        assert!(dial(&url, wanted).is_ok(), "{served:?} {wanted:?}");
        assert!(listener.refused().is_none());
    }
}

#[test]
fn a_listener_whose_lanes_cannot_have_their_addresses_does_not_start() {
    // TEST-NET-1, which no machine has.
    let local = "192.0.2.1".parse().unwrap();
    let session = Options { local: vec![local], ..Options::default() };
    let options = ListenerOptions { identity: None, token: None, clients: Clients::default(), session };
    let refused = Listener::bind("127.0.0.1:0".parse().unwrap(), options).unwrap_err();
    assert!(matches!(refused, SessionError::Local { local: told, .. } if told == local), "{refused:?}");
}

/// What a listener that answers everybody with `answer` is told, and what comes of it.
fn answered_with(answer: &Message) -> (Message, SessionError) {
    let listener = ControlListener::bind("127.0.0.1:0".parse().unwrap(), &Security::InsecureLoopback).unwrap();
    let url: RippUrl = format!("ripp://{}/test", listener.local_addr()).parse().unwrap();
    std::thread::scope(|scope| {
        let hears = scope.spawn(move || {
            let (sender, receiver) = listener.accept().unwrap().split().unwrap();
            let Some(ControlEvent::Message(hello)) = receiver.recv_timeout(PATIENCE) else { panic!("no hello") };
            sender.send(&answer.to_bytes()).unwrap();
            // Until the dialler has read it.
            while let Some(ControlEvent::Message(_)) = receiver.recv_timeout(PATIENCE) {}
            Message::from_bytes(&hello).unwrap()
        });
        let refused = dial(&url, Some(SHARE)).unwrap_err();
        (hears.join().unwrap(), refused)
    })
}

#[test]
fn a_service_of_a_later_build_is_told_in_its_own_words() {
    let serves = Some("pigeons".to_owned());
    let (hello, refused) =
        answered_with(&Message::Rejected { why: "this URL is of a dovecote\u{7}".to_owned(), serves });
    assert!(matches!(hello, Message::Hello(hello) if hello.service.as_deref() == Some("share")));
    assert_eq!(refused.to_string(), "this URL is of a dovecote ; here one is wanted that a librarian prints");
}

#[test]
fn an_earlier_build_that_refuses_says_why() {
    let (_, refused) = answered_with(&Message::Rejected { why: "the token is wrong".to_owned(), serves: None });
    assert!(matches!(&refused, SessionError::Refused { why, .. } if why == "the token is wrong"), "{refused:?}");
}
