//! The header that the kernel puts before each packet of a TUN device (`struct virtio_net_hdr`, virtio 1.2, 5.1.6).

/// Its length.
pub const VNET_HEADER: usize = 10;

const NEEDS_CHECKSUM: u8 = 1;
pub(super) const GSO_NONE: u8 = 0;
pub(super) const GSO_TCP4: u8 = 1;
pub(super) const GSO_TCP6: u8 = 4;
pub(super) const GSO_UDP: u8 = 5;
pub(super) const GSO_ECN: u8 = 0x80;

/// Its fields, in the machine's byte order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Vnet {
    pub(super) needs_checksum: bool,
    pub(super) gso: u8,
    pub(super) header: u16,
    pub(super) gso_size: u16,
    pub(super) checksum_start: u16,
    pub(super) checksum_offset: u16,
}

impl Vnet {
    /// Reads it from the start of what was read; `None` if that is too short.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; VNET_HEADER] = bytes.first_chunk()?;
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        Some(Self {
            needs_checksum: bytes[0] & NEEDS_CHECKSUM != 0,
            gso: bytes[1],
            header: word(2),
            gso_size: word(4),
            checksum_start: word(6),
            checksum_offset: word(8),
        })
    }

    pub(super) fn write(self) -> [u8; VNET_HEADER] {
        let mut bytes = [0; VNET_HEADER];
        (bytes[0], bytes[1]) = (if self.needs_checksum { NEEDS_CHECKSUM } else { 0 }, self.gso);
        for (at, word) in [(2, self.header), (4, self.gso_size), (6, self.checksum_start), (8, self.checksum_offset)] {
            bytes[at..at + 2].copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }
}
