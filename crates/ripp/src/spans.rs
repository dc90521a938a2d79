//! A set of byte ranges: what of an object has arrived, or is still to be sent again.

use std::collections::BTreeMap;

/// Disjoint, non-adjacent half-open ranges.
#[derive(Clone, Debug, Default)]
pub struct Spans {
    /// start -> end
    ranges: BTreeMap<u64, u64>,
    covered: u64,
}

impl Spans {
    /// Bytes covered.
    #[must_use]
    pub const fn covered(&self) -> u64 {
        self.covered
    }

    /// Number of ranges: what the set costs.
    #[must_use]
    pub fn count(&self) -> usize {
        self.ranges.len()
    }

    /// Nothing is covered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The ranges, ascending, as `(start, end)`.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.ranges.iter().map(|(&start, &end)| (start, end))
    }

    /// `start..end` overlaps or adjoins a range of the set: adding it does not add a range.
    #[must_use]
    pub fn touches(&self, start: u64, end: u64) -> bool {
        self.ranges.range(..=end).next_back().is_some_and(|(_, &old_end)| old_end >= start)
    }

    /// Adds `start..end` and calls `fresh` with each part of it that was not covered yet.
    pub fn insert(&mut self, start: u64, end: u64, mut fresh: impl FnMut(u64, u64)) {
        if start >= end {
            return;
        }
        // The usual case: bytes that continue the last range.
        if let Some(mut last) = self.ranges.last_entry()
            && *last.key() <= start
            && *last.get() == start
        {
            *last.get_mut() = end;
            self.covered += end - start;
            fresh(start, end);
            return;
        }
        let mut merged = (start, end);
        let mut at = start;
        let first = self
            .ranges
            .range(..=start)
            .next_back()
            .filter(|&(_, &old_end)| old_end >= start)
            .map_or(start, |(&old, _)| old);
        while let Some((&old_start, &old_end)) = self.ranges.range(first.min(merged.0)..=end).next() {
            if at < old_start {
                fresh(at, old_start);
                self.covered += old_start - at;
            }
            at = at.max(old_end);
            merged = (merged.0.min(old_start), merged.1.max(old_end));
            self.ranges.remove(&old_start);
        }
        if at < end {
            fresh(at, end);
            self.covered += end - at;
        }
        self.ranges.insert(merged.0, merged.1);
    }

    /// Takes up to `most` bytes from the lowest range.
    pub fn take(&mut self, most: u64) -> Option<(u64, u64)> {
        let (start, end) = self.ranges.pop_first()?;
        let cut = end.min(start.saturating_add(most));
        if cut < end {
            self.ranges.insert(cut, end);
        }
        self.covered -= cut - start;
        Some((start, cut))
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.ranges.clear();
        self.covered = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small deterministic sequence of numbers (a linear congruential generator, constants of Knuth's MMIX).
    fn numbers(mut state: u64) -> impl Iterator<Item = u64> {
        std::iter::from_fn(move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            Some(state >> 33)
        })
    }

    #[test]
    fn neighbours_touch() {
        let mut spans = Spans::default();
        spans.insert(10, 20, |_, _| ());
        spans.insert(40, 50, |_, _| ());
        for (start, end, touches) in [(0, 9, false), (0, 10, true), (20, 21, true), (21, 39, false), (21, 60, true)] {
            assert_eq!(spans.touches(start, end), touches, "{start}..{end}");
        }
    }

    #[test]
    fn it_agrees_with_a_bitmap() {
        let mut draws = numbers(1);
        let mut spans = Spans::default();
        let mut model = [false; 300];
        for _ in 0..2000 {
            if draws.next().unwrap().is_multiple_of(4) {
                let most = draws.next().unwrap() % 20 + 1;
                if let Some((start, end)) = spans.take(most) {
                    (start..end).for_each(|at| assert!(std::mem::replace(&mut model[at as usize], false)));
                }
            } else {
                let start = draws.next().unwrap() % 280;
                let end = start + draws.next().unwrap() % 20;
                spans.insert(start, end, |from, to| {
                    (from..to)
                        .for_each(|at| assert!(!std::mem::replace(&mut model[at as usize], true), "{at} told twice"));
                });
                (start..end).for_each(|at| assert!(model[at as usize], "{at} not told"));
            }
            assert_eq!(spans.covered(), model.iter().filter(|&&on| on).count() as u64);
            let runs = model.windows(2).filter(|pair| !pair[0] && pair[1]).count() + usize::from(model[0]);
            assert!(spans.count() >= runs && spans.iter().zip(spans.iter().skip(1)).all(|(a, b)| a.1 <= b.0));
        }
    }
}
