//! Which datasets of a file are fields.

use std::cell::RefCell;
use std::path::PathBuf;

use hdf5_metno::plist::dataset_create::Layout as StoredLayout;
use hdf5_metno::sync::sync;
use hdf5_metno::types::TypeDescriptor;
use hdf5_metno::{
    Dataset, File, Group, IndexType, IterationOrder, LinkInfo, LinkType, Location, LocationInfo, LocationToken,
    LocationType,
};

use hdf5_metno_sys::h5l::H5Lget_val;
use hdf5_metno_sys::h5p::H5P_DEFAULT;

use super::elsewhere::Files;
use super::{attributes, order};
use crate::choice::{Candidate, Choice, Refusal};
use crate::flat::Layout;
use crate::near::instead;
use crate::place::Place;
use crate::refused::Refused;
use crate::roles::Role;
use crate::shape;

/// Groups inside groups that are searched.
const MAX_DEPTH: usize = 16;
/// Objects that are looked at before a name is asked for.
const MAX_OBJECTS: usize = 20_000;
/// Bytes of what a link is to.
const MAX_TARGET: usize = 4096;

/// Steps and samples of a dataset.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) steps: u64,
    pub(super) size: [usize; 3],
    /// Values for each sample of a step.
    pub(super) channels: u64,
    roles: Vec<Role>,
}

impl Shape {
    fn of(dataset: &Dataset) -> Result<Self, String> {
        let dims: Vec<u64> = dataset.shape().into_iter().map(|n| n as u64).collect();
        shape::check(&dims)?;
        Ok(Self::with(order::roles_of(dataset, &dims)?, &dims))
    }

    /// Of values with such axes.
    pub(super) fn with(roles: Vec<Role>, dims: &[u64]) -> Self {
        let mut found = Self { steps: 1, size: [1; 3], channels: 1, roles };
        for (role, &length) in found.roles.iter().zip(dims) {
            match *role {
                Role::Space(axis) => found.size[axis] = usize::try_from(length).unwrap_or(usize::MAX),
                Role::Single => {}
                Role::Channel => found.channels = length,
                Role::Step => found.steps = length,
            }
        }
        found
    }

    /// Of values in the order of steps, where there are some, z, y, x.
    pub(super) fn in_order(size: [usize; 3], steps: Option<u64>) -> Self {
        let space = [2, 1, 0].map(Role::Space);
        let roles = steps.map(|_| Role::Step).into_iter().chain(space).collect();
        Self { steps: steps.unwrap_or(1), size, channels: 1, roles }
    }

    /// Of values one after the other.
    pub(super) fn line(length: usize) -> Self {
        Self { steps: 1, size: [length, 1, 1], channels: 1, roles: vec![Role::Space(0)] }
    }

    /// The same with so many values for each sample, one after the other.
    pub(super) fn with_channels(mut self, channels: u64) -> Self {
        self.roles.push(Role::Channel);
        Self { channels, ..self }
    }

    /// Where the values of a dataset lie that is stored in one run; `None` where they are too many to be counted.
    pub(super) fn layout(&self) -> Option<Layout> {
        Layout::in_order(self.size, self.steps, self.channels, &self.roles)
    }

    /// What each axis of the dataset is, as it is stored.
    pub(super) fn roles(&self) -> &[Role] {
        &self.roles
    }

    /// Which axis of the dataset it is.
    pub(super) fn place(&self, role: Role) -> Option<usize> {
        self.roles.iter().position(|known| *known == role)
    }

    /// What is told of each axis of the dataset, as of step, z, y, x: `none` of those that it lacks.
    pub(super) fn by_axis<T: Copy>(&self, told: &[T], none: T) -> Option<[T; 4]> {
        let of = |role| self.place(role).map_or(none, |place| told[place]);
        let is_of_all = told.len() == self.roles.len();
        is_of_all.then(|| [Role::Step, Role::Space(2), Role::Space(1), Role::Space(0)].map(of))
    }

    /// Whether chunks of such a shape hold one sample along the axes that have one: there may be room for more.
    pub(super) fn is_thin(&self, chunk: &[usize]) -> bool {
        self.roles.iter().zip(chunk).all(|(role, edge)| *role != Role::Single || *edge == 1)
    }

    /// Whether the dataset has an axis of steps.
    pub(super) fn has_steps(&self) -> bool {
        self.roles.contains(&Role::Step)
    }
}

/// How far links and datasets may lead: to what is in the file itself, or anywhere.
pub(super) struct Reach {
    /// Where they have led, if that may be anywhere.
    files: Option<RefCell<Files>>,
}

impl Reach {
    pub(super) fn of(place: &Place) -> Self {
        Self { files: (!place.is_confined()).then(RefCell::default) }
    }

    /// Nothing outside the file is opened.
    pub(super) fn is_file_alone(&self) -> bool {
        self.files.is_none()
    }

    /// Refuses a dataset whose values are not where this leads. Its shape, even, is not looked at before: that may open other files.
    pub(super) fn check(&self, dataset: &Dataset) -> Result<(), String> {
        match &self.files {
            Some(files) => files.borrow_mut().add(dataset),
            None if is_in_file(dataset) => Ok(()),
            None => Err("its values are in other files: name those".to_owned()),
        }
    }

    /// Files of values that lie neither beside the source at `place` nor below its folder.
    pub(super) fn outside(&self, place: &Place) -> Vec<PathBuf> {
        self.files.as_ref().map_or_else(Vec::new, |files| files.borrow().outside(place))
    }
}

/// A dataset that is a field, or a channel of one that is.
pub(super) struct Found {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) dataset: Dataset,
    pub(super) shape: Shape,
    pub(super) channel: u64,
}

/// The dataset at `inside`, or all in the group there if they have one shape, or several of one shape that it names with commas between them.
pub(super) fn datasets(file: &File, inside: Option<&str>, reach: &Reach) -> Result<Vec<Found>, Refusal> {
    let wanted = inside.unwrap_or("/").trim_matches('/');
    if wanted.is_empty() {
        return fields_of(file, "", reach);
    }
    if reach.is_file_alone() {
        check_way(file, wanted)?;
    }
    match file.loc_type_by_name(wanted) {
        Ok(LocationType::Dataset) => {
            let dataset = file.dataset(wanted).map_err(|e| format!("dataset '{wanted}': {}", super::one_line(&e)))?;
            let refuse = |problem| format!("dataset '{wanted}' is no field: {problem}");
            let shape = field_shape(&dataset, reach).map_err(refuse)?;
            Ok(vec![Found { name: last_part(wanted), path: wanted.to_owned(), dataset, shape, channel: 0 }])
        }
        Ok(LocationType::Group) => {
            let group = file.group(wanted).map_err(|e| format!("group '{wanted}': {}", super::one_line(&e)))?;
            fields_of(&group, wanted, reach)
        }
        _ if wanted.contains(',') => several(file, wanted, reach),
        _ => {
            let there = candidates(file, "", reach)?.found;
            let names: Vec<_> = there.iter().map(|field| field.path.as_str()).collect();
            let led = led_nowhere(file, wanted).map_or_else(|| instead(wanted, &names), |led| format!(": {led}"));
            Err(format!("there is no dataset '{wanted}' in it{led}").into())
        }
    }
}

fn several(file: &File, wanted: &str, reach: &Reach) -> Result<Vec<Found>, Refusal> {
    let mut found = Vec::new();
    for one in wanted.split(',').map(|one| one.trim_matches('/')) {
        if one.is_empty() {
            return Err(format!("'{wanted}' names nothing beside a comma").into());
        }
        found.extend(datasets(file, Some(one), reach).map_err(Refusal::of_named)?);
    }
    of_one_shape(found).map_err(Refusal::of_named)
}

/// The shape of a dataset that is a field, or why it is none.
fn field_shape(dataset: &Dataset, reach: &Reach) -> Result<Shape, String> {
    check_numeric(dataset)?;
    reach.check(dataset)?;
    Shape::of(dataset)
}

fn fields_of(group: &Group, path: &str, reach: &Reach) -> Result<Vec<Found>, Refusal> {
    let Search { found, refused, .. } = candidates(group, path, reach)?;
    if found.is_empty() {
        return Err(format!("{}: name another file or group", refused.told("dataset of numbers")).into());
    }
    of_one_shape(found)
}

/// Datasets that can be shown together, each by the last part of its path if that tells them apart.
fn of_one_shape(mut found: Vec<Found>) -> Result<Vec<Found>, Refusal> {
    let candidate = |field: &Found| {
        let Shape { size, steps, .. } = field.shape;
        Candidate::of(size, field.shape.has_steps().then_some(steps), field.path.clone())
    };
    Choice::unless_alike(":/", found.iter().map(candidate).collect())?;
    let names: Vec<String> = found.iter().map(|field| last_part(&field.path)).collect();
    let unique = (1..names.len()).all(|i| !names[..i].contains(&names[i]));
    for (field, name) in found.iter_mut().zip(names) {
        field.name = if unique { name } else { field.path.clone() };
    }
    Ok(found)
}

fn candidates<'a>(group: &Group, path: &str, reach: &'a Reach) -> Result<Search<'a>, String> {
    let mut search = Search { reach, looked_at: 0, seen: Vec::new(), found: Vec::new(), refused: Refused::default() };
    search.seen.extend(group.loc_info().ok().map(|info| identity(&info)));
    search.group(group, path, 0)?;
    Ok(search)
}

struct Search<'a> {
    reach: &'a Reach,
    looked_at: usize,
    /// Groups and fields: each is one, however many links lead to it.
    seen: Vec<(u64, LocationToken)>,
    found: Vec<Found>,
    refused: Refused,
}

impl Search<'_> {
    fn group(&mut self, group: &Group, path: &str, depth: usize) -> Result<(), String> {
        for (name, link) in links(group).map_err(|problem| format!("group '/{path}': {problem}"))? {
            if self.reach.is_file_alone() && link.link_type != LinkType::Hard {
                continue;
            }
            self.looked_at += 1;
            if self.looked_at > MAX_OBJECTS || depth > MAX_DEPTH {
                return Err("it holds too many objects to choose from: add ':/' and a dataset's name".to_owned());
            }
            let path = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
            // Links that lead nowhere are passed over.
            match group.loc_type_by_name(&name) {
                Ok(LocationType::Group) => {
                    if let Ok(inner) = group.group(&name)
                        && self.is_new(&inner)
                    {
                        self.group(&inner, &path, depth + 1)?;
                    }
                }
                Ok(LocationType::Dataset) => {
                    if let Ok(dataset) = group.dataset(&name) {
                        self.dataset(dataset, path);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether no link has led to an object before. It is to be open: the number of a file that is opened again is another one.
    fn is_new(&mut self, object: &Location) -> bool {
        let Ok(info) = object.loc_info() else { return true };
        let is_new = !self.seen.contains(&identity(&info));
        if is_new {
            self.seen.push(identity(&info));
        }
        is_new
    }

    fn dataset(&mut self, dataset: Dataset, path: String) {
        if attributes::is_scale(&dataset) {
            return;
        }
        match field_shape(&dataset, self.reach) {
            Ok(shape) if self.is_new(&dataset) => {
                self.found.push(Found { name: String::new(), path, dataset, shape, channel: 0 });
            }
            Ok(_) => {}
            Err(problem) => self.refused.add(&path, &problem),
        }
    }
}

/// Which object of which file it is.
pub(super) const fn identity(info: &LocationInfo) -> (u64, LocationToken) {
    (info.fileno, info.token)
}

pub(super) fn links(group: &Group) -> Result<Vec<(String, LinkInfo)>, String> {
    group.links(IndexType::Name, IterationOrder::Increasing).map_err(|e| super::one_line(&e))
}

/// Refuses a path with a link in it that could lead to another file.
pub(super) fn check_way(file: &File, path: &str) -> Result<(), String> {
    let mut group: Group = (**file).clone();
    let mut parts = path.split('/').filter(|part| !part.is_empty() && *part != ".").peekable();
    while let Some(part) = parts.next() {
        match links(&group)?.into_iter().find(|(name, _)| name == part) {
            Some((_, link)) if link.link_type != LinkType::Hard => {
                return Err(format!("'{part}' in it is a link, and links are not followed here"));
            }
            // Whoever opens it tells that it is not there.
            None => return Ok(()),
            Some(_) if parts.peek().is_none() => return Ok(()),
            Some(_) => group = group.group(part).map_err(|e| format!("'{part}': {}", super::one_line(&e)))?,
        }
    }
    Ok(())
}

/// Whether the values of a dataset are in the file that it is in itself.
pub(super) fn is_in_file(dataset: &Dataset) -> bool {
    dataset.create_plist().is_ok_and(|created| {
        let is_own = matches!(
            created.get_layout(),
            Ok(StoredLayout::Compact | StoredLayout::Contiguous | StoredLayout::Chunked)
        );
        is_own && created.get_external().is_ok_and(|external| external.is_empty())
    })
}

pub(super) fn check_numeric(dataset: &Dataset) -> Result<(), String> {
    let kind = dataset.dtype().and_then(|dtype| dtype.to_descriptor());
    match kind {
        Ok(TypeDescriptor::Integer(_) | TypeDescriptor::Unsigned(_)) => Ok(()),
        Ok(TypeDescriptor::Float(_) | TypeDescriptor::Boolean) => Ok(()),
        Ok(TypeDescriptor::Compound(compound)) => {
            let mut members = compound.fields.iter().map(|member| member.name.as_str());
            let is_complex = matches!((members.next(), members.next(), members.next()), (Some("r"), Some("i"), None));
            let what = if is_complex { "complex numbers" } else { "compounds" };
            Err(format!("its values are {what}: save one part"))
        }
        Ok(other) => Err(format!("its values are {other}, not numbers")),
        Err(e) => Err(format!("its type is not understood: {}", super::one_line(&e))),
    }
}

fn last_part(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

/// Whether a name in a group is a hard link: what others lead to may be in another file.
pub(super) fn is_hard(group: &Group, name: &str) -> bool {
    group.link_exists(name) && target_of(group, name, LinkType::Soft).is_none()
}

/// Where a link of a group leads, as it was written; hard links lead to no name.
#[expect(unsafe_code, reason = "no safe wrapper of this call")]
fn target_of(group: &Group, name: &str, kind: LinkType) -> Option<String> {
    let called = std::ffi::CString::new(name).ok()?;
    let mut value = vec![0_u8; MAX_TARGET];
    // SAFETY: the group is open, the name ends in a zero, and no more is written than there is room for.
    let told =
        sync(|| unsafe { H5Lget_val(group.id(), called.as_ptr(), value.as_mut_ptr().cast(), MAX_TARGET, H5P_DEFAULT) });
    if told < 0 {
        return None;
    }
    // That of an external link has a byte of flags in front (HDF5 File Format Specification, IV.A.2.g).
    let value = if kind == LinkType::External { &value[1..] } else { &value[..] };
    let mut parts = value.split(|byte| *byte == 0).map(|part| String::from_utf8_lossy(part).into_owned());
    let first = parts.next()?;
    if kind == LinkType::External { Some(format!("{} in {first}", parts.next()?)) } else { Some(first) }
}

/// Where the first link on a path leads that leads to nothing.
fn led_nowhere(file: &File, path: &str) -> Option<String> {
    let mut group: Group = (**file).clone();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        let (_, link) = links(&group).ok()?.into_iter().find(|(name, _)| name == part)?;
        if group.loc_type_by_name(part).is_err() {
            let target = target_of(&group, part, link.link_type).unwrap_or_default();
            return match link.link_type {
                LinkType::Soft => Some(format!("'{part}' is a link to {target}, where nothing is: name what is meant")),
                LinkType::External => Some(format!(
                    "'{part}' is a link to {target}, which is not there or cannot be opened: put that file where the link leads"
                )),
                LinkType::Hard => None,
            };
        }
        group = group.group(part).ok()?;
    }
    None
}
