//! Slabs: the box cut by parallel planes, each part ray cast to an image layer in one key view (IBRAVR, omniview).
//!
//! Drawn from elsewhere, layers show parallax, and their opacity is corrected by the length of the new path. Equations:
//! `docs/src/rendering.md`; bytes: `docs/src/view-protocol.md`.
//! Invariant: what a layer stores does not depend on how the volume is split over PEs.

mod geometry;
mod march;
mod stack;
#[cfg(test)]
mod tests;
mod tile;

use rayon::prelude::*;

use crate::{Camera, TransferFunction, Volume};

pub use geometry::{KeyView, SlabAlignment, SlabGeometry};
pub use stack::{SlabStack, SlabStackError};
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
/// neighbouring values; it is shortened so that every slab gets the same whole number of samples.
pub fn make_slabs(
    volume: &Volume,
    key: &KeyView,
    transfer_function: &TransferFunction,
    sample_step: f64,
) -> SlabKeyframe {
    let geometry = key.geometry(volume.grid());
    let marcher = march::Marcher::new(volume, key, &geometry, transfer_function, sample_step);
    let parts: Vec<_> = geometry.tile_places().into_par_iter().map(|place| marcher.tiles_at(&place)).collect();
    let samples = parts.iter().map(|(_, samples)| samples).sum();
    let tiles = parts.into_iter().flat_map(|(tiles, _)| tiles).collect();
    SlabKeyframe { camera: key.camera, geometry, tiles, samples }
}
