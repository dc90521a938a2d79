//! Files of all formats, well and damaged.
//!
//! One program: it is linked once.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bad_input;
mod changed_files;
mod damaged_files;
mod edge_chunks;
mod elsewhere;
mod foreign_files;
mod npy;
