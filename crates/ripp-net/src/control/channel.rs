//! Bytes over one TCP connection, sealed or not, without ever waiting.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard};

use rustls::Connection;

use super::error::CloseReason;
use super::frame::FrameReader;
use crate::lock::lock;

/// Bytes read at once; also the largest TLS record.
const READ_BYTES: usize = 16 << 10;

pub(super) enum Channel {
    /// Shared with those who export keys; locked only while something is computed or copied.
    Tls(Arc<Mutex<Connection>>),
    Plain {
        unsent: Vec<u8>,
    },
}

impl Channel {
    /// Takes `parts` for sending. The caller first waits until nothing is [`Channel::unsent`], which bounds what is held here.
    pub(super) fn put(&mut self, parts: [&[u8]; 2]) -> Result<(), CloseReason> {
        match self {
            Self::Tls(connection) => {
                let mut connection = locked(connection);
                parts.iter().try_for_each(|part| connection.writer().write_all(part)).map_err(|cause| lost(&cause))
            }
            Self::Plain { unsent } => {
                parts.iter().for_each(|part| unsent.extend_from_slice(part));
                Ok(())
            }
        }
    }

    pub(super) fn unsent(&self) -> bool {
        match self {
            Self::Tls(connection) => locked(connection).wants_write(),
            Self::Plain { unsent } => !unsent.is_empty(),
        }
    }

    /// Sends what goes without waiting.
    pub(super) fn write(&mut self, stream: &mut TcpStream) -> Result<(), CloseReason> {
        while self.unsent() {
            let outcome = match self {
                Self::Tls(connection) => locked(connection).write_tls(stream),
                Self::Plain { unsent } => stream.write(unsent).inspect(|sent| drop(unsent.drain(..*sent))),
            };
            match outcome {
                Ok(_) => {}
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => break,
                Err(cause) => return Err(lost(&cause)),
            }
        }
        Ok(())
    }

    /// Reads once what has arrived.
    pub(super) fn read(&mut self, stream: &mut TcpStream, frames: &mut FrameReader) -> Result<(), CloseReason> {
        match self {
            Self::Tls(connection) => read_sealed(&mut locked(connection), stream, frames),
            Self::Plain { .. } => {
                let mut arrived = [0; READ_BYTES];
                match stream.read(&mut arrived) {
                    Ok(0) => Err(CloseReason::ByPeer),
                    Ok(bytes) => {
                        frames.push(&arrived[..bytes]);
                        Ok(())
                    }
                    Err(cause) => ignoring_waits(&cause),
                }
            }
        }
    }

    /// Reads once what has arrived, up to the length of `raw`, and appends it to `opened`. False if nothing has.
    pub(super) fn read_bulk(
        &mut self,
        stream: &mut TcpStream,
        raw: &mut [u8],
        opened: &mut Vec<u8>,
    ) -> Result<bool, CloseReason> {
        let arrived = match stream.read(raw) {
            Ok(0) => return Err(CloseReason::ByPeer),
            Ok(bytes) => &raw[..bytes],
            Err(cause) => return ignoring_waits(&cause).map(|()| false),
        };
        match self {
            Self::Tls(connection) => open_bulk(&mut locked(connection), arrived, opened)?,
            Self::Plain { .. } => opened.extend_from_slice(arrived),
        }
        Ok(true)
    }

    /// Takes what the handshake has brought along.
    pub(super) fn read_early(&mut self, frames: &mut FrameReader) -> Result<(), CloseReason> {
        match self {
            Self::Tls(connection) => open(&mut locked(connection), frames),
            Self::Plain { .. } => Ok(()),
        }
    }

    /// Tells the other end that no more will come.
    pub(super) fn close(&mut self) {
        if let Self::Tls(connection) = self {
            locked(connection).send_close_notify();
        }
    }
}

fn read_sealed(
    connection: &mut Connection,
    stream: &mut TcpStream,
    frames: &mut FrameReader,
) -> Result<(), CloseReason> {
    match connection.read_tls(stream) {
        Ok(_) => {}
        Err(cause) => return ignoring_waits(&cause),
    }
    if let Err(cause) = connection.process_new_packets() {
        return Err(CloseReason::Tls(cause.to_string()));
    }
    open(connection, frames)
}

fn open(connection: &mut Connection, frames: &mut FrameReader) -> Result<(), CloseReason> {
    let mut opened = [0; READ_BYTES];
    loop {
        match connection.reader().read(&mut opened) {
            Ok(0) => return Err(CloseReason::ByPeer),
            Ok(bytes) => frames.push(&opened[..bytes]),
            Err(cause) => return ignoring_waits(&cause),
        }
    }
}

fn open_bulk(connection: &mut Connection, mut arrived: &[u8], opened: &mut Vec<u8>) -> Result<(), CloseReason> {
    while !arrived.is_empty() {
        connection.read_tls(&mut arrived).map_err(|cause| lost(&cause))?;
        let state = connection.process_new_packets().map_err(|cause| CloseReason::Tls(cause.to_string()))?;
        let plain = state.plaintext_bytes_to_read();
        if plain > 0 {
            let before = opened.len();
            opened.resize(before + plain, 0);
            connection.reader().read_exact(&mut opened[before..]).map_err(|cause| lost(&cause))?;
        }
        if state.peer_has_closed() {
            return Err(CloseReason::ByPeer);
        }
    }
    Ok(())
}

fn ignoring_waits(cause: &io::Error) -> Result<(), CloseReason> {
    match cause.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(()),
        io::ErrorKind::UnexpectedEof => Err(CloseReason::Lost("cut off without a farewell".to_owned())),
        _ => Err(lost(cause)),
    }
}

fn lost(cause: &io::Error) -> CloseReason {
    CloseReason::Lost(cause.to_string())
}

/// A panic elsewhere cannot have left the connection half changed: exporting keys does not change it.
pub(super) fn locked(connection: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    lock(connection)
}
