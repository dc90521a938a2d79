//! Takes connections: one thread moves all handshakes on, so that none waits for another.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustls::{Connection, ServerConfig, ServerConnection};
use tracing::{debug, warn};

use super::handshake::Handshake;
use super::{ControlError, ControlLink, Greet, wait_until};
use crate::identity::Identity;
use crate::socket::Waker;
use crate::text::system_reason;
use crate::tls;
use crate::trust::Clients;

/// Handshakes under way at most.
pub const MAX_CONNECTING: usize = 64;
/// Links that wait for [`ControlListener::accept`] at most.
const MAX_ACCEPTED: usize = 64;
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long no connection is taken after the system refused one (no file descriptors left).
const PAUSE: Duration = Duration::from_millis(100);

/// How a listener is protected.
#[derive(Clone, Debug)]
pub enum Security {
    /// TLS 1.3.
    Tls {
        /// Who we are.
        identity: Identity,
        /// Whom we know by certificate. Others may come in too; then they have to show the token.
        clients: Clients,
    },
    /// Nothing is encrypted and nobody is known: refused off loopback.
    InsecureLoopback,
}

/// Listens for control links. Dropping it ends its thread; links already taken go on.
#[derive(Debug)]
pub struct ControlListener {
    local: SocketAddr,
    accepted: Receiver<ControlLink>,
    stop: Waker,
}

struct Doorkeeper {
    listener: TcpListener,
    config: Option<Arc<ServerConfig>>,
    clients: Clients,
    greet: Option<Greet>,
    connecting: Vec<Handshake>,
    accepted: SyncSender<ControlLink>,
    stop: Waker,
    paused_until: Option<Instant>,
    /// The last connection was refused by the system, which was told.
    is_refused: bool,
}

impl ControlListener {
    /// Listens at `at` (port 0: any).
    ///
    /// # Errors
    /// [`ControlError::Bind`], [`ControlError::NotLoopback`], and [`ControlError::Tls`] if the identity cannot be used.
    pub fn bind(at: SocketAddr, security: &Security) -> Result<Self, ControlError> {
        Self::bind_greeting(at, security, None)
    }

    /// The same, which greets who dials.
    pub(crate) fn bind_greeting(
        at: SocketAddr,
        security: &Security,
        greet: Option<Greet>,
    ) -> Result<Self, ControlError> {
        let (config, clients) = match security {
            Security::Tls { identity, clients } => {
                (Some(Arc::new(tls::server_config(identity, clients, greet.is_some())?)), clients.clone())
            }
            Security::InsecureLoopback if at.ip().to_canonical().is_loopback() => (None, Clients::default()),
            Security::InsecureLoopback => return Err(ControlError::NotLoopback(at)),
        };
        let listener = TcpListener::bind(at).map_err(|cause| ControlError::Bind { at, cause })?;
        listener.set_nonblocking(true)?;
        let local = listener.local_addr()?;
        let stop = Waker::new()?;
        let (queue, accepted) = sync_channel(MAX_ACCEPTED);
        let doorkeeper = Doorkeeper {
            listener,
            config,
            clients,
            greet,
            connecting: Vec::new(),
            accepted: queue,
            stop: stop.clone(),
            paused_until: None,
            is_refused: false,
        };
        thread::Builder::new().name("ripp-listen".to_owned()).spawn(move || doorkeeper.run())?;
        Ok(Self { local, accepted, stop })
    }

    /// Where we listen.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Waits for the next link that has passed its handshake. Who it is and whether it has the token is still to be found out.
    ///
    /// # Errors
    /// [`ControlError::Stopped`].
    pub fn accept(&self) -> Result<ControlLink, ControlError> {
        self.accepted.recv().map_err(|_| ControlError::Stopped)
    }

    /// Like [`ControlListener::accept`], but waits at most `timeout`.
    ///
    /// # Errors
    /// [`ControlError::Stopped`].
    pub fn accept_timeout(&self, timeout: Duration) -> Result<Option<ControlLink>, ControlError> {
        match self.accepted.recv_timeout(timeout) {
            Ok(link) => Ok(Some(link)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(ControlError::Stopped),
        }
    }

    /// Stops the listener from any thread, when woken.
    pub fn stopper(&self) -> Waker {
        self.stop.clone()
    }
}

impl Drop for ControlListener {
    fn drop(&mut self) {
        self.stop.wake();
    }
}

impl Doorkeeper {
    fn run(mut self) {
        while let Ok(true) = self.turn().inspect_err(|cause| debug!(%cause, "the listener ended")) {}
    }

    /// Waits for something to do and does it; false once stopped.
    fn turn(&mut self) -> io::Result<bool> {
        let now = Instant::now();
        self.paused_until = self.paused_until.filter(|until| *until > now);
        let taking = if self.paused_until.is_none() { PollFlags::IN } else { PollFlags::empty() };
        let mut watched = vec![PollFd::new(&self.stop, PollFlags::IN), PollFd::new(&self.listener, taking)];
        watched.extend(self.connecting.iter().map(|one| PollFd::new(&one.stream, one.interest())));
        let first = self.connecting.iter().map(|one| one.deadline).chain(self.paused_until).min();
        wait_until(&mut watched, first)?;
        let ready: Vec<_> = watched.iter().map(|fd| !fd.revents().is_empty()).collect();
        if ready[0] {
            return Ok(false);
        }
        self.advance(&ready[2..]);
        if ready[1] {
            self.take();
        }
        Ok(true)
    }

    fn advance(&mut self, ready: &[bool]) {
        let now = Instant::now();
        for (mut one, ready) in std::mem::take(&mut self.connecting).into_iter().zip(ready) {
            let done = if *ready { one.advance() } else { Ok(false) };
            match done {
                Ok(true) => self.pass(one),
                Ok(false) if now < one.deadline => self.connecting.push(one),
                Ok(false) => debug!(peer = %one.peer, "a connection took too long to say who it is"),
                Err(cause) => debug!(peer = %one.peer, %cause, "a connection failed"),
            }
        }
    }

    fn pass(&self, one: Handshake) {
        let peer = one.peer;
        match one.finish(|chain| tls::knows(&self.clients, chain)) {
            Ok(link) => self.hand_over(link),
            Err(cause) => debug!(%peer, %cause, "a connection failed"),
        }
    }

    fn hand_over(&self, link: ControlLink) {
        let peer = link.peer_addr();
        if self.accepted.try_send(link).is_err() {
            debug!(%peer, "a connection was closed: too many wait to be taken");
        }
    }

    /// Takes the connections that wait, a bounded number at a time.
    fn take(&mut self) {
        for _ in 0..MAX_CONNECTING {
            match self.listener.accept() {
                Ok((stream, peer)) => {
                    self.is_refused = false;
                    if let Err(cause) = self.welcome(stream, peer) {
                        debug!(%peer, %cause, "a connection failed");
                    }
                }
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => return,
                Err(cause) if cause.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(cause) => {
                    if !std::mem::replace(&mut self.is_refused, true) {
                        warn!("no connection can be taken: {}", system_reason(&cause));
                    }
                    self.paused_until = Some(Instant::now() + PAUSE);
                    return;
                }
            }
        }
    }

    fn welcome(&mut self, stream: TcpStream, peer: SocketAddr) -> Result<(), ControlError> {
        let Some(config) = &self.config else {
            self.hand_over(ControlLink::plain(stream, peer)?);
            return Ok(());
        };
        let connection = Connection::from(ServerConnection::new(config.clone())?);
        let deadline = Instant::now() + HANDSHAKE_TIMEOUT;
        if self.connecting.len() == MAX_CONNECTING {
            let peers: Vec<_> = self.connecting.iter().map(|one| one.peer.ip()).collect();
            let evicted = self.connecting.remove(oldest_of_the_most(&peers));
            debug!(peer = %evicted.peer, "a connection gave way to a newer one");
        }
        let handshake = Handshake::new(stream, peer, peer.to_string(), connection, deadline)?;
        self.connecting.push(handshake.greeting(self.greet.clone()));
        Ok(())
    }
}

/// The first of the network that has most of `peers`: one that floods us pushes out its own.
pub(crate) fn oldest_of_the_most(peers: &[IpAddr]) -> usize {
    let mut counts = HashMap::<IpAddr, usize>::new();
    for &ip in peers {
        *counts.entry(network(ip)).or_default() += 1;
    }
    let most = counts.values().max().copied().unwrap_or(0);
    peers.iter().position(|&ip| counts[&network(ip)] == most).unwrap_or(0)
}

/// An IPv4 address, or the 64 bits of an IPv6 address that one owner has.
fn network(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V4(v4) => v4.into(),
        IpAddr::V6(v6) => std::net::Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_owner_count_as_one() {
        let net = |text: &str| network(text.parse().unwrap());
        assert_eq!(net("2001:db8::1"), net("2001:db8::2:3"));
        assert_ne!(net("2001:db8::1"), net("2001:db8:0:1::1"));
        assert_ne!(net("10.0.0.1"), net("10.0.0.2"));
        assert_eq!(net("::ffff:10.0.0.1"), net("10.0.0.1"));
    }
}
