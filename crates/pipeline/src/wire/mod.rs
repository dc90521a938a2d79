//! The view protocol (`docs/src/view-protocol.md`): messages between the process and a page.
//!
//! Control messages are a kind byte and JSON; bulk messages are binary. Nothing here knows a socket.

mod bulk;
mod freshness;
mod from_page;
mod lifelines;
mod to_page;

pub(crate) use bulk::PROBE;
pub use bulk::{
    BulkBody, BulkHeader, BulkKind, bricks_bodies, scalar_slab_bodies, segment_bodies, slab_bodies, still_bodies,
};
pub(crate) use freshness::MOST_PARTS;
pub use freshness::{Freshness, MissingPart};
pub use from_page::{
    Ack, AskClock, AskLifelines, AskSeries, FromPage, MAX_CONTROL_BYTES, Pick, PictureRay, ProxyChoice, Spot, View,
    Viewport, WireError,
};
pub(crate) use lifelines::MOST_EVENTS;
pub use lifelines::{Clock, Events, StageEvent};
pub use to_page::{
    Answer, AtStep, Field, FieldName, GridShape, Notice, Plan, Planned, ProxyKind, Series, Severity, SourceShape,
    Steps, ToPage, Welcome,
};

/// Version of the view protocol spoken here.
pub const PROTOCOL_VERSION: u32 = 6;
