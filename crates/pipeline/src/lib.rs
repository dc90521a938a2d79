//! The one path: source -> load -> render -> send. Sessions, the planner, and the configuration.
//!
//! Knows no HTTP and no command line: a portal connects sessions to pages, the command line fills the configuration.

mod back_end;
mod background;
mod choice;
mod config;
mod crew;
mod dates;
mod defaults;
mod device;
mod error;
pub mod flow;
mod glance;
mod info;
mod keyframes;
mod lock;
mod making;
mod memo;
mod memory;
mod opening;
mod outliers;
mod picking;
mod planner;
mod predictions;
mod render;
mod session;
mod stages;
mod statistics;
mod step_store;
mod survey;
#[cfg(test)]
mod testing;
mod views;
pub mod wire;

pub use back_end::BackEnd;
pub use config::{BackEndConfig, MOST_EDGE, RenderConfig, RenderProxy};
pub use crew::{Crew, lend};
pub use device::Device;
pub use error::PipelineError;
pub use info::{ChoiceReport, FieldReport, SourceReport};
pub use opening::{lend_to, open_local, open_to_publish};
pub use render::{Candidate, Choice, RenderStatistics, Rendered, Seconds, render};
pub use session::{BulkSink, ControlSink, Right, Session, SessionError};
pub use step_store::{LoadedStep, StepKey};
pub use visapult_comm::Comm;
pub use visapult_render::{Camera, CodeBits, Image, TransferFunction, Up};
pub use visapult_volume_io::Source;
