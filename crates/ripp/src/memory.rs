//! What a session may take in memory: one number, from which the bound of everything that it keeps follows.
//!
//! Invariant: what the bounds cost together is never more than the number, whatever the lanes.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::lane_out::Sizes;
use crate::wire::LEAST_DATAGRAM;

const MIB: u64 = 1 << 20;

/// What a lane takes: 16 messages of 64 KiB that are received at once, one that is sent, the replay window, the latest rounds and round-trip times.
const LANE: u64 = 2 * MIB;
/// What a stream takes: what is read at once, and frames.
const STREAM: u64 = MIB;
/// What the control channel takes: 65 messages of 64 KiB that came and were not looked at, and what TLS holds of the next.
const CONTROL: u64 = 5 * MIB;
/// A run of datagrams under way, or one that was lost: an entry of a tree whose nodes are as empty as they may be.
const RECORD: u64 = 136;
/// A run of bytes that came of an object, likewise.
const SPAN: u64 = 74;
/// An object on offer or in progress, in all tables together.
const OBJECT: u64 = 512;

/// Streams that there may be, however few lanes: with less a path without datagrams is slow.
const LEAST_STREAMS: u16 = 4;
/// Lanes and streams may take so many sixteenths of all: there is little use in lanes that may have nothing under way.
const OF_LANES: u64 = 9;
/// Lanes that there may come to be take no more than this part of all.
const OF_MORE_LANES: u64 = 24;

/// How what lanes leave is divided, in 64ths.
mod share {
    pub(super) const RECORDS: u64 = 12;
    pub(super) const SPANS: u64 = 12;
    pub(super) const OBJECTS: u64 = 9;
    pub(super) const OFFERED: u64 = 8;
    pub(super) const QUEUED: u64 = 5;
    pub(super) const BACKLOG: u64 = 8;
    pub(super) const HELD: u64 = 6;
    pub(super) const REASONS: u64 = 3;
    pub(super) const FLOW_NAMES: u64 = 1;
    pub(super) const ALL: u64 = 64;
    const _: () = assert!(RECORDS + SPANS + OBJECTS + OFFERED + QUEUED + BACKLOG + HELD + REASONS + FLOW_NAMES == ALL);
}

/// The most memory that a session takes, for what its peer makes it keep and for its own records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Memory(u64);

/// Less memory than a session needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{0} bytes are too little memory for a session: the least is {least}MiB", least = Memory::LEAST.bytes() / MIB)]
pub struct TooLittle(pub u64);

impl Memory {
    /// What a session may take where nothing else is said.
    pub const DEFAULT: Self = Self(384 * MIB);
    /// With less there would be no room for what an ordinary copy has under way.
    pub const LEAST: Self = Self(32 * MIB);

    /// So many bytes.
    ///
    /// # Errors
    /// If they are less than [`Memory::LEAST`].
    pub const fn new(bytes: u64) -> Result<Self, TooLittle> {
        if bytes < Self::LEAST.0 { Err(TooLittle(bytes)) } else { Ok(Self(bytes)) }
    }

    /// In bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.0
    }

    /// What follows for a session that would have so many lanes.
    #[must_use]
    pub fn limits(self, lanes: u16) -> Limits {
        self.limits_of_growing(lanes, lanes)
    }

    /// The same of one that would have `lanes` to begin with, and may come to have as many as `most`.
    #[must_use]
    pub fn limits_of_growing(self, lanes: u16, most: u16) -> Limits {
        // What another end tells of itself was not held against the least.
        let all = self.0.max(Self::LEAST.0);
        let fits = |lanes: &u16| fixed(*lanes) <= all / 16 * OF_LANES;
        let lanes = (1..=lanes).rev().find(fits).unwrap_or(1);
        let more = most.saturating_sub(lanes).min(u16::try_from(all / OF_MORE_LANES / LANE).unwrap_or(u16::MAX));
        let left = all - fixed(lanes) - u64::from(more) * LANE;
        let of = |share: u64| left / share::ALL * share;
        let records = of(share::RECORDS) / RECORD;
        let spans = (of(share::SPANS) / SPAN) as usize;
        // Half of them for those that there are, however many more there come to be.
        let (first, second) = if more == 0 { (records, 0) } else { (records / 2, records / 2 / u64::from(more)) };
        Limits {
            lanes,
            more,
            streams: streams(lanes),
            lane_records: first / u64::from(lanes),
            more_records: second,
            stream_records: records / u64::from(streams(lanes)),
            spans,
            object_spans: spans / 4,
            objects: (of(share::OBJECTS) / OBJECT) as usize,
            offered: of(share::OFFERED) as usize,
            queued: of(share::QUEUED) as usize,
            backlog: of(share::BACKLOG) as usize,
            held: of(share::HELD) as usize,
            reasons: of(share::REASONS) as usize,
            flow_names: of(share::FLOW_NAMES) as usize,
        }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::DEFAULT
    }
}

fn streams(lanes: u16) -> u16 {
    lanes.max(LEAST_STREAMS)
}

/// What is taken however little is under way.
fn fixed(lanes: u16) -> u64 {
    CONTROL + u64::from(lanes) * LANE + u64::from(streams(lanes)) * STREAM
}

/// What one end of a session keeps at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Lanes to begin with.
    pub lanes: u16,
    /// Lanes that may be added.
    pub more: u16,
    /// Streams, where data moves over those.
    pub streams: u16,
    /// Entries that a lane's sender has of what is under way, or lost and to be sent again.
    pub lane_records: u64,
    /// The same of one that was added.
    pub more_records: u64,
    /// The same of a stream.
    pub stream_records: u64,
    /// Runs of bytes that came of objects which are not whole, of all together; the beginning of each object has one kept free.
    pub spans: usize,
    /// Of those, what one object may have beside that.
    pub object_spans: usize,
    /// Objects that are on offer or being received.
    pub objects: usize,
    /// Bytes of offers and notes that the program has not looked at.
    pub offered: usize,
    /// Bytes of messages that the control channel is to send next.
    pub queued: usize,
    /// Bytes of messages that wait for it to have room.
    pub backlog: usize,
    /// Bytes of data that came before its object was accepted.
    pub held: usize,
    /// Bytes of why objects were taken back, of which the program has not heard.
    pub reasons: usize,
    /// Bytes of what is known of flows.
    pub flow_names: usize,
}

impl Default for Limits {
    /// Of one lane, where nothing is said of memory.
    fn default() -> Self {
        Memory::DEFAULT.limits(1)
    }
}

impl Limits {
    /// Lanes that there may be.
    #[must_use]
    pub const fn most_lanes(&self) -> u16 {
        self.lanes + self.more
    }

    /// The same where it is more than there are to begin with, as the other end is told.
    #[must_use]
    pub fn told_most(&self) -> Option<u16> {
        Some(self.most_lanes()).filter(|&most| most > self.lanes)
    }

    /// Those of lane `index`.
    #[must_use]
    pub fn of_lane(self, index: usize) -> Self {
        let is_added = index >= usize::from(self.lanes);
        Self { lane_records: if is_added { self.more_records } else { self.lane_records }, ..self }
    }

    /// Datagrams of these sizes that a lane may have under way: were all of them lost, and sent again as the smallest there are, each of those may
    /// become an entry.
    #[must_use]
    pub fn datagrams(&self, sizes: Sizes) -> u64 {
        let least = Sizes { datagram: LEAST_DATAGRAM as u16, ..sizes };
        (self.lane_records * least.payload() / sizes.payload().max(least.payload())).max(1)
    }

    /// What all of it costs at most.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let of_lanes = u64::from(self.lanes) * self.lane_records + u64::from(self.more) * self.more_records;
        let records = of_lanes.max(u64::from(self.streams) * self.stream_records);
        let texts = [self.offered, self.queued, self.backlog, self.held, self.reasons, self.flow_names];
        fixed(self.lanes)
            + u64::from(self.more) * LANE
            + records * RECORD
            + self.spans as u64 * SPAN
            + self.objects as u64 * OBJECT
            + texts.into_iter().sum::<usize>() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::MOST_LANES;
    use crate::window::WINDOW;

    fn settings() -> impl Iterator<Item = Memory> {
        let odd = [0, 1, 12_345, 999_999];
        let sizes = (5..34).flat_map(move |power| odd.map(|more| MIB.saturating_mul(1 << power).saturating_add(more)));
        sizes.map(|bytes| Memory::new(bytes).unwrap())
    }

    fn sizes(datagram: u16) -> Sizes {
        Sizes { datagram, headers: 28, burst: 16 }
    }

    #[test]
    fn large_datagrams_under_way_are_fewer_as_each_may_come_to_be_many() {
        let limits = Memory::LEAST.limits(1);
        let large = limits.datagrams(sizes(8972));
        let least = sizes(LEAST_DATAGRAM as u16);
        assert!(large * sizes(8972).payload() / least.payload() <= limits.lane_records);
        assert_eq!(limits.datagrams(least), limits.lane_records);
    }

    #[test]
    fn the_bounds_together_never_cost_more_than_was_allowed() {
        for memory in settings() {
            for lanes in 0..=MOST_LANES {
                let limits = memory.limits(lanes);
                assert!(limits.bytes() <= memory.bytes(), "{memory:?}, {lanes} lanes: {limits:?}");
                assert!((1..=lanes.max(1)).contains(&limits.lanes), "{memory:?}, {lanes} lanes: {limits:?}");
            }
        }
    }

    #[test]
    fn lanes_that_may_be_added_are_paid_for_beforehand_and_bound_the_first_ones_little() {
        for memory in settings() {
            for most in [1, 2, 8, MOST_LANES] {
                let limits = memory.limits_of_growing(1, most);
                assert!(limits.bytes() <= memory.bytes(), "{memory:?}, {most} lanes: {limits:?}");
                assert!((1..=most).contains(&limits.most_lanes()) && limits.lanes == 1, "{limits:?}");
                let (first, added) = (limits.of_lane(0).lane_records, limits.of_lane(1).lane_records);
                assert!(first >= memory.limits(1).lane_records * 9 / 20, "{memory:?}: {limits:?}");
                assert!(limits.more == 0 || added >= first / u64::from(most), "{limits:?}");
            }
        }
        assert_eq!(Memory::DEFAULT.limits_of_growing(1, 8).most_lanes(), 8);
        assert_eq!(Memory::LEAST.limits_of_growing(1, 8), Memory::LEAST.limits(1));
    }

    #[test]
    fn what_is_allowed_is_made_use_of() {
        for memory in settings() {
            let spare = memory.bytes() - memory.limits(1).bytes();
            assert!(spare < memory.bytes() / 100, "{memory:?}: {spare} bytes are left");
        }
    }

    #[test]
    fn more_memory_never_bounds_anything_lower_and_more_lanes_never_raise_a_bound() {
        let parts = |limits: Limits| {
            let Limits { spans, object_spans, objects, offered, queued, backlog, reasons, flow_names, .. } = limits;
            [spans, object_spans, objects, offered, queued, backlog, reasons, flow_names]
        };
        for lanes in [1, 2, 4] {
            for (less, more) in settings().zip(settings().skip(1)) {
                let (few, many) = (parts(less.limits(lanes)), parts(more.limits(lanes)));
                assert!(few.iter().zip(many).all(|(few, many)| *few <= many), "{less:?}: {few:?}, {more:?}: {many:?}");
            }
        }
        for memory in settings() {
            for lanes in 1..MOST_LANES {
                let (one, other) = (parts(memory.limits(lanes)), parts(memory.limits(lanes + 1)));
                assert!(one.iter().zip(other).all(|(one, other)| *one >= other), "{memory:?}, {lanes} lanes");
            }
        }
    }

    #[test]
    fn the_least_holds_what_an_ordinary_copy_has_under_way() {
        for lanes in [1, 4, MOST_LANES] {
            let limits = Memory::LEAST.limits(lanes);
            // Copies and measurements offer 4096 objects ahead.
            assert!(limits.objects > 4096 + 64 && limits.spans > 5 * limits.objects, "{limits:?}");
            assert!(limits.offered > 4096 * 400 && limits.queued > 1 << 20, "{limits:?}");
        }
        let why = Memory::new(1 << 20).unwrap_err().to_string();
        assert!(why.contains("1048576") && why.contains("32MiB"), "{why}");
    }

    /// Of 5 Gbit/s over 300 ms two round trips may be under way on few lanes, as a sender would have it, and one and a half on many.
    #[test]
    fn the_default_bounds_no_fast_long_path() {
        let round_trip = |datagram: u16| 5_000_000_000 / 8 * 3 / 10 / u64::from(datagram);
        for lanes in 1..=MOST_LANES {
            let limits = Memory::DEFAULT.limits(lanes);
            assert_eq!(limits.lanes, lanes);
            for datagram in [1472, 8972] {
                let may = u64::from(lanes) * limits.datagrams(sizes(datagram)).min(WINDOW / 2);
                let halves = if lanes <= 32 { 4 } else { 3 };
                assert!(may > halves * round_trip(datagram) / 2, "{lanes} lanes, {datagram} bytes: {may}");
            }
        }
    }
}
