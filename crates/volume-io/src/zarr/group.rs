//! A single array, or arrays of a group that have one shape: each a field, or one per channel.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use visapult_volume::{FieldInfo, Grid};
use zarrs::array::{Array, ArrayBytes};

use super::array::{Stored, axis_names, encoding_of_coordinates, is_coordinates, roles_of};
use super::store::Store;
use super::{Content, Field, Node, attributes};
use crate::axes::{self, Axes};
use crate::choice::{Candidate, Choice, Refusal};
use crate::coordinates::{self, Coordinates, Found, MOST_KEPT};
use crate::near::instead;
use crate::refused::Refused;
use crate::roles::{Role, contradicted};
use crate::shape;

/// Arrays of a group that are looked at.
const MAX_ARRAYS: usize = 1000;
/// Longest array of coordinates that is read.
const MAX_COORDINATES: u64 = 1 << 20;

/// The node's own array.
pub(super) fn single(node: &Node<'_>) -> Result<Content, String> {
    let array = node.array("/")?;
    let shown = node.store.shown();
    // Whom a server lets see the array alone sees it without coordinates.
    let around = axis_names(&array).and_then(|_| node.store.above().ok().flatten());
    let mut scales = Scales::around(around.as_ref());
    let stored = scales.stored(shown.display().to_string(), array)?;
    content(scales, "Zarr array", vec![(shape::file_stem(&shown), Arc::new(stored))])
}

/// The arrays of the node's group that are fields.
pub(super) fn all(node: &Node<'_>) -> Result<Content, Refusal> {
    let names = node.store.members(MAX_ARRAYS)?;
    if node.store.is_far() {
        // Here one that cannot be read is no field; there it may be one another time.
        node.store.ready(&names.iter().map(String::as_str).collect::<Vec<_>>()).map_err(|e| e.to_string())?;
    }
    let mut scales = Scales::around(Some(node.store));
    let (mut arrays, mut refused) = (Vec::new(), Refused::default());
    for name in names {
        let at = node.store.join(&name);
        let array = node.array(&name);
        if array.as_ref().is_ok_and(|array| is_coordinates(array, &name)) {
            continue;
        }
        match array.and_then(|array| scales.stored(at.shown().display().to_string(), array)) {
            Ok(stored) => arrays.push((name, Arc::new(stored))),
            Err(_) if is_group(&at) => refused.add(&name, "it is a group"),
            Err(problem) if at.is_node().unwrap_or(false) => refused.add(&name, &problem),
            Err(_) => {}
        }
    }
    if arrays.is_empty() {
        return Err(format!("{}: name a group or array inside", refused.told("array of numbers")).into());
    }
    of_one_shape(scales, arrays)
}

/// Those of such names.
pub(super) fn named(node: &Node<'_>, names: &[String]) -> Result<Content, Refusal> {
    node.store.ready(&names.iter().map(String::as_str).collect::<Vec<_>>()).map_err(|e| e.to_string())?;
    let mut scales = Scales::around(Some(node.store));
    let stored = |name: &String| {
        let at = node.store.join(name);
        if name.is_empty() {
            return Err(format!("'{}' names nothing beside a comma", names.join(",")));
        }
        if !at.is_node().map_err(|e| e.to_string())? {
            let there = node.store.members(MAX_ARRAYS).unwrap_or_default();
            return Err(format!("there is no array '{name}' in it{}", instead(name, &there)));
        }
        if is_group(&at) {
            return Err(format!("'{name}' in it is a group: several arrays are named, or one group"));
        }
        let stored = scales.stored(at.shown().display().to_string(), node.array(name)?);
        Ok((name.clone(), Arc::new(stored.map_err(|problem| format!("array '{name}' is no field: {problem}"))?)))
    };
    let arrays = names.iter().map(stored).collect::<Result<Vec<_>, String>>()?;
    of_one_shape(scales, arrays).map_err(Refusal::of_named)
}

fn of_one_shape(scales: Scales<'_>, arrays: Vec<(String, Arc<Stored>)>) -> Result<Content, Refusal> {
    let candidate = |(name, stored): &(String, Arc<Stored>)| {
        Candidate::of(stored.size(), stored.has_steps().then(|| stored.steps()), name.clone())
    };
    Choice::unless_alike("/", arrays.iter().map(candidate).collect())?;
    Ok(content(scales, "Zarr group", arrays)?)
}

fn is_group(at: &Store) -> bool {
    let is_array = at.document(".zarray").is_ok_and(|document| document.is_some());
    !is_array && at.is_node().unwrap_or(false) && attributes::of_group(at).is_ok_and(|found| found.is_some())
}

/// `scales` are those of the group that the arrays are in.
fn content(mut scales: Scales<'_>, kind: &'static str, arrays: Vec<(String, Arc<Stored>)>) -> Result<Content, String> {
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
    let Axes { grid, times, time_unit, calendar, along, remarks, .. } = axes;
    let times = times.to_vec();
    Ok(Content { kind, grids: vec![grid], fields, times, time_unit, calendar, along, remarks })
}

/// What is known of an array's axes; its attributes win over coordinates.
fn axes(stored: &Stored, scales: &mut Scales<'_>) -> Axes {
    let mut axes = Axes::of_size(stored.size());
    if let Some((times, calendar)) = scales.of(stored, Role::Step) {
        let Coordinates { values, unit, .. } = times.coordinates;
        (axes.times, axes.time_unit, axes.calendar) = (values, unit, calendar);
    }
    let told = std::array::from_fn(|axis| Some(scales.of(stored, Role::Space(axis))?.0));
    let trial = axes.place(&told);
    if attributes::list(stored.attributes(), "spacing").is_some_and(|spacing| spacing.len() == 3) {
        axes.grid = Grid::of_size(stored.size());
        axes.remarks.clear();
    }
    attributes::place(stored.attributes(), &mut axes.grid);
    axes.settle(&trial);
    if let Some(centering) = attributes::centering(stored.attributes()) {
        (axes.grid.centering, axes.tells_centering) = (centering, true);
    }
    let told = |name: String| {
        let role = scales.role(&name);
        (name, role)
    };
    let named: Vec<_> = stored.axis_names().into_iter().map(told).collect();
    axes.remarks.extend(contradicted(&named, stored.roles()));
    let times = attributes::list(stored.attributes(), "times");
    if let Some(times) = times.filter(|times| times.len() as u64 == stored.steps()) {
        axes.times = times.into();
        axes.time_unit = attributes::text(stored.attributes(), "time_unit").unwrap_or_default();
        axes.calendar.clear();
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
///
/// Invariant: they are `MOST_KEPT` values at most; beyond these no axis has any.
struct Scales<'a> {
    around: Option<&'a Store>,
    /// By name; none of what is no such array.
    known: HashMap<String, Option<Scale>>,
    kept: usize,
}

/// Such an array.
struct Scale {
    name: String,
    array: Array<Store>,
    role: Option<Role>,
    /// None where it holds no numbers. Who only asks for the role need not wait for them.
    coordinates: OnceCell<Option<Found>>,
}

impl<'a> Scales<'a> {
    fn around(around: Option<&'a Store>) -> Self {
        Self { around, known: HashMap::new(), kept: 0 }
    }

    /// An array whose axes are what is said of them.
    fn stored(&mut self, shown: String, array: Array<Store>) -> Result<Stored, String> {
        let roles = roles_of(&array, |name| self.role(name))?;
        Stored::new(shown, array, roles)
    }

    /// What is said of an axis of such a name.
    fn role(&mut self, name: &str) -> Option<Role> {
        self.named(name).map_or_else(|| Role::of_name(name), |scale| scale.role)
    }

    /// Coordinates along an axis of `stored`, and the calendar in which they count, if they are times.
    fn of(&mut self, stored: &Stored, role: Role) -> Option<(Found, String)> {
        let length = match role {
            Role::Space(axis) => stored.size()[axis] as u64,
            _ => stored.steps(),
        };
        let kept = self.kept;
        let scale = self.named(&stored.axis_name(role)?).filter(|scale| scale.array.shape() == [length])?;
        let is_new = scale.coordinates.get().is_none();
        if is_new && kept + length as usize > MOST_KEPT {
            return None;
        }
        let found = scale.coordinates.get_or_init(|| scale.read()).clone();
        let calendar = scale.text("calendar");
        self.kept += if is_new { length as usize } else { 0 };
        Some((found?, calendar))
    }

    fn named(&mut self, name: &str) -> Option<&Scale> {
        let node = Node { store: self.around? };
        if name.is_empty() || name.contains('/') {
            return None;
        }
        self.known.entry(name.to_owned()).or_insert_with(|| Scale::open(&node, name)).as_ref()
    }
}

impl Scale {
    fn open(node: &Node<'_>, name: &str) -> Option<Self> {
        let array = node.array(name).ok()?;
        if !matches!(array.shape(), [1..=MAX_COORDINATES]) {
            return None;
        }
        let role = coordinates::role_of(name, |told| attributes::text(array.attributes(), told));
        Some(Self { name: name.to_owned(), array, role, coordinates: OnceCell::new() })
    }

    fn read(&self) -> Option<Found> {
        let encoding = encoding_of_coordinates(&self.array).ok()?;
        let read = self.array.retrieve_array_subset::<ArrayBytes<'_>>(&self.array.subset_all()).ok()?;
        let values = encoding.decode_wide(&read.into_fixed().ok()?).into();
        let (name, unit) = (self.name.clone(), self.text("units"));
        let are_downwards = coordinates::are_downwards(&self.text("positive"), &unit);
        Some(Found::new(Coordinates { name, unit, values, are_downwards }))
    }

    fn text(&self, name: &str) -> String {
        attributes::text(self.array.attributes(), name).unwrap_or_default()
    }
}
