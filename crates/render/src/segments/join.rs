//! Joins what several PEs make of the same rays.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::SegmentKeyframe;
use super::fit::MAX_KNOTS;
use super::line::Knot;
use super::tile::{SegmentTile, SegmentTileError};

/// One keyframe of those that PEs have made of their own blocks, in the same key view and over the same range; `None` of none.
///
/// Blocks part space, so that the runs of a ray follow one another; between blocks that touch, values are linear. Knots
/// of a ray beyond the 255 nearest are left out.
///
/// # Errors
/// [`SegmentTileError`] if a tile is damaged, or a plane of a ray belongs to two PEs.
pub fn join_segments(parts: &[SegmentKeyframe]) -> Result<Option<SegmentKeyframe>, SegmentTileError> {
    let Some(first) = parts.first() else { return Ok(None) };
    let mut places: BTreeMap<[u16; 2], Vec<&SegmentTile>> = BTreeMap::new();
    for tile in parts.iter().flat_map(|part| &part.tiles) {
        places.entry([tile.lo[1], tile.lo[0]]).or_default().push(tile);
    }
    let tiles = places.into_par_iter().map(|(_, tiles)| join_tiles(&tiles)).collect::<Result<Vec<_>, _>>()?;
    let samples = parts.iter().map(|part| part.samples).sum();
    Ok(Some(SegmentKeyframe { camera: first.camera, geometry: first.geometry, tiles, samples }))
}

fn join_tiles(tiles: &[&SegmentTile]) -> Result<SegmentTile, SegmentTileError> {
    let SegmentTile { lo, size, .. } = *tiles[0];
    let mut rays: Vec<Vec<Knot>> = Vec::new();
    for tile in tiles {
        let decoded = tile.decode()?;
        rays.resize(rays.len().max(decoded.len()), Vec::new());
        rays.iter_mut().zip(decoded).for_each(|(knots, more)| knots.extend(more));
    }
    for (ray, knots) in rays.iter_mut().enumerate() {
        knots.sort_by_key(|knot| knot.plane);
        if knots.windows(2).any(|pair| pair[0].plane == pair[1].plane) {
            return Err(SegmentTileError::Knots { lo, ray });
        }
        knots.truncate(MAX_KNOTS);
    }
    Ok(SegmentTile::encode(lo, size, &rays))
}
