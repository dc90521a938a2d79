//! A deterministic simulator of the transport: two ends of a session on a path that harms, in virtual time.
//!
//! [`schedule`] draws from a seed what happens; [`world`] lets it happen; the ends ([`end`]) do with the core of the transport what a driver with
//! sockets does, and hold it to its promises while they do ([`watch`]). A failure names its seed, and the seed alone brings it back.

pub mod clock;
pub mod decoders;
pub mod draw;
pub mod end;
pub mod hostile;
pub mod lane;
pub mod path;
pub mod rates;
pub mod schedule;
pub mod suite;
pub mod watch;
pub mod world;
