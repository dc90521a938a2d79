//! Transfer functions: how a scalar becomes colour and opacity.
//!
//! Opacity is over the reference length [`REFERENCE_LENGTH`]; colours are display values. NaN is transparent.

use serde::{Deserialize, Serialize};
use thiserror::Error;
use visapult_volume::ValueRange;

use crate::color_map::ColorMap;

/// World length over which the opacity of a transfer function holds (the longest edge of the grid's box is 1).
pub(crate) const REFERENCE_LENGTH: f64 = 1.0 / 128.0;

/// A place below all points: those below the range look like it.
pub(crate) const BELOW: f64 = -1.0;

/// Colours and opacities at points of a range, linear in between.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransferFunction {
    /// Scalars at s = 0 and s = 1; `None` stands for the range of the data.
    pub range: Option<[f32; 2]>,
    /// `[s, r, g, b, a]`, sorted by s, everything in 0..=1.
    pub points: Vec<[f32; 5]>,
}

/// Why a transfer function cannot be used.
#[derive(Debug, Error)]
pub enum TransferFunctionError {
    /// The text is longer than any sensible file.
    #[error("transfer function of {0} bytes is larger than the {max} bytes accepted", max = TransferFunction::MAX_BYTES)]
    TooLong(usize),
    /// The text is not JSON of either format.
    #[error(
        "transfer function is neither {{\"range\":[lo,hi],\"points\":[[s,r,g,b,a],...]}} nor a ParaView colour map \
         with RGBPoints: {0}"
    )]
    Json(serde_json::Error),
    /// Too few or too many points.
    #[error("transfer function has {0} points: 1 to {max} are accepted", max = TransferFunction::MAX_POINTS)]
    PointCount(usize),
    /// A point is out of bounds.
    #[error("transfer function point {index} is {point:?}: s, r, g, b, a must all lie in 0..=1")]
    Point {
        /// Which point, counted from 0.
        index: usize,
        /// Its values.
        point: [f32; 5],
    },
    /// Points run backwards.
    #[error("transfer function point {index} lies before the point ahead of it: sort the points by s")]
    Unsorted {
        /// Which point, counted from 0.
        index: usize,
    },
    /// The range is empty or not finite.
    #[error("transfer function range [{}, {}] must be two finite numbers, the smaller first", .0[0], .0[1])]
    Range([f32; 2]),
    /// A ParaView map of categories.
    #[error(
        "the ParaView colour map has IndexedColors, which are of categories, and no RGBPoints: export one that colours a range of values"
    )]
    Categories,
    /// A ParaView array does not have the right number of values.
    #[error("ParaView colour map: {array} has {count} values, which is not a multiple of 4 above 0")]
    ParaViewArray {
        /// `RGBPoints` or `Points`.
        array: &'static str,
        /// Values found.
        count: usize,
    },
}

impl TransferFunction {
    /// Largest text accepted.
    pub const MAX_BYTES: usize = 1 << 20;
    /// Most points accepted.
    pub const MAX_POINTS: usize = 4096;

    /// Reads `{"range":[lo,hi]|null,"points":[[s,r,g,b,a],...]}` or ParaView's exported colour maps.
    ///
    /// # Errors
    /// [`TransferFunctionError`] says what is wrong with the text.
    pub fn from_json(text: &str) -> Result<Self, TransferFunctionError> {
        if text.len() > Self::MAX_BYTES {
            return Err(TransferFunctionError::TooLong(text.len()));
        }
        let function = match serde_json::from_str::<Self>(text) {
            Ok(function) => function,
            Err(own) => crate::paraview::read(text).unwrap_or(Err(TransferFunctionError::Json(own)))?,
        };
        function.validate()?;
        Ok(function)
    }

    /// Checks a transfer function that comes from outside.
    ///
    /// # Errors
    /// [`TransferFunctionError`] names the first property that does not hold.
    pub fn validate(&self) -> Result<(), TransferFunctionError> {
        if self.points.is_empty() || self.points.len() > Self::MAX_POINTS {
            return Err(TransferFunctionError::PointCount(self.points.len()));
        }
        if let Some([lo, hi]) = self.range
            && !(lo.is_finite() && hi.is_finite() && lo <= hi)
        {
            return Err(TransferFunctionError::Range([lo, hi]));
        }
        let outside = |point: &[f32; 5]| !point.iter().all(|v| (0.0..=1.0).contains(v));
        if let Some(index) = self.points.iter().position(outside) {
            return Err(TransferFunctionError::Point { index, point: self.points[index] });
        }
        if let Some(before) = self.points.windows(2).position(|pair| pair[1][0] < pair[0][0]) {
            return Err(TransferFunctionError::Unsorted { index: before + 1 });
        }
        Ok(())
    }

    /// Colour and opacity over the reference length at `s`; clamped outside the points, transparent for NaN.
    pub fn evaluate(&self, s: f32) -> [f32; 4] {
        if s.is_nan() {
            return [0.0; 4];
        }
        let after = self.points.partition_point(|point| point[0] <= s);
        let color = |point: &[f32; 5]| [point[1], point[2], point[3], point[4]];
        match (after.checked_sub(1).and_then(|i| self.points.get(i)), self.points.get(after)) {
            (Some(a), Some(b)) => {
                let weight = (s - a[0]) / (b[0] - a[0]);
                std::array::from_fn(|c| a[c + 1] + weight * (b[c + 1] - a[c + 1]))
            }
            (Some(end), None) | (None, Some(end)) => color(end),
            (None, None) => [0.0; 4],
        }
    }

    /// Whether it shows any value of `data`, however narrow what it shows is.
    pub fn shows_any_of(&self, data: ValueRange) -> bool {
        let Some([lo, hi]) = self.resolved_range(Some(data)).map(|ends| ends.map(f64::from)) else { return false };
        let [from, to] = [data.lo, data.hi].map(|value| ((f64::from(value) - lo) / (hi - lo)) as f32);
        let is_seen = |s: f32| self.evaluate(s)[3] > 0.0;
        let mut between = self.points.iter().filter(|point| (from..=to).contains(&point[0]));
        is_seen(from) || is_seen(to) || between.any(|point| point[4] > 0.0)
    }

    /// The scalars at s = 0 and s = 1 for data of `data` range; `None` where neither is known. Never empty: a
    /// constant field lies at s = 1/2.
    pub fn resolved_range(&self, data: Option<ValueRange>) -> Option<[f32; 2]> {
        self.range.or(data.map(|range| [range.lo, range.hi])).map(widened)
    }

    /// A transfer function to start with: shells of both signs for data on both sides of zero, else a ramp.
    pub fn default_for(range: ValueRange) -> Self {
        let (low, high) = (-f64::from(range.lo), f64::from(range.hi));
        let signed = low > 0.0 && high > 0.0 && low.min(high) >= 0.25 * low.max(high);
        if signed { Self::signed_shells(low.max(high) as f32) } else { Self::ramp(range) }
    }

    fn signed_shells(extent: f32) -> Self {
        /// Share of the extent, opacity: three soft shells, nothing near zero.
        const SHELLS: [[f32; 2]; 10] = [
            [0.05, 0.0],
            [0.10, 0.035],
            [0.16, 0.004],
            [0.24, 0.008],
            [0.32, 0.14],
            [0.40, 0.02],
            [0.52, 0.05],
            [0.64, 0.35],
            [0.76, 0.20],
            [1.0, 0.50],
        ];
        let point = |share: f32, alpha: f32| {
            let s = (0.5 + 0.5 * share).clamp(0.0, 1.0);
            // Away from white sooner than linearly, so that weak shells already tell their sign.
            let [r, g, b] = ColorMap::Diverging.color(0.5 + 0.5 * share.signum() * share.abs().powf(0.55));
            [s, r, g, b, alpha]
        };
        let below = SHELLS.iter().rev().map(|&[share, alpha]| point(-share, alpha));
        let above = SHELLS.iter().map(|&[share, alpha]| point(share, alpha));
        Self { range: Some([-extent, extent]), points: below.chain([point(0.0, 0.0)]).chain(above).collect() }
    }

    /// From transparent to opaque over a range, whatever lies where in it.
    pub fn ramp(range: ValueRange) -> Self {
        /// Opacity at the top of the range, over the reference length.
        const TOP: f32 = 0.4;
        /// Share of the range that stays invisible.
        const HIDDEN: f32 = 0.1;
        let steps = ColorMap::Viridis.points().len() - 1;
        let point = |i: usize| {
            let s = i as f32 / steps as f32;
            let visible = ((s - HIDDEN) / (1.0 - HIDDEN)).max(0.0);
            let [r, g, b] = ColorMap::Viridis.points()[i];
            [s, r, g, b, TOP * visible.powf(1.7)]
        };
        Self { range: Some([range.lo, range.hi]), points: (0..=steps).map(point).collect() }
    }
}

/// A range that has more than one value.
pub(crate) fn widened([lo, hi]: [f32; 2]) -> [f32; 2] {
    if lo < hi {
        return [lo, hi];
    }
    let margin = (lo.abs() * 1e-3).max(f32::MIN_POSITIVE * 1e6);
    [lo - margin, hi + margin]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_points() -> TransferFunction {
        TransferFunction { range: None, points: vec![[0.25, 0.0, 1.0, 0.5, 0.0], [0.75, 1.0, 0.0, 0.5, 0.5]] }
    }

    #[test]
    fn values_are_shown_however_narrow_what_shows_them_is() {
        let peak = [[0.4, 0.0], [0.5, 1.0], [0.6, 0.0]].map(|[s, a]| [s, 1.0, 1.0, 1.0, a]);
        let function = TransferFunction { range: Some([50.0, 50.2]), points: peak.to_vec() };
        let is_shown = |lo, hi| function.shows_any_of(ValueRange { lo, hi });
        assert!(is_shown(0.0, 100.0) && is_shown(50.09, 50.09));
        assert!(!is_shown(0.0, 50.0) && !is_shown(50.15, 100.0));
    }

    #[test]
    fn values_between_points_are_linear_and_outside_they_hold() {
        let function = two_points();
        assert_eq!(function.evaluate(0.5), [0.5, 0.5, 0.5, 0.25]);
        assert_eq!(function.evaluate(-3.0), [0.0, 1.0, 0.5, 0.0]);
        assert_eq!(function.evaluate(0.75), [1.0, 0.0, 0.5, 0.5]);
        assert_eq!(function.evaluate(9.0), [1.0, 0.0, 0.5, 0.5]);
        assert_eq!(function.evaluate(f32::NAN), [0.0; 4]);
    }

    #[test]
    fn a_step_takes_the_later_point() {
        let step = TransferFunction { range: None, points: vec![[0.5, 0.0, 0.0, 0.0, 0.0], [0.5, 1.0, 1.0, 1.0, 1.0]] };
        assert_eq!(step.evaluate(0.5), [1.0; 4]);
        assert_eq!(step.evaluate(0.499), [0.0; 4]);
    }

    #[test]
    fn json_round_trips() {
        let function = two_points();
        let text = serde_json::to_string(&function).unwrap();
        assert_eq!(TransferFunction::from_json(&text).unwrap(), function);
        let ours = r#"{"range":null,"points":[[0,0,0,0,0],[1,1,1,1,1]]}"#;
        assert_eq!(TransferFunction::from_json(ours).unwrap().points.len(), 2);
    }

    #[test]
    fn unusable_texts_are_refused_with_the_reason() {
        let message = |text: &str| TransferFunction::from_json(text).unwrap_err().to_string();
        assert!(message("nonsense").contains("neither"));
        assert!(message(r#"{"range":null,"points":[]}"#).contains("0 points"));
        assert!(message(r#"{"range":[1,0],"points":[[0,0,0,0,0]]}"#).contains("[1, 0]"));
        assert!(message(r#"{"range":null,"points":[[0,0,0,0,2]]}"#).contains("point 0"));
        assert!(message(r#"{"range":null,"points":[[1,0,0,0,0],[0,0,0,0,0]]}"#).contains("point 1"));
        assert!(message(r#"{"range":null,"points":[[7,0,0,0,0]]}"#).contains("point 0"));
        assert!(!message(r#"{"range":null,"points":[[1e40,0,0,0,0]]}"#).is_empty());
        assert!(message(&" ".repeat(TransferFunction::MAX_BYTES + 1)).contains("larger"));
    }

    #[test]
    fn signed_data_are_transparent_at_zero_and_symmetric() {
        let function = TransferFunction::default_for(ValueRange { lo: -1.0, hi: 0.5 });
        function.validate().unwrap();
        assert_eq!(function.range, Some([-1.0, 1.0]));
        assert_eq!(function.evaluate(0.5)[3], 0.0);
        assert!((function.evaluate(0.3)[3] - function.evaluate(0.7)[3]).abs() < 1e-6);
    }

    #[test]
    fn other_data_are_transparent_at_the_low_end() {
        for range in [ValueRange { lo: 0.0, hi: 5.0 }, ValueRange { lo: -0.1, hi: 9.0 }] {
            let function = TransferFunction::default_for(range);
            function.validate().unwrap();
            assert_eq!(function.range, Some([range.lo, range.hi]));
            assert_eq!(function.evaluate(0.0)[3], 0.0);
            assert!(function.evaluate(1.0)[3] > 0.2);
        }
    }

    #[test]
    fn a_constant_field_lies_in_the_middle() {
        for value in [0.0, -4.0, 1e30] {
            let function = TransferFunction::default_for(ValueRange { lo: value, hi: value });
            let [lo, hi] = function.resolved_range(None).unwrap();
            assert!(lo < value && value < hi);
        }
    }
}
