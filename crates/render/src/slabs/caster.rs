//! Casts the tiles of slabs: whole where one process has all PEs that show there, else as patches that one process puts together.

use std::cell::RefCell;

use rayon::prelude::*;
use visapult_volume::Box3;

use super::geometry::{KeyView, SlabGeometry, TilePlace};
use super::layers::LayerCoder;
use super::tile::SlabTile;
use super::{SlabKeyframe, narrowed};
use crate::cpu::{LayerCaster, LayerPlanes, LayerTile, TileRect};
use crate::{Patch, TransferFunction, Volume};

/// Samples may lie this much farther apart than asked for, rather than one more in each slab.
const MOST_APART: f64 = 1.1;

/// What some PEs show in the slabs of one keyframe, place by place: a place is where tiles of all slabs lie behind one another.
pub struct SlabCaster<'a> {
    caster: LayerCaster<'a>,
    places: Vec<TilePlace>,
    slabs: usize,
}

/// Samples that each slab gets where they should lie `sample_step` apart.
pub(crate) fn samples_per_slab(volume: &Volume, key: &KeyView, geometry: &SlabGeometry, sample_step: f64) -> usize {
    let wanted = geometry.thickness() / (sample_step * volume.placement(key.camera.stretch).step);
    ((wanted / MOST_APART).ceil() as usize).max(1)
}

/// Where the slabs of what shows between `depths` lie, and the samples in them.
pub(crate) fn planes_of(
    volume: &Volume,
    key: &KeyView,
    sample_step: f64,
    depths: [f64; 2],
) -> (SlabGeometry, LayerPlanes) {
    let geometry = narrowed(volume, key, Some(depths));
    let planes = LayerPlanes {
        normal: geometry.normal.map(f64::from),
        near: f64::from(geometry.near),
        far: f64::from(geometry.far),
        count: usize::from(geometry.slabs),
        samples: samples_per_slab(volume, key, &geometry, sample_step),
    };
    (geometry, planes)
}

thread_local! {
    static SCRATCH: RefCell<(LayerTile, LayerCoder)> = RefCell::default();
}

impl<'a> SlabCaster<'a> {
    /// Prepares to cast `volume`, any part of a whole that shows something between `depths`.
    pub fn new(
        volume: &'a Volume,
        key: &KeyView,
        transfer_function: &TransferFunction,
        sample_step: f64,
        depths: [f64; 2],
    ) -> Self {
        let (geometry, planes) = planes_of(volume, key, sample_step, depths);
        let caster = LayerCaster::new(volume, transfer_function, key.view(), planes);
        Self { caster, places: geometry.tile_places(), slabs: planes.count }
    }

    /// How many places there are, row by row.
    pub fn place_count(&self) -> usize {
        self.places.len()
    }

    /// The tiles of what the PEs of `run`, from front to back, show at `places` alone, and the samples taken.
    pub fn tiles(&self, run: &[usize], places: &[usize]) -> (Vec<SlabTile>, u64) {
        self.at_places(run, places, |_, place, layers, coder| coder.tiles(place, self.slabs, |slab| layers.layer(slab)))
    }

    /// What the PEs of `run` show at `places`, to be put behind or before what others show there, and the samples taken.
    pub fn patches(&self, run: &[usize], places: &[usize]) -> (Vec<Patch>, u64) {
        self.at_places(run, places, |number, place, layers, _| {
            let [width, height] = place.size;
            let rect = TileRect { x: 0, y: 0, width, height };
            (0..self.slabs).filter_map(|slab| Patch::trimmed(number, slab, &rect, layers.layer(slab)?)).collect()
        })
    }

    /// Casts places in parallel; those that do not exist are left out.
    fn at_places<T: Send>(
        &self,
        run: &[usize],
        places: &[usize],
        make: impl Fn(usize, &TilePlace, &LayerTile, &mut LayerCoder) -> Vec<T> + Sync,
    ) -> (Vec<T>, u64) {
        let cast = |number: &usize| {
            let place = self.places.get(*number)?;
            SCRATCH.with_borrow_mut(|(layers, coder)| {
                let samples = self.caster.march(run, &place.rect(), layers);
                Some((make(*number, place, layers, coder), samples))
            })
        };
        let parts: Vec<_> = places.par_iter().with_max_len(1).filter_map(cast).collect();
        let samples = parts.iter().map(|(_, samples)| samples).sum();
        (parts.into_iter().flat_map(|(made, _)| made).collect(), samples)
    }
}

/// The tiles that runs, the first in front, make together; `volume` is any part of the whole. Patches that fit no tile are left out.
pub fn composite_slabs(volume: &Volume, key: &KeyView, runs: &[Vec<Patch>]) -> Vec<SlabTile> {
    let geometry = narrowed(volume, key, None);
    let places = geometry.tile_places();
    let mut patches: Vec<Vec<&Patch>> = vec![Vec::new(); places.len()];
    for patch in runs.iter().flatten() {
        let fits = |place: &TilePlace| patch.lies_in(&TileRect { x: 0, y: 0, ..place.rect() });
        if places.get(patch.tile as usize).is_some_and(fits) && patch.slab < geometry.slabs {
            patches[patch.tile as usize].push(patch);
        }
    }
    let slabs = usize::from(geometry.slabs);
    let composite = |(place, patches): (&TilePlace, &Vec<&Patch>)| composite_at(place, patches, slabs);
    places.par_iter().zip(&patches).with_max_len(1).flat_map_iter(composite).collect()
}

fn composite_at(place: &TilePlace, patches: &[&Patch], slabs: usize) -> Vec<SlabTile> {
    if patches.is_empty() {
        return Vec::new();
    }
    SCRATCH.with_borrow_mut(|(layers, coder)| {
        layers.clear(&place.rect(), slabs);
        for patch in patches {
            for (i, color) in patch.rgba.iter().enumerate() {
                let TileRect { x, y, width, .. } = patch.rect;
                layers.composite(usize::from(patch.slab), [x + i % width, y + i / width], *color);
            }
        }
        coder.tiles(place, slabs, |slab| layers.layer(slab))
    })
}

/// For every place, the owners of PEs that may show there, ascending: those whose boxes the key eye sees in it.
pub fn owners_by_place(volume: &Volume, key: &KeyView, owner: impl Fn(usize) -> usize) -> Vec<Vec<usize>> {
    let boxes = volume.decomposition().boxes();
    let seen: Vec<_> = boxes.iter().enumerate().map(|(pe, owned)| (owner(pe), seen_of(volume, key, owned))).collect();
    let owners_at = |place: TilePlace| {
        let meets = |seen: &[[f64; 2]; 2]| {
            (0..2).all(|axis| {
                let lo = place.lo[axis] as f64;
                seen[1][axis] >= lo && seen[0][axis] <= lo + place.size[axis] as f64
            })
        };
        let mut owners: Vec<usize> = seen.iter().filter(|(_, seen)| meets(seen)).map(|(owner, _)| *owner).collect();
        owners.sort_unstable();
        owners.dedup();
        owners
    };
    narrowed(volume, key, None).tile_places().into_iter().map(owners_at).collect()
}

/// Least and largest pixel position of a PE's box in the key view, and a pixel around; everything where the eye lies in it or beside.
fn seen_of(volume: &Volume, key: &KeyView, owned: &Box3) -> [[f64; 2]; 2] {
    let (placement, view) = (volume.placement(key.camera.stretch), key.view());
    let faces: [[f64; 2]; 3] = std::array::from_fn(|axis| {
        let world = |sample: usize| (sample as f64 - placement.offset[axis]) / placement.scale[axis];
        let half = placement.edges[axis] / 2.0;
        // What lies outside the first and last samples belongs to the outer boxes.
        let (lo, hi) = (owned.lo[axis], owned.hi[axis]);
        [if lo == 0 { -half } else { world(lo) }, if hi == volume.grid().size[axis] { half } else { world(hi) }]
    });
    let mut seen = [[f64::INFINITY; 2], [f64::NEG_INFINITY; 2]];
    for corner in 0..8_usize {
        let point = std::array::from_fn(|axis| faces[axis][corner >> axis & 1]);
        let Some((pixel, _)) = view.project(point) else { return [[f64::NEG_INFINITY; 2], [f64::INFINITY; 2]] };
        for axis in 0..2 {
            seen[0][axis] = seen[0][axis].min(pixel[axis] - 1.0);
            seen[1][axis] = seen[1][axis].max(pixel[axis] + 1.0);
        }
    }
    seen
}

impl SlabKeyframe {
    /// The keyframe of tiles that processes have made, in any order, where all together show something between `depths`; `volume` is any part
    /// of the whole. Tiles that lie nowhere are left out.
    pub fn of_tiles(
        volume: &Volume,
        key: &KeyView,
        depths: Option<[f64; 2]>,
        mut tiles: Vec<SlabTile>,
        samples: u64,
    ) -> Self {
        let geometry = narrowed(volume, key, depths);
        let places = geometry.tile_places();
        let place_of = |tile: &SlabTile| {
            let (lo, size) = (tile.lo.map(usize::from), tile.size.map(usize::from));
            places.iter().position(|place| (place.lo, place.size) == (lo, size)).filter(|_| tile.slab < geometry.slabs)
        };
        tiles.retain(|tile| place_of(tile).is_some());
        tiles.sort_by_cached_key(|tile| (place_of(tile), tile.slab));
        Self { camera: key.camera, geometry, tiles, samples }
    }
}
