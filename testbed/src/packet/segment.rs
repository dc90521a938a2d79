//! The packets of the wire that one read from the kernel brings.

use super::header::{Layout, ecn_capable, udp_ports};
use super::vnet::{GSO_NONE, VNET_HEADER, Vnet};
use crate::link::Facts;

/// One packet of the wire: a slice of a super-packet in the arena, and its headers by reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    pub(super) chunk: u32,
    /// Where the vnet header lies in the chunk; the IP header follows it.
    pub(super) start: u32,
    pub(super) layout: Layout,
    /// Which packet of its super-packet.
    pub(super) index: u16,
    /// Whether it is the last of it.
    pub(super) last: bool,
    pub(super) needs_checksum: bool,
    /// Where the payload lies, from the IP header.
    pub(super) payload: u32,
    /// Bytes of payload.
    pub(super) length: u16,
    /// Bytes of payload of a full packet of its super-packet.
    pub(super) full: u16,
}

impl Segment {
    /// The chunk of the arena that it lives in.
    #[must_use]
    pub fn chunk(&self) -> u32 {
        self.chunk
    }

    /// Bytes of the IP packet.
    #[must_use]
    pub fn wire_length(&self) -> u32 {
        u32::from(self.layout.all) + u32::from(self.length)
    }
}

/// The packets in what was read to `(chunk, start)`: vnet header and IP packet, and what the link looks at in each.
///
/// The second value is false if the kernel gave a super-packet that cannot be split, which is carried as one packet.
pub fn split(
    read: &[u8],
    (chunk, start): (u32, u32),
) -> Option<(impl Iterator<Item = (Segment, Facts)> + use<>, bool)> {
    let vnet = Vnet::read(read)?;
    let packet = &read[VNET_HEADER..];
    let layout = Layout::of(packet);
    let headers = usize::from(layout.all);
    let payload = packet.len() - headers;
    if packet.is_empty() || payload > usize::from(u16::MAX) {
        return None;
    }
    let wants_split = vnet.gso != GSO_NONE;
    let splits = wants_split && headers > 0 && vnet.gso_size > 0;
    let full = if splits { usize::from(vnet.gso_size) } else { payload };
    let count = if full == 0 { 1 } else { payload.div_ceil(full) };
    let (ecn_capable, ports) = (ecn_capable(packet), udp_ports(packet, layout));
    let packets = (0..count).map(move |index| {
        let from = index * full;
        let segment = Segment {
            chunk,
            start,
            layout,
            index: index as u16,
            last: index + 1 == count,
            needs_checksum: vnet.needs_checksum,
            payload: (headers + from) as u32,
            length: (payload - from).min(full) as u16,
            full: full as u16,
        };
        let facts = Facts { length: segment.wire_length(), ecn_capable, protocol: layout.kind.protocol(), ports };
        (segment, facts)
    });
    Some((packets, splits == wants_split))
}
