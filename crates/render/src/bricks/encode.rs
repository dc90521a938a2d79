//! One level of one block as bricks, and back.

use std::cell::RefCell;

use rayon::prelude::*;
use thiserror::Error;
use visapult_volume::{Block, Box3, ValueRange};

use super::LevelCoding;
use super::predict::Predictor;
use super::pyramid::{Pyramid, Samples};
use super::quantise::{Code, CodeBits, dequantise, quantise};
use crate::VolumeError;
use crate::codec::{CodecError, PlaneDecoder, PlaneEncoder, with_decoder, with_encoder};
use crate::kept_range::with_zero_on_a_code;

/// Samples of the boxes that are made, four bricks of each.
pub(crate) const BOX_SIZE: [usize; 3] = [64, 32, 32];
/// A part of a box comes with the next part of the box so many before.
const LATER: usize = 16;
/// From a row or slice of a brick to its next one.
const APART: usize = 2;

/// A brick as it crosses the wire: see `docs/src/view-protocol.md`. It has every second row of every second slice of a box: where it is lost, its samples lie between
/// those of the other three.
#[derive(Clone, Debug, PartialEq)]
pub struct EncodedBrick {
    /// First sample `[x, y, z]` of the box, in the level's grid.
    pub lo: [u16; 3],
    /// Samples of the box per axis.
    pub size: [u8; 3],
    /// Which of the box's samples it has: the first row is `part % 2`, the first slice `part / 2`.
    pub part: u8,
    /// Smallest and largest value of the box; both NaN where it has no data.
    pub range: [f32; 2],
    /// How its samples are expected from those before them: 0 to 3.
    pub predictor: u8,
    /// One zstd frame of symbols; empty where every sample is `range[0]`.
    pub payload: Vec<u8>,
}

/// Why a brick cannot be decoded.
#[derive(Debug, Error)]
pub enum BrickError {
    /// A size no box has, or a part of it that has no samples.
    #[error(
        "brick at {lo:?} claims part {part} of a box of {size:?} samples: 1 to {} per axis are possible, and parts 0 to 3 that have any",
        EncodedBrick::MAX_EDGE
    )]
    Size {
        /// First sample of the box.
        lo: [u16; 3],
        /// Claimed samples of the box per axis.
        size: [u8; 3],
        /// Claimed part.
        part: u8,
    },
    /// A predictor that there is not.
    #[error("brick at {lo:?} claims predictor {predictor}: 0 to 3 are possible")]
    Predictor {
        /// First sample of the box.
        lo: [u16; 3],
        /// Claimed predictor.
        predictor: u8,
    },
    /// Its box lies where the level has no samples.
    #[error("brick at {lo:?} of a box of {size:?} samples lies outside level {level} of {level_size:?} samples")]
    Outside {
        /// First sample of the box.
        lo: [u16; 3],
        /// Claimed samples of the box per axis.
        size: [u8; 3],
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
    /// Longest edge that a box may have.
    pub const MAX_EDGE: u8 = 64;
    /// Bytes in a message before the payload.
    const HEADER_BYTES: usize = 22;

    /// Number of samples.
    pub fn sample_count(&self) -> usize {
        self.counts().iter().product()
    }

    /// Samples per axis.
    fn counts(&self) -> [usize; 3] {
        let first = first_of(self.part);
        std::array::from_fn(|axis| {
            usize::from(self.size[axis]).saturating_sub(first[axis]).div_ceil(if axis == 0 { 1 } else { APART })
        })
    }

    /// The brick's box in its level's grid.
    pub fn bounds(&self) -> Box3 {
        let lo = self.lo.map(usize::from);
        Box3::new(lo, std::array::from_fn(|axis| lo[axis] + usize::from(self.size[axis])))
    }

    /// Where its sample number `i` lies in its level's grid.
    pub fn place(&self, i: usize) -> [usize; 3] {
        let [width, height, _] = self.counts();
        let ([x, y, z], [_, row, slice]) = (self.lo.map(usize::from), first_of(self.part));
        [x + i % width, y + row + APART * (i / width % height), z + slice + APART * (i / (width * height))]
    }

    /// Bytes in a message.
    pub fn wire_bytes(&self) -> usize {
        Self::HEADER_BYTES + self.payload.len()
    }

    /// The brick's values, `[z, y, x]`, NaN where there is no data.
    ///
    /// # Errors
    /// [`BrickError`] if the size is impossible or the payload damaged.
    pub fn decode(&self, bits: CodeBits) -> Result<Vec<f32>, BrickError> {
        let possible = |n: &u8| (1..=Self::MAX_EDGE).contains(n);
        if !self.size.iter().all(possible) || self.part >= PARTS || self.sample_count() == 0 {
            return Err(BrickError::Size { lo: self.lo, size: self.size, part: self.part });
        }
        if self.payload.is_empty() {
            return Ok(vec![self.range[0]; self.sample_count()]);
        }
        let predictor = Predictor::of_number(self.predictor)
            .ok_or(BrickError::Predictor { lo: self.lo, predictor: self.predictor })?;
        let decoded = if bits.is_wide() {
            self.decode_codes(predictor, bits, PlaneDecoder::next_16)
        } else {
            self.decode_codes(predictor, bits, PlaneDecoder::next_8)
        };
        decoded.map_err(|cause| BrickError::Payload { lo: self.lo, cause })
    }

    fn decode_codes<C: Code>(
        &self,
        predictor: Predictor,
        bits: CodeBits,
        symbols: impl Fn(&mut PlaneDecoder, usize) -> &[C],
    ) -> Result<Vec<f32>, CodecError> {
        let count = self.sample_count();
        let [narrow, wide] = if bits.is_wide() { [0, count] } else { [count, 0] };
        let codes = with_decoder(|decoder| {
            decoder.open(&self.payload, narrow, &[wide])?;
            Ok(predictor.codes(symbols(decoder, count), self.counts()))
        })?;
        let mut values = vec![0.0; count];
        dequantise(&codes, self.range, bits, &mut values);
        Ok(values)
    }
}

/// Cuts `level` of what `block` owns into boxes and encodes their bricks, in parallel. Bricks of one box come with those of others between them, 16 at least where
/// there are so many boxes: they are seldom lost together, and boxes become whole one after another.
///
/// # Panics
/// If `pyramid` has no such level, or the level's grid has more than 65 535 samples along an axis.
pub fn encode_level(block: &Block, pyramid: &Pyramid, coding: LevelCoding) -> Vec<EncodedBrick> {
    let LevelCoding { level, bits, kept } = coding;
    let samples = pyramid.samples(block, level);
    let boxes: Vec<Box3> = samples.bounds.bricks(BOX_SIZE).collect();
    let of_box = |(number, bounds): (usize, Box3)| {
        let turn = move |brick: &EncodedBrick| number + LATER * usize::from(brick.part);
        encode_box(&samples.part(bounds), bits, kept).into_iter().map(move |brick| (turn(&brick), brick))
    };
    let mut bricks: Vec<(usize, EncodedBrick)> = boxes.into_par_iter().enumerate().flat_map_iter(of_box).collect();
    bricks.sort_by_key(|(turn, brick)| (*turn, brick.part));
    bricks.into_iter().map(|(_, brick)| brick).collect()
}

/// From one box that is sampled to the next, as a part of all: multiples of the golden ratio are spread most evenly.
const SPREAD: f64 = 0.618_034;

/// About the bytes on the wire of `level` of what `block` owns: from the bricks of `most` boxes, evenly spread.
pub(crate) fn sampled_bytes(block: &Block, pyramid: &Pyramid, coding: LevelCoding, most: usize) -> usize {
    let LevelCoding { level, bits, kept } = coding;
    let samples = pyramid.samples(block, level);
    let boxes: Vec<Box3> = samples.bounds.bricks(BOX_SIZE).collect();
    let taken = boxes.len().min(most.max(1));
    let bytes = |i: usize| -> usize {
        let number = if taken == boxes.len() { i } else { ((i as f64 * SPREAD).fract() * boxes.len() as f64) as usize };
        encode_box(&samples.part(boxes[number]), bits, kept).iter().map(EncodedBrick::wire_bytes).sum()
    };
    let sum: usize = (0..taken).into_par_iter().with_max_len(1).map(bytes).sum();
    sum * boxes.len() / taken.max(1)
}

/// Bricks of a box.
const PARTS: u8 = 4;

/// The first sample of a part of a box, counted from the box's.
fn first_of(part: u8) -> [usize; 3] {
    [0, usize::from(part % 2), usize::from(part / 2)]
}

/// Memory that a thread uses again for each brick.
#[derive(Default)]
struct Scratch {
    values: Vec<f32>,
    codes_8: Vec<u8>,
    codes_16: Vec<u16>,
}

impl Scratch {
    /// Takes the values of `rows`, held within `kept`; those that are missing stay so.
    fn gather<'a>(&mut self, rows: impl Iterator<Item = &'a [f32]>, kept: Option<ValueRange>) {
        self.values.clear();
        rows.for_each(|row| self.values.extend_from_slice(row));
        if let Some(ValueRange { lo, hi }) = kept {
            self.values.iter_mut().filter(|value| value.is_finite()).for_each(|value| *value = value.clamp(lo, hi));
        }
    }
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

fn encode_box(samples: &Samples<'_>, bits: CodeBits, kept: Option<ValueRange>) -> Vec<EncodedBrick> {
    let to_wire = |n: usize| u16::try_from(n).expect("a level's grid has at most 65535 samples along an axis");
    let [nx, ny, nz] = samples.bounds.size();
    let rows = |[_, row, slice]: [usize; 3], apart: usize| {
        let slices = (slice..nz).step_by(apart);
        slices.flat_map(move |z| (row..ny).step_by(apart).map(move |y| samples.row(y, z)))
    };
    SCRATCH.with_borrow_mut(|scratch| {
        scratch.gather(rows([0; 3], 1), kept);
        let range = ValueRange::of(&scratch.values).map(|range| with_zero_on_a_code(range, bits.steps()));
        let brick = |part: u8| {
            scratch.gather(rows(first_of(part), APART), kept);
            if scratch.values.is_empty() {
                return None;
            }
            let mut brick = EncodedBrick {
                lo: samples.bounds.lo.map(to_wire),
                size: [nx, ny, nz].map(|n| n as u8),
                part,
                range: range.map_or([f32::NAN; 2], |range| [range.lo, range.hi]),
                predictor: 0,
                payload: Vec::new(),
            };
            if let Some(range) = range {
                brick.encode(scratch, range, bits);
            }
            Some(brick)
        };
        (0..PARTS).filter_map(brick).collect()
    })
}

impl EncodedBrick {
    /// Takes the values that were gathered.
    fn encode(&mut self, scratch: &mut Scratch, range: ValueRange, bits: CodeBits) {
        if range.is_constant() && scratch.values.iter().all(|v| v.is_finite()) {
            return;
        }
        let (values, size) = (&scratch.values, self.counts());
        let (predictor, payload) = with_encoder(|encoder| {
            if bits.is_wide() {
                encoded(encoder, PlaneEncoder::symbols_16, values, &mut scratch.codes_16, range, bits, size)
            } else {
                encoded(encoder, PlaneEncoder::symbols_8, values, &mut scratch.codes_8, range, bits, size)
            }
        });
        (self.predictor, self.payload) = (predictor.number(), payload);
    }
}

/// The predictor and the frame of `values`; `codes` is memory for theirs.
fn encoded<C: Code>(
    encoder: &mut PlaneEncoder,
    symbols: impl Fn(&mut PlaneEncoder) -> &mut Vec<C>,
    values: &[f32],
    codes: &mut Vec<C>,
    range: ValueRange,
    bits: CodeBits,
    size: [usize; 3],
) -> (Predictor, Vec<u8>) {
    codes.clear();
    quantise(values, range, bits, codes);
    let predictor = Predictor::best(codes, size);
    predictor.symbols(codes, size, symbols(encoder));
    (predictor, encoder.finish())
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
        for bits in CodeBits::COARSE.into_iter().chain([CodeBits::EIGHT, CodeBits::SIXTEEN]) {
            for brick in encode_level(block, &Pyramid::default(), LevelCoding::of_all(0, bits)) {
                let half_step = 0.505 * (brick.range[1] - brick.range[0]) / bits.steps() as f32;
                for (i, got) in brick.decode(bits).unwrap().into_iter().enumerate() {
                    let value = block.values[block.index_of(brick.place(i))];
                    assert!((value.is_nan() && got.is_nan()) || (value - got).abs() <= half_step);
                }
            }
        }
    }

    #[test]
    fn values_far_beyond_what_is_kept_take_no_codes_from_the_others() {
        let size = [70, 33, 5];
        let mut values = noise_with_gaps(size, 4);
        (values[0], values[1]) = (1e30, -1e6);
        let block = &blocks_of(&values, size, 1, 1)[0];
        let kept = ValueRange { lo: -0.5, hi: 0.5 };
        for bits in [CodeBits::EIGHT, CodeBits::SIXTEEN] {
            for brick in encode_level(block, &Pyramid::default(), LevelCoding { level: 0, bits, kept: Some(kept) }) {
                let half_step = 0.51 * (kept.hi - kept.lo) / bits.steps() as f32;
                for (i, got) in brick.decode(bits).unwrap().into_iter().enumerate() {
                    let value = block.values[block.index_of(brick.place(i))].clamp(kept.lo, kept.hi);
                    assert!((value.is_nan() && got.is_nan()) || (value - got).abs() <= half_step, "{got} for {value}");
                }
            }
        }
    }

    #[test]
    fn samples_beside_each_other_in_different_rows_are_in_different_bricks_that_come_in_different_quarters() {
        let size = [70, 35, 37];
        let block = &blocks_of(&noise_with_gaps(size, 8), size, 1, 1)[0];
        let bricks = encode_level(block, &Pyramid::default(), LevelCoding::of_all(0, CodeBits::EIGHT));
        let parts: Vec<u8> = bricks.iter().map(|brick| brick.part).collect();
        let expected: Vec<u8> = (0..PARTS).flat_map(|part| [part; 8]).collect();
        assert_eq!(parts, expected);
        let mut part_of = vec![None; size.iter().product()];
        for brick in &bricks {
            for at in (0..brick.sample_count()).map(|i| brick.place(i)) {
                assert!(brick.bounds().contains(&Box3::new(at, at.map(|n| n + 1))));
                let [x, y, z] = at;
                assert_eq!(part_of[(z * size[1] + y) * size[0] + x].replace(brick.part), None);
            }
        }
        for (i, part) in part_of.into_iter().enumerate() {
            let [y, z] = [i / size[0] % size[1], i / (size[0] * size[1])];
            assert_eq!(part.map(usize::from), Some(z % 2 * 2 + y % 2));
        }
    }

    #[test]
    fn one_slice_or_row_makes_fewer_bricks() {
        let count = |size: [usize; 3]| {
            let block = &blocks_of(&noise_with_gaps(size, 9), size, 1, 1)[0];
            encode_level(block, &Pyramid::default(), LevelCoding::of_all(0, CodeBits::EIGHT)).len()
        };
        assert_eq!([count([3, 5, 1]), count([3, 1, 1]), count([3, 1, 2])], [2, 1, 2]);
    }

    #[test]
    fn constant_and_empty_bricks_have_no_payload() {
        let mut values = vec![2.5; 128 * 4 * 4];
        for row in values.chunks_exact_mut(128) {
            row[64..].fill(f32::NAN);
        }
        let block = &blocks_of(&values, [128, 4, 4], 1, 1)[0];
        let bricks = encode_level(block, &Pyramid::default(), LevelCoding::of_all(0, CodeBits::EIGHT));
        assert_eq!((bricks[0].range, bricks[0].payload.len()), ([2.5, 2.5], 0));
        assert!(bricks[1].range[0].is_nan() && bricks[1].payload.is_empty());
        assert_eq!(bricks[0].decode(CodeBits::EIGHT).unwrap(), vec![2.5; 256]);
        assert!(bricks[1].decode(CodeBits::EIGHT).unwrap().iter().all(|v| v.is_nan()));
    }

    #[test]
    fn blocks_of_several_pes_make_the_level_of_one() {
        let size = [64, 64, 64];
        let values = noise_with_gaps(size, 5);
        let level_of = |count| {
            let mut level = vec![f32::NAN; 32 * 32 * 32];
            for block in blocks_of(&values, size, count, 32) {
                for brick in encode_level(&block, &Pyramid::of(&block, 2), LevelCoding::of_all(1, CodeBits::SIXTEEN)) {
                    for (i, value) in brick.decode(CodeBits::SIXTEEN).unwrap().into_iter().enumerate() {
                        let [x, y, z] = brick.place(i);
                        level[(z * 32 + y) * 32 + x] = value;
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
        let brick = encode_level(block, &Pyramid::default(), LevelCoding::of_all(0, CodeBits::EIGHT)).remove(0);
        let mut random = Random::new(7);
        for _ in 0..500 {
            let mut damaged = brick.clone();
            let at = random.next_u32() as usize % damaged.payload.len();
            damaged.payload[at] = random.next_u32() as u8;
            damaged.payload.truncate(damaged.payload.len() - (random.next_u32() % 2) as usize);
            damaged.size[(random.next_u32() % 3) as usize] = (random.next_u32() % 66) as u8;
            damaged.part = (random.next_u32() % 5) as u8;
            if let Ok(values) = damaged.decode(CodeBits::EIGHT) {
                assert_eq!(values.len(), damaged.sample_count());
            }
        }
        for impossible in [
            EncodedBrick { size: [64, 65, 1], ..brick.clone() },
            EncodedBrick { part: 4, ..brick.clone() },
            EncodedBrick { size: [64, 1, 1], part: 1, ..brick.clone() },
        ] {
            assert!(matches!(impossible.decode(CodeBits::EIGHT), Err(BrickError::Size { .. })));
        }
        assert!(matches!(brick.decode(CodeBits::SIXTEEN), Err(BrickError::Payload { .. })));
    }
}
