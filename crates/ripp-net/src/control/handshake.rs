//! One TLS handshake that makes progress when its socket does, and knows when it is too late.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

use rustix::event::PollFlags;
use rustls::Connection;
use rustls::pki_types::CertificateDer;

use super::frame::header;
use super::{ALPN, ALPN_GREETED, ControlError, ControlLink, Greet, Shown};
use crate::fingerprint::Fingerprint;
use crate::tls;

pub(super) struct Handshake {
    pub(super) stream: TcpStream,
    pub(super) peer: SocketAddr,
    pub(super) deadline: Instant,
    connection: Connection,
    /// How messages call the other end.
    name: String,
    /// What a listener says before the other end has finished.
    greet: Option<Greet>,
    /// The port that was told, and when.
    greeted: Option<(u16, Instant)>,
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
        Ok(Self { stream, peer, deadline, connection, name, greet: None, greeted: None })
    }

    /// The same of a listener that greets who takes that.
    pub(super) fn greeting(self, greet: Option<Greet>) -> Self {
        Self { greet, ..self }
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
            self.greet()?;
        }
    }

    /// Says the greeting right behind the listener's end of the handshake. All that it tells may be known to anybody.
    fn greet(&mut self) -> io::Result<()> {
        if self.connection.alpn_protocol() == Some(ALPN_GREETED)
            && let Some(greet) = self.greet.take()
            && let Some((message, port)) = greet(self.stream.local_addr()?, self.peer)
        {
            self.connection.writer().write_all(&header(message.len()))?;
            self.connection.writer().write_all(&message)?;
            self.greeted = Some((port, Instant::now()));
        }
        Ok(())
    }

    /// `knows` says whether we know the holder of a certificate chain.
    pub(super) fn finish(self, knows: impl Fn(&[CertificateDer<'_>]) -> bool) -> Result<ControlLink, ControlError> {
        if !self.connection.alpn_protocol().is_some_and(|name| [ALPN, ALPN_GREETED].contains(&name)) {
            return Err(ControlError::OtherProtocol { peer: self.name });
        }
        let chain = self.connection.peer_certificates().unwrap_or_default();
        let shown = chain.first().map(|first| Shown { fingerprint: Fingerprint::of_der(first), known: knows(chain) });
        let link = ControlLink::sealed(self.stream, self.peer, self.connection, shown)?;
        let (greeted, rtt) = self.greeted.map(|(port, at)| (port, at.elapsed())).unzip();
        Ok(ControlLink { greeted, rtt, ..link })
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
