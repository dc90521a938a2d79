//! Sessions, lanes and the control link, held to their promises over loopback.
//!
//! One program: it is linked once.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod checks;
mod clients;
mod common;
mod control;
mod corpora;
mod faults;
mod flood;
mod flows;
mod greeting;
mod held_up;
mod hostile;
mod lanes;
mod notes;
mod policy;
mod services;
mod streams;
