//! An array of Python's as the buffer protocol shows it: values of any real type, anywhere in memory.

use std::ffi::CStr;

use pyo3::buffer::{ElementType, PyUntypedBuffer};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyMemoryView};
use visapult_publish::{Reversed, ScalarType, Strided};

use crate::failure::ArrayError;

/// An array whose memory is held where it is.
pub(crate) struct Array {
    values: Strided,
    _held: PyUntypedBuffer,
}

#[expect(unsafe_code, reason = "the memory is Python's")]
// SAFETY: the buffer keeps the memory where it is, whichever thread reads it.
unsafe impl Send for Array {}
#[expect(unsafe_code, reason = "the memory is Python's")]
// SAFETY: it is only read.
unsafe impl Sync for Array {}

impl Array {
    /// An array of `size` values, `[nx, ny, nz]`, for `field`.
    pub(crate) fn new(object: &Bound<'_, PyAny>, field: &str, size: [usize; 3]) -> PyResult<Self> {
        let wrong = |problem: String| ArrayError::new_err(format!("field {field}: {problem}"));
        if object.hasattr("filled")? && object.hasattr("mask")? {
            // The buffer of a masked array tells what is behind the mask.
            let filled = object.call_method1("filled", (f64::NAN,)).map_err(|cause| {
                wrong(format!(
                    "masked values become NaN, which these cannot be ({cause}): convert with array.astype(\"float32\")"
                ))
            })?;
            return Self::new(&filled, field, size);
        }
        let [nx, ny, nz] = size;
        if is_one_number(object) {
            return Err(wrong(format!(
                "it is a single number, not an array: numpy.full(({nz}, {ny}, {nx}), value) is one that has it everywhere"
            )));
        }
        // Arrays of ctypes tell no strides, which a view of them does.
        let viewed = |cause| PyMemoryView::from(object).and_then(|view| PyUntypedBuffer::get(&view)).map_err(|_| cause);
        let buffer = PyUntypedBuffer::get(object).or_else(viewed).map_err(|cause| wrong(no_buffer(object, &cause)))?;
        let (scalar, swapped) = scalar_type(buffer.format(), buffer.item_size())
            .ok_or_else(|| wrong(no_number(&buffer.format().to_string_lossy())))?;
        if buffer.shape() != [nz, ny, nx] {
            let shape = buffer.shape();
            return Err(wrong(format!(
                "the array has shape {shape:?}, this rank's block [nz, ny, nx] = {:?}: x is the last axis (array.T turns \
                 [x, y, z] round), and ghost layers are left out",
                [nz, ny, nx]
            )));
        }
        if buffer.suboffsets().is_some() {
            return Err(wrong("the array is one of pointers: pass what numpy.asarray makes of it".to_owned()));
        }
        let strides = buffer.strides();
        let strides = [strides[2], strides[1], strides[0]];
        let values = Strided { first: buffer.buf_ptr().cast_const().cast(), scalar, swapped, size, strides };
        Ok(Self { values, _held: buffer })
    }

    /// The same, with some of its axes run through the other way.
    pub(crate) fn turned(self, reversed: Reversed) -> Self {
        Self { values: self.values.turned(reversed), ..self }
    }

    /// Copies the values to `out`, `[z, y, x]`, as float32; Python need not be held meanwhile.
    pub(crate) fn copy_to(&self, out: &mut [f32]) {
        #[expect(unsafe_code, reason = "the memory is Python's")]
        // SAFETY: the exporter vouches for shape and strides, and keeps the memory while the buffer is held. `out` is ours.
        unsafe {
            self.values.copy_to(out);
        }
    }
}

/// Whether it is a number of Python's or NumPy's, or an array without axes.
fn is_one_number(object: &Bound<'_, PyAny>) -> bool {
    let has_no_axes = || object.getattr("shape").and_then(|shape| shape.len()).is_ok_and(|axes| axes == 0);
    object.is_instance_of::<PyFloat>() || object.is_instance_of::<PyInt>() || has_no_axes()
}

/// Why there are no values to be read where they lie.
fn no_buffer(object: &Bound<'_, PyAny>, cause: &PyErr) -> String {
    let given = object.get_type();
    // NumPy's arrays have no buffer where no format of the `struct` module means their type, those of xarray and Dask have none.
    let Ok(kind) = object.getattr("dtype").and_then(|kind| Ok(kind.str()?.to_string())) else {
        return format!("{given} is no array ({cause}): pass one of numpy, or what numpy.asarray makes of it");
    };
    if kind.starts_with("datetime64") {
        return format!(
            "values are dates ({kind}): pass how long they are after one of them, as (array - array.min()) / numpy.timedelta64(1, \"s\")"
        );
    }
    if kind.starts_with("timedelta64") {
        return format!("values are times ({kind}): pass numbers of a unit, as array / numpy.timedelta64(1, \"s\")");
    }
    if let Ok(axes) = object.getattr("dims").and_then(|axes| Ok(axes.str()?.to_string())) {
        return format!(
            "{given} has axes {axes}: pass its values with x last, as array.transpose(\"z\", \"y\", \"x\").values"
        );
    }
    format!(
        "{given} of {kind} is not read where it lies ({cause}): pass what numpy.asarray(array, \"float32\") makes of it"
    )
}

/// Why values of a format of the `struct` module are not taken.
fn no_number(format: &str) -> String {
    let kind = format.trim_start_matches(['<', '>', '=', '@', '!']);
    if kind.starts_with('Z') {
        return "values are complex numbers: pass array.real, array.imag or abs(array)".to_owned();
    }
    if kind.starts_with("T{") {
        return "values are records: pass one member of them, as array[\"name\"]".to_owned();
    }
    if kind.ends_with(['s', 'w', 'U', 'u']) {
        return "values are text: pass numbers (array.astype(\"float32\"), where the text is numbers)".to_owned();
    }
    format!("values of format {format:?} are no real numbers of 1 to 8 bytes: convert with array.astype(\"float32\")")
}

/// The type that a format of the `struct` module means, and whether its bytes are in the other order.
fn scalar_type(format: &CStr, bytes: usize) -> Option<(ScalarType, bool)> {
    use ElementType::{Bool, Float, SignedInteger, Unknown, UnsignedInteger};
    let scalar = match ElementType::from_format(format) {
        Bool => ScalarType::U8,
        UnsignedInteger { bytes: 1 } => ScalarType::U8,
        UnsignedInteger { bytes: 2 } => ScalarType::U16,
        UnsignedInteger { bytes: 4 } => ScalarType::U32,
        UnsignedInteger { bytes: 8 } => ScalarType::U64,
        SignedInteger { bytes: 1 } => ScalarType::I8,
        SignedInteger { bytes: 2 } => ScalarType::I16,
        SignedInteger { bytes: 4 } => ScalarType::I32,
        SignedInteger { bytes: 8 } => ScalarType::I64,
        Float { bytes: 2 } => ScalarType::F16,
        Float { bytes: 4 } => ScalarType::F32,
        Float { bytes: 8 } => ScalarType::F64,
        Unknown | UnsignedInteger { .. } | SignedInteger { .. } | Float { .. } => return None,
    };
    let foreign: &[u8] = if cfg!(target_endian = "little") { b">!" } else { b"<" };
    let swapped = format.to_bytes().first().is_some_and(|order| foreign.contains(order));
    (scalar.bytes() == bytes).then_some((scalar, swapped))
}
