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
    row: Vec<u16>,
    frame: Vec<u8>,
}

impl PlaneEncoder {
    /// An encoder at zstd `level`.
    ///
    /// # Panics
    /// If zstd cannot allocate its tables.
    pub fn new(level: i32) -> Self {
        let compressor = Compressor::new(level).expect("zstd allocates its compressor");
        Self { compressor, differences: Vec::new(), row: Vec::new(), frame: Vec::new() }
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
        let mut above = &[][..];
        for row in plane.chunks(width.max(1)) {
            let start = self.differences.len();
            self.differences.extend_from_slice(row);
            let out = &mut self.differences[start..];
            out.iter_mut().zip(above).for_each(|(out, above)| *out = out.wrapping_sub(*above));
            differ_in_place(out, u8::wrapping_sub);
            above = row;
        }
    }

    /// Appends an image of 16-bit samples in rows of `width`: differences as for 8 bits, those from -1 down interleaved
    /// with those from 0 up (`0, -1, 1, -2, ...` are 0, 1, 2, 3, ...), then all low bytes and all high bytes.
    pub fn push_image_16(&mut self, plane: &[u16], width: usize) {
        let mut row_differences = std::mem::take(&mut self.row);
        let start = self.differences.len();
        self.differences.resize(start + 2 * plane.len(), 0);
        let (low, high) = self.differences[start..].split_at_mut(plane.len());
        let width = width.max(1);
        let mut above = &[][..];
        for ((row, low), high) in plane.chunks(width).zip(low.chunks_mut(width)).zip(high.chunks_mut(width)) {
            row_differences.clear();
            row_differences.extend_from_slice(row);
            row_differences.iter_mut().zip(above).for_each(|(out, above)| *out = out.wrapping_sub(*above));
            differ_in_place(&mut row_differences, u16::wrapping_sub);
            for ((low, high), difference) in low.iter_mut().zip(high).zip(&row_differences) {
                [*low, *high] = interleave_signs(*difference).to_le_bytes();
            }
            above = row;
        }
        self.row = row_differences;
    }

    /// Compresses the planes pushed since the last call into one frame.
    pub fn finish(&mut self) -> Vec<u8> {
        let bound = zstd::zstd_safe::compress_bound(self.differences.len());
        if self.frame.len() < bound {
            self.frame.resize(bound, 0);
        }
        let compressed = self.compressor.compress_to_buffer(&self.differences, &mut self.frame);
        let length = compressed.expect("a buffer of zstd's own bound holds any frame");
        self.differences.clear();
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

/// Replaces each value but the first by its difference to the one before it.
fn differ_in_place<T: Copy>(values: &mut [T], subtract: impl Fn(T, T) -> T) {
    for i in (1..values.len()).rev() {
        values[i] = subtract(values[i], values[i - 1]);
    }
}

fn add_row_above<T: Copy>(plane: &mut [T], row: Range<usize>, width: usize, add: impl Fn(T, T) -> T) {
    if let Some(above) = row.start.checked_sub(width) {
        let (before, rest) = plane.split_at_mut(row.start);
        rest[..row.len()].iter_mut().zip(&before[above..]).for_each(|(out, above)| *out = add(*out, *above));
    }
}

/// 0, -1, 1, -2, ... as 0, 1, 2, 3, ...: small differences of either sign have a high byte of 0.
fn interleave_signs(difference: u16) -> u16 {
    (difference << 1) ^ ((difference as i16 >> 15) as u16)
}

fn separate_signs(code: u16) -> u16 {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    fn round_trip(bytes: &[u8], words: &[u16]) {
        let mut encoder = PlaneEncoder::new(ZSTD_LEVEL);
        encoder.push_8(bytes);
        encoder.push_16(words);
        let frame = encoder.finish();
        let mut decoder = PlaneDecoder::new();
        decoder.open(&frame, bytes.len() + 2 * words.len()).unwrap();
        let (mut got_bytes, mut got_words) = (vec![1; bytes.len()], vec![1; words.len()]);
        decoder.read_8(&mut got_bytes);
        decoder.read_16(&mut got_words);
        assert_eq!((got_bytes.as_slice(), got_words.as_slice()), (bytes, words));
    }

    #[test]
    fn planes_survive_encoding_whatever_they_hold() {
        let mut random = Random::new(1);
        for length in [0, 1, 2, 7, 64, 4356] {
            let bytes: Vec<u8> = (0..length).map(|_| random.next_u32() as u8).collect();
            let words: Vec<u16> = (0..length).map(|_| random.next_u32() as u16).collect();
            round_trip(&bytes, &words);
            round_trip(&words.iter().map(|w| (w & 3) as u8).collect::<Vec<_>>(), &vec![65535; length]);
        }
    }

    #[test]
    fn differences_wrap_and_sixteen_bits_come_low_bytes_first() {
        let mut encoder = PlaneEncoder::new(ZSTD_LEVEL);
        encoder.push_8(&[200, 10, 10]);
        encoder.push_16(&[0x0102, 0x0001, 0xffff]);
        let frame = encoder.finish();
        let raw = zstd::decode_all(frame.as_slice()).unwrap();
        assert_eq!(raw, [200, 66, 0, 0x02, 0xff, 0xfe, 0x01, 0xfe, 0xff]);
    }

    #[test]
    fn images_survive_encoding_whatever_they_hold() {
        let mut random = Random::new(13);
        for (width, height) in [(1, 1), (1, 9), (9, 1), (66, 65), (5, 0)] {
            let words: Vec<u16> = (0..width * height).map(|_| random.next_u32() as u16).collect();
            let bytes: Vec<u8> = words.iter().map(|w| *w as u8).collect();
            let mut encoder = PlaneEncoder::new(ZSTD_LEVEL);
            encoder.push_image_16(&words, width);
            encoder.push_image_8(&bytes, width);
            let frame = encoder.finish();
            let mut decoder = PlaneDecoder::new();
            decoder.open(&frame, 3 * words.len()).unwrap();
            let (mut got_words, mut got_bytes) = (vec![1; words.len()], vec![1; words.len()]);
            decoder.read_image_16(&mut got_words, width);
            decoder.read_image_8(&mut got_bytes, width);
            assert_eq!((got_words, got_bytes), (words, bytes));
        }
    }

    #[test]
    fn images_are_differences_to_the_plane_through_three_neighbours() {
        let mut encoder = PlaneEncoder::new(ZSTD_LEVEL);
        encoder.push_image_8(&[10, 12, 13, 16], 2);
        encoder.push_image_16(&[10, 12, 13, 14], 2);
        let raw = zstd::decode_all(encoder.finish().as_slice()).unwrap();
        assert_eq!(raw, [10, 2, 3, 1, 20, 4, 6, 1, 0, 0, 0, 0]);
    }

    #[test]
    fn an_encoder_starts_afresh_after_each_frame() {
        let mut encoder = PlaneEncoder::new(ZSTD_LEVEL);
        encoder.push_8(&[1, 2, 3]);
        let first = encoder.finish();
        encoder.push_8(&[1, 2, 3]);
        assert_eq!(encoder.finish(), first);
    }

    #[test]
    fn a_frame_of_another_size_is_refused() {
        let mut encoder = PlaneEncoder::new(ZSTD_LEVEL);
        encoder.push_8(&[5; 100]);
        let frame = encoder.finish();
        let mut decoder = PlaneDecoder::new();
        assert!(matches!(decoder.open(&frame, 99), Err(CodecError::Frame { .. })));
        assert!(matches!(decoder.open(&frame, 101), Err(CodecError::Length { expected: 101, got: 100 })));
        assert!(decoder.open(&frame, 100).is_ok());
    }

    #[test]
    fn damaged_frames_are_errors_and_stay_within_bounds() {
        let mut random = Random::new(2);
        let plane: Vec<u8> = (0..4096).map(|_| (random.next_u32() % 5) as u8).collect();
        let mut encoder = PlaneEncoder::new(ZSTD_LEVEL);
        encoder.push_8(&plane);
        let frame = encoder.finish();
        let mut decoder = PlaneDecoder::new();
        for _ in 0..2000 {
            let mut damaged = frame.clone();
            let at = random.next_u32() as usize % damaged.len();
            damaged[at] ^= 1 << (random.next_u32() % 8);
            damaged.truncate(damaged.len() - (random.next_u32() % 3) as usize);
            // A flipped bit may still decode; what counts is that nothing larger comes out.
            let _ = decoder.open(&damaged, plane.len());
            assert_eq!(decoder.differences.len(), plane.len());
        }
    }
}
