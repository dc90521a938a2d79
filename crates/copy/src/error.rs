//! Why a copy ended before it was done.

use std::io;
use std::path::Path;

use rustix::io::Errno;
use thiserror::Error;
use visapult_ripp_net::{SessionError, system_reason};

use crate::endpoint::EndpointError;
use crate::names::shown;

/// Why a copy ended before it was done. What was copied until then is kept.
#[derive(Debug, Error)]
pub enum CopyError {
    /// There is no session, or no more of it.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// Nothing can be copied from one of the sources, or to the destination, whatever there is.
    #[error(transparent)]
    Source(#[from] EndpointError),
    /// What is asked for makes no sense, wherever it is.
    #[error("{0}")]
    Misfit(String),
    /// The other end will not go on.
    #[error("the other end: {0}")]
    Refused(String),
    /// This end cannot go on.
    #[error("{0}")]
    Here(String),
    /// The other end spoke out of turn.
    #[error("the other end does not speak as it should: {0}")]
    Protocol(String),
    /// The user wanted it.
    #[error("stopped; what has been copied is kept, and the same command goes on from there")]
    Stopped,
}

impl CopyError {
    /// What went wrong with something here.
    pub(crate) fn at(path: &Path, cause: &io::Error) -> Self {
        Self::Here(format!("{}: {}", shown(path), reason(cause)))
    }

    /// What is named is neither file nor folder.
    pub(crate) fn stream(path: &Path) -> Self {
        Self::Here(format!(
            "{}: is a pipe or a device, and what goes through one cannot be looked at twice: copy from and to files and folders",
            shown(path)
        ))
    }

    /// Another attempt may do better.
    pub(crate) const fn may_pass(&self) -> bool {
        matches!(self, Self::Session(SessionError::Ended(_) | SessionError::Control(_) | SessionError::Protocol { .. }))
    }
}

/// Why a path that is followed cannot be resolved: one that leads round in a circle says so.
pub(crate) fn following(cause: io::Error) -> io::Error {
    if cause.raw_os_error() == Some(Errno::LOOP.raw_os_error()) {
        return io::Error::other("a link that leads round in a circle");
    }
    cause
}

/// An error as people understand it.
pub(crate) fn reason(cause: &io::Error) -> String {
    match cause.kind() {
        io::ErrorKind::NotFound => "there is no such file or folder".to_owned(),
        io::ErrorKind::PermissionDenied if cause.raw_os_error().is_none() => {
            "leads out of the folder that is shared".to_owned()
        }
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::NotADirectory => "a folder is needed there, and it is none".to_owned(),
        io::ErrorKind::StorageFull => "the disk is full".to_owned(),
        io::ErrorKind::QuotaExceeded => "the quota is used up".to_owned(),
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only".to_owned(),
        _ if cause.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            "a link is there, and links are not followed".to_owned()
        }
        _ => system_reason(cause),
    }
}

/// Nothing more can be written where this happened.
pub(crate) fn is_full(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
