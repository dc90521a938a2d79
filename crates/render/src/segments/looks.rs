//! Colour and opacity between two values: the transfer function, integrated over the values passed (Engel 2001).

use crate::TransferFunction;
use crate::transfer_function::REFERENCE_LENGTH;

/// Parts of the range; as fine as the table of the exact renderer is steep.
const BINS: usize = 4096;
/// Places evaluated for the mean of a bin.
const PLACES: usize = 4;
/// Optical depth of a reference length that counts as opaque: a transparency of one millionth.
const OPAQUE: f64 = 13.8;
/// Values this near, in bins, are looked up, not integrated.
const NEAR: f32 = 0.05;

/// Extinction and extinction times colour, per unit of length, over the codes of a keyframe.
pub(super) struct Looks {
    scale: f32,
    /// Means of each bin: extinction times colour, and extinction.
    bins: Vec<[f64; 4]>,
    /// Sums of all bins before each.
    before: Vec<[f64; 4]>,
}

impl Looks {
    /// For values that are shares of `range`, times `top`.
    pub(super) fn new(function: &TransferFunction, range: [f32; 2], top: f32) -> Self {
        let [lo, hi] = function.range.unwrap_or(range);
        let share = |part: f32| {
            let value = range[0] + part * (range[1] - range[0]);
            if lo < hi { (value - lo) / (hi - lo) } else { 0.5 }
        };
        let mean = |bin: usize| {
            let mut sum = [0.0; 4];
            for place in 0..PLACES {
                let part = (bin as f32 + (place as f32 + 0.5) / PLACES as f32) / BINS as f32;
                let [r, g, b, a] = function.evaluate(share(part)).map(f64::from);
                let extinction = (-(1.0 - a).ln()).min(OPAQUE) / REFERENCE_LENGTH / PLACES as f64;
                sum = add(sum, [r * extinction, g * extinction, b * extinction, extinction]);
            }
            sum
        };
        let bins: Vec<[f64; 4]> = (0..BINS).map(mean).collect();
        let mut before = vec![[0.0; 4]];
        before.extend(bins.iter().scan([0.0; 4], |sum, bin| {
            *sum = add(*sum, *bin);
            Some(*sum)
        }));
        Self { scale: BINS as f32 / top, bins, before }
    }

    /// Mean extinction times colour, and mean extinction, over the values from `a` to `b`.
    #[inline(always)]
    pub(super) fn between(&self, a: f32, b: f32) -> [f64; 4] {
        let (a, b) = (self.place(a), self.place(b));
        if (a - b).abs() < NEAR {
            return self.bins[(a as usize).min(BINS - 1)];
        }
        let (from, to, length) = (self.sum(a), self.sum(b), f64::from(b - a));
        std::array::from_fn(|c| (to[c] - from[c]) / length)
    }

    /// Whether anything between two values is visible.
    pub(super) fn shows(&self, [lo, hi]: [f32; 2]) -> bool {
        lo <= hi && {
            let end = (self.place(hi) as usize + 1).min(BINS);
            self.before[end][3] > self.before[(self.place(lo) as usize).min(BINS - 1)][3]
        }
    }

    fn place(&self, value: f32) -> f32 {
        (value * self.scale).clamp(0.0, BINS as f32)
    }

    fn sum(&self, place: f32) -> [f64; 4] {
        let bin = (place as usize).min(BINS - 1);
        let part = f64::from(place) - bin as f64;
        std::array::from_fn(|c| self.before[bin][c] + part * self.bins[bin][c])
    }
}

fn add(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
    std::array::from_fn(|c| a[c] + b[c])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell() -> TransferFunction {
        let point = |s: f32, a: f32| [s, 1.0, 0.5, 0.0, a];
        TransferFunction { range: Some([0.0, 2.0]), points: vec![point(0.5, 0.0), point(0.51, 0.6), point(0.52, 0.0)] }
    }

    #[test]
    fn a_shell_between_two_values_is_not_missed() {
        let looks = Looks::new(&shell(), [0.0, 2.0], 1023.0);
        let [r, g, b, extinction] = looks.between(200.0, 900.0);
        let [.., reverse] = looks.between(900.0, 200.0);
        let whole: f64 = (0..100_000).map(|i| -(1.0 - f64::from(shell().evaluate(i as f32 / 1e5)[3])).ln()).sum();
        let expected = whole / 1e5 / REFERENCE_LENGTH * 1023.0 / 700.0;
        assert!((extinction / expected - 1.0).abs() < 1e-3, "{extinction} is not {expected}");
        assert!((reverse - extinction).abs() < 1e-9 && b == 0.0 && (g * 2.0 - r).abs() < 1e-9);
        assert!(looks.shows([200.0, 900.0]) && !looks.shows([0.0, 500.0]) && !looks.shows([540.0, 2000.0]));
    }

    #[test]
    fn a_range_other_than_the_stored_one_is_looked_up_where_its_values_are() {
        let looks = Looks::new(&shell(), [1.0, 1.04], 1023.0);
        assert!(looks.between(511.0, 511.0)[3] > 0.0);
        assert!(looks.between(511.5, 511.5)[3] > 10.0 * looks.between(20.0, 20.0)[3]);
    }
}
