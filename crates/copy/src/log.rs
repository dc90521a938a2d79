//! The restart log: which ranges of a partial file have been verified. It lies beside the partial, and is appended to.
//!
//! ```text
//! 0  "VISAPULT COPY 3\n"      16  size (8)   24  mtime, s (8)   32  mtime, ns (4)   36  zero (4)   40  start in the source (8)
//! 48 where it lies at the source (8)
//! 56 each range: index (8), BLAKE3 (32), the first 8 bytes of BLAKE3 of these 40
//! ```

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::bytes::Reader;
use crate::listing::Mtime;
use crate::ranges::{RangeHash, count};
use crate::source_id::SourceId;

const MAGIC: &[u8; 16] = b"VISAPULT COPY 3\n";
const ANY_VERSION: &[u8] = b"VISAPULT COPY ";
const HEADER: usize = 56;
/// Where in the header its last part begins.
const SOURCE: usize = 48;
const RECORD: usize = 48;

/// What of a source's a partial is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) size: u64,
    pub(crate) mtime: Mtime,
    /// Where in its file the first byte is.
    pub(crate) start: u64,
    /// Where its file lies.
    pub(crate) source: SourceId,
}

/// What a log tells of what is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// These ranges are verified.
    Ranges(BTreeMap<u64, RangeHash>),
    /// It is of this source before that was changed, or nothing is known of it.
    Changed,
    /// It is of a source elsewhere, or an older build has written it.
    Elsewhere,
}

impl Origin {
    fn header(&self) -> Vec<u8> {
        let mut header = MAGIC.to_vec();
        header.extend(self.size.to_be_bytes());
        header.extend(self.mtime.s.to_be_bytes());
        header.extend(self.mtime.ns.to_be_bytes());
        header.extend([0; 4]);
        header.extend(self.start.to_be_bytes());
        header.extend(self.source.to_be_bytes());
        header
    }
}

/// The restart log of one file.
#[derive(Debug)]
pub(crate) struct Log {
    file: File,
    end: u64,
}

impl Log {
    /// Reads what is there: the ranges that it tells of, or why it tells of none. It is not changed.
    pub(crate) fn read(file: File, origin: &Origin) -> io::Result<(Self, Held)> {
        let ranges = count(origin.size);
        let most = HEADER as u64 + RECORD as u64 * 2 * ranges;
        let mut bytes = vec![0; file.metadata()?.len().min(most) as usize];
        file.read_exact_at(&mut bytes, 0)?;
        let found = held(&bytes, origin);
        let end = found.as_ref().map_or(0, |(_, end)| *end as u64);
        let other = || if is_elsewhere(&bytes, origin) { Held::Elsewhere } else { Held::Changed };
        Ok((Self { file, end }, found.map_or_else(other, |(held, _)| Held::Ranges(held))))
    }

    /// Begins anew: nothing is verified.
    pub(crate) fn reset(&mut self, origin: &Origin) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.write_all_at(&origin.header(), 0)?;
        self.end = HEADER as u64;
        Ok(())
    }

    /// The file, for one who waits until the disk has it while others add to it.
    pub(crate) fn handle(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// A range has been verified.
    pub(crate) fn add(&mut self, index: u64, hash: &RangeHash) -> io::Result<()> {
        // What an earlier attempt did not finish writing is written over.
        self.file.write_all_at(&record(index, hash), self.end)?;
        self.end += RECORD as u64;
        Ok(())
    }
}

fn record(index: u64, hash: &RangeHash) -> Vec<u8> {
    let mut record = index.to_be_bytes().to_vec();
    record.extend(hash);
    let check = blake3::hash(&record);
    record.extend(&check.as_bytes()[..8]);
    record
}

/// A log has another source than this origin, or an older build has written it.
fn is_elsewhere(bytes: &[u8], origin: &Origin) -> bool {
    // What a crash has left of a header tells nothing.
    let is_a_log = bytes.len() >= MAGIC.len() && bytes.starts_with(ANY_VERSION);
    let source = bytes.get(SOURCE..HEADER);
    is_a_log && (!bytes.starts_with(MAGIC) || source.is_some_and(|source| source != origin.source.to_be_bytes()))
}

/// The ranges that a log of this origin tells of, and where the last record ends.
pub(crate) fn held(bytes: &[u8], origin: &Origin) -> Option<(BTreeMap<u64, RangeHash>, usize)> {
    let mut reader = Reader::new(bytes);
    if reader.take(HEADER)? != origin.header() {
        return None;
    }
    let (mut held, mut end) = (BTreeMap::new(), HEADER);
    while let (Some(index), Some(hash), Some(check)) = (reader.u64(), reader.array::<32>(), reader.array::<8>()) {
        if index >= count(origin.size) || record(index, &hash)[40..] != check {
            break;
        }
        held.insert(index, hash);
        end += RECORD;
    }
    Some((held, end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranges::RANGE;

    #[test]
    fn what_was_added_is_found_again_whenever_the_writer_died() {
        let origin = Origin { size: 10 * RANGE, mtime: Mtime { s: 1, ns: 2 }, start: 0, source: SourceId::default() };
        let open = |file: &tempfile::NamedTempFile| {
            let (log, held) = Log::read(file.reopen().unwrap(), &origin).unwrap();
            (log, if let Held::Ranges(held) = held { Some(held) } else { None })
        };
        let file = tempfile::NamedTempFile::new().unwrap();
        let (mut log, held) = open(&file);
        assert_eq!(held, None);
        log.reset(&origin).unwrap();
        for index in [3, 0, 7] {
            log.add(index, &[index as u8; 32]).unwrap();
        }
        for length in 0..=file.as_file().metadata().unwrap().len() {
            let cut = tempfile::NamedTempFile::new().unwrap();
            std::fs::copy(file.path(), cut.path()).unwrap();
            cut.as_file().set_len(length).unwrap();
            let (mut log, held) = open(&cut);
            let whole = length.checked_sub(HEADER as u64).map(|records| records as usize / RECORD);
            assert_eq!(held.as_ref().map(BTreeMap::len), whole);
            if let Some(held) = held {
                log.add(9, &[9; 32]).unwrap();
                let (_, again) = open(&cut);
                assert_eq!(again.unwrap().len(), held.len() + 1);
            }
        }
    }

    #[test]
    fn a_log_of_another_source_or_a_damaged_one_holds_nothing_wrong() {
        let origin = Origin { size: 3 * RANGE, mtime: Mtime { s: 1, ns: 2 }, start: 0, source: SourceId::default() };
        let mut bytes = origin.header();
        bytes.extend(record(1, &[1; 32]));
        assert_eq!(held(&bytes, &origin).unwrap().0.len(), 1);
        assert_eq!(held(&bytes, &Origin { size: 3 * RANGE + 1, ..origin }), None);
        let told = |bytes: &[u8], origin| {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), bytes).unwrap();
            Log::read(file.reopen().unwrap(), &origin).unwrap().1
        };
        let other = Origin { source: SourceId::default().below(b"b"), ..origin };
        assert_eq!(told(&bytes, other), Held::Elsewhere);
        assert_eq!(told(&bytes, Origin { size: 5, ..origin }), Held::Changed);
        assert_eq!(told(b"VISAPULT COPY 2\n", origin), Held::Elsewhere);
        assert_eq!(told(b"", origin), Held::Changed);
        let beyond = [origin.header(), record(3, &[1; 32])].concat();
        assert_eq!(held(&beyond, &origin).unwrap().0.len(), 0);
        bytes[HEADER + 10] ^= 1;
        assert_eq!(held(&bytes, &origin).unwrap().0.len(), 0);
    }
}
