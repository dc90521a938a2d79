//! What the group looks like from outside: arrays of fields, coordinates as xarray has them, and where it all comes from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use visapult_volume::{FieldInfo, ScalarType};
use visapult_volume_io::{Along, Source, ZarrArray, zarr_group};

use super::batches::Batches;
use super::cut::Cut;
use super::part::{FieldPart, Rounding};
use crate::names::Name;
use crate::report::size;

/// What every node of a group is described by.
pub(crate) const DOCUMENT: &str = "zarr.json";
/// The folder of an array's chunks.
pub(super) const CHUNKS: &str = "c";
const SPACE: [&str; 3] = ["z", "y", "x"];

/// The files of the group, but for the chunks of fields.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) arrays: Vec<FieldArray>,
    /// What the axes are called, and those of which there are coordinates.
    axes: Vec<String>,
    pub(super) coordinates: Vec<String>,
    pub(super) documents: BTreeMap<PathBuf, Arc<[u8]>>,
}

/// A field as an array.
#[derive(Debug)]
pub(super) struct FieldArray {
    pub(super) number: usize,
    /// Of the source.
    pub(super) field: usize,
    /// Its folder.
    pub(super) name: String,
    pub(super) zarr: ZarrArray,
    pub(super) batches: Batches,
}

impl FieldArray {
    /// What stands beyond the last samples.
    pub(super) fn fill(&self) -> f32 {
        if matches!(self.zarr.scalar, ScalarType::F16 | ScalarType::F32) { f32::NAN } else { 0.0 }
    }

    /// Bytes of a chunk before it is compressed.
    pub(super) fn chunk_bytes(&self) -> u64 {
        self.zarr.chunk.iter().product::<u64>() * self.zarr.scalar.bytes() as u64
    }

    /// Where a chunk is, below the group.
    pub(super) fn path(&self, chunk: u64) -> PathBuf {
        let mut path = Path::new(&self.name).join(CHUNKS);
        let place = self.batches.place(chunk);
        place[4 - self.zarr.shape.len()..].iter().for_each(|number| path.push(number.to_string()));
        path
    }

    fn bytes(&self) -> u64 {
        self.zarr.shape.iter().product::<u64>() * self.zarr.scalar.bytes() as u64
    }
}

impl Group {
    pub(super) fn new(source: &dyn Source, fields: &[usize], cut: &Cut, part: &FieldPart) -> Result<Self, String> {
        let info = source.info();
        let time = if info.times.is_empty() { "step" } else { "time" };
        let axes: Vec<String> = cut.has_steps.then_some(time).into_iter().chain(SPACE).map(str::to_owned).collect();
        let mut group = Self { arrays: Vec::new(), axes, coordinates: Vec::new(), documents: BTreeMap::new() };
        for (number, &field) in fields.iter().enumerate() {
            let name = group.free_name(&info.fields[field].name);
            let zarr = array(source, field, cut, part, &group.axes);
            group.arrays.push(FieldArray { number, field, name, zarr, batches: Batches::new(cut) });
        }
        for Coordinate { axis, values, attributes } in coordinates(source, cut, &group.axes) {
            let encoded = coordinate(&axis, &values, attributes);
            let (document, chunk) = encoded.map_err(|cause| cause.to_string())?;
            group.documents.insert(Path::new(&axis).join(DOCUMENT), document.into());
            group.documents.insert(Path::new(&axis).join(CHUNKS).join("0"), chunk.into());
            group.coordinates.push(axis);
        }
        for array in &group.arrays {
            group.documents.insert(Path::new(&array.name).join(DOCUMENT), array.zarr.document().into());
        }
        let about = Map::from_iter([("visapult".to_owned(), provenance(source, fields, cut, part))]);
        group.documents.insert(DOCUMENT.into(), zarr_group(&about).into());
        Ok(group)
    }

    /// A name for the folder of a field that no other has: that of the field, as far as it can be one.
    fn free_name(&self, field: &str) -> String {
        let mut name: String =
            field.chars().map(|sign| if sign == '/' || sign.is_control() { '.' } else { sign }).collect();
        let is_taken = |name: &str| {
            let is_own = name == DOCUMENT || self.axes.iter().any(|axis| axis == name);
            is_own || self.arrays.iter().any(|array| array.name == name)
        };
        if Name::new(name.as_bytes()).is_none() || name.len() > 200 || name.starts_with("__") || name.starts_with('.') {
            name = "field".to_owned();
        }
        while is_taken(&name) {
            name.push('_');
        }
        name
    }

    /// What lies in it, but for its document.
    pub(super) fn names(&self) -> Vec<String> {
        self.arrays.iter().map(|array| &array.name).chain(&self.coordinates).cloned().collect()
    }

    /// The array and the number of the chunk at `path`.
    pub(super) fn chunk_at(&self, path: &Path) -> Option<(&FieldArray, u64)> {
        let mut parts = path.iter().map(|part| part.to_str());
        let name = parts.next()??;
        let array = self.arrays.iter().find(|array| array.name == name)?;
        (parts.next()?? == CHUNKS).then_some(())?;
        let numbers: Vec<u64> = parts.map(|part| part?.parse().ok()).collect::<Option<_>>()?;
        let place = match *numbers.as_slice() {
            [z, y, x] if array.zarr.shape.len() == 3 => [0, z, y, x],
            [step, z, y, x] if array.zarr.shape.len() == 4 => [step, z, y, x],
            _ => return None,
        };
        Some((array, array.batches.chunk(place)?))
    }

    pub(super) fn summary(&self, cut: &Cut, source: &dyn Source) -> String {
        let [nx, ny, nz] = cut.size;
        let steps = if cut.has_steps { format!(" in {} steps", cut.steps.len()) } else { String::new() };
        let names: Vec<_> = self.arrays.iter().take(4).map(|array| array.name.as_str()).collect();
        let more = if self.arrays.len() > 4 { ", ..." } else { "" };
        let bytes = self.arrays.iter().map(FieldArray::bytes).sum();
        let info = source.info();
        // A map has no third axis of which something could be told.
        let is_left_out = |axis: &usize| info.along[*axis] == Along::Unknown && info.grid().size[*axis] > 1;
        let left_out: Vec<_> = [2, 1, 0].into_iter().filter(is_left_out).map(|axis| SPACE[2 - axis]).collect();
        let untold = match left_out.as_slice() {
            [] => String::new(),
            axes => format!("; without coordinates along {}, of which the source has none that count", axes.join(", ")),
        };
        format!(
            "{}: {}{more}: {nz} x {ny} x {nx} samples (z, y, x){steps}, {} before compression{untold}",
            info.name,
            names.join(", "),
            size(bytes)
        )
    }
}

/// How a field is stored: as the source does where that is exact and no longer than a float, else as 32-bit floats.
fn array(source: &dyn Source, field: usize, cut: &Cut, part: &FieldPart, axes: &[String]) -> ZarrArray {
    use ScalarType::{F16, F32, I8, I16, U8, U16};
    let info: &FieldInfo = &source.info().fields[field];
    let is_kept = matches!(info.scalar_type, U8 | I8 | U16 | I16 | F16)
        && source.is_as_stored(field, 0)
        && part.rounding == Rounding::Exact;
    let edge = cut.size;
    let [nx, ny, nz] = edge.map(|n| n as u64);
    let [cx, cy, cz] = Batches::new(cut).edge.map(|n| n as u64);
    let steps = cut.has_steps.then_some(cut.steps.len() as u64);
    let mut attributes = Map::new();
    attributes.insert("long_name".to_owned(), json!(info.name));
    attributes.insert("spacing".to_owned(), json!(cut.grid.spacing));
    attributes.insert("origin".to_owned(), json!(cut.grid.origin));
    insert_text(&mut attributes, "spacing_unit", &cut.grid.unit);
    insert_text(&mut attributes, "centering", cut.grid.centering.name());
    insert_text(&mut attributes, "units", &info.unit);
    ZarrArray {
        shape: steps.into_iter().chain([nz, ny, nx]).collect(),
        chunk: steps.map(|_| 1).into_iter().chain([cz, cy, cx]).collect(),
        axes: axes.to_vec(),
        scalar: if is_kept { info.scalar_type } else { F32 },
        attributes,
    }
}

/// Coordinates along an axis.
struct Coordinate {
    axis: String,
    values: Vec<f64>,
    attributes: Map<String, Value>,
}

impl Coordinate {
    /// `letter` is what conventions call the axis: names and units may mean others.
    fn new(axis: &str, letter: &str, values: Vec<f64>, unit: &str) -> Self {
        let mut attributes = Map::new();
        insert_text(&mut attributes, "axis", letter);
        insert_text(&mut attributes, "units", unit);
        Self { axis: axis.to_owned(), values, attributes }
    }

    fn with(mut self, name: &str, text: &str) -> Self {
        insert_text(&mut self.attributes, name, text);
        self
    }
}

/// Coordinates along all axes of which any are known: as the source has them, else as its grid does.
fn coordinates(source: &dyn Source, cut: &Cut, axes: &[String]) -> Vec<Coordinate> {
    let info = source.info();
    let mut all = Vec::new();
    if cut.has_steps {
        let time = |&step: &u64| source.time_of(step).unwrap_or(step as f64);
        let times = cut.steps.iter().map(time).collect();
        all.push(Coordinate::new(&axes[0], "T", times, &info.time_unit).with("calendar", &info.calendar));
    }
    for ((name, letter), axis) in SPACE.into_iter().zip(["Z", "Y", "X"]).zip([2, 1, 0]) {
        match &info.along[axis] {
            Along::Grid => {
                let at = |index: usize| cut.grid.origin[axis] + index as f64 * cut.grid.spacing[axis];
                let values = (0..cut.size[axis]).map(at).collect();
                all.push(Coordinate::new(name, letter, values, &cut.grid.unit));
            }
            Along::Told(told) => {
                let direction = told.are_downwards.map_or("", |is_so| if is_so { "down" } else { "up" });
                let one = Coordinate::new(name, letter, cut.along(axis, &told.values), &told.unit);
                all.push(one.with("long_name", &told.name).with("positive", direction));
            }
            Along::Unknown => {}
        }
    }
    all
}

/// Document and only chunk.
fn coordinate(
    axis: &str,
    values: &[f64],
    attributes: Map<String, Value>,
) -> Result<(Vec<u8>, Vec<u8>), visapult_volume_io::SourceError> {
    let length = vec![values.len() as u64];
    let zarr = ZarrArray {
        shape: length.clone(),
        chunk: length,
        axes: vec![axis.to_owned()],
        scalar: ScalarType::F64,
        attributes,
    };
    Ok((zarr.document(), zarr.encode_doubles(values)?))
}

/// Which part of what it is.
fn provenance(source: &dyn Source, fields: &[usize], cut: &Cut, part: &FieldPart) -> Value {
    let info = source.info();
    let names: Vec<_> = fields.iter().map(|&field| &info.fields[field].name).collect();
    let mut told = Map::new();
    insert_text(&mut told, "source", &info.name);
    insert_text(&mut told, "format", &info.format);
    told.insert("fields".to_owned(), json!(names));
    told.insert("level".to_owned(), json!(part.level));
    told.insert("box_zyx".to_owned(), json!(cut.bounds_zyx()));
    told.insert("stride_zyx".to_owned(), json!(part.stride));
    if cut.has_steps {
        told.insert("steps".to_owned(), json!(cut.steps));
    }
    insert_text(&mut told, "error", &part.rounding.promise().unwrap_or_else(|| "none".to_owned()));
    Value::Object(told)
}

fn insert_text(attributes: &mut Map<String, Value>, name: &str, text: &str) {
    if !text.is_empty() {
        attributes.insert(name.to_owned(), json!(text));
    }
}
