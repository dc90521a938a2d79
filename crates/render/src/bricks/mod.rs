//! Bricks: the field itself as a proxy, in levels of detail, quantised per brick and compressed.
//!
//! Invariant: what a brick decodes to is off by at most half a step of its box's range; no data stays no data. Values beyond the range that is kept, where one
//! is named, are at its ends.

mod assemble;
mod encode;
mod predict;
mod pyramid;
mod quantise;

pub use assemble::volume_of_bricks;
pub(crate) use encode::{BOX_SIZE, sampled_bytes};
pub use encode::{BrickError, EncodedBrick, encode_level};
pub use pyramid::Pyramid;
pub(crate) use pyramid::Samples;
pub use quantise::CodeBits;
use visapult_volume::{ValueRange, coarsened_size};

/// Most samples along an axis of a level that is made into bricks: they tell their places in 16 bits.
pub const MOST_ALONG_BRICKS: usize = u16::MAX as usize;

/// Which level of the samples bricks hold, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelCoding {
    /// 0 for the samples themselves, each further one for the means of twice as many along each axis.
    pub level: u32,
    /// Of a code.
    pub bits: CodeBits,
    /// What of the values they tell apart, others being held at its ends; all where there is none.
    pub kept: Option<ValueRange>,
}

impl LevelCoding {
    /// One that tells all values apart.
    pub fn of_all(level: u32, bits: CodeBits) -> Self {
        Self { level, bits, kept: None }
    }
}

/// The finest level of a grid of `size` samples that can be made into bricks.
pub fn finest_brick_level(size: [usize; 3]) -> u32 {
    let fits = |level: &u32| coarsened_size(size, *level).iter().all(|n| *n <= MOST_ALONG_BRICKS);
    (0..usize::BITS).find(fits).unwrap_or(usize::BITS)
}
