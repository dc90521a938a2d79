//! The control link: messages in order over TLS 1.3, and the secrets that lanes are sealed with.
//!
//! Invariant: a peer that is slow, silent or hostile costs bounded memory and never keeps another from being served.

mod bulk;
mod channel;
mod dial;
mod error;
mod frame;
mod gathering;
mod handshake;
mod listener;
mod pump;
mod queue;

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, Timespec, poll};
use rustls::Connection;

pub use error::{CloseReason, ControlError};
pub use frame::MAX_MESSAGE_BYTES;
pub(crate) use listener::oldest_of_the_most;
pub use listener::{ControlListener, MAX_CONNECTING, Security};
pub(crate) use queue::MESSAGE;
pub use queue::{ControlEvent, ControlReceiver, ControlSender};

use crate::fingerprint::Fingerprint;
use crate::identity::Identity;
use crate::socket::Waker;
use crate::trust::Trust;
use crate::url::RippUrl;
pub(crate) use bulk::BulkLink;
use channel::{Channel, locked};
pub(crate) use frame::{FrameReader, whole};

/// The protocol's name in TLS (RFC 7301).
pub(crate) const ALPN: &[u8] = b"ripp/1";
/// The same where the dialling end takes a greeting before it has said hello; builds before this one do not know it.
pub(crate) const ALPN_GREETED: &[u8] = b"ripp/1 greeted";

/// What a listener says to who has dialled it, ahead of his hello: from its own address and his, the message, and the port that this tells.
pub(crate) type Greet = Arc<dyn Fn(SocketAddr, SocketAddr) -> Option<(Vec<u8>, u16)> + Send + Sync>;

/// A connection that has passed its handshake and has not yet carried a message.
pub struct ControlLink {
    stream: TcpStream,
    peer: SocketAddr,
    local: SocketAddr,
    channel: Channel,
    /// What has arrived and was not taken yet.
    frames: FrameReader,
    shown: Option<Shown>,
    /// The port that the greeting told, where there was one.
    greeted: Option<u16>,
    /// How long the other end's answer took in TLS's handshake, where we dialled or have greeted.
    rtt: Option<Duration>,
}

/// The certificate that the other end has shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    pub(crate) fingerprint: Fingerprint,
    /// We know its holder.
    pub(crate) known: bool,
}

/// Derives keys from the session's secrets (RFC 8446, 7.5); both ends derive the same. Cloneable, and usable while messages flow.
#[derive(Clone)]
pub struct KeyExporter(Arc<Mutex<Connection>>);

impl ControlLink {
    /// Reaches the listener of `url`: finding its address, TCP and TLS take at most `timeout` in all. `identity` is shown if the
    /// listener asks for a certificate; the URL's token is the caller's to send.
    ///
    /// # Errors
    /// [`ControlError`], which names the case.
    pub fn dial(
        url: &RippUrl,
        trust: &Trust,
        identity: Option<&Identity>,
        timeout: Duration,
    ) -> Result<Self, ControlError> {
        dial::dial(url, None, false, trust, identity, timeout)
    }

    /// The same, whose first message may be a greeting.
    pub(crate) fn dial_greeted(
        url: &RippUrl,
        trust: &Trust,
        identity: Option<&Identity>,
        timeout: Duration,
    ) -> Result<Self, ControlError> {
        dial::dial(url, None, true, trust, identity, timeout)
    }

    /// Reaches the listener of `url` once more at the address that answered before.
    pub(crate) fn dial_again(
        url: &RippUrl,
        at: SocketAddr,
        trust: &Trust,
        identity: Option<&Identity>,
        timeout: Duration,
    ) -> Result<Self, ControlError> {
        dial::dial(url, Some(at), false, trust, identity, timeout)
    }

    fn sealed(
        stream: TcpStream,
        peer: SocketAddr,
        mut connection: Connection,
        shown: Option<Shown>,
    ) -> Result<Self, ControlError> {
        // The owner thread gives it one message at a time, which must go in whole.
        connection.set_buffer_limit(None);
        let local = stream.local_addr()?;
        let channel = Channel::Tls(Arc::new(Mutex::new(connection)));
        Ok(Self { stream, peer, local, channel, frames: FrameReader::default(), shown, greeted: None, rtt: None })
    }

    fn plain(stream: TcpStream, peer: SocketAddr) -> Result<Self, ControlError> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let local = stream.local_addr()?;
        let channel = Channel::Plain { unsent: Vec::new() };
        let frames = FrameReader::default();
        Ok(Self { stream, peer, local, channel, frames, shown: None, greeted: None, rtt: None })
    }

    /// The other end.
    pub fn peer_addr(&self) -> SocketAddr {
        self.peer
    }

    /// This end.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// At a listener: the port that the other end was told in a greeting, if it was.
    pub(crate) fn greeted(&self) -> Option<u16> {
        self.greeted
    }

    /// How long a round trip took, where we dialled or have greeted.
    pub(crate) fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    /// The connection itself, to shut it down from elsewhere.
    pub(crate) fn stream(&self) -> io::Result<TcpStream> {
        self.stream.try_clone()
    }

    /// Whether the other end has shown a certificate that we believe: always where we dialed, and at a listener where the client is
    /// one of those given in [`Security::Tls`]. False in plaintext.
    pub fn peer_certified(&self) -> bool {
        self.shown.is_some_and(|shown| shown.known)
    }

    /// The certificate that the other end has shown, if it has.
    pub(crate) fn shown(&self) -> Option<Shown> {
        self.shown
    }

    /// Derives keys for lanes; none in plaintext, where nothing is sealed.
    pub fn exporter(&self) -> Option<KeyExporter> {
        match &self.channel {
            Channel::Tls(connection) => Some(KeyExporter(Arc::clone(connection))),
            Channel::Plain { .. } => None,
        }
    }

    /// Fills `out` as [`KeyExporter::export_key`] does; `None` in plaintext, where `out` is left alone and nothing is to be sealed.
    ///
    /// # Errors
    /// [`ControlError::Tls`] if `out` is longer than TLS derives (some 10 kB).
    pub fn export_key(&self, label: &str, context: &[u8], out: &mut [u8]) -> Option<Result<(), ControlError>> {
        self.exporter().map(|exporter| exporter.export_key(label, context, out))
    }

    /// Starts the thread that owns the connection. It ends when the last sender is dropped, or the link.
    ///
    /// # Errors
    /// [`ControlError::Io`] if the system gives no thread, or nothing to wake it with.
    pub fn split(self) -> Result<(ControlSender, ControlReceiver), ControlError> {
        Ok(self.split_woken_by(Waker::new()?)?)
    }

    /// The same, with what wakes the thread.
    pub(crate) fn split_woken_by(self, waker: Waker) -> io::Result<(ControlSender, ControlReceiver)> {
        pump::start(self.stream, self.channel, self.frames, self.rtt, waker)
    }

    /// Sends a last message and ends the link, with no thread and nothing else that the system may not have.
    pub(crate) fn end_with(self, message: &[u8]) {
        pump::end_with(self.stream, self.channel, message);
    }
}

impl fmt::Debug for ControlLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ControlLink({} -> {})", self.local, self.peer)
    }
}

impl KeyExporter {
    /// Fills `out` with a secret for `label` and `context`.
    ///
    /// # Errors
    /// [`ControlError::Tls`] if `out` is longer than TLS derives (some 10 kB).
    pub fn export_key(&self, label: &str, context: &[u8], out: &mut [u8]) -> Result<(), ControlError> {
        locked(&self.0).export_keying_material(out, label.as_bytes(), Some(context))?;
        Ok(())
    }
}

impl fmt::Debug for KeyExporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyExporter")
    }
}

/// Waits for one of `watched`; false once `deadline` has passed.
fn wait_until(watched: &mut [PollFd<'_>], deadline: Option<Instant>) -> io::Result<bool> {
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Ok(false);
        }
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(watched, left.as_ref()) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(cause) => return Err(cause.into()),
        }
    }
}
