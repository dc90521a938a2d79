//! Tests of the crate from outside: one program, linked once.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

mod copying;
mod corpora;
mod fetching;
mod groups;
mod logged;
mod named;
mod policy;
mod shares;
