//! What the page calculates in WebAssembly, because a browser's JavaScript has no SIMD: see `web/src/volume/unpack.ts`, which calls it.

mod brick;
pub mod exports;
