//! HDF5 files: datasets with three axes, or four with steps; where one is called time three are steps of images.
//!
//! The HDF5 library, which takes one thread at a time, tells where things are. Values that are stored plainly or by
//! the deflate and shuffle filters are then read here, by all threads; everything else is read by the library.

mod attributes;
mod chunks;
mod dataset;
mod elsewhere;
mod find;
mod heap;
mod home;
mod library;
mod openpmd;
mod order;
mod scales;
mod vtkhdf;
mod wrf;

use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hdf5_metno::OpenMode;
use visapult_volume::{FieldInfo, Reversed, StepSpan};

use crate::axes::{Axes, remarked};
use crate::bytes::BytesAt;
use crate::place::Place;
use crate::reversed::turn;
use crate::{ReadRequest, Source, SourceError, SourceInfo, Together, outside, shape};
use dataset::Stored;
use find::{Found, Reach};
use home::{Home, Homes};
use scales::Scales;
use vtkhdf::Root;

/// What an HDF5 file begins with, at byte 0 or after a user block of 512, 1024, ... bytes.
const SIGNATURE: [u8; 8] = *b"\x89HDF\r\n\x1a\n";

/// An open HDF5 file.
pub(crate) struct Hdf5 {
    info: SourceInfo,
    steps: StepSpan,
    fields: Vec<Field>,
    reversed: Reversed,
    /// Files of values that lie outside its folder.
    outside: Vec<PathBuf>,
}

/// A channel of a dataset, and the file that it is in.
struct Field {
    stored: Arc<Stored>,
    channel: u64,
    home: Arc<Home>,
    /// It has no steps: it is the same at all.
    is_static: bool,
}

/// Opens the dataset, or the group of datasets, at `inside`; with none, what the file holds.
pub(crate) fn open(place: &Place, inside: Option<&str>) -> Result<Box<dyn Source>, SourceError> {
    let (file, home) = open_file(place)?;
    if openpmd::is_told(&file)
        && let Some(source) = openpmd::OpenPmd::of_file(&file, &home, inside)?
    {
        return Ok(Box::new(source));
    }
    let reach = &Reach::of(place);
    let wrong = |problem: String| SourceError::format(place.display(), problem);
    match vtkhdf::root(&file, inside, reach) {
        Some(Root::Overlapping(root)) => Ok(Box::new(vtkhdf::Overlapping::open(&file, &root, home, reach)?)),
        Some(Root::Image(root, meant)) => {
            let (found, axes) = vtkhdf::image_fields(&file, &root, &meant, reach, home.length).map_err(wrong)?;
            Ok(Box::new(Hdf5::open(&file, vtkhdf::kind_of_image(&root), &found, axes, home, reach.outside(place))?))
        }
        Some(Root::Other(kind)) => Err(wrong(vtkhdf::unread(&kind))),
        None => {
            let refuse = |refusal| SourceError::refused(place.display(), refusal);
            let found = find::datasets(&file, inside, reach).map_err(refuse)?;
            let axes = axes_of(&found).map_err(wrong)?;
            Ok(Box::new(Hdf5::open(&file, "HDF5", &found, axes, home, reach.outside(place))?))
        }
    }
}

/// Whether `place` names files of one iteration each by a pattern.
pub(crate) fn is_pattern(place: &Place) -> bool {
    openpmd::is_pattern(place)
}

/// Opens what is at `inside` in the files that `place` names by a pattern.
pub(crate) fn open_pattern(place: &Place, inside: Option<&str>) -> Result<Box<dyn Source>, SourceError> {
    Ok(Box::new(openpmd::OpenPmd::of_pattern(place, inside)?))
}

/// The file at `place`, if the library can be let go on it.
fn open_file(place: &Place) -> Result<(hdf5_metno::File, Arc<Home>), SourceError> {
    let home = Home::open(place)?;
    check_beginning(&home)?;
    let opened = if place.is_confined() {
        // The library opens by name: this is the name of the very file that was found inside.
        open_by_name(Path::new(&format!("/proc/self/fd/{}", home.bytes.as_raw_fd())))
    } else {
        open_by_name(place.shown())
    };
    Ok((opened.map_err(|problem| SourceError::format(place.display(), problem))?, Arc::new(home)))
}

/// The file, also while a program writes it for readers (single writer, multiple readers).
fn open_by_name(name: &Path) -> Result<hdf5_metno::File, String> {
    let refused = match hdf5_metno::File::open(name) {
        Ok(file) => return Ok(file),
        Err(refused) => refused,
    };
    let cause = refused.to_string();
    if cause.contains("unable to lock file") {
        if !cause.contains("errno = 11,") {
            return Err("its file system has no locks: copy it to another, or set HDF5_USE_FILE_LOCKING=FALSE if no program writes it".to_owned());
        }
        return Err("a program has it open for writing: close it there, or have it written for readers (h5py: libver=\"latest\", then swmr_mode = True)".to_owned());
    }
    if !cause.contains("already open for write") {
        return Err(format!("the HDF5 library cannot open it: {}; copy it again", one_line(&refused)));
    }
    hdf5_metno::File::open_as(name, OpenMode::ReadSWMR).map_err(|_| {
        "a program has it open for writing, or was killed when it had: close it there; if there is none, h5clear -s removes the mark".to_owned()
    })
}

impl Hdf5 {
    /// A file of this kind, of which these datasets are fields.
    fn open(
        file: &hdf5_metno::File,
        kind: &str,
        found: &[Found],
        mut axes: Axes,
        home: Arc<Home>,
        outside: Vec<PathBuf>,
    ) -> Result<Self, SourceError> {
        let place = home.place.clone();
        let wrong = |problem: String| SourceError::format(place.display(), problem);
        let reversed = Reversed::of(&mut axes.grid);
        reversed.turn_along(&mut axes.along);
        axes.remarks.extend(reversed.remark());
        axes.remarks.extend(outside::remark(&outside));
        axes.grid.validate().map_err(|e| wrong(e.to_string()))?;
        let mut homes = Homes::new(file, home);
        let mut fields: Vec<Field> = Vec::new();
        let mut infos = Vec::new();
        for found in found {
            let home = homes.of(&found.dataset)?;
            let stored = match fields.last().filter(|_| found.channel > 0) {
                Some(Field { stored, .. }) => Arc::clone(stored),
                None => Arc::new(Stored::new(&home, found)?),
            };
            infos.push(FieldInfo {
                name: found.name.clone(),
                unit: attributes::text(&found.dataset, "units").unwrap_or_default(),
                scalar_type: stored.encoding().scalar,
                declared_range: None,
            });
            fields.push(Field { stored, channel: found.channel, home, is_static: !found.shape.has_steps() });
        }
        let steps = found.iter().map(|found| found.shape.steps).max().unwrap_or(1);
        let mut layouts = Vec::new();
        for layout in fields.iter().map(|field| field.stored.layout_name()) {
            if !layouts.contains(&layout) {
                layouts.push(layout);
            }
        }
        let info = SourceInfo {
            name: shape::file_name(place.shown()),
            format: remarked(format!("{kind}, {}", layouts.join(" and ")), &axes.remarks),
            levels: vec![axes.grid],
            fields: infos,
            times: axes.times.to_vec(),
            time_unit: axes.time_unit,
            calendar: axes.calendar,
            along: axes.along,
            live: false,
        };
        Ok(Self { info, steps: StepSpan { first: 0, last: steps - 1 }, fields, reversed, outside })
    }
}

impl Source for Hdf5 {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn steps(&self) -> StepSpan {
        self.steps
    }

    fn grain(&self, field: usize, _level: usize) -> [usize; 3] {
        self.fields[field].stored.grain()
    }

    fn together(&self, field: usize, _level: usize) -> Together {
        self.fields[field].stored.together()
    }

    fn is_as_stored(&self, field: usize, _level: usize) -> bool {
        self.fields[field].stored.encoding().is_plain()
    }

    fn is_static(&self, field: usize) -> bool {
        self.fields[field].is_static
    }

    fn outside(&self) -> Vec<PathBuf> {
        self.outside.clone()
    }

    fn read(&self, request: &ReadRequest, out: &mut [f32]) -> Result<(), SourceError> {
        request.check(&self.info, self.steps, out.len())?;
        if out.is_empty() {
            return Ok(());
        }
        let field = &self.fields[request.field];
        let step = if field.is_static { 0 } else { request.step };
        let bounds = self.reversed.in_source(&request.bounds, self.info.grid().size);
        field.home.witness(&field.stored).during(|| field.stored.read(step, field.channel, &bounds, out))?;
        turn(self.reversed, bounds.size(), out);
        Ok(())
    }
}

/// The axes that all datasets share.
fn axes_of(found: &[Found]) -> Result<Axes, String> {
    let mut scales = Scales::default();
    let told = found.iter().map(|one| Ok((one.name.clone(), attributes::axes(&one.dataset, &one.shape, &mut scales)?)));
    Axes::of_all(&told.collect::<Result<Vec<_>, String>>()?)
        .map_err(|problem| format!("{problem}: add ':/' and one of their names to the file's"))
}

/// Whether a file is HDF5 by what it begins with, whatever it is called, or what could be made that.
pub(crate) fn is_hdf5(place: &Place) -> bool {
    let begins = |(file, length): (std::fs::File, u64)| {
        has_signature(&file, length).unwrap_or(false) || is_classic(&file, length)
    };
    place.is_file() && place.open().is_ok_and(begins)
}

/// Whether a file of so many bytes begins, or goes on after a user block, as HDF5 does.
fn has_signature(file: &std::fs::File, length: u64) -> std::io::Result<bool> {
    let offsets = std::iter::once(0).chain((9..40).map(|bit| 1 << bit));
    for offset in offsets.take_while(|offset| offset + SIGNATURE.len() as u64 <= length) {
        let mut start = [0; SIGNATURE.len()];
        file.read_at(offset, &mut start)?;
        if start == SIGNATURE {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Refuses what is not HDF5, or would not let the library go.
fn check_beginning(home: &Home) -> Result<(), SourceError> {
    let Home { place, bytes: file, length, .. } = home;
    if has_signature(file, *length).map_err(|cause| SourceError::io(place.display(), cause))? {
        return heap::check(file, *length).map_err(|problem| SourceError::format(place.display(), problem));
    }
    if is_classic(file, *length) {
        let problem = "it is a file of netCDF's classic format, not netCDF-4: convert it (nccopy -k nc4 in.nc out.nc)";
        return Err(SourceError::format(place.display(), problem));
    }
    Err(SourceError::format(place.display(), "it has no HDF5 signature: it is not HDF5, or its beginning is lost"))
}

/// Whether it begins as files of netCDF's classic format do.
fn is_classic(file: &std::fs::File, length: u64) -> bool {
    let mut start = [0; 3];
    length > 3 && file.read_at(0, &mut start).is_ok() && start == *b"CDF"
}

/// The library's message on one line.
fn one_line(error: &hdf5_metno::Error) -> String {
    let text = error.to_string();
    let mut line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = line.char_indices().nth(200) {
        line.truncate(end);
    }
    line
}
