//! Datagrams that leave together, and how large they are.

use crate::flight::Region;
use crate::wire::{CLEAR_HEADER, DATA_HEADER, TAG};

/// Sizes of a lane's datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// UDP payload of a full datagram.
    pub datagram: u16,
    /// Bytes of IP and UDP headers that each adds on the wire.
    pub headers: u16,
    /// Most datagrams of one burst.
    pub burst: u16,
}

impl Sizes {
    /// Object bytes in a full datagram.
    #[must_use]
    pub const fn payload(self) -> u64 {
        self.datagram as u64 - (CLEAR_HEADER + DATA_HEADER + TAG) as u64
    }

    /// Bytes on the wire of a datagram with so many object bytes.
    #[must_use]
    pub const fn wire(self, payload: u64) -> u64 {
        payload + (CLEAR_HEADER + DATA_HEADER + TAG) as u64 + self.headers as u64
    }
}

/// Datagrams to be sent together: all of one size, but perhaps the last.
#[derive(Debug, Default)]
pub struct Burst {
    /// Packet number of the first; the others follow.
    pub first: u64,
    /// What they carry, in order. Every region but the last fills its datagrams.
    pub regions: Vec<Region>,
    /// Object bytes of a full datagram.
    pub payload: u64,
}

impl Burst {
    /// The datagrams: packet number and region of each.
    pub fn datagrams(&self) -> impl Iterator<Item = (u64, Region)> + '_ {
        let payload = self.payload;
        let cut = move |&region: &Region| {
            (0..region.length.div_ceil(payload)).map(move |index| {
                let offset = index * payload;
                Region { offset: region.offset + offset, length: payload.min(region.length - offset), ..region }
            })
        };
        (self.first..).zip(self.regions.iter().flat_map(cut))
    }
}
