//! Batches in.

use std::io;
use std::time::{Duration, Instant, SystemTime};

use super::arena::{MESSAGE_BYTES, MESSAGES, RecvArena};
use super::{LaneSocket, sys};

/// Errors of earlier sends that the kernel may report here.
const MAX_STALE_ERRORS: usize = 4;

/// Takes what is there without waiting; whether there was anything.
pub(super) fn fill(lane: &LaneSocket, arena: &mut RecvArena) -> io::Result<bool> {
    arena.filled = 0;
    let mut stale = 0;
    loop {
        let cause = match sys::receive(&lane.socket, arena.bytes.get_mut(), MESSAGE_BYTES, &mut arena.messages) {
            Ok(found) => {
                arena.filled = found.messages;
                let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
                let most = arena.drained.unwrap_or(lane.bound).elapsed();
                for message in &mut arena.messages[..found.messages] {
                    message.waited = message.arrived.map_or(Duration::ZERO, |arrived| waited(arrived, now, most));
                }
                if found.messages < MESSAGES {
                    arena.drained = Some(Instant::now());
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
            Some(libc::EAGAIN) => {
                arena.drained = Some(Instant::now());
                return Ok(false);
            }
            // Unauthenticated ICMP about an earlier datagram.
            Some(libc::ECONNREFUSED) if stale < MAX_STALE_ERRORS => stale += 1,
            _ => return Err(cause),
        }
    }
}

/// How long a datagram was in the socket. The kernel tells by the system's clock, which may be set meanwhile: it was no longer than `most`.
fn waited(arrived: Duration, now: Duration, most: Duration) -> Duration {
    now.saturating_sub(arrived).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_makes_no_datagram_wait() {
        let ms = Duration::from_millis;
        let hour = Duration::from_secs(3600);
        assert_eq!(waited(hour, hour + ms(3), ms(5)), ms(3));
        assert_eq!(waited(hour, 2 * hour, ms(5)), ms(5), "set forward");
        assert_eq!(waited(hour, ms(0), ms(5)), ms(0), "set back");
    }
}
