//! A gzip file that can be read anywhere: decompressed once, in order, as far as it is needed.
//!
//! The bytes go to a file without a name that vanishes with the source, through a buffer of fixed size.
//! Invariant: at most `limit` bytes are ever decompressed, whatever the file expands to.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
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
    written: u64,
}

impl Gunzip {
    pub(crate) fn new(file: File, limit: u64) -> io::Result<Self> {
        let decoder = MultiGzDecoder::new(BufReader::with_capacity(BUFFER_BYTES, file));
        let progress = Progress { decoder, buffer: vec![0; BUFFER_BYTES], written: 0 };
        Ok(Self { spool: tempfile::tempfile()?, limit, progress: Mutex::new(progress) })
    }

    fn advance_to(&self, end: u64) -> io::Result<()> {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        while progress.written < end {
            let Progress { decoder, buffer, written } = &mut *progress;
            let room = usize::try_from(self.limit - *written).unwrap_or(usize::MAX).min(buffer.len());
            let count = decoder.read(&mut buffer[..room]).map_err(damage)?;
            if count == 0 {
                let problem = format!(
                    "its compressed data ends after {written} of {} bytes: it is truncated; copy it again",
                    self.limit
                );
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, problem));
            }
            (&self.spool).write_all(&buffer[..count])?;
            *written += count as u64;
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
        self.spool.read_at(offset, out)
    }
}
