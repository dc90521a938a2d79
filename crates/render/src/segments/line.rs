//! The field along one key ray: knots, and the cubic between two of them.
//!
//! In double precision and in this order of operations, which every decoder repeats: codes are predicted by it.
//! Slopes at knots are those of the parabola through three neighbouring knots of one run, so that none is stored.

use std::borrow::Cow;

/// A knot of a ray: the number of a depth plane, and the code of the value there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Knot {
    /// Which plane, counted from 0.
    pub plane: u16,
    /// The value as a share of the range, in 1/1023.
    pub code: u16,
    /// Nothing is known between the knot before and this one.
    pub starts_run: bool,
}

/// The cubic from knot `i` to the next, over 0..=1; `None` where a run or the ray ends.
pub(super) fn cubic(knots: &[Knot], i: usize) -> Option<Cubic> {
    cubic_of(knots, i, || [slope(knots, i), slope(knots, i + 1)])
}

/// Those from all knots to the next.
pub(super) fn cubics(knots: &[Knot]) -> impl Iterator<Item = Option<Cubic>> {
    let mut ahead = (!knots.is_empty()).then(|| slope(knots, 0));
    (0..knots.len()).map(move |i| {
        let here = ahead.take().unwrap_or_default();
        ahead = (i + 1 < knots.len()).then(|| slope(knots, i + 1));
        cubic_of(knots, i, || [here, ahead.unwrap_or_default()])
    })
}

/// The cubic from knot `i` to the next, of the slopes at both.
fn cubic_of(knots: &[Knot], i: usize, slopes: impl FnOnce() -> [f64; 2]) -> Option<Cubic> {
    let next = knots.get(i + 1).filter(|next| !next.starts_run)?;
    let length = f64::from(next.plane) - f64::from(knots[i].plane);
    Some(Cubic::hermite([knots[i].code, next.code].map(f64::from), slopes().map(|m| m * length)))
}

/// Change per plane at knot `i`.
fn slope(knots: &[Knot], i: usize) -> f64 {
    let continues = |i: usize| knots.get(i).is_some_and(|knot| !knot.starts_run);
    let before = i > 0 && continues(i);
    let after = continues(i + 1);
    match (before, after) {
        (true, true) => {
            let ([h0, d0], [h1, d1]) = (chord(knots, i - 1), chord(knots, i));
            (d0 * h1 + d1 * h0) / (h0 + h1)
        }
        (false, true) if continues(i + 2) => end_slope(chord(knots, i), chord(knots, i + 1)),
        (false, true) => chord(knots, i)[1],
        (true, false) if i > 1 && continues(i - 1) => end_slope(chord(knots, i - 1), chord(knots, i - 2)),
        (true, false) => chord(knots, i - 1)[1],
        (false, false) => 0.0,
    }
}

/// Length in planes and slope of the straight line from knot `i` to the next.
fn chord(knots: &[Knot], i: usize) -> [f64; 2] {
    let length = f64::from(knots[i + 1].plane) - f64::from(knots[i].plane);
    [length, (f64::from(knots[i + 1].code) - f64::from(knots[i].code)) / length]
}

fn end_slope([h0, d0]: [f64; 2], [h1, d1]: [f64; 2]) -> f64 {
    ((2.0 * h0 + h1) * d0 - h0 * d1) / (h0 + h1)
}

/// A ray whose values are asked for again and again.
pub(super) struct Line<'a> {
    knots: Cow<'a, [Knot]>,
    cubics: Vec<Option<Cubic>>,
}

impl<'a> Line<'a> {
    pub(super) fn new(knots: impl Into<Cow<'a, [Knot]>>) -> Self {
        let knots = knots.into();
        Self { cubics: cubics(&knots).collect(), knots }
    }

    pub(super) fn into_knots(self) -> Vec<Knot> {
        self.knots.into_owned()
    }

    /// The value at `plane`; `None` where none of the knots' runs covers it.
    pub(super) fn value_at(&self, plane: u16) -> Option<f64> {
        let after = self.knots.partition_point(|knot| knot.plane <= plane);
        let i = after.checked_sub(1)?;
        if self.knots[i].plane == plane {
            return Some(f64::from(self.knots[i].code));
        }
        let length = f64::from(self.knots.get(after)?.plane - self.knots[i].plane);
        Some(self.cubics[i]?.at(f64::from(plane - self.knots[i].plane) / length))
    }
}

/// Coefficients of 1, x, x^2 and x^3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cubic(pub(super) [f64; 4]);

impl Cubic {
    /// From values and slopes at 0 and 1.
    fn hermite([a, b]: [f64; 2], [m0, m1]: [f64; 2]) -> Self {
        Self([a, m0, 3.0 * (b - a) - 2.0 * m0 - m1, 2.0 * (a - b) + m0 + m1])
    }

    #[inline(always)]
    pub(super) fn at(&self, x: f64) -> f64 {
        let [c0, c1, c2, c3] = self.0;
        ((c3 * x + c2) * x + c1) * x + c0
    }

    /// Bounds of the values over `from..=to`: those of the control points there (Bernstein 1912).
    pub(super) fn bounds(&self, from: f64, to: f64) -> [f64; 2] {
        let [_, c1, c2, c3] = self.0;
        let slope = |x: f64| ((3.0 * c3 * x + 2.0 * c2) * x + c1) * (to - from) / 3.0;
        let (a, b) = (self.at(from), self.at(to));
        let controls = [a, a + slope(from), b - slope(to), b];
        [controls.into_iter().fold(f64::INFINITY, f64::min), controls.into_iter().fold(f64::NEG_INFINITY, f64::max)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knots(planes: &[u16], value: impl Fn(u16) -> u16) -> Vec<Knot> {
        planes.iter().map(|&plane| Knot { plane, code: value(plane), starts_run: false }).collect()
    }

    #[test]
    fn parabolas_come_back_exactly() {
        let parabola = |x: f64| 700.0 + 2.0 * x - x * x;
        let knots = knots(&[0, 3, 4, 9, 20], |plane| parabola(f64::from(plane)) as u16);
        for i in 0..4 {
            let (from, to) = (f64::from(knots[i].plane), f64::from(knots[i + 1].plane));
            let cubic = cubic(&knots, i).unwrap();
            for x in [0.0, 0.3, 0.7, 1.0] {
                let expected = parabola(from + x * (to - from));
                assert!((cubic.at(x) - expected).abs() < 1e-9, "{} is not {expected}", cubic.at(x));
            }
        }
    }

    #[test]
    fn runs_do_not_see_each_other() {
        let mut both = knots(&[0, 2, 5, 6, 9], |x| x * x);
        both[3].starts_run = true;
        assert_eq!(cubic(&both, 2), None);
        assert_eq!(cubic(&both, 1), cubic(&both[..3], 1));
        assert_eq!(cubic(&both, 3), cubic(&both[3..], 0));
    }

    #[test]
    fn bounds_hold_all_values() {
        let cubic = Cubic([0.0, 10.0, -30.0, 19.0]);
        let [lo, hi] = cubic.bounds(0.25, 0.75);
        assert!((0..=10).map(|i| cubic.at(0.25 + 0.05 * f64::from(i))).all(|v| lo <= v && v <= hi));
        assert!(lo > -10.0 && hi < 10.0);
    }
}
