//! One level of one block as bricks, and back.

use std::cell::RefCell;

use rayon::prelude::*;
use thiserror::Error;
use visapult_volume::{Block, Box3, ValueRange};

use super::pyramid::{Pyramid, Samples};
use super::quantise::{Code, CodeBits, dequantise, quantise};
use crate::VolumeError;
use crate::codec::{CodecError, with_decoder, with_encoder};

/// Samples along the edge of the bricks that are made; readers accept up to [`EncodedBrick::MAX_EDGE`].
pub const BRICK_EDGE: usize = 32;

/// A brick as it crosses the wire: see `docs/src/view-protocol.md`.
#[derive(Clone, Debug, PartialEq)]
pub struct EncodedBrick {
    /// First sample `[x, y, z]`, in the level's grid.
    pub lo: [u16; 3],
    /// Samples per axis.
    pub size: [u16; 3],
    /// Smallest and largest value; both NaN where the brick has no data.
    pub range: [f32; 2],
    /// One zstd frame of code differences; empty where every sample is `range[0]`.
    pub payload: Vec<u8>,
}

/// Why a brick cannot be decoded.
#[derive(Debug, Error)]
pub enum BrickError {
    /// A size no brick has.
    #[error("brick at {lo:?} claims {size:?} samples: 1 to {} per axis are possible", EncodedBrick::MAX_EDGE)]
    Size {
        /// First sample.
        lo: [u16; 3],
        /// Claimed samples per axis.
        size: [u16; 3],
    },
    /// It lies where the level has no samples.
    #[error("brick at {lo:?} of {size:?} samples lies outside level {level} of {level_size:?} samples")]
    Outside {
        /// First sample.
        lo: [u16; 3],
        /// Claimed samples per axis.
        size: [u16; 3],
        /// Level of detail.
        level: u32,
        /// Samples per axis of the level.
        level_size: [usize; 3],
    },
    /// The grid or its values are unusable.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// The payload is damaged.
    #[error("brick at {lo:?}: {cause}")]
    Payload {
        /// First sample.
        lo: [u16; 3],
        /// What is wrong with it.
        cause: CodecError,
    },
}

impl EncodedBrick {
    /// Longest edge that a brick may have.
    pub const MAX_EDGE: u16 = 64;

    /// Number of samples.
    pub fn sample_count(&self) -> usize {
        self.size.iter().map(|&n| usize::from(n)).product()
    }

    /// The brick's samples in its level's grid.
    pub fn bounds(&self) -> Box3 {
        let lo = self.lo.map(usize::from);
        Box3::new(lo, std::array::from_fn(|axis| lo[axis] + usize::from(self.size[axis])))
    }

    /// Bytes in a message: 24 of header and the payload.
    pub fn wire_bytes(&self) -> usize {
        24 + self.payload.len()
    }

    /// The brick's values, `[z, y, x]`, NaN where there is no data.
    ///
    /// # Errors
    /// [`BrickError`] if the size is impossible or the payload damaged.
    pub fn decode(&self, bits: CodeBits) -> Result<Vec<f32>, BrickError> {
        let possible = |n: &u16| (1..=Self::MAX_EDGE).contains(n);
        if !self.size.iter().all(possible) {
            return Err(BrickError::Size { lo: self.lo, size: self.size });
        }
        if self.payload.is_empty() {
            return Ok(vec![self.range[0]; self.sample_count()]);
        }
        let decoded = match bits {
            CodeBits::Eight => self.decode_codes::<u8>(|decoder, codes| decoder.read_8(codes)),
            CodeBits::Sixteen => self.decode_codes::<u16>(|decoder, codes| decoder.read_16(codes)),
        };
        decoded.map_err(|cause| BrickError::Payload { lo: self.lo, cause })
    }

    fn decode_codes<C: Code>(
        &self,
        read: impl Fn(&mut crate::codec::PlaneDecoder, &mut [C]),
    ) -> Result<Vec<f32>, CodecError> {
        let count = self.sample_count();
        let mut codes = vec![C::default(); count];
        with_decoder(|decoder| {
            decoder.open(&self.payload, count * C::BITS.bytes())?;
            read(decoder, &mut codes);
            Ok(())
        })?;
        let mut values = vec![0.0; count];
        dequantise(&codes, self.range, &mut values);
        Ok(values)
    }
}

/// Cuts `level` of what `block` owns into bricks and encodes them, in parallel; order as [`Box3::bricks`].
///
/// # Panics
/// If `pyramid` has no such level, or the level's grid has more than 65 535 samples along an axis.
pub fn encode_level(block: &Block, pyramid: &Pyramid, level: u32, bits: CodeBits) -> Vec<EncodedBrick> {
    let samples = pyramid.samples(block, level);
    let bricks: Vec<Box3> = samples.bounds.bricks(BRICK_EDGE).collect();
    bricks.into_par_iter().map(|bounds| encode_brick(&samples.part(bounds), bits)).collect()
}

/// From one brick that is sampled to the next, as a part of all: multiples of the golden ratio are spread most evenly.
const SPREAD: f64 = 0.618_034;

/// About the bytes on the wire of `level` of what `block` owns: from about `most` bricks, evenly spread.
pub(crate) fn sampled_bytes(block: &Block, pyramid: &Pyramid, level: u32, bits: CodeBits, most: usize) -> usize {
    let samples = pyramid.samples(block, level);
    let bricks: Vec<Box3> = samples.bounds.bricks(BRICK_EDGE).collect();
    let taken = bricks.len().min(most.max(1));
    let bytes = |i: usize| {
        let brick =
            if taken == bricks.len() { i } else { ((i as f64 * SPREAD).fract() * bricks.len() as f64) as usize };
        let brick = bricks[brick];
        encode_brick(&samples.part(brick), bits).wire_bytes()
    };
    let sum: usize = (0..taken).into_par_iter().with_max_len(1).map(bytes).sum();
    sum * bricks.len() / taken.max(1)
}

/// Memory that a thread uses again for each brick.
#[derive(Default)]
struct Scratch {
    values: Vec<f32>,
    codes_8: Vec<u8>,
    codes_16: Vec<u16>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

fn encode_brick(samples: &Samples<'_>, bits: CodeBits) -> EncodedBrick {
    SCRATCH.with_borrow_mut(|scratch| {
        let [_, ny, nz] = samples.bounds.size();
        scratch.values.clear();
        for (z, y) in (0..nz).flat_map(|z| (0..ny).map(move |y| (z, y))) {
            scratch.values.extend_from_slice(samples.row(y, z));
        }
        let range = ValueRange::of(&scratch.values);
        let to_wire = |n: usize| u16::try_from(n).expect("a level's grid has at most 65535 samples along an axis");
        EncodedBrick {
            lo: samples.bounds.lo.map(to_wire),
            size: samples.bounds.size().map(to_wire),
            range: range.map_or([f32::NAN; 2], |range| [range.lo, range.hi]),
            payload: range.map_or_else(Vec::new, |range| encode_codes(scratch, range, bits)),
        }
    })
}

fn encode_codes(scratch: &mut Scratch, range: ValueRange, bits: CodeBits) -> Vec<u8> {
    if range.is_constant() && scratch.values.iter().all(|v| v.is_finite()) {
        return Vec::new();
    }
    with_encoder(|encoder| {
        match bits {
            CodeBits::Eight => {
                scratch.codes_8.clear();
                quantise(&scratch.values, range, &mut scratch.codes_8);
                encoder.push_8(&scratch.codes_8);
            }
            CodeBits::Sixteen => {
                scratch.codes_16.clear();
                quantise(&scratch.values, range, &mut scratch.codes_16);
                encoder.push_16(&scratch.codes_16);
            }
        }
        encoder.finish()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, blocks_of};

    fn noise_with_gaps(size: [usize; 3], seed: u64) -> Vec<f32> {
        let mut random = Random::new(seed);
        let noise = |_| if random.unit() < 0.05 { f32::NAN } else { random.unit() * 40.0 - 7.0 };
        (0..size.iter().product()).map(noise).collect()
    }

    #[test]
    fn bricks_come_back_within_half_a_step_and_gaps_stay_gaps() {
        let size = [70, 33, 5];
        let values = noise_with_gaps(size, 4);
        let block = &blocks_of(&values, size, 1, 1)[0];
        for bits in [CodeBits::Eight, CodeBits::Sixteen] {
            for brick in encode_level(block, &Pyramid::default(), 0, bits) {
                let half_step = 0.505 * (brick.range[1] - brick.range[0]) / bits.steps() as f32;
                let [w, h, _] = brick.bounds().size();
                for (i, got) in brick.decode(bits).unwrap().into_iter().enumerate() {
                    let at = [i % w, i / w % h, i / (w * h)];
                    let at = std::array::from_fn(|axis| at[axis] + brick.bounds().lo[axis]);
                    let value = block.values[block.index_of(at)];
                    assert!((value.is_nan() && got.is_nan()) || (value - got).abs() <= half_step);
                }
            }
        }
    }

    #[test]
    fn constant_and_empty_bricks_have_no_payload() {
        let mut values = vec![2.5; 64 * 4 * 4];
        for row in values.chunks_exact_mut(64) {
            row[32..].fill(f32::NAN);
        }
        let block = &blocks_of(&values, [64, 4, 4], 1, 1)[0];
        let bricks = encode_level(block, &Pyramid::default(), 0, CodeBits::Eight);
        assert_eq!((bricks[0].range, bricks[0].payload.len()), ([2.5, 2.5], 0));
        assert!(bricks[1].range[0].is_nan() && bricks[1].payload.is_empty());
        assert_eq!(bricks[0].decode(CodeBits::Eight).unwrap(), vec![2.5; 512]);
        assert!(bricks[1].decode(CodeBits::Eight).unwrap().iter().all(|v| v.is_nan()));
    }

    #[test]
    fn blocks_of_several_pes_make_the_level_of_one() {
        let size = [64, 64, 64];
        let values = noise_with_gaps(size, 5);
        let level_of = |count| {
            let mut level = vec![f32::NAN; 32 * 32 * 32];
            for block in blocks_of(&values, size, count, 32) {
                for brick in encode_level(&block, &Pyramid::of(&block, 2), 1, CodeBits::Sixteen) {
                    let [w, h, _] = brick.bounds().size();
                    for (i, value) in brick.decode(CodeBits::Sixteen).unwrap().into_iter().enumerate() {
                        let [x, y, z] = brick.bounds().lo;
                        level[((z + i / (w * h)) * 32 + y + i / w % h) * 32 + x + i % w] = value;
                    }
                }
            }
            level
        };
        let one = level_of(1);
        for several in [level_of(2), level_of(8)] {
            let close = |a: &f32, b: &f32| (a - b).abs() < 2.0 * 40.0 / 65534.0 || (a.is_nan() && b.is_nan());
            assert!(one.iter().zip(&several).all(|(a, b)| close(a, b)));
        }
    }

    #[test]
    fn damaged_bricks_are_errors() {
        let values = noise_with_gaps([32, 32, 32], 6);
        let block = &blocks_of(&values, [32, 32, 32], 1, 1)[0];
        let brick = encode_level(block, &Pyramid::default(), 0, CodeBits::Eight).remove(0);
        let mut random = Random::new(7);
        for _ in 0..500 {
            let mut damaged = brick.clone();
            let at = random.next_u32() as usize % damaged.payload.len();
            damaged.payload[at] = random.next_u32() as u8;
            damaged.payload.truncate(damaged.payload.len() - (random.next_u32() % 2) as usize);
            damaged.size[(random.next_u32() % 3) as usize] = (random.next_u32() % 66) as u16;
            if let Ok(values) = damaged.decode(CodeBits::Eight) {
                assert_eq!(values.len(), damaged.sample_count());
            }
        }
        let huge = EncodedBrick { size: [64, 65, 1], ..brick.clone() };
        assert!(matches!(huge.decode(CodeBits::Eight), Err(BrickError::Size { .. })));
        assert!(matches!(brick.decode(CodeBits::Sixteen), Err(BrickError::Payload { .. })));
    }
}
