//! The bytes of a datagram: a clear header, and the frame that is sealed behind it. All integers are big-endian.
//!
//! ```text
//! clear, authenticated                    sealed                                    tag
//! 0  version (4 bits), key id (12)        one frame: data, report, ping or pong     16 bytes
//! 2  packet number, lower 24 bits
//! ```

mod bytes;
mod data;
mod probe;
mod report;

pub use data::{DATA_HEADER, DataHeader, OBJECT_BITS};
pub use probe::{Ping, Pong};
pub use report::{MOST_RANGES, Page, Report};

use thiserror::Error;

use bytes::{Reader, Writer};

/// Version of the datagram format.
pub const VERSION: u8 = 2;
/// Bytes before the sealed part.
pub const CLEAR_HEADER: usize = 5;
/// Bits of a key id.
pub const KEY_ID_BITS: u32 = 12;
/// Bits of a packet number that a datagram says: the receiver knows the others.
pub const NUMBER_BITS: u32 = 24;
/// Bytes of the authentication tag behind the sealed part.
pub const TAG: usize = 16;
/// Least and greatest UDP payload a path may have; every path is expected to carry the least.
pub const LEAST_DATAGRAM: usize = 1_172;
/// See [`LEAST_DATAGRAM`]; a 9000-byte path less IPv4 and UDP headers.
pub const MOST_DATAGRAM: usize = 8_972;
/// Largest offset and length: 48 bits.
pub const MOST_OFFSET: u64 = (1 << 48) - 1;

/// Set in the first byte of data alone.
const DATA: u8 = 0x80;
const REPORT: u8 = 2;
const PING: u8 = 3;
const PONG: u8 = 4;

/// Why bytes are not a datagram or a frame of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WireError {
    /// Fewer bytes than the header or frame needs.
    #[error("datagram ends early")]
    Short,
    /// Another version of the format.
    #[error("datagram of version {0}, this build knows version {VERSION}")]
    Version(u8),
    /// A frame kind or field with no meaning in this version.
    #[error("datagram has a field with no meaning: {0}")]
    Field(&'static str),
}

/// The clear part of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClearHeader {
    /// Which lane and direction's key sealed this.
    pub key_id: u16,
    /// The lower [`NUMBER_BITS`] bits of the packet number, which is never used again.
    pub number_low: u32,
}

impl ClearHeader {
    /// The header of the datagram that is packet `number`.
    #[must_use]
    pub const fn of(key_id: u16, number: u64) -> Self {
        Self { key_id, number_low: number as u32 & ((1 << NUMBER_BITS) - 1) }
    }

    /// Writes the header to the first [`CLEAR_HEADER`] bytes.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn write(self, datagram: &mut [u8]) {
        let mut writer = Writer::new(datagram);
        writer.u16(u16::from(VERSION) << KEY_ID_BITS | self.key_id);
        writer.u24(self.number_low);
    }

    /// Reads the header of a datagram.
    ///
    /// # Errors
    /// If it is too short for header and tag, or of another version.
    pub fn read(datagram: &[u8]) -> Result<Self, WireError> {
        if datagram.len() < CLEAR_HEADER + TAG {
            return Err(WireError::Short);
        }
        let mut reader = Reader::new(datagram);
        let first = reader.u16()?;
        if first >> KEY_ID_BITS != u16::from(VERSION) {
            return Err(WireError::Version((first >> KEY_ID_BITS) as u8));
        }
        Ok(Self { key_id: first & ((1 << KEY_ID_BITS) - 1), number_low: reader.u24()? })
    }
}

/// What a datagram carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A region of an object.
    Data(DataHeader, &'a [u8]),
    /// What the receiving end of a lane has seen, and its credit.
    Report(Report),
    /// A question that is answered at once by a pong, and by a report.
    Ping(Ping),
    /// The answer.
    Pong(Pong),
}

impl<'a> Frame<'a> {
    /// Reads the opened part of a datagram.
    ///
    /// # Errors
    /// If it is not a frame of this version.
    pub fn read(body: &'a [u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(body);
        if body.first().is_some_and(|first| first & DATA != 0) {
            return DataHeader::read(reader).map(|(header, payload)| Frame::Data(header, payload));
        }
        match reader.u8()? {
            REPORT => Report::read(reader).map(Frame::Report),
            PING => Ping::read(reader).map(Frame::Ping),
            PONG => Pong::read(reader).map(Frame::Pong),
            _ => Err(WireError::Field("frame kind")),
        }
    }
}
