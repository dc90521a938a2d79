//! The coarse levels of one block, made once per step.

use rayon::prelude::*;
use visapult_volume::{Block, Box3, coarsen_box, halve_plane};

/// Levels 1 and up of the samples that one block owns; level 0 stays in the block.
///
/// Invariant: level `L` covers `coarsen_box(owned, L)`. It equals that part of the whole grid's level `L` where the
/// block was cut at multiples of `2^L`.
#[derive(Clone, Debug, Default)]
pub struct Pyramid {
    levels: Vec<Vec<f32>>,
}

/// Rows of a box of samples inside a larger array.
#[derive(Clone, Copy)]
pub(crate) struct Samples<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) stored: Box3,
    /// The samples meant, inside `stored`.
    pub(crate) bounds: Box3,
}

impl<'a> Samples<'a> {
    /// The row of `bounds` at `y`, `z`, counted from its first sample.
    pub(super) fn row(&self, y: usize, z: usize) -> &'a [f32] {
        let [nx, ny, _] = self.stored.size();
        let at: [usize; 3] = std::array::from_fn(|axis| self.bounds.lo[axis] - self.stored.lo[axis]);
        &self.values[((at[2] + z) * ny + at[1] + y) * nx + at[0]..][..self.bounds.size()[0]]
    }

    /// A box within `bounds`.
    pub(super) fn part(&self, bounds: Box3) -> Self {
        Self { bounds, ..*self }
    }
}

impl Pyramid {
    /// Makes levels 1 to `levels - 1` of what `block` owns.
    pub fn of(block: &Block, levels: u32) -> Self {
        let mut pyramid = Self::default();
        pyramid.rebuild(block, levels);
        pyramid
    }

    /// Makes the levels of another step's values in the memory of the last.
    pub fn rebuild(&mut self, block: &Block, levels: u32) {
        let coarse = levels.max(1) - 1;
        self.levels.resize_with(coarse as usize, Vec::new);
        for level in 1..=coarse {
            let mut out = std::mem::take(&mut self.levels[level as usize - 1]);
            halve_samples(&self.samples(block, level - 1), &mut out);
            self.levels[level as usize - 1] = out;
        }
    }

    /// Number of levels, the block's own included.
    pub fn level_count(&self) -> u32 {
        self.levels.len() as u32 + 1
    }

    /// The box of `level` and its values, `[z, y, x]`; `None` for level 0, which is the block's, and beyond the last.
    pub fn level(&self, block: &Block, level: u32) -> Option<(Box3, &[f32])> {
        let values = self.levels.get((level as usize).checked_sub(1)?)?;
        Some((coarsen_box(&block.owned, level), values))
    }

    /// The owned samples of `level`, level 0 included.
    ///
    /// # Panics
    /// If there is no such level.
    pub(crate) fn samples<'a>(&'a self, block: &'a Block, level: u32) -> Samples<'a> {
        match self.level(block, level) {
            Some((bounds, values)) => Samples { values, stored: bounds, bounds },
            None => {
                assert_eq!(level, 0, "level {level} of a pyramid with {} levels", self.level_count());
                Samples { values: &block.values, stored: block.stored, bounds: block.owned }
            }
        }
    }
}

fn halve_samples(fine: &Samples<'_>, out: &mut Vec<f32>) {
    let size = fine.bounds.size();
    let [nx, ny, nz] = size.map(|n| n.div_ceil(2));
    out.resize(nx * ny * nz, 0.0);
    out.par_chunks_exact_mut((nx * ny).max(1))
        .enumerate()
        .for_each(|(z, plane)| halve_plane(|y, z| fine.row(y, z), size, z, plane));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, blocks_of};
    use visapult_volume::halve;

    #[test]
    fn levels_of_blocks_are_parts_of_the_levels_of_the_whole() {
        let size = [22, 17, 12];
        let mut random = Random::new(3);
        let values: Vec<f32> =
            (0..22 * 17 * 12).map(|_| if random.unit() < 0.1 { f32::NAN } else { random.unit() }).collect();
        let (half, half_size) = halve(&values, size);
        let (quarter, [nx, ny, _]) = halve(&half, half_size);
        for block in blocks_of(&values, size, 4, 4) {
            let pyramid = Pyramid::of(&block, 3);
            let (bounds, got) = pyramid.level(&block, 2).unwrap();
            let [w, h, d] = bounds.size();
            for (z, y, x) in (0..d).flat_map(|z| (0..h).flat_map(move |y| (0..w).map(move |x| (z, y, x)))) {
                let whole = quarter[((bounds.lo[2] + z) * ny + bounds.lo[1] + y) * nx + bounds.lo[0] + x];
                assert_eq!(got[(z * h + y) * w + x].to_bits(), whole.to_bits());
            }
        }
    }

    #[test]
    fn rebuilding_forgets_the_step_before() {
        let first = &blocks_of(&[1.0; 64], [4, 4, 4], 1, 1)[0];
        let second = &blocks_of(&[2.0; 64], [4, 4, 4], 1, 1)[0];
        let mut pyramid = Pyramid::of(first, 3);
        pyramid.rebuild(second, 2);
        assert_eq!(pyramid.level_count(), 2);
        assert_eq!(pyramid.level(second, 1).unwrap().1, [2.0; 8]);
        assert!(pyramid.level(second, 0).is_none() && pyramid.level(second, 2).is_none());
    }
}
