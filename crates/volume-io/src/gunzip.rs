//! A gzip file that can be read anywhere: decompressed once, in order, as far as it is needed.
//!
//! The bytes go to a file without a name that vanishes with the source, through a buffer of fixed size.
//! Invariant: at most `limit` bytes are ever decompressed, whatever the file expands to.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

use flate2::bufread::MultiGzDecoder;

use crate::bytes::BytesAt;

/// Deflate cannot expand by more than this: 258 bytes from two bits.
pub(crate) const MAX_EXPANSION: u64 = 1032;

const BUFFER_BYTES: usize = 1 << 18;

/// A gzip file of which the first `limit` bytes can be read.
pub(crate) struct Gunzip {
    spool: File,
    limit: u64,
    progress: Mutex<Progress>,
}

struct Progress {
    decoder: MultiGzDecoder<BufReader<File>>,
    buffer: Vec<u8>,
    /// Bytes of the buffer that are not in the spool yet: it may have had no room for them.
    pending: usize,
    written: u64,
}

impl Gunzip {
    pub(crate) fn new(file: File, limit: u64) -> io::Result<Self> {
        let decoder = MultiGzDecoder::new(BufReader::with_capacity(BUFFER_BYTES, file));
        let progress = Progress { decoder, buffer: vec![0; BUFFER_BYTES], pending: 0, written: 0 };
        Ok(Self { spool: tempfile::tempfile()?, limit, progress: Mutex::new(progress) })
    }

    fn advance_to(&self, end: u64) -> io::Result<()> {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        while progress.written < end {
            let Progress { decoder, buffer, pending, written } = &mut *progress;
            if *pending == 0 {
                let room = usize::try_from(self.limit - *written).unwrap_or(usize::MAX).min(buffer.len());
                *pending = decoder.read(&mut buffer[..room]).map_err(damage)?;
            }
            if *pending == 0 {
                let problem = format!(
                    "its compressed data ends after {written} of {} bytes: it is truncated; copy it again",
                    self.limit
                );
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, problem));
            }
            self.spool.write_all_at(&buffer[..*pending], *written)?;
            *written += std::mem::take(pending) as u64;
            if *written == self.limit {
                // The checksum comes after the last byte; it is only held against the bytes on the way to the end.
                let _beyond = decoder.read(&mut buffer[..1]).map_err(damage)?;
            }
        }
        Ok(())
    }
}

/// What the decoder says of bytes that it does not understand, with what to do; the system's own errors stay as they are.
fn damage(cause: io::Error) -> io::Error {
    match cause.kind() {
        kind @ (io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) => {
            io::Error::new(kind, format!("its compressed data are damaged or truncated ({cause}): copy it again"))
        }
        _ => cause,
    }
}

impl BytesAt for Gunzip {
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.advance_to((offset + out.len() as u64).min(self.limit))?;
        self.spool.read_exact_at(out, offset)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn what_there_was_no_room_for_is_in_its_place_once_there_is() {
        let content: Vec<u8> = (0..3 * BUFFER_BYTES).map(|i| (i % 251) as u8).collect();
        let mut packed = GzEncoder::new(tempfile::tempfile().unwrap(), Compression::fast());
        packed.write_all(&content).unwrap();
        let mut packed = packed.finish().unwrap();
        io::Seek::rewind(&mut packed).unwrap();
        let mut unpacked = Gunzip::new(packed, content.len() as u64).unwrap();
        let mut out = vec![0; 100];
        unpacked.read_at(0, &mut out).unwrap();
        let spool = std::mem::replace(&mut unpacked.spool, File::open("/dev/null").unwrap());
        let at = 2 * BUFFER_BYTES;
        assert!(unpacked.read_at(at as u64, &mut out).is_err());
        unpacked.spool = spool;
        unpacked.read_at(at as u64, &mut out).unwrap();
        assert_eq!(out, content[at..at + 100]);
    }
}
