//! RIPP's sockets, TLS and threads: all that the sans-IO core leaves out.
//!
//! - [`RippUrl`]: what one end prints and the other needs.
//! - [`Identity`], [`Trust`]: who we are, whom we believe.
//! - [`PolicyFile`]: what the user allows on which path.
//! - [`ControlLink`], [`ControlListener`]: framed messages over TLS 1.3, and the keys that lanes are sealed with.
//! - [`LaneSocket`]: the only place with UDP sockets.
//!
//! Invariant: nothing is read that a peer could make us wait for without a deadline, and nothing a length claims is allocated before
//! the bytes are here.

mod control;
#[doc(hidden)]
pub mod decoders;
mod fingerprint;
mod identity;
mod kept_token;
mod lock;
mod own_host;
pub mod perf;
mod policy;
pub mod private;
mod saved_urls;
mod session;
mod socket;
mod text;
mod thread_clock;
mod tls;
mod token;
mod trust;
mod undisturbed;
pub mod units;
mod url;

pub use control::{
    CloseReason, ControlError, ControlEvent, ControlLink, ControlListener, ControlReceiver, ControlSender, KeyExporter,
    MAX_CONNECTING, MAX_MESSAGE_BYTES, Security,
};
pub use fingerprint::{Fingerprint, FingerprintError};
pub use identity::{Identity, IdentityError, user_folder};
pub use own_host::own_host;
pub use policy::{Policy, PolicyError, PolicyFile, Ruling};
pub use saved_urls::{KeptError, with_kept_token};
pub use session::{
    Arrival, Delivery, Flow, Incoming, LaneStatistics, Lanes, Listener, ListenerOptions, MemorySink, NoMemory, Note,
    ObjectError, Offer, Options, Outgoing, Rate, Refused, Service, Session, SessionError, Sink, Source, Statistics,
};
pub use socket::{
    Batch, Datagram, Datagrams, Ecn, LaneSocket, MAX_BURST_BYTES, MAX_SEGMENTS, RecvArena, SendOutcome, Waker,
};
pub use text::{line_of, system_reason};
pub use token::{Token, TokenError};
pub use trust::{Authorities, Clients, Member, Trust, TrustError};
pub use undisturbed::Undisturbed;
pub use url::{RippUrl, UrlError};
pub use visapult_ripp::control::{MOST_LANES, Transport};
pub use visapult_ripp::division;
pub use visapult_ripp::memory::{Memory, TooLittle};
pub use visapult_ripp::outbox::Mode;
pub use visapult_ripp::rate::Verdict;
