//! How far a stored value may be off: by what can be told apart of it.

use crate::TransferFunction;
use crate::transfer_function::REFERENCE_LENGTH;

/// Largest code of a value.
pub(super) const TOP_CODE: u16 = 1023;

const TOP: f32 = TOP_CODE as f32;

/// Parts of the range that errors are looked up by.
const BINS: usize = 1024;
/// Largest error of a colour or opacity over one plane's distance that is not worth a knot.
const LOOK: f32 = 0.001;
/// Errors allowed everywhere, as a share of the range: little more than codes round off.
const LEAST: f32 = 0.0007;
/// Errors allowed at most: the transfer function may be changed.
const MOST: f32 = 0.05;
/// Share of the distance to the next value that looks different: between rays, values are mixed, so that what is
/// invisible itself shows beside a shell.
const CAUTION: f32 = 0.25;

/// Values as codes over a range, and the error allowed of each.
pub(super) struct Tolerance {
    lo: f32,
    scale: f32,
    /// Reciprocals of allowed errors in codes, per bin.
    weights: Vec<f32>,
}

impl Tolerance {
    /// For values that are kept over `range` and seen through `function` over the range `shown`, at planes `spacing` apart.
    pub(super) fn new(function: &TransferFunction, shown: [f32; 2], range: [f32; 2], spacing: f64) -> Self {
        let look = |bin: usize| {
            let value = range[0] + (bin as f32 + 0.5) / BINS as f32 * (range[1] - range[0]);
            let [r, g, b, a] = function.evaluate((value - shown[0]) / (shown[1] - shown[0]));
            let alpha = 1.0 - (1.0 - a).powf((spacing / REFERENCE_LENGTH) as f32);
            [r * alpha, g * alpha, b * alpha, alpha]
        };
        let looks: Vec<[f32; 4]> = (0..BINS).map(look).collect();
        let differ = |a: usize, b: usize| (0..4).any(|c| (looks[a][c] - looks[b][c]).abs() > LOOK);
        let farthest = (MOST / CAUTION * BINS as f32) as usize;
        let weight = |bin: usize| {
            let unlike = |n: &usize| (bin >= *n && differ(bin, bin - n)) || (bin + n < BINS && differ(bin, bin + n));
            let distance = (1..=farthest).find(unlike).unwrap_or(farthest + 1) - 1;
            let allowed = (CAUTION * distance as f32 / BINS as f32).clamp(LEAST, MOST);
            1.0 / (allowed * TOP)
        };
        Self { lo: range[0], scale: TOP / (range[1] - range[0]), weights: (0..BINS).map(weight).collect() }
    }

    /// A value in codes, not rounded; values outside the range are at its ends.
    pub(super) fn code(&self, value: f32) -> f32 {
        ((value - self.lo) * self.scale).clamp(0.0, TOP)
    }

    /// By what errors at `code` are multiplied to be 1 where they are just allowed.
    pub(super) fn weight(&self, code: f32) -> f32 {
        self.weights[((code / TOP * BINS as f32) as usize).min(BINS - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_are_kept_more_exactly_than_what_is_invisible() {
        let shell = |s: f32, a: f32| [s, 1.0, 1.0, 1.0, a];
        let points = vec![shell(0.4, 0.0), shell(0.42, 0.9), shell(0.44, 0.0)];
        let range = [-1.0, 1.0];
        let tolerance = Tolerance::new(&TransferFunction { range: None, points }, range, range, 0.01);
        let allowed = |value: f32| 1.0 / tolerance.weight(tolerance.code(value)) / TOP;
        assert!((allowed(-0.18) - LEAST).abs() < 1e-6);
        assert!((allowed(0.9) / MOST - 1.0).abs() < 1e-2);
        assert!(allowed(-0.25) < allowed(-0.3) && allowed(-0.3) < 0.5 * MOST);
    }
}
