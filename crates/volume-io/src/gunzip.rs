//! A gzip file that can be read anywhere: decompressed once, in order, as far as it is needed.
//!
//! The bytes go to a file without a name that vanishes with the source, through a buffer of fixed size.
//! Invariant: at most `limit` bytes are ever kept, and [`MOST_BEYOND`] more decompressed, whatever the file expands to.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

use flate2::bufread::GzDecoder;

use crate::bytes::BytesAt;

/// Deflate cannot expand by more than this: 258 bytes from two bits.
pub(crate) const MAX_EXPANSION: u64 = 1032;

const BUFFER_BYTES: usize = 1 << 18;
/// Bytes behind what is read that are decompressed for the checksum that follows them.
const MOST_BEYOND: u64 = 64 << 20;
/// How each member of a gzip file begins.
const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// What the members of a gzip file hold, one after the other. What else follows them, such as a tape's zeros, is left alone.
pub(crate) struct Members(Option<GzDecoder<BufReader<File>>>);

impl Members {
    /// Those from where the file is on.
    pub(crate) fn new(file: File) -> Self {
        Self(Some(GzDecoder::new(BufReader::with_capacity(BUFFER_BYTES, file))))
    }
}

impl Read for Members {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while let Some(decoder) = &mut self.0 {
            let read = decoder.read(out)?;
            if read > 0 || out.is_empty() {
                return Ok(read);
            }
            self.0 = self.0.take().map_or(Ok(None), |ended| member_at(ended.into_inner()))?;
        }
        Ok(0)
    }
}

fn member_at(mut file: BufReader<File>) -> io::Result<Option<GzDecoder<BufReader<File>>>> {
    let mut start = [0; MAGIC.len()];
    let at = file.stream_position()?;
    let is_there = file.get_ref().read_exact_at(&mut start, at).is_ok() && start == MAGIC;
    Ok(is_there.then(|| GzDecoder::new(file)))
}

/// A gzip file of which the first `limit` bytes can be read.
pub(crate) struct Gunzip {
    spool: File,
    limit: u64,
    progress: Mutex<Progress>,
}

struct Progress {
    decoder: Members,
    buffer: Vec<u8>,
    /// Bytes of the buffer that are not in the spool yet: it may have had no room for them.
    pending: usize,
    written: u64,
}

impl Gunzip {
    pub(crate) fn new(file: File, limit: u64) -> io::Result<Self> {
        let progress = Progress { decoder: Members::new(file), buffer: vec![0; BUFFER_BYTES], pending: 0, written: 0 };
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
                // The checksum comes after the last byte, and is only held against the bytes on the way to the end.
                io::copy(&mut decoder.take(MOST_BEYOND), &mut io::sink()).map_err(damage)?;
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

    fn packed(content: &[u8]) -> Vec<u8> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(content).unwrap();
        packed.finish().unwrap()
    }

    /// The first 1000 bytes of what is unpacked.
    fn unpacked(packed: &[u8]) -> io::Result<Vec<u8>> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(packed).unwrap();
        file.rewind().unwrap();
        let mut out = vec![0; 1000];
        Gunzip::new(file, 1000)?.read_at(0, &mut out).map(|()| out)
    }

    #[test]
    fn the_checksum_is_held_against_the_bytes_whatever_follows_those_that_are_read() {
        let content: Vec<u8> = (0..1_000_000).map(|i| (i % 241) as u8).collect();
        for length in [1000, 1001, content.len()] {
            let mut packed = packed(&content[..length]);
            assert_eq!(unpacked(&packed).unwrap(), content[..1000]);
            let checksum = packed.len() - 8;
            packed[checksum] ^= 1;
            assert!(unpacked(&packed).unwrap_err().to_string().contains("damaged"), "of {length} bytes");
        }
    }

    #[test]
    fn members_follow_one_another_and_what_else_follows_them_is_left_alone() {
        let content: Vec<u8> = (0..1000).map(|i| (i % 241) as u8).collect();
        let both = [packed(&content[..400]), packed(&content[400..])].concat();
        for behind in [&[][..], &[0], &[0; 512], b"junk", &MAGIC[..1]] {
            assert_eq!(unpacked(&[&both, behind].concat()).unwrap(), content, "{behind:?}");
        }
        let begun = [&both, &MAGIC[..]].concat();
        assert!(unpacked(&begun).unwrap_err().to_string().contains("truncated"));
    }

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
