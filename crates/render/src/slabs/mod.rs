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

use crate::cpu::{LayerCaster, LayerPlanes, LayerTile, TileRect};
use crate::{Camera, Patch, TransferFunction, Volume};

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
    let Some((geometry, planes)) = planes_of(volume, key, visible_depths(volume, key, transfer_function), sample_step)
    else {
        return nothing(volume, key);
    };
    let caster = LayerCaster::new(volume, transfer_function, key.view(), planes);
    let places = geometry.tile_places().into_par_iter().with_max_len(1);
    let parts: Vec<_> = places.map(|place| tiles_at(&caster, &place, planes.count)).collect();
    let samples = parts.iter().map(|(_, samples)| samples).sum();
    let tiles = parts.into_iter().flat_map(|(tiles, _)| tiles).collect();
    SlabKeyframe { camera: key.camera, geometry, tiles, samples }
}

/// Least and largest distance from the key eye, along the slabs' normal, of what there is to see in the blocks; `None` where nothing is.
pub fn visible_depths(volume: &Volume, key: &KeyView, transfer_function: &TransferFunction) -> Option<[f64; 2]> {
    let normal = key.geometry(volume.placement().edges).normal.map(f64::from);
    depths::visible_depths(volume, transfer_function, key.camera.eye(), normal)
}

/// Where the slabs of what is visible between two depths lie.
fn planes_of(
    volume: &Volume,
    key: &KeyView,
    depths: Option<[f64; 2]>,
    sample_step: f64,
) -> Option<(SlabGeometry, LayerPlanes)> {
    let mut geometry = key.geometry(volume.placement().edges);
    geometry.narrow(depths?);
    let wanted = geometry.thickness() / (sample_step * volume.placement().step);
    let planes = LayerPlanes {
        normal: geometry.normal.map(f64::from),
        near: f64::from(geometry.near),
        far: f64::from(geometry.far),
        count: usize::from(geometry.slabs),
        samples: ((wanted / STRETCH).ceil() as usize).max(1),
    };
    Some((geometry, planes))
}

fn nothing(volume: &Volume, key: &KeyView) -> SlabKeyframe {
    let geometry = key.geometry(volume.placement().edges);
    SlabKeyframe { camera: key.camera, geometry, tiles: Vec::new(), samples: 0 }
}

/// What each of some runs of PEs shows in the slabs of [`make_slabs`], where all PEs together show something between `depths`.
pub fn cast_runs(
    volume: &Volume,
    key: &KeyView,
    transfer_function: &TransferFunction,
    sample_step: f64,
    depths: [f64; 2],
    runs: &[Vec<usize>],
) -> Vec<Vec<Patch>> {
    let Some((geometry, planes)) = planes_of(volume, key, Some(depths), sample_step) else { return Vec::new() };
    let cast = |run: &Vec<usize>| {
        let caster = LayerCaster::new(volume, transfer_function, key.view(), planes).through(run);
        let places = geometry.tile_places().into_par_iter().enumerate().with_max_len(1);
        places.flat_map_iter(|(tile, place)| patches_at(&caster, tile, &place, planes.count)).collect()
    };
    runs.iter().map(cast).collect()
}

thread_local! {
    static SCRATCH: RefCell<(LayerTile, TexelPlanes)> = RefCell::default();
}

fn patches_at(caster: &LayerCaster<'_>, tile: usize, place: &TilePlace, slabs: usize) -> Vec<Patch> {
    SCRATCH.with_borrow_mut(|(layers, _)| {
        caster.march(&place.rect(), layers);
        let [width, height] = place.size;
        let patch = |slab| Patch::trimmed(tile, slab, &TileRect { x: 0, y: 0, width, height }, layers.layer(slab)?);
        (0..slabs).filter_map(patch).collect()
    })
}

/// The keyframe that runs, the first in front, make together; `volume` is any part of the whole. Patches that fit no tile are left out.
pub fn composite_slabs(
    volume: &Volume,
    key: &KeyView,
    depths: Option<[f64; 2]>,
    sample_step: f64,
    runs: &[Vec<Patch>],
) -> SlabKeyframe {
    let Some((geometry, planes)) = planes_of(volume, key, depths, sample_step) else { return nothing(volume, key) };
    let places = geometry.tile_places();
    let mut patches: Vec<Vec<&Patch>> = vec![Vec::new(); places.len()];
    for patch in runs.iter().flatten() {
        let place = places.get(patch.tile as usize);
        if place.is_some_and(|place| patch.fits(place.size[0], place.size[1])) && patch.slab < geometry.slabs {
            patches[patch.tile as usize].push(patch);
        }
    }
    let composite = |(place, patches): (&TilePlace, &Vec<&Patch>)| composite_at(place, patches, planes.count);
    let tiles = places.par_iter().zip(&patches).with_max_len(1).flat_map_iter(composite).collect();
    SlabKeyframe { camera: key.camera, geometry, tiles, samples: 0 }
}

fn composite_at(place: &TilePlace, patches: &[&Patch], slabs: usize) -> Vec<SlabTile> {
    SCRATCH.with_borrow_mut(|(layers, planes)| {
        layers.clear(&place.rect(), slabs);
        for patch in patches {
            for (i, color) in patch.rgba.iter().enumerate() {
                let TileRect { x, y, width, .. } = patch.rect;
                layers.composite(usize::from(patch.slab), [x + i % width, y + i / width], *color);
            }
        }
        (0..slabs).filter_map(|slab| layers::tile_of(slab, place, layers.layer(slab)?, planes)).collect()
    })
}

/// The tiles of all slabs at one place, and the number of samples taken.
fn tiles_at(caster: &LayerCaster<'_>, place: &TilePlace, slabs: usize) -> (Vec<SlabTile>, u64) {
    SCRATCH.with_borrow_mut(|(layers, planes)| {
        let samples = caster.march(&place.rect(), layers);
        let tile = |slab| layers::tile_of(slab, place, layers.layer(slab)?, planes);
        ((0..slabs).filter_map(tile).collect(), samples)
    })
}
