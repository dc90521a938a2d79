//! Where samples lie along the axes, as a program that publishes says it: put into its grid as those of files are.

use visapult_volume::coordinates::{Along, Coordinates, Found, are_downwards, place};
use visapult_volume::{Grid, Reversed};

use crate::along::told_along;
use crate::error::FlowError;
use crate::publisher::PublisherOptions;
use crate::words::{check_name, check_unit, remarks_that_fit};

/// What the axes of space are called.
pub const AXES: [&str; 3] = ["x", "y", "z"];

/// Where samples lie along an axis, as a program says it.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisCoordinates {
    /// What it calls them.
    pub name: String,
    /// Their unit; that of the grid where none is told.
    pub unit: Option<String>,
    /// One for each sample of the whole grid, growing or falling.
    pub values: Vec<f64>,
    /// Whether they grow downwards, or upwards, where that is told; pressures grow downwards.
    pub are_downwards: Option<bool>,
}

impl AxisCoordinates {
    /// Whether they tell one place for each of `samples` along `axis`.
    ///
    /// # Errors
    /// Why not, in words.
    pub fn check(&self, axis: usize, samples: usize) -> Result<(), String> {
        let (along, values) = (AXES[axis], &self.values);
        check_name(&format!("axis {along}"), &self.name)?;
        check_unit(&format!("axis {along}"), self.unit.as_deref().unwrap_or_default())?;
        if values.len() != samples {
            let given = values.len();
            return Err(format!(
                "there are {given} coordinates along {along}, of {samples} samples of the whole grid: give one for each"
            ));
        }
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            return Err(format!("coordinate {at} along {along} is {}, which is no place", values[at]));
        }
        let falls = values.last() < values.first();
        let is_wrong = |at: &usize| values[*at] == values[at - 1] || (values[*at] < values[at - 1]) != falls;
        if let Some(at) = (1..samples).find(is_wrong) {
            let (before, value) = (values[at - 1], values[at]);
            return Err(format!(
                "coordinates along {along} neither grow nor fall: number {at} is {value}, after {before}"
            ));
        }
        let found = Found::new(self.told(""));
        if samples > 1 && !found.has_spacing() {
            return Err(format!("coordinates along {along} are too close to each other, or too far from each other"));
        }
        Ok(())
    }

    /// In the unit of the grid, if they have none of their own.
    fn told(&self, unit_of_grid: &str) -> Coordinates {
        let unit = self.unit.as_deref().unwrap_or(unit_of_grid).to_owned();
        Coordinates {
            name: self.name.clone(),
            values: self.values.as_slice().into(),
            are_downwards: self.are_downwards.or_else(|| are_downwards("", &unit)),
            unit,
        }
    }
}

/// Which way coordinates grow that are `positive` "up" or "down"; "" tells nothing.
///
/// # Errors
/// If it is neither.
pub fn grow_downwards(positive: &str) -> Result<Option<bool>, String> {
    match positive.to_ascii_lowercase().as_str() {
        "" => Ok(None),
        "up" => Ok(Some(false)),
        "down" => Ok(Some(true)),
        _ => Err(format!("coordinates grow \"up\" or \"down\", where that is told, not {positive:?}")),
    }
}

impl PublisherOptions {
    /// With samples where a program has them along x, y, z; where it says nothing they lie as its grid has them. Axes along which coordinates
    /// fall are turned, with the box of the rank: from here on what is put is in the order of [`reversed`](Self::reversed).
    ///
    /// # Errors
    /// If coordinates do not tell one place for each sample.
    pub fn with_coordinates(mut self, told: &[Option<AxisCoordinates>; 3]) -> Result<Self, FlowError> {
        if told.iter().all(Option::is_none) {
            return Ok(self);
        }
        for (axis, told) in told.iter().enumerate() {
            let checked = told.as_ref().map_or(Ok(()), |told| told.check(axis, self.grid.size[axis]));
            checked.map_err(FlowError::Usage)?;
        }
        let found = std::array::from_fn(|axis| {
            let told = told[axis].as_ref().map(|told| told.told(&self.grid.unit));
            Some(Found::new(told.unwrap_or_else(|| of_grid(&self.grid, axis))))
        });
        let before = self.grid;
        let mut grid = Grid { centering: before.centering, ..Grid::of_size(before.size) };
        let remarks = place(&found, &mut grid).remarks;
        let mut along = Along::of(&found);
        let reversed = Reversed::of(&mut grid);
        reversed.turn_along(&mut along);
        let remarks = remarks.into_iter().chain(reversed.remark());
        // One that leaves the grid is refused as it was declared.
        if grid.bounds().contains(&self.block) {
            self.block = reversed.in_source(&self.block, grid.size);
        }
        self.along = told_along(&grid, &along);
        self.format =
            remarks_that_fit(&remarks.fold(self.format, |format, remark| format + "; " + &remark), "and more");
        (self.grid, self.reversed) = (grid, reversed);
        Ok(self)
    }
}

/// What a grid says of an axis, as coordinates.
fn of_grid(grid: &Grid, axis: usize) -> Coordinates {
    let (origin, spacing) = (grid.origin[axis], grid.spacing[axis]);
    Coordinates {
        name: AXES[axis].to_owned(),
        unit: grid.unit.clone(),
        values: (0..grid.size[axis]).map(|sample| origin + sample as f64 * spacing).collect(),
        are_downwards: None,
    }
}

#[cfg(test)]
mod tests {
    use visapult_volume::{Box3, Centering};

    use super::*;

    fn told(name: &str, unit: &str, values: &[f64]) -> Option<AxisCoordinates> {
        let unit = (!unit.is_empty()).then(|| unit.to_owned());
        Some(AxisCoordinates { name: name.to_owned(), unit, values: values.to_vec(), are_downwards: None })
    }

    /// A grid of 4 x 3 x 3 samples 2 km apart, of which the rank has what is below.
    fn declared(told: [Option<AxisCoordinates>; 3]) -> Result<PublisherOptions, FlowError> {
        let (unit, centering) = ("km".to_owned(), Centering::Cell);
        let grid = Grid { spacing: [2.0; 3], unit, centering, ..Grid::of_size([4, 3, 3]) };
        let block = Box3::new([0, 0, 0], [4, 3, 1]);
        PublisherOptions { block, ..PublisherOptions::of_simulation("run".to_owned(), grid, Vec::new()) }
            .with_coordinates(&told)
    }

    fn values(options: &PublisherOptions, axis: usize) -> &[f64] {
        options.along[axis].as_ref().map_or(&[], |along| &along.values)
    }

    #[test]
    fn uneven_coordinates_make_a_mean_spacing_beside_that_of_the_other_axes() {
        let placed = declared([None, None, told("height", "m", &[10.0, 30.0, 210.0])]).unwrap();
        assert_eq!((placed.grid.spacing, placed.grid.origin), ([2.0, 2.0, 0.1], [0.0, 0.0, 0.01]));
        assert_eq!((placed.grid.unit.as_str(), placed.grid.centering.name()), ("km", "cell"));
        assert_eq!(values(&placed, 2), [10.0, 30.0, 210.0]);
        assert_eq!([&placed.along[0], &placed.along[1]], [&None, &None]);
        assert_eq!(placed.format, "running simulation; coordinates height are uneven: shown equally far apart");
    }

    #[test]
    fn coordinates_without_a_unit_have_that_of_the_grid() {
        let placed = declared([None, told("y", "", &[1.0, 2.0, 3.0]), None]).unwrap();
        assert_eq!((placed.grid.spacing, placed.grid.unit.as_str()), ([2.0, 1.0, 2.0], "km"));
        assert_eq!((placed.along, placed.format.as_str()), (Default::default(), "running simulation"));
    }

    #[test]
    fn where_units_cannot_be_compared_each_axis_has_numbers_of_its_own() {
        let placed = declared([None, None, told("plev", "hPa", &[1000.0, 500.0, 100.0])]).unwrap();
        assert_eq!((placed.grid.spacing, placed.grid.unit.as_str()), ([1.0; 3], ""));
        assert_eq!([values(&placed, 0), values(&placed, 2)], [&[0.0, 2.0, 4.0, 6.0][..], &[1000.0, 500.0, 100.0]]);
        assert!(placed.along[2].as_ref().unwrap().is_vertical);
        assert_eq!(placed.reversed, Reversed::default());
    }

    #[test]
    fn an_axis_along_which_coordinates_fall_is_turned_with_the_box_of_the_rank() {
        let placed = declared([None, None, told("plev", "hPa", &[100.0, 500.0, 1000.0])]).unwrap();
        assert_eq!((placed.reversed, placed.block), (Reversed([false, false, true]), Box3::new([0, 0, 2], [4, 3, 3])));
        assert_eq!(values(&placed, 2), [1000.0, 500.0, 100.0]);
        let placed = declared([None, told("y", "km", &[9.0, 8.0, 7.0]), None]).unwrap();
        assert_eq!((placed.reversed, placed.grid.origin[1]), (Reversed([false, true, false]), 7.0));
        assert!(placed.format.ends_with("; y turned, to grow with the coordinates"), "{}", placed.format);
        let depth = AxisCoordinates { are_downwards: Some(true), ..told("depth", "km", &[0.0, 1.0, 3.0]).unwrap() };
        let placed = declared([None, None, Some(depth)]).unwrap();
        assert_eq!((placed.grid.origin[2], placed.grid.spacing[2]), (-3.0, 1.5));
        assert_eq!(values(&placed, 2), [3.0, 1.0, 0.0]);
    }

    #[test]
    fn how_samples_are_spaced_is_told_before_that_axes_are_turned() {
        let placed = declared([None, told("latitude of the model", "km", &[9.0, 8.0, 5.0]), None]).unwrap();
        let due = "; coordinates latitude of the model are uneven: shown equally far apart; y turned, to grow with the coordinates";
        assert!(placed.format.ends_with(due), "{}", placed.format);
    }

    #[test]
    fn what_tells_no_place_for_each_sample_is_refused_with_the_reason() {
        for (of, unit, expected) in [
            (&[0.0, 1.0][..], "", "there are 2 coordinates along z, of 3 samples of the whole grid"),
            (&[0.0, f64::NAN, 1.0], "", "coordinate 1 along z is NaN, which is no place"),
            (&[0.0, f64::INFINITY, 1.0], "", "coordinate 1 along z is inf"),
            (&[0.0, 2.0, 1.0], "", "along z neither grow nor fall: number 2 is 1, after 2"),
            (&[2.0, 2.0, 1.0], "", "number 1 is 2, after 2"),
            (&[-1e308, 0.0, 1e308], "", "too far from each other"),
            (&[0.0, 1.0, 2.0], "\n", "axis z has the unit"),
        ] {
            let said = declared([None, None, told("z", unit, of)]).unwrap_err().to_string();
            assert!(said.contains(expected), "{said}");
        }
        let said = declared([told(" ", "", &[0.0; 4]), None, None]).unwrap_err().to_string();
        assert!(said.starts_with("axis x has no name"), "{said}");
        assert_eq!([grow_downwards(""), grow_downwards("down")], [Ok(None), Ok(Some(true))]);
        assert!(grow_downwards("left").unwrap_err().contains("not \"left\""));
    }
}
