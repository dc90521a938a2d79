//! A lane's socket and path: where the other end is, that it is really there, and how large its datagrams may be.
//!
//! A path is validated by a challenge: sealed pings of several sizes, each with a random number that only somebody who can open them returns.
//! The same is done again when the other end's address changes. A dialler sends at once to where the listener has told it to, at the address
//! that TLS was spoken with; a listener sends nothing to an address that has not been validated but pings, pongs and reports, which are few and
//! small beside the datagrams that they answer.

use std::net::SocketAddr;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use visapult_ripp::record::{LaneSecret, Sealer};
use visapult_ripp::time::Time;
use visapult_ripp::wire::{CLEAR_HEADER, LEAST_DATAGRAM, MOST_DATAGRAM, Ping, Pong, TAG};

use super::shared::lock;
use crate::socket::LaneSocket;

const CHALLENGE_EVERY: Duration = Duration::from_millis(100);
/// After the first answer, answers to larger pings are waited for this long at least.
const LEAST_PATIENCE: Duration = Duration::from_millis(3);
/// Sizes of UDP payload worth trying, beside those of the route: tunnels, Ethernet, jumbo frames.
const SIZES: [usize; 4] = [LEAST_DATAGRAM, 1392, 1472, 4052];
/// And the largest that is tried with data, before it is known what the path takes.
const ASSUMED: usize = 1472;

/// A lane's socket, keys and path.
pub(super) struct LaneLink {
    pub(super) socket: LaneSocket,
    pub(super) numbers: Arc<AtomicU64>,
    pub(super) send_secret: LaneSecret,
    pub(super) receive_secret: LaneSecret,
    /// The lane's sender waits on this, with the session's `out` lock.
    pub(super) work: Condvar,
    path: Mutex<Path>,
}

#[derive(Debug)]
struct Path {
    peer: Option<SocketAddr>,
    candidate: Option<SocketAddr>,
    challenge: u64,
    challenged: Option<Time>,
    answered: Option<Time>,
    largest: usize,
    /// The size that was told as the path's.
    told: usize,
    /// Data goes to the peer though its answer has not come yet.
    assumed: bool,
    rtt: Duration,
    most: usize,
}

/// Where a dialler was told to send to, and the round-trip time of the connection that told it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// At the address where the control channel has reached it; elsewhere nothing is sent before the path is validated.
    pub(super) is_reached: bool,
    pub(super) peer: SocketAddr,
    pub(super) rtt: Duration,
}

/// What a validated path is like, or one that is assumed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Validated {
    pub(super) datagram: u16,
    pub(super) rtt: Duration,
}

impl LaneLink {
    pub(super) fn new(
        socket: LaneSocket,
        send_secret: LaneSecret,
        receive_secret: LaneSecret,
        peer: Option<Told>,
        mtu: Option<u16>,
    ) -> Self {
        let most =
            mtu.map_or(MOST_DATAGRAM, |mtu| usize::from(mtu).saturating_sub(28).clamp(LEAST_DATAGRAM, MOST_DATAGRAM));
        let path = Path {
            peer: peer.filter(|told| told.is_reached).map(|told| told.peer),
            candidate: peer.map(|told| told.peer),
            challenge: fresh_challenge(),
            challenged: None,
            answered: None,
            largest: 0,
            told: 0,
            assumed: peer.is_some_and(|told| told.is_reached),
            rtt: peer.map_or(Duration::MAX, |told| told.rtt),
            most,
        };
        let numbers = Arc::new(AtomicU64::new(0));
        Self { socket, numbers, send_secret, receive_secret, work: Condvar::new(), path: Mutex::new(path) }
    }

    /// Where data goes.
    pub(super) fn peer(&self) -> Option<SocketAddr> {
        lock(&self.path).peer
    }

    /// Where reports of what came go to.
    pub(super) fn reports_to(&self) -> Option<SocketAddr> {
        let path = lock(&self.path);
        path.peer.or(path.candidate)
    }

    /// What a dialler takes its path for until the answers to its challenge have come.
    pub(super) fn assumed(&self) -> Option<Validated> {
        let path = lock(&self.path);
        let (peer, most) = (path.peer.filter(|_| path.assumed)?, path.most);
        let largest = self.largest_of_route(peer).min(most).min(ASSUMED);
        Some(Validated { datagram: largest as u16, rtt: path.rtt })
    }

    /// Bytes of IP and UDP headers before each datagram.
    pub(super) fn headers(&self) -> u16 {
        let path = lock(&self.path);
        let is_v6 = path.peer.or(path.candidate).is_some_and(|address| address.is_ipv6());
        if is_v6 { 48 } else { 28 }
    }

    /// An authentic datagram came from `from`: if the other end has moved there, that is to be validated.
    pub(super) fn heard_from(&self, from: SocketAddr) {
        let mut path = lock(&self.path);
        if path.peer != Some(from) && path.candidate != Some(from) {
            path.candidate = Some(from);
            path.challenge = fresh_challenge();
            path.challenged = None;
            path.answered = None;
            path.largest = 0;
            path.told = 0;
        }
    }

    /// When a challenge is due, if one is.
    pub(super) fn next_challenge(&self) -> Option<Time> {
        let path = lock(&self.path);
        path.candidate.filter(|_| path.answered.is_none())?;
        Some(path.challenged.map_or(Time::ZERO, |at| at.after(CHALLENGE_EVERY)))
    }

    /// Sends the challenge that is due.
    pub(super) fn send_challenge(&self, now: Time, sealer: &mut Sealer) {
        let (to, challenge, sizes) = {
            let mut path = lock(&self.path);
            let Some(to) = path.candidate else { return };
            path.challenged = Some(now);
            (to, path.challenge, self.sizes_to_try(to, path.most))
        };
        for size in sizes {
            let ping =
                Ping { size: size as u32, sent_us: now.wire_us(), challenge, settled: 0, report_interval_us: 2_000 };
            let mut datagram = vec![0; size];
            ping.write(&mut datagram[CLEAR_HEADER..]);
            self.send_one(to, sealer, &mut datagram);
        }
    }

    /// UDP payload of the largest datagram that leaves this machine towards `to`.
    fn largest_of_route(&self, to: SocketAddr) -> usize {
        let headers = if to.is_ipv6() { 48 } else { 28 };
        self.socket.route_mtu(to).unwrap_or(1500).saturating_sub(headers).clamp(LEAST_DATAGRAM, MOST_DATAGRAM)
    }

    fn sizes_to_try(&self, to: SocketAddr, most: usize) -> Vec<usize> {
        let most = most.min(self.largest_of_route(to));
        let mut sizes: Vec<_> = SIZES.into_iter().filter(|&size| size < most).chain([most]).collect();
        sizes.sort_unstable();
        // One that is lost on the way would cost the whole session.
        sizes.push(most);
        sizes
    }

    /// Answers a ping where it came from; the answer is never larger than the ping.
    pub(super) fn answer(
        &self,
        now: Time,
        arrived: Time,
        from: SocketAddr,
        size: usize,
        ping: &Ping,
        sealer: &mut Sealer,
    ) {
        let hold_us = now.since(arrived).as_micros() as u32;
        let pong = Pong { size: size as u32, sent_us: ping.sent_us, challenge: ping.challenge, hold_us };
        let mut datagram = vec![0; CLEAR_HEADER + Pong::LENGTH + TAG];
        pong.write(&mut datagram[CLEAR_HEADER..]);
        self.send_one(from, sealer, &mut datagram);
    }

    /// Takes an answer; true if it answers the challenge.
    pub(super) fn on_pong(&self, now: Time, from: SocketAddr, pong: &Pong) -> bool {
        let mut path = lock(&self.path);
        if pong.challenge != path.challenge || path.candidate != Some(from) {
            return false;
        }
        let elapsed = now.wire_us().wrapping_sub(pong.sent_us).saturating_sub(pong.hold_us);
        path.rtt = path.rtt.min(Duration::from_micros(u64::from(elapsed)));
        path.largest = path.largest.max((pong.size as usize).min(MOST_DATAGRAM));
        path.answered.get_or_insert(now);
        true
    }

    /// The path, when it has just become clear what it is like, or that it takes larger datagrams than was thought.
    pub(super) fn newly_validated(&self, now: Time) -> Option<Validated> {
        let mut path = lock(&self.path);
        let patience = LEAST_PATIENCE.max(path.rtt.min(Duration::from_secs(1)) / 4);
        let answered = path.answered?;
        let candidate = path.candidate?;
        if path.peer == Some(candidate) && !path.assumed {
            let grown = path.largest > path.told;
            path.told = path.largest;
            return grown.then_some(Validated { datagram: path.largest as u16, rtt: path.rtt });
        }
        if path.largest < path.most.min(1472) && now < answered.after(patience) {
            return None;
        }
        if now < answered.after(LEAST_PATIENCE) {
            return None;
        }
        path.peer = Some(candidate);
        path.assumed = false;
        path.told = path.largest;
        Some(Validated { datagram: path.largest as u16, rtt: path.rtt })
    }

    /// When [`LaneLink::newly_validated`] is to be asked.
    pub(super) fn validation_due(&self) -> Option<Time> {
        let path = lock(&self.path);
        let pending = path.assumed || path.peer.is_none() || path.peer != path.candidate;
        path.answered.filter(|_| pending).map(|at| at.after(LEAST_PATIENCE))
    }

    /// Seals a datagram whose frame is in place, and sends it; what the network does with it is another matter.
    pub(super) fn send_one(&self, to: SocketAddr, sealer: &mut Sealer, datagram: &mut [u8]) {
        let number = self.numbers.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.send_numbered(to, sealer, number, datagram);
    }

    /// The same under a packet number that was drawn before.
    pub(super) fn send_numbered(&self, to: SocketAddr, sealer: &mut Sealer, number: u64, datagram: &mut [u8]) {
        if sealer.seal(number, datagram).is_ok() {
            let size = datagram.len();
            let _ = self.socket.send_burst(to, datagram, size);
        }
    }
}

fn fresh_challenge() -> u64 {
    let mut bytes = [0; 8];
    // Without randomness the challenge is guessable by nobody but who holds the key.
    let _ = aws_lc_rs::rand::fill(&mut bytes);
    u64::from_ne_bytes(bytes)
}
