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
    /// Finite values in equal bins over the range that a viewer starts with.
    pub histogram: Vec<u64>,
    /// Finite values.
    pub finite: u64,
    /// Values that are missing or not finite.
    pub missing: u64,
}

/// Finite values over a range, and how many there are besides.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Counts {
    /// Values in the range, in equal bins.
    pub(crate) bins: Vec<u64>,
    /// The smallest and largest of these.
    pub(crate) within: Option<ValueRange>,
    /// Finite values, in the range or not.
    pub(crate) finite: u64,
    /// Values that are missing or not finite.
    pub(crate) missing: u64,
}

/// Counts the values that the blocks own, in equal bins over `range`.
pub(crate) fn count(blocks: &[Block], range: ValueRange) -> Counts {
    let rows: Vec<(&Block, usize)> =
        blocks.iter().flat_map(|block| (block.owned.lo[2]..block.owned.hi[2]).map(move |z| (block, z))).collect();
    rows.par_iter()
        .fold(Counts::default, |mut counts, (block, z)| {
            for y in block.owned.lo[1]..block.owned.hi[1] {
                let start = block.index_of([block.owned.lo[0], y, *z]);
                counts.add(&block.values[start..start + block.owned.size()[0]], range);
            }
            counts
        })
        .reduce(Counts::default, Counts::merged)
}

impl Default for Counts {
    fn default() -> Self {
        Self { bins: vec![0; HISTOGRAM_BINS], within: None, finite: 0, missing: 0 }
    }
}

impl Counts {
    fn add(&mut self, row: &[f32], range: ValueRange) {
        // Of half of each where all of it is more than an f32 holds.
        let part = if (range.hi - range.lo).is_finite() { 1.0 } else { 0.5 };
        let (lo, width) = (range.lo * part, range.hi * part - range.lo * part);
        let scale = if width > 0.0 { HISTOGRAM_BINS as f32 / width } else { 0.0 };
        let (mut least, mut greatest) = (f32::INFINITY, f32::NEG_INFINITY);
        for &value in row {
            if !value.is_finite() {
                self.missing += 1;
                continue;
            }
            self.finite += 1;
            if value >= range.lo && value <= range.hi {
                let bin = ((value * part - lo) * scale) as usize;
                self.bins[bin.min(HISTOGRAM_BINS - 1)] += 1;
                (least, greatest) = (least.min(value), greatest.max(value));
            }
        }
        let seen = (least <= greatest).then_some(ValueRange { lo: least, hi: greatest });
        self.within = union(self.within, seen);
    }

    pub(crate) fn merged(mut self, other: Self) -> Self {
        for (mine, theirs) in self.bins.iter_mut().zip(&other.bins) {
            *mine += theirs;
        }
        self.within = union(self.within, other.within);
        self.finite += other.finite;
        self.missing += other.missing;
        self
    }

    /// The counts of a step whose values go over all of `range`.
    pub(crate) fn of_step(self, range: Option<ValueRange>) -> FieldStatistics {
        FieldStatistics { range, histogram: self.bins, finite: self.finite, missing: self.missing }
    }
}

/// The smallest range that holds what there is of both.
pub(crate) fn union(a: Option<ValueRange>, b: Option<ValueRange>) -> Option<ValueRange> {
    [a, b].into_iter().flatten().reduce(ValueRange::union)
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
        let statistics = count(&blocks, ValueRange { lo: 0.0, hi: 1.0 }).of_step(range);
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
        let histogram = count(&blocks, over).bins;
        assert_eq!([0, HISTOGRAM_BINS / 2, HISTOGRAM_BINS - 1].map(|bin| histogram[bin]), [1, 1, 1]);
    }

    #[test]
    fn a_constant_field_has_one_full_bin() {
        let bounds = Box3::of_size([2, 2, 2]);
        let blocks = [Block { owned: bounds, stored: bounds, values: vec![3.0; 8].into() }];
        let at = ValueRange { lo: 3.0, hi: 3.0 };
        assert_eq!(count(&blocks, at).bins[0], 8);
    }

    #[test]
    fn values_beyond_the_range_are_in_no_bin() {
        let bounds = Box3::of_size([5, 1, 1]);
        let blocks = [Block { owned: bounds, stored: bounds, values: vec![-7.0, 0.25, 0.5, 9.0, f32::NAN].into() }];
        let counts = count(&blocks, ValueRange { lo: 0.0, hi: 1.0 });
        assert_eq!([counts.bins.iter().sum(), counts.finite, counts.missing], [2, 4, 1]);
        assert_eq!(counts.within, Some(ValueRange { lo: 0.25, hi: 0.5 }));
    }
}
