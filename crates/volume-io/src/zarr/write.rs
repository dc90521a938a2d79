//! Arrays as Zarr version 3 stores them: documents, and chunks compressed by Blosc (Zstandard, bytes shuffled).
//!
//! Owns no file. Invariant: the same values give the same bytes, whenever and by however many threads they are encoded.

use half::f16;
use serde_json::{Map, Value, json};
use visapult_volume::ScalarType;
use zarrs::array::codec::{BloscCompressionLevel, BloscCompressor, BloscShuffleMode, blosc_compress_bytes};

use crate::SourceError;

const LEVEL: u8 = 5;

/// An array that is to be stored, chunk by chunk.
#[derive(Clone, Debug)]
pub struct ZarrArray {
    /// Samples along each axis, slowest first.
    pub shape: Vec<u64>,
    /// Samples of a chunk along each axis.
    pub chunk: Vec<u64>,
    /// What the axes are called.
    pub axes: Vec<String>,
    /// How its values are stored.
    pub scalar: ScalarType,
    /// What else is known of it.
    pub attributes: Map<String, Value>,
}

impl ZarrArray {
    /// Its `zarr.json`.
    #[must_use]
    pub fn document(&self) -> Vec<u8> {
        let floating = matches!(self.scalar, ScalarType::F16 | ScalarType::F32 | ScalarType::F64);
        let fill = if floating { json!("NaN") } else { json!(0) };
        let blosc = json!({
            "cname": "zstd", "clevel": LEVEL, "shuffle": "shuffle", "typesize": self.scalar.bytes(), "blocksize": 0,
        });
        text(&json!({
            "zarr_format": 3,
            "node_type": "array",
            "shape": self.shape,
            "data_type": data_type(self.scalar),
            "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": self.chunk } },
            "chunk_key_encoding": { "name": "default", "configuration": { "separator": "/" } },
            "fill_value": fill,
            "codecs": [
                { "name": "bytes", "configuration": { "endian": "little" } },
                { "name": "blosc", "configuration": blosc },
            ],
            "dimension_names": self.axes,
            "attributes": self.attributes,
        }))
    }

    /// A whole chunk of these values, as it is stored.
    ///
    /// # Errors
    /// [`SourceError::Format`] if the library refuses it.
    pub fn encode(&self, values: &[f32]) -> Result<Vec<u8>, SourceError> {
        let bytes = match self.scalar {
            ScalarType::U8 => bytes_of(values, |v| (v as u8).to_le_bytes()),
            ScalarType::I8 => bytes_of(values, |v| (v as i8).to_le_bytes()),
            ScalarType::U16 => bytes_of(values, |v| (v as u16).to_le_bytes()),
            ScalarType::I16 => bytes_of(values, |v| (v as i16).to_le_bytes()),
            ScalarType::U32 => bytes_of(values, |v| (v as u32).to_le_bytes()),
            ScalarType::I32 => bytes_of(values, |v| (v as i32).to_le_bytes()),
            ScalarType::U64 => bytes_of(values, |v| (v as u64).to_le_bytes()),
            ScalarType::I64 => bytes_of(values, |v| (v as i64).to_le_bytes()),
            ScalarType::F16 => bytes_of(values, |v| f16::from_f32(v).to_le_bytes()),
            ScalarType::F32 => bytes_of(values, f32::to_le_bytes),
            ScalarType::F64 => bytes_of(values, |v| f64::from(v).to_le_bytes()),
        };
        self.compress(&bytes)
    }

    /// A whole chunk of an array of doubles.
    ///
    /// # Errors
    /// [`SourceError::Format`] if the library refuses it.
    ///
    /// # Panics
    /// If the array is not one of doubles.
    pub fn encode_doubles(&self, values: &[f64]) -> Result<Vec<u8>, SourceError> {
        assert_eq!(self.scalar, ScalarType::F64, "an array of doubles");
        self.compress(&values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())
    }

    fn compress(&self, bytes: &[u8]) -> Result<Vec<u8>, SourceError> {
        let wrong = |cause: String| SourceError::format("a chunk", format!("it cannot be compressed: {cause}"));
        let level = BloscCompressionLevel::try_from(LEVEL).map_err(|level| wrong(format!("level {level}")))?;
        let (shuffle, zstd) = (BloscShuffleMode::Shuffle, BloscCompressor::Zstd);
        // Several threads of one chunk would put its blocks in any order.
        blosc_compress_bytes(bytes, level, shuffle, self.scalar.bytes(), zstd, 0, 1).map_err(|e| wrong(e.to_string()))
    }
}

/// The `zarr.json` of a group.
#[must_use]
pub fn zarr_group(attributes: &Map<String, Value>) -> Vec<u8> {
    text(&json!({ "zarr_format": 3, "node_type": "group", "attributes": attributes }))
}

fn text(document: &Value) -> Vec<u8> {
    format!("{document:#}\n").into_bytes()
}

fn bytes_of<const N: usize>(values: &[f32], bytes: impl Fn(f32) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|&value| bytes(value)).collect()
}

fn data_type(scalar: ScalarType) -> &'static str {
    match scalar {
        ScalarType::U8 => "uint8",
        ScalarType::I8 => "int8",
        ScalarType::U16 => "uint16",
        ScalarType::I16 => "int16",
        ScalarType::U32 => "uint32",
        ScalarType::I32 => "int32",
        ScalarType::U64 => "uint64",
        ScalarType::I64 => "int64",
        ScalarType::F16 => "float16",
        ScalarType::F32 => "float32",
        ScalarType::F64 => "float64",
    }
}
