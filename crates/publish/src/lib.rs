//! The publishing end of flows of fields: ranks of a simulation publish the boxes they own to back ends on other machines; and the words that both
//! ends speak.
//!
//! A back end asks for steps by number, so that all ranks send the same ones though none waits for another; what nobody asks for is not sent.
//! What is the same on both sides is computed on both: the boxes of the PEs, and the pieces, which are what a rank's block and a PE's box share.
//! A piece is one object of the transport, and goes row by row from the block that was published into the buffer of the PE.
//!
//! Knows no format of files and draws nothing: programs link it.

pub mod along;
mod aloud;
mod bell;
mod building;
mod clock;
mod coordinates;
pub mod dialling;
mod door;
mod error;
mod lock;
mod meeting;
pub mod messages;
mod nearly_through;
pub mod piece;
mod publisher;
mod shared;
mod stamp;
mod steering;
mod steering_log;
mod steering_participant;
mod strided;
mod subscriber;
mod troubles;
pub mod words;

pub use clock::ClockOfBackEnd;
pub use coordinates::{AXES, AxisCoordinates, grow_downwards};
pub use error::FlowError;
pub use meeting::{Meeting, RATE_VARIABLE, REPLAY_VARIABLE, TRACE_VARIABLE, URL_VARIABLE};
pub use nearly_through::is_nearly_through;
pub use publisher::{Delivery, Pause, Publisher, PublisherOptions, PublisherStatistics, Wanted};
pub use stamp::Stamp;
pub use steering::{Action, Change, Commit, Logged, Parameter, ParameterKind, Steer, Steering};
pub use steering_log::SteeringLog;
pub use strided::Strided;
pub use troubles::Troubles;
pub use visapult_ripp_net::{Options, RippUrl, Undisturbed};
pub use visapult_volume::{Box3, Centering, FieldInfo, Grid, Reversed, ScalarType, StepIndex, ValueRange};
