//! Reads and changes IP, TCP and UDP headers (RFC 791, 8200, 9293, 768).

use crate::link::Protocol;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Flags of TCP.
pub(super) const FIN: u8 = 0x01;
pub(super) const PSH: u8 = 0x08;
pub(super) const CWR: u8 = 0x80;
/// Packets with any of these never share a super-packet with a packet of another one.
pub(super) const ALONE: u8 = 0xff ^ 0x10 ^ PSH;

/// The IP version and what it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Tcp4,
    Tcp6,
    Udp4,
    Udp6,
    /// Carried whole: fragments, other protocols, what is malformed.
    Whole,
}

impl Kind {
    pub(super) fn is_tcp(self) -> bool {
        matches!(self, Self::Tcp4 | Self::Tcp6)
    }

    pub(super) fn is_v4(self) -> bool {
        matches!(self, Self::Tcp4 | Self::Udp4)
    }

    pub(super) fn protocol(self) -> Protocol {
        match self {
            Self::Tcp4 | Self::Tcp6 => Protocol::Tcp,
            Self::Udp4 | Self::Udp6 => Protocol::Udp,
            Self::Whole => Protocol::Other,
        }
    }

    /// Where the checksum lies in the transport header.
    pub(super) fn checksum_offset(self) -> usize {
        if self.is_tcp() { 16 } else { 6 }
    }
}

/// Where the headers of a packet end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) kind: Kind,
    /// Bytes of the IP header.
    pub(super) ip: u8,
    /// Bytes of both headers.
    pub(super) all: u8,
}

impl Layout {
    const WHOLE: Self = Self { kind: Kind::Whole, ip: 0, all: 0 };

    /// Never fails: what it does not understand is [`Kind::Whole`].
    pub(super) fn of(packet: &[u8]) -> Self {
        Self::find(packet).unwrap_or(Self::WHOLE)
    }

    fn find(packet: &[u8]) -> Option<Self> {
        let (ip, protocol, v4) = match packet.first()? >> 4 {
            4 => {
                let ip = usize::from(packet[0] & 15) * 4;
                let fragment = u16::from_be_bytes([*packet.get(6)?, *packet.get(7)?]) & 0x3fff;
                if ip < 20 || packet.len() < ip || fragment != 0 {
                    return None;
                }
                (ip, packet[9], true)
            }
            6 => (40, *packet.get(6).filter(|_| packet.len() >= 40)?, false),
            _ => return None,
        };
        let (kind, transport) = match (protocol, v4) {
            (TCP, v4) => {
                let length = usize::from(packet.get(ip + 12)? >> 4) * 4;
                (if v4 { Kind::Tcp4 } else { Kind::Tcp6 }, Some(length).filter(|length| *length >= 20)?)
            }
            (UDP, v4) => (if v4 { Kind::Udp4 } else { Kind::Udp6 }, 8),
            _ => return None,
        };
        (packet.len() >= ip + transport).then_some(Self { kind, ip: ip as u8, all: (ip + transport) as u8 })
    }
}

/// Ports of a UDP packet; zeros of any other.
pub(super) fn udp_ports(packet: &[u8], layout: Layout) -> [u16; 2] {
    let from = usize::from(layout.ip);
    match packet.get(from..from + 4) {
        Some(&[a, b, c, d]) if layout.kind.protocol() == Protocol::Udp => {
            [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])]
        }
        _ => [0; 2],
    }
}

/// Whether the sender lets routers mark the packet (RFC 3168).
pub(super) fn ecn_capable(packet: &[u8]) -> bool {
    match packet {
        [first, tos, ..] if first >> 4 == 4 => tos & 3 != 0,
        [first, second, ..] if first >> 4 == 6 => second & 0x30 != 0,
        _ => false,
    }
}

/// Marks a packet Congestion Experienced; an IPv4 checksum is to be made anew.
pub(super) fn mark(packet: &mut [u8]) {
    match packet {
        [first, tos, ..] if *first >> 4 == 4 => *tos |= 3,
        [first, second, ..] if *first >> 4 == 6 => *second |= 0x30,
        _ => {}
    }
}

/// The checksum of an IPv4 header, put where it belongs.
pub(super) fn seal_v4(header: &mut [u8]) {
    header[10..12].fill(0);
    let sum = fold(sum(header));
    header[10..12].copy_from_slice(&(!sum).to_be_bytes());
}

/// The sum over addresses, protocol and length that a sender leaves for its network card to complete.
pub(super) fn pseudo_sum(header: &[u8], layout: Layout, transport_length: usize) -> u16 {
    let addresses = if layout.kind.is_v4() { &header[12..20] } else { &header[8..40] };
    let protocol = if layout.kind.is_tcp() { TCP } else { UDP };
    fold(sum(addresses) + u32::from(protocol) + (transport_length >> 16) as u32 + (transport_length & 0xffff) as u32)
}

fn sum(bytes: &[u8]) -> u32 {
    bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum()
}

pub(super) fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

pub(super) fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

pub(super) fn put(bytes: &mut [u8], at: usize, word: u16) {
    bytes[at..at + 2].copy_from_slice(&word.to_be_bytes());
}

pub(super) fn sequence(header: &[u8], layout: Layout) -> u32 {
    let at = usize::from(layout.ip) + 4;
    u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}
