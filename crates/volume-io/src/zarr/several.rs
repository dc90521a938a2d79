//! Arrays of one group that are named together, with commas between them: `run.zarr/T,U,V`.
//!
//! Invariant: what is called so itself, commas and all, is what is meant.

use visapult_objects::ObjectUrl;

use super::objects::Objects;
use super::store::{Store, is_node};
use crate::SourceError;
use crate::place::Place;

/// A group, and the names of arrays in it; `None` stands for all.
pub(super) type Named = (Store, Option<Vec<String>>);

/// What `place` names: a node, or several arrays of the one that it is in.
pub(super) fn in_folder(place: &Place) -> Named {
    match listed_in(place) {
        Some((group, names)) => (Store::folder(&group), Some(names)),
        None => (Store::folder(place), None),
    }
}

/// The group, and the arrays of it, that `place` names, if it does.
pub(super) fn listed_in(place: &Place) -> Option<(Place, Vec<String>)> {
    let names = listed(place.shown().file_name()?.to_str()?)?;
    let group = place.above().filter(|group| !place.is_dir() && is_node(group))?;
    Some((group, names))
}

/// What `url` names: a node, or several arrays of the one that it is in.
///
/// # Errors
/// [`SourceError`] says why what it names cannot be had.
pub(super) fn in_store(url: &ObjectUrl) -> Result<Named, SourceError> {
    let opened = Objects::open(url).map(Store::objects);
    let last = url.name().and_then(|name| String::from_utf8(name).ok());
    if let Some(names) = last.as_deref().and_then(listed)
        && !opened.as_ref().is_ok_and(|node| node.is_node().unwrap_or(false))
        && let Some(group) = url.above().and_then(|above| Objects::open(&above).ok()).map(Store::objects)
        && group.is_node().unwrap_or(false)
    {
        return Ok((group, Some(names)));
    }
    Ok((opened?, None))
}

fn listed(last: &str) -> Option<Vec<String>> {
    last.contains(',').then(|| last.split(',').map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_listed_where_nothing_is_called_so_itself() {
        let dir = tempfile::tempdir().unwrap();
        let group = dir.path().join("a,b");
        std::fs::create_dir_all(group.join("T,U")).unwrap();
        std::fs::write(group.join(".zgroup"), "{}").unwrap();
        let names = |inside: &str| listed_in(&Place::anywhere(&group.join(inside))).map(|(_, names)| names);
        assert_eq!(names("T,V").unwrap(), ["T", "V"]);
        assert_eq!(names("T,").unwrap(), ["T", ""]);
        for inside in ["T,U", "T", "", "g/T,V"] {
            assert_eq!(names(inside), None, "{inside}");
        }
    }
}
