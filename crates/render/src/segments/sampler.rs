//! Values along key rays: trilinear interpolation at planes of equal depth, whichever block holds them.

use visapult_volume::{Block, Box3};

use super::geometry::RayPlanes;
use crate::Volume;
use crate::interpolation::interpolate;
use crate::volume::Placement;

/// Reads a volume at any place, missing values and absent blocks as NaN.
pub(super) struct Sampler<'a> {
    placement: Placement,
    bounds: Box3,
    blocks: &'a [Block],
}

impl<'a> Sampler<'a> {
    pub(super) fn new(volume: &'a Volume, stretch: [f64; 3]) -> Self {
        Self { placement: volume.placement(stretch), bounds: volume.grid().bounds(), blocks: volume.blocks() }
    }

    /// Appends the values at `start + i step` in world units, for `i` in `0..count`; beyond the box's faces they hold.
    pub(super) fn line(&self, &RayPlanes { start, step, count, .. }: &RayPlanes, values: &mut Vec<f32>) {
        let Placement { scale, offset, .. } = self.placement;
        let start: [f64; 3] = std::array::from_fn(|a| start[a] * scale[a] + offset[a]);
        let step: [f64; 3] = std::array::from_fn(|a| step[a] * scale[a]);
        let last = self.bounds.hi.map(|hi| (hi - 1) as f64);
        let mut block = 0;
        values.extend((0..count).map(|i| {
            let at = std::array::from_fn(|a| (start[a] + i as f64 * step[a]).clamp(0.0, last[a]));
            let cell = at.map(|c| c as usize);
            if !self.blocks.get(block).is_some_and(|block| block.owned.has(cell)) {
                let owner = self.blocks.iter().position(|block| block.owned.has(cell));
                let Some(owner) = owner else { return f32::NAN };
                block = owner;
            }
            interpolate(&self.blocks[block], &self.bounds, at)
        }));
    }
}
