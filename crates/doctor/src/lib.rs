//! Finds what slows a host and a path down, says what it costs, and what mends it.
//!
//! - [`Host::examine`]: what the host's settings allow, read below a root folder that tests can replace.
//! - [`Path::measure`], [`judge_path`]: what a path to a listener carries, and what is wrong with it.
//! - [`disk_speed`], [`judge_disk`]: what a folder takes and gives.
//! - [`Journal`]: changes that can be put back.
//! - [`Report`]: all of it, the dearest first; [`Compared`]: what has become of it.
//!
//! Invariant: what could not be seen is told as that, never as fine; and nothing is found that does not matter at the rate asked for.

mod change;
mod compared;
mod disk;
mod ethtool;
mod finding;
mod host;
mod journal;
mod path;
mod report;
mod roots;
mod text;

pub use change::Change;
pub use compared::Compared;
pub use disk::{DiskSpeed, disk_speed, judge_disk};
pub use finding::{Finding, Findings, Unseen};
pub use host::{DEFAULT_BPS, Host, NoInterface, interface_is_there};
pub use journal::{Journal, JournalError};
pub use path::{NoPath, Path, Way, judge_no_path, judge_path};
pub use report::Report;
pub use roots::Roots;
