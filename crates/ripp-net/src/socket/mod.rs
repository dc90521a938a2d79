//! The sockets of lanes: whole bursts out, whole batches in.
//!
//! What the kernel can do (segmentation offload both ways, counters, marks) is probed for each socket and never assumed.
//! Invariant: no call but [`LaneSocket::recv_batch`] and [`LaneSocket::wait_writable`] ever waits.

mod aligned;
mod arena;
mod options;
mod receive;
mod send;
mod sys;
mod waker;

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

pub(crate) use aligned::Aligned;
pub use arena::{Batch, Datagram, Datagrams, RecvArena};
pub use send::{MAX_BURST_BYTES, SendOutcome};
pub use waker::Waker;

/// Segments that the kernel cuts from one buffer.
pub const MAX_SEGMENTS: usize = 64;

/// Bytes of IP and UDP headers before each datagram to or from `peer`.
#[must_use]
pub(crate) fn header_bytes(peer: SocketAddr) -> u16 {
    if peer.ip().to_canonical().is_ipv6() { 48 } else { 28 }
}

/// The two bits of the IP header that tell of congestion (RFC 3168).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Ecn {
    /// Routers drop instead of marking.
    #[default]
    NotCapable = 0,
    /// Capable; the experimental code point.
    Capable1 = 1,
    /// Capable.
    Capable0 = 2,
    /// A router met congestion.
    Congested = 3,
}

impl Ecn {
    fn from_traffic_class(class: u8) -> Self {
        match class & 3 {
            0 => Self::NotCapable,
            1 => Self::Capable1,
            2 => Self::Capable0,
            _ => Self::Congested,
        }
    }
}

/// An unconnected UDP socket that sends and receives many datagrams per system call.
#[derive(Debug)]
pub struct LaneSocket {
    socket: UdpSocket,
    local: SocketAddr,
    bound: Instant,
    waker: Waker,
    segmenting: AtomicBool,
    coalescing: bool,
    recv_buffer: usize,
    send_buffer: usize,
}

impl LaneSocket {
    /// A socket at `local` (port 0: any), with the largest buffers the system grants; datagrams are never fragmented.
    /// An IPv6 socket at `[::]` serves IPv4 too.
    ///
    /// # Errors
    /// The system's, if the address cannot be had.
    pub fn bind(local: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(local)?;
        socket.set_nonblocking(true)?;
        let local = socket.local_addr()?;
        let granted = options::prepare(&socket, local.is_ipv6())?;
        Ok(Self {
            local,
            bound: Instant::now(),
            waker: Waker::new()?,
            segmenting: AtomicBool::new(granted.segmenting),
            coalescing: granted.coalescing,
            recv_buffer: granted.recv_buffer,
            send_buffer: granted.send_buffer,
            socket,
        })
    }

    /// Where the socket is bound.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Bytes the kernel keeps of what we have not read, its own overhead included.
    pub fn recv_buffer(&self) -> usize {
        self.recv_buffer
    }

    /// Bytes the kernel keeps of what it has not sent, its own overhead included.
    pub fn send_buffer(&self) -> usize {
        self.send_buffer
    }

    /// Segments the kernel cuts from one buffer; 1 where it cuts none. May fall to 1 when a send shows that it does not work.
    pub fn gso_max_segments(&self) -> usize {
        if self.segmenting.load(Ordering::Relaxed) { MAX_SEGMENTS } else { 1 }
    }

    /// Whether the kernel hands over several datagrams as one.
    pub fn gro(&self) -> bool {
        self.coalescing
    }

    /// Has the kernel keep no more than about `bytes` of what we have not read, or as much as it grants.
    ///
    /// # Errors
    /// The system's.
    pub fn limit_buffer(&mut self, bytes: Option<usize>) -> io::Result<()> {
        self.recv_buffer = options::set_receive_buffer(&self.socket, bytes.unwrap_or(options::BUFFER_BYTES))?;
        Ok(())
    }

    /// Has the kernel hand over each datagram by itself from now on.
    pub fn take_singly(&mut self) {
        self.coalescing = self.coalescing && !options::take_singly(&self.socket);
    }

    /// Marks all that is sent from now on.
    ///
    /// # Errors
    /// The system's.
    pub fn set_ecn(&self, ecn: Ecn) -> io::Result<()> {
        options::set_traffic_class(&self.socket, self.local.is_ipv6(), ecn as u8)
    }

    /// Whether the kernel keeps something that we have not read.
    pub(crate) fn has_unread(&self) -> bool {
        rustix::io::ioctl_fionread(&self.socket).is_ok_and(|bytes| bytes > 0)
    }

    /// Ends the [`LaneSocket::recv_batch`] that waits, or the next, from any thread.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// The MTU of the route from here to `to`, IP header included, as far as this host knows.
    ///
    /// # Errors
    /// The system's, if there is no route.
    pub fn route_mtu(&self, to: SocketAddr) -> io::Result<usize> {
        options::route_mtu(self.local, to)
    }

    /// Sends `buf` as datagrams of `segment` bytes, the last one perhaps shorter, without waiting.
    ///
    /// # Errors
    /// `InvalidInput` if `segment` is 0; the system's when the address cannot be reached.
    pub fn send_burst(&self, to: SocketAddr, buf: &[u8], segment: usize) -> io::Result<SendOutcome> {
        send::send_burst(self, to, buf, segment)
    }

    /// Waits until there is room in the send buffer; false when `timeout` passed first.
    ///
    /// # Errors
    /// The system's.
    pub fn wait_writable(&self, timeout: Duration) -> io::Result<bool> {
        let mut watched = [PollFd::new(&self.socket, PollFlags::OUT)];
        wait(&mut watched, timeout)?;
        Ok(!watched[0].revents().is_empty())
    }

    /// Fills `arena` with what has arrived; waits at most `timeout` (zero: not at all) for a first datagram or a wake-up.
    ///
    /// # Errors
    /// The system's.
    pub fn recv_batch<'a>(&self, arena: &'a mut RecvArena, timeout: Duration) -> io::Result<Batch<'a>> {
        let mut woken = false;
        if !receive::fill(self, arena)? && !timeout.is_zero() {
            let mut watched =
                [PollFd::new(&self.socket, PollFlags::IN), PollFd::from_borrowed_fd(self.waker.as_fd(), PollFlags::IN)];
            wait(&mut watched, timeout)?;
            let [socket, waker] = watched.map(|fd| !fd.revents().is_empty());
            woken = waker && self.waker.take();
            if socket {
                receive::fill(self, arena)?;
            }
        }
        Ok(arena.batch(woken))
    }
}

fn wait(watched: &mut [PollFd<'_>], timeout: Duration) -> io::Result<()> {
    // An interrupted wait is a wake-up without a reason; callers look at the clock anyway.
    let timeout = Timespec::try_from(timeout).unwrap_or(Timespec { tv_sec: i64::from(i32::MAX), tv_nsec: 0 });
    match poll(watched, Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(cause) => Err(cause.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_read_is_known() {
        let bind = || LaneSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let (from, to) = (bind(), bind());
        assert!(!to.has_unread());
        from.send_burst(to.local_addr(), b"datagram", 8).unwrap();
        let came = std::iter::repeat_with(|| to.has_unread()).take(1_000).any(|came| {
            std::thread::sleep(Duration::from_millis(u64::from(!came)));
            came
        });
        assert!(came);
        to.recv_batch(&mut RecvArena::new(), Duration::ZERO).unwrap();
        assert!(!to.has_unread());
    }
}
