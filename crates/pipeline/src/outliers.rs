//! Leaves out values that are few and far from all others: over a range that holds them, nothing else would be told apart.
//!
//! Invariant: what is found depends on the values alone, not on how they are split over PEs and processes.

use std::ops::Range;

use visapult_volume::ValueRange;

use crate::statistics::{Counts, HISTOGRAM_BINS};

/// Share of the values that may be left out.
const FEW: f64 = 1e-3;
/// Bins that the others take at most, and that outliers do: more of them are part of the field, however few they are.
const CROWDED_BINS: usize = HISTOGRAM_BINS / 10;
const OUTLYING_BINS: usize = 12;
/// A range is narrowed to a tenth, or less, so often.
const MOST_ROUNDS: usize = 40;

/// The range of the values that are no outliers, and the counts over it; all of `extent` where there are none, or all others are one
/// value. `count` counts over a range.
pub(crate) fn without_outliers<E>(
    extent: ValueRange,
    mut count: impl FnMut(ValueRange) -> Result<Counts, E>,
) -> Result<(ValueRange, Counts), E> {
    let whole = count(extent)?;
    let (mut range, mut counts) = (extent, whole.clone());
    for _ in 0..MOST_ROUNDS {
        let Some(crowd) = crowd(&counts) else { break };
        match count(part(range, &crowd))?.within {
            Some(inside) if !inside.is_constant() => (range, counts) = (inside, count(inside)?),
            _ => return Ok((extent, whole)),
        }
    }
    Ok((range, counts))
}

/// The bins with almost all values, where these are few and so are the others with any.
fn crowd(counts: &Counts) -> Option<Range<usize>> {
    let enough = ((1.0 - FEW) * counts.finite as f64).ceil() as u64;
    let crowd = fewest_bins(&counts.bins, enough.max(1))?;
    let outlying = counts.bins.iter().enumerate().filter(|(i, n)| !crowd.contains(i) && **n > 0).count();
    (crowd.len() <= CROWDED_BINS && (1..=OUTLYING_BINS).contains(&outlying)).then_some(crowd)
}

/// The shortest run of bins with `enough` values.
fn fewest_bins(bins: &[u64], enough: u64) -> Option<Range<usize>> {
    let mut best: Option<Range<usize>> = None;
    let (mut first, mut inside) = (0, 0);
    for (i, n) in bins.iter().enumerate() {
        inside += n;
        while inside - bins[first] >= enough {
            inside -= bins[first];
            first += 1;
        }
        if inside >= enough && best.as_ref().is_none_or(|best| i + 1 - first < best.len()) {
            best = Some(first..i + 1);
        }
    }
    best
}

/// Where the values in some bins lie. Values at an edge may have been rounded over it: all those of -1 to 1, where the extent is that of 32-bit
/// numbers.
fn part(range: ValueRange, bins: &Range<usize>) -> ValueRange {
    const ROUNDED: f64 = 1e-3;
    let (lo, width) = (f64::from(range.lo), f64::from(range.hi) - f64::from(range.lo));
    let at = |bin: f64| (lo + width * bin / HISTOGRAM_BINS as f64).clamp(lo, f64::from(range.hi)) as f32;
    ValueRange { lo: at(bins.start as f64 - ROUNDED), hi: at(bins.end as f64 + ROUNDED) }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use visapult_volume::{Block, Box3};

    use super::*;
    use crate::statistics;

    fn shown(values: Vec<f32>) -> [f32; 2] {
        let bounds = Box3::of_size([values.len(), 1, 1]);
        let extent = ValueRange::of(&values).unwrap();
        let blocks = [Block { owned: bounds, stored: bounds, values: values.into() }];
        let found = without_outliers(extent, |range| Ok::<_, Infallible>(statistics::count(&blocks, range)));
        let (ValueRange { lo, hi }, counts) = found.unwrap();
        assert_eq!(counts, statistics::count(&blocks, ValueRange { lo, hi }));
        [lo, hi]
    }

    fn ramp_and(others: &[f32]) -> Vec<f32> {
        (0..=20_000).map(|i| i as f32 / 20_000.0).chain(others.iter().copied()).collect()
    }

    #[test]
    fn values_that_are_few_and_far_are_left_out() {
        assert_eq!(shown(ramp_and(&[1e30])), [0.0, 1.0]);
        assert_eq!(shown(ramp_and(&[1e30, -3e38, 3e38, 77.0, -9999.0])), [0.0, 1.0]);
        assert_eq!(shown(ramp_and(&[-1e20; 15])), [0.0, 1.0]);
        let mut negative_too = ramp_and(&[3e38, -3e38]);
        negative_too[0] = -1.0;
        assert_eq!(shown(negative_too), [-1.0, 1.0]);
    }

    #[test]
    fn what_is_spread_or_near_or_not_so_few_belongs_to_the_field() {
        assert_eq!(shown(ramp_and(&[])), [0.0, 1.0]);
        assert_eq!(shown(ramp_and(&[5.0])), [0.0, 5.0]);
        assert_eq!(shown(ramp_and(&[-9999.0; 500])), [-9999.0, 1.0]);
        let spread: Vec<f32> = (1..=20).map(|i| i as f32 * 50.0).collect();
        assert_eq!(shown(ramp_and(&spread)), [0.0, 1000.0]);
    }

    #[test]
    fn little_that_stands_out_of_one_value_is_the_field() {
        let sparse = |background: f32, rest: &[f32]| [vec![background; 50_000], rest.to_vec()].concat();
        assert_eq!(shown(sparse(0.0, &[1.0])), [0.0, 1.0]);
        assert_eq!(shown(sparse(1000.0, &[1e30])), [1000.0, 1e30]);
        assert_eq!(shown(sparse(0.0, &[0.001, 0.5, 1.0])), [0.0, 1.0]);
        assert_eq!(shown(vec![3.0; 100]), [3.0, 3.0]);
    }
}
