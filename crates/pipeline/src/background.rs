//! What is around an object, air or nothing, is not to be seen at first, wherever in the range it lies.

use std::ops::Range;

use visapult_render::{ColorMap, TransferFunction};
use visapult_volume::ValueRange;
use visapult_volume_io::Scale;

use crate::defaults::plain;

/// Opacity farthest from the background, over the reference length.
const TOP: f32 = 0.4;
/// Distance from the background that is invisible, too: a share of the longest there is.
const HIDDEN: f32 = 0.04;

/// The transfer function to start with, for values of which so many are in each of equal bins over `range`. Where there is a background that
/// is not zero, which is hidden anyway, opacity grows away from it.
pub(crate) fn starting_function(range: ValueRange, scale: Scale, bins: &[u64]) -> TransferFunction {
    let (lo, width) = (f64::from(range.lo), f64::from(range.hi) - f64::from(range.lo));
    let near_zero = 0.05 * lo.abs().max(f64::from(range.hi).abs());
    let is_zero = |[from, to]: [f32; 2]| {
        let [from, to] = [from, to].map(|s| lo + width * f64::from(s));
        (from <= 0.0 && to >= 0.0) || ((from + to) / 2.0).abs() < near_zero
    };
    let background = if range.is_constant() { None } else { background(bins) };
    match background.filter(|background| scale == Scale::Logarithmic || !is_zero(*background)) {
        Some(background) => growing_from(background, [range.lo, range.hi]),
        None => plain(range, scale),
    }
}

fn growing_from([from, to]: [f32; 2], range: [f32; 2]) -> TransferFunction {
    let longest = from.max(1.0 - to);
    let begins = [from - HIDDEN * longest, to + HIDDEN * longest];
    let opacity = |s: f32| {
        let visible = (begins[0] - s).max(s - begins[1]).max(0.0) / ((1.0 - HIDDEN) * longest);
        TOP * visible.powf(1.7)
    };
    let steps = ColorMap::Viridis.points().len() - 1;
    let bends = begins.into_iter().filter(|s| (0.0..=1.0).contains(s));
    let mut places: Vec<f32> = (0..=steps).map(|i| i as f32 / steps as f32).chain(bends).collect();
    places.sort_by(f32::total_cmp);
    places.dedup();
    let point = |s: f32| {
        let [r, g, b] = ColorMap::Viridis.color(s);
        [s, r, g, b, opacity(s)]
    };
    TransferFunction { range: Some(range), points: places.into_iter().map(point).collect() }
}

/// From where to where in a range the values around an object lie: a narrow peak of many of the lowest values, or of most of all where few are
/// as low. Were it the highest peak whatever lies below, that could be an object that fills most of its box, and the air would be seen.
fn background(bins: &[u64]) -> Option<[f32; 2]> {
    const MOST: f64 = 0.5;
    const MANY: f64 = 0.25;
    const FEW: f64 = 0.05;
    let total = Some(bins.iter().sum::<u64>() as f64).filter(|total| *total > 0.0)?;
    let lowest = bins.get(..bins.len().div_ceil(10))?;
    let few_are_low = (lowest.iter().sum::<u64>() as f64) < FEW * total;
    let candidates = [(fullest(lowest)?, MANY, true), (fullest(bins)?, MOST, few_are_low)];
    let stands_out = |(at, least, may_be): (usize, f64, bool)| {
        narrow_peak(bins, at).filter(|peak| may_be && bins[peak.clone()].iter().sum::<u64>() as f64 >= least * total)
    };
    let peak = candidates.into_iter().find_map(stands_out)?;
    Some([peak.start, peak.end].map(|bin| (bin as f64 / bins.len() as f64) as f32))
}

fn fullest(bins: &[u64]) -> Option<usize> {
    (0..bins.len()).max_by_key(|bin| bins[*bin])
}

fn narrow_peak(bins: &[u64], top: usize) -> Option<Range<usize>> {
    /// Bins with less than this share of the fullest one's values belong to its peak no more.
    const FOOT: f64 = 0.05;
    const WIDEST: f64 = 0.25;
    let is_foot = |count: &u64| *count as f64 <= FOOT * bins[top] as f64;
    let start = bins[..top].iter().rposition(is_foot).map_or(0, |foot| foot + 1);
    let end = bins[top..].iter().position(is_foot).map_or(bins.len(), |n| top + n);
    (((end - start) as f64) <= WIDEST * bins.len() as f64).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(lo: f32, hi: f32, bins: &[u64]) -> TransferFunction {
        let function = starting_function(ValueRange { lo, hi }, Scale::Linear, bins);
        function.validate().unwrap();
        function
    }

    /// Opacity where `value` lies.
    fn opacity(function: &TransferFunction, value: f32) -> f32 {
        let [lo, hi] = function.range.unwrap();
        function.evaluate((value - lo) / (hi - lo))[3]
    }

    /// So many values in some of 100 bins, and few everywhere.
    fn peaks(peaks: &[(usize, u64)]) -> Vec<u64> {
        let mut bins = vec![10; 100];
        peaks.iter().for_each(|&(bin, count)| bins[bin] += count);
        bins
    }

    #[test]
    fn air_around_a_head_is_not_seen_though_it_lies_far_from_zero() {
        // Hounsfield units: air, then tissue.
        let function = function(-1000.0, 1500.0, &peaks(&[(0, 20_000), (1, 9000), (40, 9000), (41, 8000)]));
        assert_eq!(function.range, Some([-1000.0, 1500.0]));
        assert_eq!([-1000.0, -960.0].map(|air| opacity(&function, air)), [0.0; 2]);
        assert!(opacity(&function, 40.0) > 0.01 && opacity(&function, 1400.0) > 0.3);
    }

    #[test]
    fn what_fills_most_of_its_box_is_not_around_it() {
        let cropped = function(-1000.0, 1500.0, &peaks(&[(0, 30_000), (50, 60_000)]));
        assert!(opacity(&cropped, -1000.0) == 0.0 && opacity(&cropped, 270.0) > 0.05);
        let grains = ValueRange { lo: 0.0, hi: 1.0 };
        assert_eq!(function(0.0, 1.0, &peaks(&[(0, 30_000), (99, 60_000)])), TransferFunction::default_for(grains));
        let sparse = ValueRange { lo: 2.0, hi: 3.0 };
        assert_eq!(function(2.0, 3.0, &peaks(&[(0, 9000), (99, 60_000)])), TransferFunction::default_for(sparse));
    }

    #[test]
    fn what_is_around_may_be_high_or_between() {
        let high = function(0.0, 1.0, &peaks(&[(99, 9000)]));
        assert!(opacity(&high, 1.0) == 0.0 && opacity(&high, 0.0) > 0.3);
        let between = function(100.0, 200.0, &peaks(&[(50, 9000)]));
        assert!([100.0, 200.0].iter().all(|end| opacity(&between, *end) > 0.3));
        assert_eq!(opacity(&between, 150.5), 0.0);
    }

    #[test]
    fn around_zero_it_is_hidden_anyway() {
        for (lo, hi, bin) in [(-1.0, 0.5, 66), (0.0, 5.0, 0)] {
            let range = ValueRange { lo, hi };
            assert_eq!(function(lo, hi, &peaks(&[(bin, 9000)])), TransferFunction::default_for(range));
        }
    }

    #[test]
    fn on_a_logarithmic_scale_zero_and_the_sign_mean_nothing() {
        // A background of 1 is one like any other; and values from 1e-4 to 1e4 are of one kind.
        let around = starting_function(ValueRange { lo: -3.0, hi: 1.0 }, Scale::Logarithmic, &peaks(&[(75, 9000)]));
        assert!([-3.0, 1.0].iter().all(|end| opacity(&around, *end) > 0.03) && opacity(&around, 0.02) == 0.0);
        let range = ValueRange { lo: -4.0, hi: 4.0 };
        assert_eq!(starting_function(range, Scale::Logarithmic, &[10; 100]), TransferFunction::ramp(range));
    }

    #[test]
    fn a_peak_that_is_wide_or_small_is_what_is_looked_at() {
        for bins in [vec![10; 100], peaks(&[(50, 900)]), vec![0; 100], vec![]] {
            assert_eq!(function(2.0, 3.0, &bins), TransferFunction::default_for(ValueRange { lo: 2.0, hi: 3.0 }));
        }
        let constant = ValueRange { lo: 7.0, hi: 7.0 };
        assert_eq!(starting_function(constant, Scale::Linear, &[9, 0, 0, 0]), TransferFunction::default_for(constant));
    }
}
