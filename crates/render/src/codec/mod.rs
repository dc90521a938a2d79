//! Planes of 8- and 16-bit samples as symbols, compressed by zstd: the bytes inside bricks and tiles.
//!
//! A symbol is the difference of a sample to what those before it lead one to expect (mod 2^bits), its sign interleaved: 0, -1, 1, -2, ... are
//! 0, 1, 2, 3, ... Of an image that is the plane through three neighbours; bricks have [ways of their own](crate::bricks).
//! All planes of one payload, those of 8 bits first, share one zstd frame; what differs in kind has blocks of its own there.
//! Invariant: decoding never holds more than the size the caller expects, whatever the frame claims.

use std::cell::RefCell;
use std::io;

use thiserror::Error;
use zstd::bulk::Decompressor;
use zstd::zstd_safe::zstd_sys::ZSTD_EndDirective as Directive;
use zstd::zstd_safe::{CCtx, CParameter, InBuffer, OutBuffer, Strategy, compress_bound};

use self::packing::{Misfit, Symbols};

mod packing;
mod whole;

#[cfg(test)]
mod tests;

pub(crate) use whole::whole;

/// How zstd looks for what repeats: only for what is long, as in fields that are constant somewhere. Symbols beside each other are alike often, and
/// to say so costs more than to name them again.
const PARAMETERS: [CParameter; 4] = [
    CParameter::Strategy(Strategy::ZSTD_fast),
    CParameter::MinMatch(7),
    CParameter::WindowLog(17),
    CParameter::HashLog(12),
];
/// Bytes of one kind that are worth a block, and with it Huffman codes, of their own.
const LEAST_BLOCK: usize = 256;
/// More than what beginning a block takes.
const BLOCK_BYTES: usize = 16;

/// Why a payload cannot be decoded.
#[derive(Debug, Error)]
pub enum CodecError {
    /// Not a zstd frame, damaged, or longer than it may be.
    #[error(
        "payload of {length} bytes is not a zstd frame of at most {expected} bytes ({cause}): it is damaged, send it again"
    )]
    Frame {
        /// Compressed bytes.
        length: usize,
        /// Decompressed bytes that belong there at most.
        expected: usize,
        /// zstd's reason.
        cause: io::Error,
    },
    /// The frame does not hold the planes that it should.
    #[error("payload holds {got} bytes where {expected} belong: it is damaged, send it again")]
    Length {
        /// Decompressed bytes that belong there.
        expected: usize,
        /// Decompressed bytes found.
        got: usize,
    },
    /// A part of the frame begins with a byte that says nothing.
    #[error(
        "a part of the payload begins with the byte {way} where 0 or 1 belongs: it is damaged, or of another version"
    )]
    Way {
        /// That byte.
        way: u8,
    },
}

/// Collects planes and compresses them; keep one per thread, it reuses its memory.
pub struct PlaneEncoder {
    compressor: CCtx<'static>,
    symbols: Symbols,
    bytes: Vec<u8>,
    /// Where bytes of another kind begin.
    kinds: Vec<usize>,
    frame: Vec<u8>,
}

impl PlaneEncoder {
    /// An encoder.
    ///
    /// # Panics
    /// If zstd cannot allocate its tables.
    pub fn new() -> Self {
        let mut compressor = CCtx::create();
        for parameter in PARAMETERS {
            compressor.set_parameter(parameter).expect("zstd knows its parameters");
        }
        Self { compressor, symbols: Symbols::default(), bytes: Vec::new(), kinds: Vec::new(), frame: Vec::new() }
    }

    /// Appends an image of 8-bit samples in rows of `width`: differences to `left + above - above left`.
    pub fn push_image_8(&mut self, plane: &[u8], width: usize) {
        let start = self.symbols.narrow.len();
        self.symbols.narrow.resize(start + plane.len(), 0);
        let symbols = &mut self.symbols.narrow[start..];
        image_differences(plane, width, u8::wrapping_add, u8::wrapping_sub, symbols);
        symbols.iter_mut().for_each(|symbol| *symbol = interleave_signs_8(*symbol));
    }

    /// The same of 16-bit samples; it is a part by itself.
    pub fn push_image_16(&mut self, plane: &[u16], width: usize) {
        let start = self.symbols.wide.len();
        self.symbols.wide.resize(start + plane.len(), 0);
        let symbols = &mut self.symbols.wide[start..];
        image_differences(plane, width, u16::wrapping_add, u16::wrapping_sub, symbols);
        symbols.iter_mut().for_each(|symbol| *symbol = interleave_signs(*symbol));
        self.symbols.end_part();
    }

    /// Appends a part of symbols of 16 bits.
    pub(crate) fn push_symbols_16(&mut self, symbols: &[u16]) {
        self.symbols.wide.extend_from_slice(symbols);
        self.symbols.end_part();
    }

    /// Lends the list of symbols of 8 bits, to append some.
    pub(crate) fn symbols_8(&mut self) -> &mut Vec<u8> {
        &mut self.symbols.narrow
    }

    /// Lends the list of symbols of 16 bits, to append some.
    pub(crate) fn symbols_16(&mut self) -> &mut Vec<u16> {
        &mut self.symbols.wide
    }

    /// Compresses what was pushed since the last call into one frame.
    ///
    /// # Panics
    /// If zstd finds its own bound too small.
    pub fn finish(&mut self) -> Vec<u8> {
        self.symbols.write(&mut self.bytes, &mut self.kinds);
        self.symbols.clear();
        let bound = compress_bound(self.bytes.len()) + BLOCK_BYTES * self.kinds.len();
        if self.frame.len() < bound {
            self.frame.resize(bound, 0);
        }
        let stated = self.compressor.set_pledged_src_size(Some(self.bytes.len() as u64));
        stated.expect("between frames zstd takes the next one's size");
        let mut out = OutBuffer::around(&mut self.frame[..]);
        let (mut start, ends) = (0, self.kinds.iter().copied().filter(|end| self.bytes.len() - end >= LEAST_BLOCK));
        for end in ends {
            if end - start >= LEAST_BLOCK {
                push(&mut self.compressor, &mut out, &self.bytes[start..end], Directive::ZSTD_e_flush);
                start = end;
            }
        }
        push(&mut self.compressor, &mut out, &self.bytes[start..], Directive::ZSTD_e_end);
        let length = out.pos();
        self.frame[..length].to_vec()
    }

    /// Compresses symbols that lie one part after the other, of those of 16 bits all low bytes first, into one frame.
    pub(crate) fn frame_of(&mut self, plain: &[u8], narrow: usize) -> Vec<u8> {
        self.symbols.resize(narrow, &[(plain.len() - narrow) / 2]);
        self.symbols.read_plain(plain);
        self.finish()
    }
}

/// Compresses some more of a frame, and ends a block with it.
fn push(compressor: &mut CCtx<'static>, out: &mut OutBuffer<'_, [u8]>, bytes: &[u8], directive: Directive) {
    let mut input = InBuffer::around(bytes);
    let left = compressor.compress_stream2(out, &mut input, directive);
    assert!(left == Ok(0) && input.pos() == bytes.len(), "a buffer of zstd's own bound holds any frame");
}

impl Default for PlaneEncoder {
    fn default() -> Self {
        Self::new()
    }
}

/// Decompresses payloads and hands out their planes in order; keep one per thread, it reuses its memory.
pub struct PlaneDecoder {
    decompressor: Decompressor<'static>,
    bytes: Vec<u8>,
    symbols: Symbols,
    /// How many of either width have been handed out.
    read: [usize; 2],
}

impl PlaneDecoder {
    /// A decoder.
    ///
    /// # Panics
    /// If zstd cannot allocate its tables.
    pub fn new() -> Self {
        let decompressor = Decompressor::new().expect("zstd allocates its decompressor");
        Self { decompressor, bytes: Vec::new(), symbols: Symbols::default(), read: [0; 2] }
    }

    /// Decompresses `frame`, which must hold so many samples of 8 bits, and parts of so many of 16 bits.
    ///
    /// # Errors
    /// [`CodecError`] if it does not.
    pub fn open(&mut self, frame: &[u8], narrow: usize, wide: &[usize]) -> Result<(), CodecError> {
        self.read = [0; 2];
        self.symbols.resize(narrow, wide);
        let most = self.symbols.most_bytes();
        self.bytes.resize(most, 0);
        let got = self.decompressor.decompress_to_buffer(frame, &mut self.bytes[..]);
        let got = got.map_err(|cause| CodecError::Frame { length: frame.len(), expected: most, cause })?;
        self.symbols.read(&self.bytes[..got]).map_err(|misfit| match misfit {
            Misfit::Length(expected) => CodecError::Length { expected, got },
            Misfit::Way(way) => CodecError::Way { way },
        })
    }

    /// Reads the next image of 8-bit samples, in rows of `width`.
    ///
    /// # Panics
    /// If more is read than [`PlaneDecoder::open`] was told to expect.
    pub fn read_image_8(&mut self, plane: &mut [u8], width: usize) {
        let symbols = self.next_8(plane.len());
        plane.iter_mut().zip(symbols).for_each(|(out, symbol)| *out = separate_signs_8(*symbol));
        image_sums(plane, width, u8::wrapping_add);
    }

    /// The same of 16-bit samples.
    ///
    /// # Panics
    /// If more is read than [`PlaneDecoder::open`] was told to expect.
    pub fn read_image_16(&mut self, plane: &mut [u16], width: usize) {
        let symbols = self.next_16(plane.len());
        plane.iter_mut().zip(symbols).for_each(|(out, symbol)| *out = separate_signs(*symbol));
        image_sums(plane, width, u16::wrapping_add);
    }

    /// The next symbols of 8 bits.
    ///
    /// # Panics
    /// If more is read than [`PlaneDecoder::open`] was told to expect.
    pub(crate) fn next_8(&mut self, count: usize) -> &[u8] {
        let start = self.read[0];
        self.read[0] += count;
        &self.symbols.narrow[start..][..count]
    }

    /// The next symbols of 16 bits.
    ///
    /// # Panics
    /// If more is read than [`PlaneDecoder::open`] was told to expect.
    pub(crate) fn next_16(&mut self, count: usize) -> &[u16] {
        let start = self.read[1];
        self.read[1] += count;
        &self.symbols.wide[start..][..count]
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

/// Undoes [`image_differences`], in place: running sums along each row, then the finished row above added.
fn image_sums<T: Copy + Default>(image: &mut [T], width: usize, add: impl Fn(T, T) -> T) {
    let width = width.max(1);
    for start in (0..image.len()).step_by(width) {
        let (before, rest) = image.split_at_mut(start);
        let row_length = width.min(rest.len());
        let row = &mut rest[..row_length];
        let mut sum = T::default();
        for value in &mut *row {
            sum = add(sum, *value);
            *value = sum;
        }
        if start > 0 {
            row.iter_mut().zip(&before[start - width..]).for_each(|(value, above)| *value = add(*value, *above));
        }
    }
}

pub(crate) fn interleave_signs_8(difference: u8) -> u8 {
    (difference << 1) ^ ((difference as i8 >> 7) as u8)
}

pub(crate) fn separate_signs_8(symbol: u8) -> u8 {
    (symbol >> 1) ^ (symbol & 1).wrapping_neg()
}

/// 0, -1, 1, -2, ... as 0, 1, 2, 3, ...: small differences of either sign are small symbols.
pub(crate) fn interleave_signs(difference: u16) -> u16 {
    (difference << 1) ^ ((difference as i16 >> 15) as u16)
}

pub(crate) fn separate_signs(code: u16) -> u16 {
    (code >> 1) ^ (code & 1).wrapping_neg()
}

thread_local! {
    static ENCODER: RefCell<PlaneEncoder> = RefCell::default();
    static DECODER: RefCell<PlaneDecoder> = RefCell::default();
}

/// Lends this thread's encoder: its tables are too costly to make for each payload.
pub(crate) fn with_encoder<T>(use_it: impl FnOnce(&mut PlaneEncoder) -> T) -> T {
    ENCODER.with_borrow_mut(use_it)
}

/// Lends this thread's decoder.
pub(crate) fn with_decoder<T>(use_it: impl FnOnce(&mut PlaneDecoder) -> T) -> T {
    DECODER.with_borrow_mut(use_it)
}
