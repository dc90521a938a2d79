//! NIfTI-1 and NIfTI-2 in one file, plain or compressed with gzip.

mod header;
mod orientation;

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

use visapult_volume::{FieldInfo, Grid};

use crate::axes::remarked;
use crate::bytes::BytesAt;
use crate::flat::{FlatArray, FlatSource, Layout};
use crate::gunzip::{Gunzip, MAX_EXPANSION, Members};
use crate::place::Place;
use crate::witness::Witness;
use crate::{Source, SourceError, SourceInfo, shape};
use header::Header;

/// Opens a NIfTI file.
pub(crate) fn open(place: &Place) -> Result<Box<dyn Source>, SourceError> {
    let path = place.shown();
    let refuse = |cause| SourceError::io(path.display(), cause);
    let wrong = |problem: String| SourceError::format(path.display(), problem);
    let (mut file, length) = place.open()?;
    let witness = Witness::fixed(place, &file)?;
    let compressed = is_gzip(&file, length).map_err(refuse)?;
    let mut start = Vec::new();
    let limit = header::LONGEST as u64;
    if compressed {
        let unpacked = Members::new(file.try_clone().map_err(refuse)?).take(limit).read_to_end(&mut start);
        unpacked.map_err(|e| wrong(format!("its compressed header cannot be read: {e}; copy it again")))?;
    } else {
        (&mut file).take(limit).read_to_end(&mut start).map_err(refuse)?;
    }
    let header = Header::parse(&start).map_err(wrong)?;
    let (grid, reversed) = header.grid();
    grid.validate().map_err(|e| wrong(e.to_string()))?;
    let too_large = || wrong(format!("{:?} samples in {} steps are too large to address", grid.size, header.steps));
    let layout = Layout::in_order(grid.size, header.steps, 1, &header.orientation.roles()).ok_or_else(too_large)?;
    let mut remarks = header.remarks();
    remarks.extend(reversed.remark());
    let info = describe(path, &header, grid, compressed, &remarks);
    if !compressed {
        return assemble(path, info, file, length, &header, layout, witness);
    }
    let available = length.saturating_mul(MAX_EXPANSION);
    // What the array needs is held against `available` before anything is decompressed.
    let need = layout.values().saturating_mul(header.encoding.bytes() as u64).saturating_add(header.offset);
    file.rewind().map_err(refuse)?;
    let no_spool = |cause| {
        let folder = std::env::temp_dir();
        wrong(format!("it cannot be unpacked into {} ({cause}): set TMPDIR to a folder with room", folder.display()))
    };
    let unpacked = Gunzip::new(file, need.min(available)).map_err(no_spool)?;
    assemble(path, info, unpacked, available, &header, layout, witness)
}

fn is_gzip(file: &File, length: u64) -> std::io::Result<bool> {
    let mut mark = [0; 2];
    if length >= 2 {
        file.read_at(0, &mut mark)?;
    }
    Ok(mark == [0x1f, 0x8b])
}

fn assemble<B: BytesAt + 'static>(
    path: &Path,
    info: SourceInfo,
    bytes: B,
    available: u64,
    header: &Header,
    layout: Layout,
    witness: Witness,
) -> Result<Box<dyn Source>, SourceError> {
    let path = path.display().to_string();
    let array = FlatArray::new(path, bytes, available, header.offset, header.encoding.clone(), layout)?;
    let (_, reversed) = header.grid();
    Ok(Box::new(FlatSource::new(info, array, reversed, witness)))
}

fn describe(path: &Path, header: &Header, grid: Grid, compressed: bool, remarks: &[String]) -> SourceInfo {
    let packing = if compressed { ", gzip" } else { "" };
    let field = FieldInfo {
        name: if header.name.is_empty() { shape::file_stem(path) } else { header.name.clone() },
        unit: String::new(),
        scalar_type: header.encoding.scalar,
        declared_range: None,
    };
    SourceInfo {
        name: shape::file_name(path),
        format: remarked(format!("NIfTI-{}{packing}", header.version), remarks),
        levels: vec![grid],
        fields: vec![field],
        times: header.times(),
        time_unit: header.time_unit().to_owned(),
        calendar: String::new(),
        along: Default::default(),
        live: false,
    }
}
