//! The transport in the simulator, and the corpora of its fuzz targets.
//!
//! One program: it is linked once.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod corpora;
mod schedules;
