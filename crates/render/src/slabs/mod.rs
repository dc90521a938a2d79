//! Slabs: the box cut by parallel planes, each part ray cast to an image layer in one key view (IBRAVR, omniview).
//!
//! Drawn from elsewhere, layers show parallax, and their opacity is corrected by the length of the new path. Equations:
//! `docs/src/rendering.md`; bytes: `docs/src/view-protocol.md`.
//! Invariant: what a layer stores does not depend on how the volume is split over PEs.

mod caster;
mod depths;
mod geometry;
mod layers;
mod stack;
#[cfg(test)]
mod tests;
mod tile;

use crate::cpu::front_to_back;
use crate::{Camera, TransferFunction, Volume};

pub use caster::{SlabCaster, composite_slabs, owners_by_place};
pub(crate) use caster::{planes_of, samples_per_slab};
pub(crate) use geometry::TilePlace;
pub use geometry::{KeyView, SlabGeometry};
pub(crate) use layers::LayerCoder;
pub(crate) use stack::Layers;
pub use stack::{SlabStack, SlabStackError};
pub(crate) use tile::TEXEL_BYTES;
pub use tile::{SlabTile, TILE_EDGE, TexelPlanes, TileError};

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
    let depths = visible_depths(volume, key, transfer_function);
    let cast = |depths| {
        let caster = SlabCaster::new(volume, key, transfer_function, sample_step, depths);
        caster.tiles(&front_to_back(volume, &key.view()), &(0..caster.place_count()).collect::<Vec<_>>())
    };
    let (tiles, samples) = depths.map(cast).unwrap_or_default();
    SlabKeyframe { camera: key.camera, geometry: narrowed(volume, key, depths), tiles, samples }
}

/// Least and largest distance from the key eye, along the slabs' normal, of what there is to see in the blocks; `None` where nothing is.
pub fn visible_depths(volume: &Volume, key: &KeyView, transfer_function: &TransferFunction) -> Option<[f64; 2]> {
    let placement = volume.placement(key.camera.stretch);
    let normal = key.geometry(placement.edges).normal.map(f64::from);
    let shown = key.view().shown(placement.edges);
    depths::visible_depths(volume, &placement, &shown, transfer_function, key.camera.eye(), normal)
}

/// Where the slabs of what is visible between two depths lie; of the whole box where nothing is.
fn narrowed(volume: &Volume, key: &KeyView, depths: Option<[f64; 2]>) -> SlabGeometry {
    let mut geometry = key.geometry(volume.placement(key.camera.stretch).edges);
    depths.into_iter().for_each(|depths| geometry.narrow(depths));
    geometry
}
