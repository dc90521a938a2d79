//! Coordinates of samples along the axes: which axis they are of, by their names and what files say of them.

pub(crate) use visapult_volume::coordinates::{Along, Coordinates, Found, Placed, are_downwards, cut, place};
use visapult_volume::units::{is_east, is_north, is_pressure};

use crate::roles::Role;

/// Values of coordinates that are kept of one file: its fields may have many, and all of them different ones.
pub(crate) const MOST_KEPT: usize = 1 << 24;

/// Whether an axis of such a name is steps.
pub(crate) fn names_steps(name: &str) -> bool {
    ["t", "time", "step"].iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// The axis of space that such a name means: 0, 1, 2 for x, y, z.
pub(crate) fn names_space(name: &str) -> Option<usize> {
    match name.to_ascii_lowercase().as_str() {
        "x" | "lon" | "longitude" | "west_east" | "west_east_stag" => Some(0),
        "y" | "lat" | "latitude" | "south_north" | "south_north_stag" => Some(1),
        "z" | "lev" | "level" | "height" | "altitude" | "alt" | "depth" | "bottom_top" | "bottom_top_stag" => Some(2),
        _ => None,
    }
}

/// What the axis is of which coordinates have such a name, by what is `said` of them (Climate and Forecast conventions, chapter 4): `axis` first, then
/// `standard_name`, `units`, `positive`, and their name.
pub(crate) fn role_of(name: &str, said: impl Fn(&str) -> Option<String>) -> Option<Role> {
    let said = |name: &str| said(name).unwrap_or_default().to_ascii_lowercase();
    let by_axis = match said("axis").as_str() {
        "x" => Some(Role::Space(0)),
        "y" => Some(Role::Space(1)),
        "z" => Some(Role::Space(2)),
        "t" => Some(Role::Step),
        _ => None,
    };
    let by_standard_name = || match said("standard_name").as_str() {
        "longitude" | "grid_longitude" | "projection_x_coordinate" => Some(Role::Space(0)),
        "latitude" | "grid_latitude" | "projection_y_coordinate" => Some(Role::Space(1)),
        "time" => Some(Role::Step),
        _ => None,
    };
    let by_unit = || match said("units").as_str() {
        unit if is_east(unit) => Some(Role::Space(0)),
        unit if is_north(unit) => Some(Role::Space(1)),
        unit if is_pressure(unit) => Some(Role::Space(2)),
        unit => is_since_a_date(unit).then_some(Role::Step),
    };
    let by_direction = || ["up", "down"].contains(&said("positive").as_str()).then_some(Role::Space(2));
    by_axis.or_else(by_standard_name).or_else(by_unit).or_else(by_direction).or_else(|| Role::of_name(name))
}

/// Whether coordinates in such a unit are times, counted from a date (Climate and Forecast conventions, 4.4).
fn is_since_a_date(unit: &str) -> bool {
    unit.to_ascii_lowercase().contains(" since ")
}
