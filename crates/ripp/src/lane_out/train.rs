//! Datagrams that leave together where the rate of the path is not known: their spacing on arrival tells it.

use crate::wire::Report;

use super::Sizes;

/// Datagrams of a train.
pub(super) const TRAIN: u64 = 64;
/// Where the sender is interrupted within the train, one part of it tells more than the whole: the fastest of so many reports counts.
const TRAIN_REPORTS: u32 = 3;
/// A second train has no more than this share of what leaves in a round trip after the first.
const MOST_OF_ROUND_TRIP: f64 = 0.125;
/// Datagrams that may leave before it is known how fast a train came: so many, and others in place of each that has arrived. A path that is so slow that none
/// is told has more of them waiting, or lost, than it carries in a second.
const UNTOLD: u64 = 2 * TRAIN + TRAIN / 2;
const FOR_EACH_ARRIVED: u64 = 2;
/// And so many may be under way whatever came of those before: all of them may have been lost.
const AGAIN: u64 = TRAIN / 4;
/// Arrivals closer together than this tell more of the receiver's system than of the path.
const LEAST_SPAN_US: u32 = 50;

/// More than one burst: of a single one that is received at once nothing can be told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Train {
    /// Still to leave, as fast as the program and the receiver allow.
    left: u64,
    /// Bytes of an IP packet of it.
    wire: u64,
    /// Reports that may still tell how fast it came.
    reports: u32,
    /// It is the second.
    again: bool,
    /// Datagrams that may leave until it is known how fast one came.
    untold: Option<u64>,
}

impl Train {
    pub(super) const fn of(sizes: Sizes) -> Self {
        Self {
            left: TRAIN,
            wire: sizes.wire(sizes.payload()),
            reports: TRAIN_REPORTS,
            again: false,
            untold: Some(UNTOLD),
        }
    }

    /// Where the rate is known.
    pub(super) const fn none(sizes: Sizes) -> Self {
        Self { left: 0, untold: None, ..Self::of(sizes) }
    }

    /// Datagrams that are still to leave.
    pub(super) const fn left(&self) -> u64 {
        self.left
    }

    /// So many datagrams have left.
    pub(super) const fn sent(&mut self, datagrams: u64) {
        self.left = self.left.saturating_sub(datagrams);
        if let Some(untold) = &mut self.untold {
            *untold = untold.saturating_sub(datagrams);
        }
    }

    /// So many datagrams have arrived.
    pub(super) const fn arrived(&mut self, datagrams: u64) {
        if let Some(untold) = &mut self.untold {
            *untold += FOR_EACH_ARRIVED * datagrams;
        }
    }

    /// Datagrams that may leave while the rate is looked for.
    pub(super) fn allows(&self, under_way: u64) -> u64 {
        self.untold.map_or(u64::MAX, |untold| untold.max(AGAIN.saturating_sub(under_way)))
    }

    /// No more of it is to leave.
    pub(super) const fn stop(&mut self) {
        (self.left, self.untold) = (0, None);
    }

    /// How fast it came, in bits of IP packets per second, if the report tells.
    pub(super) fn told_by(&mut self, report: &Report) -> Option<f64> {
        let is_long = u64::from(report.span_bytes) >= TRAIN / 8 * self.wire;
        if report.span_us < LEAST_SPAN_US || !is_long || self.reports == 0 {
            return None;
        }
        self.reports -= 1;
        self.untold = None;
        Some(f64::from(report.span_bytes) * 8e6 / f64::from(report.span_us))
    }

    /// A second one, where that is little of the `round_trip_bytes` that are sent by what the first has told: something may have stood still while that
    /// was on its way.
    pub(super) fn second(&self, sizes: Sizes, round_trip_bytes: f64) -> Option<Self> {
        let is_small = (TRAIN * self.wire) as f64 <= MOST_OF_ROUND_TRIP * round_trip_bytes;
        (is_small && !self.again).then_some(Self { again: true, untold: None, ..Self::of(sizes) })
    }
}
