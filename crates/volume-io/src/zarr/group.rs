//! A single array, or a group of arrays of one shape: each a field, or one per channel.

use std::sync::Arc;

use visapult_volume::{FieldInfo, Grid};

use super::array::{Role, Stored};
use super::{Content, Field, Node, attributes};
use crate::coordinates::Even;
use crate::shape;

/// Arrays of a group that are looked at.
const MAX_ARRAYS: usize = 1000;
/// Longest array of coordinates that is read.
const MAX_COORDINATES: u64 = 1 << 20;

/// The node's own array.
pub(super) fn single(node: &Node<'_>) -> Result<Content, String> {
    let array = node.array("/")?;
    let shown = node.store.shown();
    let stored = Stored::new(shown.display().to_string(), array, None)?;
    Ok(content(node, "Zarr array", vec![(shape::file_stem(&shown), Arc::new(stored))]))
}

/// The arrays of the node's group.
pub(super) fn several(node: &Node<'_>) -> Result<Content, String> {
    let names = node.store.members(MAX_ARRAYS)?;
    if node.store.is_far() {
        // Here one that cannot be read is no field; there it may be one another time.
        node.store.ready(&names.iter().map(String::as_str).collect::<Vec<_>>()).map_err(|e| e.to_string())?;
    }
    let mut arrays = Vec::new();
    for name in names {
        let shown = node.store.join(&name).shown().display().to_string();
        // Coordinates, texts and the like are no fields.
        if let Ok(stored) = node.array(&name).and_then(|array| Stored::new(shown, array, None)) {
            arrays.push((name, Arc::new(stored)));
        }
    }
    let shape_of = |stored: &Stored| (stored.size(), stored.steps());
    if arrays.windows(2).any(|pair| shape_of(&pair[0].1) != shape_of(&pair[1].1)) {
        let names: Vec<_> = arrays.iter().take(8).map(|(name, a)| format!("{name} {:?}", a.size())).collect();
        return Err(format!(
            "its arrays differ in shape: add '/' and one of their names; there are {}",
            names.join(", ")
        ));
    }
    if arrays.is_empty() {
        return Err(
            "it holds no array of numbers with 3 axes, or 4 with steps: name a group or array inside".to_owned()
        );
    }
    Ok(content(node, "Zarr group", arrays))
}

fn content(node: &Node<'_>, kind: &'static str, arrays: Vec<(String, Arc<Stored>)>) -> Content {
    let first = Arc::clone(&arrays[0].1);
    let mut content = Content {
        kind,
        grids: vec![Grid::of_size(first.size())],
        fields: Vec::new(),
        times: Vec::new(),
        time_unit: String::new(),
    };
    if kind == "Zarr group" {
        from_coordinates(node, &first, &mut content);
    }
    attributes::place(first.attributes(), &mut content.grids[0]);
    let times = attributes::list(first.attributes(), "times");
    if let Some(times) = times.filter(|times| times.len() as u64 == first.steps()) {
        content.times = times;
        content.time_unit = attributes::text(first.attributes(), "time_unit").unwrap_or_default();
    }
    for (name, stored) in arrays {
        for channel in 0..stored.channels() {
            let name = if stored.channels() > 1 { format!("{name} {channel}") } else { name.clone() };
            let unit = attributes::text(stored.attributes(), "units").unwrap_or_default();
            let info = FieldInfo { name, unit, scalar_type: stored.scalar(), declared_range: None };
            content.fields.push(Field { info, levels: vec![Arc::clone(&stored)], channel });
        }
    }
    content
}

/// Coordinates as xarray stores them: an array of one axis, named as the axis.
fn from_coordinates(node: &Node<'_>, stored: &Stored, content: &mut Content) {
    for axis in 0..3 {
        let Some((values, unit)) = coordinates(node, stored, Role::Space(axis)) else { continue };
        if let Some(even) = Even::of(&values) {
            content.grids[0].spacing[axis] = even.spacing;
            content.grids[0].origin[axis] = even.first;
            content.grids[0].unit = unit;
        }
    }
    if let Some((values, unit)) = coordinates(node, stored, Role::Step) {
        content.times = values;
        content.time_unit = unit;
    }
}

fn coordinates(node: &Node<'_>, stored: &Stored, role: Role) -> Option<(Vec<f64>, String)> {
    let name = stored.axis_name(role).filter(|name| !name.is_empty() && !name.contains('/'))?;
    let array = node.array(&name).ok()?;
    let length = match role {
        Role::Space(axis) => stored.size()[axis] as u64,
        _ => stored.steps(),
    };
    if array.shape() != [length] || length > MAX_COORDINATES {
        return None;
    }
    let all = array.subset_all();
    let values = array.retrieve_array_subset::<Vec<f64>>(&all).ok().or_else(|| {
        let whole = array.retrieve_array_subset::<Vec<i64>>(&all).ok()?;
        Some(whole.into_iter().map(|n| n as f64).collect())
    })?;
    Some((values, attributes::text(array.attributes(), "units").unwrap_or_default()))
}
