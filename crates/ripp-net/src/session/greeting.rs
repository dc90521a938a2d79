//! What a listener tells before it knows who asks: a port, and what it would choose. Who has its first lane there may send along with his hello.
//!
//! Invariant: who has shown no token opens no socket but the one that waits at each of this machine's addresses, and learns nothing but its port.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use visapult_ripp::control::{Greeting, Message, Transport, VERSIONS, choose_version};
use visapult_ripp::held::Held;
use visapult_ripp::record::Cipher;
use visapult_ripp::wire::{CLEAR_HEADER, DATA_HEADER, LEAST_DATAGRAM, TAG};

use super::Options;
use super::listen::ListenerOptions;
use super::shared::lock;
use crate::policy::Policy;
use crate::socket::LaneSocket;

/// Bytes of an object in the least datagram that is full.
const LEAST_PAYLOAD: usize = LEAST_DATAGRAM - CLEAR_HEADER - DATA_HEADER - TAG;
/// Addresses of this machine at which a socket waits, at most.
const MOST_WAITING: usize = 16;

/// Greets those who dial a listener.
pub(super) struct Greeter {
    options: Arc<ListenerOptions>,
    policy: Arc<Policy>,
    /// By local address, whose port is 0: the next session that is dialled there has it.
    waiting: Mutex<HashMap<SocketAddr, LaneSocket>>,
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
        let port = self.port_at(local)?;
        let room = Held::promise(options.limits(1).held, LEAST_PAYLOAD);
        let greeting = Greeting { versions: VERSIONS.to_vec(), ciphers: options.ciphers, port, mtu: options.mtu, room };
        Some((Message::Greeting(greeting).to_bytes(), port))
    }

    fn port_at(&self, mut local: SocketAddr) -> Option<u16> {
        local.set_port(0);
        let mut waiting = lock(&self.waiting);
        if !waiting.contains_key(&local) && waiting.len() < MOST_WAITING {
            waiting.insert(local, LaneSocket::bind(local).ok()?);
        }
        waiting.get(&local).map(|socket| socket.local_addr().port())
    }

    /// The socket at this port, for who was told of it, if nobody else has it by now.
    pub(super) fn take(&self, mut local: SocketAddr, port: u16) -> Option<LaneSocket> {
        local.set_port(0);
        let mut waiting = lock(&self.waiting);
        let is_there = waiting.get(&local).is_some_and(|socket| socket.local_addr().port() == port);
        if is_there { waiting.remove(&local) } else { None }
    }
}

/// The version and cipher that a listener which greets like this will choose, of what a dialler with these options offers.
pub(super) fn foreseen(greeting: &Greeting, options: &Options) -> Option<(u32, Cipher)> {
    let version = choose_version(&VERSIONS, &greeting.versions)?;
    let cipher = options.ciphers.iter().find(|cipher| greeting.ciphers.contains(cipher))?;
    Some((version, *cipher))
}
