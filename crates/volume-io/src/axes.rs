//! Where and when the samples of fields are, and whether several fields agree on that.

use std::sync::Arc;

use visapult_volume::{Centering, Grid, units};

use crate::coordinates::{self, Along, Found, Placed};

/// Part of a spacing by which grids may differ that are the same.
const ROUNDING: f64 = 1e-4;
/// What can be done where coordinates are uneven.
pub const HOW_TO_SPACE: &str = "?spacing=even shows them where they lie";

/// The grid and the times of a field. Spacings are negative where an axis runs backwards in the file.
#[derive(Clone, Debug)]
pub(crate) struct Axes {
    pub(crate) grid: Grid,
    pub(crate) times: Arc<[f64]>,
    pub(crate) time_unit: String,
    pub(crate) calendar: String,
    /// What is told of where samples lie along x, y, z, in the order of the file.
    pub(crate) along: [Along; 3],
    /// What the file says of its axes and is not shown.
    pub(crate) remarks: Vec<String>,
    /// Whether it says where values sit in their cells.
    pub(crate) tells_centering: bool,
}

/// Where coordinates have samples, before something else is told of that.
pub(crate) struct Trial {
    grid: Grid,
    is_more_than_grid: bool,
}

impl Axes {
    /// Of a field of which no more is known.
    pub(crate) fn of_size(size: [usize; 3]) -> Self {
        Self {
            grid: Grid::of_size(size),
            times: Arc::default(),
            time_unit: String::new(),
            calendar: String::new(),
            along: Default::default(),
            remarks: Vec::new(),
            tells_centering: false,
        }
    }

    /// Puts coordinates along x, y, z in.
    pub(crate) fn place(&mut self, told: &[Option<Found>; 3]) -> Trial {
        self.along = Along::of(told);
        let Placed { remarks, is_more_than_grid } = coordinates::place(told, &mut self.grid);
        self.remarks = remarks;
        if told.iter().flatten().any(|found| found.coordinates.is_uneven()) {
            self.remarks.push(HOW_TO_SPACE.to_owned());
        }
        Trial { grid: self.grid.clone(), is_more_than_grid }
    }

    /// Leaves out the coordinates of `trial` where the grid, as it has become since, has the samples elsewhere.
    pub(crate) fn settle(&mut self, trial: &Trial) {
        let there = Grid { centering: self.grid.centering, unit: self.grid.unit.clone(), ..trial.grid.clone() };
        let is_in_unit = units::is_same(&trial.grid.unit, &self.grid.unit);
        if !is_in_unit || !(trial.is_more_than_grid || is_same(&there, &self.grid)) {
            self.along = Default::default();
        }
    }

    /// Those of fields of one size: a field that tells nothing lies where the others do.
    ///
    /// # Errors
    /// Names two fields that lie in different places.
    pub(crate) fn of_all(fields: &[(String, Self)]) -> Result<Self, String> {
        let mut fields: Vec<_> = fields.iter().map(|(name, axes)| (name, axes.clone().with_sound_times())).collect();
        let Some((_, first)) = fields.first() else { return Err("it holds no field".to_owned()) };
        let is_number =
            |axes: &Self| [axes.grid.spacing, axes.grid.origin].concat().iter().all(|value| value.is_finite());
        if let Some((name, axes)) = fields.iter().find(|(_, axes)| !is_number(axes)) {
            return Err(format!("its field {name} lies nowhere ({})", placed(&axes.grid)));
        }
        let plain = Grid::of_size(first.grid.size);
        let tells = |axes: &Self| axes.grid != plain || axes.tells_centering;
        if let Some(centering) =
            fields.iter().find(|(_, axes)| axes.tells_centering).map(|(_, axes)| axes.grid.centering)
        {
            let silent = fields.iter_mut().filter(|(_, axes)| tells(axes) && !axes.tells_centering);
            silent.for_each(|(_, axes)| axes.grid.centering = centering);
        }
        let (_, first) = &fields[0];
        let mut telling = fields.iter().filter(|(_, axes)| tells(axes));
        let mut agreed = match telling.next() {
            Some((name, axes)) => {
                if let Some((other, differing)) = telling.find(|(_, other)| !is_same(&axes.grid, &other.grid)) {
                    let (one, two) = (placed(&axes.grid), placed(&differing.grid));
                    return Err(format!("its fields lie on different grids ({name} {one}, {other} {two})"));
                }
                axes.clone()
            }
            None => fields.iter().find(|(_, axes)| !axes.remarks.is_empty()).map_or(first, |(_, axes)| axes).clone(),
        };
        if let Some((name, timed)) = fields.iter().find(|(_, axes)| !axes.times.is_empty()) {
            let differs = |axes: &Self| {
                !axes.times.is_empty() && !Arc::ptr_eq(&axes.times, &timed.times) && axes.times != timed.times
            };
            if let Some((other, _)) = fields.iter().find(|(_, axes)| differs(axes)) {
                return Err(format!("the times of its fields {name} and {other} differ"));
            }
            (agreed.times, agreed.time_unit) = (timed.times.clone(), timed.time_unit.clone());
            agreed.calendar.clone_from(&timed.calendar);
        }
        for axis in 0..3 {
            let mut told = fields.iter().map(|(_, axes)| &axes.along[axis]).filter(|one| matches!(one, Along::Told(_)));
            let Some(first) = told.next() else { continue };
            agreed.along[axis] = first.clone();
            if told.any(|other| !lies_as(first, other)) {
                agreed.along[axis] = Along::Unknown;
                agreed.remarks.push(format!("coordinates of its fields differ along {}", ["x", "y", "z"][axis]));
            }
        }
        let is_uneven = |along: &Along| matches!(along, Along::Told(told) if told.is_uneven());
        if !agreed.along.iter().any(is_uneven) {
            agreed.remarks.retain(|remark| remark != HOW_TO_SPACE);
        }
        Ok(agreed)
    }

    /// Without times that are not all numbers: these are equal to nothing, and lie nowhere.
    fn with_sound_times(mut self) -> Self {
        if let Some(step) = self.times.iter().position(|time| !time.is_finite()) {
            self.remarks.push(format!("the time of step {step} is {}, so that steps are counted", self.times[step]));
            self.times = Arc::default();
            self.time_unit.clear();
            self.calendar.clear();
        }
        self
    }
}

/// What is to be said of attributes that should have three numbers, and have not.
pub(crate) fn three_numbers(names: &[&str], is_unread: impl Fn(&str) -> bool) -> Option<String> {
    let unread: Vec<_> = names.iter().filter(|name| is_unread(name)).map(|name| format!("'{name}'")).collect();
    (!unread.is_empty()).then(|| format!("its {} count for nothing: three numbers are wanted", unread.join(" and ")))
}

/// The name of a format, and behind it what is remarked of the axes.
pub(crate) fn remarked(format: String, remarks: &[String]) -> String {
    [&[format], remarks].concat().join("; ")
}

/// Whether samples of two grids of one size lie in the same places.
pub(crate) fn is_same(one: &Grid, other: &Grid) -> bool {
    units::is_same(&one.unit, &other.unit)
        && one.centering == other.centering
        // Planes at different heights are shown together.
        && (0..3).filter(|axis| one.size[*axis] > 1).all(|axis| {
            is_near(one.spacing[axis], other.spacing[axis], one.spacing[axis])
                && is_near(one.origin[axis], other.origin[axis], one.spacing[axis])
        })
}

/// Whether coordinates are the same but for rounding, whatever they are called.
fn lies_as(one: &Along, other: &Along) -> bool {
    let (Along::Told(one), Along::Told(other)) = (one, other) else { return one == other };
    let values = || one.values.iter().zip(&*other.values);
    let spacing = match *one.values {
        [first, .., last] => (last - first) / (one.values.len() - 1) as f64,
        _ => 0.0,
    };
    units::is_same(&one.unit, &other.unit)
        && one.values.len() == other.values.len()
        && (Arc::ptr_eq(&one.values, &other.values) || values().all(|(one, other)| is_near(*one, *other, spacing)))
}

/// Whether two places are the same but for rounding, as fine as samples of this spacing need it.
fn is_near(one: f64, other: f64, spacing: f64) -> bool {
    one == other || (one - other).abs() <= ROUNDING * spacing.abs()
}

fn placed(grid: &Grid) -> String {
    let unit = if grid.unit.is_empty() { String::new() } else { format!(" {}", grid.unit) };
    let of_cells = if grid.centering == Centering::Cell { " of cells" } else { "" };
    format!("spacing {:?}{unit}{of_cells} origin {:?}", grid.spacing, grid.origin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coordinates::Coordinates;

    fn field(name: &str, spacing: f64, times: &[f64]) -> (String, Axes) {
        let mut axes = Axes::of_size([2, 2, 2]);
        axes.grid.spacing[0] = spacing;
        axes.times = times.into();
        (name.to_owned(), axes)
    }

    #[test]
    fn fields_that_tell_nothing_lie_where_the_others_do() {
        let agreed = Axes::of_all(&[field("a", 1.0, &[]), field("b", 0.5, &[3.0]), field("c", 0.500_000_1, &[])]);
        let agreed = agreed.unwrap();
        assert_eq!((agreed.grid.spacing[0], &*agreed.times), (0.5, &[3.0][..]));
    }

    #[test]
    fn fields_on_different_grids_or_at_different_times_are_refused_by_name() {
        let refused = Axes::of_all(&[field("a", 0.5, &[]), field("b", 0.7, &[])]).unwrap_err();
        assert!(refused.contains("different grids (a spacing") && refused.contains("b spacing"), "{refused}");
        let refused = Axes::of_all(&[field("a", 1.0, &[1.0]), field("b", 1.0, &[2.0])]).unwrap_err();
        assert!(refused.contains("times of its fields a and b"), "{refused}");
    }

    #[test]
    fn coordinates_in_which_fields_differ_are_those_of_none() {
        let with = |name: &str, values: &[f64]| {
            let (name, mut axes) = field(name, 1.0, &[]);
            let told =
                Coordinates { name: name.clone(), unit: "m".to_owned(), values: values.into(), are_downwards: None };
            axes.along[1] = Along::Told(told);
            (name, axes)
        };
        let told = Axes::of_all(&[with("a", &[0.0, 1.0]), field("b", 1.0, &[]), with("c", &[0.0, 1.0])]).unwrap();
        assert!(matches!(&told.along[1], Along::Told(told) if told.name == "a") && told.remarks.is_empty());
        let told = Axes::of_all(&[with("a", &[0.0, 1.0]), with("b", &[0.0, 3.0])]).unwrap();
        assert_eq!(told.along, [Along::Grid, Along::Unknown, Along::Grid]);
        assert_eq!(told.remarks, ["coordinates of its fields differ along y"]);
    }

    #[test]
    fn coordinates_that_differ_by_rounding_and_the_word_for_their_unit_are_the_same() {
        let with = |name: &str, unit: &str, digits: fn(f64) -> f64| {
            let (name, mut axes) = field(name, 1.0, &[]);
            let values = (0..10).map(|x| digits(f64::from(x) * 0.1)).collect();
            let (called, unit) = (name.clone(), unit.to_owned());
            axes.along[0] = Along::Told(Coordinates { name: called, unit, values, are_downwards: None });
            (name, axes)
        };
        let rounded = |value| f64::from(value as f32);
        let told = Axes::of_all(&[with("a", "m", rounded), with("b", "metres", |value| value)]).unwrap();
        assert!(matches!(told.along[0], Along::Told(_)) && told.remarks.is_empty());
        let told = Axes::of_all(&[with("a", "m", rounded), with("b", "km", |value| value)]).unwrap();
        assert_eq!(told.along[0], Along::Unknown);
    }

    #[test]
    fn coordinates_that_the_grid_contradicts_are_left_out() {
        let settled = |values: [f64; 3], unit: &str, spacing: f64, spacing_unit: &str| {
            let mut axes = Axes::of_size([3, 1, 1]);
            let (name, unit) = ("x".to_owned(), unit.to_owned());
            let told = Found::new(Coordinates { name, unit, values: values.into(), are_downwards: None });
            let trial = axes.place(&[Some(told), None, None]);
            (axes.grid.spacing[0], axes.grid.unit) = (spacing, spacing_unit.to_owned());
            axes.settle(&trial);
            axes.along != <[Along; 3]>::default()
        };
        assert!(settled([0.0, 1.0, 2.0], "m", 1.000_001, "metres"));
        assert!(!settled([0.0, 1.0, 2.0], "m", 0.5, "m"));
        assert!(!settled([0.0, 1.0, 2.0], "", 1.0, "um"));
        // What no grid has.
        assert!(settled([0.0, 1.0, 5.0], "m", 4.0, "m"));
        assert!(!settled([0.0, 1.0, 5.0], "m", 4.0, "um"));
    }

    #[test]
    fn a_field_that_does_not_say_where_values_sit_in_cells_has_them_where_the_others_do() {
        let told = |name: &str, centering: Option<Centering>| {
            let (name, mut axes) = field(name, 0.5, &[]);
            axes.tells_centering = centering.is_some();
            axes.grid.centering = centering.unwrap_or(Centering::Point);
            (name, axes)
        };
        let agreed = Axes::of_all(&[told("a", None), told("b", Some(Centering::Cell)), told("c", None)]).unwrap();
        assert_eq!(agreed.grid.centering, Centering::Cell);
        assert!(Axes::of_all(&[told("a", Some(Centering::Point)), told("b", Some(Centering::Cell))]).is_err());
    }

    #[test]
    fn planes_at_different_heights_are_shown_together() {
        let plane = |name: &str, height: f64| {
            let mut axes = Axes::of_size([2, 2, 1]);
            axes.grid.origin[2] = height;
            (name.to_owned(), axes)
        };
        assert_eq!(Axes::of_all(&[plane("t", 2.0), plane("u", 10.0)]).unwrap().grid.origin[2], 2.0);
    }

    #[test]
    fn times_that_are_not_all_numbers_are_told_and_left_out() {
        let agreed = Axes::of_all(&[field("a", 1.0, &[0.0, f64::NAN]), field("b", 1.0, &[0.0, f64::NAN])]).unwrap();
        assert!(agreed.times.is_empty());
        assert_eq!(agreed.remarks, ["the time of step 1 is NaN, so that steps are counted"]);
        let agreed = Axes::of_all(&[field("a", 0.5, &[f64::INFINITY, 1.0]), field("b", 0.5, &[])]).unwrap();
        assert_eq!((agreed.times.len(), agreed.remarks.len()), (0, 1));
        let refused = Axes::of_all(&[field("a", 1.0, &[]), field("b", f64::NAN, &[])]).unwrap_err();
        assert!(refused.starts_with("its field b lies nowhere"), "{refused}");
    }
}
