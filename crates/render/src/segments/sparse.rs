//! The segments of some rays of a keyframe, as if it had no others: what tells how good and how large all would be.

use visapult_volume::ValueRange;

use super::geometry::SegmentKey;
use super::pieces::{Cursor, Pieces};
use super::sampler::Sampler;
use super::stack::Path;
use super::{Knot, SegmentMaker};
use crate::integrals::Integrals;
use crate::{TransferFunction, View, Volume};

/// Bytes of a knot in a message: measured 0.9 to 1.4.
const BYTES_PER_KNOT: f64 = 1.12;

/// A keyframe of which single rays are followed.
pub(crate) struct SparseSegments<'a> {
    maker: SegmentMaker<'a>,
    sampler: Sampler<'a>,
    /// `None` where the transfer function has no range: nothing shows.
    integrals: Option<Integrals>,
    view: View,
}

impl<'a> SparseSegments<'a> {
    pub(crate) fn new(volume: &'a Volume, key: &'a SegmentKey, function: &TransferFunction, range: ValueRange) -> Self {
        let maker = SegmentMaker::new(volume, key, function, range);
        let integrals = maker.geometry.integrals(function);
        Self { maker, sampler: Sampler::new(volume, key.camera.stretch), integrals, view: key.view() }
    }

    /// Gives, place after place in pixels of the key view, the associated colour that shows there, and the bytes of a ray.
    pub(crate) fn looker(&self) -> impl FnMut([f64; 2]) -> ([f32; 4], f64) {
        let mut follow = self.maker.follower(|_, on, values| self.sampler.line(on, values));
        let last = [self.view.width, self.view.height].map(|n| n - 1);
        move |at| {
            let low = at.map(|place| (place - 0.5).max(0.0) as usize);
            let corners = [[0, 0], [1, 0], [0, 1], [1, 1]];
            let rays = corners.map(|next| follow([0, 1].map(|axis| (low[axis] + next[axis]).min(last[axis]))).0);
            let knots: usize = rays.iter().map(Vec::len).sum();
            (self.color(at, low, &rays), knots as f64 / 4.0 * BYTES_PER_KNOT)
        }
    }

    /// What shows between four rays, the first of which is `low`.
    fn color(&self, at: [f64; 2], low: [usize; 2], rays: &[Vec<Knot>; 4]) -> [f32; 4] {
        let (eye, direction) = (self.view.eye, self.view.direction(at[0], at[1]));
        let geometry = &self.maker.geometry;
        let shown = self.view.shown(geometry.edges.map(f64::from));
        let path = Path::new(&self.view, geometry, &shown, eye, direction);
        let (Some(integrals), Some(path)) = (&self.integrals, path) else { return [0.0; 4] };
        let pieces = Pieces::of(&rays.each_ref().map(Vec::as_slice));
        let mut cursor = Cursor::default();
        // The place is the same on all planes.
        let [x, y] = [0, 1].map(|axis| (at[axis] - 0.5 - low[axis] as f64).clamp(0.0, 0.999_999) as f32);
        path.gathered(integrals, |[.., plane]| pieces.mixed([x, y, plane], 2, &mut cursor), |_, _| 0.0)
    }
}
