//! What both ends do alike to begin a session: keys, sockets, threads, and waiting for a path.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use visapult_ripp::control::Message;
use visapult_ripp::record::{Cipher, End, LaneSecret};

use super::control_loop::Recourse;
use super::lane::{LaneLink, Told};
use super::objects::Offer;
use super::shared::Shared;
use super::{Options, Rate, SessionError, control_loop, digest, receive, send};
use crate::control::{ControlEvent, ControlReceiver, ControlSender, KeyExporter};
use crate::socket::{Ecn, LaneSocket};

/// A UDP path that answers later than this is taken to be blocked.
pub(super) const UDP_PATIENCE: Duration = Duration::from_millis(1_500);
/// Each message of the handshake comes within this time.
pub(super) const ANSWER_PATIENCE: Duration = Duration::from_secs(5);

/// The secret that all lane keys derive from; random where the control channel has none.
pub(super) fn session_secret(exporter: Option<&KeyExporter>, plain: Option<&str>) -> Result<[u8; 32], SessionError> {
    let mut secret = [0; 32];
    match (exporter, plain) {
        (Some(exporter), _) => exporter.export_key("EXPORTER-ripp-session", b"", &mut secret)?,
        (None, Some(text)) => {
            let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text.as_bytes());
            secret.copy_from_slice(digest.as_ref());
        }
        (None, None) => return Err(SessionError::protocol(&"the peer", &"no secret for an unencrypted session")),
    }
    Ok(secret)
}

/// The sockets of a session's lanes, one per local address in turn; `peers` are the other end's, where they are known.
pub(super) fn links(
    secret: &[u8; 32],
    cipher: Cipher,
    end: End,
    options: &Options,
    default_local: IpAddr,
    peers: &[Option<Told>],
) -> Result<Vec<Arc<LaneLink>>, SessionError> {
    let locals = if options.local.is_empty() { vec![default_local] } else { options.local.clone() };
    let link = |(lane, &peer): (usize, &Option<Told>)| {
        let local = locals[lane % locals.len()];
        let socket = LaneSocket::bind(SocketAddr::new(local, 0)).map_err(SessionError::Socket)?;
        if matches!(options.rate, Rate::Auto { .. }) {
            // A fixed rate does not heed marks, and so must not ask for them instead of losses (RFC 3168).
            let _ = socket.set_ecn(Ecn::Capable0);
        }
        let secrets = [end, end.peer()].map(|from| LaneSecret::derive(secret, cipher, lane as u16, from));
        let [send, receive] = secrets;
        Ok(Arc::new(LaneLink::new(socket, send, receive, peer, options.mtu)))
    };
    peers.iter().enumerate().map(link).collect()
}

/// A session whose threads run, before it is known which way data moves.
pub(super) struct Running {
    pub(super) shared: Arc<Shared>,
    pub(super) offers: std::sync::mpsc::Receiver<Offer>,
    pub(super) threads: Vec<JoinHandle<()>>,
}

/// Starts the lanes' receiving threads, which validate paths, and the digest thread.
pub(super) fn start(
    control: ControlSender,
    links: Vec<Arc<LaneLink>>,
    options: &Options,
) -> Result<Running, SessionError> {
    let (offers_in, offers) = channel();
    let (jobs_in, jobs) = channel();
    let lanes = links.len();
    let shared = Arc::new(Shared::new(control, links, offers_in, jobs_in, options));
    let mut running = Running { shared: Arc::clone(&shared), offers, threads: Vec::new() };
    for index in 0..lanes {
        let (receiving, options) = (Arc::clone(&shared), options.clone());
        running.spawn(format!("ripp-in-{index}"), move || receive::run(&receiving, index, &options))?;
        let sending = Arc::clone(&shared);
        running.spawn(format!("ripp-out-{index}"), move || send::run(&sending, index))?;
    }
    running.spawn("ripp-digest".to_owned(), move || digest::run(&shared, &jobs))?;
    Ok(running)
}

impl Running {
    pub(super) fn spawn(&mut self, name: String, work: impl FnOnce() + Send + 'static) -> Result<(), SessionError> {
        match thread::Builder::new().name(name).spawn(work) {
            Ok(thread) => {
                self.threads.push(thread);
                Ok(())
            }
            Err(cause) => {
                self.shared.end(Some("a thread could not be had"));
                Err(SessionError::Thread(cause))
            }
        }
    }

    /// Starts the thread that keeps the control channel, when the handshake is over.
    pub(super) fn keep_control(&mut self, receiver: ControlReceiver, recourse: Recourse) -> Result<(), SessionError> {
        let shared = Arc::clone(&self.shared);
        self.spawn("ripp-control".to_owned(), move || control_loop::run(&shared, &receiver, &recourse))
    }

    /// Ends what was started, because the handshake failed.
    pub(super) fn abort(self, why: &str) {
        self.shared.end(Some(why));
        self.threads.into_iter().for_each(|thread| drop(thread.join()));
        self.shared.streams.join();
    }
}

/// The next message of the handshake.
pub(super) fn next_message(receiver: &ControlReceiver, peer: &str, deadline: Instant) -> Result<Message, SessionError> {
    match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        Some(ControlEvent::Message(bytes)) => match Message::from_bytes(&bytes) {
            Ok(Message::Rejected { why }) => {
                Err(SessionError::Refused { peer: peer.to_owned(), why: control_loop::printable(&why) })
            }
            Ok(Message::Bye { why }) => Err(SessionError::Ended(control_loop::printable(&why))),
            Ok(message) => Ok(message),
            Err(cause) => Err(SessionError::message(&peer, &cause)),
        },
        Some(ControlEvent::Closed(reason)) => Err(SessionError::protocol(&peer, &reason)),
        None => Err(SessionError::protocol(&peer, &"it does not answer")),
    }
}
