//! Values along key rays: trilinear interpolation at planes of equal depth, whichever block holds them.

use visapult_volume::{Block, Box3};

use super::geometry::RayPlanes;
use crate::Volume;
use crate::cpu::rays::LANES;
use crate::cpu::{Lanes, Task, owned_values, run_best};
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
        let first = values.len();
        values.resize(first + count, f32::NAN);
        run_best(Reading { bounds: &self.bounds, blocks: self.blocks, start, step, values: &mut values[first..] });
    }
}

/// Reads a line in sample coordinates.
struct Reading<'a> {
    bounds: &'a Box3,
    blocks: &'a [Block],
    start: [f64; 3],
    step: [f64; 3],
    values: &'a mut [f32],
}

impl Task for Reading<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        let mut last = 0;
        for (chunk, values) in self.values.chunks_mut(LANES).enumerate() {
            let mut at = [[0.0; LANES]; 3];
            for (axis, along) in at.iter_mut().enumerate() {
                for (lane, at) in along.iter_mut().enumerate() {
                    *at = self.start[axis] + (chunk * LANES + lane) as f64 * self.step[axis];
                }
            }
            let mut left = values.len();
            // First the block that had the places before.
            let before = last;
            for turn in 0..self.blocks.len() {
                let number = if turn == 0 { before } else { turn - usize::from(turn <= before) };
                let (found, owned) = owned_values(&self.blocks[number], self.bounds, &at);
                for lane in 0..values.len() {
                    if owned[lane] {
                        values[lane] = found[lane];
                        left -= 1;
                        last = number;
                    }
                }
                if left == 0 {
                    break;
                }
            }
        }
    }
}
