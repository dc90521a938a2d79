//! Why there is no control link, or no longer one.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use thiserror::Error;

use super::MAX_MESSAGE_BYTES;
use crate::fingerprint::Fingerprint;
use crate::text::{reason_and, system_reason};

/// Why a control link could not be made or used. `peer` is `host:port`.
#[derive(Debug, Error)]
pub enum ControlError {
    /// The name means nothing.
    #[error("cannot find the address of {peer}: {cause}; check the host's name")]
    Unresolved {
        /// Whom we looked for.
        peer: String,
        /// The resolver's reason.
        cause: String,
    },
    /// No TCP connection.
    #[error(
        "cannot connect to {peer}: {}",
        reason_and(cause, "check that the listener runs there and that no firewall is between")
    )]
    Unreachable {
        /// Whom we dialed.
        peer: String,
        /// The system's reason.
        cause: io::Error,
    },
    /// Nothing came in time.
    #[error("{peer} did not answer within {} s; check that the listener runs there and that no firewall is between", .after.as_secs_f32())]
    TimedOut {
        /// Whom we dialed.
        peer: String,
        /// How long we waited in all.
        after: Duration,
    },
    /// Somebody else's certificate.
    #[error(
        "{peer} has another certificate than the URL says: expected {expected}, got {got}; get a fresh URL from the listener, and if it is the same, somebody is in between"
    )]
    WrongFingerprint {
        /// Whom we dialed.
        peer: String,
        /// The URL's.
        expected: Fingerprint,
        /// The listener's.
        got: Fingerprint,
    },
    /// Past its last day.
    #[error("the certificate of {peer} has expired; it must be renewed there (or this computer's clock is wrong)")]
    Expired {
        /// Whom we dialed.
        peer: String,
    },
    /// Before its first day.
    #[error("the certificate of {peer} is not valid yet; check the clocks of both computers")]
    NotYetValid {
        /// Whom we dialed.
        peer: String,
    },
    /// A certificate for another name.
    #[error(
        "the certificate of {peer} is for {names}, not for this host; dial it by that name, or by a URL with a fingerprint"
    )]
    WrongHost {
        /// Whom we dialed.
        peer: String,
        /// Whom the certificate is for.
        names: String,
    },
    /// Nobody we believe vouches for it.
    #[error(
        "the certificate of {peer} is signed by nobody we believe; name the authority's file, or use a URL with a fingerprint"
    )]
    UnknownAuthority {
        /// Whom we dialed.
        peer: String,
    },
    /// Wrong in another way.
    #[error("the certificate of {peer} cannot be believed: {cause}; use a URL with a fingerprint")]
    Certificate {
        /// Whom we dialed.
        peer: String,
        /// What is wrong with it.
        cause: String,
    },
    /// Speaks TLS, but not this protocol.
    #[error("{peer} speaks another protocol than ripp/1; check the port, and that both programs are of this version")]
    OtherProtocol {
        /// Whom we dialed.
        peer: String,
    },
    /// Speaks no TLS.
    #[error("{peer} does not speak TLS; check the port, and that it was not started for plaintext")]
    NotTls {
        /// Whom we dialed.
        peer: String,
    },
    /// The other end ended the handshake.
    #[error("{peer} refused the connection: {cause}")]
    Refused {
        /// The other end.
        peer: String,
        /// What it said.
        cause: String,
    },
    /// Plaintext was asked for elsewhere.
    #[error(
        "{0} is not on this computer: without encryption only loopback addresses such as 127.0.0.1 are served and dialed"
    )]
    NotLoopback(SocketAddr),
    /// A URL that names nobody, of another computer.
    #[error(
        "{0} is not on this computer, and the URL has neither token nor fingerprint: give all of it, as the listener printed it, or keep that in \
         ~/.config/visapult/urls"
    )]
    Bare(SocketAddr),
    /// The same of this computer, where the listener wants both.
    #[error(
        "{0} speaks TLS, and the URL has neither token nor fingerprint: give all of it, as the listener printed it, or keep that in \
         ~/.config/visapult/urls"
    )]
    BareHere(String),
    /// The address cannot be had.
    #[error("cannot listen on {at}: {cause}; {}", way_to_listen(cause))]
    Bind {
        /// Where we were to listen.
        at: SocketAddr,
        /// The system's reason.
        cause: io::Error,
    },
    /// More bytes than a message may have.
    #[error("a control message of {0} bytes: at most {MAX_MESSAGE_BYTES} are sent in one")]
    TooLong(usize),
    /// The other end takes messages too slowly.
    #[error("the control link is backed up: the other end does not take its messages")]
    BackedUp,
    /// The link is closed; [`super::ControlReceiver`] says why.
    #[error("the control link is closed")]
    Closed,
    /// The listener was stopped.
    #[error("the listener was stopped")]
    Stopped,
    /// A socket or thread failed.
    #[error("control link: {}", system_reason(.0))]
    Io(#[from] io::Error),
    /// TLS failed in a way that has no name of its own.
    #[error("TLS: {0}")]
    Tls(String),
}

impl From<rustls::Error> for ControlError {
    fn from(cause: rustls::Error) -> Self {
        Self::Tls(cause.to_string())
    }
}

/// Why a control link ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// The other end closed it in order.
    ByPeer,
    /// All our senders are gone, and all they sent was handed over.
    ByUs,
    /// The other end broke the protocol.
    Protocol(String),
    /// The other end speaks TLS where nothing was to be encrypted.
    Encrypted,
    /// TLS failed: what came was damaged or forged, or the other end refused us.
    Tls(String),
    /// The connection broke.
    Lost(String),
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByPeer => f.write_str("the other end closed the control link"),
            Self::ByUs => f.write_str("we closed the control link"),
            Self::Protocol(cause) => write!(f, "the other end broke the protocol of the control link: {cause}"),
            Self::Encrypted => f.write_str("the other end speaks TLS, and here nothing is encrypted"),
            Self::Tls(cause) => write!(f, "TLS failed: {cause}"),
            Self::Lost(cause) => write!(f, "the control link broke: {cause}"),
        }
    }
}

/// What to do about an address that cannot be listened on.
fn way_to_listen(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::AddrNotAvailable => "choose an address that this computer has, or 0.0.0.0 for all that it has",
        _ => "choose another port, or 0 for any",
    }
}
