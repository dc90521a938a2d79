//! Sources and destinations that come into each other's way are refused before anything is touched.

use std::path::{Path, PathBuf};

use crate::copying::CopyOptions;
use crate::endpoint::Endpoint;
use crate::error::CopyError;
use crate::landing::PART_NEEDS_NAME;
use crate::names::shown;
use crate::wish::Delete;

/// Refuses what would never end, or cost what is copied.
pub(crate) fn check_apart(options: &CopyOptions) -> Result<(), CopyError> {
    let CopyOptions { sources, destination, .. } = options;
    let is_deleted = options.wish.delete != Delete::Nothing;
    tell_apart(sources, is_deleted)?;
    let beside: Vec<Beside> = sources.iter().filter_map(|source| Beside::of(source, destination)).collect();
    for Beside { source, to, is_known_file, .. } in &beside {
        if !is_known_file && to.starts_with(source) {
            return Err(misfit(format!("{} cannot be copied into itself, {}", named(source), named(to))));
        }
        // A part of a file must not take the place of the whole.
        if options.span.is_some() && to == source {
            return Err(misfit(format!("{}: {PART_NEEDS_NAME}", named(to))));
        }
    }
    if is_deleted {
        let targets: Vec<PathBuf> = beside.iter().map(|beside| beside.target(options.part.is_some())).collect();
        beside.iter().try_for_each(|beside| check_kept(&beside.source, &targets))?;
    }
    Ok(())
}

fn misfit(why: String) -> CopyError {
    CopyError::Misfit(why)
}

/// As people call a place; all of a share has no name.
fn named(path: &Path) -> String {
    if path.as_os_str().is_empty() { "all of the share".to_owned() } else { shown(path) }
}

/// Refuses sources that become one thing at the destination: one would be written over the other; and where is deleted, what one of them has and
/// another not would be.
fn tell_apart(sources: &[Endpoint], is_deleted: bool) -> Result<(), CopyError> {
    let names: Vec<_> = sources.iter().map(Endpoint::last_name).collect();
    let twice = names.iter().enumerate().find_map(|(at, name)| names[..at].contains(name).then_some(name.as_ref()?));
    let what = match twice {
        _ if is_deleted && names.len() > 1 && names.contains(&None) => {
            "what is in one source would be deleted for not being in another: with delete,".to_owned()
        }
        Some(name) if is_deleted => format!("two sources are called {}: with delete,", shown(Path::new(name))),
        Some(name) => {
            format!("two sources are called {}, and one would take the place of the other:", shown(Path::new(name)))
        }
        None => return Ok(()),
    };
    Err(misfit(format!("{what} copy each to a place of its own")))
}

/// Refuses to delete `source` for not being in what another source becomes, or it itself.
fn check_kept(source: &Path, targets: &[PathBuf]) -> Result<(), CopyError> {
    let target = targets.iter().find(|target| source != *target && source.starts_with(target));
    target.map_or(Ok(()), |target| {
        let (source, target) = (named(source), named(target));
        Err(misfit(format!(
            "{source} lies in {target}, where delete would remove it: copy to another place, or without delete"
        )))
    })
}

/// A source and a destination of which it is known how they lie to each other.
struct Beside {
    source: PathBuf,
    to: PathBuf,
    /// What the source becomes in the destination; nothing of its own where what is in it is meant.
    name: Option<PathBuf>,
    is_known_file: bool,
}

impl Beside {
    /// None if they are in different places, such as two machines.
    fn of(source: &Endpoint, destination: &Endpoint) -> Option<Self> {
        let name = source.last_name().map(PathBuf::from);
        match (source, destination) {
            (Endpoint::Here(source), Endpoint::Here(to)) => {
                // What is not there fails for that.
                let (source, to) = (std::fs::canonicalize(source).ok()?, real(to)?);
                let is_known_file = !source.is_dir();
                Some(Self { source, to, name, is_known_file })
            }
            (Endpoint::There(source), Endpoint::There(to)) if source.url == to.url => {
                Some(Self { source: source.path.clone(), to: to.path.clone(), name, is_known_file: false })
            }
            _ => None,
        }
    }

    /// Where it is deleted what the source does not have.
    fn target(&self, is_part: bool) -> PathBuf {
        match &self.name {
            Some(name) if !is_part => self.to.join(name),
            _ => self.to.clone(),
        }
    }
}

/// Where a path leads to that need not be there.
fn real(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    let there = path.ancestors().find(|above| above.exists())?;
    Some(std::fs::canonicalize(there).ok()?.join(path.strip_prefix(there).ok()?))
}
