//! What the link did, and where the emulator itself fell short.

use serde::{Deserialize, Serialize};

use crate::settings::Settings;

/// Why a packet did not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dropped {
    /// No room in the queue.
    Queue,
    /// Lost on the wire.
    Loss,
    /// Exceeded the policer.
    Policer,
    /// Its protocol is blocked.
    Blocked,
    /// Too big for the MTU hole.
    MtuHole,
    /// For a UDP port that the address translation has forgotten.
    Nat,
}

/// Packets that did not arrive, by cause.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "one name for each cause of `Dropped`")]
pub struct Drops {
    pub queue: u64,
    pub loss: u64,
    pub policer: u64,
    pub blocked: u64,
    pub mtu_hole: u64,
    pub nat: u64,
}

impl Drops {
    /// Counts one.
    pub fn count(&mut self, cause: Dropped) {
        *match cause {
            Dropped::Queue => &mut self.queue,
            Dropped::Loss => &mut self.loss,
            Dropped::Policer => &mut self.policer,
            Dropped::Blocked => &mut self.blocked,
            Dropped::MtuHole => &mut self.mtu_hole,
            Dropped::Nat => &mut self.nat,
        } += 1;
    }
}

/// What one direction carried. Packets are those of the wire, bytes those of IP packets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Packets that came to the link.
    pub packets_in: u64,
    /// Their bytes.
    pub bytes_in: u64,
    /// Packets that arrived at the other end.
    pub packets_out: u64,
    /// Their bytes.
    pub bytes_out: u64,
    /// Packets that did not.
    pub dropped: Drops,
    /// Packets marked Congestion Experienced.
    pub ce_marked: u64,
    /// Packets that arrived twice.
    pub duplicated: u64,
    /// Packets held back so that others overtook them.
    pub reordered: u64,
    /// Most bytes in the queue at once.
    pub queue_max_bytes: u64,
    /// Longest wait in the queue.
    pub queue_max_us: u64,
    /// Packets in the queue or on the wire now.
    pub in_flight: u64,
}

impl Counters {
    pub(crate) fn came(&mut self, length: u32) {
        self.packets_in += 1;
        self.bytes_in += u64::from(length);
    }

    pub(crate) fn went(&mut self, length: u32) {
        self.packets_out += 1;
        self.bytes_out += u64::from(length);
    }
}

/// Where the emulator fell short of the link it plays. All of it is harm done to the programs under test.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnErrors {
    /// False if the figures of the programs under test are not to be used.
    pub kept_up: bool,
    /// Delivery after the due time: half of the packets were later than this.
    pub late_median_us: f64,
    /// 1 % of the packets were later than this.
    pub late_p99_us: f64,
    /// The latest.
    pub late_max_us: f64,
    /// Times that it woke more than a millisecond after it should have.
    pub stalls: u64,
    /// Time lost in these.
    pub stalled_ms: f64,
    /// Packets that came later than a millisecond after their time, as a share.
    pub late_share: f64,
    /// Packets that the kernel dropped before the emulator read them.
    pub unread: u64,
    /// Packets that the kernel did not take.
    pub unwritten: u64,
    /// Packets for which there was no memory.
    pub no_memory: u64,
    /// Packets that could not be understood and were carried whole.
    pub oversized: u64,
}

impl OwnErrors {
    /// The verdict over so many seconds: nothing was lost by the emulator's own doing, and at most 1 % of the packets were over a millisecond late
    /// and 1 % of the time was lost in stalls. What arrives in a stall is read behind it, and is on time by then.
    #[must_use]
    pub fn judged(mut self, seconds: f64) -> Self {
        let lost = self.unread + self.unwritten + self.no_memory + self.oversized;
        self.kept_up = lost == 0 && self.late_share <= 0.01 && self.stalled_ms <= 10.0 * seconds;
        self
    }
}

/// Everything that `wan stats` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The testbed's name.
    pub name: String,
    /// Since it came up, or since the counters were reset.
    pub seconds: f64,
    /// CPU time of the emulator, the kernel's work for delivery included.
    pub cpu_s: f64,
    /// System calls that read packets, and packets of the wire they brought.
    pub reads: u64,
    /// System calls that wrote packets.
    pub writes: u64,
    /// Left to right.
    pub to_right: Counters,
    /// Right to left.
    pub to_left: Counters,
    /// The emulator's own errors.
    pub own_errors: OwnErrors,
    /// What the link does now.
    pub settings: Settings,
}

/// Counts times in buckets of 1/8 of a power of two: what is read from it is at most 12.5 % too high.
#[derive(Debug, Clone)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: vec![0; 64 * 8], count: 0, max: 0 }
    }
}

impl Histogram {
    /// Counts one value.
    pub fn add(&mut self, value: u64) {
        self.buckets[bucket(value)] += 1;
        self.count += 1;
        self.max = self.max.max(value);
    }

    /// The value that `share` of all do not exceed.
    #[must_use]
    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = (self.count as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= wanted && seen > 0 {
                return upper(index).min(self.max);
            }
        }
        self.max
    }

    /// The largest value.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The share of values above `limit`.
    #[must_use]
    pub fn share_above(&self, limit: u64) -> f64 {
        let above: u64 = self.buckets[bucket(limit) + 1..].iter().sum();
        above as f64 / self.count.max(1) as f64
    }
}

fn bucket(value: u64) -> usize {
    if value < 8 {
        return value as usize;
    }
    let exponent = value.ilog2();
    (exponent as usize - 2) * 8 + ((value >> (exponent - 3)) & 7) as usize
}

fn upper(index: usize) -> u64 {
    if index < 8 {
        return index as u64;
    }
    let (exponent, step) = (index / 8 + 2, (index % 8) as u128);
    u64::try_from(((8 + step + 1) << (exponent - 3)) - 1).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_an_eighth() {
        let mut histogram = Histogram::default();
        (1..=100_000).for_each(|value| histogram.add(value));
        for (share, exact) in [(0.5, 50_000.0), (0.99, 99_000.0)] {
            let found = histogram.quantile(share) as f64;
            assert!(found >= exact && found <= exact * 1.125, "{share}: {found}");
        }
        assert_eq!(histogram.max(), 100_000);
        assert!((histogram.share_above(50_000) - 0.5).abs() < 0.07);
    }

    #[test]
    fn who_stands_still_for_more_than_a_hundredth_of_the_time_has_not_kept_up() {
        let stalled = |stalled_ms| OwnErrors { stalled_ms, ..OwnErrors::default() };
        assert!(stalled(119.0).judged(12.0).kept_up);
        assert!(!stalled(121.0).judged(12.0).kept_up);
        assert!(!OwnErrors { late_share: 0.02, ..OwnErrors::default() }.judged(12.0).kept_up);
        assert!(!OwnErrors { unread: 1, ..OwnErrors::default() }.judged(12.0).kept_up);
    }

    #[test]
    fn every_value_lies_in_its_bucket() {
        for value in (0..64).map(|bit| 1_u64 << bit).chain([0, 3, 7, 9, 1000, u64::MAX]) {
            assert!(upper(bucket(value)) >= value, "{value}");
            assert!(bucket(value) == 0 || upper(bucket(value) - 1) < value, "{value}");
        }
    }
}
