//! One TLS handshake that makes progress when its socket does, and knows when it is too late.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

use rustix::event::PollFlags;
use rustls::Connection;
use rustls::pki_types::CertificateDer;

use super::{ALPN, ControlError, ControlLink, Shown};
use crate::fingerprint::Fingerprint;
use crate::tls;

pub(super) struct Handshake {
    pub(super) stream: TcpStream,
    pub(super) peer: SocketAddr,
    pub(super) deadline: Instant,
    connection: Connection,
    /// How messages call the other end.
    name: String,
}

impl Handshake {
    /// `stream` is made non-blocking.
    pub(super) fn new(
        stream: TcpStream,
        peer: SocketAddr,
        name: String,
        connection: Connection,
        deadline: Instant,
    ) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, peer, deadline, connection, name })
    }

    pub(super) fn interest(&self) -> PollFlags {
        if self.connection.wants_write() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN }
    }

    /// Goes as far as it can without waiting; true once all of it is done and sent.
    pub(super) fn advance(&mut self) -> Result<bool, ControlError> {
        loop {
            if self.connection.wants_write() && !self.wrote()? {
                return Ok(false);
            }
            if !self.connection.is_handshaking() {
                return Ok(!self.connection.wants_write());
            }
            if !self.read()? {
                return Ok(false);
            }
        }
    }

    /// `knows` says whether we know the holder of a certificate chain.
    pub(super) fn finish(self, knows: impl Fn(&[CertificateDer<'_>]) -> bool) -> Result<ControlLink, ControlError> {
        if self.connection.alpn_protocol() != Some(ALPN) {
            return Err(ControlError::OtherProtocol { peer: self.name });
        }
        let chain = self.connection.peer_certificates().unwrap_or_default();
        let shown = chain.first().map(|first| Shown { fingerprint: Fingerprint::of_der(first), known: knows(chain) });
        ControlLink::sealed(self.stream, self.peer, self.connection, shown)
    }

    fn wrote(&mut self) -> Result<bool, ControlError> {
        match self.connection.write_tls(&mut self.stream) {
            Ok(_) => Ok(true),
            Err(cause) => self.waiting(cause),
        }
    }

    fn read(&mut self) -> Result<bool, ControlError> {
        match self.connection.read_tls(&mut self.stream) {
            Ok(0) => {
                let cause = io::Error::new(io::ErrorKind::UnexpectedEof, "it closed the connection at once");
                return Err(ControlError::Unreachable { peer: self.name.clone(), cause });
            }
            Ok(_) => {}
            Err(cause) => return self.waiting(cause),
        }
        if let Err(cause) = self.connection.process_new_packets() {
            // Best effort: tells the other end why.
            let _ = self.connection.write_tls(&mut self.stream);
            return Err(tls::named(&cause, &self.name));
        }
        Ok(true)
    }

    fn waiting(&self, cause: io::Error) -> Result<bool, ControlError> {
        match cause.kind() {
            io::ErrorKind::WouldBlock => Ok(false),
            io::ErrorKind::Interrupted => Ok(true),
            _ => Err(ControlError::Unreachable { peer: self.name.clone(), cause }),
        }
    }
}
