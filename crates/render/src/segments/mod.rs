//! Segments: along each ray of a key view the field itself, as few depth intervals in each of which it is a cubic.
//!
//! The transfer function stays the viewer's; it only says where values must be kept most exactly. No ray ends early, and
//! what lies behind something opaque is kept as well as what lies in front. Drawn from elsewhere, values are
//! mixed between four rays. Layout and figures: `docs/src/proxies.md`.
//! Invariant: what a ray stores does not depend on how the volume is split over PEs.

mod blocks;
mod fit;
mod geometry;
mod join;
mod line;
mod pieces;
mod sampler;
mod sparse;
mod stack;
#[cfg(test)]
mod tests;
mod tile;
mod tolerance;

use rayon::prelude::*;
use visapult_volume::ValueRange;

use fit::{Fit, MAX_KNOTS};
pub(crate) use geometry::RayPlanes;
pub use geometry::{SegmentGeometry, SegmentKey};
pub use join::join_segments;
pub use line::Knot;
use sampler::Sampler;
pub(crate) use sparse::SparseSegments;
pub use stack::{SegmentStack, SegmentStackError};
pub use tile::{SegmentTile, SegmentTileError};
use tolerance::{TOP_CODE, Tolerance};

use crate::kept_range::{told_apart, with_zero_on_a_code};
use crate::key_rays::Planes;
use crate::slabs::TilePlace;
use crate::{Camera, TransferFunction, Volume};

/// The segments of one key view.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentKeyframe {
    /// The view the rays belong to.
    pub camera: Camera,
    /// Where rays, planes and values lie.
    pub geometry: SegmentGeometry,
    /// Tiles that hold anything, row by row.
    pub tiles: Vec<SegmentTile>,
    /// Samples taken along all rays.
    pub samples: u64,
}

impl SegmentKeyframe {
    /// Values that codes divide: those of the data that a transfer function of the range `shown` tells apart, and such beside them; all where it has none.
    pub fn values_kept(data: Option<ValueRange>, shown: Option<[f32; 2]>) -> ValueRange {
        with_zero_on_a_code(told_apart(data, shown), f64::from(TOP_CODE))
    }

    /// Bytes of all tiles in messages.
    pub fn wire_bytes(&self) -> usize {
        self.tiles.iter().map(SegmentTile::wire_bytes).sum()
    }
}

/// Follows the rays of `key` through `volume` and encodes them, tile by tile, in parallel; codes divide `range`.
///
/// Values outside `range` count as its ends. A volume without finite values makes no tiles.
pub fn make_segments(
    volume: &Volume,
    key: &SegmentKey,
    transfer_function: &TransferFunction,
    range: ValueRange,
) -> SegmentKeyframe {
    let maker = SegmentMaker::new(volume, key, transfer_function, range);
    let sampler = Sampler::new(volume, key.camera.stretch);
    let follow = |strip: TilePlace| maker.follow(&strip, |_, on, values| sampler.line(on, values));
    let strips = maker.strips().into_par_iter().with_max_len(1).map(follow).collect();
    maker.keyframe(strips)
}

/// Rows of a tile's rays that one thread follows at a time.
const STRIP_ROWS: usize = 16;

/// What was followed of some rows of a tile.
pub(crate) struct Strip {
    /// Row by row.
    rays: Vec<Vec<Knot>>,
    /// Taken for them.
    samples: u64,
}

/// Makes segments of the values along rays, wherever these are read.
pub(crate) struct SegmentMaker<'a> {
    key: &'a SegmentKey,
    geometry: SegmentGeometry,
    tolerance: Tolerance,
    has_values: bool,
}

impl<'a> SegmentMaker<'a> {
    pub(crate) fn new(
        volume: &Volume,
        key: &'a SegmentKey,
        transfer_function: &TransferFunction,
        range: ValueRange,
    ) -> Self {
        let geometry = SegmentGeometry::new(volume, key, range);
        let tolerance = geometry.tolerance(transfer_function);
        Self { key, geometry, tolerance, has_values: volume.range().is_some() }
    }

    /// The tiles that rays are cut into, row by row.
    fn places(&self) -> Vec<TilePlace> {
        if self.has_values { self.geometry.tile_places() } else { Vec::new() }
    }

    /// What one thread follows at a time: some rows of rays of each tile, from top to bottom. Tiles differ too much in what they take to be
    /// shared out whole.
    pub(crate) fn strips(&self) -> Vec<TilePlace> {
        let strips_of = |place: TilePlace| {
            let strips = TilePlace::squares([1, place.size[1]], STRIP_ROWS).into_iter();
            strips.map(move |strip| TilePlace {
                lo: [place.lo[0], place.lo[1] + strip.lo[1]],
                size: [place.size[0], strip.size[1]],
            })
        };
        self.places().into_iter().flat_map(strips_of).collect()
    }

    /// Where rays are looked at.
    pub(crate) fn planes(&self) -> Planes {
        self.geometry.planes_around(&self.key.view())
    }

    /// The keyframe of what was followed of all strips.
    pub(crate) fn keyframe(self, strips: Vec<Strip>) -> SegmentKeyframe {
        let samples = strips.iter().map(|strip| strip.samples).sum();
        let mut strips = strips.into_iter();
        let rays_at = |place: TilePlace| {
            let of_tile = strips.by_ref().take(place.size[1].div_ceil(STRIP_ROWS));
            (place, of_tile.flat_map(|strip| strip.rays).collect())
        };
        let tiles: Vec<(TilePlace, Vec<Vec<Knot>>)> = self.places().into_iter().map(rays_at).collect();
        let tiles = tiles.into_par_iter().with_max_len(1).filter_map(|(place, rays)| tile_of(&place, &rays)).collect();
        SegmentKeyframe { camera: self.key.camera, geometry: self.geometry, tiles, samples }
    }

    /// Gives the knots of one ray after another, and the samples taken for each; `read` appends the values of a ray at its planes.
    fn follower(
        &self,
        mut read: impl FnMut([usize; 2], &RayPlanes, &mut Vec<f32>),
    ) -> impl FnMut([usize; 2]) -> (Vec<Knot>, u64) {
        let (view, mut fit, mut values) = (self.key.view(), Fit::default(), Vec::new());
        let segments = usize::from(self.key.segments).clamp(1, MAX_KNOTS - 1);
        move |at| {
            let Some(planes) = self.geometry.planes_of(&view, at) else { return (Vec::new(), 0) };
            values.clear();
            read(at, &planes, &mut values);
            (fit.knots(&values, planes.first, segments, &self.tolerance), planes.count as u64)
        }
    }

    /// Follows the rays of a strip, one after another.
    pub(crate) fn follow(&self, strip: &TilePlace, read: impl FnMut([usize; 2], &RayPlanes, &mut Vec<f32>)) -> Strip {
        let [width, height] = strip.size;
        let at = |i: usize| [strip.lo[0] + i % width, strip.lo[1] + i / width];
        let mut follow = self.follower(read);
        let (rays, samples): (_, Vec<u64>) = (0..width * height).map(|i| follow(at(i))).unzip();
        Strip { rays, samples: samples.iter().sum() }
    }
}

/// The tile of these rays, where they hold anything.
fn tile_of(place: &TilePlace, rays: &[Vec<Knot>]) -> Option<SegmentTile> {
    let [lo, size] = place.words();
    rays.iter().any(|knots| !knots.is_empty()).then(|| SegmentTile::encode(lo, size, rays))
}
