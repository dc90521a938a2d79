//! Control links over loopback: who gets in, what a refusal is called, and that nobody waits for a stranger.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::PrivatePkcs8KeyDer;
use visapult_ripp_net::{
    Authorities, Clients, CloseReason, ControlError, ControlEvent, ControlLink, ControlListener, Fingerprint, Identity,
    MAX_CONNECTING, MAX_MESSAGE_BYTES, RippUrl, Security, Trust,
};

use crate::common::eventually;

const PATIENCE: Duration = Duration::from_secs(30);

fn any_port() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

fn self_signed() -> Identity {
    let made = rcgen::generate_simple_self_signed(vec!["visapult".to_owned()]).unwrap();
    Identity::from_pem(made.cert.pem().as_bytes(), made.signing_key.serialize_pem().as_bytes()).unwrap()
}

fn url_of(host: &str, listener: &ControlListener) -> RippUrl {
    format!("ripp://{host}:{}/", listener.local_addr().port()).parse().unwrap()
}

fn open_listener() -> (ControlListener, RippUrl, Trust) {
    let identity = self_signed();
    let trust = Trust::Pinned(identity.fingerprint());
    let listener = ControlListener::bind(any_port(), &Security::Tls { identity, clients: Clients::default() }).unwrap();
    let url = url_of("127.0.0.1", &listener);
    (listener, url, trust)
}

/// Dialer's and listener's end.
fn linked() -> (ControlLink, ControlLink) {
    let (listener, url, trust) = open_listener();
    (ControlLink::dial(&url, &trust, None, PATIENCE).unwrap(), listener.accept().unwrap())
}

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn authorities(&self) -> Authorities {
        Authorities::from_pem(self.0.pem().as_bytes()).unwrap()
    }

    fn vouch_for(&self, host: &str, last_year: i32) -> Identity {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        params.not_after = date_time_ymd(last_year, 1, 1);
        let certificate = params.signed_by(&key, &self.0).unwrap();
        Identity::from_pem(certificate.pem().as_bytes(), key.serialize_pem().as_bytes()).unwrap()
    }
}

/// Dials `localhost`, where a listener with `identity` is, believing `authority`.
fn dial_vouched(identity: Identity, authority: &Authority) -> Result<ControlLink, ControlError> {
    let listener = ControlListener::bind(any_port(), &Security::Tls { identity, clients: Clients::default() }).unwrap();
    ControlLink::dial(&url_of("localhost", &listener), &Trust::Authorities(authority.authorities()), None, PATIENCE)
}

#[test]
fn messages_pass_both_ways_in_order() {
    let (dialer, listener) = linked();
    let (there, here) = dialer.split().unwrap();
    let (back, over) = listener.split().unwrap();
    let largest = vec![7; MAX_MESSAGE_BYTES];
    for message in [b"one".as_slice(), b"", &largest] {
        there.send(message).unwrap();
        assert_eq!(over.recv_timeout(PATIENCE), Some(ControlEvent::Message(message.to_vec())));
        back.send(message).unwrap();
        assert_eq!(here.recv_timeout(PATIENCE), Some(ControlEvent::Message(message.to_vec())));
    }
    assert!(matches!(there.send(&[0; MAX_MESSAGE_BYTES + 1]), Err(ControlError::TooLong(_))));
}

#[test]
fn what_was_sent_before_the_end_still_arrives() {
    let (dialer, listener) = linked();
    let (there, here) = dialer.split().unwrap();
    let (back, over) = listener.split().unwrap();
    for i in 0..500_u32 {
        there.send(&i.to_be_bytes()).unwrap();
    }
    drop(there);
    for i in 0..500_u32 {
        assert_eq!(over.recv_timeout(PATIENCE), Some(ControlEvent::Message(i.to_be_bytes().to_vec())));
    }
    assert_eq!(over.recv_timeout(PATIENCE), Some(ControlEvent::Closed(CloseReason::ByPeer)));
    assert_eq!(here.recv_timeout(PATIENCE), Some(ControlEvent::Closed(CloseReason::ByUs)));
    assert_eq!(here.try_recv(), Some(ControlEvent::Closed(CloseReason::ByUs)));
    assert!(matches!(back.send(b"late"), Err(ControlError::Closed)));
}

#[test]
fn who_closes_sends_what_was_queued_and_does_not_wait_for_the_other_end() {
    let (dialer, listener) = linked();
    let (there, here) = dialer.split().unwrap();
    there.send(b"last").unwrap();
    there.close();
    // The other end has not begun to listen, and the sender is not dropped.
    assert_eq!(here.recv_timeout(PATIENCE), Some(ControlEvent::Closed(CloseReason::ByUs)));
    assert!(matches!(there.send(b"late"), Err(ControlError::Closed)));
    let (_back, over) = listener.split().unwrap();
    assert_eq!(over.recv_timeout(PATIENCE), Some(ControlEvent::Message(b"last".to_vec())));
    assert_eq!(over.recv_timeout(PATIENCE), Some(ControlEvent::Closed(CloseReason::ByPeer)));
}

#[test]
fn who_closes_does_not_wait_for_an_end_that_takes_nothing() {
    let (dialer, listener) = linked();
    let (there, here) = dialer.split().unwrap();
    // More than the system holds for an end that does not read.
    let large = vec![7; MAX_MESSAGE_BYTES];
    for _ in 0..100 {
        eventually("a sender that is backed up", || there.send(&large).is_err());
        thread::sleep(Duration::from_millis(5));
    }
    there.close();
    assert_eq!(here.recv_timeout(PATIENCE), Some(ControlEvent::Closed(CloseReason::ByUs)));
    drop(listener);
}

#[test]
fn a_reader_that_does_not_read_backs_the_sender_up_and_loses_nothing() {
    let (dialer, listener) = linked();
    let (there, _here) = dialer.split().unwrap();
    let (_back, over) = listener.split().unwrap();
    let message = vec![1; MAX_MESSAGE_BYTES];
    let mut sent = 0;
    // Socket buffers and both queues are finite, and nobody reads.
    let refusal = loop {
        match there.send(&message) {
            Ok(()) => sent += 1,
            Err(refusal) => break refusal,
        }
    };
    assert!(matches!(refusal, ControlError::BackedUp));
    for _ in 0..sent {
        assert_eq!(over.recv_timeout(PATIENCE), Some(ControlEvent::Message(message.clone())));
    }
}

#[test]
fn both_ends_derive_the_same_keys_and_others_for_other_uses() {
    let (dialer, listener) = linked();
    let key = |link: &ControlLink, label: &str, context: &[u8]| {
        let mut key = [0; 32];
        link.export_key(label, context, &mut key).unwrap().unwrap();
        key
    };
    let lane = key(&dialer, "ripp lane", b"0");
    assert_eq!(lane, key(&listener, "ripp lane", b"0"));
    assert_ne!(lane, key(&dialer, "ripp lane", b"1"));
    assert_ne!(lane, key(&dialer, "ripp other", b"0"));
    let exporter = dialer.exporter().unwrap();
    let _ends = dialer.split().unwrap();
    let mut later = [0; 32];
    exporter.export_key("ripp lane", b"0", &mut later).unwrap();
    assert_eq!(lane, later);
}

#[test]
fn another_certificate_is_refused_with_both_fingerprints() {
    let (_listener, url, Trust::Pinned(got)) = open_listener() else { panic!() };
    let expected = self_signed().fingerprint();
    let refusal = ControlLink::dial(&url, &Trust::Pinned(expected), None, PATIENCE).unwrap_err();
    assert!(matches!(refusal, ControlError::WrongFingerprint { .. }), "{refusal}");
    assert!(refusal.to_string().contains(&format!("expected {expected}, got {got}")), "{refusal}");
}

#[test]
fn an_authority_vouches_for_host_and_dates() {
    let authority = Authority::new("ours");
    let outcome = |identity| dial_vouched(identity, &authority);
    assert!(outcome(authority.vouch_for("localhost", 2999)).unwrap().peer_certified());
    let expired = outcome(authority.vouch_for("localhost", 2001)).unwrap_err();
    assert!(matches!(expired, ControlError::Expired { .. }), "{expired}");
    let wrong_host = outcome(authority.vouch_for("elsewhere.example", 2999)).unwrap_err();
    assert!(matches!(wrong_host, ControlError::WrongHost { .. }), "{wrong_host}");
    assert!(wrong_host.to_string().contains("elsewhere.example"), "{wrong_host}");
    let stranger = outcome(Authority::new("another").vouch_for("localhost", 2999)).unwrap_err();
    assert!(matches!(stranger, ControlError::UnknownAuthority { .. }), "{stranger}");
}

#[test]
fn a_client_is_known_by_a_certificate_that_an_authority_signed() {
    let authority = Authority::new("ours");
    let identity = self_signed();
    let trust = Trust::Pinned(identity.fingerprint());
    let security = Security::Tls {
        identity,
        clients: Clients { authorities: Some(authority.authorities()), ..Clients::default() },
    };
    let listener = ControlListener::bind(any_port(), &security).unwrap();
    let url = url_of("127.0.0.1", &listener);
    let vouched = authority.vouch_for("client", 2999);
    let _dialed = ControlLink::dial(&url, &trust, Some(&vouched), PATIENCE).unwrap();
    assert!(listener.accept().unwrap().peer_certified());
    let _unknown = ControlLink::dial(&url, &trust, None, PATIENCE).unwrap();
    assert!(!listener.accept().unwrap().peer_certified());
    let _stranger = ControlLink::dial(&url, &trust, Some(&self_signed()), PATIENCE).unwrap();
    assert!(!listener.accept().unwrap().peer_certified());
    let _expired = ControlLink::dial(&url, &trust, Some(&authority.vouch_for("client", 2001)), PATIENCE).unwrap();
    assert!(!listener.accept().unwrap().peer_certified());
}

#[test]
fn silent_and_rubbish_clients_do_not_keep_others_out() {
    let (listener, url, trust) = open_listener();
    let strangers: Vec<_> = (0..2 * MAX_CONNECTING)
        .map(|i| {
            let mut stream = TcpStream::connect(listener.local_addr()).unwrap();
            if i % 2 == 0 {
                stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
            }
            stream
        })
        .collect();
    let _dialed = ControlLink::dial(&url, &trust, None, PATIENCE).unwrap();
    assert!(listener.accept_timeout(PATIENCE).unwrap().is_some());
    drop(strangers);
}

#[test]
fn a_message_longer_than_allowed_ends_the_link() {
    let listener = ControlListener::bind(any_port(), &Security::InsecureLoopback).unwrap();
    let mut stream = TcpStream::connect(listener.local_addr()).unwrap();
    let (_sender, receiver) = listener.accept().unwrap().split().unwrap();
    stream.write_all(&[0, 0, 0, 2, b'o', b'k', 0xff, 0xff, 0xff, 0xff]).unwrap();
    assert_eq!(receiver.recv_timeout(PATIENCE), Some(ControlEvent::Message(b"ok".to_vec())));
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let ended = receiver.recv_timeout(PATIENCE);
    assert!(matches!(ended, Some(ControlEvent::Closed(CloseReason::Protocol(_)))), "{ended:?}");
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
}

#[test]
fn plaintext_is_refused_off_loopback_and_has_no_keys() {
    let everywhere = "0.0.0.0:0".parse().unwrap();
    let refusal = ControlListener::bind(everywhere, &Security::InsecureLoopback).unwrap_err();
    assert!(matches!(refusal, ControlError::NotLoopback(_)), "{refusal}");
    let elsewhere = "ripp://192.0.2.1:9/".parse().unwrap();
    let refusal = ControlLink::dial(&elsewhere, &Trust::InsecureLoopback, None, PATIENCE).unwrap_err();
    assert!(matches!(refusal, ControlError::Bare(_)), "{refusal}");

    let listener = ControlListener::bind(any_port(), &Security::InsecureLoopback).unwrap();
    let dialed = ControlLink::dial(&url_of("127.0.0.1", &listener), &Trust::InsecureLoopback, None, PATIENCE).unwrap();
    assert!(dialed.export_key("ripp lane", b"", &mut [0; 32]).is_none());
    let (sender, _here) = dialed.split().unwrap();
    let (_back, receiver) = listener.accept().unwrap().split().unwrap();
    sender.send(b"open").unwrap();
    assert_eq!(receiver.recv_timeout(PATIENCE), Some(ControlEvent::Message(b"open".to_vec())));
}

#[test]
fn each_way_of_not_reaching_a_listener_has_its_name() {
    let trust = Trust::Pinned(self_signed().fingerprint());
    let dial = |url: String, timeout| ControlLink::dial(&url.parse().unwrap(), &trust, None, timeout).unwrap_err();
    let closed = TcpListener::bind(any_port()).unwrap().local_addr().unwrap().port();
    let refusal = dial(format!("ripp://127.0.0.1:{closed}/"), PATIENCE);
    assert!(matches!(refusal, ControlError::Unreachable { .. }), "{refusal}");

    let silent = TcpListener::bind(any_port()).unwrap();
    let refusal = dial(format!("ripp://{}/", silent.local_addr().unwrap()), Duration::from_millis(50));
    assert!(matches!(refusal, ControlError::TimedOut { .. }), "{refusal}");

    let other = TcpListener::bind(any_port()).unwrap();
    let at = other.local_addr().unwrap();
    let answering = thread::spawn(move || other.accept().unwrap().0.write_all(b"SSH-2.0-server\r\n"));
    let refusal = dial(format!("ripp://{at}/"), PATIENCE);
    assert!(matches!(refusal, ControlError::NotTls { .. }), "{refusal}");
    answering.join().unwrap().unwrap();
}

#[test]
fn a_port_in_use_is_named() {
    let (listener, ..) = open_listener();
    let identity = self_signed();
    let refusal =
        ControlListener::bind(listener.local_addr(), &Security::Tls { identity, clients: Clients::default() })
            .unwrap_err();
    assert!(refusal.to_string().contains(&listener.local_addr().to_string()), "{refusal}");
}

#[test]
fn a_stopped_listener_lets_its_waiter_go() {
    let (listener, ..) = open_listener();
    listener.stopper().wake();
    assert!(matches!(listener.accept(), Err(ControlError::Stopped)));
}

#[test]
fn a_tls_server_of_another_protocol_is_named() {
    let made = rcgen::generate_simple_self_signed(vec!["web".to_owned()]).unwrap();
    let trust = Trust::Pinned(Fingerprint::of_der(made.cert.der()));
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut config = rustls::ServerConfig::builder_with_provider(provider.into())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let web = TcpListener::bind(any_port()).unwrap();
    let url = format!("ripp://{}/", web.local_addr().unwrap()).parse().unwrap();
    let answering = thread::spawn(move || {
        let mut stream = web.accept().unwrap().0;
        rustls::ServerConnection::new(config.into()).unwrap().complete_io(&mut stream).unwrap_err()
    });
    let refusal = ControlLink::dial(&url, &trust, None, PATIENCE).unwrap_err();
    assert!(matches!(refusal, ControlError::OtherProtocol { .. }), "{refusal}");
    answering.join().unwrap();
}
