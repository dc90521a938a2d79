//! What a stream's receiving end tells: how many frames have been placed, and how fast it wants more.
//!
//! ```text
//! 0  kind = 16        8  hold time of the echoed frame, us (4)     20 greatest rate, bit/s (8); 0: no limit
//! 1  zero (3)         12 frames placed since the stream began (8)
//! 4  send time of the latest frame, as it was sent (4)
//! ```

/// The kind of an ack; data has its own.
const ACK: u8 = 16;

/// How many frames have been placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ack {
    /// Frames of data placed since the stream began.
    pub(super) frames: u64,
    /// Send time of the latest, in microseconds modulo 2^32.
    pub(super) echo_us: u32,
    /// Time from its arrival to this ack.
    pub(super) hold_us: u32,
    /// Greatest rate the receiving end wants of all streams together, in bits per second; 0 sets no limit.
    pub(super) most_rate_bps: u64,
}

impl Ack {
    pub(super) const LENGTH: usize = 28;

    pub(crate) fn to_bytes(self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        bytes[0] = ACK;
        bytes[4..8].copy_from_slice(&self.echo_us.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.hold_us.to_be_bytes());
        bytes[12..20].copy_from_slice(&self.frames.to_be_bytes());
        bytes[20..].copy_from_slice(&self.most_rate_bps.to_be_bytes());
        bytes
    }

    /// Reads an ack; `None` if it is something else.
    pub(crate) fn from_bytes(frame: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::LENGTH] = frame.try_into().ok()?;
        let (&[ACK, 0, 0, 0], rest) = bytes.split_first_chunk()? else { return None };
        let (echo_us, rest) = rest.split_first_chunk()?;
        let (hold_us, rest) = rest.split_first_chunk()?;
        let (frames, rest) = rest.split_first_chunk()?;
        Some(Self {
            frames: u64::from_be_bytes(*frames),
            echo_us: u32::from_be_bytes(*echo_us),
            hold_us: u32::from_be_bytes(*hold_us),
            most_rate_bps: u64::from_be_bytes(rest.try_into().ok()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acks_survive_the_journey_and_nothing_else_is_one() {
        let ack = Ack { frames: 1 << 40, echo_us: u32::MAX, hold_us: 7, most_rate_bps: 950_000_000 };
        let bytes = ack.to_bytes();
        assert_eq!(Ack::from_bytes(&bytes), Some(ack));
        assert_eq!(Ack::from_bytes(&bytes[..27]), None);
        assert_eq!(Ack::from_bytes(&[&bytes[..], &[0]].concat()), None);
        assert_eq!(Ack::from_bytes(&[1; Ack::LENGTH]), None);
        assert_eq!(Ack::from_bytes(&[ACK; Ack::LENGTH]), None);
    }
}
