//! The thread of a stream, both ways: draws, reads and sends; takes, places and acknowledges.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use visapult_ripp::flight::Region;
use visapult_ripp::inbox::Refusal;
use visapult_ripp::rate::Cause;
use visapult_ripp::time::Time;
use visapult_ripp::wire::{DATA_HEADER, DataHeader, Frame};

use super::FRAME_PAYLOAD;
use super::ack::Ack;
use crate::control::{BulkLink, CloseReason};
use crate::session::objects::Source;
use crate::session::place::{Piece, place_run};
use crate::session::shared::{Out, Shared};
use crate::socket::Waker;

const IDLE: Duration = Duration::from_millis(100);
/// An ack leaves when so many frames wait for one, or the first has for so long.
const ACK_FRAMES: u64 = 8;
const ACK_WITHIN: Duration = Duration::from_millis(1);

/// Carries stream `index` until it or the session ends.
pub(super) fn run(shared: &Arc<Shared>, index: usize, link: BulkLink, waker: &Waker, ack: Option<Ack>) {
    let buffer = vec![0; DATA_HEADER + FRAME_PAYLOAD as usize];
    let mut thread =
        Thread { shared, index, link, buffer, regions: Vec::new(), placed: 0, told: None, latest: (0, Time::ZERO) };
    let outcome = ack.map_or(Ok(()), |ack| thread.on_ack(&ack)).and_then(|()| thread.carry(waker));
    match outcome {
        Ok(()) => thread.link.close(),
        Err(End::Stream(reason)) => shared.stream_ended(index, &reason.to_string()),
        Err(End::Session(why)) => shared.end(Some(&why)),
        Err(End::Breach(why)) => shared.end_for_breach(&why),
    }
}

enum End {
    /// This stream is of no use any more.
    Stream(CloseReason),
    /// The session cannot go on.
    Session(String),
    /// The peer broke the protocol.
    Breach(String),
}

impl From<CloseReason> for End {
    fn from(reason: CloseReason) -> Self {
        match reason {
            CloseReason::Protocol(why) => Self::Breach(format!("the peer broke the protocol of a stream: {why}")),
            CloseReason::Tls(_) => Self::Session(format!("of a stream, {reason}")),
            other => Self::Stream(other),
        }
    }
}

impl From<io::Error> for End {
    fn from(cause: io::Error) -> Self {
        Self::Stream(CloseReason::Lost(cause.to_string()))
    }
}

struct Thread<'a> {
    shared: &'a Arc<Shared>,
    index: usize,
    link: BulkLink,
    buffer: Vec<u8>,
    regions: Vec<Region>,
    /// Frames placed.
    placed: u64,
    /// Frames that the last ack told of.
    told: Option<u64>,
    /// Send time of the latest frame, and when it came.
    latest: (u32, Time),
}

type Sources = Vec<Option<Arc<dyn Source>>>;

impl Thread<'_> {
    fn carry(&mut self, waker: &Waker) -> Result<(), End> {
        while !self.shared.is_over() {
            // An ack goes before more is drawn, which would be in its way again.
            self.link.write()?;
            self.acknowledge()?;
            let due = self.send()?;
            // Where something is in the way of an ack, room for it is waited for.
            let owes_ack = self.unacknowledged() > 0 && !self.link.unsent();
            let due = if owes_ack { due.min(self.ack_due()) } else { due };
            let wait = due.since(self.shared.now()).min(IDLE);
            self.link.wait(waker, Instant::now() + wait)?;
            self.receive()?;
        }
        Ok(())
    }

    fn unacknowledged(&self) -> u64 {
        self.told.map_or(1, |told| self.placed - told)
    }

    fn ack_due(&self) -> Time {
        self.latest.1.after(ACK_WITHIN)
    }

    fn acknowledge(&mut self) -> Result<(), End> {
        let now = self.shared.now();
        let waiting = self.unacknowledged();
        if self.told.is_some() && (waiting == 0 || (waiting < ACK_FRAMES && now < self.ack_due())) {
            return Ok(());
        }
        // With the last frame still in the way, the ack leaves right after it.
        let ack = Ack {
            frames: self.placed,
            echo_us: self.latest.0,
            hold_us: now.since(self.latest.1).as_micros() as u32,
            most_rate_bps: self.shared.most_receive_bps(),
        };
        if !self.link.unsent() {
            self.link.put(&ack.to_bytes())?;
            self.told = Some(self.placed);
        }
        Ok(())
    }

    /// Sends what goes without waiting, a portion at most; returns when to come back even if nothing happens.
    fn send(&mut self) -> Result<Time, End> {
        self.link.write()?;
        let now = self.shared.now();
        if self.link.unsent() {
            self.shared.out().streams[self.index].waits_for(now, Cause::Queue);
            return Ok(now.after(IDLE));
        }
        let (due, sources) = self.draw(now);
        let regions = std::mem::take(&mut self.regions);
        let mut sent = Vec::with_capacity(regions.len());
        for (region, source) in regions.iter().zip(&sources) {
            if self.put(now, region, source.as_deref())? {
                sent.push(*region);
                self.link.write()?;
            }
        }
        if sent.len() < regions.len() {
            self.shared.out().streams[self.index].sent_only(regions.len(), &sent);
        }
        self.regions = regions;
        Ok(due)
    }

    /// Draws the next regions; with none, returns when to ask again.
    fn draw(&mut self, now: Time) -> (Time, Sources) {
        self.regions.clear();
        let mut out = self.shared.out();
        let Out { sending, streams, pace, .. } = &mut *out;
        let stream = &mut streams[self.index];
        if !stream.is_open() {
            return (now.after(IDLE), Vec::new());
        }
        let most = match pace.allowance(now) {
            Ok(most) => most,
            Err(until) => {
                stream.waits_for(now, Cause::Rate);
                return (until, Vec::new());
            }
        };
        let wire = stream.draw(now, &mut sending.outbox, most, &mut self.regions);
        if self.regions.is_empty() {
            stream.waits_for(now, Cause::Source);
            pace.rest(now);
            // Late objects may have been given up.
            sending.on_settled();
            self.shared.pump_out(&mut out);
            return (now.after(IDLE), Vec::new());
        }
        pace.spend(now, wire);
        let source = |region: &Region| out.sources.get(&region.object).map(|sent| Arc::clone(&sent.source));
        (now, self.regions.iter().map(source).collect())
    }

    /// Puts a frame; false if there is nothing to put in it: an object that cannot be read is cancelled.
    fn put(&mut self, now: Time, region: &Region, source: Option<&dyn Source>) -> Result<bool, End> {
        let Some(source) = source else { return Ok(false) };
        let header = DataHeader::of(region, now);
        let frame = &mut self.buffer[..DATA_HEADER + region.length as usize];
        header.write(frame);
        if let Err(cause) = source.read_at(region.offset, &mut frame[DATA_HEADER..]) {
            self.shared.cancel(region.object, &format!("the sender could not read the object: {cause}"));
            return Ok(false);
        }
        self.link.put(frame)?;
        Ok(true)
    }

    fn receive(&mut self) -> Result<(), End> {
        let outcome = self.link.read();
        self.take()?;
        outcome?;
        Ok(())
    }

    fn take(&mut self) -> Result<(), End> {
        let now = self.shared.now();
        let mut pieces = Vec::new();
        let mut ack = None;
        for frame in self.link.frames()? {
            if let Some(found) = Ack::from_bytes(frame) {
                ack = Some(found);
            } else if let Ok(Frame::Data(header, payload)) = Frame::read(frame) {
                self.latest = (header.sent_us, now);
                self.shared.received_bytes.fetch_add(frame.len() as u64, Ordering::Relaxed);
                pieces.push(Piece { header, payload });
            } else {
                return Err(End::Breach("the peer sent a frame over a stream that is none".to_owned()));
            }
        }
        if !pieces.is_empty() {
            place(self.shared, &pieces)?;
            self.placed += pieces.len() as u64;
        }
        ack.map_or(Ok(()), |ack| self.on_ack(&ack))
    }

    fn on_ack(&mut self, ack: &Ack) -> Result<(), End> {
        let now = self.shared.now();
        let mut out = self.shared.out();
        let Out { sending, streams, pace, .. } = &mut *out;
        pace.set_peer(now, ack.most_rate_bps);
        if !streams[self.index].on_ack(now, ack, &mut sending.outbox) {
            return Err(End::Breach("the peer acknowledged what was never sent".to_owned()));
        }
        sending.on_settled();
        self.shared.pump_out(&mut out);
        Ok(())
    }
}

/// A stream keeps the order: nothing comes before it was accepted, and what has come is not sent again.
fn place(shared: &Arc<Shared>, pieces: &[Piece<'_>]) -> Result<(), End> {
    for run in pieces.chunk_by(Piece::precedes) {
        match place_run(shared, run.iter().copied()) {
            Ok(()) | Err(Refusal::Closed) => {}
            Err(cause) => {
                let why = format!("the peer sent bytes that have no place: {cause}");
                return Err(if cause == Refusal::TooManyHoles { End::Session(why) } else { End::Breach(why) });
            }
        }
    }
    Ok(())
}
