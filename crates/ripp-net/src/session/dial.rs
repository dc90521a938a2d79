//! Dialling a session.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use visapult_ripp::cipher::Cipher;
use visapult_ripp::control::{Greeting, Hello, Message, Transport, VERSIONS, Welcome, Word};
use visapult_ripp::memory::Limits;
use visapult_ripp::record::End;

use super::control_loop::{self, Recourse};
use super::digest::DigestKeys;
use super::greeting::{foreseen, room};
use super::lanes::{self, Material};
use super::path::{Known, Told};
use super::setup::{self, ANSWER_PATIENCE, UDP_PATIENCE};
use super::shared::{Out, Shared};
use super::stream::{FALLBACK_STREAMS, Opener, Reached};
use super::{Options, Service, Session, SessionError};
use crate::control::{CloseReason, ControlError, ControlEvent, ControlLink, ControlReceiver};
use crate::identity::Identity;
use crate::policy::least;
use crate::text::printable;
use crate::token::Token;
use crate::trust::Trust;
use crate::url::RippUrl;

const CONNECT_PATIENCE: Duration = Duration::from_secs(9);

impl Session {
    /// Reaches the listener of `url` and begins a session.
    ///
    /// # Errors
    /// What went wrong, where, and what to do.
    pub fn dial(
        url: &RippUrl,
        trust: &Trust,
        identity: Option<&Identity>,
        options: &Options,
    ) -> Result<Self, SessionError> {
        let session = Self::begin(url, trust, identity, options)?;
        session.admitted()?;
        Ok(session)
    }

    /// Like [`Session::dial`], but does not wait to be admitted: flows that are opened and objects that are offered meanwhile are under way a
    /// round trip sooner. [`Session::admitted`] says how it went.
    ///
    /// # Errors
    /// If the listener cannot be reached, or is not who it should be.
    pub fn begin(
        url: &RippUrl,
        trust: &Trust,
        identity: Option<&Identity>,
        options: &Options,
    ) -> Result<Self, SessionError> {
        let began = Instant::now();
        let policy = options.policy.load()?;
        let link = ControlLink::dial_greeted(url, trust, identity, CONNECT_PATIENCE)?;
        let (peer, local, rtt) = (link.peer_addr(), link.local_addr(), link.rtt());
        let ruling = policy.ruling(Some(&url.host), peer.ip()).cloned();
        let options = ruling.as_ref().map_or_else(|| Ok(options.clone()), |ruling| ruling.apply(options))?;
        let exporter = link.exporter();
        let plain = exporter.is_none().then(|| Token::fresh().map(|token| token.encoded())).transpose();
        let plain = plain.map_err(|cause| SessionError::protocol(&"this machine", &cause))?;
        let (control, receiver) = link.split()?;
        let secret = setup::session_secret(exporter.as_ref(), plain.as_deref())?;
        let lanes = options.lanes.first();
        let limits = options.limits(lanes, options.lanes.most());
        if limits.lanes < lanes {
            tracing::warn!("{} lanes rather than {lanes}: `memory` has no room for more", limits.lanes);
        }
        let room = if options.transport == Some(Transport::Tcp) { 0 } else { room(&limits) };
        let hello = hello(url, &options, &limits, plain, room);
        match control.send(&Message::Hello(hello.clone()).to_bytes()) {
            // A listener that has ended the link already has said why: that is read below.
            Ok(()) | Err(ControlError::Closed) => {}
            Err(cause) => return Err(cause.into()),
        }
        let begun = setup::begin(control, &options, limits)?;
        let shared = Arc::clone(&begun.shared);
        if hello.room > 0 {
            shared.incoming().receiving.hold();
        }
        let mut session = Self::new(begun, peer, url.name.clone(), &options, ruling);
        let streams =
            if options.transport == Some(Transport::Tcp) || lanes > 1 { hello.lanes } else { FALLBACK_STREAMS };
        let opener =
            Opener { url: url.clone(), at: peer, trust: trust.clone(), identity: identity.cloned(), hello, streams };
        let (refuse, refusal) = mpsc::channel();
        session.refusal = Mutex::new(Some(refusal));
        let dialled = Dialled { began, local, rtt, secret, options, opener };
        let keeping = Arc::clone(&shared);
        shared.spawn("ripp-control".to_owned(), move || match dialled.establish(&keeping, &receiver) {
            Ok(recourse) => {
                drop(refuse);
                control_loop::run(&keeping, &receiver, &recourse);
            }
            Err(cause) => {
                keeping.end(Some(&cause.to_string()));
                // Nobody may want to know.
                let _ = refuse.send(cause);
            }
        })?;
        Ok(session)
    }
}

/// A session whose listener has not answered yet.
struct Dialled {
    began: Instant,
    local: SocketAddr,
    /// As TLS's handshake has shown it.
    rtt: Option<Duration>,
    secret: [u8; 32],
    options: Options,
    opener: Opener,
}

/// A lane that was begun along with the hello, by what the listener will choose.
struct Early {
    version: u32,
    cipher: Cipher,
    port: u16,
}

impl Dialled {
    /// Waits to be admitted, and opens lanes or streams.
    fn establish(self, shared: &Arc<Shared>, receiver: &ControlReceiver) -> Result<Recourse, SessionError> {
        let asked = Instant::now();
        let peer = self.opener.at;
        let mut answer = next_message(shared, receiver, &peer.to_string())?;
        let mut early = None;
        if let Message::Greeting(greeting) = answer {
            early = self.begin_early(shared, &greeting)?;
            answer = next_message(shared, receiver, &peer.to_string())?;
        }
        let Self { began, local, secret, mut options, mut opener, .. } = self;
        let welcome = welcome(answer, &peer.to_string(), options.service)?;
        let rtt = asked.elapsed();
        options.mtu = least(options.mtu, welcome.mtu);
        let told = |(lane, &port): (usize, &u16)| Told::at(peer, welcome.addresses.get(lane).copied(), port, rtt);
        // No more than were asked for: each takes memory.
        let ports = welcome.ports.iter().take(usize::from(shared.limits.lanes));
        let peers: Vec<_> = ports.enumerate().map(told).collect();
        let known: Vec<_> = peers.iter().copied().map(Known::Told).collect();
        shared.agree_on_most_lanes(welcome.most_lanes);
        if let Some(early) = &early {
            if (early.version, early.cipher) != (welcome.version, welcome.cipher) {
                return Err(SessionError::protocol(&peer, &"it chose otherwise than it had said"));
            }
            // Somebody else was quicker to have the port.
            let elsewhere = peers.first().filter(|told| told.peer.port() != early.port || !told.is_reached);
            elsewhere.into_iter().for_each(|told| move_lane(shared, *told));
            add_lanes(shared, known.get(1..).unwrap_or_default())?;
        } else {
            shared.note_peer_most(welcome.most_bps);
            begin_lanes(shared, &secret, welcome.cipher, &options, local, &known)?;
        }
        let _ = shared.setup.set(began.elapsed());
        opener.hello.join = Some(welcome.session);
        opener.hello.plain_secret = None;
        let opener = Arc::new(opener);
        if options.transport == Some(Transport::Tcp) || peers.is_empty() {
            open_streams(shared, &opener)?;
        } else {
            // Paths are validated while data is under way on them. Until there is one the session's own watch has nothing to give up.
            shared.streams.take_in_hand(options.transport.is_none());
            let (waiting, opener) = (Arc::clone(shared), Arc::clone(&opener));
            shared.spawn("ripp-path".to_owned(), move || {
                if let Err(cause) = wait_for_path(&waiting, options.transport, UDP_PATIENCE.max(4 * rtt), &opener) {
                    waiting.end(Some(&cause.to_string()));
                }
            })?;
        }
        Ok(match options.transport {
            None => Recourse::Streams(opener),
            Some(_) => Recourse::None,
        })
    }
}

impl Dialled {
    /// Begins the first lane by what the listener has said ahead of its answer, and sends what is on offer before that is accepted.
    fn begin_early(&self, shared: &Arc<Shared>, greeting: &Greeting) -> Result<Option<Early>, SessionError> {
        let is_possible = self.options.transport != Some(Transport::Tcp);
        let foreseen = foreseen(greeting, &self.options).filter(|_| is_possible && greeting.port > 0);
        let (Some((version, cipher)), Some(rtt)) = (foreseen, self.rtt) else { return Ok(None) };
        let reached = self.opener.at;
        let options = Options { mtu: least(self.options.mtu, greeting.mtu), ..self.options.clone() };
        let peers = [Known::Told(Told::at(reached, None, greeting.port, rtt))];
        shared.note_peer_most(greeting.most_bps);
        begin_lanes(shared, &self.secret, cipher, &options, self.local, &peers)?;
        shared.presume(greeting.room);
        Ok(Some(Early { version, cipher, port: greeting.port }))
    }
}

/// The first lane goes on elsewhere than where it began.
fn move_lane(shared: &Shared, told: Told) {
    let mut out = shared.out();
    let Out { sending, lanes, .. } = &mut *out;
    shared.links().take(1).for_each(|link| link.tell(told));
    if let Some(lane) = &mut lanes[0] {
        lane.begin_again(shared.now(), &mut sending.outbox);
    }
    drop(out);
    shared.wake_senders();
}

/// Opens lanes to `peers`, and starts their threads.
fn begin_lanes(
    shared: &Arc<Shared>,
    secret: &[u8; 32],
    cipher: Cipher,
    options: &Options,
    local: SocketAddr,
    peers: &[Known],
) -> Result<(), SessionError> {
    shared.set_digest_keys(DigestKeys::derive(secret, cipher, End::Dialer));
    let (local, options) = (local_for(local, options), options.clone());
    shared.set_material(Material { secret: *secret, cipher, end: End::Dialer, options, local });
    add_lanes(shared, peers)
}

/// Opens lanes to `peers` beside those that there are.
fn add_lanes(shared: &Arc<Shared>, peers: &[Known]) -> Result<(), SessionError> {
    let Some(material) = shared.material() else { return Ok(()) };
    lanes::begin(shared, material.links(shared.links().count(), peers, None)?, &material.options)
}

fn hello(url: &RippUrl, options: &Options, limits: &Limits, plain_secret: Option<String>, room: u64) -> Hello {
    Hello {
        versions: VERSIONS.to_vec(),
        token: url.token.as_ref().map(Token::encoded),
        name: url.name.clone(),
        join: None,
        lanes: limits.lanes,
        ciphers: options.ciphers.clone(),
        transport: options.transport.map(Word::Known),
        mtu: options.mtu,
        service: options.service.map(|service| service.name.to_owned()),
        request: options.request.clone(),
        plain_secret,
        most_bps: options.most_taken_bps(),
        room,
        most_lanes: limits.told_most(),
    }
}

/// The listener's answer to a hello that wanted this service.
fn welcome(answer: Message, peer: &str, wanted: Option<Service>) -> Result<Welcome, SessionError> {
    match answer {
        Message::Welcome(welcome) if VERSIONS.contains(&welcome.version) => Ok(welcome),
        Message::Welcome(welcome) => {
            Err(SessionError::protocol(&peer, &format!("it chose version {} of the protocol", welcome.version)))
        }
        // The program there knows best what it is.
        Message::Rejected { serves: Some(_), why } => Err(SessionError::OtherService { is: printable(&why), wanted }),
        Message::Rejected { serves: None, why } => {
            Err(SessionError::Refused { peer: peer.to_owned(), why: printable(&why) })
        }
        Message::Bye { why } => Err(SessionError::Ended(printable(&why))),
        _ => Err(SessionError::protocol(&peer, &"no welcome")),
    }
}

/// The first message, unless the session ends before.
fn next_message(shared: &Shared, receiver: &ControlReceiver, peer: &str) -> Result<Message, SessionError> {
    const LOOK: Duration = Duration::from_millis(50);
    let deadline = Instant::now() + ANSWER_PATIENCE;
    while !shared.is_over() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(SessionError::protocol(&peer, &"it does not answer"));
        }
        match receiver.recv_timeout(left.min(LOOK)) {
            Some(ControlEvent::Message(bytes)) => {
                return Message::from_bytes(&bytes).map_err(|cause| SessionError::message(&peer, &cause));
            }
            Some(ControlEvent::Closed(CloseReason::Encrypted)) => {
                return Err(ControlError::BareHere(peer.to_owned()).into());
            }
            Some(ControlEvent::Closed(reason)) => return Err(SessionError::protocol(&peer, &reason)),
            None => {}
        }
    }
    Err(shared.ended())
}

/// Lanes leave from the address that reached the listener, so that both go the same way.
fn local_for(local: SocketAddr, options: &Options) -> SocketAddr {
    match local {
        local if options.local.is_empty() => local,
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}

/// Datagrams if they come through; else streams, and there is no session without any.
fn wait_for_path(
    shared: &Arc<Shared>,
    asked: Option<Transport>,
    patience: Duration,
    opener: &Arc<Opener>,
) -> Result<(), SessionError> {
    let reaching = if asked.is_none() { Some(reach_in_time(shared, patience / 2, opener)?) } else { None };
    // Where there is nothing to turn to, nothing is won by giving up soon.
    let patience = if asked.is_none() { patience } else { ANSWER_PATIENCE };
    if shared.wait_for_lanes(patience) || shared.is_over() {
        shared.streams.take_in_hand(false);
        return Ok(());
    }
    let Some(reaching) = reaching else { return Err(SessionError::UdpBlocked(opener.at.to_string())) };
    let reached = reaching.recv().unwrap_or_default();
    let streams = if reached.is_empty() { opener.open(shared)? } else { opener.join(reached, shared)? };
    shared.use_streams();
    tracing::warn!(
        "no datagram comes through between here and {} (UDP is blocked?): data moves over {streams} TLS/TCP streams",
        opener.at
    );
    Ok(())
}

fn open_streams(shared: &Arc<Shared>, opener: &Opener) -> Result<usize, SessionError> {
    let streams = opener.open(shared)?;
    shared.use_streams();
    Ok(streams)
}

/// Reaches the listener for streams before it is given up that datagrams come through, so that no time is lost then.
fn reach_in_time(
    shared: &Arc<Shared>,
    patience: Duration,
    opener: &Arc<Opener>,
) -> Result<mpsc::Receiver<Reached>, SessionError> {
    let (reached, reaching) = mpsc::sync_channel(1);
    let (shared, opener) = (Arc::clone(shared), Arc::clone(opener));
    let reach = move || {
        if !shared.wait_for_lane(patience) && !shared.is_over() {
            // Nobody waits for it any more if datagrams have come through meanwhile.
            let _ = reached.send(opener.reach());
        }
    };
    thread::Builder::new().name("ripp-open".to_owned()).spawn(reach).map_err(SessionError::Thread)?;
    Ok(reaching)
}
