//! Ping and pong: address validation, path size, round-trip time, and how far the sender is settled.

use super::bytes::{Reader, Writer};
use super::{CLEAR_HEADER, PING, PONG, TAG, WireError};

/// A question, padded to the size it probes.
///
/// ```text
/// 0  kind = 3      6  send time (4)       18 settled below (8)
/// 1  zero          10 challenge (8)       26 report interval, us (4), then padding
/// 2  size (4)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ping {
    /// Bytes of the whole datagram.
    pub size: u32,
    /// Sender's clock, in microseconds.
    pub sent_us: u32,
    /// A random number that only a receiver of this datagram can return.
    pub challenge: u64,
    /// Every packet number below is settled: the receiver need not report it any more.
    pub settled: u64,
    /// How often the sender would like reports.
    pub report_interval_us: u32,
}

impl Ping {
    /// Bytes of the frame without padding.
    pub const LEAST: usize = 30;

    /// Writes the frame, padded so that the sealed datagram has [`Ping::size`] bytes; returns the frame's length.
    ///
    /// # Panics
    /// If the buffer is smaller than that.
    pub fn write(&self, frame: &mut [u8]) -> usize {
        let length = (self.size as usize).saturating_sub(CLEAR_HEADER + TAG).max(Self::LEAST);
        frame[..length].fill(0);
        let mut writer = Writer::new(frame);
        writer.u8(PING);
        writer.u8(0);
        writer.u32(self.size);
        writer.u32(self.sent_us);
        writer.u64(self.challenge);
        writer.u64(self.settled);
        writer.u32(self.report_interval_us);
        length
    }

    pub(super) fn read(mut reader: Reader<'_>) -> Result<Self, WireError> {
        reader.u8()?;
        let size = reader.u32()?;
        let sent_us = reader.u32()?;
        let challenge = reader.u64()?;
        let settled = reader.u64()?;
        Ok(Self { size, sent_us, challenge, settled, report_interval_us: reader.u32()? })
    }
}

/// The answer to a ping.
///
/// ```text
/// 0  kind = 4      2  size (4)     6  send time of the ping (4)     10 challenge (8)     18 hold, us (4)
/// 1  zero
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pong {
    /// Bytes of the ping's datagram as it arrived.
    pub size: u32,
    /// Send time of the ping, as it said.
    pub sent_us: u32,
    /// The ping's challenge.
    pub challenge: u64,
    /// Time between its arrival and this answer, in microseconds.
    pub hold_us: u32,
}

impl Pong {
    /// Bytes of the frame.
    pub const LENGTH: usize = 22;

    /// Writes the frame; returns its length.
    ///
    /// # Panics
    /// If the buffer is smaller than [`Pong::LENGTH`].
    pub fn write(&self, frame: &mut [u8]) -> usize {
        let mut writer = Writer::new(frame);
        writer.u8(PONG);
        writer.u8(0);
        writer.u32(self.size);
        writer.u32(self.sent_us);
        writer.u64(self.challenge);
        writer.u32(self.hold_us);
        writer.used()
    }

    pub(super) fn read(mut reader: Reader<'_>) -> Result<Self, WireError> {
        reader.u8()?;
        let size = reader.u32()?;
        let sent_us = reader.u32()?;
        Ok(Self { size, sent_us, challenge: reader.u64()?, hold_us: reader.u32()? })
    }
}
