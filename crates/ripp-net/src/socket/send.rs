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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::RecvArena;
    use super::*;

    #[test]
    fn a_kernel_that_cannot_cut_gets_the_datagrams_one_by_one() {
        let lane = || LaneSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let (left, right) = (lane(), lane());
        left.segmenting.store(false, Ordering::Relaxed);
        assert_eq!(left.gso_max_segments(), 1);
        // More datagrams than one call takes, the last one shorter.
        let burst: Vec<u8> = (0..100 * 150 + 50).map(|i| (i % 251) as u8).collect();
        assert_eq!(left.send_burst(right.local_addr(), &burst, 100).unwrap(), SendOutcome::Sent);
        let (mut arena, mut found) = (RecvArena::new(), Vec::new());
        while found.len() < burst.len() {
            let batch = right.recv_batch(&mut arena, Duration::from_secs(10)).unwrap();
            let before = found.len();
            batch.datagrams.for_each(|datagram| {
                assert!(datagram.bytes.len() <= 100);
                found.extend_from_slice(datagram.bytes);
            });
            assert!(found.len() > before);
        }
        assert!(found == burst);
    }
}
