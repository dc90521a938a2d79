//! Slabs: the box cut by parallel planes, each part ray cast to an image layer in one key view (IBRAVR, omniview).
//!
//! Drawn from elsewhere, layers show parallax, and their opacity is corrected by the length of the new path. Equations:
//! `docs/src/rendering.md`; bytes: `docs/src/view-protocol.md`.
//! Invariant: what a layer stores does not depend on how the volume is split over PEs.

mod depths;
mod geometry;
mod layers;
mod stack;
#[cfg(test)]
mod tests;
mod tile;

use std::cell::RefCell;

use rayon::prelude::*;

use geometry::TilePlace;

use crate::cpu::{LayerCaster, LayerPlanes, LayerTile};
use crate::{Camera, TransferFunction, Volume};

/// Samples may lie this much farther apart than asked for, rather than one more in each slab.
const STRETCH: f64 = 1.1;

pub use geometry::{KeyView, SlabAlignment, SlabGeometry};
pub use stack::{SlabStack, SlabStackError};
pub use tile::{ALPHA_CODES, SlabTile, TILE_EDGE, TexelPlanes, TileError};

/// The layers of one key view: what one *Slabs* set of the view protocol holds.
#[derive(Clone, Debug, PartialEq)]
pub struct SlabKeyframe {
    /// The view the layers were cast in.
    pub camera: Camera,
    /// Where the layers lie.
    pub geometry: SlabGeometry,
    /// Tiles that hold anything, those of one place in all slabs one after another.
    pub tiles: Vec<SlabTile>,
    /// Samples taken along all rays.
    pub samples: u64,
}

impl SlabKeyframe {
    /// Bytes of all tiles in messages.
    pub fn wire_bytes(&self) -> usize {
        self.tiles.iter().map(SlabTile::wire_bytes).sum()
    }
}

/// Casts the slabs of `volume` in `key` and encodes them, tile by tile, in parallel.
///
/// `sample_step` is the distance of samples along the slabs' normal in units of the smallest distance between
/// neighbouring values; it is changed, by at most a tenth upwards, so that every slab gets the same number of samples.
pub fn make_slabs(
    volume: &Volume,
    key: &KeyView,
    transfer_function: &TransferFunction,
    sample_step: f64,
) -> SlabKeyframe {
    let mut geometry = key.geometry(volume.placement().edges);
    let normal = geometry.normal.map(f64::from);
    match depths::visible_depths(volume, transfer_function, key.camera.eye(), normal) {
        Some(depths) => geometry.narrow(depths),
        None => return SlabKeyframe { camera: key.camera, geometry, tiles: Vec::new(), samples: 0 },
    }
    let wanted = geometry.thickness() / (sample_step * volume.placement().step);
    let planes = LayerPlanes {
        normal,
        near: f64::from(geometry.near),
        far: f64::from(geometry.far),
        count: usize::from(geometry.slabs),
        samples: ((wanted / STRETCH).ceil() as usize).max(1),
    };
    let caster = LayerCaster::new(volume, transfer_function, key.view(), planes);
    let places = geometry.tile_places().into_par_iter().with_max_len(1);
    let parts: Vec<_> = places.map(|place| tiles_at(&caster, &place, planes.count)).collect();
    let samples = parts.iter().map(|(_, samples)| samples).sum();
    let tiles = parts.into_iter().flat_map(|(tiles, _)| tiles).collect();
    SlabKeyframe { camera: key.camera, geometry, tiles, samples }
}

/// The tiles of all slabs at one place, and the number of samples taken.
fn tiles_at(caster: &LayerCaster<'_>, place: &TilePlace, slabs: usize) -> (Vec<SlabTile>, u64) {
    thread_local! {
        static SCRATCH: RefCell<(LayerTile, TexelPlanes)> = RefCell::default();
    }
    SCRATCH.with_borrow_mut(|(layers, planes)| {
        let samples = caster.march(&place.rect(), layers);
        let tile = |slab| layers::tile_of(slab, place, layers.layer(slab)?, planes);
        ((0..slabs).filter_map(tile).collect(), samples)
    })
}
