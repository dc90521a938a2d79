//! What can go wrong where a flow is published or received.

use thiserror::Error;
use visapult_ripp_net::SessionError;

/// Why a flow cannot be published or received.
#[derive(Debug, Error)]
pub enum FlowError {
    /// The connection.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The publisher's word makes no sense.
    #[error("{who} does not publish a usable flow: {problem}")]
    Declaration {
        /// The publisher.
        who: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Two ranks do not fit together.
    #[error("ranks do not fit together: {0}")]
    Ranks(String),
    /// Nobody publishes.
    #[error("{0}")]
    Nobody(String),
    /// There is no room for the values of a field.
    #[error(
        "the {0} that a field of this rank's box takes cannot be had: the grid, or this rank's part of it, may be larger than was meant"
    )]
    Memory(String),
    /// The program calls in a way that makes no sense.
    #[error("{0}")]
    Usage(String),
}
