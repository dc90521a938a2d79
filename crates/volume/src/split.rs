//! How a grid is split over PEs: the same wherever it is computed, at a back end, its processes and those that publish.

use crate::{Block, Box3, Decomposition, DecompositionError, Grid, level_count};

/// Edge of the coarsest level: the first picture a viewer gets.
pub const COARSEST_EDGE: usize = 32;

/// Cuts where every PE can coarsen its own box by itself.
///
/// # Errors
/// [`DecompositionError::TooMany`] if the grid does not fit so many.
pub fn split(size: [usize; 3], pes: usize) -> Result<Decomposition, DecompositionError> {
    let alignment = if pes == 1 { 1 } else { 1 << (level_count(size, COARSEST_EDGE) - 1) };
    Decomposition::new(size, pes, alignment)
}

/// As [`split`], over at most `pes` PEs: as many as fit.
///
/// # Errors
/// [`DecompositionError::TooMany`] if it does not fit one.
pub fn fitting_split(size: [usize; 3], pes: usize) -> Result<Decomposition, DecompositionError> {
    let fitting = (2..=pes).rev().find_map(|pes| split(size, pes).ok());
    fitting.map_or_else(|| split(size, 1), Ok)
}

/// What at most `pes` PEs hold: their boxes with the ghost layers.
pub fn stored_boxes(grid: &Grid, pes: usize) -> Vec<Box3> {
    let owned = fitting_split(grid.size, pes).map_or_else(|_| vec![grid.bounds()], |split| split.boxes());
    owned.iter().map(|owned| Block::stored_for(owned, &grid.bounds())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pes_hold_overlaps_by_the_ghost_layers_of_cuts_that_coarsen_with_the_grid() {
        let grid = Grid::of_size([40, 36, 90]);
        let boxes = |pes| stored_boxes(&grid, pes);
        assert_eq!(boxes(1), [grid.bounds()]);
        assert_eq!(boxes(2), [Box3::of_size([40, 36, 45]), Box3::new([0, 0, 43], [40, 36, 90])]);
    }

    #[test]
    fn a_grid_is_split_over_as_many_as_fit() {
        let size = [3, 1, 1];
        assert!(split(size, 4).is_err());
        assert_eq!(fitting_split(size, 4), split(size, 3));
        assert_eq!(stored_boxes(&Grid::of_size(size), 4).len(), 3);
    }
}
