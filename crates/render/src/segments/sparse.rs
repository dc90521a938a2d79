//! The segments of some rays of a keyframe, as if it had no others: what tells how good and how large all would be.

use rayon::prelude::*;
use visapult_volume::ValueRange;

use super::geometry::SegmentKey;
use super::sampler::Sampler;
use super::stack::{Scene, SegmentStack};
use super::{Knot, SegmentMaker};
use crate::{TransferFunction, Volume};

/// Bytes of a knot in a message: measured 1.1 to 1.3.
const BYTES_PER_KNOT: f64 = 1.25;

/// Some of the rays of a keyframe, and those next to them.
pub(crate) struct SparseSegments {
    stack: SegmentStack,
    knots_per_ray: f64,
}

impl SparseSegments {
    /// Follows the rays between which the places `at` lie, in pixels of the key view.
    pub(crate) fn new(
        volume: &Volume,
        key: &SegmentKey,
        function: &TransferFunction,
        range: ValueRange,
        at: &[[f64; 2]],
    ) -> Self {
        let maker = SegmentMaker::new(volume, key, function, range);
        let sampler = Sampler::new(volume);
        let size = [key.width, key.height].map(usize::from);
        let around = |at: &[f64; 2]| {
            let low = [0, 1].map(|axis| (at[axis] - 0.5).max(0.0) as usize);
            [[0, 0], [1, 0], [0, 1], [1, 1]].map(|next| [0, 1].map(|axis| (low[axis] + next[axis]).min(size[axis] - 1)))
        };
        let follow = |places: &[[f64; 2]]| {
            let mut follow = maker.follower(|_, on, values| sampler.line(on, values));
            places.iter().flat_map(around).map(|at| (at, follow(at).0)).collect::<Vec<_>>()
        };
        let followed: Vec<([usize; 2], Vec<Knot>)> = at.par_chunks(32).flat_map_iter(follow).collect();
        let mut of_rays: Vec<&[Knot]> = vec![&[]; size[0] * size[1]];
        followed.iter().for_each(|([x, y], knots)| of_rays[y * size[0] + x] = knots);
        let knots: usize = followed.iter().map(|(_, knots)| knots.len()).sum();
        let knots_per_ray = knots as f64 / followed.len().max(1) as f64;
        Self { stack: SegmentStack::of_rays(&key.camera, maker.geometry, &of_rays), knots_per_ray }
    }

    /// What they show through a transfer function; `None` where it has no range.
    pub(crate) fn scene(&self, function: &TransferFunction) -> Option<Scene<'_>> {
        self.stack.scene(function)
    }

    /// About the bytes of so many rays.
    pub(crate) fn bytes_of(&self, rays: usize) -> u64 {
        (self.knots_per_ray * BYTES_PER_KNOT * rays as f64) as u64
    }
}
