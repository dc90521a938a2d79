//! The pipeline from outside: back ends, flows, crews, and what goes over the wire.
//!
//! One program: it is linked once.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod back_end;
mod choice;
mod crew;
mod flow;
mod passing;
mod troubles;
mod wire_vectors;
