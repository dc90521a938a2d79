//! What a listener tells before it knows who asks: a port, and what it would choose. Who has its first lane there may send along with his hello; and what
//! either end tells of how much it keeps of what comes before that is accepted.
//!
//! Invariant: who has shown no token opens no socket but the one that waits at each of this machine's addresses, and learns nothing but its port. What he sends
//! there is kept for a bounded time and in bounded memory.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use visapult_ripp::cipher::Cipher;
use visapult_ripp::control::{Greeting, Message, Transport, VERSIONS, choose_version};
use visapult_ripp::early_data::Held;
use visapult_ripp::memory::Limits;
use visapult_ripp::wire::{CLEAR_HEADER, DATA_HEADER, LEAST_DATAGRAM, TAG};

use super::Options;
use super::listen::ListenerOptions;
use super::setup::ANSWER_PATIENCE;
use crate::lock::lock;
use crate::policy::Policy;
use crate::socket::LaneSocket;

/// Bytes of an object in the least datagram that is full.
const LEAST_PAYLOAD: usize = LEAST_DATAGRAM - CLEAR_HEADER - DATA_HEADER - TAG;
/// Addresses of this machine at which a socket waits, at most.
const MOST_WAITING: usize = 16;
/// A socket of which somebody was told so long ago, and that nobody has come for, gives way to a fresh one: it may be full of what strangers have sent.
const WAITS: Duration = ANSWER_PATIENCE.saturating_mul(2);
/// What the kernel keeps of what comes before the hello has been read.
const WAITING_BUFFER: usize = 4 << 20;

/// Greets those who dial a listener.
pub(super) struct Greeter {
    options: Arc<ListenerOptions>,
    policy: Arc<Policy>,
    /// By local address, whose port is 0: the next session that is dialled there has it.
    waiting: Mutex<HashMap<SocketAddr, Waiting>>,
}

struct Waiting {
    socket: LaneSocket,
    since: Instant,
}

impl Waiting {
    fn bind(local: SocketAddr, since: Instant) -> io::Result<Self> {
        let mut socket = LaneSocket::bind(local)?;
        socket.limit_buffer(Some(WAITING_BUFFER))?;
        Ok(Self { socket, since })
    }

    fn port(&self) -> u16 {
        self.socket.local_addr().port()
    }
}

impl Greeter {
    pub(super) fn new(options: &Arc<ListenerOptions>, policy: &Arc<Policy>) -> Self {
        Self { options: Arc::clone(options), policy: Arc::clone(policy), waiting: Mutex::default() }
    }

    /// What is said to `peer`, who has dialled `local`, and the port that it tells. Nothing where he could not send by it.
    pub(super) fn greet(&self, local: SocketAddr, peer: SocketAddr) -> Option<(Vec<u8>, u16)> {
        let options = &self.options.session;
        let ruling = self.policy.ruling(None, peer.ip());
        let options = ruling.map_or_else(|| Ok(options.clone()), |ruling| ruling.apply(options)).ok()?;
        if options.transport == Some(Transport::Tcp) || !options.local.is_empty() {
            return None;
        }
        let port = self.port_at(local, Instant::now())?;
        let (room, most_bps, mtu) =
            (room(&options.limits(1, options.lanes.most())), options.most_taken_bps(), options.mtu);
        let greeting = Greeting { versions: VERSIONS.to_vec(), ciphers: options.ciphers, port, mtu, most_bps, room };
        Some((Message::Greeting(greeting).to_bytes(), port))
    }

    fn port_at(&self, mut local: SocketAddr, now: Instant) -> Option<u16> {
        local.set_port(0);
        let mut waiting = lock(&self.waiting);
        waiting.retain(|_, one| now.saturating_duration_since(one.since) < WAITS);
        if let Some(one) = waiting.get(&local) {
            return Some(one.port());
        }
        if waiting.len() >= MOST_WAITING {
            return None;
        }
        let fresh = Waiting::bind(local, now).ok()?;
        let port = fresh.port();
        waiting.insert(local, fresh);
        Some(port)
    }

    /// The socket at this port, for who was told of it, if nobody else has it by now.
    pub(super) fn take(&self, mut local: SocketAddr, port: u16) -> Option<LaneSocket> {
        local.set_port(0);
        let mut waiting = lock(&self.waiting);
        waiting.get(&local).filter(|one| one.port() == port)?;
        let mut socket = waiting.remove(&local)?.socket;
        socket.limit_buffer(None).ok()?;
        Some(socket)
    }
}

/// Bytes of which an end can say that it keeps them before they are accepted, within these limits.
pub(super) fn room(limits: &Limits) -> u64 {
    Held::promise(limits.held, LEAST_PAYLOAD)
}

/// The version and cipher that a listener which greets like this will choose, of what a dialler with these options offers.
pub(super) fn foreseen(greeting: &Greeting, options: &Options) -> Option<(u32, Cipher)> {
    let version = choose_version(&VERSIONS, &greeting.versions)?;
    let cipher = options.ciphers.iter().find(|cipher| greeting.ciphers.contains(cipher))?;
    Some((version, *cipher))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::Clients;

    fn greeter() -> Greeter {
        let options =
            ListenerOptions { identity: None, token: None, clients: Clients::default(), session: Options::default() };
        let policy = options.session.policy.load().unwrap();
        Greeter::new(&Arc::new(options), &Arc::new(policy))
    }

    #[test]
    fn a_port_that_nobody_comes_for_gives_way_and_is_had_once() {
        let (greeter, began) = (greeter(), Instant::now());
        let local = "127.0.0.1:7".parse().unwrap();
        let first = greeter.port_at(local, began).unwrap();
        assert_eq!(greeter.port_at(local, began + WAITS / 2), Some(first));
        let second = greeter.port_at(local, began + WAITS).unwrap();
        assert!(second != first && greeter.take(local, first).is_none());
        let taken = greeter.take(local, second).unwrap();
        assert!(taken.recv_buffer() > 0 && greeter.take(local, second).is_none());
    }

    #[test]
    fn no_more_sockets_wait_than_there_may_and_places_come_back() {
        let (greeter, began) = (greeter(), Instant::now());
        let port = |host: usize, at| greeter.port_at(([127, 0, 0, host as u8], 7).into(), at);
        assert!((1..=MOST_WAITING).all(|host| port(host, began).is_some()));
        assert_eq!(port(MOST_WAITING + 1, began), None);
        assert!(port(MOST_WAITING + 1, began + WAITS).is_some());
    }
}
