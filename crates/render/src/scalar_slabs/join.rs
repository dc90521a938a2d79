//! Joins what several processes have of the same faces.

use std::collections::BTreeMap;

use rayon::prelude::*;
use visapult_volume::ValueRange;

use super::stack::check_place;
use super::tile::{ELSEWHERE_CODE, FacePart, FaceTile, NEEDLESS_CODE, VALUE_CODES, finished};
use super::{ScalarKeyframe, ScalarStackError, geometry_of};
use crate::slabs::TilePlace;
use crate::{KeyView, Volume};

/// The keyframe that processes have made `parts` of, each of its own blocks, in the same key view and over the same range: to the bit that of
/// one process. `volume` is any part of the whole. What none of them has counts as missing.
///
/// # Errors
/// [`ScalarStackError`] if a tile is damaged, or lies where none can.
pub fn join_scalar_slabs(
    volume: &Volume,
    key: &KeyView,
    range: ValueRange,
    parts: Vec<FacePart>,
) -> Result<ScalarKeyframe, ScalarStackError> {
    let geometry = geometry_of(volume, key);
    let mut tiles: BTreeMap<[u16; 3], Vec<FacePart>> = BTreeMap::new();
    for part in parts {
        check_place(&part.tile, &geometry)?;
        let FaceTile { face, lo: [x, y], .. } = part.tile;
        tiles.entry([y, x, face]).or_default().push(part);
    }
    let tiles: Result<Vec<_>, _> = tiles.into_par_iter().map(|(_, parts)| joined(parts)).collect();
    Ok(ScalarKeyframe::of_tiles(volume, key, range, tiles?.into_iter().flatten().collect()))
}

/// The tile that these are parts of.
fn joined(mut parts: Vec<FacePart>) -> Result<Option<FaceTile>, ScalarStackError> {
    if let Some(whole) = parts.iter().position(|part| part.is_whole) {
        return Ok(Some(parts.swap_remove(whole).tile));
    }
    let mut codes = Vec::new();
    for part in &parts {
        let more = part.tile.codes()?;
        codes.resize(more.len(), ELSEWHERE_CODE);
        // Whether a texel is needed is the same for all.
        let fill = |(code, more): (&mut u16, u16)| *code = if *code == ELSEWHERE_CODE { more } else { *code };
        codes.iter_mut().zip(more).for_each(fill);
    }
    let is_unknown = |code: &&mut u16| **code > VALUE_CODES && **code != NEEDLESS_CODE;
    codes.iter_mut().filter(is_unknown).for_each(|code| *code = 0);
    let Some(FacePart { tile: FaceTile { face, lo, size, .. }, .. }) = parts.first() else { return Ok(None) };
    let place = TilePlace { lo: lo.map(usize::from), size: size.map(usize::from) };
    Ok(finished(usize::from(*face), &place, codes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar_slabs::{make_scalar_slabs, scalar_slab_parts};
    use crate::testing::{blocks_of, half_wave, wave_of};
    use crate::{Camera, TileError};

    const EDGE: usize = 40;
    const RANGE: ValueRange = ValueRange { lo: -1.0, hi: 1.0 };

    fn key() -> KeyView {
        KeyView { width: 150, height: 150, slabs: 24, ..KeyView::new(Camera::default()) }
    }

    /// The PEs of `volume` as processes have them: so many each, the last one the rest.
    fn shared_out(volume: Volume, each: usize) -> Vec<Volume> {
        let (grid, split) = (volume.grid().clone(), volume.decomposition().clone());
        let mut blocks = volume.into_blocks();
        let mut parts = Vec::new();
        while !blocks.is_empty() {
            let rest = blocks.split_off(each.min(blocks.len()));
            let first = split.boxes().len() - rest.len() - blocks.len();
            parts.push(Volume::part(grid.clone(), split.clone(), first, blocks).unwrap());
            blocks = rest;
        }
        parts
    }

    fn parts_of(processes: &[Volume]) -> Vec<FacePart> {
        processes.iter().flat_map(|part| scalar_slab_parts(part, &key(), RANGE)).collect()
    }

    #[test]
    fn processes_together_make_the_tiles_of_one() {
        for each in [1, 3, 8] {
            let one = make_scalar_slabs(&wave_of(EDGE, 8), &key(), RANGE);
            let processes = shared_out(wave_of(EDGE, 8), each);
            let parts = parts_of(&processes);
            assert_eq!(parts.iter().all(|part| part.is_whole), each == 8);
            assert!(parts.iter().any(|part| part.is_whole));
            assert_eq!(join_scalar_slabs(&processes[0], &key(), RANGE, parts).unwrap(), one);
        }
    }

    #[test]
    fn missing_values_are_missing_wherever_they_are() {
        let half = half_wave(EDGE);
        let one = make_scalar_slabs(&half, &key(), RANGE);
        let (grid, split) = (half.grid().clone(), wave_of(EDGE, 8).decomposition().clone());
        let blocks = blocks_of(&half.blocks()[0].values, [EDGE; 3], 8, 4);
        let processes = shared_out(Volume::new(grid, split, blocks).unwrap(), 3);
        assert_eq!(join_scalar_slabs(&processes[1], &key(), RANGE, parts_of(&processes)).unwrap(), one);
    }

    #[test]
    fn what_a_process_has_not_given_is_missing() {
        let mut processes = shared_out(wave_of(EDGE, 8), 3);
        processes.remove(1);
        let joined = join_scalar_slabs(&processes[0], &key(), RANGE, parts_of(&processes)).unwrap();
        let codes = |keyframe: &ScalarKeyframe| {
            keyframe.tiles.iter().flat_map(|tile| tile.decode().unwrap()).collect::<Vec<_>>()
        };
        let one = make_scalar_slabs(&wave_of(EDGE, 8), &key(), RANGE);
        assert!(!codes(&one).contains(&0));
        assert!(codes(&joined).contains(&0));
    }

    #[test]
    fn damaged_parts_are_refused() {
        let processes = shared_out(wave_of(EDGE, 8), 3);
        let refusal = |change: &dyn Fn(&mut FacePart)| {
            let mut parts = parts_of(&processes);
            let shared = parts.iter().position(|part| !part.is_whole).unwrap();
            change(&mut parts[shared]);
            join_scalar_slabs(&processes[0], &key(), RANGE, parts).unwrap_err()
        };
        let elsewhere = refusal(&|part| part.tile.lo[0] += 1);
        assert!(matches!(elsewhere, ScalarStackError::Place { .. }));
        let torn = refusal(&|part| part.tile.payload.truncate(3));
        assert!(matches!(torn, ScalarStackError::Tile(TileError::Payload { .. })));
    }
}
