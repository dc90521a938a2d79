//! Data: a region of an object, placed at its offset on arrival.
//!
//! ```text
//! 0  1 (1 bit), object, lower 23 bits      6  offset (6)
//! 3  send time / 4 us (3)                  12 payload
//! ```

use super::bytes::{Reader, Writer};
use super::{DATA, WireError};
use crate::flight::Region;
use crate::time::Time;

/// Bytes of a data frame before its payload.
pub const DATA_HEADER: usize = 12;
/// Bits of an object's number that data says: both ends know which numbers are in use.
pub const OBJECT_BITS: u32 = 23;

const OBJECT: u32 = (1 << OBJECT_BITS) - 1;
const IS_DATA: u32 = (DATA as u32) << 16;
/// Send times are told in units of 2^2 microseconds.
const TIME_SHIFT: u32 = 2;

/// Where the bytes of a datagram belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataHeader {
    /// The lower [`OBJECT_BITS`] bits of the object's number.
    pub object_low: u32,
    /// First byte within the object; below 2^48.
    pub offset: u64,
    /// Sender's clock when it was sent, in microseconds as [`Time::wire_us`], to 4 of them.
    pub sent_us: u32,
}

impl DataHeader {
    /// The header of a datagram that begins with the first byte of `region`, and leaves at `now`.
    #[must_use]
    pub const fn of(region: &Region, now: Time) -> Self {
        Self { object_low: region.object & OBJECT, offset: region.offset, sent_us: now.wire_us() }
    }

    /// Writes the header to the first [`DATA_HEADER`] bytes of a frame.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn write(&self, frame: &mut [u8]) {
        let mut writer = Writer::new(frame);
        writer.u24(IS_DATA | self.object_low);
        writer.u24(self.sent_us >> TIME_SHIFT);
        writer.u48(self.offset);
    }

    pub(super) fn read(mut reader: Reader<'_>) -> Result<(Self, &[u8]), WireError> {
        let object_low = reader.u24()? & OBJECT;
        let sent_us = reader.u24()? << TIME_SHIFT;
        let offset = reader.u48()?;
        let payload = reader.rest();
        if payload.is_empty() {
            return Err(WireError::Field("empty region"));
        }
        Ok((Self { object_low, offset, sent_us }, payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_and_a_time_are_said_by_their_lower_bits() {
        let region = Region { object: u32::MAX - 1, offset: (1 << 48) - 7, length: 6, resent: true };
        let header = DataHeader::of(&region, Time::from_ns(0x1234_5678_9abc_def0));
        let mut frame = [7; DATA_HEADER + 6];
        header.write(&mut frame);
        let (read, payload) = DataHeader::read(Reader::new(&frame)).unwrap();
        assert_eq!((read.object_low, read.offset, payload), ((1 << 23) - 2, region.offset, &[7; 6][..]));
        let difference = crate::time::wire_difference_us(header.sent_us, read.sent_us);
        assert!((0..4).contains(&difference), "{difference}");
    }
}
