//! What can go wrong between PEs, and before they have met.

use thiserror::Error;

use crate::MAX_MESSAGE_BYTES;

/// Why a message was not sent or did not come.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CommError {
    /// Ranks go from 0 to size - 1.
    #[error("there is no PE {rank}: the run has PEs 0 to {}", size - 1)]
    NoSuchPe {
        /// The rank asked for.
        rank: usize,
        /// How many PEs there are.
        size: usize,
    },
    /// More than [`MAX_MESSAGE_BYTES`].
    #[error("a message of {bytes} bytes is too large, {MAX_MESSAGE_BYTES} is the most: send it in parts")]
    TooLarge {
        /// Size of the message.
        bytes: usize,
    },
    /// Messages come faster than they are taken.
    #[error("PE {rank} does not take its messages, and too many bytes are on the way to it: try again later")]
    Full {
        /// The PE.
        rank: usize,
    },
    /// The PE has ended in order, and has left no such message.
    #[error("PE {rank} has ended")]
    Left {
        /// The PE.
        rank: usize,
    },
    /// The PE was not heard of for the time that the run has patience for.
    #[error(
        "PE {rank} has not been heard of for {seconds} s: its process was killed or stopped, or its host is cut off"
    )]
    Lost {
        /// The PE.
        rank: usize,
        /// The run's patience.
        seconds: u64,
    },
    /// The others have gone on without this PE.
    #[error(
        "the other PEs took this one for lost, and go on without it: its process was stopped too long, or its host was cut off"
    )]
    TakenForLost,
    /// [`Comm::abort`](crate::Comm::abort) was called by some PE.
    #[error("the run was aborted by one of its PEs")]
    Aborted,
    /// What a PE sent in a collective call makes no sense: the PEs do not make the same calls in the same order.
    #[error("PE {rank} takes part in another collective call than this PE")]
    OutOfStep {
        /// The PE.
        rank: usize,
    },
    /// The MPI library says so.
    #[error("{call} failed: {reason}")]
    Library {
        /// The function's name.
        call: &'static str,
        /// The library's words.
        reason: String,
    },
}

/// Why the PEs that were started together have not met.
#[derive(Debug, Error)]
pub enum JoinError {
    /// No library of the launcher's kind can be loaded.
    #[error("started by {launcher}, but its MPI library cannot be loaded ({reason}): {advice}")]
    NoLibrary {
        /// What started us.
        launcher: String,
        /// What the system says of each candidate.
        reason: String,
        /// What to do.
        advice: String,
    },
    /// The library does not know what the launcher started.
    #[error(
        "{launcher} started {said} processes, but for {library} this is a run of {found}: the launcher belongs to another MPI; start \
         with that library's own mpiexec, or name the launcher's library in VISAPULT_MPI"
    )]
    OtherLauncher {
        /// What started us.
        launcher: String,
        /// How many processes it started.
        said: usize,
        /// The library's file.
        library: String,
        /// How many processes the library knows.
        found: usize,
    },
    /// A library that lacks what MPI has had since version 2.
    #[error("{library} is not a usable MPI library: {reason}")]
    NotMpi {
        /// The library's file.
        library: String,
        /// What is missing.
        reason: String,
    },
    /// MPI does not start.
    #[error("{library} does not start: {cause}")]
    Start {
        /// The library's file.
        library: String,
        /// The library's words.
        cause: CommError,
    },
    /// MPI starts once per process.
    #[error("this process has already joined its world")]
    Again,
    /// The thread that owns MPI could not be started, or has ended early.
    #[error("no thread for MPI: {0}")]
    Thread(String),
}
