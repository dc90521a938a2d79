//! Where and when the samples of fields are, and whether several fields agree on that.

use visapult_volume::{Centering, Grid};

use crate::coordinates::Along;

/// Part of a spacing by which grids may differ that are the same.
const ROUNDING: f64 = 1e-4;

/// The grid and the times of a field. Spacings are negative where an axis runs backwards in the file.
#[derive(Clone, Debug)]
pub(crate) struct Axes {
    pub(crate) grid: Grid,
    pub(crate) times: Vec<f64>,
    pub(crate) time_unit: String,
    pub(crate) calendar: String,
    /// What is told of where samples lie along x, y, z, in the order of the file.
    pub(crate) along: [Along; 3],
    /// What the file says of its axes and is not shown.
    pub(crate) remarks: Vec<String>,
}

impl Axes {
    /// Of a field of which no more is known.
    pub(crate) fn of_size(size: [usize; 3]) -> Self {
        Self {
            grid: Grid::of_size(size),
            times: Vec::new(),
            time_unit: String::new(),
            calendar: String::new(),
            along: Default::default(),
            remarks: Vec::new(),
        }
    }

    /// Those of fields of one size: a field that tells nothing lies where the others do.
    ///
    /// # Errors
    /// Names two fields that lie in different places.
    pub(crate) fn of_all(fields: &[(String, Self)]) -> Result<Self, String> {
        let fields: Vec<_> = fields.iter().map(|(name, axes)| (name, axes.clone().with_sound_times())).collect();
        let Some((_, first)) = fields.first() else { return Err("it holds no field".to_owned()) };
        let is_number =
            |axes: &Self| [axes.grid.spacing, axes.grid.origin].concat().iter().all(|value| value.is_finite());
        if let Some((name, axes)) = fields.iter().find(|(_, axes)| !is_number(axes)) {
            return Err(format!("its field {name} lies nowhere ({})", placed(&axes.grid)));
        }
        let plain = Grid::of_size(first.grid.size);
        let mut telling = fields.iter().filter(|(_, axes)| axes.grid != plain);
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
            let differs = |axes: &Self| !axes.times.is_empty() && axes.times != timed.times;
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
        Ok(agreed)
    }

    /// Without times that are not all numbers: these are equal to nothing, and lie nowhere.
    fn with_sound_times(mut self) -> Self {
        if let Some(step) = self.times.iter().position(|time| !time.is_finite()) {
            self.remarks.push(format!("the time of step {step} is {}, so that steps are counted", self.times[step]));
            self.times.clear();
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

fn is_same(one: &Grid, other: &Grid) -> bool {
    let near = |a: f64, b: f64, spacing: f64| a == b || (a - b).abs() <= ROUNDING * spacing.abs();
    one.unit == other.unit
        && one.centering == other.centering
        // Planes at different heights are shown together.
        && (0..3).filter(|axis| one.size[*axis] > 1).all(|axis| {
            near(one.spacing[axis], other.spacing[axis], one.spacing[axis])
                && near(one.origin[axis], other.origin[axis], one.spacing[axis])
        })
}

/// Whether coordinates are the same, whatever they are called.
fn lies_as(one: &Along, other: &Along) -> bool {
    match (one, other) {
        (Along::Told(one), Along::Told(other)) => (&one.values, &one.unit) == (&other.values, &other.unit),
        _ => one == other,
    }
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
        axes.times = times.to_vec();
        (name.to_owned(), axes)
    }

    #[test]
    fn fields_that_tell_nothing_lie_where_the_others_do() {
        let agreed = Axes::of_all(&[field("a", 1.0, &[]), field("b", 0.5, &[3.0]), field("c", 0.500_000_1, &[])]);
        let agreed = agreed.unwrap();
        assert_eq!((agreed.grid.spacing[0], agreed.times), (0.5, vec![3.0]));
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
                Coordinates { name: name.clone(), unit: "m".to_owned(), values: values.to_vec(), are_downwards: None };
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
