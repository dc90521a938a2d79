//! Traces from the stamps to the figures.
//!
//! One program: it is linked once.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod figures;
mod files;
mod recording;
mod synthetic;
