//! Who is admitted by certificate, and lanes over several local addresses.

use std::net::{IpAddr, SocketAddrV6, UdpSocket};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use visapult_ripp_net::{
    Authorities, Clients, Identity, Lanes, Listener, ListenerOptions, Member, MemorySink, Mode, Options, Rate, RippUrl,
    Session, SessionError, Token, Transport, Trust,
};

use crate::common::{PATIENCE, assert_works, content, eventually, next_offer, self_signed};

/// A listener that knows `client`, and its URL.
fn listener(client: &Identity, token: Option<Token>, session: Options) -> (Listener, RippUrl) {
    let clients = Clients { known: vec![client.fingerprint()], ..Clients::default() };
    let options = ListenerOptions { identity: Some(self_signed()), token, clients, session };
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), options).unwrap();
    let url = listener.url("127.0.0.1", "test");
    (listener, url)
}

fn dial(url: &RippUrl, identity: Option<&Identity>, options: &Options) -> Result<Session, SessionError> {
    Session::dial(url, &Trust::for_url(url).unwrap(), identity, options)
}

fn refusal(url: &RippUrl, identity: Option<&Identity>) -> String {
    dial(url, identity, &Options::default()).unwrap_err().to_string()
}

#[test]
fn a_known_certificate_needs_no_token() {
    let client = self_signed();
    for token in [None, Some(Token::fresh().unwrap())] {
        let (listener, url) = listener(&client, token, Options::default());
        let url = RippUrl { token: None, ..url };
        let dialled = dial(&url, Some(&client), &Options::default()).unwrap();
        assert!(dialled.is_alive());
        assert!(listener.accept(PATIENCE).unwrap().is_some());
    }
}

#[test]
fn further_streams_are_known_by_the_certificate_too() {
    let client = self_signed();
    let (listener, url) = listener(&client, None, Options::default());
    let tcp = Options { transport: Some(Transport::Tcp), lanes: Lanes::Exactly(3), ..Options::default() };
    let dialled = dial(&url, Some(&client), &tcp).unwrap();
    let taken = listener.accept(PATIENCE).unwrap().unwrap();
    eventually("three streams", || taken.statistics().lanes.len() == 3);
    assert_eq!(dialled.transport(), Transport::Tcp);
}

#[test]
fn whom_an_authority_vouches_for_needs_no_token() {
    let mut params = CertificateParams::new(vec![]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let vouched = CertificateParams::new(vec!["client".to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
    let client = Identity::from_pem(vouched.pem().as_bytes(), key.serialize_pem().as_bytes()).unwrap();
    let authorities = Some(Authorities::from_pem(authority.pem().as_bytes()).unwrap());
    let clients = Clients { authorities, ..Clients::default() };
    let options = ListenerOptions { identity: Some(self_signed()), token: None, clients, session: Options::default() };
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), options).unwrap();
    let url = listener.url("127.0.0.1", "test");
    assert!(dial(&url, Some(&client), &Options::default()).is_ok());
    assert!(refusal(&url, Some(&self_signed())).contains("not known"));
}

#[test]
fn tokens_of_their_own_tell_members_apart_and_limit_them() {
    let member = |name: &str, most_bps| Member { name: name.to_owned(), token: Token::fresh().unwrap(), most_bps };
    let members = vec![member("ada", None), member("grace", Some(5_000_000))];
    let clients = Clients { members: members.clone(), ..Clients::default() };
    let options = ListenerOptions { identity: Some(self_signed()), token: None, clients, session: Options::default() };
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), options).unwrap();
    let url = |token| RippUrl { token, ..listener.url("127.0.0.1", "test") };
    for one in members {
        let _dialled = dial(&url(Some(one.token)), None, &Options::default()).unwrap();
        let taken = listener.accept(PATIENCE).unwrap().unwrap();
        assert_eq!((taken.member(), taken.rate()), (Some(&one.name[..]), Rate::Auto { most_bps: one.most_bps }));
    }
    for wrong in [None, Some(Token::fresh().unwrap())] {
        assert!(refusal(&url(wrong), None).contains("the token is wrong"));
    }
}

#[test]
fn another_certificate_is_refused_with_what_would_admit_it() {
    let (client, stranger) = (self_signed(), self_signed());
    let (_listener, url) = listener(&client, None, Options::default());
    let told = refusal(&url, Some(&stranger));
    assert!(told.contains(&format!("trust {}", stranger.fingerprint())), "{told}");
}

#[test]
fn without_certificate_and_token_nobody_is_admitted() {
    let client = self_signed();
    let (_listener, url) = listener(&client, None, Options::default());
    assert!(refusal(&url, None).contains("known certificates"));
    let (_guarded, url) = listener(&client, Some(Token::fresh().unwrap()), Options::default());
    assert!(refusal(&RippUrl { token: None, ..url.clone() }, Some(&self_signed())).contains("token"));
    assert!(dial(&url, None, &Options::default()).is_ok());
}

#[test]
fn lanes_are_spread_over_the_local_addresses_of_both_ends() {
    let addresses = |texts: [&str; 2]| texts.map(|text| text.parse::<IpAddr>().unwrap()).to_vec();
    let client = self_signed();
    let there = Options { local: addresses(["127.0.0.3", "127.0.0.4"]), ..Options::default() };
    let (listener, url) = listener(&client, None, there);
    let here = Options { local: addresses(["127.0.0.1", "127.0.0.2"]), lanes: Lanes::Exactly(4), ..Options::default() };
    let sender = dial(&url, Some(&client), &Options { transport: Some(Transport::Udp), ..here }).unwrap();
    let receiver = listener.accept(PATIENCE).unwrap().unwrap();
    eventually("four lanes at both ends", || [&sender, &receiver].iter().all(|end| end.statistics().lanes.len() == 4));
    let bytes = content(3_000_000);
    let sent = sender.open_flow("data", Mode::Reliable, 1).unwrap().send("all", Arc::new(bytes.clone())).unwrap();
    let sink = Arc::new(MemorySink::new(bytes.len()));
    let incoming = next_offer(&receiver).accept(Arc::<MemorySink>::clone(&sink));
    assert_eq!(incoming.wait().unwrap().arrived, bytes.len() as u64);
    assert!(sent.wait().is_ok());
}

#[test]
fn a_local_address_of_another_kind_or_machine_is_named() {
    let client = self_signed();
    let (_listener, url) = listener(&client, None, Options::default());
    for local in ["::1", "192.0.2.1"] {
        let options = Options { local: vec![local.parse().unwrap()], ..Options::default() };
        let refusal = dial(&url, Some(&client), &options).unwrap_err().to_string();
        assert!(refusal.contains(local) && refusal.contains("local addresses"), "{refusal}");
    }
}

#[test]
fn the_lesser_packet_size_of_both_ends_is_kept() {
    let client = self_signed();
    let there = Options { mtu: Some(1_300), ..Options::default() };
    let (listener, url) = listener(&client, None, there);
    let dialled = dial(&url, Some(&client), &Options { mtu: Some(1_400), ..Options::default() }).unwrap();
    let taken = listener.accept(PATIENCE).unwrap().unwrap();
    let size = |end: &Session| end.statistics().lanes.first().map(|lane| lane.datagram);
    eventually("1272 bytes at both ends", || [&dialled, &taken].iter().all(|end| size(end) == Some(1_272)));
}

#[test]
fn a_listener_that_can_have_no_lanes_says_why() {
    let local: IpAddr = "::1".parse().unwrap();
    if UdpSocket::bind((local, 0)).is_err() {
        return; // No IPv6 here.
    }
    let client = self_signed();
    let (_listener, url) = listener(&client, None, Options { local: vec![local], ..Options::default() });
    let refusal = refusal(&url, Some(&client));
    assert!(refusal.contains("UDP socket at ::1"), "{refusal}");
}

/// An address that means something on one link only, and that link.
fn address_of_a_link() -> Option<SocketAddrV6> {
    let known = std::fs::read_to_string("/proc/net/if_inet6").ok()?;
    let line = known.lines().find(|line| line.starts_with("fe80"))?;
    let mut words = line.split_whitespace();
    let ip = u128::from_str_radix(words.next()?, 16).ok()?;
    Some(SocketAddrV6::new(ip.into(), 0, 0, u32::from_str_radix(words.next()?, 16).ok()?))
}

#[test]
fn datagrams_go_to_addresses_that_mean_something_on_one_link_only() {
    let Some(at) = address_of_a_link() else { return };
    let options = ListenerOptions {
        identity: Some(self_signed()),
        token: Some(Token::fresh().unwrap()),
        clients: Clients::default(),
        session: Options::default(),
    };
    let listener = Listener::bind(at.into(), options).unwrap();
    let url = listener.url(&format!("{}%{}", at.ip(), at.scope_id()), "test");
    let left = dial(&url, None, &Options::default()).unwrap();
    let right = listener.accept(PATIENCE).unwrap().unwrap();
    assert_works(&left, &right);
    assert_eq!(left.transport(), Transport::Udp);
}
