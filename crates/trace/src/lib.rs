//! Events and lifelines, after NetLogger (Tierney et al. 1998): what each stage of each step took, on which host, against one clock.
//!
//! - [`begin`], [`record`]: stamp an event; one relaxed load when nothing is recorded.
//! - [`begin_run`]: from here on, steps have the numbers of others before.
//! - [`Recording`]: while it lives, events go to a file in the Chrome trace format, which Perfetto and `chrome://tracing` open.
//! - [`Tap`]: events for who looks on.
//! - [`set_offset`], [`OffsetEstimator`]: the hosts' clocks become one.
//! - [`read`], [`Timeline`]: files of several processes, put together.
//! - [`Summary`], [`lifelines`]: periods, overlap, why the network was idle; and the picture of it.
//!
//! Invariant: recording never makes a run wait or fail. What does not fit is dropped and counted; a full disk ends the recording only.

mod clock;
mod event;
mod intervals;
mod json;
mod otlp;
mod plot;
mod reader;
mod recorder;
mod summary;
mod tap;
mod timeline;

pub use clock::{Exchange, Offset, OffsetEstimator, now_ns, set_offset};
pub use event::{Event, Site, Stage};
pub use plot::{PlotOptions, lifelines};
pub use reader::{Trace, TraceError, parse, read};
pub use recorder::{BEGINNINGS, Finished, Recording, Span, StartError, begin, begin_run, is_on, is_recording, record};
pub use summary::{Input, Network, Reason, Summary};
pub use tap::Tap;
pub use timeline::{Anew, Placed, Process, Timeline};
