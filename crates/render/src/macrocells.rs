//! Smallest and largest value in each small cube of a block: what tells empty space from the rest.

use rayon::prelude::*;
use visapult_volume::{Block, ValueRange};

/// The value ranges of the cubes of [`Macrocells::EDGE`] cells that tile a block's stored box, x fastest.
///
/// A range covers every sample that interpolation inside the cube reads: `EDGE + 1` along each axis. Cubes without a
/// finite value have `lo > hi`.
#[derive(Clone, Debug)]
pub(crate) struct Macrocells {
    /// Cubes along each axis.
    pub(crate) counts: [usize; 3],
    /// `[lo, hi]` of each cube.
    pub(crate) ranges: Vec<[f32; 2]>,
}

const NOTHING: [f32; 2] = [f32::INFINITY, f32::NEG_INFINITY];

impl Macrocells {
    /// Cells along the edge of a cube.
    pub(crate) const EDGE: usize = 4;

    /// The macrocells of `block`, whose infinite values become NaN.
    pub(crate) fn of(block: &mut Block) -> Self {
        let cells = Self::scan(block);
        if cells.ranges.iter().all(|range| range.iter().all(|end| end.is_finite()) || *range == NOTHING) {
            return cells;
        }
        block.values.to_mut().par_iter_mut().filter(|value| value.is_infinite()).for_each(|value| *value = f32::NAN);
        Self::scan(block)
    }

    /// The range of all values.
    pub(crate) fn range(&self) -> Option<ValueRange> {
        let [lo, hi] = self.ranges.par_iter().copied().reduce(|| NOTHING, union);
        (lo <= hi).then_some(ValueRange { lo, hi })
    }

    fn scan(block: &Block) -> Self {
        let size = block.stored.size();
        let counts = size.map(|n| (n - 1).div_ceil(Self::EDGE).max(1));
        let mut ranges = vec![NOTHING; counts.iter().product()];
        ranges.par_chunks_mut(counts[0] * counts[1]).enumerate().for_each(|(z, layer)| {
            let mut columns = vec![NOTHING; size[0]];
            for (y, row) in layer.chunks_mut(counts[0]).enumerate() {
                columns.fill(NOTHING);
                for sample_z in covered(z, size[2]) {
                    for sample_y in covered(y, size[1]) {
                        let start = (sample_z * size[1] + sample_y) * size[0];
                        widen(&mut columns, &block.values[start..start + size[0]]);
                    }
                }
                for (x, range) in row.iter_mut().enumerate() {
                    *range = columns[covered(x, size[0])].iter().copied().fold(NOTHING, union);
                }
            }
        });
        Self { counts, ranges }
    }
}

/// The samples that cube `index` covers along an axis of `size` samples.
fn covered(index: usize, size: usize) -> std::ops::Range<usize> {
    let first = index * Macrocells::EDGE;
    first..(first + Macrocells::EDGE + 1).min(size)
}

fn widen(columns: &mut [[f32; 2]], values: &[f32]) {
    for ([lo, hi], &value) in columns.iter_mut().zip(values) {
        // Comparisons with NaN are false: NaN leaves the range as it is.
        *lo = if value < *lo { value } else { *lo };
        *hi = if value > *hi { value } else { *hi };
    }
}

fn union(a: [f32; 2], b: [f32; 2]) -> [f32; 2] {
    [a[0].min(b[0]), a[1].max(b[1])]
}
