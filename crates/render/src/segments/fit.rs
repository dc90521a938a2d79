//! From the samples of a ray to knots: one more wherever the cubics are farthest off, until all are close enough.
//!
//! Invariant: a ray has at most [`MAX_KNOTS`] knots, however its values are broken up.

use std::ops::Range;

use super::line::{Knot, cubic};
use super::tolerance::Tolerance;
use crate::cpu::{Lanes, Task, run_best};

/// Most knots of a ray, so that their number is a byte.
pub(super) const MAX_KNOTS: usize = 255;
/// Errors that are worked out together.
const TOGETHER: usize = 8;

/// Values of a ray.
#[derive(Default)]
struct Exact {
    codes: Vec<f32>,
    /// Of errors.
    weights: Vec<f32>,
}

/// Makes knots ray after ray in the same memory.
#[derive(Default)]
pub(super) struct Fit {
    exact: Exact,
    /// Per segment the largest weighted error, and where it is.
    worst: Vec<(f32, usize)>,
}

impl Fit {
    /// Knots of `values` at planes from `first` on, NaN where they are missing; at most `segments` segments, and as many more as runs need.
    pub(super) fn knots(&mut self, values: &[f32], first: usize, segments: usize, tolerance: &Tolerance) -> Vec<Knot> {
        self.exact.codes.clear();
        self.exact.codes.extend(values.iter().map(|&value| tolerance.code(value)));
        self.exact.weights.clear();
        self.exact.weights.extend(self.exact.codes.iter().map(|&code| tolerance.weight(code)));
        let knots = self.ends(runs(values), first);
        let runs = knots.iter().filter(|knot| knot.starts_run).count();
        let most = (segments + runs).min(MAX_KNOTS);
        run_best(Fitting { fit: self, first, most, knots })
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
        Knot { plane: (first + place) as u16, code: self.exact.codes[place].round() as u16, starts_run }
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

/// Adds knots between the ends of runs, up to so many.
struct Fitting<'a> {
    fit: &'a mut Fit,
    first: usize,
    most: usize,
    knots: Vec<Knot>,
}

impl Task for Fitting<'_> {
    type Output = Vec<Knot>;

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) -> Vec<Knot> {
        let Self { fit, first, most, mut knots } = self;
        fit.worst.clear();
        for i in 1..knots.len() {
            fit.worst.push(worst_of(&fit.exact, first, &knots, i - 1));
        }
        while knots.len() < most {
            let largest = fit.worst.iter().enumerate().max_by(|a, b| a.1.0.total_cmp(&b.1.0));
            let Some((i, &(_, place))) = largest.filter(|(_, (error, _))| *error > 1.0) else { break };
            knots.insert(i + 1, fit.knot(first, place, false));
            fit.worst.insert(i, (0.0, 0));
            // The slopes of four knots at most have changed, and with them five segments.
            for j in i.saturating_sub(2)..(i + 4).min(fit.worst.len()) {
                fit.worst[j] = worst_of(&fit.exact, first, &knots, j);
            }
        }
        knots
    }
}

/// The largest weighted error of segment `i`, and its place in `exact`.
#[inline(always)]
fn worst_of(exact: &Exact, first: usize, knots: &[Knot], i: usize) -> (f32, usize) {
    let Some(cubic) = cubic(knots, i) else { return (0.0, 0) };
    let (from, to) = (usize::from(knots[i].plane) - first, usize::from(knots[i + 1].plane) - first);
    let scale = 1.0 / (to - from) as f64;
    let (codes, weights) = (&exact.codes[from + 1..to], &exact.weights[from + 1..to]);
    let error = |k: usize, code: f32, weight: f32| (cubic.at((k + 1) as f64 * scale) as f32 - code).abs() * weight;
    let mut worst = (0.0, from);
    let mut start = 0;
    for (codes, weights) in codes.as_chunks::<TOGETHER>().0.iter().zip(weights.as_chunks::<TOGETHER>().0) {
        let mut errors = [0.0_f32; TOGETHER];
        for k in 0..TOGETHER {
            errors[k] = error(start + k, codes[k], weights[k]);
        }
        // Seldom: where the largest lies is looked for only if it is larger than all before.
        if errors.iter().any(|error| *error > worst.0) {
            for (k, error) in errors.into_iter().enumerate() {
                if error > worst.0 {
                    worst = (error, from + 1 + start + k);
                }
            }
        }
        start += TOGETHER;
    }
    for k in start..codes.len() {
        let error = error(k, codes[k], weights[k]);
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
        let codes: Vec<f32> = values.iter().map(|&value| even().code(value)).collect();
        let exact = Exact { weights: codes.iter().map(|&code| even().weight(code)).collect(), codes };
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
