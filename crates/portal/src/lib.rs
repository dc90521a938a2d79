//! The HTTP server of one back end: the embedded pages, and a WebSocket session per viewer.
//!
//! Listens on loopback only; every WebSocket needs the user's token and the server's own origin.

mod connections;
mod guard;
mod pages;
mod registry;
mod server;
mod shown;
mod sockets;
mod token;

pub use server::{Patience, Portal, PortalConfig, PortalError};
pub use shown::{Shown, Stage, stage};
pub use token::Tokens;
