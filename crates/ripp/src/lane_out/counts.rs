//! What a lane has sent.

/// Counts of a lane's sending half since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentCounts {
    /// Datagrams of data.
    pub datagrams: u64,
    /// Bytes of IP packets.
    pub wire_bytes: u64,
    /// Object bytes sent again.
    pub resent_bytes: u64,
    /// Datagrams of data that were lost.
    pub lost: u64,
    /// Object bytes in them.
    pub lost_bytes: u64,
    /// Datagrams of data that arrived.
    pub arrived: u64,
    /// Object bytes in them.
    pub arrived_bytes: u64,
    /// Times that there was nothing to send.
    pub starved: u64,
    /// Times that the receiver's credit held the lane back.
    pub without_credit: u64,
}

impl SentCounts {
    /// The counts of two lanes together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            datagrams: self.datagrams + other.datagrams,
            wire_bytes: self.wire_bytes + other.wire_bytes,
            resent_bytes: self.resent_bytes + other.resent_bytes,
            lost: self.lost + other.lost,
            lost_bytes: self.lost_bytes + other.lost_bytes,
            arrived: self.arrived + other.arrived,
            arrived_bytes: self.arrived_bytes + other.arrived_bytes,
            starved: self.starved + other.starved,
            without_credit: self.without_credit + other.without_credit,
        }
    }
}
