//! Coordinates of samples along the axes, and the grid that they make.

use std::sync::Arc;

use crate::units::{Conversion, is_pressure, is_same, symbol};
use crate::{Box3, Grid};

/// How far samples may lie from where a grid has them, in its spacings, and still be there.
const ROUNDING: f64 = 1e-3;
/// Characters of a name or a unit that a remark repeats.
const MOST_REPEATED: usize = 40;

/// What a source says of where samples lie along one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Coordinates {
    /// What the source calls them.
    pub name: String,
    /// Their unit; empty where none is told.
    pub unit: String,
    /// One for each sample; fields that have the same ones share them.
    pub values: Arc<[f64]>,
    /// Whether they grow downwards, or upwards, where that is told.
    pub are_downwards: Option<bool>,
}

/// Where the samples of a grid lie along one axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Along {
    /// As the grid has it.
    #[default]
    Grid,
    /// As the source has it, in the order of the grid: uneven ones, and those in a unit of their own, are in no grid.
    Told(Coordinates),
    /// Of this axis nothing is told that the grid could have: its spacing there is made up.
    Unknown,
}

impl Coordinates {
    /// Whether they grow or fall by distances that are not the same.
    pub fn is_uneven(&self) -> bool {
        Spacing::of(&self.values).is_some_and(|spacing| !spacing.is_even)
    }
}

/// Coordinates, and what they make of an axis: looked at once, however many fields have them.
#[derive(Clone, Debug)]
pub struct Found {
    /// What the source says.
    pub coordinates: Coordinates,
    /// `None` where they neither grow nor fall.
    spacing: Option<Spacing>,
    are_numbers: bool,
}

impl Found {
    /// Looks at what the source says.
    pub fn new(coordinates: Coordinates) -> Self {
        let spacing = Spacing::of(&coordinates.values);
        let are_numbers = coordinates.values.iter().all(|value| value.is_finite());
        Self { coordinates, spacing, are_numbers }
    }

    /// Whether they grow or fall.
    pub fn has_spacing(&self) -> bool {
        self.spacing.is_some()
    }

    /// Whether they are put upside down where they are those of z.
    fn is_upside_down(&self, axis: usize) -> bool {
        axis == 2 && self.coordinates.are_downwards == Some(true)
    }

    /// What is told of that.
    fn upside_down(&self, axis: usize) -> Option<String> {
        let named = || format!("coordinates {} grow downwards: z is their negative", cut(&self.coordinates.name));
        self.is_upside_down(axis).then(named)
    }
}

impl Along {
    /// Of each axis what the source says, where it says something of one of them; what is no number is nothing.
    pub fn of(told: &[Option<Found>; 3]) -> [Self; 3] {
        if told.iter().all(Option::is_none) {
            return <[Self; 3]>::default();
        }
        told.each_ref().map(|found| match found {
            Some(found) if found.are_numbers => Self::Told(found.coordinates.clone()),
            _ => Self::Unknown,
        })
    }

    /// Whether it tells what `grid` has along an axis, too, but for rounding and the word for the unit.
    pub fn is_as(&self, grid: &Grid, axis: usize) -> bool {
        let Self::Told(told) = self else { return true };
        let (origin, spacing) = (grid.origin[axis], grid.spacing[axis]);
        let is_there = |(i, value): (usize, &f64)| (value - origin - i as f64 * spacing).abs() <= ROUNDING * spacing;
        is_same(&told.unit, &grid.unit) && told.values.iter().enumerate().all(is_there)
    }

    /// Of the means of two samples each: between them. A last one without a second stays where it is.
    pub fn halve(&mut self) {
        if let Self::Told(Coordinates { values, .. }) = self {
            let mean = |pair: &[f64]| if let [one, other] = *pair { f64::midpoint(one, other) } else { pair[0] };
            *values = values.chunks(2).map(mean).collect();
        }
    }

    /// Of the samples from the first on, before the end.
    fn part(&self, first: usize, end: usize) -> Self {
        match self {
            Self::Told(told) => Self::Told(Coordinates { values: told.values[first..end].into(), ..told.clone() }),
            other => other.clone(),
        }
    }

    /// Of the samples in the other order.
    pub fn turn(&mut self) {
        if let Self::Told(Coordinates { values, .. }) = self {
            *values = values.iter().rev().copied().collect();
        }
    }
}

/// The distance between neighbouring samples.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spacing {
    /// Negative where coordinates fall.
    mean: f64,
    is_even: bool,
}

/// What became of coordinates.
#[derive(Debug, Default)]
pub struct Placed {
    /// What of them the grid is not.
    pub remarks: Vec<String>,
    /// Whether samples lie elsewhere than the grid has them: what is uneven, and what has units of its own, is in none.
    pub is_more_than_grid: bool,
}

/// Puts coordinates along x, y, z into a grid of unit spacing. Spacings are negative where coordinates fall.
///
/// Lengths are told in the unit of the first axis that has more than one sample. Where units cannot be compared, or an axis has no coordinates, none is used, and y
/// and x run the way that their coordinates grow, z where it is told which is up.
/// One sample alone along an axis has no spacing: it is as thick as samples of the other axes are apart at least, and placed where its unit can be compared with that of the others.
pub fn place(along: &[Option<Found>; 3], grid: &mut Grid) -> Placed {
    let mut placed = Placed::default();
    let remarks = &mut placed.remarks;
    let (mut used, mut single) = (Vec::new(), Vec::new());
    for (axis, found) in along.iter().enumerate() {
        let Some(found) = found else { continue };
        let sign = if found.is_upside_down(axis) { -1.0 } else { 1.0 };
        if grid.size[axis] == 1 {
            single.push((axis, found, sign * found.coordinates.values[0]));
            continue;
        }
        match found.spacing {
            Some(Spacing { mean, is_even }) => used.push((axis, found, sign, Spacing { mean: sign * mean, is_even })),
            None => {
                remarks.push(format!("coordinates {} neither grow nor fall: not used", cut(&found.coordinates.name)));
            }
        }
    }
    let Some((_, first, ..)) = used.first() else { return placed };
    let unit = symbol(&first.coordinates.unit).to_owned();
    let to_unit = |found: &Found| Conversion::of(&found.coordinates.unit, &unit);
    let lacks = |axis: &usize| grid.size[*axis] > 1 && !used.iter().any(|(known, ..)| known == axis);
    let missing: Vec<_> = (0..3).filter(lacks).map(|axis| ["x", "y", "z"][axis]).collect();
    let differ = used.iter().any(|(_, found, ..)| to_unit(found).is_none());
    if differ || !missing.is_empty() {
        let named: Vec<_> = used.iter().map(|(_, found, ..)| described(&found.coordinates)).collect();
        let why = if differ {
            format!("coordinates in different units ({})", named.join(", "))
        } else {
            format!("no coordinates along {}", missing.join(" and "))
        };
        remarks.push(format!("{why}: samples are shown equally far apart"));
        let is_turned = |axis: usize, found: &Found| axis < 2 || found.coordinates.are_downwards.is_some();
        for (axis, found, _, spacing) in used {
            if !spacing.is_even {
                remarks.push(shown_evenly(&found.coordinates.name));
            }
            if spacing.mean < 0.0 && is_turned(axis, found) {
                remarks.extend(found.upside_down(axis));
                (grid.spacing[axis], grid.origin[axis]) = (-1.0, (grid.size[axis] - 1) as f64);
            }
        }
        placed.is_more_than_grid = true;
        return placed;
    }
    for (axis, found, value) in single {
        if let Some(conversion) = to_unit(found).filter(|_| value.is_finite()) {
            remarks.extend(found.upside_down(axis));
            grid.origin[axis] = conversion.of_value(value);
        }
    }
    for (axis, found, sign, spacing) in used {
        remarks.extend(found.upside_down(axis));
        let Some(conversion) = to_unit(found) else { continue };
        grid.spacing[axis] = conversion.of_value(spacing.mean);
        grid.origin[axis] = conversion.of_value(sign * found.coordinates.values[0]);
        if !spacing.is_even {
            remarks.push(shown_evenly(&found.coordinates.name));
            placed.is_more_than_grid = true;
        }
    }
    give_thickness(grid);
    grid.unit = unit;
    placed
}

/// What is known of where the samples of a part of a grid lie.
#[derive(Debug)]
pub struct Part {
    /// Their grid.
    pub grid: Grid,
    /// Where they lie along each axis.
    pub along: [Along; 3],
    /// What is remarked of their coordinates, and was not of those of the whole grid.
    pub remarks: Vec<String>,
    /// What was remarked of the whole grid's, and does not hold.
    pub void_remarks: Vec<String>,
}

/// The samples of `grid` in a box. Where coordinates made the grid those of the part make its own: they may be even, or have one unit, where those of the whole
/// have not.
pub fn part_of_grid(grid: &Grid, along: &[Along; 3], bounds: &Box3) -> Part {
    let own = std::array::from_fn(|axis| along[axis].part(bounds.lo[axis], bounds.hi[axis]));
    let (whole, before) = made(grid, grid.size, along);
    let (mut part, after) = made(grid, bounds.size(), &own);
    let axes = || (0..3).filter(|&axis| grid.size[axis] > 1);
    let is_near = |axis: usize, one: f64, other: f64| (one - other).abs() <= ROUNDING * grid.spacing[axis];
    let is_as_made = along.iter().any(|along| matches!(along, Along::Told(_)))
        && symbol(&whole.unit) == symbol(&grid.unit)
        && axes().all(|axis| is_near(axis, whole.spacing[axis], grid.spacing[axis]))
        && axes().all(|axis| is_near(axis, whole.origin[axis], grid.origin[axis]));
    if is_as_made && part.validate().is_ok() {
        // Of planes that are shown together each may be elsewhere.
        (0..3).filter(|&axis| grid.size[axis] == 1).for_each(|axis| part.origin[axis] = grid.origin[axis]);
        let not_in = |other: &[String], remark: &&String| !other.contains(remark);
        return Part {
            grid: part,
            along: own,
            remarks: after.iter().filter(|remark| not_in(&before, remark)).cloned().collect(),
            void_remarks: before.iter().filter(|remark| not_in(&after, remark)).cloned().collect(),
        };
    }
    let origin = std::array::from_fn(|axis| grid.origin[axis] + grid.spacing[axis] * bounds.lo[axis] as f64);
    let grid = Grid { size: bounds.size(), origin, ..grid.clone() };
    Part { grid, along: own, remarks: Vec::new(), void_remarks: Vec::new() }
}

/// The grid of such a size that coordinates make, else like `grid`, and what is remarked of them.
fn made(grid: &Grid, size: [usize; 3], along: &[Along; 3]) -> (Grid, Vec<String>) {
    let mut made = Grid { centering: grid.centering, ..Grid::of_size(size) };
    let told = along.each_ref().map(|along| match along {
        Along::Told(told) => Some(Found::new(told.clone())),
        _ => None,
    });
    let remarks = place(&told, &mut made).remarks;
    (made, remarks)
}

/// Makes single samples as thick as others are apart: beside spacings of kilometres, or of micrometres, a sheet of 1 is not to be seen.
fn give_thickness(grid: &mut Grid) {
    let apart = (0..3).filter(|&axis| grid.size[axis] > 1).map(|axis| grid.spacing[axis].abs());
    let thickness = apart.fold(f64::INFINITY, f64::min);
    (0..3).filter(|&axis| grid.size[axis] == 1).for_each(|axis| grid.spacing[axis] = thickness);
}

/// That coordinates of such a name are uneven, and what came of it.
pub fn shown_evenly(name: &str) -> String {
    format!("coordinates {} are uneven: shown equally far apart", cut(name))
}

impl Spacing {
    /// `None` unless each coordinate is greater than the one before, or each less. Even are those that differ by one part in a hundred at most.
    fn of(coordinates: &[f64]) -> Option<Self> {
        let (&first, &last) = (coordinates.first()?, coordinates.last()?);
        let mean = (last - first) / (coordinates.len() as f64 - 1.0);
        let distances = || coordinates.windows(2).map(|pair| pair[1] - pair[0]);
        let is_usable = mean.is_finite() && distances().all(|distance| distance * mean > 0.0);
        let is_even = distances().all(|distance| (distance - mean).abs() <= 0.01 * mean.abs());
        is_usable.then_some(Self { mean, is_even })
    }
}

/// Which way coordinates grow: as `positive` says, and pressures downwards (Climate and Forecast conventions, 4.3).
pub fn are_downwards(positive: &str, unit: &str) -> Option<bool> {
    match positive.to_ascii_lowercase().as_str() {
        "down" => Some(true),
        "up" => Some(false),
        _ => is_pressure(&unit.to_ascii_lowercase()).then_some(true),
    }
}

fn described(found: &Coordinates) -> String {
    let unit = if found.unit.is_empty() { "without a unit" } else { &found.unit };
    format!("{} {}", cut(&found.name), cut(unit))
}

/// As much of a name as a remark repeats.
pub fn cut(text: &str) -> String {
    text.chars().take(MOST_REPEATED).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coordinates(name: &str, unit: &str, values: &[f64]) -> Option<Found> {
        let are_downwards = are_downwards("", unit);
        let (name, unit) = (name.to_owned(), unit.to_owned());
        Some(Found::new(Coordinates { name, unit, values: values.into(), are_downwards }))
    }

    #[test]
    fn coordinates_that_turn_back_have_no_spacing() {
        assert_eq!(Spacing::of(&[1.0, 1.5, 2.0]), Some(Spacing { mean: 0.5, is_even: true }));
        assert_eq!(Spacing::of(&[3.0, 2.0, 1.0]), Some(Spacing { mean: -1.0, is_even: true }));
        assert_eq!(Spacing::of(&[1.0, 2.0, 4.0]), Some(Spacing { mean: 1.5, is_even: false }));
        for useless in [&[1.0, 3.0, 2.0, 4.0][..], &[1.0], &[], &[1.0, 1.0], &[0.0, f64::NAN, 2.0]] {
            assert_eq!(Spacing::of(useless), None, "{useless:?}");
        }
    }

    #[test]
    fn degrees_of_both_kinds_are_one_unit() {
        let mut grid = Grid::of_size([3, 2, 1]);
        let along =
            [coordinates("lon", "degrees_east", &[0.0, 2.0, 4.0]), coordinates("lat", "degrees_N", &[5.0, 4.0]), None];
        assert!(place(&along, &mut grid).remarks.is_empty());
        assert_eq!((grid.spacing, grid.origin, grid.unit.as_str()), ([2.0, -1.0, 1.0], [0.0, 5.0, 0.0], "degrees"));
    }

    #[test]
    fn lengths_of_astronomers_are_compared_with_each_other_and_one_is_no_unit() {
        let placed = |x: &str, y: &str| {
            let mut grid = Grid::of_size([3, 2, 1]);
            let along = [coordinates("x", x, &[0.0, 2.0, 4.0]), coordinates("y", y, &[5.0, 7.0]), None];
            let told = place(&along, &mut grid).remarks;
            (grid.spacing, grid.unit, told.len())
        };
        assert_eq!(placed("Mpc", "kpc"), ([2.0, 0.002, 0.002], "Mpc".to_owned(), 0));
        assert_eq!(placed("kpc", "pc"), ([2.0, 0.002, 0.002], "kpc".to_owned(), 0));
        assert_eq!(placed("kpc", "km"), ([1.0; 3], String::new(), 1));
        assert_eq!(placed("1", ""), ([2.0, 2.0, 2.0], String::new(), 0));
    }

    #[test]
    fn a_single_plane_is_where_its_coordinate_says_in_the_unit_of_the_others() {
        let placed = |unit: &str, height: f64| {
            let mut grid = Grid::of_size([3, 2, 1]);
            let along = [
                coordinates("x", "m", &[0.0, 2.0, 4.0]),
                coordinates("y", "m", &[5.0, 7.0]),
                coordinates("z", unit, &[height]),
            ];
            let told = place(&along, &mut grid).remarks;
            (grid.origin, grid.spacing, grid.unit, told.len())
        };
        assert_eq!(placed("m", 500.0), ([0.0, 5.0, 500.0], [2.0, 2.0, 2.0], "m".to_owned(), 0));
        assert_eq!(placed("hPa", 500.0), ([0.0, 5.0, 0.0], [2.0, 2.0, 2.0], "m".to_owned(), 0));
        assert_eq!(placed("m", f64::NAN).0, [0.0, 5.0, 0.0]);
    }

    #[test]
    fn lengths_are_told_in_the_unit_of_the_first_axis() {
        let placed = |[x, y, z]: [&str; 3], of: [&[f64]; 3]| {
            let mut grid = Grid::of_size(of.map(<[f64]>::len));
            let along = [coordinates("x", x, of[0]), coordinates("y", y, of[1]), coordinates("z", z, of[2])];
            let told = place(&along, &mut grid);
            (grid.spacing, grid.origin, grid.unit, told.remarks.len(), told.is_more_than_grid)
        };
        let (km, m): (&[f64], &[f64]) = (&[10.0, 12.0, 14.0], &[50.0, 150.0, 250.0]);
        let due = ([2.0, 2.0, 0.1], [10.0, 10.0, 0.05], "km".to_owned(), 0, false);
        assert_eq!(placed(["km", "kilometers", "m"], [km, km, m]), due);
        assert_eq!(placed(["Kilometre", "km", "metres"], [km, km, m]), due);
        let fine = ([100.0, 2e3, 0.002], [50.0, 1e4, 0.01], "um".to_owned(), 0, false);
        assert_eq!(placed(["um", "mm", "nanometer"], [m, km, &[10.0, 12.0]]), fine);
        assert_eq!(placed(["\u{b5}m", "micron", "\u{3bc}m"], [km, km, km]).3, 0);
        let plane = ([2.0, 2.0, 2.0], [10.0, 10.0, 0.05], "km".to_owned(), 0, false);
        assert_eq!(placed(["km", "km", "m"], [km, km, &[50.0]]), plane);
        assert_eq!(placed(["km", "km", "Mm"], [km, km, m]).0, [1.0; 3]);
    }

    #[test]
    fn what_the_file_says_of_its_axes_is_kept_turned_and_halved_as_samples_are() {
        let uneven = || coordinates("z", "m", &[0.0, 1.0, 2.0, 4.0, 8.0]);
        let [x, y, z] = Along::of(&[None, coordinates("y", "", &[0.0, f64::NAN]), uneven()]);
        assert_eq!((x, y), (Along::Unknown, Along::Unknown));
        assert_eq!(Along::of(&[None, None, None]), [Along::Grid, Along::Grid, Along::Grid]);
        let values = |change: fn(&mut Along)| {
            let mut along = z.clone();
            change(&mut along);
            if let Along::Told(Coordinates { values, .. }) = along { values.to_vec() } else { Vec::new() }
        };
        assert_eq!(values(Along::turn), [8.0, 4.0, 2.0, 1.0, 0.0]);
        assert_eq!(values(Along::halve), [0.5, 3.0, 8.0]);
        let mut alone = Along::Told(coordinates("z", "m", &[500.0]).unwrap().coordinates);
        let before = alone.clone();
        alone.halve();
        assert_eq!(alone, before);
    }

    #[test]
    fn a_part_is_where_its_coordinates_say_else_where_the_grid_has_it() {
        let bounds = Box3::new([1, 0, 2], [3, 1, 3]);
        let moved = part_of_grid(&Grid::of_size([3, 2, 4]), &Default::default(), &bounds);
        assert_eq!((moved.grid.size, moved.grid.origin), ([2, 1, 1], [1.0, 0.0, 2.0]));

        // One plane of a column in another unit leaves two axes that can be compared.
        let lon = coordinates("lon", "degrees_east", &[10.0, 12.0, 14.0]);
        let told =
            [lon, coordinates("lat", "degrees_north", &[40.0, 43.0]), coordinates("lev", "hPa", &[9.0, 5.0, 2.0, 1.0])];
        let mut grid = Grid::of_size([3, 2, 4]);
        let whole = place(&told, &mut grid);
        let bounds = Box3::new([1, 0, 2], [3, 2, 3]);
        let plane = part_of_grid(&grid, &Along::of(&told), &bounds);
        assert_eq!((plane.grid.spacing, plane.grid.origin), ([2.0, 3.0, 2.0], [12.0, 40.0, 0.0]));
        assert_eq!((plane.grid.unit.as_str(), plane.remarks.len()), ("degrees", 0));
        assert_eq!(plane.void_remarks, whole.remarks);
    }

    #[test]
    fn what_grows_downwards_is_turned_upwards() {
        let column = |unit: &str, x: &str, values: &[f64]| {
            let mut grid = Grid::of_size([2, 1, 3]);
            let along = [coordinates("x", x, &[0.0, 2.0]), None, coordinates("lev", unit, values)];
            let told = place(&along, &mut grid).remarks.join("; ");
            (grid.spacing[2], grid.origin[2], told.contains("lev grow downwards: z is their negative"))
        };
        assert_eq!(column("dbar", "dbar", &[0.0, 10.0, 20.0]), (-10.0, 0.0, true));
        assert_eq!(column("hPa", "m", &[100.0, 500.0, 900.0]), (-1.0, 2.0, true));
        assert_eq!(column("hPa", "m", &[900.0, 500.0, 100.0]), (1.0, 0.0, false));
        assert_eq!(column("", "m", &[3.0, 2.0, 1.0]), (1.0, 0.0, false));
        assert_eq!([are_downwards("up", "hPa"), are_downwards("Down", "m")], [Some(false), Some(true)]);
    }

    #[test]
    fn what_cannot_be_used_is_told() {
        let told = |along| place(&along, &mut Grid::of_size([3, 2, 3])).remarks.join("; ");
        let row = |along| place(&[along, None, None], &mut Grid::of_size([3, 1, 1])).remarks.join("; ");
        let lon = || coordinates("lon", "degrees_east", &[0.0, 2.0, 4.0]);
        let height = |values| coordinates("height", "m", values);
        assert!(told([lon(), None, height(&[0.0, 1.0, 2.0])]).contains("different units (lon degrees_east, height m)"));
        assert!(row(height(&[0.0, 1.0, 9.0])).contains("height are uneven"));
        assert!(told([height(&[0.0, 1.0, 0.5]), None, None]).contains("neither grow nor fall"));
        let partly = told([height(&[0.0, 1.0, 2.0]), None, None]);
        assert_eq!(partly, "no coordinates along y and z: samples are shown equally far apart");
        assert_eq!(told([None, None, None]), "");
    }
}
