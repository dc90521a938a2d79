//! Flows of fields between machines: ranks of a simulation publish the boxes they own, a back end receives the boxes of its PEs.
//!
//! The back end asks for steps by number, so that all ranks send the same ones though none waits for another; what nobody asks for is not sent.
//! What is the same on both sides is computed on both: the boxes of the PEs, and the pieces, which are what a rank's block and a PE's box share.
//! A piece is one object of the transport, and goes row by row from the block that was published into the buffer of the PE.

mod aloud;
mod assembly;
mod bell;
mod building;
mod clock;
mod crew;
mod door;
mod handle;
mod lag;
mod look;
mod meeting;
mod messages;
mod meter;
mod options;
mod piece;
mod publisher;
mod received;
mod receiver;
mod serve;
mod shared;
mod source;
mod spare;
mod stamp;
mod state;
mod steering;
mod steering_coordinator;
mod steering_log;
mod steering_participant;
mod strided;
mod subscriber;

use std::time::Duration;

pub(crate) use receiver::Receiver;

pub(crate) use clock::ClockOfBackEnd;
pub use handle::FlowHandle;
pub use look::Look;
pub use meeting::{Meeting, RATE_VARIABLE, REPLAY_VARIABLE, TRACE_VARIABLE, URL_VARIABLE};
pub use messages::{FlowError, check_name};
pub use options::{FlowOptions, Watch};
pub use publisher::{Delivery, Pause, Publisher, PublisherOptions, PublisherStatistics, Wanted};
pub use serve::serve;
pub use source::{FlowDoor, FlowSource};
pub use state::FlowStatistics;
pub use steering::{Action, Change, Logged, Parameter, ParameterKind, RunState, Steering, SteeringView};
pub use strided::Strided;
use visapult_ripp_net::Service;
pub use visapult_ripp_net::{Options, RippUrl, Undisturbed};
pub use visapult_volume::{Box3, Centering, FieldInfo, Grid, ScalarType, StepIndex, ValueRange};

/// Fields, step by step.
const FIELDS: Service = Service {
    name: "fields",
    printed_by: "visapult serve or a simulation",
    taken_by: "visapult view and visapult backend",
};
/// A place for those that publish fields.
const BACK_END: Service = Service {
    name: "back-end",
    printed_by: "visapult backend",
    taken_by: "simulations that publish (what they compute is on its page)",
};
/// From one attempt to reach the other end to the next.
const DIAL_AGAIN: Duration = Duration::from_secs(2);
/// The transport's flow that pieces travel in.
const PIECES: &str = "pieces";
