//! The door of a listener: who is let in, and what both ends go by from then on.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, RwLock, Weak};
use std::thread;
use std::time::{Duration, Instant};

use visapult_ripp::cipher::Cipher;
use visapult_ripp::control::{Hello, MOST_LANES, Message, Transport, VERSIONS, Welcome, Word, choose_version};
use visapult_ripp::record::End;

use super::control_loop::{self, Recourse};
use super::digest::DigestKeys;
use super::failures::Failures;
use super::greeting::Greeter;
use super::lanes::{self, Material};
use super::listen::ListenerOptions;
use super::path::{Known, Reached};
use super::refused::Refusals;
use super::setup::{self, ANSWER_PATIENCE};
use super::shared::{BEGAN, Shared};
use super::strangers::{Stranger, Strangers};
use super::{Options, Service, Session, SessionError};
use crate::control::{ControlError, ControlLink, ControlListener, Shown};
use crate::lock::{lock, unpoisoned};
use crate::perf::{self, Answered};
use crate::policy::{Policy, Ruling, least};
use crate::socket::Waker;
use crate::text::{printable, system_reason};
use crate::token::Token;
use crate::trust::Member;

/// A program that listens most often takes a session by then.
const TAKEN_WITHIN: Duration = Duration::from_millis(10);
const DATAGRAMS_ONLY: &str = "data moves by datagrams only here";
const WRONG_TOKEN: &str = "the token is wrong; copy the whole URL that the listener printed";

/// Lets in who dials a listener.
#[derive(Clone)]
pub(super) struct Door {
    pub(super) options: Arc<ListenerOptions>,
    pub(super) members: Arc<RwLock<Vec<Member>>>,
    pub(super) policy: Arc<Policy>,
    pub(super) greeter: Arc<Greeter>,
    pub(super) queue: SyncSender<Session>,
    pub(super) answered: SyncSender<Answered>,
    pub(super) refusals: Arc<Mutex<Refusals>>,
    pub(super) failures: Arc<Failures>,
    pub(super) strangers: Strangers,
    /// Sessions that further streams may join, by their secret numbers.
    pub(super) sessions: Arc<Mutex<HashMap<String, Weak<Shared>>>>,
    /// A check of the path is under way.
    pub(super) checking: Arc<AtomicBool>,
}

impl Door {
    /// Until the listener stops.
    pub(super) fn run(&self, control: &ControlListener) {
        while let Ok(link) = control.accept() {
            let stranger = self.strangers.admit(&link);
            let door = self.clone();
            let work = move || {
                let peer = link.peer_addr();
                match door.handshake(link, stranger) {
                    Ok(Some(session)) => door.hand_over(session),
                    Ok(None) => {}
                    Err(cause) => door.failures.tell(&format_args!("with {peer}: {cause}")),
                }
            };
            if let Err(cause) = thread::Builder::new().name("ripp-handshake".to_owned()).spawn(work) {
                self.failures.tell(&format_args!("for want of a thread: {cause}"));
            }
        }
    }

    fn hand_over(&self, session: Session) {
        if let Some(request) = perf::asked_check(&session) {
            let answered = perf::serve_check(&session, &request, &self.checking);
            // Not every program asks for them.
            let _ = self.answered.try_send(answered);
            return;
        }
        let deadline = Instant::now() + ANSWER_PATIENCE;
        let mut waiting = session;
        loop {
            match self.queue.try_send(waiting) {
                Ok(()) => return,
                // Many have dialled at once: the program takes one after the other.
                Err(TrySendError::Full(session)) if Instant::now() < deadline && session.is_alive() => {
                    waiting = session;
                    thread::sleep(TAKEN_WITHIN);
                }
                Err(TrySendError::Full(session) | TrySendError::Disconnected(session)) => {
                    session
                        .end_because("busy: the listening program takes no more sessions at present; try again later");
                    return;
                }
            }
        }
    }

    /// Makes a session of what comes, or adds it to one as a stream.
    fn handshake(
        &self,
        mut link: ControlLink,
        stranger: io::Result<Stranger>,
    ) -> Result<Option<Session>, SessionError> {
        let began = Instant::now();
        let stranger = match stranger {
            Ok(stranger) => stranger,
            Err(cause) => return Err(unable(link, cause)),
        };
        let (peer, local) = (link.peer_addr(), link.local_addr());
        let (exporter, shown, port_told, rtt) = (link.exporter(), link.shown(), link.greeted(), link.rtt());
        let hello = hello(&mut link, &peer.to_string())?;
        if let Some(number) = &hello.join {
            return self.join(link, number, &hello).map(|()| None);
        }
        let ruling = self.policy.ruling(None, peer.ip()).cloned();
        let Agreed { version, cipher, transport, options, member } = match self.judge(&hello, shown, ruling.as_ref()) {
            Ok(agreed) => agreed,
            Err(Rejection { why, serves }) => {
                let refused = self.refused(peer, &why);
                let rejected = Message::Rejected { why, serves: serves.map(|service| service.name.to_owned()) };
                // He is a stranger until he has gone: who comes later may push him out.
                link.end_with(&rejected.to_bytes());
                return Err(refused);
            }
        };
        drop(stranger);
        let waker = match Waker::new() {
            Ok(waker) => waker,
            Err(cause) => return Err(unable(link, cause)),
        };
        let (control, receiver) = link.split_woken_by(waker).map_err(ControlError::from)?;
        let secret = setup::session_secret(exporter.as_ref(), hello.plain_secret.as_deref())?;
        let streams = [transport, options.transport].contains(&Some(Transport::Tcp));
        let most = hello.most_lanes.unwrap_or(0).min(options.lanes.most());
        let limits = options.limits(hello.lanes.min(MOST_LANES), most);
        let lanes = if streams { 0 } else { hello.lanes.min(limits.lanes) };
        let reached = Known::Reached(Reached { address: peer.ip(), told: BEGAN, rtt });
        let peers = vec![reached; usize::from(lanes)];
        let session = session_number()?;
        // Who was told of a port has sent along with his hello, perhaps.
        let port_told = port_told.filter(|_| lanes > 0);
        let told = port_told.and_then(|port| self.greeter.take(local, port));
        let material = Material { secret, cipher, end: End::Listener, options: options.clone(), local };
        let links = material.links(0, &peers, told).inspect_err(|cause| {
            let rejected = Message::Rejected { why: format!("it is not able to: {cause}"), serves: None };
            // Fails where the other end is gone already.
            let _ = control.send(&rejected.to_bytes());
        })?;
        let (ports, addresses) = material.told(&links);
        let (mtu, most_bps, number) = (options.mtu, options.most_taken_bps(), session.clone());
        let most_lanes = limits.told_most().filter(|_| lanes > 0);
        let welcome = Welcome { version, cipher, ports, addresses, mtu, most_bps, most_lanes, session: number };
        let begun = setup::begin(control.clone(), &options, limits)?;
        let shared = Arc::clone(&begun.shared);
        shared.note_peer_most(hello.most_bps);
        shared.set_digest_keys(DigestKeys::derive(&secret, cipher, End::Listener));
        if port_told.is_some() {
            shared.incoming().receiving.hold();
        }
        // From here on the session sees to the end of what was started.
        let mut made = Session::new(begun, peer, hello.name, &options, ruling);
        made.member = member;
        shared.agree_on_most_lanes(most_lanes);
        shared.set_material(material);
        lanes::begin(&shared, links, &options)?;
        if lanes > 0 {
            shared.presume(hello.room);
        }
        self.enter(session, &shared);
        control.send(&Message::Welcome(welcome).to_bytes())?;
        let keeping = Arc::clone(&shared);
        shared.spawn("ripp-control".to_owned(), move || control_loop::run(&keeping, &receiver, &Recourse::None))?;
        let _ = shared.setup.set(began.elapsed());
        Ok(Some(made))
    }

    /// Notes that `peer` is refused, before it hears of that.
    fn refused(&self, peer: SocketAddr, why: &str) -> SessionError {
        lock(&self.refusals).note(Instant::now(), peer, why);
        SessionError::Refused { peer: "this listener".to_owned(), why: why.to_owned() }
    }

    /// What a session that is admitted is like, or why it is not.
    fn judge(&self, hello: &Hello, shown: Option<Shown>, ruling: Option<&Ruling>) -> Result<Agreed, Rejection> {
        let version = choose_version(&VERSIONS, &hello.versions).ok_or_else(|| no_common_version(&hello.versions))?;
        let member = self.check_admission(hello, shown)?;
        let own = &self.options.session;
        check_service(own.service, hello.service.as_deref())?;
        let mtu = least(own.mtu, hello.mtu);
        let asked = Options { request: hello.request.clone(), mtu, ..own.clone() };
        let options = ruling.map_or_else(|| Ok(asked.clone()), |ruling| ruling.apply(&asked));
        let mut options = options.map_err(|cause| cause.to_string())?;
        let most = member.as_ref().and_then(|member| member.most_bps);
        options.limit(most, most);
        let transport = transport(hello.transport.as_ref(), options.transport)?;
        let cipher = hello.ciphers.iter().find(|cipher| options.ciphers.contains(cipher));
        let cipher = cipher.copied().ok_or_else(|| "no cipher that both ends know".to_owned())?;
        Ok(Agreed { version, cipher, transport, options, member: member.map(|member| member.name) })
    }

    /// A known certificate or a token lets in, and one is needed unless there is none here. Returns whose token it is, if that is known.
    fn check_admission(&self, hello: &Hello, shown: Option<Shown>) -> Result<Option<Member>, String> {
        if shown.is_some_and(|shown| shown.known) {
            return Ok(None);
        }
        let ListenerOptions { token, clients, .. } = self.options.as_ref();
        let told = hello.token.as_deref().and_then(|told| Token::parse(told).ok());
        let is_told = |token: &Token| told.as_ref().is_some_and(|told| token.matches(told.as_bytes()));
        let members = unpoisoned(self.members.read());
        if let Some(member) = members.iter().find(|member| is_told(&member.token)) {
            return Ok(Some(member.clone()));
        }
        match (token, shown) {
            (Some(token), _) if is_told(token) => Ok(None),
            (Some(_), _) => Err(WRONG_TOKEN.to_owned()),
            // Where all that were known by tokens have gone, nobody is.
            (None, _) if !(members.is_empty() && clients.members.is_empty()) => Err(WRONG_TOKEN.to_owned()),
            (None, _) if clients.is_empty() => Ok(None),
            (None, Some(Shown { fingerprint, .. })) => {
                Err(format!("your certificate is not known there; it is to be started with trust {fingerprint}"))
            }
            (None, None) => {
                Err("only known certificates are admitted, and you showed none; leave the token away from \
                                 the URL, or name an identity"
                    .to_owned())
            }
        }
    }

    /// Lets further streams join the session.
    fn enter(&self, number: String, session: &Arc<Shared>) {
        let mut sessions = lock(&self.sessions);
        sessions.retain(|_, session| session.upgrade().is_some_and(|session| !session.is_over()));
        sessions.insert(number, Arc::downgrade(session));
    }

    /// Adds a stream to the session that it knows the number of.
    fn join(&self, mut link: ControlLink, number: &str, hello: &Hello) -> Result<(), SessionError> {
        let found = lock(&self.sessions).get(number).and_then(Weak::upgrade).filter(|session| !session.is_over());
        let session = self.check_admission(hello, link.shown()).and_then(|_| {
            found.ok_or_else(|| "there is no such session (any more) to join; dial a new one".to_owned())
        });
        let session = match session.and_then(may_have_streams) {
            Ok(session) => session,
            Err(why) => {
                let refused = self.refused(link.peer_addr(), &why);
                turn_away(&mut link, &why)?;
                return Err(refused);
            }
        };
        match session.stream_place() {
            Ok(place) => {
                place.fill(link, None)?;
                session.use_streams();
                Ok(())
            }
            Err(why) => {
                turn_away(&mut link, &why)?;
                Err(SessionError::protocol(&link.peer_addr(), &why))
            }
        }
    }
}

/// What both ends of a session go by.
struct Agreed {
    version: u32,
    cipher: Cipher,
    /// The transport that the dialler insists on.
    transport: Option<Transport>,
    options: Options,
    member: Option<String>,
}

/// Tells the other end that the system does not give us what a session needs.
fn unable(link: ControlLink, cause: io::Error) -> SessionError {
    let why = format!("it is not able to: {}", system_reason(&cause));
    link.end_with(&Message::Rejected { why, serves: None }.to_bytes());
    ControlError::from(cause).into()
}

/// Why a session is not admitted.
struct Rejection {
    why: String,
    /// What is served here, where that is why.
    serves: Option<Service>,
}

impl From<String> for Rejection {
    fn from(why: String) -> Self {
        Self { why, serves: None }
    }
}

/// Who has dialled for something else is told what is served here.
fn check_service(own: Option<Service>, wanted: Option<&str>) -> Result<(), Rejection> {
    match (own, wanted) {
        (Some(own), Some(wanted)) if wanted != own.name => Err(Rejection { why: own.to_string(), serves: Some(own) }),
        _ => Ok(()),
    }
}

/// Why somebody who speaks other versions is not admitted, and which end is to be updated.
fn no_common_version(theirs: &[u32]) -> String {
    let named = |versions: &[u32]| {
        let most = versions.iter().take(8).map(u32::to_string);
        most.collect::<Vec<_>>().join(" and ")
    };
    let update = if theirs.iter().max() < VERSIONS.iter().max() { "yours" } else { "the one there" };
    format!("it speaks version {} of the protocol, you {}: update {update}", named(&VERSIONS), named(theirs))
}

/// Tells who would join a session why not.
fn turn_away(link: &mut ControlLink, why: &str) -> Result<(), SessionError> {
    let rejected = Message::Rejected { why: why.to_owned(), serves: None };
    Ok(link.send_first(&rejected.to_bytes(), Instant::now() + ANSWER_PATIENCE)?)
}

/// The session, unless its user has ruled that data moves by datagrams.
fn may_have_streams(session: Arc<Shared>) -> Result<Arc<Shared>, String> {
    if session.streams.are_barred() {
        Err(format!("{DATAGRAMS_ONLY}: let UDP through on the way"))
    } else {
        Ok(session)
    }
}

/// The transport that is insisted on, if it is to be had here.
fn transport(wanted: Option<&Word<Transport>>, allowed: Option<Transport>) -> Result<Option<Transport>, String> {
    use Transport::{Tcp, Udp};
    let wanted = match wanted {
        Some(Word::Unknown(word)) => {
            let word = printable(word);
            return Err(format!("it does not know the transport `{word}`; dial with transport auto, or update it"));
        }
        Some(Word::Known(known)) => Some(*known),
        None => None,
    };
    match (wanted, allowed) {
        (Some(Tcp), Some(Udp)) => Err(format!("{DATAGRAMS_ONLY}; dial with transport auto")),
        (Some(Udp), Some(Tcp)) => Err("data moves over streams only here; dial with transport auto".to_owned()),
        _ => Ok(wanted),
    }
}

/// A number that nobody guesses: 128 random bits.
fn session_number() -> Result<String, SessionError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|cause| SessionError::protocol(&"this machine", &cause))?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// The first message; who says something else is told what was wrong with it.
fn hello(link: &mut ControlLink, peer: &str) -> Result<Hello, SessionError> {
    let deadline = Instant::now() + ANSWER_PATIENCE;
    let bytes = link.first_message(deadline)?;
    let (why, cause) = match Message::from_bytes(&bytes) {
        Ok(Message::Hello(hello)) => return Ok(hello),
        Ok(_) => ("the first message is to be a hello".to_owned(), SessionError::protocol(&peer, &"no hello")),
        Err(cause) => (cause.to_string(), SessionError::message(&peer, &cause)),
    };
    link.send_first(&Message::Rejected { why, serves: None }.to_bytes(), deadline)?;
    Err(cause)
}
