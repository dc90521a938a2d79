//! Measuring memory to memory: what a session carries between two machines, with its content verified.
//!
//! The sending side offers objects of known content as long as it is told to; the receiving side checks every byte, and tells what arrived when.
//! Either end of a session may be the sending one.

mod check;
mod content;
mod cpu;
mod notes;
mod progress;
mod receiving;
mod report;
mod sending;
mod watch;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use visapult_ripp::outbox::Mode;

pub use check::{Answered, Checked, check};
pub(crate) use check::{asked as asked_check, serve as serve_check};
pub use progress::Progress;
pub use receiving::receive;
pub use report::{Report, RttMicros, Rulings};
pub use sending::send;

use crate::policy::Ruling;
use crate::session::SessionError;

/// Name of the flow that is measured.
const FLOW: &str = "perf";
/// Kind of a request that the listener itself answers.
const CHECK: &str = "check";
/// Why an object was taken back that nobody needs any more.
const NOT_NEEDED: &str = "the time was up before it began";
/// Why a session ended that its user stopped.
const STOPPED: &str = "stopped by its user";
/// The other side's last words take this long at most.
const LAST_PATIENCE: Duration = Duration::from_secs(20);
/// What is under way may take this long to arrive when the user wants to stop.
const STOP_PATIENCE: Duration = Duration::from_millis(1_000);

/// How much is sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Amount {
    /// This many bytes.
    Bytes(u64),
    /// For this long.
    Time(Duration),
}

/// What the dialler asks the listener for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// `perf`, which a listener of another kind refuses; `check`, which every listener answers.
    pub kind: String,
    /// How much.
    pub amount: Amount,
    /// What the flow promises.
    pub mode: Mode,
    /// The listener sends.
    pub reverse: bool,
}

impl Request {
    /// A request to measure.
    #[must_use]
    pub fn new(amount: Amount, mode: Mode, reverse: bool) -> Self {
        Self { kind: FLOW.to_owned(), amount, mode, reverse }
    }

    /// As the request of a session.
    #[must_use]
    pub fn to_text(&self) -> String {
        #[expect(clippy::expect_used, reason = "plain data")]
        serde_json::to_string(self).expect("plain data")
    }

    /// From the request of a session; `None` if it asks for something else.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        Self::of_kind(text, FLOW)
    }

    fn of_kind(text: &str, kind: &str) -> Option<Self> {
        serde_json::from_str::<Self>(text).ok().filter(|request| request.kind == kind)
    }
}

/// What the receiving side saw.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Account {
    /// Bytes placed, each sample after [`SAMPLE`] more since the first.
    samples: Vec<u64>,
    /// When the first sample was taken, in seconds since 1970 by the receiving side's clock; builds before this one do not tell.
    #[serde(default)]
    first_unix_s: Option<f64>,
    /// Objects whose content was right.
    verified: u64,
    /// Bytes in them that arrived.
    bytes: u64,
    /// Objects whose content was wrong, or that failed.
    faults: Vec<String>,
    /// Processor time, user and system.
    cpu_s: f64,
    /// What the receiving side's user has ruled for the path; builds before this one do not tell.
    #[serde(default)]
    ruling: Option<Ruling>,
}

const SAMPLE: Duration = Duration::from_millis(10);
const MOST_SAMPLES: usize = 2_000_000;

fn ended(why: impl ToString) -> SessionError {
    SessionError::Ended(why.to_string())
}
