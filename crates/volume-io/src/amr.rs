//! Samples of fields on adaptively refined grids: levels of patches of cells, each finer than the one before by whole numbers.
//!
//! Owns no file: whoever knows a format tells where patches are, and reads them. Where a level has no patch its samples are made from the coarser ones.
//! Invariant: of each level that box alone is held that is asked for, with one ghost layer; a sample has the same bits whatever is asked for with it.

mod prolong;

use visapult_volume::Box3;

use crate::SourceError;
use crate::tiles::read_each;

/// Samples of a patch that are read at once, or one row: 1 MiB of `f32`.
const PIECE_VALUES: usize = 1 << 18;

/// Cells of one size, of which the patches have values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level<'a> {
    /// Cells of the whole domain along each axis.
    pub(crate) size: [usize; 3],
    /// Cells along each axis in one of the next coarser level; of no meaning in the coarsest.
    pub(crate) ratio: [usize; 3],
    /// They may leave out cells. Where they overlap, the later one counts.
    pub(crate) patches: &'a [Box3],
}

/// A part of a patch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Place of its level, the coarsest being 0.
    pub(crate) level: usize,
    /// Place of the patch in its level.
    pub(crate) patch: usize,
    /// Cells of the level, all of them in the patch.
    pub(crate) bounds: Box3,
}

/// Makes the samples of `bounds`, cells of the last of `levels` (coarsest first), `[z, y, x]`: those of its own patches, elsewhere what lies between
/// the centres of the cells of the coarser level, which is made alike. What no level has is NaN.
///
/// # Errors
/// Those of `read`, which fills its second argument with the values of a part of a patch.
///
/// # Panics
/// If `out` does not hold exactly `bounds.volume()` values.
pub(crate) fn compose(
    levels: &[Level<'_>],
    bounds: &Box3,
    out: &mut [f32],
    read: impl Fn(&Part, &mut [f32]) -> Result<(), SourceError> + Sync,
) -> Result<(), SourceError> {
    assert_eq!(out.len(), bounds.volume(), "the buffer must hold the box {bounds}");
    let needed = needed(levels, bounds);
    let last = levels.len().saturating_sub(1);
    let mut coarser = Vec::new();
    for (number, level) in levels.iter().enumerate() {
        let bounds = &needed[number];
        let mut own = if number == last { Vec::new() } else { vec![0.0; bounds.volume()] };
        let values = if number == last { &mut *out } else { own.as_mut_slice() };
        match number.checked_sub(1) {
            None => values.fill(f32::NAN),
            Some(below) => prolong::prolong(&coarser, &needed[below], levels[below].size, level.ratio, bounds, values),
        }
        write_patches(number, level, bounds, values, &read)?;
        coarser = own;
    }
    Ok(())
}

/// The box of each level, coarsest first, from which `bounds` of the last is made.
fn needed(levels: &[Level<'_>], bounds: &Box3) -> Vec<Box3> {
    let mut needed = vec![*bounds; levels.len()];
    for (number, pair) in levels.windows(2).enumerate().rev() {
        let (fine, ratio) = (needed[number + 1], pair[1].ratio);
        let covering = Box3 {
            lo: std::array::from_fn(|axis| fine.lo[axis] / ratio[axis]),
            hi: std::array::from_fn(|axis| fine.hi[axis].div_ceil(ratio[axis])),
        };
        needed[number] = covering.grown(1, &Box3::of_size(pair[0].size));
    }
    needed
}

/// Writes what the patches of a level have in `bounds` over what is there.
fn write_patches(
    number: usize,
    level: &Level<'_>,
    bounds: &Box3,
    values: &mut [f32],
    read: impl Fn(&Part, &mut [f32]) -> Result<(), SourceError> + Sync,
) -> Result<(), SourceError> {
    let shared =
        level.patches.iter().enumerate().filter_map(|(patch, cells)| Some((patch, cells.intersection(bounds)?)));
    let (patches, pieces): (Vec<usize>, Vec<Box3>) =
        shared.flat_map(|(patch, shared)| pieces(&shared).map(move |piece| (patch, piece))).unzip();
    read_each(&pieces, bounds, values, |piece, out| {
        read(&Part { level: number, patch: patches[piece], bounds: pieces[piece] }, out)
    })
}

/// Cuts a part of a patch into pieces that follow one another where the patch is stored, x fastest.
fn pieces(shared: &Box3) -> impl Iterator<Item = Box3> + use<> {
    let [nx, ny, nz] = shared.size();
    let rows = (PIECE_VALUES / nx.max(1)).clamp(1, ny);
    let planes = if rows == ny { (PIECE_VALUES / (nx * ny).max(1)).clamp(1, nz) } else { 1 };
    shared.bricks([nx, rows, planes])
}

#[cfg(test)]
mod tests;
