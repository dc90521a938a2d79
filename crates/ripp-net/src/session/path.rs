//! Where a lane's other end is: the address that is valid, the one that is to be validated, and what may be sent there until then.
//!
//! Owns no socket and no clock: the caller passes `now`.
//! Invariant: an address that has answered no challenge, and that the control channel is not spoken with, is sent at most three times what came
//! from there (RFC 9000, section 8.1).

use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::time::Duration;

use visapult_ripp::time::Time;
use visapult_ripp::wire::{CLEAR_HEADER, LEAST_DATAGRAM, MOST_DATAGRAM, Ping, TAG};

use crate::socket::header_bytes;

/// From the first challenge to the second; from then on twice as long each, and this at most.
const CHALLENGE_EVERY: std::ops::RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_millis(400);
/// An address that has not answered for this long is forgotten, if there is a valid one.
const CHALLENGE_PATIENCE: Duration = Duration::from_secs(3);
/// What may be sent to an address for each byte that came from there, before it is validated.
const AMPLIFICATION: usize = 3;
/// After the first answer, answers to larger pings are waited for this long at least.
const LEAST_PATIENCE: Duration = Duration::from_millis(3);
/// From where a path took smaller datagrams only to the first question whether it takes larger ones again; from then on twice as long each, and
/// this at most (as long as RFC 8899 waits, section 5.1.1).
const WIDEN_AFTER: std::ops::RangeInclusive<Duration> = Duration::from_secs(10)..=Duration::from_secs(600);
/// The largest datagram that is tried with data, before it is known what the path takes.
pub(super) const ASSUMED: usize = 1472;
pub(super) const SMALL_PING: usize = CLEAR_HEADER + Ping::LEAST + TAG;

/// Where the other end is, as far as that is known.
#[derive(Debug)]
pub(super) struct Path {
    pub(super) peer: Option<SocketAddr>,
    pub(super) candidate: Option<SocketAddr>,
    /// The listener named the candidate; nothing need have come from there.
    pub(super) is_told: bool,
    pub(super) challenge: u64,
    /// When the candidate was first challenged, when last, and how often.
    pub(super) challenged: Option<(Time, Time, u32)>,
    pub(super) answered: Option<Time>,
    /// All sizes worth trying have been asked for.
    pub(super) asked_all: bool,
    /// Bytes that may be sent to the candidate before it is validated.
    pub(super) allowance: usize,
    pub(super) largest: usize,
    /// The size that was told as the path's.
    pub(super) told: usize,
    /// It took larger ones before.
    narrowed: Option<Narrowed>,
    /// Data goes to the peer though its answer has not come yet.
    pub(super) assumed: bool,
    /// Whom the control channel is spoken with: a listener waits for no answer from there.
    reached: Option<Reached>,
    pub(super) rtt: Duration,
    /// Bytes of IP packets at most, where that is bounded.
    pub(super) mtu: Option<u16>,
}

/// A path that came to take the smallest datagrams only.
#[derive(Clone, Copy, Debug)]
struct Narrowed {
    /// The largest that it has taken.
    largest: usize,
    /// When it is asked whether it does again.
    ask_at: Time,
    /// From then to the next time.
    pause: Duration,
}

impl Narrowed {
    fn ask_later(&mut self, now: Time) {
        self.ask_at = now.after(self.pause);
        self.pause = (2 * self.pause).min(*WIDEN_AFTER.end());
    }
}

/// What is known of where the other end is before it is heard.
#[derive(Clone, Copy, Debug)]
pub(super) enum Known {
    /// A dialler knows where to send to.
    Told(Told),
    /// A listener knows the address that the control channel is spoken with, but no port.
    Reached(Reached),
}

/// Whom a listener speaks with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reached {
    pub(super) address: IpAddr,
    /// When it was told where to send to, if it was not told before.
    pub(super) told: Time,
    /// The round-trip time of the control channel, where that is known.
    pub(super) rtt: Option<Duration>,
}

/// Where a dialler was told to send to, and the round-trip time of the connection that told it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// At the address where the control channel has reached it; elsewhere nothing is sent before the path is validated.
    pub(super) is_reached: bool,
    pub(super) peer: SocketAddr,
    pub(super) rtt: Duration,
}

impl Told {
    /// A lane at `port`, of a listener that was reached at `reached`, and has said that the lane is `elsewhere`.
    pub(super) fn at(reached: SocketAddr, elsewhere: Option<IpAddr>, port: u16, rtt: Duration) -> Self {
        let ip = elsewhere.filter(|ip| !ip.is_multicast() && !ip.is_unspecified()).unwrap_or(reached.ip());
        let is_reached = ip.to_canonical() == reached.ip().to_canonical();
        Self { peer: on_link_of(reached, ip, port), rtt, is_reached }
    }
}

/// A port at `ip`, which is on the link where the listener was reached if it means anything on one link only.
fn on_link_of(reached: SocketAddr, ip: IpAddr, port: u16) -> SocketAddr {
    match (ip, reached) {
        (IpAddr::V6(ip), SocketAddr::V6(reached)) => SocketAddrV6::new(ip, port, 0, reached.scope_id()).into(),
        _ => SocketAddr::new(ip, port),
    }
}

impl Path {
    /// The path to where a dialler was told to send to, or to whoever will be heard; IP packets of at most `mtu` bytes.
    pub(super) fn new(known: Known, mtu: Option<u16>) -> Self {
        let (peer, listening) = match known {
            Known::Told(told) => (Some(told), None),
            Known::Reached(reached) => (None, Some(reached)),
        };
        let reached = peer.filter(|told| told.is_reached);
        Self {
            peer: reached.map(|told| told.peer),
            candidate: peer.map(|told| told.peer),
            is_told: peer.is_some(),
            challenge: fresh_challenge(),
            challenged: None,
            answered: None,
            asked_all: false,
            allowance: if reached.is_some() { usize::MAX } else { 0 },
            largest: 0,
            told: 0,
            narrowed: None,
            assumed: reached.is_some(),
            reached: listening,
            rtt: peer.map_or(Duration::MAX, |told| told.rtt),
            mtu,
        }
    }

    /// Authentic datagrams of so many bytes came from `from`.
    pub(super) fn heard_from(&mut self, now: Time, from: SocketAddr, bytes: usize) {
        if self.peer != Some(from) && self.candidate != Some(from) {
            self.candidate = Some(from);
            self.is_told = false;
            self.challenge = fresh_challenge();
            self.challenged = None;
            self.answered = None;
            self.asked_all = false;
            self.allowance = 0;
            self.largest = 0;
            self.told = 0;
            self.narrowed = None;
        }
        // Whoever finished a handshake of TCP is where it seems to be.
        let is_reached = |reached: &Reached| reached.address.to_canonical() == from.ip().to_canonical();
        if self.peer.is_none()
            && let Some(reached) = self.reached.filter(is_reached)
        {
            self.peer = Some(from);
            self.assumed = true;
            self.rtt = reached.rtt.unwrap_or(now.since(reached.told));
        }
        if self.candidate == Some(from) {
            self.allowance = self.allowance.saturating_add(AMPLIFICATION * bytes);
        }
    }

    /// UDP payload of the largest datagram that may go to `to`.
    pub(super) fn largest_to(&self, to: SocketAddr) -> usize {
        largest_within(self.mtu.map_or(usize::MAX, usize::from), to)
    }

    /// When a challenge is due, if one is.
    pub(super) fn next_challenge(&self) -> Option<Time> {
        self.candidate?;
        match self.challenged {
            // The address is valid: what it could not be asked before it may be now.
            _ if self.answered.is_some() && !self.asked_all => Some(Time::ZERO),
            _ if self.answered.is_some() => {
                self.narrowed.filter(|before| self.largest < before.largest).map(|before| before.ask_at)
            }
            None => Some(Time::ZERO),
            Some((_, last, rounds)) => {
                let every = *CHALLENGE_EVERY.start() * (1 << (rounds.clamp(1, 4) - 1));
                Some(last.after(every.min(*CHALLENGE_EVERY.end())))
            }
        }
    }

    /// When what has been answered by then is what the path takes, once something was.
    pub(super) fn decided_at(&self) -> Option<Time> {
        let may_grow = self.candidate.is_some_and(|to| self.largest < self.largest_to(to).min(ASSUMED));
        let round_trip = if may_grow { self.rtt.min(Duration::from_secs(1)) } else { Duration::ZERO };
        self.answered.map(|at| at.after(LEAST_PATIENCE.max(round_trip / 4)))
    }

    /// The candidate `to` is challenged now, unless it has not answered for so long that it is forgotten.
    pub(super) fn begin_round(&mut self, now: Time, to: SocketAddr) -> bool {
        let (first, _, rounds) = self.challenged.unwrap_or((now, now, 0));
        let has_other = self.peer.is_some_and(|peer| peer != to);
        if self.answered.is_none() && has_other && now.since(first) >= CHALLENGE_PATIENCE {
            self.forget_candidate(now);
            return false;
        }
        self.challenged = Some((first, now, rounds + 1));
        if let Some(narrowed) = &mut self.narrowed {
            narrowed.ask_later(now);
        }
        true
    }

    /// Of what is sent only the smallest datagrams arrive from here on.
    pub(super) fn narrow(&mut self, now: Time) {
        if self.answered.is_none() || self.peer != self.candidate {
            return;
        }
        let first = Narrowed { largest: 0, ask_at: now, pause: *WIDEN_AFTER.start() };
        let narrowed = self.narrowed.get_or_insert(first);
        narrowed.largest = narrowed.largest.max(self.largest);
        narrowed.ask_later(now);
        (self.largest, self.told) = (LEAST_DATAGRAM, LEAST_DATAGRAM);
        // What was asked before says nothing of the path as it is.
        self.challenge = fresh_challenge();
    }

    /// So many bytes may be sent to `to`; they count as sent.
    pub(super) fn may_send(&mut self, to: SocketAddr, bytes: usize) -> bool {
        if self.peer == Some(to) || self.candidate != Some(to) || self.answered.is_some() {
            return true;
        }
        let left = self.allowance.checked_sub(bytes);
        self.allowance = left.unwrap_or(self.allowance);
        left.is_some()
    }

    /// Of the sizes `wanted`, in ascending order, those that the candidate may be asked for now.
    pub(super) fn sizes_allowed(&mut self, wanted: &[usize]) -> Vec<usize> {
        let Some(to) = self.candidate else { return Vec::new() };
        let allowed: Vec<_> = wanted.iter().copied().take_while(|&size| self.may_send(to, size)).collect();
        self.asked_all = allowed.len() == wanted.len();
        let small = allowed.is_empty() && (self.is_told || self.may_send(to, SMALL_PING));
        if small { vec![SMALL_PING] } else { allowed }
    }

    /// The candidate does not answer: the other end is where it was.
    fn forget_candidate(&mut self, now: Time) {
        self.candidate = self.peer;
        self.challenge = fresh_challenge();
        self.challenged = None;
        self.told = self.largest;
        (self.answered, self.asked_all) = if self.assumed { (None, false) } else { (Some(now), true) };
    }
}

/// UDP payload of the largest datagram to `to` in IP packets of at most `mtu` bytes.
pub(super) fn largest_within(mtu: usize, to: SocketAddr) -> usize {
    mtu.saturating_sub(header_bytes(to).into()).clamp(LEAST_DATAGRAM, MOST_DATAGRAM)
}

fn fresh_challenge() -> u64 {
    let mut bytes = [0; 8];
    // Without randomness the challenge is guessable by nobody but who holds the key.
    let _ = aws_lc_rs::rand::fill(&mut bytes);
    u64::from_ne_bytes(bytes)
}
