//! A link whose owner reads and writes it without a thread in between: for streams of data, and for the first message of any link.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use super::channel::Channel;
use super::error::{CloseReason, ControlError};
use super::frame::{TooLong, header, whole};
use super::{ControlLink, wait_until};
use crate::socket::Waker;

/// Bytes read at once.
const READ_BYTES: usize = 256 << 10;

/// A link for bulk data: frames of at most [`super::MAX_MESSAGE_BYTES`], like the messages of a control link.
///
/// Invariant: holds at most one read and one unfinished frame of what has come, and what one [`BulkLink::put`] has given it to send.
pub(crate) struct BulkLink {
    stream: TcpStream,
    channel: Channel,
    raw: Box<[u8]>,
    opened: Vec<u8>,
    taken: usize,
}

impl ControlLink {
    /// Sends a message at once, before the link is split.
    pub(crate) fn send_first(&mut self, message: &[u8], deadline: Instant) -> Result<(), ControlError> {
        self.channel.put([&header(message.len()), message]).map_err(closed)?;
        loop {
            self.channel.write(&mut self.stream).map_err(closed)?;
            if !self.channel.unsent() {
                return Ok(());
            }
            self.wait(PollFlags::OUT, deadline)?;
        }
    }

    /// Waits for a message, before the link is split.
    pub(crate) fn first_message(&mut self, deadline: Instant) -> Result<Vec<u8>, ControlError> {
        self.channel.read_early(&mut self.frames).map_err(closed)?;
        loop {
            if let Some(message) = self.frames.next().map_err(|long| ControlError::TooLong(long.0))? {
                return Ok(message);
            }
            self.wait(PollFlags::IN, deadline)?;
            self.channel.read(&mut self.stream, &mut self.frames).map_err(closed)?;
        }
    }

    fn wait(&self, interest: PollFlags, deadline: Instant) -> Result<(), ControlError> {
        if wait_until(&mut [PollFd::new(&self.stream, interest)], Some(deadline))? {
            return Ok(());
        }
        let cause = io::Error::new(io::ErrorKind::TimedOut, "it does not answer");
        Err(ControlError::Unreachable { peer: self.peer.to_string(), cause })
    }

    /// The link for its owner to read and write. A connection over which nothing gets through for `patience` is lost.
    pub(crate) fn into_bulk(mut self, patience: Duration) -> Result<BulkLink, ControlError> {
        let mut frames = std::mem::take(&mut self.frames);
        self.channel.read_early(&mut frames).map_err(closed)?;
        rustix::net::sockopt::set_tcp_user_timeout(&self.stream, patience.as_millis() as u32)
            .map_err(io::Error::from)?;
        let raw = vec![0; READ_BYTES].into_boxed_slice();
        Ok(BulkLink { stream: self.stream, channel: self.channel, raw, opened: frames.into_rest(), taken: 0 })
    }
}

fn closed(reason: CloseReason) -> ControlError {
    ControlError::Io(io::Error::new(io::ErrorKind::ConnectionAborted, reason.to_string()))
}

impl BulkLink {
    /// Takes a frame for sending; the caller has found that nothing is [`BulkLink::unsent`], or that it is little.
    pub(crate) fn put(&mut self, frame: &[u8]) -> Result<(), CloseReason> {
        self.channel.put([&header(frame.len()), frame])
    }

    /// Something was put and has not left.
    pub(crate) fn unsent(&self) -> bool {
        self.channel.unsent()
    }

    /// Sends what goes without waiting.
    pub(crate) fn write(&mut self) -> Result<(), CloseReason> {
        self.channel.write(&mut self.stream)
    }

    /// Reads once what has arrived; false if nothing has.
    pub(crate) fn read(&mut self) -> Result<bool, CloseReason> {
        self.opened.drain(..self.taken);
        self.taken = 0;
        self.channel.read_bulk(&mut self.stream, &mut self.raw, &mut self.opened)
    }

    /// The frames that are whole; each is told once.
    pub(crate) fn frames(&mut self) -> Result<Vec<&[u8]>, CloseReason> {
        let long = |TooLong(length)| CloseReason::Protocol(format!("a frame of {length} bytes"));
        let (frames, taken) = whole(&self.opened[self.taken..]).map_err(long)?;
        self.taken += taken;
        Ok(frames)
    }

    /// Waits until there is something to read, or room to write if anything is unsent, or somebody wakes us, or `deadline`.
    pub(crate) fn wait(&self, waker: &Waker, deadline: Instant) -> io::Result<()> {
        let interest = if self.unsent() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        let mut watched = [PollFd::new(&self.stream, interest), PollFd::new(waker, PollFlags::IN)];
        wait_until(&mut watched, Some(deadline))?;
        if !watched[1].revents().is_empty() {
            waker.take();
        }
        Ok(())
    }

    /// Says that nothing more comes, if that goes without waiting.
    pub(crate) fn close(mut self) {
        self.channel.close();
        let _ = self.channel.write(&mut self.stream);
        let _ = self.stream.shutdown(Shutdown::Write);
    }
}
