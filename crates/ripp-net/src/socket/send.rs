//! Bursts out: one buffer cut by the kernel, or many datagrams in one call where it cannot cut.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use super::options::reachable_from;
use super::{LaneSocket, MAX_SEGMENTS, sys};

/// Bytes that one call can hand over: the largest UDP payload over IPv4.
pub const MAX_BURST_BYTES: usize = 65_507;
/// Datagrams per call where the kernel cannot cut.
const MAX_MESSAGES: usize = 64;
/// Errors of earlier datagrams that one call reports before its own.
const MAX_STALE_ERRORS: usize = 4;

/// How far a burst got. `sent` counts bytes, always whole datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendOutcome {
    /// All of it was handed to the kernel.
    Sent,
    /// The queue is full: wait for room, then go on from `sent`.
    Full {
        /// Bytes handed over.
        sent: usize,
    },
    /// A datagram is larger than the interface carries: use smaller segments from `sent` on.
    TooLarge {
        /// Bytes handed over.
        sent: usize,
    },
}

enum Step {
    Sent(usize),
    Full,
    TooLarge,
}

pub(super) fn send_burst(lane: &LaneSocket, to: SocketAddr, buf: &[u8], segment: usize) -> io::Result<SendOutcome> {
    if segment == 0 {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a burst of datagrams of 0 bytes: give their size"));
    }
    if segment > MAX_BURST_BYTES && buf.len() > MAX_BURST_BYTES {
        return Ok(SendOutcome::TooLarge { sent: 0 });
    }
    let to = reachable_from(lane.local, to);
    let mut sent = 0;
    while sent < buf.len() {
        match step(lane, to, &buf[sent..], segment)? {
            Step::Sent(bytes) => sent += bytes,
            Step::Full => return Ok(SendOutcome::Full { sent }),
            Step::TooLarge => return Ok(SendOutcome::TooLarge { sent }),
        }
    }
    Ok(SendOutcome::Sent)
}

fn step(lane: &LaneSocket, to: SocketAddr, rest: &[u8], segment: usize) -> io::Result<Step> {
    let segments = (MAX_BURST_BYTES / segment).clamp(1, MAX_SEGMENTS);
    let cut = &rest[..rest.len().min(segments * segment)];
    if cut.len() <= segment {
        return outcome(|| sys::send(&lane.socket, to, cut, None));
    }
    if lane.segmenting.load(Ordering::Relaxed) {
        match outcome(|| sys::send(&lane.socket, to, cut, Some(segment))) {
            // EIO: the route cannot take its checksums. EINVAL: older kernels say so of what is too large, as well.
            Err(cause) if matches!(cause.raw_os_error(), Some(libc::EIO | libc::EINVAL)) => {
                let singly = one_by_one(lane, to, cut, segment)?;
                if let Step::Sent(_) = singly {
                    lane.segmenting.store(false, Ordering::Relaxed);
                }
                return Ok(singly);
            }
            other => return other,
        }
    }
    one_by_one(lane, to, cut, segment)
}

fn one_by_one(lane: &LaneSocket, to: SocketAddr, cut: &[u8], segment: usize) -> io::Result<Step> {
    let cut = &cut[..cut.len().min(MAX_MESSAGES * segment)];
    outcome(|| {
        let messages = sys::send_each(&lane.socket, to, cut, segment)?;
        Ok(cut.len().min(messages * segment))
    })
}

fn outcome(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<Step> {
    let mut stale = 0;
    loop {
        let cause = match call() {
            Ok(bytes) => return Ok(Step::Sent(bytes)),
            Err(cause) => cause,
        };
        match cause.raw_os_error() {
            Some(libc::EINTR) => {}
            // Of an earlier datagram: nobody listened there. Whether the peer lives is not told by unauthenticated ICMP.
            Some(libc::ECONNREFUSED) if stale < MAX_STALE_ERRORS => stale += 1,
            Some(libc::EAGAIN | libc::ENOBUFS) => return Ok(Step::Full),
            Some(libc::EMSGSIZE) => return Ok(Step::TooLarge),
            _ => return Err(cause),
        }
    }
}
