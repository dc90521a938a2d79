//! IP packets as they pass between the kernel and the link: one super-packet is many packets of the wire.

mod arena;
mod header;
mod run;
mod segment;
mod translation;
mod vnet;

pub use arena::{Arena, ROOM};
pub use run::Run;
pub use segment::{Segment, split};
pub use translation::Translation;
pub use vnet::VNET_HEADER;

#[cfg(test)]
mod tests;
