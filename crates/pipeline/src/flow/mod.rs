//! Flows of fields from other machines: ranks of a simulation publish the boxes they own, a back end receives the boxes of its PEs.
//!
//! The back end asks for steps by number, and puts the pieces that come, whole or with holes, together to steps. What both ends go by, messages,
//! pieces and steering, is in [`visapult_publish`]; here is the receiving end, and [`serve()`], which publishes any source.

mod assembly;
mod crew;
mod handle;
mod lag;
mod look;
mod meter;
mod options;
mod received;
mod receiver;
mod serve;
mod source;
mod spare;
mod state;
mod steering_coordinator;

pub use handle::FlowHandle;
pub use look::Look;
pub use options::{FlowOptions, Watch};
pub(crate) use receiver::Receiver;
pub use serve::serve;
pub use source::{FlowDoor, FlowSource};
pub use state::FlowStatistics;
pub use steering_coordinator::{RunState, SteeringView};
pub use visapult_publish::Publisher;
