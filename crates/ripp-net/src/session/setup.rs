//! What both ends do alike to begin a session: keys, sockets and threads.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use visapult_ripp::cipher::Cipher;
use visapult_ripp::memory::Limits;
use visapult_ripp::record::{End, LaneSecret};

use super::lane::LaneLink;
use super::objects::Arrival;
use super::path::Known;
use super::shared::Shared;
use super::{Options, Rate, SessionError, digest, receive, send};
use crate::control::{ControlSender, KeyExporter};
use crate::socket::{Ecn, LaneSocket};

/// A UDP path that answers later than this, and later than four round trips of the control channel, is taken to be blocked.
pub(super) const UDP_PATIENCE: Duration = Duration::from_millis(1_000);
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

/// The sockets of a session's lanes, one per local address in turn; `peers` is what is known of the other end's. The first lane has the socket `told`, if
/// there is one.
pub(super) fn links(
    secret: &[u8; 32],
    cipher: Cipher,
    end: End,
    options: &Options,
    default_local: SocketAddr,
    peers: &[Known],
    told: Option<LaneSocket>,
) -> Result<Vec<Arc<LaneLink>>, SessionError> {
    let is_v4 = default_local.ip().to_canonical().is_ipv4();
    let fitting = options.local.iter().filter(|local| local.is_ipv4() == is_v4);
    let mut locals: Vec<_> = fitting.map(|&local| SocketAddr::new(local, 0)).collect();
    if locals.is_empty() {
        if let Some(&local) = options.local.first() {
            return Err(SessionError::Local { local, cause: std::io::ErrorKind::AddrNotAvailable.into() });
        }
        locals.push(default_local);
        locals[0].set_port(0);
    }
    let mut told = told;
    let link = |(lane, &peer): (usize, &Known)| {
        let local = locals[lane % locals.len()];
        let bind = || LaneSocket::bind(local).map_err(|cause| SessionError::Local { local: local.ip(), cause });
        let mut socket = told.take().map_or_else(bind, Ok)?;
        if !options.coalesce {
            socket.take_singly();
        }
        if matches!(options.rate, Rate::Auto { .. }) {
            // A fixed rate does not heed marks, and so must not ask for them instead of losses (RFC 3168).
            let _ = socket.set_ecn(Ecn::Capable0);
        }
        let secrets = [end, end.peer()].map(|from| LaneSecret::derive(secret, cipher, lane as u16, from));
        let [send, receive] = secrets;
        Ok(Arc::new(LaneLink::new(socket, send, receive, peer, options.mtu, peers.len())))
    };
    peers.iter().enumerate().map(link).collect()
}

/// A session that has no lanes yet.
pub(super) struct Begun {
    pub(super) shared: Arc<Shared>,
    pub(super) arrivals: Receiver<Option<Arrival>>,
}

/// Begins a session: from here on flows can be opened, and objects offered.
pub(super) fn begin(control: ControlSender, options: &Options, limits: Limits) -> Result<Begun, SessionError> {
    let (arrivals_in, arrivals) = channel();
    let (jobs_in, jobs) = channel();
    let shared = Arc::new(Shared::new(control, arrivals_in, jobs_in, options, limits));
    let digesting = Arc::clone(&shared);
    shared.spawn("ripp-digest".to_owned(), move || digest::run(&digesting, &jobs))?;
    Ok(Begun { shared, arrivals })
}

/// Gives a session its lanes and starts their threads, which validate paths.
pub(super) fn start_lanes(
    shared: &Arc<Shared>,
    links: Vec<Arc<LaneLink>>,
    options: &Options,
) -> Result<(), SessionError> {
    let lanes = links.len();
    shared.set_links(links);
    for index in 0..lanes {
        let (receiving, options) = (Arc::clone(shared), options.clone());
        shared.spawn(format!("ripp-in-{index}"), move || receive::run(&receiving, index, &options))?;
        let sending = Arc::clone(shared);
        shared.spawn(format!("ripp-out-{index}"), move || send::run(&sending, index))?;
    }
    Ok(())
}
