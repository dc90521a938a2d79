//! What programs serve at a URL, and what others dial one for.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What is served at a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Service {
    /// Files and folders.
    Share,
    /// Measurements of a path.
    Perf,
    /// Fields, step by step.
    Fields,
    /// A place for those that publish fields.
    BackEnd,
}

impl Service {
    /// What prints its URLs.
    #[must_use]
    pub const fn printed_by(self) -> &'static str {
        match self {
            Self::Share => "visapult share",
            Self::Perf => "visapult perf serve",
            Self::Fields => "visapult serve or a simulation",
            Self::BackEnd => "visapult backend",
        }
    }

    /// What takes them.
    #[must_use]
    pub const fn taken_by(self) -> &'static str {
        match self {
            Self::Share => "visapult copy and visapult verify",
            Self::Perf => "visapult perf send",
            Self::Fields => "visapult view and visapult backend",
            Self::BackEnd => "simulations that publish (what they compute is on its page)",
        }
    }
}

/// What is said to who has dialled it for something else.
impl fmt::Display for Service {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "this URL is of {}, for {}", self.printed_by(), self.taken_by())
    }
}
