//! `libvisapult`: the publisher of `visapult-publish` behind a C interface.
//!
//! Owns no logic of its own. Invariant: no panic crosses the boundary, and every failure leaves a
//! message for the thread that caused it.

pub mod declaration;
pub mod failure;
pub mod publisher;
pub mod steering;
