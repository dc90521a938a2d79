//! The transfer function as a table: associated colour and opacity of one sample, by value.

use rayon::prelude::*;

use crate::TransferFunction;
use crate::transfer_function::{BELOW, REFERENCE_LENGTH};

/// One row of a table: associated RGBA, on its own 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(16))]
pub(crate) struct Entry(pub(crate) [f32; 4]);

/// Entry 0 is for missing values, 1 for values below the range, the last for values above it; the bins between divide
/// the range equally and hold the mean over their part of it, so that thin shells keep their opacity.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    entries: Vec<Entry>,
    /// Number of visible entries before each entry.
    visible_before: Vec<u32>,
    lo: f32,
    scale: f32,
}

impl Table {
    /// Bins that divide the range.
    pub(crate) const BINS: usize = 16384;
    /// Entries of every table.
    pub(crate) const LEN: usize = Self::BINS + 3;
    /// Entry of the first bin.
    const SHIFT: f32 = 2.0;
    /// Places evaluated for the mean of a bin.
    const PLACES: usize = 4;

    /// The table for samples that stand for a length `dt` each, over the values of `range`.
    pub(crate) fn new(function: &TransferFunction, range: [f32; 2], dt: f64) -> Self {
        let place = |s: f64| {
            let [r, g, b, a] = function.evaluate(s as f32).map(f64::from);
            let alpha = 1.0 - (1.0 - a).powf(dt / REFERENCE_LENGTH);
            [r * alpha, g * alpha, b * alpha, alpha]
        };
        let width = f64::from(range[1]) - f64::from(range[0]);
        // A range of less than some 5e-35 has fewer bins: more a factor of f32 cannot tell apart.
        let scale = (Self::BINS as f64 / width).min(f64::from(f32::MAX));
        let bins = (scale * width).min(Self::BINS as f64);
        let bin = |bin: usize| {
            let mut sum = [0.0; 4];
            for i in 0..Self::PLACES {
                let color = place(((bin as f64 + (i as f64 + 0.5) / Self::PLACES as f64) / bins).min(1.0));
                sum = std::array::from_fn(|c| sum[c] + color[c]);
            }
            Entry(sum.map(|c| (c / Self::PLACES as f64) as f32))
        };
        let mut entries = Vec::with_capacity(Self::LEN);
        entries.extend([Entry([0.0; 4]), Entry(place(BELOW).map(|c| c as f32))]);
        entries.par_extend((0..Self::BINS).into_par_iter().map(bin));
        entries.push(Entry(place(1.0).map(|c| c as f32)));
        let mut visible = 0;
        let count = |entry: &Entry| {
            let before = visible;
            visible += u32::from(entry.0[3] > 0.0);
            before
        };
        let visible_before = entries.iter().map(count).collect();
        Self { entries, visible_before, lo: range[0], scale: scale as f32 }
    }

    /// Exactly [`Table::LEN`] entries.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// `lo`, `scale` and `shift` of `index = truncate(clamp((value - lo) * scale + shift, 1, LEN - 1))`, 0 for NaN.
    pub(crate) fn index_map(&self) -> [f32; 3] {
        [self.lo, self.scale, Self::SHIFT]
    }

    /// Number of visible entries before each entry.
    pub(crate) fn visible_before(&self) -> &[u32] {
        &self.visible_before
    }

    /// Colour and opacity of one sample of `value`.
    pub(crate) fn entry(&self, value: f32) -> [f32; 4] {
        self.entries[self.index(value)].0
    }

    /// Entry of `value`; NaN stays NaN until the conversion makes it 0.
    pub(crate) fn index(&self, value: f32) -> usize {
        ((value - self.lo) * self.scale + Self::SHIFT).clamp(1.0, (Self::LEN - 1) as f32) as usize
    }

    /// Whether any value between `lo` and `hi` is visible, rounding included.
    pub(crate) fn any_visible(&self, [lo, hi]: [f32; 2]) -> bool {
        if lo > hi {
            return false;
        }
        let first = (self.index(lo) - 1).max(1);
        let last = (self.index(hi) + 1).min(Self::LEN - 1);
        let visible = |entry: usize| self.entries[entry].0[3] > 0.0;
        self.visible_before[first] < self.visible_before[last] || visible(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell() -> Table {
        let points = vec![[0.5, 1.0, 1.0, 1.0, 0.0], [0.501, 1.0, 1.0, 1.0, 0.5], [0.502, 1.0, 1.0, 1.0, 0.0]];
        Table::new(&TransferFunction { range: None, points }, [-10.0, 10.0], REFERENCE_LENGTH)
    }

    #[test]
    fn a_thin_shell_keeps_its_mean_opacity() {
        let table = shell();
        let sum: f32 = table.entries().iter().map(|entry| entry.0[3]).sum();
        let expected = 0.5 * 0.002 * 0.5 * Table::BINS as f32;
        assert!((sum - expected).abs() < 0.01 * expected, "{sum} is not {expected}");
    }

    #[test]
    fn what_is_below_the_range_has_the_first_of_two_points_at_its_start() {
        let points = vec![[0.0, 1.0, 0.0, 0.0, 0.75], [0.0, 0.0, 1.0, 0.0, 0.25], [1.0, 0.0, 0.0, 1.0, 0.25]];
        let table = Table::new(&TransferFunction { range: None, points }, [2.0, 3.0], REFERENCE_LENGTH);
        assert_eq!(table.entry(1.9), [0.75, 0.0, 0.0, 0.75]);
        let [r, g, _, a] = table.entry(2.0);
        assert!(r < 1e-3 && (g - 0.25).abs() < 1e-3 && (a - 0.25).abs() < 1e-3, "{r} {g} {a}");
    }

    #[test]
    fn values_of_a_tiny_range_have_their_places_in_it() {
        let points = vec![[0.0, 0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0, 1.0]];
        let function = TransferFunction { range: None, points };
        for width in [1e-30, 1e-35, 1e-36] {
            let table = Table::new(&function, [0.0, width], REFERENCE_LENGTH);
            for (value, alpha) in [(0.0, 0.0), (0.25 * width, 0.25), (0.5 * width, 0.5), (width, 1.0)] {
                assert!((table.entry(value)[3] - alpha).abs() < 5e-3, "{value} of {width}: {:?}", table.entry(value));
            }
            assert!(table.any_visible([0.0, width]));
        }
        // Of this one f32 tells nothing apart any more.
        assert!(Table::new(&function, [0.0, 1e-44], REFERENCE_LENGTH).any_visible([0.0, 1e-44]));
    }

    #[test]
    fn ranges_that_touch_the_shell_are_visible_and_others_are_not() {
        let table = shell();
        for (range, visible) in [
            ([-10.0, 10.0], true),
            ([0.019, 0.021], true),
            ([-3.0, 0.02], true),
            ([-3.0, -0.02], false),
            ([0.06, 90.0], false),
            ([f32::INFINITY, f32::NEG_INFINITY], false),
        ] {
            assert_eq!(table.any_visible(range), visible, "{range:?}");
        }
    }
}
