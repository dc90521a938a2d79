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

use std::path::Path;

use visapult_volume::{FieldInfo, StepSpan};

use crate::bytes::{BytesAt, open_file};
use crate::{ReadRequest, Source, SourceError, SourceInfo, shape};
use dataset::Stored;

/// What an HDF5 file begins with, at byte 0 or after a user block of 512, 1024, ... bytes.
const SIGNATURE: [u8; 8] = *b"\x89HDF\r\n\x1a\n";

/// An open HDF5 file.
pub(crate) struct Hdf5 {
    info: SourceInfo,
    steps: StepSpan,
    fields: Vec<Stored>,
}

impl Hdf5 {
    /// Opens the dataset, or the group of datasets, at `inside`; with none, what the file holds.
    pub(crate) fn open(path: &Path, inside: Option<&str>) -> Result<Self, SourceError> {
        let wrong = |problem: String| SourceError::format(path.display(), problem);
        check_beginning(path)?;
        let file = hdf5_metno::File::open(path)
            .map_err(|e| wrong(format!("the HDF5 library cannot open it: {}; copy it again", one_line(&e))))?;
        let found = find::datasets(&file, inside).map_err(wrong)?;
        let first = &found[0];
        let axes = attributes::axes(&first.dataset, &first.shape).map_err(wrong)?;
        axes.grid.validate().map_err(|e| wrong(e.to_string()))?;
        let mut fields = Vec::new();
        let mut infos = Vec::new();
        for found in &found {
            let stored = Stored::new(path, &file, found)?;
            infos.push(FieldInfo {
                name: found.name.clone(),
                unit: attributes::text(&found.dataset, "units").unwrap_or_default(),
                scalar_type: stored.scalar(),
                declared_range: None,
            });
            fields.push(stored);
        }
        let info = SourceInfo {
            name: shape::file_name(path),
            format: format!("HDF5, {}", fields[0].layout_name()),
            levels: vec![axes.grid],
            fields: infos,
            times: axes.times,
            time_unit: axes.time_unit,
            live: false,
        };
        Ok(Self { info, steps: StepSpan { first: 0, last: first.shape.steps - 1 }, fields })
    }
}

impl Source for Hdf5 {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn steps(&self) -> StepSpan {
        self.steps
    }

    fn read(&self, request: &ReadRequest, out: &mut [f32]) -> Result<(), SourceError> {
        request.check(&self.info, self.steps, out.len())?;
        if out.is_empty() {
            return Ok(());
        }
        self.fields[request.field].read(request.step, &request.bounds, out)
    }
}

/// Refuses what is not HDF5, or would not let the library go.
fn check_beginning(path: &Path) -> Result<(), SourceError> {
    let (file, length) = open_file(path)?;
    let offsets = std::iter::once(0).chain((9..40).map(|bit| 1 << bit));
    for offset in offsets.take_while(|offset| offset + SIGNATURE.len() as u64 <= length) {
        let mut start = [0; SIGNATURE.len()];
        file.read_at(offset, &mut start).map_err(|cause| SourceError::io(path.display(), cause))?;
        if start == SIGNATURE {
            return heap::check(&file, length).map_err(|problem| SourceError::format(path.display(), problem));
        }
    }
    Err(SourceError::format(path.display(), "it has no HDF5 signature: it is not HDF5, or its beginning is lost"))
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
