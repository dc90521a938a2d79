//! How a dataset is stored, and so how it is read.

use std::fs::File;

use hdf5_metno::dataset::{FillValue, Layout as StoredLayout};
use hdf5_metno::filters::Filter;
use hdf5_metno::sync::sync;
use hdf5_metno::types::{FloatSize, IntSize, TypeDescriptor};
use hdf5_metno::{Dataset, Datatype};
use hdf5_metno_sys::h5t::{H5Tget_ebias, H5Tget_fields};
use visapult_volume::{Box3, ScalarType, StepIndex};

use super::attributes;
use super::chunks::Chunks;
use super::find::Found;
use super::home::Home;
use super::library::Library;
use crate::SourceError;
use crate::flat::FlatArray;
use crate::roles::Role;
use crate::scalar::Encoding;
use crate::source::Together;

/// A dataset, by the way it is read.
pub(super) enum Stored {
    /// One run of bytes of the file.
    Flat(FlatArray<File>),
    /// Chunks whose filters are known here.
    Chunks(Chunks),
    /// Read by the library.
    Library(Library),
}

impl Stored {
    /// `home` is the file that the dataset itself is in.
    pub(super) fn new(home: &Home, found: &Found) -> Result<Self, SourceError> {
        Self::times(home, found, 1.0)
    }

    /// The same, of values that are so many times as large.
    pub(super) fn times(home: &Home, found: &Found, factor: f64) -> Result<Self, SourceError> {
        let Home { place, bytes, length, decoded, .. } = home;
        let dataset = &found.dataset;
        let refuse = |e: hdf5_metno::Error| {
            SourceError::format(place.display(), format!("dataset '{}': {}", found.path, super::one_line(&e)))
        };
        let dtype = dataset.dtype().map_err(refuse)?;
        let kind = dtype.to_descriptor().map_err(refuse)?;
        let told = encoding_as(dataset, &dtype, &kind);
        let encoding = Encoding { slope: told.slope * factor, intercept: told.intercept * factor, ..told };
        let native =
            Datatype::from_descriptor(&kind).is_ok_and(|native| native == dtype) && kind != TypeDescriptor::Boolean;
        // Offsets that the library tells do not all count a user block.
        if native && dataset.file().is_ok_and(|file| file.userblock() == 0) {
            let bytes = bytes.try_clone().map_err(|cause| SourceError::io(place.display(), cause))?;
            let shown = format!("{}:/{}", place.display(), found.path);
            if dataset.layout() == StoredLayout::Contiguous
                && let Some(offset) = dataset.offset()
                && let Some(layout) = found.shape.layout()
            {
                return FlatArray::new(shown, bytes, *length, offset, encoding, layout).map(Self::Flat);
            }
            if dataset.layout() == StoredLayout::Chunked
                && dataset.chunk().is_some_and(|chunk| found.shape.is_thin(&chunk))
                && let Some(chunks) = Chunks::new(shown, bytes, found, encoding.clone(), decoded)
            {
                return Ok(Self::Chunks(chunks));
            }
        }
        Library::new(place, found, kind, encoding, decoded).map(Self::Library)
    }

    pub(super) fn encoding(&self) -> &Encoding {
        match self {
            Self::Flat(array) => array.encoding(),
            Self::Chunks(chunks) => chunks.encoding(),
            Self::Library(library) => library.encoding(),
        }
    }

    /// Samples decoded at once.
    pub(super) fn grain(&self) -> [usize; 3] {
        match self {
            Self::Flat(_) => [1; 3],
            Self::Chunks(chunks) => chunks.edge(),
            Self::Library(library) => library.piece(),
        }
    }

    /// Steps decoded at once.
    pub(super) fn together(&self) -> Together {
        match self {
            Self::Flat(_) => Together::ALONE,
            Self::Chunks(chunks) => chunks.together(),
            Self::Library(library) => library.together(),
        }
    }

    pub(super) fn layout_name(&self) -> &'static str {
        match self {
            Self::Flat(_) => "contiguous",
            Self::Chunks(_) => "chunked",
            Self::Library(_) => "read by the HDF5 library",
        }
    }

    /// Whether values may be elsewhere once the file was written to.
    pub(super) const fn moves(&self) -> bool {
        match self {
            Self::Flat(_) => false,
            Self::Chunks(chunks) => chunks.moves(),
            Self::Library(library) => library.moves(),
        }
    }

    /// Reads a box of a step and channel into `out`, `[z, y, x]`.
    pub(super) fn read(
        &self,
        step: StepIndex,
        channel: u64,
        bounds: &Box3,
        out: &mut [f32],
    ) -> Result<(), SourceError> {
        match self {
            Self::Flat(array) => array.read(step, channel, bounds, out),
            Self::Chunks(chunks) => chunks.read(step, channel, bounds, out),
            Self::Library(library) => library.read(step, channel, bounds, out),
        }
    }
}

/// Type and scale of coordinates, in the machine's byte order, where they are numbers: of these only what attributes say is missing.
pub(super) fn encoding_of_coordinates(scale: &Dataset) -> Option<Encoding> {
    let dtype = scale.dtype().ok()?;
    let kind = dtype.to_descriptor().ok()?;
    Some(told(scale, &dtype, &kind, || None).of_coordinates())
}

/// Type, scale and missing value of a dataset, in the machine's byte order.
fn encoding_as(dataset: &Dataset, dtype: &Datatype, kind: &TypeDescriptor) -> Encoding {
    let own_fill = || own_fill(dataset).filter(|fill| *fill != 0.0 && !is_netcdf_default(dataset, kind, *fill));
    told(dataset, dtype, kind, own_fill)
}

fn told(
    dataset: &Dataset,
    dtype: &Datatype,
    kind: &TypeDescriptor,
    own_fill: impl FnOnce() -> Option<f64>,
) -> Encoding {
    let numbers = |name: &str| attributes::values(dataset, name).unwrap_or_default();
    let is_whole = |name: &str| attributes::is_whole(dataset, name);
    let scalar = match scalar(kind) {
        ScalarType::F16 if !is_half(dtype) => ScalarType::F32,
        scalar => scalar,
    };
    Encoding::told(scalar, numbers, is_whole, |name| attributes::text(dataset, name), own_fill)
}

/// Whether chunks of a dataset are written again when more is appended to it, and so elsewhere: compressed, they have another length then.
pub(super) fn moves(found: &Found) -> bool {
    let dataset = &found.dataset;
    let keeps_length = |filter: &Filter| matches!(filter, Filter::Shuffle | Filter::Fletcher32);
    if dataset.filters().iter().all(keeps_length) {
        return false;
    }
    match found.shape.place(Role::Step) {
        // The room for all steps may have been there from the start.
        Some(axis) => dataset.chunk().is_some_and(|chunk| chunk[axis] > 1),
        None => dataset.space().is_ok_and(|space| {
            space.maxdims().into_iter().zip(space.shape()).any(|(most, now)| most.is_none_or(|most| most > now))
        }),
    }
}

/// Whether floats of two bytes are those of IEEE 754, in either byte order. Others, as bfloat16, reach further.
#[expect(unsafe_code, reason = "no safe wrapper of these calls")]
fn is_half(dtype: &Datatype) -> bool {
    let (id, mut fields) = (dtype.id(), [0; 5]);
    let [sign, exponent, exponent_bits, mantissa, mantissa_bits] = &mut fields;
    // SAFETY: the type is open while `dtype` is there, and each number has a place of its own; one thread at a time calls the library.
    let (told, bias) = sync(|| unsafe {
        (H5Tget_fields(id, sign, exponent, exponent_bits, mantissa, mantissa_bits), H5Tget_ebias(id))
    });
    told >= 0 && (fields, bias) == ([15, 10, 5, 0, 10], 15)
}

/// The fill value that the writer of the dataset chose. Zero is what many writers give without meaning "missing".
pub(super) fn own_fill(dataset: &Dataset) -> Option<f64> {
    let created = dataset.create_plist().ok()?;
    (created.fill_value_defined() == FillValue::UserDefined).then(|| created.fill_value_as::<f64>())?
}

/// Whether it is what the netCDF library gives every variable of one byte: in those all values are of use, and without an attribute none is missing
/// (netCDF User's Guide, "Fill Values").
fn is_netcdf_default(dataset: &Dataset, kind: &TypeDescriptor, fill: f64) -> bool {
    let is_default = match kind {
        TypeDescriptor::Unsigned(IntSize::U1) => fill == 255.0,
        TypeDescriptor::Integer(IntSize::U1) => fill == -127.0,
        _ => false,
    };
    is_default && dataset.file().is_ok_and(|file| file.attr("_NCProperties").is_ok())
}

/// How the library hands values of a type out.
pub(super) fn scalar(kind: &TypeDescriptor) -> ScalarType {
    match kind {
        TypeDescriptor::Unsigned(IntSize::U1) | TypeDescriptor::Boolean => ScalarType::U8,
        TypeDescriptor::Unsigned(IntSize::U2) => ScalarType::U16,
        TypeDescriptor::Unsigned(IntSize::U4) => ScalarType::U32,
        TypeDescriptor::Unsigned(IntSize::U8) => ScalarType::U64,
        TypeDescriptor::Integer(IntSize::U1) => ScalarType::I8,
        TypeDescriptor::Integer(IntSize::U2) => ScalarType::I16,
        TypeDescriptor::Integer(IntSize::U4) => ScalarType::I32,
        TypeDescriptor::Integer(IntSize::U8) => ScalarType::I64,
        TypeDescriptor::Float(FloatSize::U2) => ScalarType::F16,
        TypeDescriptor::Float(FloatSize::U8) => ScalarType::F64,
        _ => ScalarType::F32,
    }
}

#[cfg(test)]
mod tests {
    use hdf5_metno::{Extents, File};

    use super::super::find::Shape;
    use super::*;

    #[test]
    fn what_lies_in_a_line_moves_if_it_is_compressed_and_may_grow() {
        let dir = tempfile::tempdir().unwrap();
        let file = File::create(dir.path().join("lines.h5")).unwrap();
        let moves = |name: &str, extents: Extents, is_packed: bool| {
            let builder = file.new_dataset::<f32>().shape(extents).chunk(4).shuffle();
            let builder = if is_packed { builder.deflate(4) } else { builder };
            let (dataset, shape) = (builder.create(name).unwrap(), Shape::line(8));
            moves(&Found { name: name.to_owned(), path: name.to_owned(), dataset, shape, channel: 0 })
        };
        assert!(moves("grows", (8..).into(), true));
        assert!(moves("has_room", (8..=12).into(), true));
        assert!(!moves("is_full", (8..=8).into(), true));
        assert!(!moves("has_one_length", (8..).into(), false));
    }
}
