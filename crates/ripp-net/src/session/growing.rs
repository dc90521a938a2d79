//! More lanes, where a processor core is what limits those that there are ([`visapult_ripp::growth`]).
//!
//! Either end looks at its own threads. The listening end opens sockets and tells of them; the dialling end asks it to.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use visapult_ripp::control::Message;
use visapult_ripp::growth::{Growth, Look};
use visapult_ripp::lane_out::SentCounts;
use visapult_ripp::record::End;

use super::SessionError;
use super::lanes::{self, Material};
use super::path::{Known, Reached, Told};
use super::shared::Shared;

/// Sees to it that there are enough lanes.
pub(super) struct Growing {
    growth: Growth,
    /// When was looked last, and what had been by then.
    before: Option<(Instant, Seen)>,
}

/// What lanes have done so far.
struct Seen {
    lanes: u16,
    /// Processor time of each thread.
    threads: Vec<Option<Duration>>,
    /// Bytes of IP packets sent and received.
    bytes: u64,
    rtt: Duration,
}

impl Growing {
    /// Of a session that may come to have so many lanes.
    pub(super) const fn to(most: u16) -> Self {
        Self { growth: Growth::to(most), before: None }
    }

    /// Looks how busy lanes are, and has more of them opened if need be.
    pub(super) fn look(&mut self, shared: &Arc<Shared>) {
        let lanes = shared.links().count();
        if shared.streams.are_on() || lanes == 0 || !self.growth.goes_on(lanes as u16) {
            return;
        }
        let (now, seen) = (Instant::now(), Seen::of(shared));
        let Some((since, before)) = self.before.replace((now, seen)) else { return };
        let Some((_, seen)) = &self.before else { return };
        if let Some(wanted) = self.growth.look(shared.now(), seen.since(&before, now - since)) {
            tracing::info!("a processor core is what limits it: {wanted} lanes rather than {lanes} from here on");
            want(shared, wanted);
        }
    }
}

impl Seen {
    fn of(shared: &Shared) -> Self {
        let lanes = shared.links().count() as u16;
        let threads = shared.links().flat_map(|link| link.clocks.each_ref().map(|clock| clock.time())).collect();
        let out = shared.out();
        let sent = out.lanes.iter().flatten().fold(out.retired, |sum: SentCounts, lane| sum.plus(lane.counts()));
        let rtt = out.lanes.iter().flatten().map(|lane| lane.rtt().smooth()).max().unwrap_or_default();
        drop(out);
        let received = shared.received_bytes.load(std::sync::atomic::Ordering::Relaxed);
        Self { lanes, threads, bytes: sent.wire_bytes + received, rtt }
    }

    /// What was done in `time`, since `before`.
    fn since(&self, before: &Self, time: Duration) -> Look {
        let seconds = time.as_secs_f64().max(1e-3);
        let busy = |(now, before): (&Option<Duration>, &Option<Duration>)| Some((*now)?.saturating_sub((*before)?));
        let busiest = self.threads.iter().zip(&before.threads).filter_map(busy).max().unwrap_or_default();
        let bps = self.bytes.saturating_sub(before.bytes) as f64 * 8.0 / seconds;
        Look { lanes: self.lanes, busy: busiest.as_secs_f64() / seconds, bps, rtt: self.rtt }
    }
}

/// Has `wanted` lanes in all, as far as there may be so many.
fn want(shared: &Arc<Shared>, wanted: u16) {
    let wanted = wanted.min(shared.most_lanes());
    if usize::from(wanted) <= shared.links().count() {
        return;
    }
    match shared.material().map(|material| material.end) {
        Some(End::Listener) => open(shared, wanted),
        Some(End::Dialer) => shared.message(&Message::LanesWanted { lanes: wanted }),
        None => {}
    }
}

/// The listening end opens lanes until there are `wanted`, as far as there may be so many, and tells the dialling end of them.
pub(super) fn open(shared: &Arc<Shared>, wanted: u16) {
    let Some(material) = shared.material().filter(|material| material.end == End::Listener) else { return };
    let first = shared.links().count();
    let more = usize::from(wanted.min(shared.most_lanes())).saturating_sub(first);
    if more == 0 || shared.streams.are_on() {
        return;
    }
    let Some(address) = shared.links().find_map(|link| link.peer()) else { return };
    let told = shared.now();
    let reached = Known::Reached(Reached { address: address.ip(), told, rtt: None });
    if let Err(cause) = open_links(shared, material, &vec![reached; more]) {
        stay_with(shared, first, &cause);
    }
}

fn open_links(shared: &Arc<Shared>, material: &Material, peers: &[Known]) -> Result<(), SessionError> {
    let links = material.links(shared.links().count(), peers, None)?;
    let (ports, addresses) = material.told(&links);
    lanes::add(shared, links, &material.options)?;
    shared.message(&Message::Lanes { ports, addresses });
    Ok(())
}

/// The dialling end goes to where the listening end has opened lanes; to no more than there may be.
pub(super) fn follow(shared: &Arc<Shared>, ports: &[u16], addresses: &[IpAddr]) {
    let Some(material) = shared.material().filter(|material| material.end == End::Dialer) else { return };
    let first = shared.links().count();
    let more = usize::from(shared.most_lanes()).saturating_sub(first);
    let Some(reached) = shared.links().find_map(|link| link.peer()) else { return };
    let rtt = shared.out().lanes.iter().flatten().map(|lane| lane.rtt().smooth()).max().unwrap_or_default();
    let told = |(lane, &port): (usize, &u16)| {
        let elsewhere = addresses.get(lane).copied();
        Known::Told(Told::at(reached, elsewhere, port, rtt))
    };
    let peers: Vec<_> = ports.iter().take(more).enumerate().map(told).collect();
    let added = material.links(first, &peers, None).and_then(|links| lanes::add(shared, links, &material.options));
    if let Err(cause) = added {
        stay_with(shared, first, &cause);
    }
}

fn stay_with(shared: &Shared, lanes: usize, cause: &SessionError) {
    tracing::warn!("no more than {lanes} lanes: {cause}");
    shared.add_no_more_lanes();
}

#[cfg(test)]
mod tests {
    use visapult_ripp::outbox::Mode;

    use super::*;
    use crate::session::{Lanes, Listener, ListenerOptions, MemorySink, Options, Session, Sink};
    use crate::trust::{Clients, Trust};

    const PATIENCE: Duration = Duration::from_secs(10);
    const LENGTH: usize = 24 << 20;

    fn pair(dialling: Lanes, listening: Lanes) -> (Listener, Session, Session) {
        let options = |lanes| Options { lanes, ..Options::default() };
        let (identity, token, clients) = (None, None, Clients::default());
        let listening = ListenerOptions { identity, token, clients, session: options(listening) };
        let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), listening).unwrap();
        let url = listener.url("127.0.0.1", "");
        let dialled = Session::dial(&url, &Trust::InsecureLoopback, None, &options(dialling)).unwrap();
        let taken = listener.accept(PATIENCE).unwrap().unwrap();
        (listener, dialled, taken)
    }

    fn lanes(of: &Session) -> usize {
        of.statistics().lanes.len()
    }

    fn eventually(what: &str, is_so: impl Fn() -> bool) {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < PATIENCE, "not {what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends until both ends have had `wanted` lanes awake; every object is held against what was sent.
    fn send(from: &Session, to: &Session, wanted: usize) {
        let content: Vec<u8> = (0..LENGTH).map(|at| (at * 31 + at / 253) as u8).collect();
        let source = Arc::new(content);
        let flow = from.open_flow("flow", Mode::Reliable, 1).unwrap();
        let began = Instant::now();
        loop {
            let outgoing = flow.send("object", Arc::<Vec<u8>>::clone(&source)).unwrap();
            let sink = Arc::new(MemorySink::new(LENGTH));
            let incoming = to.next_offer(PATIENCE).unwrap().unwrap().accept(Arc::<MemorySink>::clone(&sink));
            incoming.wait().unwrap();
            outgoing.wait().unwrap();
            let mut arrived = vec![0; LENGTH];
            sink.read_at(0, &mut arrived).unwrap();
            assert!(arrived == *source, "wrong bytes");
            let sending = from.statistics().lanes.iter().filter(|lane| lane.sent.arrived_bytes > 0).count();
            if sending == wanted {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "{sending} lanes send, not {wanted}");
        }
    }

    #[test]
    fn either_end_has_more_lanes_opened_and_all_of_them_carry() {
        let (_listener, dialled, taken) = pair(Lanes::UpTo(4), Lanes::UpTo(8));
        send(&dialled, &taken, 1);
        want(&dialled.shared, 2);
        eventually("two lanes at both ends", || (lanes(&dialled), lanes(&taken)) == (2, 2));
        send(&dialled, &taken, 2);
        want(&taken.shared, 8);
        eventually("as many as both ends let there be", || (lanes(&dialled), lanes(&taken)) == (4, 4));
        send(&taken, &dialled, 4);
        send(&dialled, &taken, 4);
    }

    #[test]
    fn a_thread_that_takes_all_of_a_core_at_either_end_has_more_lanes_opened() {
        let pairs = [(); 3].map(|()| pair(Lanes::UpTo(4), Lanes::UpTo(4)));
        let [(_, of_dialler, _), (_, _, of_listener), (_, idle, _)] = &pairs;
        for busy in [of_dialler, of_listener] {
            busy.shared.links().for_each(|link| link.clocks[0].set_to_all_of_a_core());
        }
        eventually("more lanes", || lanes(of_dialler) > 1 && lanes(of_listener) > 1);
        assert_eq!(lanes(idle), 1);
    }

    #[test]
    fn where_some_could_not_be_had_those_that_there_are_go_on_alone() {
        for at_dialler in [true, false] {
            let (_listener, dialled, taken) = pair(Lanes::UpTo(4), Lanes::UpTo(4));
            send(&dialled, &taken, 1);
            let failed = if at_dialler { &dialled } else { &taken };
            stay_with(&failed.shared, 1, &SessionError::Thread(std::io::ErrorKind::WouldBlock.into()));
            [&dialled, &taken].iter().for_each(|end| want(&end.shared, 2));
            // Those of a listener whose dialler has none would be numbered otherwise there.
            failed.shared.message(&Message::LanesWanted { lanes: 4 });
            send(&dialled, &taken, 1);
            send(&taken, &dialled, 1);
            assert_eq!(lanes(failed), 1);
        }
    }

    #[test]
    fn there_are_no_more_than_both_ends_let_there_be() {
        for (dialling, listening, most) in [
            (Lanes::UpTo(4), Lanes::UpTo(1), 1),
            (Lanes::UpTo(1), Lanes::UpTo(4), 1),
            (Lanes::Exactly(2), Lanes::UpTo(4), 2),
        ] {
            let (_listener, dialled, taken) = pair(dialling, listening);
            eventually("all lanes", || (lanes(&dialled), lanes(&taken)) == (most, most));
            want(&dialled.shared, 16);
            want(&taken.shared, 16);
            // What was not asked for is not followed.
            taken.shared.message(&Message::Lanes { ports: vec![9; 64], addresses: Vec::new() });
            send(&dialled, &taken, most);
            let links = [&dialled, &taken].map(|end| end.shared.links().count());
            assert_eq!(links, [most, most]);
        }
    }
}
