//! Parts of fields, made where the source lies and sent as a Zarr group that any tool opens.
//!
//! The group is a tree of files that are nowhere: each is made when it is listed, and again when it is wanted and no longer kept. The same source
//! and part give the same bytes, so that what is there already is known by size and time as that of any file is. Half of a file's time, the
//! nanoseconds, tells its content.
//! Invariant: the reader opens nothing outside the folder or store that holds the source, and holds a batch of values at a time, however large the part is.

mod batches;
mod cut;
mod group;
mod kept;
mod part;
mod walk;

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use blake3::Hash;
use cap_std::fs::Dir;
use futures_util::future;
use rayon::prelude::*;
use visapult_objects::{At, Connection, ObjectUrl, location};
use visapult_volume_io::Source;

use self::cut::Cut;
pub(crate) use self::group::DOCUMENT;
use self::group::{FieldArray, Group};
use self::kept::{Chunks, Kept};
pub use self::part::{FieldPart, Rounding, Steps};
pub(crate) use self::walk::FieldWalk;
use crate::error::{CopyError, reason};
use crate::listing::Mtime;
use crate::lock::lock;
use crate::source::CHANGED;
use crate::walk::mtime;

/// Of several sources it could not be told whose file is whose.
pub(crate) const ONE_SOURCE: &str = "a part of fields is made of one source: copy one after the other";
/// A folder that is no such group is nobody's place for its files.
pub(crate) const NEEDS_GROUP: &str = "a part of fields becomes a Zarr group: write the destination as NAME.zarr";
/// Names of fields in one request.
const MOST_FIELDS: usize = 64;
const MOST_FIELD_NAME: usize = 1024;

/// Of a Zarr hierarchy: they are written anew where it changes.
pub(crate) const DOCUMENTS: [&str; 4] = ["zarr.json", ".zarray", ".zgroup", ".zattrs"];

/// One batch is computed at a time, whoever wants it: all cores work on it.
pub(crate) type Turn = Arc<Mutex<()>>;

/// What a part of a source is as files.
pub(crate) struct FieldTree {
    source: Box<dyn Source>,
    cut: Cut,
    group: Group,
    part: FieldPart,
    origin: Origin,
    kept: Kept,
    turn: Turn,
}

impl std::fmt::Debug for FieldTree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FieldTree").field("part", &self.part).finish_non_exhaustive()
    }
}

/// Where a source lies.
#[derive(Debug)]
pub(crate) enum Place {
    /// The file or the Zarr array at a path in a folder, or the folder itself.
    Folder(Dir, Option<PathBuf>),
    /// In an object store.
    Objects(Box<Connection>),
}

/// Where the source lies, and when it was changed last.
struct Origin {
    place: Place,
    changed: Mtime,
}

/// A file of the tree.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) mtime: Mtime,
}

impl FieldTree {
    /// A part of the source at `place`; its user calls it `shown`.
    ///
    /// # Errors
    /// What cannot be had of it, and what can.
    pub(crate) fn open(place: Place, shown: &str, part: &FieldPart, turn: Turn) -> Result<Self, CopyError> {
        let wrong = |why: String| CopyError::Here(told_of(shown, &why));
        check(part).map_err(wrong)?;
        let (mut source, wanted) = open_source(&place, shown, part).map_err(wrong)?;
        if part.level > 0 {
            let level = usize::try_from(part.level).unwrap_or(usize::MAX);
            source = visapult_volume_io::at_level(source, level).map_err(|cause| wrong(cause.to_string()))?;
        }
        let cut = Cut::of(source.as_ref(), part).map_err(wrong)?;
        let group = Group::new(source.as_ref(), &wanted, &cut, part).map_err(wrong)?;
        let origin = Origin::new(place).map_err(|cause| wrong(reason(&cause)))?;
        Ok(Self { source, cut, group, part: part.clone(), origin, kept: Kept::default(), turn })
    }

    /// The file at `path`; none if there is none.
    pub(crate) fn file(&self, path: &Path) -> io::Result<Made> {
        if let Some(document) = self.group.documents.get(path) {
            return Ok(self.made(Arc::clone(document)));
        }
        let none = || io::Error::from(io::ErrorKind::NotFound);
        let (array, chunk) = self.group.chunk_at(path).ok_or_else(none)?;
        let batch = array.batches.of(chunk);
        let first = array.batches.chunks(batch).start;
        let chunks = self.batch(array, batch).map_err(io::Error::other)?;
        chunks.get((chunk - first) as usize).map(|bytes| self.made(Arc::clone(bytes))).ok_or_else(none)
    }

    fn made(&self, bytes: Arc<[u8]>) -> Made {
        let hash: Hash = blake3::hash(&bytes);
        let start: [u8; 4] = std::array::from_fn(|at| hash.as_bytes()[at]);
        Made { bytes, mtime: Mtime { s: self.origin.changed.s, ns: u32::from_le_bytes(start) % 1_000_000_000 } }
    }

    /// The chunks of a batch, from those that are kept or from the source.
    fn batch(&self, array: &FieldArray, batch: u64) -> Result<Chunks, String> {
        if let Some(chunks) = self.kept.find((array.number, batch)) {
            return Ok(chunks);
        }
        let _turn = lock(&self.turn);
        // Who waited for their turn may find that it was made meanwhile.
        if let Some(chunks) = self.kept.find((array.number, batch)) {
            return Ok(chunks);
        }
        let chunks = self.compute(array, batch)?;
        self.kept.keep((array.number, batch), &chunks);
        Ok(chunks)
    }

    fn compute(&self, array: &FieldArray, batch: u64) -> Result<Chunks, String> {
        let (step, bounds) = array.batches.bounds(batch);
        let mut values = vec![0.0; bounds.volume()];
        self.cut
            .read(self.source.as_ref(), array.field, step, &bounds, &mut values)
            .map_err(|cause| cause.to_string())?;
        self.part.rounding.round(&mut values);
        let chunks: Vec<u64> = array.batches.chunks(batch).collect();
        if self.origin.changed_now().map_err(|cause| reason(&cause))? != self.origin.changed {
            return Err(CHANGED.to_owned());
        }
        let encoded = chunks.par_iter().map(|&chunk| {
            let piece = array.batches.piece(chunk, &bounds, &values, array.fill());
            array.zarr.encode(&piece).map(Arc::from).map_err(|cause| cause.to_string())
        });
        encoded.collect()
    }

    /// What its arrays and coordinates are called.
    pub(crate) fn names(&self) -> Vec<String> {
        self.group.names()
    }

    /// In a line, for whoever asked for it.
    pub(crate) fn summary(&self) -> String {
        self.group.summary(&self.cut, self.source.as_ref())
    }
}

/// Names and numbers that no source could have are not looked for.
fn check(part: &FieldPart) -> Result<(), String> {
    if part.fields.len() > MOST_FIELDS || part.fields.iter().any(|field| field.len() > MOST_FIELD_NAME) {
        return Err(format!("more than {MOST_FIELDS} fields, or too long a name, are asked for"));
    }
    part.rounding.check()
}

/// The source, and which of its fields are meant.
fn open_source(place: &Place, shown: &str, part: &FieldPart) -> Result<(Box<dyn Source>, Vec<usize>), String> {
    let open = |inside: Option<&str>| match place {
        Place::Folder(dir, path) => open_in_folder(dir, path.as_deref(), shown, inside),
        Place::Objects(connection) => open_in_store(connection.url(), inside),
    };
    let whole = open(None);
    if part.fields.is_empty() {
        return whole.map(all_of);
    }
    let found = |source: &dyn Source| {
        let names: Vec<_> = source.info().fields.iter().map(|field| field.name.clone()).collect();
        let find = |wanted: &String| names.iter().position(|name| name == wanted || name == wanted.trim_matches('/'));
        part.fields.iter().map(find).collect::<Option<Vec<_>>>()
    };
    if let Ok(source) = &whole
        && let Some(fields) = found(source.as_ref())
    {
        return whole.map(|source| (source, fields));
    }
    let named: Vec<_> = part.fields.iter().map(|field| field.trim_matches('/')).collect();
    match open(Some(&named.join(","))) {
        Ok(source) => Ok(all_of(source)),
        Err(inside) => Err(whole.map_or(inside, |source| no_field(source.as_ref(), part))),
    }
}

fn open_in_folder(
    dir: &Dir,
    path: Option<&Path>,
    shown: &str,
    inside: Option<&str>,
) -> Result<Box<dyn Source>, String> {
    let shown = Path::new(OsStr::from_bytes(shown.as_bytes()));
    let dir = dir.try_clone().map_err(|cause| reason(&cause))?;
    let opened = match (inside, path) {
        // An array of a Zarr group is a folder of its own.
        (Some(inside), path) if path.is_none_or(|path| dir.is_dir(path)) => {
            let path = path.unwrap_or(Path::new("")).join(inner(inside)?);
            visapult_volume_io::open_within(dir, &path, &shown.join(inside), None)
        }
        (inside, path) => visapult_volume_io::open_within(dir, path.unwrap_or(Path::new("")), shown, inside),
    };
    opened.map_err(|cause| cause.to_string())
}

fn open_in_store(url: &ObjectUrl, inside: Option<&str>) -> Result<Box<dyn Source>, String> {
    let inside = inside.map(inner).transpose()?.map(|inside| inside.to_string_lossy().into_owned());
    visapult_volume_io::open_objects(url, inside.as_deref()).map_err(|cause| cause.to_string())
}

fn all_of(source: Box<dyn Source>) -> (Box<dyn Source>, Vec<usize>) {
    let all = (0..source.info().fields.len()).collect();
    (source, all)
}

fn no_field(source: &dyn Source, part: &FieldPart) -> String {
    let names: Vec<_> = source.info().fields.iter().take(8).map(|field| field.name.as_str()).collect();
    format!("not all of the fields {} are in it; there are {}", part.fields.join(", "), names.join(", "))
}

/// A path in a container that is a folder.
fn inner(inside: &str) -> Result<PathBuf, String> {
    crate::names::inner_path(inside.as_bytes()).ok_or_else(|| "the field's path leads out of it".to_owned())
}

impl Origin {
    fn new(place: Place) -> io::Result<Self> {
        let mut origin = Self { place, changed: Mtime { s: 0, ns: 0 } };
        origin.changed = origin.changed_now()?;
        Ok(origin)
    }

    /// Of a file; of a folder when its documents were, or what it holds.
    fn changed_now(&self) -> io::Result<Mtime> {
        let (dir, path) = match &self.place {
            Place::Folder(dir, path) => (dir, path),
            Place::Objects(connection) => return changed_in_store(connection),
        };
        let folder = match path {
            Some(path) if !dir.is_dir(path) => return Ok(mtime(&dir.symlink_metadata(path)?)),
            path => path.clone().unwrap_or_default(),
        };
        let found = DOCUMENTS.iter().filter_map(|name| dir.symlink_metadata(folder.join(name)).ok());
        let latest = found.map(|found| mtime(&found)).max_by_key(|time| (time.s, time.ns));
        latest.map_or_else(|| Ok(mtime(&dir.metadata(Path::new(".").join(folder))?)), Ok)
    }
}

/// When the documents were written, as far as the store tells.
fn changed_in_store(connection: &Connection) -> io::Result<Mtime> {
    let prefix = match &connection.url().at {
        At::Bucket { key, .. } if !key.is_empty() => format!("{key}/"),
        _ => String::new(),
    };
    let asked = DOCUMENTS.iter().map(|name| {
        let key = format!("{prefix}{name}");
        async move { connection.head(&location(&key)?).await }
    });
    let mut latest = 0;
    for told in connection.wait(future::join_all(asked)) {
        match told {
            Ok((modified_s, _)) => latest = latest.max(modified_s),
            // Those that nobody may list deny what is not there.
            Err(fault) if fault.is_missing() || fault.is_denied() => {}
            Err(fault) => return Err(io::Error::other(connection.why(&fault))),
        }
    }
    Ok(Mtime { s: latest, ns: 0 })
}

/// What is wrong with something, in one line that names it once.
fn told_of(shown: &str, why: &str) -> String {
    let why = visapult_objects::printable(why.as_bytes());
    if !shown.is_empty() && why.contains(shown) { why } else { format!("{shown}: {why}") }
}

#[cfg(test)]
mod tests;
