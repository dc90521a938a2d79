//! The sending half of a stream: what is under way on it, and what it has seen.

use std::time::Duration;

use visapult_ripp::flight::{Flight, Region};
use visapult_ripp::lane_out::{RoundTrip, SentCounts};
use visapult_ripp::outbox::Outbox;
use visapult_ripp::rate::{Cause, Causes};
use visapult_ripp::time::{Time, wire_difference_us};
use visapult_ripp::wire::DATA_HEADER;

use super::FRAME_PAYLOAD;
use super::ack::Ack;

/// TLS record headers and tags, and the frame's length, per frame.
const FRAME_HEADERS: u64 = 4 * 22 + 4 + DATA_HEADER as u64;
/// A TCP segment's payload and headers on an ordinary path: how bytes on the wire are estimated.
const SEGMENT: u64 = 1_448;
const SEGMENT_HEADERS: u64 = 52;
const MOST_FRAMES: usize = 64;
/// Time over which the rate is taken.
const METER: Duration = Duration::from_millis(50);
/// What limits a stream is noted this often.
const CAUSE_EVERY: Duration = Duration::from_millis(10);

/// The sending half of a stream.
#[derive(Debug, Default)]
pub(in crate::session) struct StreamOut {
    /// Frames drawn: the number of the next.
    next: u64,
    flight: Flight,
    /// Entries that the flight may have.
    most_records: u64,
    counts: SentCounts,
    rtt: RoundTrip,
    causes: Causes,
    cause_noted: Time,
    /// The other end has said that it listens.
    open: bool,
    last_echo_us: u32,
    /// When the rate was last taken, and the bytes that had arrived.
    metered: (Time, u64),
    rate_bps: f64,
    /// When the first and the last bytes were drawn, and the bytes drawn before the last.
    span: Option<(Time, Time, u64)>,
}

impl StreamOut {
    /// One that keeps so many entries of what is under way at most.
    pub(super) fn new(most_records: u64) -> Self {
        Self { most_records, ..Self::default() }
    }

    pub(super) const fn is_open(&self) -> bool {
        self.open
    }

    pub(in crate::session) const fn counts(&self) -> &SentCounts {
        &self.counts
    }

    pub(in crate::session) const fn rtt(&self) -> &RoundTrip {
        &self.rtt
    }

    pub(in crate::session) const fn causes(&self) -> &Causes {
        &self.causes
    }

    pub(in crate::session) const fn rate_bps(&self) -> u64 {
        self.rate_bps as u64
    }

    /// Rate from the first bytes to the last, in bits per second on the wire.
    pub(in crate::session) fn kept_bps(&self) -> f64 {
        self.span.map_or(0.0, |(first, last, bytes)| bytes as f64 * 8.0 / last.since(first).as_secs_f64().max(1e-9))
    }

    /// Draws up to `most` bytes into `regions`, a frame each; returns the bytes they take on the wire.
    pub(super) fn draw(&mut self, now: Time, outbox: &mut Outbox, most: u64, regions: &mut Vec<Region>) -> u64 {
        regions.clear();
        let mut bytes = 0;
        while bytes < most && regions.len() < MOST_FRAMES && (self.flight.entries() as u64) < self.most_records {
            let Some(region) = outbox.next(now, (most - bytes).min(FRAME_PAYLOAD)) else { break };
            bytes += region.length;
            self.next += self.flight.add(self.next, region, FRAME_PAYLOAD);
            self.counts.datagrams += 1;
            self.counts.resent_bytes += if region.resent { region.length } else { 0 };
            regions.push(region);
        }
        let sealed = bytes + regions.len() as u64 * FRAME_HEADERS;
        let wire = sealed + sealed.div_ceil(SEGMENT) * SEGMENT_HEADERS;
        if !regions.is_empty() {
            self.span = Some((self.span.map_or(now, |(first, ..)| first), now, self.counts.wire_bytes));
            self.counts.wire_bytes += wire;
        }
        wire
    }

    /// Of the last `drawn` frames only those of the regions `sent` were sent: the other objects are gone.
    pub(super) fn sent_only(&mut self, drawn: usize, sent: &[Region]) {
        let first = self.next - drawn as u64;
        self.flight.settle(first, self.next, &[], |_| {}, |_| {});
        self.next = first;
        self.counts.datagrams -= (drawn - sent.len()) as u64;
        for &region in sent {
            self.next += self.flight.add(self.next, region, FRAME_PAYLOAD);
        }
    }

    /// Takes an ack; false if it is of frames that were never sent.
    pub(super) fn on_ack(&mut self, now: Time, ack: &Ack, outbox: &mut Outbox) -> bool {
        if ack.frames > self.next {
            return false;
        }
        self.open = true;
        let counts = &mut self.counts;
        let arrived = |region: Region| {
            counts.arrived += region.length.div_ceil(FRAME_PAYLOAD);
            counts.arrived_bytes += region.length;
            outbox.arrived(region);
        };
        self.flight.settle(0, ack.frames, &[], arrived, |_| {});
        self.note_round_trip(now, ack);
        self.meter(now);
        true
    }

    fn note_round_trip(&mut self, now: Time, ack: &Ack) {
        let rtt = i64::from(wire_difference_us(now.wire_us(), ack.echo_us)) - i64::from(ack.hold_us);
        let is_new = std::mem::replace(&mut self.last_echo_us, ack.echo_us) != ack.echo_us;
        if is_new && ack.frames > 0 && rtt >= 0 {
            self.rtt.note(now, Duration::from_micros(rtt.cast_unsigned()));
        }
    }

    fn meter(&mut self, now: Time) {
        let (then, before) = self.metered;
        let elapsed = now.since(then);
        if elapsed >= METER {
            let arrived = self.counts.arrived_bytes;
            self.rate_bps = (arrived - before) as f64 * 8.0 / elapsed.as_secs_f64();
            self.metered = (now, arrived);
        }
    }

    /// Notes what the stream waits for.
    pub(super) fn waits_for(&mut self, now: Time, cause: Cause) {
        if now.since(self.cause_noted) >= CAUSE_EVERY {
            self.cause_noted = now;
            self.causes.count(cause);
        }
    }

    /// Gives up the stream: what was under way is to be sent on others.
    pub(super) fn abandon(&mut self, now: Time, outbox: &mut Outbox) {
        let counts = &mut self.counts;
        self.open = false;
        self.rate_bps = 0.0;
        self.flight.abandon(|region| {
            counts.lost += region.length.div_ceil(FRAME_PAYLOAD);
            counts.lost_bytes += region.length;
            outbox.lost(now, region);
        });
    }
}
