//! Axes that run backwards in a source: their samples are taken in the other order, so that coordinates grow along every axis.

use crate::{Along, Box3, Grid};

/// Which of x, y, z run backwards in a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reversed(pub [bool; 3]);

impl Reversed {
    /// Turns the axes of a grid of which the spacing is negative.
    pub fn of(grid: &mut Grid) -> Self {
        let backwards = grid.spacing.map(|spacing| spacing < 0.0);
        for axis in (0..3).filter(|axis| backwards[*axis]) {
            grid.origin[axis] += grid.size[axis].saturating_sub(1) as f64 * grid.spacing[axis];
            grid.spacing[axis] = -grid.spacing[axis];
        }
        Self(backwards)
    }

    /// Puts what is told of each axis into the order of the grid.
    pub fn turn_along(self, along: &mut [Along; 3]) {
        (0..3).filter(|axis| self.0[*axis]).for_each(|axis| along[axis].turn());
    }

    /// What is told of it.
    pub fn remark(self) -> Option<String> {
        let axes: Vec<_> = (0..3).filter(|axis| self.0[*axis]).map(|axis| ["x", "y", "z"][axis]).collect();
        (!axes.is_empty()).then(|| format!("{} turned, to grow with the coordinates", axes.join(" and ")))
    }

    /// Where in the source the samples of a box are, of a grid of `size`; and where in the grid those of the source.
    pub fn in_source(self, bounds: &Box3, size: [usize; 3]) -> Box3 {
        let mut stored = *bounds;
        for axis in (0..3).filter(|axis| self.0[*axis]) {
            stored.lo[axis] = size[axis] - bounds.hi[axis];
            stored.hi[axis] = size[axis] - bounds.lo[axis];
        }
        stored
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sample_is_then_the_last_of_the_file() {
        let mut grid = Grid::of_size([5, 2, 2]);
        (grid.spacing[0], grid.origin[0]) = (-2.0, 10.0);
        let reversed = Reversed::of(&mut grid);
        assert_eq!((grid.spacing[0], grid.origin[0], reversed), (2.0, 2.0, Reversed([true, false, false])));
        assert_eq!(reversed.remark().as_deref(), Some("x turned, to grow with the coordinates"));
    }
}
