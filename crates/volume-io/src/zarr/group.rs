//! A single array, or a group of arrays of one shape: each a field, or one per channel.

use std::collections::HashMap;
use std::sync::Arc;

use visapult_volume::FieldInfo;
use zarrs::array::ArrayBytes;

use super::array::{Stored, encoding, is_coordinates};
use super::store::Store;
use super::{Content, Field, Node, attributes};
use crate::axes::{self, Axes};
use crate::coordinates::{self, Coordinates};
use crate::refused::Refused;
use crate::roles::Role;
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
    let names_axes = stored.axis_name(Role::Space(0)).is_some();
    // Whom a server lets see the array alone sees it without coordinates.
    let around = names_axes.then(|| node.store.above().ok().flatten()).flatten();
    content(around.as_ref(), "Zarr array", vec![(shape::file_stem(&shown), Arc::new(stored))])
}

/// The arrays of the node's group.
pub(super) fn several(node: &Node<'_>) -> Result<Content, String> {
    let names = node.store.members(MAX_ARRAYS)?;
    if node.store.is_far() {
        // Here one that cannot be read is no field; there it may be one another time.
        node.store.ready(&names.iter().map(String::as_str).collect::<Vec<_>>()).map_err(|e| e.to_string())?;
    }
    let (mut arrays, mut refused) = (Vec::new(), Refused::default());
    for name in names {
        let at = node.store.join(&name);
        let array = node.array(&name);
        if array.as_ref().is_ok_and(|array| is_coordinates(array, &name)) {
            continue;
        }
        match array.and_then(|array| Stored::new(at.shown().display().to_string(), array, None)) {
            Ok(stored) => arrays.push((name, Arc::new(stored))),
            Err(_) if is_group(&at) => refused.add(&name, "it is a group"),
            Err(problem) if at.is_node().unwrap_or(false) => refused.add(&name, &problem),
            Err(_) => {}
        }
    }
    let steps = arrays.iter().map(|(_, stored)| stored.steps()).max().unwrap_or(1);
    // What has no steps is the same at all.
    let is_of = |stored: &Stored| stored.steps() == steps || !stored.has_steps();
    if arrays.windows(2).any(|pair| pair[0].1.size() != pair[1].1.size()) || !arrays.iter().all(|(_, a)| is_of(a)) {
        let described = |(name, a): &(String, Arc<Stored>)| format!("{name} {:?} ({} steps)", a.size(), a.steps());
        let names: Vec<_> = arrays.iter().take(8).map(described).collect();
        return Err(format!(
            "its arrays differ in shape: add '/' and one of their names; there are {}",
            names.join(", ")
        ));
    }
    if arrays.is_empty() {
        return Err(format!("{}: name a group or array inside", refused.told("array of numbers")));
    }
    content(Some(node.store), "Zarr group", arrays)
}

fn is_group(at: &Store) -> bool {
    let is_array = at.document(".zarray").is_ok_and(|document| document.is_some());
    !is_array && at.is_node().unwrap_or(false) && attributes::of_group(at).is_ok_and(|found| found.is_some())
}

/// `around` is the group that the arrays are in.
fn content(around: Option<&Store>, kind: &'static str, arrays: Vec<(String, Arc<Stored>)>) -> Result<Content, String> {
    let mut scales = Scales { around, known: HashMap::new() };
    let told: Vec<_> = arrays.iter().map(|(name, stored)| (name.clone(), axes(stored, &mut scales))).collect();
    let axes = Axes::of_all(&told).map_err(|problem| format!("{problem}: add '/' and one of their names"))?;
    let mut fields = Vec::new();
    for (name, stored) in arrays {
        for channel in 0..stored.channels() {
            let name = if stored.channels() > 1 { format!("{name} {channel}") } else { name.clone() };
            let unit = attributes::text(stored.attributes(), "units").unwrap_or_default();
            let info = FieldInfo { name, unit, scalar_type: stored.scalar(), declared_range: None };
            fields.push(Field { info, levels: vec![Arc::clone(&stored)], channel });
        }
    }
    let Axes { grid, times, time_unit, remarks } = axes;
    Ok(Content { kind, grids: vec![grid], fields, times, time_unit, remarks })
}

/// What is known of an array's axes; its attributes win over coordinates.
fn axes(stored: &Stored, scales: &mut Scales<'_>) -> Axes {
    let mut axes = Axes::of_size(stored.size());
    if let Some(times) = scales.of(stored, Role::Step) {
        (axes.times, axes.time_unit) = (times.values, times.unit);
    }
    if attributes::list(stored.attributes(), "spacing").is_none_or(|spacing| spacing.len() != 3) {
        let along = std::array::from_fn(|axis| scales.of(stored, Role::Space(axis)));
        axes.remarks = coordinates::place(along, &mut axes.grid);
    }
    attributes::place(stored.attributes(), &mut axes.grid);
    let times = attributes::list(stored.attributes(), "times");
    if let Some(times) = times.filter(|times| times.len() as u64 == stored.steps()) {
        axes.times = times;
        axes.time_unit = attributes::text(stored.attributes(), "time_unit").unwrap_or_default();
    }
    if axes.times.is_empty() && stored.axis_name(Role::Space(0)).is_none() {
        axes.remarks.extend(shape::doubt(stored.shape()));
    }
    let is_unread = |name: &str| {
        let is_there = stored.attributes().contains_key(name);
        is_there && attributes::list(stored.attributes(), name).is_none_or(|list| list.len() != 3)
    };
    axes.remarks.extend(axes::three_numbers(&["spacing", "origin"], is_unread));
    axes
}

/// Coordinates as xarray stores them: arrays of one axis, named as the axis.
struct Scales<'a> {
    around: Option<&'a Store>,
    /// By name; none of what is no such array.
    known: HashMap<String, Option<Coordinates>>,
}

impl Scales<'_> {
    /// Along an axis of `stored`.
    fn of(&mut self, stored: &Stored, role: Role) -> Option<Coordinates> {
        let name = stored.axis_name(role).filter(|name| !name.is_empty() && !name.contains('/'))?;
        let node = Node { store: self.around? };
        let length = match role {
            Role::Space(axis) => stored.size()[axis] as u64,
            _ => stored.steps(),
        };
        let known = self.known.entry(name.clone()).or_insert_with(|| coordinates(&node, &name));
        known.clone().filter(|known| known.values.len() as u64 == length)
    }
}

fn coordinates(node: &Node<'_>, name: &str) -> Option<Coordinates> {
    let array = node.array(name).ok()?;
    if !matches!(array.shape(), [length] if *length <= MAX_COORDINATES) {
        return None;
    }
    let encoding = encoding(&array).ok()?;
    let read = array.retrieve_array_subset::<ArrayBytes<'_>>(&array.subset_all()).ok()?;
    let values = encoding.decode_wide(&read.into_fixed().ok()?);
    let unit = attributes::text(array.attributes(), "units").unwrap_or_default();
    let positive = attributes::text(array.attributes(), "positive").unwrap_or_default();
    let are_downwards = coordinates::are_downwards(&positive, &unit);
    Some(Coordinates { name: name.to_owned(), unit, values, are_downwards })
}
