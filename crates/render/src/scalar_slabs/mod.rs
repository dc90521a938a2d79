//! Scalar slabs: the field itself where the rays of one key view meet parallel planes, the faces of slabs.
//!
//! Whoever draws them classifies what lies between faces, from any direction and through any transfer function
//! (pre-integration: Engel, Kraus & Ertl 2001). Equations: `docs/src/rendering.md`; bytes: `docs/src/view-protocol.md`.
//! Invariant: what a face stores depends on the field alone, not on a transfer function and not on how the volume is split
//! over PEs.

mod join;
mod sample;
mod stack;
#[cfg(test)]
mod tests;
mod tile;

use std::cell::RefCell;

use rayon::prelude::*;
use visapult_volume::ValueRange;

pub use join::join_scalar_slabs;
pub(crate) use sample::reached;
pub(crate) use stack::Faces;
pub use stack::{ScalarStack, ScalarStackError};
pub(crate) use tile::VALUE_CODES;
pub use tile::{FacePart, FaceTile};

use crate::kept_range::{told_apart, with_zero_on_a_code};
use crate::key_rays::Planes;
use crate::slabs::{SlabGeometry, TILE_EDGE, TilePlace};
use crate::{Camera, KeyView, Volume};
use sample::FaceSampler;
pub(crate) use tile::Quantiser;

/// Most slabs that [`fitted_key`] chooses.
const MOST_SLABS: f64 = 192.0;
/// Rays per edge between which [`fitted_key`] chooses.
const RAYS: [f64; 2] = [64.0, 512.0];
/// Samples of the grid to the thickness of a slab.
const SAMPLES_PER_SLAB: f64 = 2.0;
/// Slabs are so many, or a multiple: there are whole ones in half and in a third of them.
const SLAB_PARTS: f64 = 6.0;

/// The faces of one key view: what one *Scalar slabs* set of the view protocol holds.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalarKeyframe {
    /// The view whose rays meet the faces.
    pub camera: Camera,
    /// Where the slabs lie; they have one face more than there are slabs.
    pub geometry: SlabGeometry,
    /// Edges of the box that holds the field, in world units.
    pub edges: [f32; 3],
    /// Values of the smallest and the largest code.
    pub range: [f32; 2],
    /// Tiles that hold any value, those of one place in all faces one after another.
    pub tiles: Vec<FaceTile>,
}

impl ScalarKeyframe {
    /// One without tiles.
    pub fn of_nothing(volume: &Volume, key: &KeyView, range: ValueRange) -> Self {
        Self::of_tiles(volume, key, range, Vec::new())
    }

    /// Values that codes divide: those of the data that a transfer function of the range `shown` tells apart, and such beside them; all where it has none.
    pub fn values_kept(data: Option<ValueRange>, shown: Option<[f32; 2]>) -> ValueRange {
        with_zero_on_a_code(told_apart(data, shown), f64::from(VALUE_CODES - 1))
    }

    pub(crate) fn of_tiles(volume: &Volume, key: &KeyView, range: ValueRange, tiles: Vec<FaceTile>) -> Self {
        Self {
            camera: key.camera,
            geometry: geometry_of(volume, key),
            edges: volume.placement(key.camera.stretch).edges.map(|edge| edge as f32),
            range: [range.lo, range.hi],
            tiles,
        }
    }

    /// Bytes of all tiles in messages.
    pub fn wire_bytes(&self) -> usize {
        self.tiles.iter().map(FaceTile::wire_bytes).sum()
    }
}

/// The view of `camera` with slabs and rays about as dense as the grid's samples at the middle of the box, within limits.
pub fn fitted_key(volume: &Volume, camera: Camera) -> KeyView {
    let key = KeyView::new(camera);
    let placement = volume.placement(camera.stretch);
    let whole = key.geometry(placement.edges);
    let depth = f64::from(whole.far) - f64::from(whole.near);
    let slabs = (depth / (SAMPLES_PER_SLAB * placement.step * SLAB_PARTS)).ceil() * SLAB_PARTS;
    let slabs = slabs.clamp(1.0, MOST_SLABS);
    let across = 2.0 * (camera.fov_deg.to_radians() / 2.0).tan() * f64::from(whole.near + whole.far) / 2.0;
    let rays = (across / placement.step).ceil().clamp(RAYS[0], RAYS[1]) as u16;
    KeyView { slabs: slabs as u16, width: rays, height: rays, ..key }
}

/// Numbers of slabs to choose among in [`fitted_key`], by how much the data change in depth: all that it has, and half, a third and two thirds of them.
///
/// The first is the largest; each that divides it has faces among its faces.
pub fn slab_counts(volume: &Volume, camera: Camera) -> [u16; 4] {
    let fitted = fitted_key(volume, camera).slabs;
    [fitted, fitted / 2, fitted / 3, fitted / 3 * 2].map(|slabs| slabs.max(1))
}

/// Samples the faces of `volume`, which is whole, in `key` and encodes them, tile by tile, in parallel; codes divide `range`.
pub fn make_scalar_slabs(volume: &Volume, key: &KeyView, range: ValueRange) -> ScalarKeyframe {
    let tiles = scalar_slab_parts(volume, key, range).into_iter().map(|part| part.tile).collect();
    ScalarKeyframe::of_tiles(volume, key, range, tiles)
}

/// What `volume` has of the faces in `key`. Of parts of a whole, [`join_scalar_slabs`] puts together what all have.
pub fn scalar_slab_parts(volume: &Volume, key: &KeyView, range: ValueRange) -> Vec<FacePart> {
    let maker = FaceMaker::new(volume, key, range);
    let places = maker.places().into_par_iter().with_max_len(1);
    places.flat_map_iter(|place| maker.parts(&place, |values| maker.sampler.sample(&place, values))).collect()
}

/// Makes tiles of the values at faces, wherever these are read.
pub(crate) struct FaceMaker<'a> {
    sampler: FaceSampler<'a>,
    quantiser: Quantiser,
    geometry: SlabGeometry,
}

impl<'a> FaceMaker<'a> {
    pub(crate) fn new(volume: &'a Volume, key: &KeyView, range: ValueRange) -> Self {
        let geometry = geometry_of(volume, key);
        let sampler = FaceSampler::new(volume, key.view(), geometry);
        Self { sampler, quantiser: Quantiser::new([range.lo, range.hi]), geometry }
    }

    pub(crate) fn places(&self) -> Vec<TilePlace> {
        places_of(&self.geometry)
    }

    /// The faces, and the box in which texels have values.
    pub(crate) fn planes(&self) -> Planes {
        self.sampler.planes()
    }

    /// The tiles of all faces at `place`, where the values at all faces of its texels, `[face, y, x]`, are `found`.
    pub(crate) fn tiles(&self, place: &TilePlace, found: &[f32]) -> Vec<FaceTile> {
        let parts = self.parts(place, |values| self.sampler.take(place, found, values));
        parts.into_iter().map(|part| part.tile).collect()
    }

    fn parts(&self, place: &TilePlace, read: impl FnOnce(&mut Vec<f32>)) -> Vec<FacePart> {
        SCRATCH.with_borrow_mut(|values| {
            read(values);
            let faces = values.chunks(place.size[0] * place.size[1]).take(self.geometry.face_count());
            faces.enumerate().filter_map(|(face, values)| self.quantiser.part(face, place, values)).collect()
        })
    }
}

fn geometry_of(volume: &Volume, key: &KeyView) -> SlabGeometry {
    key.geometry(volume.placement(key.camera.stretch).edges).in_front_of_the_eye()
}

fn places_of(geometry: &SlabGeometry) -> Vec<TilePlace> {
    TilePlace::squares([geometry.width, geometry.height].map(usize::from), TILE_EDGE)
}

thread_local! {
    static SCRATCH: RefCell<Vec<f32>> = RefCell::default();
}
