//! From the samples of a ray to knots: one more wherever the cubics are farthest off, until all are close enough.
//!
//! Invariant: a ray has at most [`MAX_KNOTS`] knots, however its values are broken up.

use std::ops::Range;

use super::line::{Knot, cubic};
use super::tolerance::Tolerance;

/// Most knots of a ray, so that their number is a byte.
pub(super) const MAX_KNOTS: usize = 255;

/// Makes knots ray after ray in the same memory.
#[derive(Default)]
pub(super) struct Fit {
    /// Values in codes, and the weights of errors.
    exact: Vec<[f32; 2]>,
    /// Per segment the largest weighted error, and where it is.
    worst: Vec<(f32, usize)>,
}

impl Fit {
    /// Knots of `values` at planes from `first` on, NaN where they are missing; at most `segments` segments, and as many more as runs need.
    pub(super) fn knots(&mut self, values: &[f32], first: usize, segments: usize, tolerance: &Tolerance) -> Vec<Knot> {
        self.exact.clear();
        self.exact.extend(values.iter().map(|&value| {
            let code = tolerance.code(value);
            [code, tolerance.weight(code)]
        }));
        let mut knots = self.ends(runs(values), first);
        let runs = knots.iter().filter(|knot| knot.starts_run).count();
        self.worst.clear();
        self.worst.extend((1..knots.len()).map(|i| worst_of(&self.exact, first, &knots, i - 1)));
        while knots.len() < (segments + runs).min(MAX_KNOTS) {
            let largest = self.worst.iter().enumerate().max_by(|a, b| a.1.0.total_cmp(&b.1.0));
            let Some((i, &(_, place))) = largest.filter(|(_, (error, _))| *error > 1.0) else { break };
            knots.insert(i + 1, self.knot(first, place, false));
            self.worst.insert(i, (0.0, 0));
            // The slopes of four knots at most have changed, and with them five segments.
            for j in i.saturating_sub(2)..(i + 4).min(self.worst.len()) {
                self.worst[j] = worst_of(&self.exact, first, &knots, j);
            }
        }
        knots
    }

    /// The first and last knot of each run.
    fn ends(&self, runs: impl Iterator<Item = Range<usize>>, first: usize) -> Vec<Knot> {
        let mut knots = Vec::new();
        for run in runs.take(MAX_KNOTS / 2) {
            knots.push(self.knot(first, run.start, true));
            if run.len() > 1 {
                knots.push(self.knot(first, run.end - 1, false));
            }
        }
        knots
    }

    fn knot(&self, first: usize, place: usize, starts_run: bool) -> Knot {
        Knot { plane: (first + place) as u16, code: self.exact[place][0].round() as u16, starts_run }
    }
}

/// Where values are, one after another.
fn runs(values: &[f32]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        at += values[at..].iter().take_while(|value| value.is_nan()).count();
        let start = at;
        at += values[at..].iter().take_while(|value| !value.is_nan()).count();
        (start < at).then_some(start..at)
    })
}

/// The largest weighted error of segment `i`, and its place in `exact`.
fn worst_of(exact: &[[f32; 2]], first: usize, knots: &[Knot], i: usize) -> (f32, usize) {
    let Some(cubic) = cubic(knots, i) else { return (0.0, 0) };
    let (from, to) = (usize::from(knots[i].plane) - first, usize::from(knots[i + 1].plane) - first);
    let scale = 1.0 / (to - from) as f64;
    let mut worst = (0.0, from);
    for (k, &[code, weight]) in exact[from + 1..to].iter().enumerate() {
        let error = (cubic.at((k + 1) as f64 * scale) as f32 - code).abs() * weight;
        if error > worst.0 {
            worst = (error, from + 1 + k);
        }
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TransferFunction;
    use crate::testing::Random;

    fn even() -> Tolerance {
        let points = vec![[0.0, 0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0, 0.9]];
        Tolerance::new(&TransferFunction { range: None, points }, [0.0, 1.0], [0.0, 1.0], 0.01)
    }

    fn of(values: &[f32], segments: usize) -> Vec<Knot> {
        Fit::default().knots(values, 7, segments, &even())
    }

    #[test]
    fn a_parabola_needs_three_knots_and_a_constant_two() {
        let parabola: Vec<f32> = (0..200).map(|i| (i as f32 / 200.0).powi(2)).collect();
        assert!(of(&parabola, 64).len() <= 5);
        let constant = of(&[0.5; 200], 64);
        assert_eq!(constant.iter().map(|knot| knot.plane).collect::<Vec<_>>(), [7, 206]);
    }

    #[test]
    fn every_value_is_within_its_tolerance_where_knots_are_not_short() {
        let values: Vec<f32> =
            (0..300).map(|i| 0.5 + 0.4 * (i as f32 * 0.11).sin() * (i as f32 * 0.03).cos()).collect();
        let knots = of(&values, 200);
        let exact: Vec<[f32; 2]> = values.iter().map(|&v| [even().code(v), even().weight(even().code(v))]).collect();
        assert!(knots.len() < 120, "{}", knots.len());
        assert!((0..knots.len() - 1).all(|i| worst_of(&exact, 7, &knots, i).0 <= 1.0));
    }

    #[test]
    fn there_are_never_more_segments_than_asked_for() {
        let mut random = Random::new(3);
        let noise: Vec<f32> = (0..300).map(|_| random.unit()).collect();
        assert_eq!(of(&noise, 16).len(), 17);
    }

    #[test]
    fn missing_values_part_runs_however_many_there_are() {
        let mut values = vec![0.5; 20];
        values[5] = f32::NAN;
        values[6..9].fill(f32::NAN);
        values[0] = f32::NAN;
        let knots = of(&values, 16);
        let planes: Vec<(u16, bool)> = knots.iter().map(|knot| (knot.plane, knot.starts_run)).collect();
        assert_eq!(planes, [(8, true), (11, false), (16, true), (26, false)]);
        let broken: Vec<f32> = (0..4000).map(|i| if i % 3 == 0 { f32::NAN } else { 0.1 }).collect();
        assert!(of(&broken, 254).len() <= MAX_KNOTS);
        assert!(of(&[f32::NAN; 9], 4).is_empty() && of(&[], 4).is_empty());
    }
}
