//! Camera, transfer function, ray casting, proxies, compositing.

mod bricks;
mod codec;
#[cfg(test)]
mod testing;

pub use bricks::{BRICK_EDGE, BrickError, CodeBits, EncodedBrick, Pyramid, encode_level, range_of_bricks};
pub use codec::{CodecError, PlaneDecoder, PlaneEncoder, ZSTD_LEVEL};
