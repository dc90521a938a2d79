//! A regular grid of samples: how many, how far apart, where, in which unit.

use thiserror::Error;

use crate::Box3;

/// Where a value sits relative to its cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Centering {
    /// Values are point samples; the outermost ones lie on the faces of the grid's box.
    #[default]
    Point,
    /// Values belong to cells; the outermost centres lie half a cell inside the grid's box.
    Cell,
}

impl Centering {
    /// As files name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Point => "point",
            Self::Cell => "cell",
        }
    }

    /// The one that files name so.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Point, Self::Cell].into_iter().find(|known| known.name() == name)
    }
}

/// A regular, axis-aligned grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Samples per axis, `[nx, ny, nz]`.
    pub size: [usize; 3],
    /// Distance between neighbouring samples per axis, in `unit`.
    pub spacing: [f64; 3],
    /// Position of the first sample, in `unit`.
    pub origin: [f64; 3],
    /// Unit of length as the file gives it (`mm`, `um`, ...); empty where none is known.
    pub unit: String,
    /// Point samples or cell values.
    pub centering: Centering,
}

/// What makes a grid unusable.
#[derive(Debug, Error, PartialEq)]
pub enum GridError {
    /// An axis has no samples.
    #[error("grid of {0:?} samples is empty: every axis needs at least one sample")]
    Empty([usize; 3]),
    /// The sample count does not fit the address space.
    #[error("grid of {0:?} samples is too large to address")]
    TooLarge([usize; 3]),
    /// A spacing is zero, negative or not finite.
    #[error("grid spacing {0:?} must be positive and finite on every axis")]
    Spacing([f64; 3]),
    /// The position of the first sample is not finite.
    #[error("grid origin {0:?} must be finite on every axis")]
    Origin([f64; 3]),
}

impl Grid {
    /// Samples per axis above which a grid is refused as a damaged header.
    pub const MAX_EDGE: usize = 1 << 20;

    /// Sampling steps along the longest edge at most, where no axis has more samples: of sheets millions of times as wide as their
    /// samples are thick, more would show nothing else and take hours.
    pub const MOST_STEPS: usize = 1 << 18;

    /// A grid with unit spacing at the origin.
    pub fn of_size(size: [usize; 3]) -> Self {
        Self { size, spacing: [1.0; 3], origin: [0.0; 3], unit: String::new(), centering: Centering::Point }
    }

    /// The grid with axes so many times as long: as it is shown where what is wide and thin is to be looked into.
    #[must_use]
    pub fn stretched(&self, times: [f64; 3]) -> Self {
        Self { spacing: std::array::from_fn(|axis| self.spacing[axis] * times[axis]), ..self.clone() }
    }

    /// Checks the grid; call it where a grid enters from outside.
    ///
    /// # Errors
    /// [`GridError`] names the first property that does not hold.
    pub fn validate(&self) -> Result<(), GridError> {
        if self.size.contains(&0) {
            return Err(GridError::Empty(self.size));
        }
        let bytes = self.size.iter().try_fold(size_of::<f32>(), |n, &edge| n.checked_mul(edge));
        if bytes.is_none_or(|n| n > isize::MAX as usize) || self.size.iter().any(|&n| n > Self::MAX_EDGE) {
            return Err(GridError::TooLarge(self.size));
        }
        if !self.spacing.iter().all(|s| s.is_finite() && *s > 0.0) {
            return Err(GridError::Spacing(self.spacing));
        }
        if !self.origin.iter().all(|position| position.is_finite()) {
            return Err(GridError::Origin(self.origin));
        }
        Ok(())
    }

    /// The box of all samples.
    pub fn bounds(&self) -> Box3 {
        Box3::of_size(self.size)
    }

    /// Number of samples.
    pub fn sample_count(&self) -> usize {
        self.bounds().volume()
    }

    /// Edge lengths of the grid's box in `unit`; an axis with one point sample counts one spacing.
    pub fn edges(&self) -> [f64; 3] {
        std::array::from_fn(|axis| {
            let intervals = match self.centering {
                Centering::Point => self.size[axis].saturating_sub(1).max(1),
                Centering::Cell => self.size[axis],
            };
            intervals as f64 * self.spacing[axis]
        })
    }

    /// Edge lengths scaled so that the longest is 1: the box that is rendered, centred at the origin.
    pub fn world_edges(&self) -> [f64; 3] {
        let edges = self.edges();
        let longest = edges.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        edges.map(|edge| edge / longest)
    }

    /// Distance between neighbouring samples in world units (longest edge = 1).
    pub fn world_spacing(&self) -> [f64; 3] {
        let longest = self.edges().iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        self.spacing.map(|s| s / longest)
    }

    /// Smallest world distance between neighbouring samples, as far as [`Self::MOST_STEPS`] allow: the unit of the sampling step.
    pub fn world_step(&self) -> f64 {
        let spacing = self.world_spacing();
        let along_many = (0..3).filter(|&axis| self.size[axis] > 1).map(|axis| spacing[axis]);
        let most_steps = self.size.into_iter().fold(Self::MOST_STEPS, usize::max);
        along_many.reduce(f64::min).unwrap_or(1.0).max(1.0 / most_steps as f64)
    }

    /// Affine map from world position to sample coordinates, per axis: `sample = world * scale + offset`.
    ///
    /// Sample 0 has coordinate 0. Coordinates beyond the outermost samples are to be clamped.
    pub fn sample_from_world(&self) -> ([f64; 3], [f64; 3]) {
        let spacing = self.world_spacing();
        let edges = self.world_edges();
        let scale = spacing.map(|s| 1.0 / s);
        let first_offset = match self.centering {
            Centering::Point => 0.0,
            Centering::Cell => -0.5,
        };
        let offset = std::array::from_fn(|axis| edges[axis] / 2.0 * scale[axis] + first_offset);
        (scale, offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn point_samples_reach_the_faces_and_cells_stay_half_a_cell_inside() {
        let mut grid = Grid::of_size([5, 3, 2]);
        let (scale, offset) = grid.sample_from_world();
        assert!((-0.5 * scale[0] + offset[0]).abs() < 1e-12);
        assert!((0.5 * scale[0] + offset[0] - 4.0).abs() < 1e-12);
        grid.centering = Centering::Cell;
        let (scale, offset) = grid.sample_from_world();
        assert!((-0.5 * scale[0] + offset[0] + 0.5).abs() < 1e-12);
        assert!((0.5 * scale[0] + offset[0] - 4.5).abs() < 1e-12);
    }

    #[test]
    fn the_longest_edge_is_one() {
        let mut grid = Grid::of_size([11, 21, 5]);
        grid.spacing = [2.0, 0.5, 1.0];
        assert_eq!(grid.edges(), [20.0, 10.0, 4.0]);
        assert_eq!(grid.world_edges(), [1.0, 0.5, 0.2]);
    }

    #[test]
    fn an_axis_that_is_stretched_is_longer_beside_the_others() {
        let mut wide = Grid::of_size([11, 21, 5]);
        wide.spacing = [2.0, 2.0, 0.5];
        let shown = wide.stretched([1.0, 1.0, 10.0]);
        assert_eq!((shown.edges(), shown.world_edges()), ([20.0, 40.0, 20.0], [0.5, 1.0, 0.5]));
        assert_eq!(wide.stretched([3.0; 3]).world_edges(), wide.world_edges());
    }

    #[test]
    fn rays_through_thin_sheets_have_a_bounded_number_of_steps_and_those_through_long_rows_all() {
        let mut sheet = Grid::of_size([60, 60, 50]);
        sheet.spacing = [90_000.0, 90_000.0, 0.02];
        assert_eq!(sheet.world_step(), 1.0 / Grid::MOST_STEPS as f64);
        sheet.spacing[2] = 25.0;
        assert_eq!(sheet.world_step(), sheet.world_spacing()[2]);
        let row = Grid::of_size([Grid::MAX_EDGE, 2, 2]);
        assert_eq!(row.world_step(), row.world_spacing()[0]);
    }

    #[test]
    fn impossible_grids_are_refused_with_the_reason() {
        assert_eq!(Grid::of_size([0, 1, 1]).validate(), Err(GridError::Empty([0, 1, 1])));
        let huge = [usize::MAX, usize::MAX, 2];
        assert_eq!(Grid::of_size(huge).validate(), Err(GridError::TooLarge(huge)));
        let mut flat = Grid::of_size([2, 2, 2]);
        flat.spacing = [1.0, f64::NAN, 1.0];
        assert!(matches!(flat.validate(), Err(GridError::Spacing(_))));
        for nowhere in [f64::NAN, f64::INFINITY] {
            let adrift = Grid { origin: [0.0, nowhere, 0.0], ..Grid::of_size([2, 2, 2]) };
            assert!(matches!(adrift.validate(), Err(GridError::Origin(_))));
        }
    }
}
