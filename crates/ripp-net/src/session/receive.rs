//! The receiving thread of a lane: opens what comes, puts it in its place, reports, and keeps the path valid.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use visapult_ripp::inbox::Refusal;
use visapult_ripp::lane_in::{Credit, LaneIn};
use visapult_ripp::lane_out::{LaneOut, Sizes};
use visapult_ripp::record::Sealer;
use visapult_ripp::time::Time;
use visapult_ripp::wire::{CLEAR_HEADER, Frame, LEAST_DATAGRAM, Report, TAG};

use super::black_hole::BlackHole;
use super::lane::{LaneLink, Validated};
use super::parts::divide_sending;
use super::place::{Piece, hold, place_run};
use super::shared::{Out, Shared};
use super::{Options, controller, lanes};
use crate::socket::{Batch, Datagrams, Ecn, MAX_BURST_BYTES, MAX_SEGMENTS, RecvArena, header_bytes};

const IDLE: Duration = Duration::from_millis(100);
/// Datagrams are gathered for this share of the time between reports before they are looked at: each look costs a wake-up.
const GATHER: u32 = 6;
/// Where reports are frequent, for twice that share, up to this long.
const GATHER_AT_LEAST: Duration = Duration::from_micros(350);
/// Not before so many have come: the first tell how fast the path is.
const GATHER_AFTER: u64 = 1_000;
/// Receives on lane `index` until the session ends.
pub(super) fn run(shared: &Arc<Shared>, link: &LaneLink, index: usize, options: &Options) {
    link.clocks[0].set();
    let most_rate_bps = link.arrivals.share_of(shared.most_receive_bps());
    let credit = Credit { most_rate_bps, ..Credit::default() };
    let now = shared.now();
    let mut thread = Thread {
        shared,
        index,
        options,
        lane_in: LaneIn::new(link.receive_secret.clone(), credit, now),
        sealer: Sealer::new(link.send_secret.clone()),
        link,
        is_open: false,
        is_valid: false,
        swallowed: BlackHole::default(),
        is_of_use: true,
    };
    thread.open_lane_as_assumed(now);
    let mut arena = RecvArena::for_heads_of(CLEAR_HEADER);
    while !shared.is_over() {
        let timeout = thread.next_event().since(shared.now()).min(IDLE);
        match link.socket.recv_batch(&mut arena, timeout) {
            Ok(batch) => {
                let more = batch.more;
                let any = thread.take(batch);
                // What has just been taken is told of, and how long it had waited.
                thread.keep_path();
                thread.report();
                thread.gather(any && !more);
                if !thread.is_of_use {
                    let why = "loses all packets of 1200 bytes, though smaller ones come through: what on the way carries no larger ones?";
                    lose(shared, index, why);
                    return;
                }
                if thread.lane_in.is_worn_out() {
                    lose(shared, index, "was sent too many forged datagrams; dial again for new keys");
                    return;
                }
            }
            Err(cause) => {
                lose(shared, index, &format!("cannot receive any more: {cause}"));
                return;
            }
        }
    }
}

/// The others go on with what a lane had under way that is of no more use; without any the session ends.
fn lose(shared: &Shared, index: usize, why: &str) {
    shared.links().skip(index).take(1).for_each(|link| link.close());
    if shared.links().all(|link| link.is_closed()) && !shared.streams.are_on() {
        shared.end(Some(&format!("lane {index} {why}")));
        return;
    }
    tracing::warn!("lane {index} {why}: the others go on with what it had under way");
    shared.out().retire_lane(index, shared.now());
    shared.wake_senders();
}

struct Thread<'a> {
    shared: &'a Arc<Shared>,
    index: usize,
    options: &'a Options,
    link: &'a LaneLink,
    lane_in: LaneIn,
    sealer: Sealer,
    /// Data may leave.
    is_open: bool,
    /// The path has been validated once.
    is_valid: bool,
    swallowed: BlackHole,
    /// What is sent may arrive.
    is_of_use: bool,
}

/// A datagram of data that was opened.
struct Data<'a> {
    number: u64,
    waited: Duration,
    piece: Piece<'a>,
    wire_bytes: u64,
    marked: bool,
    welcome: bool,
}

impl Thread<'_> {
    fn next_event(&self) -> Time {
        if self.shared.streams.are_on() {
            return self.shared.now().after(IDLE);
        }
        let due = [self.lane_in.next_report(), self.link.next_challenge(), self.link.validation_due()];
        due.into_iter().flatten().min().unwrap_or(self.shared.now().after(IDLE))
    }

    fn keep_path(&mut self) {
        if self.shared.streams.are_on() {
            return;
        }
        let now = self.shared.now();
        if self.link.next_challenge().is_some_and(|due| due <= now) {
            self.link.send_challenge(now, &mut self.sealer);
        }
        self.open_lane_as_assumed(now);
        if let Some(validated) = self.link.newly_validated(now) {
            self.open_lane(now, validated);
            if !std::mem::replace(&mut self.is_valid, true) {
                self.shared.path_validated();
            }
        }
    }

    /// A dialler does so at once, a listener when it first hears the dialler.
    fn open_lane_as_assumed(&mut self, now: Time) {
        if !self.is_open
            && let Some(assumed) = self.link.assumed()
        {
            self.open_lane(now, assumed);
        }
    }

    fn open_lane(&mut self, now: Time, validated: Validated) {
        self.is_open = true;
        let headers = self.link.headers();
        let burst =
            (MAX_BURST_BYTES / usize::from(validated.datagram)).min(self.link.socket.gso_max_segments().max(8)) as u16;
        let sizes = Sizes { datagram: validated.datagram, headers, burst };
        let mut out = self.shared.out();
        if self.shared.streams.are_on() {
            return;
        }
        if let Some(lane) = &mut out.lanes[self.index] {
            lane.set_sizes(sizes);
        } else {
            let lanes = self.shared.links().count() as u64;
            let controller = controller(self.options, validated.rtt, sizes);
            let numbers = Arc::clone(&self.link.numbers);
            let lane = LaneOut::new(numbers, sizes, controller, validated.rtt, now);
            // Lanes that it gives less or more tell so with their first report.
            let share_bps = out.peer_most_bps.div_ceil(lanes);
            let lane = lane.within(self.shared.limits.of_lane(self.index)).to_receiver_of(share_bps);
            // Those beside the first wait until they are heard, and the rate is known.
            out.lanes[self.index] = Some(if self.index == 0 { lane } else { lane.asleep() });
            divide_sending(&mut out);
        }
        drop(out);
        self.shared.wake_senders();
    }

    fn report(&mut self) {
        let now = self.shared.now();
        if self.lane_in.next_report().is_none_or(|due| due > now) {
            return;
        }
        self.link.arrivals.count(self.lane_in.received().0, self.lane_in.missing());
        let Some(to) = self.link.reports_to() else {
            self.lane_in.report(now, |_| {});
            return;
        };
        self.lane_in.set_most_rate(self.link.arrivals.share_of(self.shared.most_receive_bps()));
        let (link, sealer) = (self.link, &mut self.sealer);
        self.lane_in.report(now, |report| {
            let mut datagram = vec![0; CLEAR_HEADER + Report::MOST + TAG];
            let length = report.write(&mut datagram[CLEAR_HEADER..]);
            datagram.truncate(CLEAR_HEADER + length + TAG);
            datagram[CLEAR_HEADER + length..].fill(0);
            link.send_one(to, sealer, &mut datagram);
        });
    }

    fn gather(&self, worth: bool) {
        if worth && self.lane_in.received().0 > GATHER_AFTER {
            let every = self.lane_in.report_every();
            std::thread::sleep((every / GATHER).max((2 * every / GATHER).min(GATHER_AT_LEAST)));
        }
    }

    /// Deals with what came; true if there was data.
    fn take(&mut self, batch: Batch<'_>) -> bool {
        self.lane_in.set_kernel_drops(batch.dropped);
        let now = self.shared.now();
        let mut datagrams = batch.datagrams;
        let mut data = Vec::with_capacity(MAX_SEGMENTS);
        let (mut any, mut heard) = (false, None);
        loop {
            self.open(now, &mut datagrams, &mut data, &mut heard);
            if data.is_empty() {
                if let Some((from, bytes)) = heard {
                    self.link.heard_from(now, from, bytes);
                }
                return any;
            }
            any = true;
            self.place(&mut data);
            let bytes: u64 = data.iter().map(|datagram| datagram.wire_bytes).sum();
            self.shared.received_bytes.fetch_add(bytes, Ordering::Relaxed);
            self.link.arrivals.note(bytes);
            for datagram in data.drain(..).filter(|datagram| datagram.welcome) {
                let sent_us = Some(datagram.piece.header.sent_us);
                let Data { waited, number, wire_bytes, marked, .. } = datagram;
                self.lane_in.accept(now, waited, number, wire_bytes, marked, sent_us);
            }
        }
    }

    /// Opens so many datagrams that they are still in the processor's cache when they are put in their place; what is not data is dealt with at
    /// once.
    fn open<'a>(
        &mut self,
        now: Time,
        datagrams: &mut Datagrams<'a>,
        data: &mut Vec<Data<'a>>,
        heard: &mut Option<(SocketAddr, usize)>,
    ) {
        for datagram in datagrams {
            let size = datagram.bytes.len();
            let wire_bytes = size as u64 + u64::from(header_bytes(datagram.from));
            let (marked, waited) = (datagram.ecn == Ecn::Congested, datagram.waited);
            let Some(opened) = self.lane_in.open(datagram.bytes) else { continue };
            self.lane_in.note_wait(waited);
            match heard {
                Some((from, bytes)) if *from == datagram.from => *bytes += size,
                _ => {
                    if let Some((from, bytes)) = heard.replace((datagram.from, 0)) {
                        self.link.heard_from(now, from, bytes);
                    }
                    self.link.heard_from(now, datagram.from, size);
                }
            }
            let Ok(frame) = Frame::read(opened.frame) else { continue };
            if let Frame::Data(header, payload) = frame {
                let piece = Piece { header, payload };
                data.push(Data { number: opened.number, waited, piece, wire_bytes, marked, welcome: false });
                if data.len() == MAX_SEGMENTS {
                    return;
                }
            } else {
                let sent_us = if let Frame::Ping(ping) = &frame { Some(ping.sent_us) } else { None };
                self.lane_in.accept(now, waited, opened.number, 0, marked, sent_us);
                self.on_control_frame(now, datagram.from, size, frame);
            }
        }
    }

    fn on_control_frame(&mut self, now: Time, from: SocketAddr, size: usize, frame: Frame<'_>) {
        match frame {
            Frame::Ping(ping) => {
                self.lane_in.on_ping(&ping);
                self.link.answer(self.shared.now(), now, from, size, &ping, &mut self.sealer);
            }
            Frame::Pong(pong) => {
                if !self.link.on_pong(now, from, &pong)
                    && let Some(lane) = &mut self.shared.out().lanes[self.index]
                {
                    lane.on_pong(now, &pong);
                }
            }
            Frame::Report(report) => self.on_report(now, &report),
            Frame::Data(..) => {}
        }
    }

    fn on_report(&mut self, now: Time, report: &Report) {
        let mut out = self.shared.out();
        let Out { sending, lanes, .. } = &mut *out;
        let Some(lane) = &mut lanes[self.index] else { return };
        lane.on_report(now, report, &mut sending.outbox);
        self.swallowed.note(now, lane.counts().arrived, lane.counts().lost);
        if usize::from(lane.sizes().datagram) > LEAST_DATAGRAM {
            if self.swallowed.is_by_size(now) {
                tracing::warn!("lane {}: the path swallows large datagrams; sending small ones", self.index);
                lane.restart_rate_search(now, Sizes { datagram: LEAST_DATAGRAM as u16, ..lane.sizes() });
                self.link.narrow(now);
                self.swallowed.begin_anew();
            }
        } else {
            self.is_of_use &= !self.swallowed.is_all(now);
        }
        let waits_for_pacer = lane.waits_for_pacer();
        sending.on_settled();
        self.shared.pump_out(&mut out);
        let woken = lanes::wake(self.shared, &mut out);
        drop(out);
        if woken {
            self.shared.wake_senders();
        } else if !waits_for_pacer {
            self.link.work.notify_all();
        }
    }

    /// Puts data in its place, run by run.
    fn place(&self, data: &mut [Data<'_>]) {
        for run in data.chunk_by_mut(|a, b| a.piece.precedes(&b.piece)) {
            match place_run(self.shared, run.iter().map(|datagram| datagram.piece)) {
                Ok(()) | Err(Refusal::Closed) => run.iter_mut().for_each(|datagram| datagram.welcome = true),
                Err(Refusal::Unknown) => {
                    run.iter_mut().for_each(|datagram| datagram.welcome = hold(self.shared, &datagram.piece));
                }
                // It is reported missing, and sent again.
                Err(Refusal::TooManyHoles) => {}
                Err(Refusal::Beyond) => {
                    self.shared.end_for_breach("the peer sent bytes beyond the end of an object");
                    return;
                }
            }
        }
    }
}
