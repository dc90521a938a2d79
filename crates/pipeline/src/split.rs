//! How a grid is split over PEs: the same wherever it is computed, at a back end, its processes and those that publish.

use visapult_volume::{Block, Box3, Decomposition, DecompositionError, Grid, level_count};

/// Edge of the coarsest level: the first picture a viewer gets.
pub(crate) const COARSEST_EDGE: usize = 32;

/// Cuts where every PE can coarsen its own box by itself.
pub(crate) fn split(size: [usize; 3], pes: usize) -> Result<Decomposition, DecompositionError> {
    let alignment = if pes == 1 { 1 } else { 1 << (level_count(size, COARSEST_EDGE) - 1) };
    Decomposition::new(size, pes, alignment)
}

/// Over at most `pes` PEs.
pub(crate) fn fitting_split(size: [usize; 3], pes: usize) -> Result<Decomposition, DecompositionError> {
    let fitting = (2..=pes).rev().find_map(|pes| split(size, pes).ok());
    fitting.map_or_else(|| split(size, 1), Ok)
}

/// What at most `pes` PEs hold: their boxes with the ghost layers.
pub(crate) fn stored_boxes(grid: &Grid, pes: usize) -> Vec<Box3> {
    let owned = fitting_split(grid.size, pes).map_or_else(|_| vec![grid.bounds()], |split| split.boxes());
    owned.iter().map(|owned| Block::stored_for(owned, &grid.bounds())).collect()
}
