//! Bricks: the field itself as a proxy, in levels of detail, quantised per brick and compressed.
//!
//! Invariant: what a brick decodes to is off by at most half a step of its box's range; no data stays no data.

mod assemble;
mod encode;
mod pyramid;
mod quantise;

pub use assemble::volume_of_bricks;
pub(crate) use encode::{BOX_SIZE, sampled_bytes};
pub use encode::{BrickError, EncodedBrick, encode_level};
pub use pyramid::Pyramid;
pub(crate) use pyramid::Samples;
pub use quantise::CodeBits;
