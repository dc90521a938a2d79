//! A lane's socket and path: where the other end is, that it is really there, and how large its datagrams may be.
//!
//! A path is validated by a challenge: sealed pings of several sizes, each with a random number that only somebody who can open them returns.
//! The same is done again when the other end's address changes. A dialler sends at once to where the listener has told it to, at the address
//! that TLS was spoken with, and a listener to where its dialler is first heard, if that is the address that TLS is spoken with. To any other
//! address that has not been validated goes no more than three times what has come from there (RFC 9000, section 8.1), and where nothing has,
//! one small ping per round; rounds become rare, and end where another path is valid.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use visapult_ripp::record::{LaneSecret, Sealer};
use visapult_ripp::time::Time;
use visapult_ripp::wire::{CLEAR_HEADER, LEAST_DATAGRAM, MOST_DATAGRAM, Ping, Pong, Report, TAG};

use super::parts::Arrivals;
use super::path::{ASSUMED, Known, Path, Told, largest_within};
use crate::lock::lock;
use crate::socket::{LaneSocket, header_bytes};
use crate::thread_clock::ThreadClock;

/// Sizes of UDP payload worth trying, beside those of the route: tunnels, Ethernet, jumbo frames.
const SIZES: [usize; 4] = [LEAST_DATAGRAM, 1392, 1472, 4052];

/// A lane's socket, keys and path.
pub(super) struct LaneLink {
    pub(super) socket: LaneSocket,
    pub(super) numbers: Arc<AtomicU64>,
    pub(super) send_secret: LaneSecret,
    pub(super) receive_secret: LaneSecret,
    /// The lane's sender waits on this, with the session's `out` lock.
    pub(super) work: Condvar,
    pub(super) arrivals: Arrivals,
    /// Processor time of the threads that receive and send.
    pub(super) clocks: [ThreadClock; 2],
    path: Mutex<Path>,
    closed: AtomicBool,
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
        known: Known,
        mtu: Option<u16>,
    ) -> Self {
        let path = Path::new(known, mtu);
        let numbers = Arc::new(AtomicU64::new(0));
        Self {
            socket,
            numbers,
            send_secret,
            receive_secret,
            work: Condvar::new(),
            arrivals: Arrivals::of_lane(),
            clocks: Default::default(),
            path: Mutex::new(path),
            closed: AtomicBool::new(false),
        }
    }

    /// Nothing is sent or received here any more.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Where data goes.
    pub(super) fn peer(&self) -> Option<SocketAddr> {
        lock(&self.path).peer
    }

    /// The addresses between which it goes, as far as they are known: lanes of the same share a path.
    pub(super) fn ends(&self) -> (IpAddr, Option<IpAddr>) {
        (self.socket.local_addr().ip(), self.peer().map(|peer| peer.ip()))
    }

    /// Where a report of what came goes to; nowhere while nothing may be sent there.
    pub(super) fn reports_to(&self) -> Option<SocketAddr> {
        let mut path = lock(&self.path);
        let to = path.peer.or(path.candidate)?;
        path.may_send(to, CLEAR_HEADER + Report::MOST + TAG).then_some(to)
    }

    /// What a path is taken for until the answers to the challenge have come.
    pub(super) fn assumed(&self) -> Option<Validated> {
        let path = lock(&self.path);
        let peer = path.peer.filter(|_| path.assumed)?;
        let largest = self.largest_of_route(peer).min(path.largest_to(peer)).min(ASSUMED);
        Some(Validated { datagram: largest as u16, rtt: path.rtt })
    }

    /// The other end is elsewhere than was told before.
    pub(super) fn tell(&self, told: Told) {
        let mut path = lock(&self.path);
        *path = Path::new(Known::Told(told), path.mtu);
    }

    /// Bytes of IP and UDP headers before each datagram.
    pub(super) fn headers(&self) -> u16 {
        let path = lock(&self.path);
        path.peer.or(path.candidate).map_or(0, header_bytes)
    }

    /// Authentic datagrams of so many bytes came from `from`: if the other end has moved there, that is to be validated.
    pub(super) fn heard_from(&self, now: Time, from: SocketAddr, bytes: usize) {
        lock(&self.path).heard_from(now, from, bytes);
    }

    /// When a challenge is due, if one is.
    pub(super) fn next_challenge(&self) -> Option<Time> {
        lock(&self.path).next_challenge()
    }

    /// Sends the challenge that is due, or forgets an address that does not answer.
    pub(super) fn send_challenge(&self, now: Time, sealer: &mut Sealer) {
        let (to, challenge, sizes) = {
            let mut path = lock(&self.path);
            let Some(to) = path.candidate else { return };
            if !path.begin_round(now, to) {
                return;
            }
            let wanted = self.sizes_to_try(to, path.largest_to(to));
            (to, path.challenge, path.sizes_allowed(&wanted))
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
        largest_within(self.socket.route_mtu(to).unwrap_or(1500), to)
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
        if lock(&self.path).may_send(from, datagram.len()) {
            self.send_one(from, sealer, &mut datagram);
        }
    }

    /// Takes an answer; true if it answers the challenge.
    pub(super) fn on_pong(&self, now: Time, from: SocketAddr, pong: &Pong) -> bool {
        let mut path = lock(&self.path);
        if pong.challenge != path.challenge || path.candidate != Some(from) {
            return false;
        }
        let elapsed = now.wire_us().wrapping_sub(pong.sent_us).saturating_sub(pong.hold_us);
        path.rtt = path.rtt.min(Duration::from_micros(u64::from(elapsed)));
        // The least datagram is taken for granted.
        path.largest = path.largest.max((pong.size as usize).clamp(LEAST_DATAGRAM, MOST_DATAGRAM));
        path.answered.get_or_insert(now);
        true
    }

    /// The path, when it has just become clear what it is like, or that it takes larger datagrams than was thought.
    pub(super) fn newly_validated(&self, now: Time) -> Option<Validated> {
        let mut path = lock(&self.path);
        let due = path.decided_at()?;
        let candidate = path.candidate?;
        if path.peer == Some(candidate) && !path.assumed {
            let grown = path.largest > path.told;
            path.told = path.largest;
            return grown.then_some(Validated { datagram: path.largest as u16, rtt: path.rtt });
        }
        if now < due {
            return None;
        }
        path.peer = Some(candidate);
        path.assumed = false;
        path.told = path.largest;
        Some(Validated { datagram: path.largest as u16, rtt: path.rtt })
    }

    /// The path has come to take the smallest datagrams only; it is asked from time to time whether it takes larger ones again.
    pub(super) fn narrow(&self, now: Time) {
        lock(&self.path).narrow(now);
    }

    /// When [`LaneLink::newly_validated`] is to be asked.
    pub(super) fn validation_due(&self) -> Option<Time> {
        let path = lock(&self.path);
        let pending = path.assumed || path.peer.is_none() || path.peer != path.candidate;
        path.decided_at().filter(|_| pending)
    }

    /// Seals a datagram whose frame is in place, and sends it; what the network does with it is another matter.
    pub(super) fn send_one(&self, to: SocketAddr, sealer: &mut Sealer, datagram: &mut [u8]) {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
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

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, UdpSocket};

    use visapult_ripp::cipher::Cipher;
    use visapult_ripp::record::End;

    use super::super::path::{Reached, SMALL_PING};
    use super::*;

    const KEPT: Duration = Duration::from_millis(200);

    /// A listener's, whose dialler speaks TLS from another address than those below.
    const ELSEWHERE: Known = reached(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)));

    const fn reached(address: IpAddr) -> Known {
        Known::Reached(Reached { address, told: Time::ZERO, rtt: None })
    }

    fn lane(known: Known) -> (LaneLink, Sealer) {
        let [send, receive] =
            [End::Listener, End::Dialer].map(|from| LaneSecret::derive(&[7; 32], Cipher::Aes128Gcm, 0, from));
        let socket = LaneSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        (LaneLink::new(socket, send.clone(), receive, known, Some(1500)), Sealer::new(send))
    }

    fn somebody() -> (UdpSocket, SocketAddr) {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(KEPT)).unwrap();
        let at = socket.local_addr().unwrap();
        (socket, at)
    }

    fn heard(socket: &UdpSocket) -> Vec<usize> {
        std::iter::from_fn(|| socket.recv(&mut [0; 9000]).ok()).collect()
    }

    /// Sends what is due until `end`, in virtual time; says when.
    fn challenge(link: &LaneLink, sealer: &mut Sealer, end: Duration) -> Vec<u64> {
        let mut sent = Vec::new();
        while let Some(due) = link.next_challenge().filter(|due| *due < Time::ZERO.after(end)) {
            sent.push(due.ns() / 1_000_000);
            link.send_challenge(due, sealer);
        }
        sent
    }

    fn answer(link: &LaneLink, at: SocketAddr, now: Time, size: usize) -> bool {
        let challenge = lock(&link.path).challenge;
        link.on_pong(now, at, &Pong { size: size as u32, sent_us: now.wire_us(), challenge, hold_us: 0 })
    }

    #[test]
    fn an_address_that_does_not_answer_gets_at_most_three_times_what_came_from_there() {
        let (link, mut sealer) = lane(ELSEWHERE);
        let (somebody, at) = somebody();
        link.heard_from(Time::ZERO, at, 1000);
        assert!(link.assumed().is_none() && link.peer().is_none());
        let sent = challenge(&link, &mut sealer, Duration::from_secs(60));
        assert_eq!(sent[..5], [0, 100, 300, 700, 1100]);
        assert!(link.reports_to().is_none());
        let bytes: usize = heard(&somebody).iter().sum();
        assert!((1000..=3000).contains(&bytes), "{bytes}");
    }

    #[test]
    fn an_address_that_was_only_told_gets_small_pings_until_it_answers_and_then_all_sizes() {
        let (somebody, at) = somebody();
        let (link, mut sealer) = lane(Known::Told(Told { is_reached: false, peer: at, rtt: Duration::from_millis(1) }));
        challenge(&link, &mut sealer, Duration::from_millis(500));
        assert_eq!(heard(&somebody), [SMALL_PING; 3]);
        let now = Time::ZERO.after(Duration::from_millis(500));
        assert!(answer(&link, at, now, SMALL_PING));
        link.send_challenge(now, &mut sealer);
        assert_eq!(heard(&somebody), [LEAST_DATAGRAM, 1392, 1472, 1472]);
        assert_eq!(link.next_challenge(), None);
        let valid = link.newly_validated(now.after(Duration::from_secs(1))).unwrap();
        assert_eq!(usize::from(valid.datagram), LEAST_DATAGRAM);
        assert!(answer(&link, at, now, 1472));
        assert_eq!(link.newly_validated(now.after(Duration::from_secs(1))).map(|valid| valid.datagram), Some(1472));
    }

    #[test]
    fn a_path_that_came_to_swallow_large_datagrams_is_asked_from_time_to_time_whether_it_takes_them_again() {
        let (link, mut sealer) = lane(ELSEWHERE);
        let (somebody, at) = somebody();
        link.heard_from(Time::ZERO, at, 9000);
        link.send_challenge(Time::ZERO, &mut sealer);
        assert!(answer(&link, at, Time::ZERO, 1472));
        let second = Time::ZERO.after(Duration::from_secs(1));
        assert!(link.newly_validated(second).is_some() && link.next_challenge().is_none());
        let before = lock(&link.path).challenge;
        link.narrow(second);
        let late = Pong { size: 1472, sent_us: second.wire_us(), challenge: before, hold_us: 0 };
        assert!(!link.on_pong(second, at, &late) && link.newly_validated(second).is_none());

        heard(&somebody);
        assert_eq!(
            challenge(&link, &mut sealer, Duration::from_secs(1500)),
            [11, 31, 71, 151, 311, 631, 1231].map(|s| s * 1000)
        );
        assert_eq!(heard(&somebody)[..4], [LEAST_DATAGRAM, 1392, 1472, 1472]);
        // In part, and then as before.
        assert!(answer(&link, at, second, 1392));
        assert_eq!(link.newly_validated(second).map(|valid| valid.datagram), Some(1392));
        assert!(link.next_challenge().is_some());
        assert!(answer(&link, at, second, 1472));
        assert_eq!(link.newly_validated(second).map(|valid| valid.datagram), Some(1472));
        assert_eq!(link.next_challenge(), None);
    }

    #[test]
    fn packets_are_no_larger_than_is_allowed_whatever_their_headers_take() {
        let of_packet = |address: &str| largest_within(1300, SocketAddr::new(address.parse().unwrap(), 7410));
        assert_eq!(["192.0.2.1", "::ffff:192.0.2.1", "2001:db8::1"].map(of_packet), [1272, 1272, 1252]);
    }

    #[test]
    fn an_address_that_never_answers_is_forgotten_where_another_is_valid() {
        let (link, mut sealer) = lane(ELSEWHERE);
        let [(_first, valid), (_second, silent)] = [somebody(), somebody()];
        link.heard_from(Time::ZERO, valid, 9000);
        link.send_challenge(Time::ZERO, &mut sealer);
        assert!(answer(&link, valid, Time::ZERO, 1472));
        let later = Time::ZERO.after(Duration::from_secs(1));
        assert!(link.newly_validated(later).is_some());
        link.heard_from(later, silent, 9000);
        let sent = challenge(&link, &mut sealer, Duration::from_secs(60));
        assert!(sent.last().is_some_and(|&last| (3_000..5_000).contains(&last)), "{sent:?}");
        assert_eq!((link.peer(), link.reports_to()), (Some(valid), Some(valid)));
        assert!(link.newly_validated(later).is_none());
        // It may still turn out to have moved.
        link.heard_from(later, silent, 100);
        assert!(link.next_challenge().is_some());
    }

    #[test]
    fn a_listener_sends_data_at_once_to_where_it_hears_whom_it_speaks_tls_with_and_challenges_it_all_the_same() {
        let (somebody, at) = somebody();
        let (link, mut sealer) = lane(reached(at.ip()));
        assert!(link.assumed().is_none());
        let rtt = Duration::from_millis(300);
        let now = Time::ZERO.after(rtt);
        link.heard_from(now, at, 100);
        assert_eq!((link.peer(), link.reports_to()), (Some(at), Some(at)));
        assert_eq!(link.assumed().map(|path| (path.datagram, path.rtt)), Some((1472, rtt)));
        link.send_challenge(now, &mut sealer);
        assert_eq!(heard(&somebody), [LEAST_DATAGRAM, 1392, 1472, 1472]);
        assert!(link.newly_validated(now.after(rtt)).is_none());
        assert!(answer(&link, at, now.after(rtt), 1392));
        let valid = link.newly_validated(now.after(2 * rtt)).unwrap();
        assert_eq!((valid.datagram, link.assumed().is_none()), (1392, true));
    }

    #[test]
    fn where_the_first_address_was_wrong_the_one_that_answers_counts() {
        let [(_first, wrong), (_second, right), (_third, other)] = [somebody(), somebody(), somebody()];
        let (link, mut sealer) = lane(reached(wrong.ip()));
        link.heard_from(Time::ZERO, wrong, 1000);
        link.send_challenge(Time::ZERO, &mut sealer);
        link.heard_from(Time::ZERO, right, 1000);
        assert_eq!(link.peer(), Some(wrong), "one address is believed without an answer, not each");
        link.send_challenge(Time::ZERO, &mut sealer);
        assert!(!answer(&link, wrong, Time::ZERO, 1472));
        assert!(answer(&link, right, Time::ZERO, 1472));
        assert!(link.newly_validated(Time::ZERO.after(KEPT)).is_some());
        assert_eq!(link.peer(), Some(right));
        link.heard_from(Time::ZERO, other, 1000);
        assert_eq!((link.peer(), link.assumed().is_none()), (Some(right), true));
    }
}
