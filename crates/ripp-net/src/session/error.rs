//! Why there is no session, or no more of it.

use thiserror::Error;
use visapult_ripp::control::MessageError;

use super::Service;
use crate::control::ControlError;
use crate::identity::IdentityError;
use crate::policy::PolicyError;
use crate::text::{printable, reason_and};
use crate::trust::TrustError;

/// Why there is no session, or no more of it.
#[derive(Debug, Error)]
pub enum SessionError {
    /// The control channel.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The URL names nobody to trust.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The policy file, or what it says.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// Our own certificate.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The listener will have nothing to do with us.
    #[error("{peer} refused the session: {why}")]
    Refused {
        /// The listener.
        peer: String,
        /// What it said.
        why: String,
    },
    /// Something else is served at the URL than it was dialled for.
    #[error("{is}{}", .wanted.map(|wanted| format!("; here one is wanted that {} prints", wanted.printed_by)).unwrap_or_default())]
    OtherService {
        /// What is, and what takes such URLs.
        is: String,
        /// What it was dialled for.
        wanted: Option<Service>,
    },
    /// The other end spoke out of turn.
    #[error("{peer} does not speak as a RIPP peer should: {why}")]
    Protocol {
        /// The other end.
        peer: String,
        /// What was wrong.
        why: String,
    },
    /// No datagram came through, and streams were not wanted.
    #[error(
        "no datagram comes through between here and {0} (UDP is blocked?); use transport auto or tcp, or open UDP ports"
    )]
    UdpBlocked(String),
    /// A socket at a local address.
    #[error(
        "a UDP socket at {local} cannot be had: {}",
        reason_and(
            cause,
            "local addresses must be this machine's, and of the kind (IPv4 or IPv6) that the other end is reached by"
        )
    )]
    Local {
        /// The address.
        local: std::net::IpAddr,
        /// The system's reason.
        cause: std::io::Error,
    },
    /// A thread.
    #[error("a thread cannot be had: {0}")]
    Thread(std::io::Error),
    /// The session has ended.
    #[error("the session ended{}{}", if .0.is_empty() { "" } else { ": " }, .0)]
    Ended(String),
    /// The session has ended, for the other end broke the protocol: another would not do better.
    #[error("the session ended: {0}")]
    Breach(String),
    /// A note that does not fit a message.
    #[error("a note of {0} bytes is too long: a message has at most 64 KiB")]
    LongNote(usize),
    /// A flow or an object that the other end would not understand.
    #[error("{0}")]
    Bounds(&'static str),
    /// 65,536 flows.
    #[error("the session has 65,536 flows already")]
    TooManyFlows,
    /// 2^32 objects, or 2^23 since one that is still in progress.
    #[error(
        "the session's object numbers are used up, or an object is in progress from 8 million objects ago; open another session"
    )]
    TooManyObjects,
}

impl SessionError {
    pub(super) fn protocol(peer: &impl ToString, why: &impl ToString) -> Self {
        Self::Protocol { peer: peer.to_string(), why: printable(&why.to_string()) }
    }

    pub(super) fn message(peer: &impl ToString, error: &MessageError) -> Self {
        Self::protocol(peer, error)
    }
}
