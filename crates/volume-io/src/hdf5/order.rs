//! Which axis of a dataset is which, by what is said of the dimension scales that are attached to it.
//!
//! Sources: Climate and Forecast conventions, chapter 4 (axis, standard_name, units, positive); HDF5 Dimension Scale Specification (labels).

use hdf5_metno::Dataset;

use super::attributes::{text, texts};
use super::scales::{name_of, scales};
use crate::coordinates;
use crate::roles::{Role, as_told, contradicted, is_usual, singles, staying, usual, with_singles};
use crate::shape::too_many_axes;

/// Steps, z, y, x.
const MOST_AXES: usize = 4;

/// What each axis of a dataset of 3 and more is: what is said of it, else z, y, x in the end, and before them steps. Of more than 4 those of one sample are
/// left out.
pub(super) fn roles_of(dataset: &Dataset, dims: &[u64]) -> Result<Vec<Role>, String> {
    let axes = axes(dataset);
    let told: Vec<_> = axes.iter().map(|(_, role)| *role).collect();
    let names: Vec<_> = axes.into_iter().map(|(name, _)| name).collect();
    let is_single = singles(dims, &told, MOST_AXES).ok_or_else(|| too_many_axes(dims, &names, &told))?;
    let told = staying(&told, &is_single);
    Ok(with_singles(as_told(&told).unwrap_or_else(|| usual(&told)), &is_single))
}

/// What to say where the axes of a dataset are not stored in the usual order, or something is said of them that contradicts what they are taken for.
pub(super) fn remark(dataset: &Dataset, roles: &[Role]) -> Option<String> {
    let axes = axes(dataset);
    if axes.len() != roles.len() {
        return None;
    }
    let named: Vec<_> = axes.iter().map(|(name, _)| coordinates::cut(name)).collect();
    let taken: Vec<_> = roles.iter().map(|role| role.name()).collect();
    let in_order = || format!("axes {} are {}: put in order", named.join(", "), taken.join(", "));
    contradicted(&axes, roles).or_else(|| (!is_usual(roles)).then(in_order))
}

/// The name of each axis, and what is said of it.
fn axes(dataset: &Dataset) -> Vec<(String, Option<Role>)> {
    let scales = scales(dataset).unwrap_or_default();
    let labels = texts(dataset, "DIMENSION_LABELS").unwrap_or_default();
    let axis = |place: usize| match (scales.get(place).and_then(Option::as_ref), labels.get(place)) {
        (Some(scale), _) => (name_of(scale), role_of(scale)),
        (None, Some(label)) if !label.is_empty() => (label.clone(), without_channels(Role::of_name(label))),
        _ => ("?".to_owned(), None),
    };
    (0..dataset.ndim()).map(axis).collect()
}

fn without_channels(role: Option<Role>) -> Option<Role> {
    role.filter(|role| *role != Role::Channel)
}

/// What the axis of a scale is, if something says so.
fn role_of(scale: &Dataset) -> Option<Role> {
    without_channels(coordinates::role_of(&name_of(scale), |name| text(scale, name)))
}
