//! Data: a region of an object, placed at its offset on arrival.
//!
//! ```text
//! 0  kind = 1          8  object (4)
//! 1  flags             12 offset (6)
//! 2  flow (2)          18 length (2)
//! 4  send time (4)     20 payload, then padding
//! ```

use super::bytes::{Reader, Writer};
use super::{DATA, WireError};
use crate::flight::Region;
use crate::time::Time;

/// Bytes of a data frame before its payload.
pub const DATA_HEADER: usize = 20;

const RESENT: u8 = 1;

/// Where the bytes of a datagram belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataHeader {
    /// Flow of the object.
    pub flow: u16,
    /// Object, as announced.
    pub object: u32,
    /// First byte within the object; below 2^48.
    pub offset: u64,
    /// Bytes of payload.
    pub length: u16,
    /// Sender's clock when it was sent, in microseconds modulo 2^32.
    pub sent_us: u32,
    /// Sent again because an earlier datagram was lost.
    pub resent: bool,
}

impl DataHeader {
    /// The header of a datagram that carries `region`, which fits one, and leaves at `now`.
    #[must_use]
    pub const fn of(region: &Region, now: Time) -> Self {
        Self {
            flow: region.flow,
            object: region.object,
            offset: region.offset,
            length: region.length as u16,
            sent_us: now.wire_us(),
            resent: region.resent,
        }
    }

    /// Writes the header to the first [`DATA_HEADER`] bytes of a frame.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn write(&self, frame: &mut [u8]) {
        let mut writer = Writer::new(frame);
        writer.u8(DATA);
        writer.u8(if self.resent { RESENT } else { 0 });
        writer.u16(self.flow);
        writer.u32(self.sent_us);
        writer.u32(self.object);
        writer.u48(self.offset);
        writer.u16(self.length);
    }

    pub(super) fn read(mut reader: Reader<'_>) -> Result<(Self, &[u8]), WireError> {
        let flags = reader.u8()?;
        if flags & !RESENT != 0 {
            return Err(WireError::Field("data flags"));
        }
        let flow = reader.u16()?;
        let sent_us = reader.u32()?;
        let object = reader.u32()?;
        let offset = reader.u48()?;
        let length = reader.u16()?;
        if length == 0 {
            return Err(WireError::Field("empty region"));
        }
        let payload = reader.take(usize::from(length))?;
        Ok((Self { flow, object, offset, length, sent_us, resent: flags & RESENT != 0 }, payload))
    }
}
