//! Which packet numbers of a lane have arrived: the replay window, and what is missing in it.

use crate::wire::NUMBER_BITS;

/// Packet numbers that a window spans. A sender has at most half of it under way.
pub const WINDOW: u64 = 1 << 19;

const WORDS: usize = (WINDOW / 64) as usize;
const _: () = assert!(2 * WINDOW <= 1 << NUMBER_BITS, "a number is told from its lower bits");

/// What a packet number is to a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Not seen before, within the window or just ahead of it.
    New,
    /// Seen before.
    Before,
    /// Too old to know: counted as seen.
    TooOld,
    /// So far ahead that no honest sender would use it.
    TooFar,
}

/// A sliding window of packet numbers. Memory is fixed: 64 KiB.
#[derive(Debug)]
pub struct ReceiveWindow {
    bits: Box<[u64]>,
    /// One more than the highest packet number seen.
    end: u64,
}

impl Default for ReceiveWindow {
    fn default() -> Self {
        Self { bits: vec![0; WORDS].into_boxed_slice(), end: 0 }
    }
}

impl ReceiveWindow {
    /// A window before the first packet of a lane, which is `number`.
    #[must_use]
    pub fn beginning_at(number: u64) -> Self {
        Self { end: number, ..Self::default() }
    }

    /// One more than the highest packet number seen; 0 before the first.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.end
    }

    /// The lowest packet number the window still knows.
    #[must_use]
    pub const fn start(&self) -> u64 {
        self.end.saturating_sub(WINDOW)
    }

    /// The packet number nearest to the window's end that ends in `low`, its lower [`NUMBER_BITS`] bits: within the window and as far ahead
    /// there is one only.
    #[must_use]
    pub fn widen(&self, low: u32) -> u64 {
        const SPAN: u64 = 1 << NUMBER_BITS;
        let ahead = u64::from(low).wrapping_sub(self.end) % SPAN;
        let ahead_of_last_lap = (self.end + ahead).checked_sub(SPAN).filter(|_| ahead >= SPAN / 2);
        ahead_of_last_lap.unwrap_or(self.end + ahead)
    }

    /// What `number` would be.
    #[must_use]
    pub fn look(&self, number: u64) -> Seen {
        if number >= self.end {
            return if number - self.end < WINDOW { Seen::New } else { Seen::TooFar };
        }
        if number < self.start() {
            return Seen::TooOld;
        }
        if self.bit(number) { Seen::Before } else { Seen::New }
    }

    /// Marks `number` as seen; the window slides so that it holds it.
    pub fn mark(&mut self, number: u64) {
        if number >= self.end {
            self.slide(number + 1);
        }
        if number >= self.start() {
            self.bits[word(number)] |= 1 << (number % 64);
        }
    }

    /// The missing numbers of `from..to` as `(first, count)`, ascending, clipped to what the window knows.
    pub fn missing(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut at = from.max(self.start());
        let to = to.min(self.end);
        std::iter::from_fn(move || {
            let first = self.next(at, to, false)?;
            let end = self.next(first, to, true).unwrap_or(to);
            at = end;
            Some((first, end - first))
        })
    }

    /// The first number of `at..to` that has arrived (`seen`) or has not.
    fn next(&self, mut at: u64, to: u64, seen: bool) -> Option<u64> {
        while at < to {
            let bits = self.bits[word(at)];
            let wanted = if seen { bits } else { !bits } >> (at % 64);
            if wanted != 0 {
                let found = at + u64::from(wanted.trailing_zeros());
                return (found < to).then_some(found);
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }

    fn bit(&self, number: u64) -> bool {
        self.bits[word(number)] >> (number % 64) & 1 == 1
    }

    fn slide(&mut self, end: u64) {
        let mut at = if end - self.end >= WINDOW { end - WINDOW } else { self.end };
        while at < end {
            let upto = ((at / 64 + 1) * 64).min(end);
            let width = upto - at;
            let mask = if width == 64 { u64::MAX } else { ((1 << width) - 1) << (at % 64) };
            self.bits[word(at)] &= !mask;
            at = upto;
        }
        self.end = end;
    }
}

const fn word(number: u64) -> usize {
    (number / 64) as usize % WORDS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(window: &ReceiveWindow, from: u64, to: u64) -> Vec<(u64, u64)> {
        window.missing(from, to).collect()
    }

    #[test]
    fn gaps_are_found_and_close() {
        let mut window = ReceiveWindow::default();
        for number in [0, 1, 2, 70, 71, 200] {
            window.mark(number);
        }
        assert_eq!(missing(&window, 0, 201), [(3, 67), (72, 128)]);
        assert_eq!(missing(&window, 60, 72), [(60, 10)]);
        (3..70).for_each(|number| window.mark(number));
        assert_eq!(missing(&window, 0, 100), [(72, 28)]);
    }

    #[test]
    fn a_number_is_new_once() {
        let mut window = ReceiveWindow::default();
        assert_eq!(window.look(5), Seen::New);
        window.mark(5);
        assert_eq!(window.look(5), Seen::Before);
        assert_eq!(window.look(4), Seen::New);
        assert_eq!(window.look(6 + WINDOW), Seen::TooFar);
        window.mark(5 + WINDOW);
        assert_eq!(window.look(5), Seen::TooOld);
        assert_eq!(window.look(7), Seen::New);
    }

    #[test]
    fn numbers_are_known_by_their_lower_bits_within_the_window_and_as_far_ahead() {
        let lap = 1 << NUMBER_BITS;
        let low = |number: u64| (number % lap) as u32;
        let mut window = ReceiveWindow::default();
        for number in [0, 5, WINDOW - 1] {
            assert_eq!(window.widen(low(number)), number);
        }
        for end in [1, WINDOW, lap / 2, lap - 1, lap, lap + 1, 7 * lap - 3, (1 << 40) + 5] {
            window = ReceiveWindow { end, ..window };
            for number in [window.start(), end - 1, end, end + 1, end + WINDOW - 1] {
                assert_eq!(window.widen(low(number)), number, "{number} at {end}");
            }
        }
    }

    #[test]
    fn numbers_of_an_earlier_lap_do_not_show() {
        let mut window = ReceiveWindow::default();
        (0..1000).for_each(|number| window.mark(number));
        window.mark(WINDOW + 999);
        assert_eq!(missing(&window, 0, WINDOW + 1000), [(1000, WINDOW - 1)]);
        window.mark(10 * WINDOW);
        assert_eq!(missing(&window, 0, u64::MAX), [(9 * WINDOW + 1, WINDOW - 1)]);
    }
}
