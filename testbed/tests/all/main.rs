//! Links between namespaces.
//!
//! One program: it is linked once.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;
mod lanes;
mod links;
mod streams;
