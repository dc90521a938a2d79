//! An address translation in front of the left side that forgets its UDP ports when told to.
//!
//! After a rebinding, what left sends comes from another port, and what right still sends to the old one is lost.

use super::header::{Kind, Layout, put, word};
use super::run::adjust;
use super::vnet::{VNET_HEADER, Vnet};

/// The present mapping: each port is combined with `mask`.
#[derive(Debug)]
pub struct Translation {
    mask: u16,
    /// Ports of left that have sent since.
    open: Vec<bool>,
}

impl Default for Translation {
    fn default() -> Self {
        Self { mask: 0, open: vec![false; 1 << 16] }
    }
}

impl Translation {
    /// Forgets every port for the `times`-th time.
    pub fn rebind(&mut self, times: u32) {
        // Ports stay above 1024 if they were: only bits below are turned.
        self.mask = ((times.wrapping_mul(0x9d)) & 0x3ff) as u16;
        self.open.fill(false);
    }

    /// Rewrites the ports of what was read (vnet header and packet); false if the packet finds no mapping.
    pub fn passes(&mut self, read: &mut [u8], to_right: bool) -> bool {
        if self.mask == 0 {
            return true;
        }
        let Some(vnet) = Vnet::read(read) else { return true };
        let packet = &mut read[VNET_HEADER..];
        let layout = Layout::of(packet);
        if !matches!(layout.kind, Kind::Udp4 | Kind::Udp6) {
            return true;
        }
        let transport = usize::from(layout.ip);
        let at = if to_right { transport } else { transport + 2 };
        let old = word(packet, at);
        let new = old ^ self.mask;
        if to_right {
            self.open[usize::from(old)] = true;
        } else if !self.open[usize::from(new)] {
            return false;
        }
        put(packet, at, new);
        let checksum = word(packet, transport + 6);
        if !vnet.needs_checksum && checksum != 0 {
            put(packet, transport + 6, adjust(checksum, old, new));
        }
        true
    }
}
