//! Which files the values of datasets are in: that of each, those of which virtual ones are put together, and what lies beside them as plain bytes.
//!
//! The HDF5 library follows virtual datasets however deep they lead, on the stack of who reads (H5D__virtual_open_source_dset, seen in 2.2.0): their way is
//! walked here before.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hdf5_metno::plist::dataset_create::Layout;
use hdf5_metno::sync::sync;
use hdf5_metno::{Dataset, LocationToken};
use hdf5_metno_sys::h5p::{H5Pget_virtual_count, H5Pget_virtual_dsetname, H5Pget_virtual_filename};

use super::open_by_name;
use crate::outside;
use crate::place::Place;

/// Virtual datasets of which each is a part of the one before.
const MAX_DEPTH: usize = 16;
/// Datasets that one is put together of.
const MAX_SOURCES: usize = 100_000;
/// Bytes of a name.
const MAX_NAME: usize = 1 << 16;
/// What a virtual dataset calls the file that it is in itself.
const SAME_FILE: &str = ".";

/// The files of datasets, as they come to be known.
#[derive(Default)]
pub(super) struct Files {
    /// By their real names.
    found: BTreeSet<PathBuf>,
    /// Datasets that are looked at, each a part of the one before.
    way: Vec<Object>,
    /// How many further ones are behind each other in those of which all is known, by their real files and the names that they have there.
    heights: HashMap<Source, usize>,
    /// The same by how virtual datasets name them; `None` for what is not there.
    named: HashMap<Source, Option<usize>>,
    /// Parts of the dataset that is added.
    looked_at: usize,
}

/// A dataset, whatever it is called.
type Object = (u64, u64, LocationToken);
/// A file and a dataset in it.
type Source = (PathBuf, String);

impl Files {
    /// Notes the files that the values of `dataset` are in.
    ///
    /// # Errors
    /// If it is put together of itself, of too much, or of what is no file.
    pub(super) fn add(&mut self, dataset: &Dataset) -> Result<(), String> {
        self.looked_at = 0;
        self.walk(dataset).map(|_| ())
    }

    /// Notes its files, and says how many datasets are behind each other in it.
    fn walk(&mut self, dataset: &Dataset) -> Result<usize, String> {
        let name = PathBuf::from(dataset.filename());
        let own = name.canonicalize().and_then(|file| Ok((file.metadata()?, file)));
        // Who reads it says that it is gone.
        let (Ok((seen, file)), Ok(info)) = (own, dataset.loc_info()) else { return Ok(0) };
        let source = (file.clone(), dataset.name());
        if let Some(height) = self.heights.get(&source) {
            return Ok(*height);
        }
        let object = (seen.dev(), seen.ino(), info.token);
        if self.way.contains(&object) {
            return Err("it is put together of itself: write it again".to_owned());
        }
        self.check_depth(0)?;
        self.found.insert(file);
        self.way.push(object);
        let height = self.add_parts(dataset, &name);
        self.way.pop();
        self.heights.insert(source, height.clone()?);
        height
    }

    /// Whether so many more may be behind each other where the way has led.
    fn check_depth(&self, height: usize) -> Result<(), String> {
        let is_too_deep = self.way.len() + height > MAX_DEPTH;
        if is_too_deep { Err(format!("it is made of virtual datasets, more than {MAX_DEPTH} deep")) } else { Ok(()) }
    }

    fn add_parts(&mut self, dataset: &Dataset, file: &Path) -> Result<usize, String> {
        let Ok(created) = dataset.create_plist() else { return Ok(0) };
        for external in created.external() {
            if let Some(found) = self.note(&external_places(&external.name, file))? {
                self.found.insert(found);
            }
        }
        let mut height = 0;
        if !matches!(created.get_layout(), Ok(Layout::Virtual)) {
            return Ok(height);
        }
        for (name, inside) in sources(created.id()) {
            let mut block = 0;
            let of_block = |block| (named(&name, block), named(&inside, block));
            let is_of_blocks = of_block(0) != of_block(1);
            let mut is_there = true;
            while is_there && (block == 0 || is_of_blocks) {
                let (name, inside) = of_block(block);
                let behind = self.add_source(file, &name, &inside)?;
                self.check_depth(behind.unwrap_or(0))?;
                height = height.max(behind.map_or(0, |behind| behind + 1));
                is_there = behind.is_some();
                block += 1;
            }
        }
        Ok(height)
    }

    /// Notes the files of a part, and says how many datasets are behind each other in it; `None` where it is not there, and the fill value stands for it.
    fn add_source(&mut self, file: &Path, name: &str, inside: &str) -> Result<Option<usize>, String> {
        let places = if name == SAME_FILE { vec![file.to_owned()] } else { virtual_places(name, file) };
        let source = (places[0].clone(), inside.to_owned());
        if let Some(height) = self.named.get(&source) {
            return Ok(*height);
        }
        self.looked_at += 1;
        if self.looked_at > MAX_SOURCES {
            return Err(format!("it is put together of more than {MAX_SOURCES} datasets: name one of those"));
        }
        let dataset = self.note(&places)?.map(|found| part(&found, inside)).transpose()?.flatten();
        let height = dataset.map(|dataset| self.walk(&dataset)).transpose()?;
        self.named.insert(source, height);
        Ok(height)
    }

    /// The first of `places` where there is something: a file, for the library would wait for a pipe.
    fn note(&self, places: &[PathBuf]) -> Result<Option<PathBuf>, String> {
        let Some(found) = places.iter().find(|place| place.exists()) else { return Ok(None) };
        if !found.is_file() {
            return Err(format!("it has values in {}, no file", found.display()));
        }
        Ok(found.canonicalize().ok())
    }

    /// Those that lie neither beside the source at `place` nor below its folder.
    pub(super) fn outside(&self, place: &Place) -> Vec<PathBuf> {
        outside::of(place.shown(), &self.found)
    }
}

/// A dataset in another file, `None` where there is none or that is not to be opened, which the library passes over; at what is no HDF5 file it ends.
fn part(file: &Path, inside: &str) -> Result<Option<Dataset>, String> {
    match open_by_name(file) {
        Ok(opened) => Ok(opened.dataset(inside).ok()),
        Err(cause) if cause.contains("signature") => Err(format!("it has values in {}, no HDF5 file", file.display())),
        Err(_) => Ok(None),
    }
}

/// Where the library looks for a file of values that a dataset in `file` names.
fn external_places(name: &str, file: &Path) -> Vec<PathBuf> {
    let prefix = std::env::var("HDF5_EXTFILE_PREFIX").unwrap_or_default();
    vec![beside(&prefix, file).join(name)]
}

/// Where the library looks for a file of which a virtual dataset in `file` is put together, in its order.
fn virtual_places(name: &str, file: &Path) -> Vec<PathBuf> {
    let named = Path::new(name);
    let mut places = Vec::new();
    let mut name = named;
    if named.is_absolute() {
        places.push(named.to_owned());
        name = named.file_name().map_or(named, Path::new);
    }
    let prefixes = std::env::var("HDF5_VDS_PREFIX").unwrap_or_default();
    places
        .extend(prefixes.split(':').filter(|prefix| !prefix.is_empty()).map(|prefix| beside(prefix, file).join(name)));
    places.extend([file.with_file_name(name), name.to_owned()]);
    places.extend(file.canonicalize().map(|real| real.with_file_name(name)));
    places
}

/// A folder out of the environment, which may be that of `file`.
fn beside(prefix: &str, file: &Path) -> PathBuf {
    let folder = file.parent().unwrap_or(Path::new("")).display().to_string();
    PathBuf::from(prefix.replace("${ORIGIN}", &folder))
}

/// A name as a virtual dataset has it of a block: `%b` is its number, and `%%` a sign.
fn named(name: &str, block: usize) -> String {
    let parts: Vec<_> = name.split("%%").map(|part| part.replace("%b", &block.to_string())).collect();
    parts.join("%")
}

/// The files and datasets that a virtual dataset created so is put together of.
#[expect(unsafe_code, reason = "the safe wrapper makes all selections, and fails where one has no end")]
fn sources(created: hdf5_metno_sys::h5i::hid_t) -> HashSet<(String, String)> {
    let mut count = 0;
    // SAFETY: the list of properties is open, and the count has a place.
    if sync(|| unsafe { H5Pget_virtual_count(created, &raw mut count) }) < 0 {
        return HashSet::new();
    }
    let text = |read: &dyn Fn(*mut std::ffi::c_char, usize) -> isize| {
        let length = usize::try_from(read(std::ptr::null_mut(), 0)).ok().filter(|length| *length < MAX_NAME)?;
        let mut bytes = vec![0u8; length + 1];
        read(bytes.as_mut_ptr().cast(), bytes.len());
        bytes.truncate(length);
        String::from_utf8(bytes).ok()
    };
    let one = |index| {
        // SAFETY: as above; of a name no more is written than there is room for.
        let file = text(&|into, size| sync(|| unsafe { H5Pget_virtual_filename(created, index, into, size) }));
        // SAFETY: as above.
        let dataset = text(&|into, size| sync(|| unsafe { H5Pget_virtual_dsetname(created, index, into, size) }));
        Some((file?, dataset?))
    };
    (0..count).filter_map(one).collect()
}
