//! Values along key rays: trilinear interpolation at planes of equal depth, whichever block holds them.

use visapult_volume::{Block, Box3};

use crate::Volume;
use crate::volume::Placement;

/// Reads a volume at any place, missing values and absent blocks as NaN.
pub(super) struct Sampler<'a> {
    placement: Placement,
    bounds: Box3,
    blocks: &'a [Block],
}

impl<'a> Sampler<'a> {
    pub(super) fn new(volume: &'a Volume) -> Self {
        Self { placement: *volume.placement(), bounds: volume.grid().bounds(), blocks: volume.blocks() }
    }

    /// Appends the values at `start + i step` in world units, for `i` in `0..count`; beyond the box's faces they hold.
    pub(super) fn line(&self, start: [f64; 3], step: [f64; 3], count: usize, values: &mut Vec<f32>) {
        let Placement { scale, offset, .. } = self.placement;
        let start: [f64; 3] = std::array::from_fn(|a| start[a] * scale[a] + offset[a]);
        let step: [f64; 3] = std::array::from_fn(|a| step[a] * scale[a]);
        let last = self.bounds.hi.map(|hi| (hi - 1) as f64);
        let mut block = 0;
        values.extend((0..count).map(|i| {
            let at = std::array::from_fn(|a| (start[a] + i as f64 * step[a]).clamp(0.0, last[a]));
            let cell = at.map(|c| c as usize);
            if !self.blocks.get(block).is_some_and(|block| owns(block, cell)) {
                let owner = self.blocks.iter().position(|block| owns(block, cell));
                let Some(owner) = owner else { return f32::NAN };
                block = owner;
            }
            interpolate(&self.blocks[block], at, cell)
        }));
    }
}

fn owns(block: &Block, cell: [usize; 3]) -> bool {
    (0..3).all(|a| block.owned.lo[a] <= cell[a] && cell[a] < block.owned.hi[a])
}

/// Trilinear interpolation in `block` at `at`, in samples of the grid, of which `cell` is the whole part.
fn interpolate(block: &Block, at: [f64; 3], cell: [usize; 3]) -> f32 {
    let size = block.stored.size();
    let strides = [1, size[0], size[0] * size[1]];
    let mut index = 0;
    let mut weight = [0.0_f32; 3];
    let mut step = [0; 3];
    for a in 0..3 {
        let inside = cell[a] - block.stored.lo[a];
        index += inside * strides[a];
        weight[a] = (at[a] - cell[a] as f64) as f32;
        // The last sample of the grid has no neighbour, and a weight of 0.
        step[a] = if inside + 1 < size[a] { strides[a] } else { 0 };
    }
    let values = &block.values;
    let along_x = |index: usize| values[index] + weight[0] * (values[index + step[0]] - values[index]);
    let along_y = |index: usize| {
        let (a, b) = (along_x(index), along_x(index + step[1]));
        a + weight[1] * (b - a)
    };
    let (a, b) = (along_y(index), along_y(index + step[2]));
    a + weight[2] * (b - a)
}
