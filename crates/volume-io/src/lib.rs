//! Sources of fields: one file per format, one [`open`].
//!
//! A source knows its grid, fields and steps once it is open; values are read by box, as `f32`, missing values as NaN.
//! Invariant: nothing a header claims is allocated before it is held against the file's real size.

mod amr;
mod axes;
mod bytes;
mod choice;
mod coordinates;
mod decoded;
mod demo;
mod even;
mod flat;
mod gunzip;
mod hdf5;
mod level;
mod logarithm;
mod magnitude;
mod memory;
mod near;
mod nifti;
mod npy;
mod options;
mod outside;
mod part;
mod place;
mod raw;
mod refused;
mod reversed;
mod roles;
mod samples;
mod scalar;
mod shape;
mod source;
#[cfg(test)]
mod testing;
mod tiles;
mod vectors;
mod wave;
mod witness;
mod zarr;

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use cap_std::fs::Dir;
use visapult_objects::{ObjectUrl, UrlError};

use crate::options::Asked;
use crate::place::Place;

/// Endings of the names of HDF5 files.
const HDF5: [&str; 7] = [".h5", ".hdf5", ".hdf", ".he5", ".nc", ".nc4", ".vtkhdf"];
/// Those of other files.
const FILES: [&str; 4] = [".npy", ".nii", ".nii.gz", ".json"];
/// Those of archives, of which nothing is read.
const ARCHIVES: [&str; 2] = [".npz", ".zip"];

pub use axes::HOW_TO_SPACE;
pub use choice::{Alike, Choice};
pub use level::{at_level, from_level, levels_of};
pub use logarithm::name_within_logarithm;
pub use memory::{free_bytes, peak_bytes};
pub use near::nearest;
pub use options::{names_level, names_options};
pub use samples::{Samples, box_of, count_of, samples_zyx, zyx};
pub use source::{ReadRequest, Scale, Source, SourceError, SourceInfo, Together};
pub use vectors::{Vector, vectors_of};
pub use visapult_volume::{Along, Coordinates};
pub use zarr::{ZarrArray, zarr_group};

/// What is to be said of a [`shell_path`].
pub const FOR_THE_SHELL: &str =
    "`~` is for the shell, which reads it where no quotes are around it; a folder of that name is ./~";

/// Whether a path begins with the `~` of shells, which is a name like any other to programs, and there is nothing of that name.
pub fn shell_path(path: &Path) -> bool {
    let home = Path::new("~");
    path.starts_with(home) && home.symlink_metadata().is_err()
}

/// Opens the source that `url` names: a path, a path into a container (`file.h5:/path`), something in an object store, or `demo:...`. At the end of it
/// `?box=Z,Y,X` takes a [box of samples](samples_zyx) alone, `?spacing=even` has samples equally far apart that are not, and `?level=N` takes
/// [one level alone](at_level): of several, with `&` between, each is of what those before it have left.
///
/// # Errors
/// [`SourceError`] says what could not be opened, where in it, and what to do.
pub fn open(url: &str) -> Result<Box<dyn Source>, SourceError> {
    if url.starts_with("demo:") {
        return Ok(Box::new(demo::Demo::open(url)?));
    }
    let url = url.strip_prefix("file://").unwrap_or(url);
    let (file, asked) = options::split(url)?;
    as_asked(open_path(file)?, asked)
}

/// A source, and what its fields were chosen from, if they were.
pub type Chosen = (Box<dyn Source>, Option<Box<Choice>>);

/// The same; of fields of several shapes [most](Choice::most) are opened, where they can be, with what was chosen from.
///
/// # Errors
/// [`SourceError`] says what could not be opened, where in it, and what to do.
pub fn open_most(url: &str) -> Result<Chosen, SourceError> {
    if url.starts_with("demo:") {
        return Ok((open(url)?, None));
    }
    let (file, asked) = options::split(url.strip_prefix("file://").unwrap_or(url))?;
    let (source, choice) = match open_path(file) {
        Err(SourceError::Choice(choice)) => match open_together(file, &choice) {
            Some(Ok(source)) => (source, Some(choice)),
            _ => return Err(SourceError::Choice(choice)),
        },
        opened => (opened?, None),
    };
    Ok((as_asked(source, asked)?, choice))
}

/// What most of the fields are that `file` gives to choose from.
fn open_together(file: &str, choice: &Choice) -> Option<Result<Box<dyn Source>, SourceError>> {
    let fields = choice.together()?;
    Some(match ObjectUrl::parse(file) {
        Some(Ok(url)) => zarr::Zarr::open_objects(&url, Some(fields)).map(|opened| Box::new(opened) as Box<dyn Source>),
        _ => open_path(&choice.url_of(&fields.join(","))),
    })
}

fn as_asked(source: Box<dyn Source>, asked: Vec<Asked>) -> Result<Box<dyn Source>, SourceError> {
    asked.into_iter().try_fold(source, |source, asked| match asked {
        Asked::Part(samples) => part::part_of(source, samples),
        Asked::Even => even::evenly_spaced(source),
        Asked::Level(level) => at_level(source, level),
    })
}

/// `source` with what is made of its fields behind them: the magnitude of each vector, and then the common logarithm of each field and magnitude.
pub fn with_derived(source: Box<dyn Source>) -> Box<dyn Source> {
    logarithm::with_logarithms(magnitude::with_magnitudes(source))
}

/// Opens what is at `path` below `dir`, the folder itself if that is empty, and nothing that is not below it; people know it as `shown`. `inside`
/// is a path into the container.
///
/// # Errors
/// [`SourceError`] says what could not be opened, where in it, and what to do.
pub fn open_within(dir: Dir, path: &Path, shown: &Path, inside: Option<&str>) -> Result<Box<dyn Source>, SourceError> {
    open_place(&Place::within(Arc::new(dir), path, shown), inside)
}

/// Opens what `url` names in an object store, or what is at the path `inside` in it: a Zarr hierarchy, of which only what is wanted is read.
///
/// # Errors
/// [`SourceError`] says what could not be opened, where in it, and what to do.
pub fn open_objects(url: &ObjectUrl, inside: Option<&str>) -> Result<Box<dyn Source>, SourceError> {
    let shown = url.to_string().to_ascii_lowercase();
    let is_file = |name: &str| HDF5.iter().chain(&FILES).chain(&ARCHIVES).any(|ending| name.ends_with(ending));
    let mut parts = shown.split('/');
    if parts.next_back().is_some_and(is_file) || parts.filter_map(|part| part.strip_suffix(':')).any(is_file) {
        let problem = "of object stores Zarr alone is read where it lies: copy this file first (visapult copy URL .)";
        return Err(SourceError::format(url, problem));
    }
    let opened = match inside {
        Some(inside) => zarr::Zarr::open_objects(&url.below(inside), None),
        None => zarr::Zarr::open_objects(url, None),
    };
    Ok(Box::new(opened?))
}

fn open_path(url: &str) -> Result<Box<dyn Source>, SourceError> {
    if let Some(parsed) = ObjectUrl::parse(url) {
        // What is wrong with it may be a password in it.
        let scheme = url.split("//").next().unwrap_or_default();
        let wrong = |e: UrlError| SourceError::Option { url: format!("{scheme}//..."), problem: e.to_string() };
        return open_objects(&parsed.map_err(wrong)?, None);
    }
    let (path, inside) = split_inside(url);
    if shell_path(path) {
        return Err(SourceError::Option { url: url.to_owned(), problem: FOR_THE_SHELL.to_owned() });
    }
    open_place(&Place::anywhere(path), inside)
}

fn open_place(place: &Place, inside: Option<&str>) -> Result<Box<dyn Source>, SourceError> {
    let path = place.shown();
    let url = || match inside {
        Some(inside) => format!("{}:/{inside}", path.display()),
        None => path.display().to_string(),
    };
    let name = shape::file_name(path).to_ascii_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    let is_named = ends(&HDF5) || ends(&FILES) || ends(&ARCHIVES);
    if ends(&HDF5) && hdf5::is_pattern(place) {
        return hdf5::open_pattern(place, inside);
    }
    if (ends(&HDF5) || (ends(&FILES) && inside.is_none())) && is_missing(place) {
        return Err(not_there(place));
    }
    if ends(&HDF5) || (!is_named && hdf5::is_hdf5(place)) {
        hdf5::open(place, inside)
    } else if inside.is_some() {
        Err(unread(&url(), place, inside))
    } else if ends(&[".npy"]) {
        Ok(Box::new(npy::open(place)?))
    } else if ends(&[".nii", ".nii.gz"]) {
        nifti::open(place)
    } else if ends(&[".json"]) {
        Ok(Box::new(raw::open(place)?))
    } else if place.is_dir()
        || path.iter().any(|part| part.to_string_lossy().ends_with(".zarr"))
        || zarr::names_several(place)
    {
        Ok(Box::new(zarr::Zarr::open(place)?))
    } else {
        Err(unread(&url(), place, inside))
    }
}

/// Why no reader is asked for `url`, which names `place` and what is `inside`.
fn unread(url: &str, place: &Place, inside: Option<&str>) -> SourceError {
    if seems_flow(url) {
        return SourceError::NoFlow;
    }
    let path = place.shown();
    if let Some(meant) = meant(&path.display().to_string(), inside) {
        return SourceError::Misspelt { url: url.to_owned(), meant };
    }
    if let Some(how) = how_to_unpack(&shape::file_name(path)) {
        return SourceError::format(url, how);
    }
    if is_missing(place) { not_there(place) } else { SourceError::unsupported(url) }
}

fn is_missing(place: &Place) -> bool {
    let is_named = !place.shown().as_os_str().is_empty();
    is_named && place.metadata().is_err_and(|cause| cause.kind() == ErrorKind::NotFound)
}

/// That there is nothing at `place`, and what is nearly called so beside it.
fn not_there(place: &Place) -> SourceError {
    let name = shape::file_name(place.shown());
    let beside = place.beside("").names().unwrap_or_default();
    let meant = near::nearest(&name, beside.iter().map(String::as_str)).map(|name| place.beside(name));
    let hint = meant.map_or_else(String::new, |meant| format!("; did you mean {}?", meant.display()));
    let cause = std::io::Error::new(ErrorKind::NotFound, format!("No such file or directory{hint}"));
    SourceError::io(place.display(), cause)
}

/// What to do with an archive of such a `name`.
fn how_to_unpack(name: &str) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    if lower.ends_with(".npz") {
        return Some(format!(
            "it is an archive of arrays: unpack it (unzip {name}), and name one of the .npy files that were in it"
        ));
    }
    let folder = lower.ends_with(".zarr.zip").then(|| &name[..name.len() - ".zip".len()])?;
    Some(format!("it is packed: unpack it (unzip {name} -d {folder}), and name the folder"))
}

/// Whether this is a URL of a flow that was mistyped: a scheme that is nearly `ripp`, or any with a token as such URLs have one.
fn seems_flow(url: &str) -> bool {
    let Some((scheme, rest)) = url.trim_start().split_once(":/") else { return false };
    let scheme = scheme.to_ascii_lowercase();
    let is_word = !scheme.is_empty() && scheme.bytes().all(|sign| sign.is_ascii_alphabetic());
    let is_nearly =
        scheme.starts_with('r') && scheme.ends_with('p') && scheme.bytes().all(|sign| b"rip".contains(&sign));
    is_word && (is_nearly || rest.contains('@'))
}

/// How a path into an HDF5 file or a Zarr folder is written that was written otherwise.
fn meant(path: &str, inside: Option<&str>) -> Option<String> {
    let ends = |file: &str, endings: &[&str]| endings.iter().any(|ending| file.to_ascii_lowercase().ends_with(ending));
    if let Some(inside) = inside {
        return ends(path, &[".zarr"]).then(|| format!("{path}/{inside}"));
    }
    path.rmatch_indices([':', '/']).find_map(|(at, mark)| {
        let (file, inside) = (&path[..at], path[at + 1..].trim_start_matches('/'));
        match mark {
            _ if inside.is_empty() => None,
            _ if ends(file, &HDF5) => Some(format!("{file}:/{inside}")),
            ":" if ends(file, &[".zarr"]) => Some(format!("{file}/{inside}")),
            _ => None,
        }
    })
}

/// A path and, after `:/`, a path inside the file.
fn split_inside(url: &str) -> (&Path, Option<&str>) {
    let whole = Path::new(url);
    match url.rsplit_once(":/") {
        Some((file, inside)) if !whole.exists() => (Path::new(file), Some(inside)),
        _ => (whole, None),
    }
}
