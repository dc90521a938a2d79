//! How fast datagrams come, told from the times at which the system got them, whatever stands still for a moment on the way.

use std::time::Duration;

use crate::time::Time;

/// A part has at least so many datagrams, and lasts at least so long: shorter ones tell more of the receiver's system than of the path.
const LEAST_DATAGRAMS: u32 = 12;
const LEAST_SPAN: Duration = Duration::from_micros(50);
/// Parts that are kept: more than a train has.
const MOST_PARTS: usize = 8;

/// Consecutive arrivals.
#[derive(Clone, Copy, Debug)]
struct Part {
    first: Time,
    last: Time,
    /// What arrived after the first moment.
    datagrams: u32,
    bytes: u64,
}

impl Part {
    const fn after(moment: Time) -> Self {
        Self { first: moment, last: moment, datagrams: 0, bytes: 0 }
    }

    fn span(&self) -> Duration {
        self.last.since(self.first)
    }

    fn is_full(&self) -> bool {
        self.datagrams >= LEAST_DATAGRAMS && self.span() >= LEAST_SPAN
    }

    fn bytes_per_s(&self) -> f64 {
        self.bytes as f64 / self.span().as_secs_f64()
    }
}

/// Arrivals since the last report, cut into parts. Where a machine stands still for a moment one part is slow, and the next may be fast: the one in
/// the middle of all is neither.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrivals {
    first: Time,
    parts: [Part; MOST_PARTS],
    full: usize,
    open: Part,
}

impl Arrivals {
    /// Those after the first, which came at `first`.
    pub(crate) const fn after(first: Time) -> Self {
        let open = Part::after(first);
        Self { first, parts: [open; MOST_PARTS], full: 0, open }
    }

    /// When the first came.
    pub(crate) const fn first(&self) -> Time {
        self.first
    }

    /// Counts a datagram of `bytes` that came at `at`; of several that came at one moment the part ends with the last.
    pub(crate) fn note(&mut self, at: Time, bytes: u64) {
        if at > self.open.last && self.open.is_full() {
            self.close();
        }
        if at > self.open.first {
            self.open.datagrams += 1;
            self.open.bytes += bytes;
        }
        self.open.last = self.open.last.max(at);
    }

    fn close(&mut self) {
        if let Some(place) = self.parts.get_mut(self.full) {
            *place = self.open;
            self.full += 1;
        }
        self.open = Part::after(self.open.last);
    }

    /// The part whose rate is the median, as the time that it took and its bytes; all that came where that is less than a part.
    pub(crate) fn median(mut self) -> (Duration, u64) {
        if self.open.is_full() {
            self.close();
        }
        let full = &mut self.parts[..self.full];
        full.sort_by(|a, b| a.bytes_per_s().total_cmp(&b.bytes_per_s()));
        let told = full.get(full.len() / 2).unwrap_or(&self.open);
        (told.span(), told.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: u64 = 1500;

    /// A train of 64 datagrams that come 12 µs apart, but for pauses before some of them.
    fn train(pauses_us: &[(u64, u64)]) -> Arrivals {
        let mut at_us = 1_000;
        let mut arrivals = Arrivals::after(Time::from_ns(at_us * 1_000));
        for number in 1..64 {
            at_us += pauses_us.iter().find(|(before, _)| *before == number).map_or(12, |(_, pause)| *pause);
            arrivals.note(Time::from_ns(at_us * 1_000), BYTES);
        }
        arrivals
    }

    fn mbps(arrivals: Arrivals) -> u64 {
        let (span, bytes) = arrivals.median();
        bytes * 8 / span.as_micros() as u64
    }

    #[test]
    fn a_train_tells_its_rate_whatever_stands_still_twice() {
        assert_eq!(mbps(train(&[])), 1000);
        assert_eq!(mbps(train(&[(30, 2_600)])), 1000);
        assert_eq!(mbps(train(&[(5, 900), (50, 2_600)])), 1000);
    }

    #[test]
    fn what_a_pause_holds_back_comes_at_once_and_does_not_tell_the_rate() {
        let late: Vec<_> = std::iter::once((20, 240)).chain((21..40).map(|number| (number, 0))).collect();
        assert_eq!(mbps(train(&late)), 1000);
    }

    #[test]
    fn datagrams_of_one_moment_count_together() {
        let mut arrivals = Arrivals::after(Time::from_ns(0));
        (1..200_u64).for_each(|number| arrivals.note(Time::from_ns(number / 4 * 48_000), BYTES));
        assert_eq!(mbps(arrivals), 1000);
    }

    #[test]
    fn few_datagrams_tell_their_rate_all_together() {
        let mut arrivals = Arrivals::after(Time::from_ns(0));
        assert_eq!(arrivals.median(), (Duration::ZERO, 0));
        (1..=5).for_each(|number| arrivals.note(Time::from_ns(number * 100_000), BYTES));
        assert_eq!(arrivals.median(), (Duration::from_micros(500), 5 * BYTES));
    }
}
