//! Where datagrams arrive: buffers that are filled by one call and read in place.

use std::net::{Ipv4Addr, SocketAddr};
use std::slice::{ChunksMut, Iter};
use std::time::{Duration, Instant};

use super::{Aligned, Ecn};

/// Messages taken per call; each may hold [`super::MAX_SEGMENTS`] datagrams.
pub(super) const MESSAGES: usize = 16;
/// No UDP message is larger.
pub(super) const MESSAGE_BYTES: usize = 1 << 16;

/// What the kernel said of one message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) bytes: usize,
    /// Bytes of each datagram in it but the last; never 0.
    pub(super) segment: usize,
    pub(super) from: SocketAddr,
    pub(super) ecn: Ecn,
    /// When the kernel got it, since the epoch of the system's clock, where it told.
    pub(super) arrived: Option<Duration>,
    /// How long it was in the socket.
    pub(super) waited: Duration,
}

impl Message {
    pub(super) const NONE: Self = Self {
        bytes: 0,
        segment: 1,
        from: SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
        ecn: Ecn::NotCapable,
        arrived: None,
        waited: Duration::ZERO,
    };
}

/// Buffers for one receiving thread: 1 MiB, touched once so that no page is missing when it matters.
#[derive(Debug)]
pub struct RecvArena {
    pub(super) bytes: Aligned,
    pub(super) messages: [Message; MESSAGES],
    pub(super) filled: usize,
    /// The kernel's counter as last told, which wraps.
    pub(super) dropped_last: u32,
    pub(super) dropped: u64,
    /// When the socket was last seen to be empty: what comes now came after that.
    pub(super) drained: Option<Instant>,
}

/// What one call brought.
#[derive(Debug)]
pub struct Batch<'a> {
    /// The datagrams, in order of arrival.
    pub datagrams: Datagrams<'a>,
    /// Datagrams (counted as the kernel queued them, so several coalesced ones as one) that this socket's full buffer has cost since
    /// it was opened.
    pub dropped: u64,
    /// More is probably waiting.
    pub more: bool,
    /// Somebody called the [`super::Waker`].
    pub woken: bool,
}

/// One datagram, in the arena.
#[derive(Debug)]
pub struct Datagram<'a> {
    /// The payload; may be opened in place.
    pub bytes: &'a mut [u8],
    /// Whence it came; an IPv4 address is written as such.
    pub from: SocketAddr,
    /// The mark it bore.
    pub ecn: Ecn,
    /// How long it had waited in the socket, coalesced ones alike; zero where the kernel does not tell.
    pub waited: Duration,
}

/// Iterator over a batch.
#[derive(Debug)]
pub struct Datagrams<'a> {
    buffers: ChunksMut<'a, u8>,
    messages: Iter<'a, Message>,
    current: ChunksMut<'a, u8>,
    from: SocketAddr,
    ecn: Ecn,
    waited: Duration,
}

impl Default for RecvArena {
    fn default() -> Self {
        Self::new()
    }
}

impl RecvArena {
    /// Empty buffers.
    pub fn new() -> Self {
        Self::for_heads_of(0)
    }

    /// Empty buffers for datagrams with so many bytes before those that are opened.
    pub fn for_heads_of(head: usize) -> Self {
        // Not 0: zeroed memory would be mapped, not touched.
        Self {
            bytes: Aligned::new(MESSAGES * MESSAGE_BYTES, head, 0xff),
            messages: [Message::NONE; MESSAGES],
            filled: 0,
            dropped_last: 0,
            dropped: 0,
            drained: None,
        }
    }

    pub(super) fn note_dropped(&mut self, counter: u32) {
        self.dropped += u64::from(counter.wrapping_sub(self.dropped_last));
        self.dropped_last = counter;
    }

    pub(super) fn batch(&mut self, woken: bool) -> Batch<'_> {
        let datagrams = Datagrams {
            buffers: self.bytes.get_mut().chunks_mut(MESSAGE_BYTES),
            messages: self.messages[..self.filled].iter(),
            current: <&mut [u8]>::default().chunks_mut(1),
            from: Message::NONE.from,
            ecn: Ecn::NotCapable,
            waited: Duration::ZERO,
        };
        Batch { datagrams, dropped: self.dropped, more: self.filled == MESSAGES, woken }
    }
}

impl<'a> Iterator for Datagrams<'a> {
    type Item = Datagram<'a>;

    fn next(&mut self) -> Option<Datagram<'a>> {
        loop {
            if let Some(bytes) = self.current.next() {
                return Some(Datagram { bytes, from: self.from, ecn: self.ecn, waited: self.waited });
            }
            let (message, buffer) = (self.messages.next()?, self.buffers.next()?);
            self.current = buffer[..message.bytes].chunks_mut(message.segment);
            (self.from, self.ecn, self.waited) = (message.from, message.ecn, message.waited);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drop_counter_goes_on_when_the_kernels_wraps() {
        let mut arena = RecvArena::new();
        arena.note_dropped(u32::MAX);
        arena.note_dropped(4);
        assert_eq!(arena.batch(false).dropped, (1 << 32) + 4);
    }

    #[test]
    fn coalesced_datagrams_are_cut_and_the_last_may_be_shorter() {
        let mut arena = RecvArena::new();
        arena.messages[0] = Message { bytes: 5, segment: 2, ..Message::NONE };
        arena.messages[1] = Message { bytes: 0, segment: 2, ..Message::NONE };
        arena.messages[2] = Message { bytes: 3, segment: 9, ecn: Ecn::Congested, ..Message::NONE };
        arena.filled = 3;
        let found: Vec<_> = arena.batch(false).datagrams.map(|datagram| (datagram.bytes.len(), datagram.ecn)).collect();
        let not = Ecn::NotCapable;
        assert_eq!(found, [(2, not), (2, not), (1, not), (3, Ecn::Congested)]);
    }
}
