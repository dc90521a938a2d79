//! What the values of one step of a field look like: range, histogram, what is missing.

use rayon::prelude::*;
use visapult_volume::{Block, ValueRange};

/// Bins of a histogram.
pub(crate) const HISTOGRAM_BINS: usize = 256;

/// Statistics of one step of a field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldStatistics {
    /// Smallest and largest finite value; none where there is none.
    pub range: Option<ValueRange>,
    /// Finite values in equal bins over the range asked for.
    pub histogram: Vec<u64>,
    /// Finite values.
    pub finite: u64,
    /// Values that are missing or not finite.
    pub missing: u64,
}

/// Counts the values that the blocks own, in equal bins over `bins_over`.
pub(crate) fn statistics_of(blocks: &[Block], range: Option<ValueRange>, bins_over: ValueRange) -> FieldStatistics {
    let rows: Vec<(&Block, usize)> =
        blocks.iter().flat_map(|block| (block.owned.lo[2]..block.owned.hi[2]).map(move |z| (block, z))).collect();
    let counts = rows
        .par_iter()
        .fold(Counts::default, |mut counts, (block, z)| {
            for y in block.owned.lo[1]..block.owned.hi[1] {
                let start = block.index_of([block.owned.lo[0], y, *z]);
                counts.add(&block.values[start..start + block.owned.size()[0]], bins_over);
            }
            counts
        })
        .reduce(Counts::default, Counts::merged);
    let finite = counts.bins.iter().sum();
    FieldStatistics { range, histogram: counts.bins, finite, missing: counts.missing }
}

struct Counts {
    bins: Vec<u64>,
    missing: u64,
}

impl Default for Counts {
    fn default() -> Self {
        Self { bins: vec![0; HISTOGRAM_BINS], missing: 0 }
    }
}

impl Counts {
    fn add(&mut self, row: &[f32], over: ValueRange) {
        // Of half of each where all of it is more than an f32 holds.
        let part = if (over.hi - over.lo).is_finite() { 1.0 } else { 0.5 };
        let (lo, width) = (over.lo * part, over.hi * part - over.lo * part);
        let scale = if width > 0.0 { HISTOGRAM_BINS as f32 / width } else { 0.0 };
        for &value in row {
            if value.is_finite() {
                let bin = ((value * part - lo) * scale) as usize;
                self.bins[bin.min(HISTOGRAM_BINS - 1)] += 1;
            } else {
                self.missing += 1;
            }
        }
    }

    fn merged(mut self, other: Self) -> Self {
        for (mine, theirs) in self.bins.iter_mut().zip(&other.bins) {
            *mine += theirs;
        }
        self.missing += other.missing;
        self
    }
}

#[cfg(test)]
mod tests {
    use visapult_volume::{Box3, Decomposition};

    use super::*;

    #[test]
    fn ghost_samples_are_counted_once() {
        let bounds = Box3::of_size([4, 3, 2]);
        let blocks: Vec<Block> = Decomposition::new([4, 3, 2], 2, 1)
            .unwrap()
            .boxes()
            .into_iter()
            .map(|owned| {
                let stored = Block::stored_for(&owned, &bounds);
                let mut values = vec![0.25; stored.volume()];
                values[0] = f32::NAN;
                Block { owned, stored, values: values.into() }
            })
            .collect();
        let range = ValueRange::of(&blocks[0].values);
        let statistics = statistics_of(&blocks, range, ValueRange { lo: 0.0, hi: 1.0 });
        assert_eq!(range, Some(ValueRange { lo: 0.25, hi: 0.25 }));
        assert_eq!(statistics.finite + statistics.missing, 24);
        assert_eq!(statistics.histogram[64], statistics.finite);
    }

    #[test]
    fn a_range_wider_than_a_float_is_counted_over_all_bins() {
        let bounds = Box3::of_size([3, 1, 1]);
        let values = vec![-3e38, 0.0, 3e38];
        let over = ValueRange { lo: -3e38, hi: 3e38 };
        let blocks = [Block { owned: bounds, stored: bounds, values: values.into() }];
        let histogram = statistics_of(&blocks, Some(over), over).histogram;
        assert_eq!([0, HISTOGRAM_BINS / 2, HISTOGRAM_BINS - 1].map(|bin| histogram[bin]), [1, 1, 1]);
    }

    #[test]
    fn a_constant_field_has_one_full_bin() {
        let bounds = Box3::of_size([2, 2, 2]);
        let blocks = [Block { owned: bounds, stored: bounds, values: vec![3.0; 8].into() }];
        let at = ValueRange { lo: 3.0, hi: 3.0 };
        assert_eq!(statistics_of(&blocks, Some(at), at).histogram[0], 8);
    }
}
