//! Batches in.

use std::io;
use std::time::{Duration, SystemTime};

use super::arena::{MESSAGE_BYTES, RecvArena};
use super::{LaneSocket, sys};

/// Errors of earlier sends that the kernel may report here.
const MAX_STALE_ERRORS: usize = 4;

/// Takes what is there without waiting; whether there was anything.
pub(super) fn fill(lane: &LaneSocket, arena: &mut RecvArena) -> io::Result<bool> {
    arena.filled = 0;
    let mut stale = 0;
    loop {
        let cause = match sys::receive(&lane.socket, &mut arena.bytes, MESSAGE_BYTES, &mut arena.messages) {
            Ok(found) => {
                arena.filled = found.messages;
                let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
                for message in &mut arena.messages[..found.messages] {
                    // None if the system's clock was set back meanwhile.
                    message.waited = message.arrived.map_or(Duration::ZERO, |arrived| now.saturating_sub(arrived));
                }
                if let Some(counter) = found.dropped {
                    arena.note_dropped(counter);
                }
                return Ok(true);
            }
            Err(cause) => cause,
        };
        match cause.raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::EAGAIN) => return Ok(false),
            // Unauthenticated ICMP about an earlier datagram.
            Some(libc::ECONNREFUSED) if stale < MAX_STALE_ERRORS => stale += 1,
            _ => return Err(cause),
        }
    }
}
