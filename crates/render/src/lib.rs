//! Camera, transfer function, ray casting, proxies, compositing.

mod codec;
#[cfg(test)]
mod testing;

pub use codec::{CodecError, PlaneDecoder, PlaneEncoder, ZSTD_LEVEL};
