//! The meshes of an iteration: records of one component or of several, stored or constant, and where their samples are.
//!
//! Layout: openPMD standard 1.1.0, "Mesh Based Records", "Unit Systems and Dimensionality", "Constant Record Components".
//! Invariant: only hard links are followed, and only values in the file itself are read.

use hdf5_metno::{Dataset, Group, IndexType, IterationOrder, Location, LocationType};
use visapult_volume::{Grid, ScalarType};

use super::left_out::LeftOut;
use super::units;
use crate::coordinates::cut;
use crate::hdf5::attributes::{self, text, texts, values};
use crate::hdf5::dataset::scalar;
use crate::hdf5::find::{Shape, check_numeric, is_hard, is_in_file};
use crate::hdf5::one_line;
use crate::roles::{Role, is_in_order};

/// Components of all meshes of an iteration.
const MOST_COMPONENTS: usize = 1000;
/// What is said of what is not read for that.
pub(super) const BEHIND_LINK: &str = "it is behind a link, which is not followed";
/// Powers that a unit has.
const POWERS: usize = 7;

/// What a hard link leads to.
pub(super) enum Object {
    Array(Dataset),
    Group(Group),
}

/// Where a path ends, as far as hard links lead.
pub(super) enum End {
    Nowhere,
    Group,
    /// At what is no group, or at a link of another kind.
    Else,
}

/// A component of a mesh in one iteration.
pub(super) struct Component {
    /// Such as `E/x`, or `rho` where a mesh has one component.
    pub(super) name: String,
    pub(super) shape: Shape,
    pub(super) unit: String,
    /// Where the nodes of its mesh are.
    pub(super) nodes: Grid,
    /// How far its samples are off those, in spacings.
    pub(super) position: [f64; 3],
    /// What values are to be multiplied with.
    pub(super) factor: f64,
    pub(super) values: Values,
    pub(super) remarks: Vec<String>,
}

pub(super) enum Values {
    Array(Dataset),
    Constant(f64, ScalarType),
}

/// The meshes of an iteration. What the components of a record share is read once, where they are asked for one after the other.
pub(super) struct Meshes<'a> {
    group: &'a Group,
    last: Option<Record>,
}

/// What is called so in a group of meshes: a component, or several.
struct Record {
    name: String,
    object: Object,
    /// Why it is not read, if its geometry is none that is.
    geometry: Result<(), String>,
    is_fortran: bool,
    powers: Option<[f64; POWERS]>,
    /// Where samples of arrays of such lengths are.
    mesh: Option<(Vec<u64>, Mesh)>,
}

/// Where the samples of a mesh are.
#[derive(Clone)]
struct Mesh {
    roles: Vec<Role>,
    /// Whether what is told of axes is in the other order than those of the array.
    is_fortran: bool,
    nodes: Grid,
    remarks: Vec<String>,
}

impl Object {
    /// What is called `name` in a group.
    pub(super) fn below(group: &Group, name: &str) -> Option<Self> {
        if !is_hard(group, name) {
            return None;
        }
        match group.loc_type_by_name(name).ok()? {
            LocationType::Dataset => group.dataset(name).ok().map(Self::Array),
            LocationType::Group => group.group(name).ok().map(Self::Group),
            _ => None,
        }
    }

    /// The group at a path of several names.
    pub(super) fn group_at(group: &Group, path: &str) -> Option<Group> {
        // Asked before it is opened: a link may lead to what never ends opening.
        let inner = |group: Group, part: &str| is_hard(&group, part).then(|| group.group(part).ok())?;
        path.split('/').filter(|part| !part.is_empty()).try_fold(group.clone(), inner)
    }

    /// Where a path in a group ends.
    pub(super) fn end_of(group: &Group, path: &str) -> End {
        let mut group = group.clone();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            match Self::below(&group, part) {
                Some(Self::Group(inner)) => group = inner,
                None if !group.link_exists(part) => return End::Nowhere,
                _ => return End::Else,
            }
        }
        End::Group
    }

    fn told(&self) -> &Location {
        match self {
            Self::Array(dataset) => dataset,
            Self::Group(group) => group,
        }
    }

    /// Whether it is a component itself, not a group of some.
    fn is_component(&self) -> bool {
        match self {
            Self::Array(_) => true,
            Self::Group(group) => group.attr("value").is_ok() && group.attr("shape").is_ok(),
        }
    }
}

impl Component {
    /// Where its samples are.
    pub(super) fn placed(&self) -> Grid {
        let mut grid = self.nodes.clone();
        for axis in 0..3 {
            grid.origin[axis] += self.position[axis] * grid.spacing[axis];
        }
        grid
    }
}

/// The components of the meshes in a group that are `wanted`: of which the names are, or begin with, that, or one of several with commas between them; all, if it is empty. What else is
/// there goes to `refused`.
pub(super) fn components(meshes: &Group, wanted: &str, refused: &mut LeftOut) -> Result<Vec<Component>, String> {
    let mut found = Vec::new();
    let mut known = Meshes::of(meshes);
    for name in names_of_all(meshes, wanted)? {
        match known.component(&name) {
            Ok(component) => found.push(component),
            Err(problem) => refused.add(format!("{} ({problem})", cut(&name))),
        }
    }
    Ok(found)
}

/// The names of components that are wanted; none where one of several that are named with commas is not there.
fn names_of_all(meshes: &Group, wanted: &str) -> Result<Vec<String>, String> {
    let as_one = names(meshes, wanted)?;
    if !as_one.is_empty() || !wanted.contains(',') {
        return Ok(as_one);
    }
    let mut found: Vec<String> = Vec::new();
    for part in wanted.split(',') {
        let of_part = if part.is_empty() { Vec::new() } else { names(meshes, part)? };
        if of_part.is_empty() {
            return Ok(of_part);
        }
        // A component may be named beside its record.
        found.extend(of_part.into_iter().filter(|name| !found.contains(name)).collect::<Vec<_>>());
    }
    Ok(found)
}

/// Whether a component is one, or one of a record, of such a name.
pub(super) fn is_of(component: &str, name: &str) -> bool {
    let rest = component.strip_prefix(name);
    rest.is_some_and(|rest| !name.is_empty() && (rest.is_empty() || rest.starts_with('/')))
}

/// The names of components that are, or begin with, `wanted`, by what there is.
pub(super) fn names(meshes: &Group, wanted: &str) -> Result<Vec<String>, String> {
    let record = wanted.split('/').next().unwrap_or_default();
    let mut found = Vec::new();
    for name in links(meshes)?.into_iter().filter(|name| record.is_empty() || name == record) {
        match Object::below(meshes, &name) {
            Some(Object::Group(group)) if !Object::Group(group.clone()).is_component() => {
                found.extend(links(&group)?.into_iter().map(|part| format!("{name}/{part}")));
            }
            _ => found.push(name),
        }
        if found.len() > MOST_COMPONENTS {
            return Err(format!(
                "it has more than {MOST_COMPONENTS} components of meshes: add ':/' and the name of one"
            ));
        }
    }
    found.retain(|name| wanted.is_empty() || is_of(name, wanted));
    Ok(found)
}

/// The names of the links of a group, which are to be few.
fn links(group: &Group) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    let end = group.find_link(IndexType::Name, IterationOrder::Increasing, |name, _| {
        names.push(name.to_owned());
        Ok((names.len() > MOST_COMPONENTS).then_some(()))
    });
    match end.map_err(|e| format!("group '{}': {}", group.name(), one_line(&e)))? {
        Some(()) => {
            Err(format!("its group '{}' holds more than {MOST_COMPONENTS} objects: write fewer meshes", group.name()))
        }
        None => Ok(names),
    }
}

/// The component of such a name in a group of meshes, or why it is none.
pub(super) fn component(meshes: &Group, name: &str) -> Result<Component, String> {
    Meshes::of(meshes).component(name)
}

impl<'a> Meshes<'a> {
    pub(super) const fn of(group: &'a Group) -> Self {
        Self { group, last: None }
    }

    /// The component of such a name, or why it is none.
    pub(super) fn component(&mut self, name: &str) -> Result<Component, String> {
        let (record, part) = name.split_once('/').unwrap_or((name, ""));
        let known = self.last.take().filter(|last| last.name == record);
        let known = known.map_or_else(|| Record::open(self.group, record), Ok)?;
        self.last.insert(known).component(name, part)
    }
}

impl Record {
    fn open(meshes: &Group, name: &str) -> Result<Self, String> {
        let object = below(meshes, name)?;
        let told = object.told();
        Ok(Self {
            name: name.to_owned(),
            geometry: check_geometry(told),
            is_fortran: text(told, "dataOrder").is_some_and(|order| order == "F"),
            powers: values(told, "unitDimension").and_then(|powers| <[f64; POWERS]>::try_from(powers).ok()),
            mesh: None,
            object,
        })
    }

    /// Its component `part`, the only one if that is empty; `name` is that of both.
    fn component(&mut self, name: &str, part: &str) -> Result<Component, String> {
        let inner = match &self.object {
            Object::Group(group) if !part.is_empty() => Some(below(group, part)?),
            _ => None,
        };
        self.geometry.clone()?;
        let object = inner.as_ref().unwrap_or(&self.object);
        let (dims, stored) = array(object)?;
        // The shape of what is constant is told as the axes are.
        let is_turned = self.is_fortran && matches!(stored, Values::Constant(..));
        let dims = if is_turned { dims.into_iter().rev().collect() } else { dims };
        let factor = attributes::number(object.told(), "unitSI").filter(|factor| factor.is_finite() && *factor != 0.0);
        // Without a factor nobody knows in which unit values are.
        let unit = self.powers.filter(|_| factor.is_some()).map_or_else(String::new, |powers| units::named(&powers));
        let mesh = match self.mesh.take().filter(|(lengths, _)| *lengths == dims) {
            Some((_, mesh)) => mesh,
            None => Mesh::of(self.object.told(), &dims, self.is_fortran)?,
        };
        mesh.check_place()?;
        let position = mesh.position(object.told());
        let Mesh { roles, nodes, remarks, .. } = mesh.clone();
        let shape = Shape::with(roles, &dims);
        self.mesh = Some((dims, mesh));
        let (name, factor) = (name.to_owned(), factor.unwrap_or(1.0));
        Ok(Component { name, unit, position, factor, values: stored, shape, nodes, remarks })
    }
}

fn below(group: &Group, name: &str) -> Result<Object, String> {
    Object::below(group, name).ok_or_else(|| missing(group, name))
}

/// Why nothing of such a name is read of a group.
fn missing(group: &Group, name: &str) -> String {
    match group.link_exists(name) {
        false => "it is not there",
        true if is_hard(group, name) => "it is no array",
        true => BEHIND_LINK,
    }
    .to_owned()
}

/// Lengths along the axes of a component, and its values.
fn array(object: &Object) -> Result<(Vec<u64>, Values), String> {
    match object {
        Object::Array(dataset) => {
            check_numeric(dataset)?;
            if !is_in_file(dataset) {
                return Err("its values are in other files".to_owned());
            }
            let dims = dataset.shape().into_iter().map(|n| n as u64).collect();
            Ok((dims, Values::Array(dataset.clone())))
        }
        Object::Group(group) => {
            let value = group.attr("value").ok().filter(|_| object.is_component()).ok_or("it is no array")?;
            let kind = value.dtype().and_then(|dtype| dtype.to_descriptor()).map_err(|_| "its value is no number")?;
            let number = attributes::number(group, "value").ok_or("its value is no number")?;
            let shape = values(group, "shape").unwrap_or_default();
            Ok((shape.into_iter().map(|edge| edge as u64).collect(), Values::Constant(number, scalar(&kind))))
        }
    }
}

fn check_geometry(record: &Location) -> Result<(), String> {
    match text(record, "geometry").filter(|geometry| geometry != "cartesian") {
        Some(other) => Err(format!("its geometry is {}", cut(&other))),
        None => Ok(()),
    }
}

impl Mesh {
    /// Of arrays of such lengths.
    fn of(record: &Location, dims: &[u64], is_fortran: bool) -> Result<Self, String> {
        let count = dims.len();
        if !(2..=3).contains(&count) {
            return Err(format!("its shape {dims:?} is not that of a mesh of 2 or 3 axes"));
        }
        let mut labels = texts(record, "axisLabels").filter(|labels| labels.len() == count).unwrap_or_default();
        if is_fortran {
            labels.reverse();
        }
        let (roles, remark) = roles_of(&labels, count);
        let shape = Shape::with(roles.clone(), dims);
        let mut mesh =
            Self { roles, is_fortran, nodes: Grid::of_size(shape.size), remarks: remark.into_iter().collect() };
        mesh.place(record);
        Ok(mesh)
    }

    /// Puts the nodes where the record tells that they are.
    fn place(&mut self, record: &Location) {
        let Some(spacing) = self.along(record, "gridSpacing") else {
            self.remarks.push("no gridSpacing along each axis: 1 is taken".to_owned());
            return;
        };
        let offset = self.along(record, "gridGlobalOffset").unwrap_or_else(|| vec![0.0; spacing.len()]);
        let unit = match values(record, "gridUnitSI").as_deref() {
            Some([one]) => vec![*one; spacing.len()],
            _ => self.along(record, "gridUnitSI").unwrap_or_else(|| vec![1.0; spacing.len()]),
        };
        for (place, role) in self.roles.iter().enumerate() {
            let Role::Space(axis) = *role else { continue };
            self.nodes.spacing[axis] = spacing[place] * unit[place];
            self.nodes.origin[axis] = offset[place] * unit[place];
        }
        // An axis that the mesh lacks is as thick as its cells are.
        let thin =
            spacing.iter().zip(&unit).map(|(spacing, unit)| (spacing * unit).abs()).fold(f64::INFINITY, f64::min);
        for axis in (0..3).filter(|axis| !self.roles.contains(&Role::Space(*axis))) {
            self.nodes.spacing[axis] = thin;
        }
        if is_length(record) {
            self.nodes.unit = "m".to_owned();
        }
    }

    /// Refuses nodes that all lie in one place along an axis, or nowhere.
    fn check_place(&self) -> Result<(), String> {
        let Grid { spacing, origin, .. } = &self.nodes;
        if spacing.iter().all(|spacing| spacing.is_finite() && *spacing != 0.0)
            && origin.iter().all(|origin| origin.is_finite())
        {
            return Ok(());
        }
        Err(format!("its nodes lie nowhere: spacing {spacing:?}, origin {origin:?} along x, y, z"))
    }

    /// How far samples of a component are off the nodes, in spacings along x, y, z.
    fn position(&self, component: &Location) -> [f64; 3] {
        let mut position = [0.0; 3];
        for (role, off) in self.roles.iter().zip(self.along(component, "position").unwrap_or_default()) {
            if let Role::Space(axis) = *role
                && off.is_finite()
            {
                position[axis] = off;
            }
        }
        position
    }

    /// An attribute of one number for each axis, in the order of the array.
    fn along(&self, location: &Location, name: &str) -> Option<Vec<f64>> {
        let mut numbers = values(location, name).filter(|numbers| numbers.len() == self.roles.len())?;
        if self.is_fortran {
            numbers.reverse();
        }
        Some(numbers)
    }
}

/// Whether axes are lengths, which openPMD 2 need not have.
fn is_length(record: &Location) -> bool {
    let powers = values(record, "gridUnitDimension").unwrap_or_default();
    powers.chunks(POWERS).all(|powers| powers[0] == 1.0 && powers[1..].iter().all(|power| *power == 0.0))
}

/// What so many axes are that are called `labels`, and what is remarked of that.
fn roles_of(labels: &[String], count: usize) -> (Vec<Role>, Option<String>) {
    let told: Vec<_> = labels.iter().filter_map(|label| Role::of_name(label)).collect();
    let is_space = |role: &Role| matches!(role, Role::Space(_));
    let are_apart = (1..told.len()).all(|place| !told[..place].contains(&told[place]));
    let named: Vec<_> = labels.iter().map(|label| cut(label)).collect();
    if told.len() == count && told.iter().all(is_space) && are_apart {
        let remark = (!is_in_order(&told)).then(|| format!("axes {} put in order", named.join(", ")));
        return (told, remark);
    }
    let usual: Vec<_> = (0..count).rev().map(Role::Space).collect();
    let taken: Vec<_> = usual.iter().map(|role| role.name()).collect();
    let remark = format!(
        "axes {} are taken as {}",
        if named.is_empty() { "without labels".to_owned() } else { named.join(", ") },
        taken.join(", ")
    );
    (usual, Some(remark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_what_their_labels_say_if_those_are_of_space() {
        let roles = |labels: &[&str]| {
            let labels: Vec<_> = labels.iter().map(|label| (*label).to_owned()).collect();
            let (roles, remark) = roles_of(&labels, 3);
            (roles.iter().map(|role| role.name()).collect::<Vec<_>>().join(""), remark.unwrap_or_default())
        };
        assert_eq!(roles(&["z", "y", "x"]), ("zyx".to_owned(), String::new()));
        assert_eq!(roles(&["x", "y", "z"]), ("xyz".to_owned(), "axes x, y, z put in order".to_owned()));
        for other in [&["z", "y", "y"][..], &["z", "y", "px"], &["t", "y", "x"], &[]] {
            let (roles, remark) = roles(other);
            assert!(roles == "zyx" && remark.ends_with("are taken as z, y, x"), "{remark}");
        }
        assert_eq!(roles_of(&["x".to_owned(), "z".to_owned()], 2).0, [Role::Space(0), Role::Space(2)]);
    }
}
