//! Planes of 8- and 16-bit samples as differences, compressed by zstd: the bytes inside bricks and tiles.
//!
//! A plane is replaced by differences between neighbours in memory (mod 2^bits; the first to 0), or, where it is an
//! image, to the plane through three neighbours; 16-bit differences are split into all low bytes, then all high bytes.
//! All planes of one payload share one zstd frame.
//! Invariant: decoding never holds more than the size the caller expects, whatever the frame claims.

use std::cell::RefCell;
use std::io;
use std::ops::Range;

use thiserror::Error;
use zstd::bulk::{Compressor, Decompressor};

mod whole;

#[cfg(test)]
mod tests;

pub(crate) use whole::whole;

/// zstd level of all payloads: higher ones cost more time than the link gains.
pub const ZSTD_LEVEL: i32 = 3;

/// Why a payload cannot be decoded.
#[derive(Debug, Error)]
pub enum CodecError {
    /// Not a zstd frame, damaged, or longer than it may be.
    #[error(
        "payload of {length} bytes is not a zstd frame of {expected} bytes ({cause}): it is damaged, send it again"
    )]
    Frame {
        /// Compressed bytes.
        length: usize,
        /// Decompressed bytes that belong there.
        expected: usize,
        /// zstd's reason.
        cause: io::Error,
    },
    /// The frame is shorter than the planes it should hold.
    #[error("payload holds {got} bytes where {expected} belong: it is damaged, send it again")]
    Length {
        /// Decompressed bytes that belong there.
        expected: usize,
        /// Decompressed bytes found.
        got: usize,
    },
}

/// Collects planes and compresses them; keep one per thread, it reuses its memory.
pub struct PlaneEncoder {
    compressor: Compressor<'static>,
    differences: Vec<u8>,
    /// Differences of an image of 16 bits.
    image: Vec<u16>,
    frame: Vec<u8>,
}

impl PlaneEncoder {
    /// An encoder at zstd `level`.
    ///
    /// # Panics
    /// If zstd cannot allocate its tables.
    pub fn new(level: i32) -> Self {
        let compressor = Compressor::new(level).expect("zstd allocates its compressor");
        Self { compressor, differences: Vec::new(), image: Vec::new(), frame: Vec::new() }
    }

    /// Appends a plane of 8-bit samples.
    pub fn push_8(&mut self, plane: &[u8]) {
        let start = self.differences.len();
        self.differences.extend_from_slice(plane);
        let out = &mut self.differences[start..];
        for ((out, value), before) in out.iter_mut().skip(1).zip(plane.iter().skip(1)).zip(plane) {
            *out = value.wrapping_sub(*before);
        }
    }

    /// Appends a plane of 16-bit samples: low bytes of all differences, then high bytes.
    pub fn push_16(&mut self, plane: &[u16]) {
        let start = self.differences.len();
        self.differences.resize(start + 2 * plane.len(), 0);
        let (low, high) = self.differences[start..].split_at_mut(plane.len());
        let before = std::iter::once(&0).chain(plane);
        for (((low, high), value), before) in low.iter_mut().zip(high).zip(plane).zip(before) {
            [*low, *high] = value.wrapping_sub(*before).to_le_bytes();
        }
    }

    /// Appends an image of 8-bit samples in rows of `width`: differences to `left + above - above left`.
    pub fn push_image_8(&mut self, plane: &[u8], width: usize) {
        let start = self.differences.len();
        self.differences.resize(start + plane.len(), 0);
        image_differences(plane, width, u8::wrapping_add, u8::wrapping_sub, &mut self.differences[start..]);
    }

    /// Appends an image of 16-bit samples in rows of `width`: differences as for 8 bits, those from -1 down interleaved
    /// with those from 0 up (`0, -1, 1, -2, ...` are 0, 1, 2, 3, ...), then all low bytes and all high bytes.
    pub fn push_image_16(&mut self, plane: &[u16], width: usize) {
        self.image.resize(plane.len(), 0);
        image_differences(plane, width, u16::wrapping_add, u16::wrapping_sub, &mut self.image);
        let start = self.differences.len();
        self.differences.resize(start + 2 * plane.len(), 0);
        let (low, high) = self.differences[start..].split_at_mut(plane.len());
        for ((low, high), difference) in low.iter_mut().zip(high).zip(&self.image) {
            [*low, *high] = interleave_signs(*difference).to_le_bytes();
        }
    }

    /// Appends samples of 16 bits as they are: all low bytes, then all high bytes.
    pub(crate) fn push_list_16(&mut self, list: &[u16]) {
        self.differences.extend(list.iter().map(|value| *value as u8));
        self.differences.extend(list.iter().map(|value| (*value >> 8) as u8));
    }

    /// Compresses the planes pushed since the last call into one frame.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut differences = std::mem::take(&mut self.differences);
        let frame = self.compress(&differences);
        differences.clear();
        self.differences = differences;
        frame
    }

    /// Compresses planes that are differences already into one frame.
    pub(crate) fn compress(&mut self, differences: &[u8]) -> Vec<u8> {
        let bound = zstd::zstd_safe::compress_bound(differences.len());
        if self.frame.len() < bound {
            self.frame.resize(bound, 0);
        }
        let compressed = self.compressor.compress_to_buffer(differences, &mut self.frame);
        let length = compressed.expect("a buffer of zstd's own bound holds any frame");
        self.frame[..length].to_vec()
    }
}

/// Decompresses payloads and hands out their planes in order; keep one per thread, it reuses its memory.
pub struct PlaneDecoder {
    decompressor: Decompressor<'static>,
    differences: Vec<u8>,
    read: usize,
}

impl PlaneDecoder {
    /// A decoder.
    ///
    /// # Panics
    /// If zstd cannot allocate its tables.
    pub fn new() -> Self {
        let decompressor = Decompressor::new().expect("zstd allocates its decompressor");
        Self { decompressor, differences: Vec::new(), read: 0 }
    }

    /// Decompresses `frame`, which must hold exactly `expected` bytes of planes.
    ///
    /// # Errors
    /// [`CodecError`] if it does not.
    pub fn open(&mut self, frame: &[u8], expected: usize) -> Result<(), CodecError> {
        self.read = 0;
        self.differences.resize(expected, 0);
        let got = self.decompressor.decompress_to_buffer(frame, &mut self.differences[..]);
        match got {
            Ok(got) if got == expected => Ok(()),
            Ok(got) => Err(CodecError::Length { expected, got }),
            Err(cause) => Err(CodecError::Frame { length: frame.len(), expected, cause }),
        }
    }

    /// Reads the next plane of 8-bit samples.
    ///
    /// # Panics
    /// If more is read than [`PlaneDecoder::open`] was told to expect.
    pub fn read_8(&mut self, plane: &mut [u8]) {
        let differences = self.take(plane.len());
        let mut value = 0_u8;
        for (out, difference) in plane.iter_mut().zip(differences) {
            value = value.wrapping_add(*difference);
            *out = value;
        }
    }

    /// Reads the next plane of 16-bit samples.
    ///
    /// # Panics
    /// If more is read than [`PlaneDecoder::open`] was told to expect.
    pub fn read_16(&mut self, plane: &mut [u16]) {
        let (low, high) = self.take(2 * plane.len()).split_at(plane.len());
        let mut value = 0_u16;
        for ((out, low), high) in plane.iter_mut().zip(low).zip(high) {
            value = value.wrapping_add(u16::from_le_bytes([*low, *high]));
            *out = value;
        }
    }

    /// Reads the next image of 8-bit samples, in rows of `width`.
    ///
    /// # Panics
    /// If more is read than [`PlaneDecoder::open`] was told to expect.
    pub fn read_image_8(&mut self, plane: &mut [u8], width: usize) {
        let width = width.max(1);
        for start in (0..plane.len()).step_by(width) {
            let end = (start + width).min(plane.len());
            self.read_8(&mut plane[start..end]);
            add_row_above(plane, start..end, width, u8::wrapping_add);
        }
    }

    /// Reads the next image of 16-bit samples, in rows of `width`.
    ///
    /// # Panics
    /// If more is read than [`PlaneDecoder::open`] was told to expect.
    pub fn read_image_16(&mut self, plane: &mut [u16], width: usize) {
        let (low, high) = self.take(2 * plane.len()).split_at(plane.len());
        for ((out, low), high) in plane.iter_mut().zip(low).zip(high) {
            *out = separate_signs(u16::from_le_bytes([*low, *high]));
        }
        let width = width.max(1);
        for start in (0..plane.len()).step_by(width) {
            let end = (start + width).min(plane.len());
            let mut value = 0_u16;
            for out in &mut plane[start..end] {
                value = value.wrapping_add(*out);
                *out = value;
            }
            add_row_above(plane, start..end, width, u16::wrapping_add);
        }
    }

    /// Reads `count` samples of 16 bits that were written as they are.
    ///
    /// # Panics
    /// If more is read than [`PlaneDecoder::open`] was told to expect.
    pub(crate) fn read_list_16(&mut self, count: usize) -> Vec<u16> {
        let (low, high) = self.take(2 * count).split_at(count);
        low.iter().zip(high).map(|(low, high)| u16::from_le_bytes([*low, *high])).collect()
    }

    fn take(&mut self, bytes: usize) -> &[u8] {
        let start = self.read;
        self.read += bytes;
        &self.differences[start..self.read]
    }
}

impl Default for PlaneDecoder {
    fn default() -> Self {
        Self::new()
    }
}

/// Differences of an image in rows of `width` to the plane through three neighbours; left of it and above it lies 0.
fn image_differences<T: Copy>(
    image: &[T],
    width: usize,
    add: impl Fn(T, T) -> T,
    subtract: impl Fn(T, T) -> T,
    out: &mut [T],
) {
    let width = width.max(1);
    let mut above: &[T] = &[];
    for (row, out) in image.chunks(width).zip(out.chunks_mut(width)) {
        out.copy_from_slice(row);
        out.iter_mut().zip(above).for_each(|(out, above)| *out = subtract(*out, *above));
        out[1..].iter_mut().zip(row).for_each(|(out, left)| *out = subtract(*out, *left));
        out[1..].iter_mut().zip(above).for_each(|(out, above_left)| *out = add(*out, *above_left));
        above = row;
    }
}

fn add_row_above<T: Copy>(plane: &mut [T], row: Range<usize>, width: usize, add: impl Fn(T, T) -> T) {
    if let Some(above) = row.start.checked_sub(width) {
        let (before, rest) = plane.split_at_mut(row.start);
        rest[..row.len()].iter_mut().zip(&before[above..]).for_each(|(out, above)| *out = add(*out, *above));
    }
}

/// 0, -1, 1, -2, ... as 0, 1, 2, 3, ...: small differences of either sign have a high byte of 0.
pub(crate) fn interleave_signs(difference: u16) -> u16 {
    (difference << 1) ^ ((difference as i16 >> 15) as u16)
}

pub(crate) fn separate_signs(code: u16) -> u16 {
    (code >> 1) ^ (code & 1).wrapping_neg()
}

thread_local! {
    static ENCODER: RefCell<PlaneEncoder> = RefCell::new(PlaneEncoder::new(ZSTD_LEVEL));
    static DECODER: RefCell<PlaneDecoder> = RefCell::new(PlaneDecoder::new());
}

/// Lends this thread's encoder: its tables are too costly to make for each payload.
pub(crate) fn with_encoder<T>(use_it: impl FnOnce(&mut PlaneEncoder) -> T) -> T {
    ENCODER.with_borrow_mut(use_it)
}

/// Lends this thread's decoder.
pub(crate) fn with_decoder<T>(use_it: impl FnOnce(&mut PlaneDecoder) -> T) -> T {
    DECODER.with_borrow_mut(use_it)
}
