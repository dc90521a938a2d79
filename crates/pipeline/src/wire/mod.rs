//! The view protocol (`docs/src/view-protocol.md`): messages between the process and a page.
//!
//! Control messages are a kind byte and JSON; bulk messages are binary. Nothing here knows a socket.

mod bulk;
mod control;

pub use bulk::{BulkBody, BulkHeader, BulkKind, bricks_bodies, slab_bodies, still_bodies};
pub use control::{
    Ack, Field, FieldName, FromPage, GridShape, MAX_CONTROL_BYTES, Notice, Plan, ProxyChoice, ProxyKind, Severity,
    SourceShape, Steps, ToPage, View, Viewport, Welcome, WireError,
};

/// Version of the view protocol spoken here.
pub const PROTOCOL_VERSION: u32 = 1;
