//! Time as the core is told it: nanoseconds since the session began, on the caller's monotonic clock.

use std::time::Duration;

/// Bits of a time off the wire that count.
pub const WIRE_BITS: u32 = 26;

/// A point on the caller's monotonic clock, in nanoseconds since an origin of its choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The origin of the clock.
    pub const ZERO: Self = Self(0);

    /// `ns` nanoseconds after the origin.
    #[must_use]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since the origin.
    #[must_use]
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// Microseconds since the origin: how datagrams carry time. The lower [`WIRE_BITS`] bits count, and data carries no others.
    #[must_use]
    pub const fn wire_us(self) -> u32 {
        (self.0 / 1000) as u32
    }

    /// This time and `span` more.
    #[must_use]
    pub const fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.as_nanos() as u64))
    }

    /// This time less `span`, not before the origin.
    #[must_use]
    pub const fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(span.as_nanos() as u64))
    }

    /// Time passed since `earlier`; zero if that is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// `later - earlier` of two times off the wire, in microseconds; right for spans below 33 s, whichever came first: no session outlives such a
/// silence.
#[must_use]
pub const fn wire_difference_us(later: u32, earlier: u32) -> i32 {
    const REST: u32 = u32::BITS - WIRE_BITS;
    (later.wrapping_sub(earlier) << REST).cast_signed() >> REST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_hold_across_the_wrap_of_the_bits_that_count() {
        let wrap = 1 << WIRE_BITS;
        for (later, earlier, difference) in [
            (5, 3, 2),
            (3, 5, -2),
            (1, wrap - 1, 2),
            (wrap - 1, wrap + 1, -2),
            (u32::MAX, wrap - 2, 1),
            (wrap / 2 - 1, 0, 33_554_431),
        ] {
            assert_eq!(wire_difference_us(later, earlier), difference, "{later} - {earlier}");
        }
    }
}
