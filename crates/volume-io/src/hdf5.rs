//! HDF5 files: datasets with three axes, or four with a leading step.
//!
//! The HDF5 library, which takes one thread at a time, tells where things are. Values that are stored plainly or by
//! the deflate and shuffle filters are then read here, by all threads; everything else is read by the library.

mod attributes;
mod chunks;
mod dataset;
mod find;
mod heap;
mod library;

use std::fs::File;
use std::os::fd::AsRawFd;

use visapult_volume::{FieldInfo, StepSpan};

use crate::bytes::BytesAt;
use crate::place::Place;
use crate::witness::Witness;
use crate::{ReadRequest, Source, SourceError, SourceInfo, shape};
use dataset::Stored;
use find::Reach;

/// What an HDF5 file begins with, at byte 0 or after a user block of 512, 1024, ... bytes.
const SIGNATURE: [u8; 8] = *b"\x89HDF\r\n\x1a\n";

/// An open HDF5 file.
pub(crate) struct Hdf5 {
    info: SourceInfo,
    steps: StepSpan,
    fields: Vec<Stored>,
    witness: Witness,
}

impl Hdf5 {
    /// Opens the dataset, or the group of datasets, at `inside`; with none, what the file holds.
    pub(crate) fn open(place: &Place, inside: Option<&str>) -> Result<Self, SourceError> {
        let wrong = |problem: String| SourceError::format(place.display(), problem);
        let (bytes, length) = place.open()?;
        let witness = Witness::growing(place, &bytes)?;
        check_beginning(place, &bytes, length)?;
        let opened = if place.is_confined() {
            // The library opens by name: this is the name of the very file that was found inside.
            hdf5_metno::File::open(format!("/proc/self/fd/{}", bytes.as_raw_fd()))
        } else {
            hdf5_metno::File::open(place.shown())
        };
        let file =
            opened.map_err(|e| wrong(format!("the HDF5 library cannot open it: {}; copy it again", one_line(&e))))?;
        let reach = if place.is_confined() { Reach::File } else { Reach::Anywhere };
        let found = find::datasets(&file, inside, reach).map_err(wrong)?;
        let first = &found[0];
        let axes = axes_of(&found).map_err(wrong)?;
        axes.grid.validate().map_err(|e| wrong(e.to_string()))?;
        let mut fields = Vec::new();
        let mut infos = Vec::new();
        for found in &found {
            let stored = Stored::new(place, (&bytes, length), &file, found)?;
            infos.push(FieldInfo {
                name: found.name.clone(),
                unit: attributes::text(&found.dataset, "units").unwrap_or_default(),
                scalar_type: stored.encoding().scalar,
                declared_range: None,
            });
            fields.push(stored);
        }
        let info = SourceInfo {
            name: shape::file_name(place.shown()),
            format: format!("HDF5, {}", fields[0].layout_name()),
            levels: vec![axes.grid],
            fields: infos,
            times: axes.times,
            time_unit: axes.time_unit,
            live: false,
        };
        Ok(Self { info, steps: StepSpan { first: 0, last: first.shape.steps - 1 }, fields, witness })
    }
}

impl Source for Hdf5 {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn steps(&self) -> StepSpan {
        self.steps
    }

    fn grain(&self, _level: usize) -> [usize; 3] {
        self.fields[0].grain()
    }

    fn is_as_stored(&self, field: usize) -> bool {
        self.fields[field].encoding().is_plain()
    }

    fn read(&self, request: &ReadRequest, out: &mut [f32]) -> Result<(), SourceError> {
        request.check(&self.info, self.steps, out.len())?;
        if out.is_empty() {
            return Ok(());
        }
        self.witness.during(|| self.fields[request.field].read(request.step, &request.bounds, out))
    }
}

/// The grid of the first dataset that tells one, for all are of one size; of files in which none does, of the first.
fn axes_of(found: &[find::Found]) -> Result<attributes::Axes, String> {
    let mut all = Vec::new();
    for one in found {
        all.push(attributes::axes(&one.dataset, &one.shape)?);
    }
    let plain = visapult_volume::Grid::of_size(found[0].shape.size);
    let with_times = all.iter().find(|axes| !axes.times.is_empty());
    let times = with_times.map(|axes| (axes.times.clone(), axes.time_unit.clone()));
    let telling = all.iter().position(|axes| axes.grid != plain).unwrap_or(0);
    let mut axes = all.swap_remove(telling);
    if let (true, Some(times)) = (axes.times.is_empty(), times) {
        (axes.times, axes.time_unit) = times;
    }
    Ok(axes)
}

/// Refuses what is not HDF5, or would not let the library go.
fn check_beginning(place: &Place, file: &File, length: u64) -> Result<(), SourceError> {
    let offsets = std::iter::once(0).chain((9..40).map(|bit| 1 << bit));
    for offset in offsets.take_while(|offset| offset + SIGNATURE.len() as u64 <= length) {
        let mut start = [0; SIGNATURE.len()];
        file.read_at(offset, &mut start).map_err(|cause| SourceError::io(place.display(), cause))?;
        if start == SIGNATURE {
            return heap::check(file, length).map_err(|problem| SourceError::format(place.display(), problem));
        }
    }
    Err(SourceError::format(place.display(), "it has no HDF5 signature: it is not HDF5, or its beginning is lost"))
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
