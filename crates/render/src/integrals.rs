//! Integrals of the transfer function over the value: what a piece of ray shows, from its two ends alone.

use crate::TransferFunction;
use crate::transfer_function::{BELOW, REFERENCE_LENGTH};

/// Largest opacity over the reference length; above, the sums would lose what is faint.
const MOST_OPACITY: f64 = 1.0 - 1.0 / 4096.0;

/// Optical depth per length, and colour weighted with it, summed over the values from the range's low end on.
///
/// Where the value goes linearly from one to another along a piece of ray, the mean over the piece is the mean over the values
/// between, so two sums replace any number of samples: shells are met however thin they are (Engel, Kraus & Ertl 2001).
pub(crate) struct Integrals {
    /// Sums of `[r tau, g tau, b tau, tau]` at `s = i / BINS`.
    sums: Vec<[f64; 4]>,
    /// What is summed below s = 0 and above s = 1.
    ends: [[f64; 4]; 2],
    /// For values that are closer to one another than bins are wide.
    function: TransferFunction,
    lo: f64,
    per_value: f64,
}

impl Integrals {
    /// Bins that divide the range.
    const BINS: usize = 4096;
    /// Places evaluated for the mean of a bin.
    const PLACES: usize = 4;

    /// The integrals of `function` over the values of `range`, which has a width.
    pub(crate) fn new(function: &TransferFunction, range: [f32; 2]) -> Self {
        let density = |s: f64| density(function, s);
        let places = (Self::BINS * Self::PLACES) as f64;
        let mut sum = [0.0; 4];
        let mut sums = vec![sum];
        for place in 0..Self::BINS * Self::PLACES {
            let here = density((place as f64 + 0.5) / places);
            sum = std::array::from_fn(|c| sum[c] + here[c] / places);
            if (place + 1) % Self::PLACES == 0 {
                sums.push(sum);
            }
        }
        let lo = f64::from(range[0]);
        let per_value = 1.0 / (f64::from(range[1]) - lo);
        Self { sums, ends: [density(BELOW), density(1.0)], function: function.clone(), lo, per_value }
    }

    /// Associated colour of a piece of ray of a world `length` along which the value goes from `front` to `back`.
    pub(crate) fn piece(&self, front: f32, back: f32, length: f64) -> [f64; 4] {
        let [front, back] = [front, back].map(|value| self.place(value));
        let apart = (back - front).abs();
        let mean = if apart < 1.0 / Self::BINS as f64 {
            // Where much of a field has one value, and that is where opacity begins, the mean of a bin would be seen.
            density(&self.function, (front + back) / 2.0)
        } else {
            let (below, above) = (self.up_to(front.min(back)), self.up_to(front.max(back)));
            std::array::from_fn(|c| (above[c] - below[c]) / apart)
        };
        let [r, g, b, tau] = mean;
        if tau <= 0.0 {
            return [0.0; 4];
        }
        let alpha = 1.0 - (-tau * length).exp();
        [r / tau * alpha, g / tau * alpha, b / tau * alpha, alpha]
    }

    /// Whether anything between two values is visible.
    pub(crate) fn shows(&self, [lo, hi]: [f32; 2]) -> bool {
        let [from, to] = [lo, hi].map(|value| self.place(value));
        let half_a_bin = 0.5 / Self::BINS as f64;
        let is_shown_beyond =
            from < half_a_bin && self.ends[0][3] > 0.0 || to > 1.0 - half_a_bin && self.ends[1][3] > 0.0;
        lo <= hi
            && (is_shown_beyond || {
                let bin = |place: f64| (place.clamp(0.0, 1.0) * Self::BINS as f64) as usize;
                let (first, end) = (bin(from).min(Self::BINS - 1), (bin(to) + 1).min(Self::BINS));
                self.sums[end][3] > self.sums[first][3]
            })
    }

    fn place(&self, value: f32) -> f64 {
        (f64::from(value) - self.lo) * self.per_value
    }

    fn up_to(&self, s: f64) -> [f64; 4] {
        let held = s.clamp(0.0, 1.0);
        let place = held * Self::BINS as f64;
        let bin = (place as usize).min(Self::BINS - 1);
        let share = place - bin as f64;
        let (before, after) = (self.sums[bin], self.sums[bin + 1]);
        let end = self.ends[usize::from(s > 0.5)];
        std::array::from_fn(|c| before[c] + share * (after[c] - before[c]) + (s - held) * end[c])
    }
}

/// Optical depth per length, and colour weighted with it.
fn density(function: &TransferFunction, s: f64) -> [f64; 4] {
    let [r, g, b, a] = function.evaluate(s as f32).map(f64::from);
    let tau = -(1.0 - a.min(MOST_OPACITY)).ln() / REFERENCE_LENGTH;
    [r * tau, g * tau, b * tau, tau]
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: [f32; 2] = [10.0, 30.0];

    fn shell() -> TransferFunction {
        let points = vec![[0.5, 0.2, 0.4, 0.6, 0.0], [0.502, 0.2, 0.4, 0.6, 0.7], [0.504, 0.2, 0.4, 0.6, 0.0]];
        TransferFunction { range: Some(RANGE), points }
    }

    #[test]
    fn a_value_where_opacity_begins_is_not_seen() {
        // Between the places at which sums are kept.
        let begins = 0.300_01;
        let points = vec![[0.0; 5], [begins, 0.5, 0.5, 0.5, 0.0], [1.0, 0.5, 0.5, 0.5, 0.9]];
        let integrals = Integrals::new(&TransferFunction { range: Some([0.0, 1.0]), points }, [0.0, 1.0]);
        assert_eq!(integrals.piece(begins, begins, 2.0), [0.0; 4]);
        let [.., close] = integrals.piece(0.5, 0.500_01, 0.1);
        let [.., apart] = integrals.piece(0.5, 0.501, 0.1);
        assert!((close / apart - 1.0).abs() < 2e-3 && close > 0.0);
    }

    #[test]
    fn a_piece_shows_what_many_samples_along_it_show() {
        let integrals = Integrals::new(&shell(), RANGE);
        for (front, back, length) in [(10.0, 30.0, 0.3), (21.0, 19.5, 0.01), (15.0, 20.03, 0.1), (20.02, 20.02, 0.002)]
        {
            let count = 100_000;
            let mut depth = 0.0;
            for i in 0..count {
                let share = (f64::from(i) + 0.5) / f64::from(count);
                let s = (f64::from(front) + share * f64::from(back - front) - 10.0) / 20.0;
                depth -= (1.0 - f64::from(shell().evaluate(s as f32)[3])).ln() / REFERENCE_LENGTH / f64::from(count);
            }
            let alpha = 1.0 - (-depth * length).exp();
            let [r, g, b, a] = integrals.piece(front, back, length);
            assert!((a - alpha).abs() < 0.01 * alpha, "{front} to {back}: {a} is not {alpha}");
            assert!((r - 0.2 * a).abs() < 1e-6 && (g - 0.4 * a).abs() < 1e-6 && (b - 0.6 * a).abs() < 1e-6);
        }
    }

    #[test]
    fn values_outside_the_range_take_what_its_ends_have() {
        let points = vec![[0.0, 1.0, 0.0, 0.0, 0.3], [0.5, 0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0, 0.8]];
        let integrals = Integrals::new(&TransferFunction { range: Some(RANGE), points }, RANGE);
        for (value, alpha) in [(-5.0, 0.3), (90.0, 0.8)] {
            let [.., a] = integrals.piece(value, value + 1.0, REFERENCE_LENGTH);
            assert!((a - alpha).abs() < 1e-6, "{a} is not {alpha}");
        }
    }

    #[test]
    fn values_below_the_range_take_the_first_of_two_points_at_its_start() {
        let points = vec![[0.0, 1.0, 0.0, 0.0, 0.3], [0.0, 0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0, 0.0]];
        let integrals = Integrals::new(&TransferFunction { range: Some(RANGE), points }, RANGE);
        let [r, _, _, a] = integrals.piece(5.0, 9.0, REFERENCE_LENGTH);
        assert!((a - 0.3).abs() < 1e-6 && (r - a).abs() < 1e-6, "{a} is not 0.3");
        assert_eq!(integrals.piece(11.0, 29.0, REFERENCE_LENGTH)[3], 0.0);
        assert!(integrals.shows([5.0, 9.0]) && !integrals.shows([11.0, 29.0]));
    }

    #[test]
    fn what_shows_between_two_values_is_never_passed_over() {
        let integrals = Integrals::new(&shell(), RANGE);
        assert!(integrals.shows([12.0, 28.0]) && integrals.shows([20.04, 20.04]) && integrals.shows([-9.0, 99.0]));
        assert!(!integrals.shows([10.0, 19.9]) && !integrals.shows([20.2, 99.0]));
        assert!(!integrals.shows([f32::INFINITY, f32::NEG_INFINITY]));
    }

    #[test]
    fn both_directions_of_a_piece_show_the_same() {
        let integrals = Integrals::new(&shell(), RANGE);
        assert_eq!(integrals.piece(12.0, 21.0, 0.2), integrals.piece(21.0, 12.0, 0.2));
    }
}
