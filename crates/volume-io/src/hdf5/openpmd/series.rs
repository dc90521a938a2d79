//! The iterations of openPMD: groups of one file, or of several that are named by a pattern.
//!
//! Layout: openPMD standard 1.1.0, "Hierarchy of the data file", "Iterations and Time Series".
//! Invariant: of several files those alone are open of which something is being read.

use std::path::PathBuf;
use std::sync::Arc;

use hdf5_metno::{File, Group, LinkType};

use super::mesh::{End, Object};
use super::pattern::Pattern;
use crate::SourceError;
use crate::coordinates::cut;
use crate::hdf5::attributes::{number, text};
use crate::hdf5::find::links;
use crate::hdf5::home::Home;
use crate::hdf5::open_file;
use crate::place::Place;
use crate::{outside, shape};

/// Where iterations are if a file does not say so.
const USUAL_BASE: &str = "/data/%T/";
/// Iterations of a source.
const MOST_ITERATIONS: usize = 100_000;

/// One file, or those of a pattern.
pub(super) enum Series {
    One(Arc<Opened>),
    /// In the order of the numbers in their names.
    Files(Vec<Place>),
}

/// An open file.
pub(super) struct Opened {
    pub(super) file: File,
    pub(super) home: Arc<Home>,
}

/// A step.
pub(super) struct Iteration {
    pub(super) number: u64,
    /// Whether a link leads to it that is not followed.
    pub(super) is_linked: bool,
    /// Where its own file has iterations: those of a series may differ in that.
    base: Arc<Base>,
    /// What its group is called among those; nothing where it is the only one itself.
    name: String,
    /// Which file of several it is in.
    file: usize,
}

/// Where a file has its iterations, and in them its meshes.
pub(super) struct Base {
    /// The group that iterations are in.
    group: String,
    /// Their names; `None` where the group is the only one itself.
    names: Option<Pattern>,
    meshes: Option<String>,
}

/// What is there at one time.
pub(super) struct Moment {
    own: Group,
    base: Arc<Base>,
    /// That of the group of meshes.
    pub(super) path: String,
    /// In seconds; NaN where that is not told.
    pub(super) time: f64,
}

impl Opened {
    pub(super) fn at(place: &Place) -> Result<Self, SourceError> {
        let (file, home) = open_file(place)?;
        Ok(Self { file, home })
    }
}

impl Series {
    /// The files that `place` names by a pattern.
    pub(super) fn of_pattern(place: &Place) -> Result<Self, SourceError> {
        let name = shape::file_name(place.shown());
        let wrong = |problem: &str| SourceError::format(place.display(), problem);
        let pattern = Pattern::of(&name).ok_or_else(|| wrong("it names no file: put %T where the numbers are"))?;
        let beside = place.beside("").names().map_err(|cause| SourceError::io(place.display(), cause))?;
        let mut found: Vec<_> = beside.iter().filter_map(|name| Some((pattern.number(name)?, name))).collect();
        if found.is_empty() {
            return Err(wrong(
                "no file has such a name with a number for %T (%06T: of six digits, with zeros in front)",
            ));
        }
        if found.len() > MOST_ITERATIONS {
            return Err(wrong(&format!(
                "there are {} files of such names, of which no more than {MOST_ITERATIONS} are read: name one",
                found.len()
            )));
        }
        found.sort();
        Ok(Self::Files(found.into_iter().map(|(_, name)| place.beside(name)).collect()))
    }

    /// How many files there are.
    pub(super) const fn files(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Files(places) => places.len(),
        }
    }

    /// One of them.
    pub(super) fn open(&self, file: usize) -> Result<Arc<Opened>, SourceError> {
        match self {
            Self::One(opened) => Ok(Arc::clone(opened)),
            Self::Files(places) => Opened::at(&places[file]).map(Arc::new),
        }
    }

    /// Files that lie neither beside `place` nor below its folder, although their names do.
    pub(super) fn outside(&self, place: &Place) -> Vec<PathBuf> {
        let Self::Files(places) = self else { return Vec::new() };
        let real: Vec<_> = places.iter().filter_map(|file| file.shown().canonicalize().ok()).collect();
        outside::of(place.shown(), &real)
    }

    /// What names all of a series of which `place` is one file.
    pub(super) fn hint(&self, place: &Place) -> Option<String> {
        let Self::One(opened) = self else { return None };
        let format = text(&opened.file, "iterationFormat")
            .filter(|_| text(&opened.file, "iterationEncoding").is_some_and(|encoding| encoding == "fileBased"))?;
        let name = shape::file_name(place.shown());
        let ending = name.rsplit_once('.').map(|(_, ending)| format!(".{ending}")).unwrap_or_default();
        let named = if format.ends_with(&ending) { format } else { format + &ending };
        Pattern::of(&named).filter(|pattern| pattern.number(&name).is_some())?;
        Some(format!("one file of a series: '{}' names all", cut(&named)))
    }

    /// Where a path ends in a file that is the only one.
    pub(super) fn end_of(&self, path: &str) -> End {
        match self {
            Self::One(opened) => Object::end_of(&opened.file, path),
            Self::Files(_) => End::Nowhere,
        }
    }

    /// What one of them is called, for a message.
    pub(super) fn shown(&self, file: usize) -> String {
        match self {
            Self::One(opened) => opened.home.place.display(),
            Self::Files(places) => places[file].display(),
        }
    }

    /// The file that an iteration is in.
    pub(super) fn open_at(&self, iteration: &Iteration) -> Result<Arc<Opened>, SourceError> {
        self.open(iteration.file)
    }
}

impl Base {
    pub(super) fn of(file: &File) -> Self {
        let base = text(file, "basePath").unwrap_or_else(|| USUAL_BASE.to_owned());
        let base = base.trim_matches('/');
        let (group, last) = base.rsplit_once('/').unwrap_or(("", base));
        let is_one = text(file, "iterationEncoding").is_some_and(|encoding| encoding == "variableBased");
        let pattern = Pattern::of(last);
        let group = if pattern.is_some() { group } else { base };
        let names = pattern.filter(|_| !is_one);
        let meshes = text(file, "meshesPath").map(|path| path.trim_matches('/').to_owned());
        Self { group: group.to_owned(), names, meshes }
    }

    /// The group that the iterations of a file are in.
    pub(super) fn group(&self, file: &File) -> Result<Group, String> {
        let missing = || format!("it has no group '/{}', where iterations are: write it again", self.group);
        Object::group_at(file, &self.group).ok_or_else(missing)
    }

    /// Whether all iterations of a file are behind links that are not followed.
    pub(super) fn is_behind_links(&self, file: &File) -> bool {
        let Ok(all) = self.group(file) else { return matches!(Object::end_of(file, &self.group), End::Else) };
        let Some(names) = &self.names else { return false };
        let links = links(&all).unwrap_or_default().into_iter();
        let mut there =
            links.filter(|(name, _)| names.number(name).is_some()).map(|(_, link)| link.link_type).peekable();
        there.peek().is_some() && there.all(|kind| kind != LinkType::Hard)
    }

    /// The iterations in a group of them, the first one first.
    pub(super) fn iterations(self: &Arc<Self>, all: &Group, file: usize) -> Result<Vec<Iteration>, String> {
        let iteration = |number, name, is_linked| Iteration { number, is_linked, base: Arc::clone(self), name, file };
        let Some(names) = &self.names else {
            let number = number(all, "snapshot").unwrap_or_default() as u64;
            return Ok(vec![iteration(number, String::new(), false)]);
        };
        let mut found: Vec<_> = links(all)?
            .into_iter()
            .filter_map(|(name, link)| Some((names.number(&name)?, name, link.link_type != LinkType::Hard)))
            .collect();
        if found.len() > MOST_ITERATIONS {
            let count = found.len();
            return Err(format!(
                "it has {count} iterations, of which no more than {MOST_ITERATIONS} are read: add ':/{}' and the number of one",
                self.group
            ));
        }
        found.sort();
        Ok(found.into_iter().map(|(number, name, is_linked)| iteration(number, name, is_linked)).collect())
    }

    /// What a path in the file means: an iteration, if it names one, and the meshes of such a name. `None` where it leads elsewhere.
    pub(super) fn wanted(&self, inside: &str) -> Option<(Option<u64>, String)> {
        let inside = inside.trim_matches('/');
        if inside.is_empty() {
            return Some((None, String::new()));
        }
        let below = |path: &str, group: &str| match path.strip_prefix(group)? {
            "" => Some(String::new()),
            rest => rest.strip_prefix('/').map(str::to_owned),
        };
        let in_meshes = |path: &str| self.meshes.as_ref().and_then(|meshes| below(path, meshes));
        if let (Some(rest), Some(names)) = (below(inside, &self.group), &self.names) {
            let (name, rest) = rest.split_once('/').unwrap_or((&rest, ""));
            let meant = if rest.is_empty() { Some(String::new()) } else { in_meshes(rest) };
            return Some((Some(names.number(name)?), meant?));
        }
        Some((None, in_meshes(inside).unwrap_or_else(|| inside.to_owned())))
    }
}

impl Iteration {
    /// What there is in it.
    pub(super) fn moment(&self, file: &File) -> Result<Moment, String> {
        self.moment_in(&self.base.group(file)?)
    }

    /// The same, in the group of all iterations.
    pub(super) fn moment_in(&self, all: &Group) -> Result<Moment, String> {
        let Base { group, meshes, .. } = &*self.base;
        let path = if self.name.is_empty() { group.clone() } else { format!("{group}/{}", self.name) };
        let own = Object::group_at(all, &self.name);
        let own = own.ok_or_else(|| format!("its group '/{path}' cannot be opened: copy it again"))?;
        let seconds = number(&own, "timeUnitSI").unwrap_or(1.0);
        Ok(Moment {
            time: number(&own, "time").map_or(f64::NAN, |time| time * seconds),
            base: Arc::clone(&self.base),
            own,
            path: format!("{path}/{}", meshes.as_deref().unwrap_or_default()),
        })
    }
}

impl Moment {
    /// The group of meshes, where there is one.
    pub(super) fn meshes(&self) -> Option<Group> {
        let path = self.base.meshes.as_ref().filter(|path| !path.is_empty())?;
        Object::group_at(&self.own, path)
    }
}
