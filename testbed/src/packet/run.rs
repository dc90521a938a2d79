//! Packets of the wire that go to the kernel in one write: neighbours of one flow, as a super-packet.
//!
//! What a network card's receive offload does. Invariant: the receiver sees the same packets, of the same sizes, in the
//! same order, as if each had been written alone.

use std::io::IoSlice;

use super::arena::Arena;
use super::header::{self, ALONE, CWR, FIN, Kind, Layout, PSH, fold, pseudo_sum, put, seal_v4, sequence, word};
use super::segment::Segment;
use super::vnet::{GSO_ECN, GSO_TCP4, GSO_TCP6, GSO_UDP, VNET_HEADER, Vnet};

const MOST_BYTES: usize = 65_535;
/// The kernel's UDP_MAX_SEGMENTS has been 64 at least.
const MOST_UDP: usize = 64;
const MOST_HEADERS: usize = VNET_HEADER + 60 + 60;

/// The packets gathered so far.
#[derive(Debug, Default)]
pub struct Run {
    packets: Vec<Segment>,
    marked: bool,
    bytes: usize,
}

impl Run {
    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// The packets gathered.
    #[must_use]
    pub fn packets(&self) -> &[Segment] {
        &self.packets
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.bytes = 0;
    }

    /// Takes a packet if it continues the run; a run without packets takes any.
    #[must_use]
    pub fn take(&mut self, arena: &Arena, packet: Segment, marked: bool) -> bool {
        if let (Some(first), Some(last)) = (self.packets.first(), self.packets.last()) {
            let room = self.bytes + usize::from(packet.length) + usize::from(first.layout.all) <= MOST_BYTES
                && (first.layout.kind.is_tcp() || self.packets.len() < MOST_UDP);
            if !room || marked != self.marked || !continues(arena, first, last, &packet, self.bytes) {
                return false;
            }
        }
        self.marked = marked;
        self.bytes += usize::from(packet.length);
        self.packets.push(packet);
        true
    }

    /// Hands the run to `write` as vnet header, headers, and slices of payload.
    pub fn write<R>(&self, arena: &Arena, write: impl FnOnce(&[IoSlice<'_>]) -> R) -> Option<R> {
        let (first, last) = (self.packets.first()?, self.packets.last()?);
        let mut headers = [0; MOST_HEADERS];
        let length = self.headers(arena, first, last, &mut headers);
        let mut slices = Vec::with_capacity(self.packets.len() + 1);
        slices.push(IoSlice::new(&headers[..length]));
        for group in self.packets.chunk_by(|a, b| (a.chunk, a.start) == (b.chunk, b.start) && a.index + 1 == b.index) {
            let bytes: usize = group.iter().map(|packet| usize::from(packet.length)).sum();
            let from = VNET_HEADER + group[0].payload as usize;
            slices.push(IoSlice::new(&arena.bytes(group[0].chunk, group[0].start)[from..from + bytes]));
        }
        Some(write(&slices))
    }

    fn headers(&self, arena: &Arena, first: &Segment, last: &Segment, out: &mut [u8; MOST_HEADERS]) -> usize {
        let source = arena.bytes(first.chunk, first.start);
        if first.layout.kind == Kind::Whole {
            // A mark on what was not understood is left out: its headers are part of the payload.
            out[..VNET_HEADER].copy_from_slice(&source[..VNET_HEADER]);
            return VNET_HEADER;
        }
        let end = VNET_HEADER + usize::from(first.layout.all);
        out[..end].copy_from_slice(&source[..end]);
        let headers = &mut out[VNET_HEADER..end];
        if self.marked {
            header::mark(headers);
        }
        set_ip(headers, first, self.bytes);
        if first.layout.kind.is_tcp() {
            set_tcp(headers, first, last, arena);
        } else {
            put(headers, usize::from(first.layout.ip) + 4, (8 + self.bytes) as u16);
        }
        if first.needs_checksum {
            let transport = usize::from(first.layout.all - first.layout.ip) + self.bytes;
            let sum = pseudo_sum(headers, first.layout, transport);
            put(headers, usize::from(first.layout.ip) + first.layout.kind.checksum_offset(), sum);
        }
        let vnet = self.vnet(headers, first);
        out[..VNET_HEADER].copy_from_slice(&vnet.write());
        end
    }

    fn vnet(&self, headers: &[u8], first: &Segment) -> Vnet {
        let layout = first.layout;
        if !first.needs_checksum {
            return Vnet::default();
        }
        let mut vnet = Vnet {
            needs_checksum: true,
            checksum_start: u16::from(layout.ip),
            checksum_offset: layout.kind.checksum_offset() as u16,
            ..Vnet::default()
        };
        if self.packets.len() > 1 {
            vnet.gso = match layout.kind {
                Kind::Tcp4 => GSO_TCP4,
                Kind::Tcp6 => GSO_TCP6,
                _ => GSO_UDP,
            };
            if layout.kind.is_tcp() && headers[usize::from(layout.ip) + 13] & CWR != 0 {
                vnet.gso |= GSO_ECN;
            }
            vnet.header = u16::from(layout.all);
            vnet.gso_size = first.length;
        }
        vnet
    }
}

fn set_ip(headers: &mut [u8], first: &Segment, bytes: usize) {
    let (ip, all) = (usize::from(first.layout.ip), usize::from(first.layout.all));
    if first.layout.kind.is_v4() {
        put(headers, 2, (all + bytes) as u16);
        let id = word(headers, 4).wrapping_add(first.index);
        put(headers, 4, id);
        seal_v4(&mut headers[..ip]);
    } else {
        put(headers, 4, (all - ip + bytes) as u16);
    }
}

fn set_tcp(headers: &mut [u8], first: &Segment, last: &Segment, arena: &Arena) {
    let ip = usize::from(first.layout.ip);
    let number = sequence(headers, first.layout).wrapping_add(u32::from(first.index) * u32::from(first.full));
    headers[ip + 4..ip + 8].copy_from_slice(&number.to_be_bytes());
    let flags = &mut headers[ip + 13];
    if first.index > 0 {
        *flags &= !CWR;
    }
    *flags &= !(FIN | PSH);
    if last.last {
        *flags |= arena.bytes(last.chunk, last.start)[VNET_HEADER + ip + 13] & (FIN | PSH);
    }
}

/// Whether `packet` may follow `last` in a super-packet that begins with `first` and has `bytes` of payload so far.
fn continues(arena: &Arena, first: &Segment, last: &Segment, packet: &Segment, bytes: usize) -> bool {
    let sizes = last.length == first.length && packet.length > 0 && packet.length <= first.length;
    if !sizes || first.layout != packet.layout || !first.needs_checksum || !packet.needs_checksum {
        return false;
    }
    let layout = first.layout;
    if layout.kind == Kind::Whole {
        return false;
    }
    let end = VNET_HEADER + usize::from(layout.all);
    let ours = &arena.bytes(first.chunk, first.start)[VNET_HEADER..end];
    if (last.chunk, last.start) == (packet.chunk, packet.start) {
        let announces = layout.kind.is_tcp() && last.index == 0 && ours[usize::from(layout.ip) + 13] & CWR != 0;
        return last.index + 1 == packet.index && !announces;
    }
    let before = &arena.bytes(last.chunk, last.start)[VNET_HEADER..end];
    let theirs = &arena.bytes(packet.chunk, packet.start)[VNET_HEADER..end];
    last.last && packet.index == 0 && same_path(ours, theirs, layout) && {
        !layout.kind.is_tcp() || follows(ours, before, theirs, first, bytes)
    }
}

fn same_path(ours: &[u8], theirs: &[u8], layout: Layout) -> bool {
    let ip = usize::from(layout.ip);
    let same = |from: usize, to: usize| ours[from..to] == theirs[from..to];
    let addresses =
        if layout.kind.is_v4() { same(0, 2) && same(6, 10) && same(12, ip) } else { same(0, 4) && same(6, ip) };
    addresses && same(ip, ip + 4)
}

/// TCP: the next sequence number, and nothing else that differs.
fn follows(ours: &[u8], before: &[u8], theirs: &[u8], first: &Segment, bytes: usize) -> bool {
    let (ip, all) = (usize::from(first.layout.ip), usize::from(first.layout.all));
    let start = sequence(ours, first.layout).wrapping_add(u32::from(first.index) * u32::from(first.full));
    let flags = (ours[ip + 13] | before[ip + 13] | theirs[ip + 13]) & ALONE;
    flags == 0
        && before[ip + 13] & PSH == 0
        && sequence(theirs, first.layout) == start.wrapping_add(bytes as u32)
        && ours[ip + 8..ip + 13] == theirs[ip + 8..ip + 13]
        && ours[ip + 14..ip + 16] == theirs[ip + 14..ip + 16]
        && ours[ip + 18..all] == theirs[ip + 18..all]
}

/// Adjusts a checksum for a word that changed (RFC 1624).
pub(super) fn adjust(checksum: u16, from: u16, to: u16) -> u16 {
    !fold(u32::from(!checksum) + u32::from(!from) + u32::from(to))
}
