//! Files at the giving end: read where they lie, again if something was lost, and never mixed with what somebody writes to them meanwhile.

use std::fs::File;
use std::io;
use std::ops;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use blake3::Hash;
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{OpenOptions, OpenOptionsExt};
use rustix::fs::SeekFrom;
use rustix::io::Errno;
use visapult_ripp_net::Source;

use crate::hashing::hash;
use crate::listing::Mtime;
use crate::lock::lock;
use crate::ranges::{Extents, Range};
use crate::root::{Base, Root};

/// Bytes of what is sent, after which it is looked whether the file has changed: a datagram is too little for that.
const LOOK: u64 = 1 << 20;
pub(crate) const CHANGED: &str = "it changes while it is read; copy it when nobody writes to it";
/// Why a file is not copied that holds more than its size.
const UNTOLD: &str = "it holds more than the size that is told of it, as files in /proc do: write what it gives to a file, and copy that";

/// Where its bytes are.
#[derive(Debug)]
enum Content {
    File(File),
    /// In memory: it was made.
    Made(Arc<[u8]>),
}

/// A file that is read.
#[derive(Debug)]
pub(crate) struct SourceFile {
    content: Content,
    /// Where the bytes begin that are meant, how many they are, and how long the file is.
    start: u64,
    pub(crate) size: u64,
    length: u64,
    pub(crate) mtime: Mtime,
    /// The stretch of data that was found last. To find its end, a system may walk through all of the file, and do nothing else meanwhile.
    data: Mutex<ops::Range<u64>>,
}

impl SourceFile {
    pub(crate) fn open(root: &Root, path: &Path) -> io::Result<Self> {
        if let Some(fields) = root.fields() {
            let made = fields.file(path)?;
            let size = made.bytes.len() as u64;
            let content = Content::Made(made.bytes);
            return Ok(Self { content, start: 0, size, length: size, mtime: made.mtime, data: Mutex::default() });
        }
        let mut options = OpenOptions::new();
        // A pipe that has taken the file's place must not make us wait.
        options.read(true).follow(FollowSymlinks::No).custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
        let Base::Folder(dir) = &root.base else { return Err(io::ErrorKind::Unsupported.into()) };
        let file = dir.open_with(path, &options)?.into_std();
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is no longer a file"));
        }
        let mtime = mtime(&metadata);
        let length = metadata.len();
        let (start, size) = root.span.unwrap_or((0, length));
        Ok(Self { content: Content::File(file), start, size, length, mtime, data: Mutex::default() })
    }

    /// # Errors
    /// If the file is not what it was when it was opened.
    pub(crate) fn check_unchanged(&self) -> io::Result<()> {
        let Content::File(file) = &self.content else { return Ok(()) };
        let now = file.metadata()?;
        if now.len() < self.length {
            return Err(io::Error::other(format!(
                "it was cut from {} to {} bytes while it was read",
                self.length,
                now.len()
            )));
        }
        let is_same = now.len() == self.length && mtime(&now) == self.mtime;
        if is_same { Ok(()) } else { Err(io::Error::other(CHANGED)) }
    }

    /// All of it; it is small.
    pub(crate) fn read_whole(&self, into: &mut Vec<u8>) -> io::Result<()> {
        into.resize(self.size as usize, 0);
        self.read_at(0, into)?;
        self.check_end()
    }

    /// It is what it was, and ends where it says that it does: those in `/proc` say that they have no bytes.
    fn check_end(&self) -> io::Result<()> {
        let has_more = match &self.content {
            Content::File(file) => file.read_at(&mut [0], self.length)? > 0,
            Content::Made(_) => false,
        };
        self.check_unchanged()?;
        if has_more { Err(io::Error::other(UNTOLD)) } else { Ok(()) }
    }

    /// The hash of all of it.
    pub(crate) fn hash(&self, over: &AtomicBool) -> io::Result<Hash> {
        let (hash, _) = hash(over, |at, chunk| {
            let part = (self.size - at).min(chunk.len() as u64) as usize;
            self.read_at(at, &mut chunk[..part]).map(|()| part)
        })?;
        self.check_end().map(|()| hash)
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let file = match &self.content {
            Content::File(file) => file,
            Content::Made(bytes) => {
                let there = bytes.get(at as usize..).and_then(|rest| rest.get(..into.len()));
                into.copy_from_slice(there.ok_or(io::ErrorKind::UnexpectedEof)?);
                return Ok(());
            }
        };
        file.read_exact_at(into, self.start + at).map_err(|cause| match cause.kind() {
            io::ErrorKind::UnexpectedEof => io::Error::other("it became shorter while it was read"),
            _ => cause,
        })
    }

    /// Where a range has data. What cannot be told is data all over.
    pub(crate) fn extents(&self, range: &Range) -> Extents {
        let Content::File(file) = &self.content else { return Extents::dense(range.length) };
        let first = self.start + range.start;
        let end = first + range.length;
        let mut pieces = Vec::new();
        let mut at = first;
        while at < end {
            let data = match self.data(file, at, end) {
                Ok(Some(data)) => data,
                Ok(None) => break,
                Err(_) => return Extents::dense(range.length),
            };
            at = data.end.min(end).max(data.start + 1);
            pieces.push((data.start - first, at - data.start));
        }
        Extents::joined(&pieces)
    }

    /// The next stretch of data of a file that begins, or goes on, before `end`.
    fn data(&self, file: &File, at: u64, end: u64) -> rustix::io::Result<Option<ops::Range<u64>>> {
        let mut known = lock(&self.data);
        if !known.contains(&at) {
            let start = match rustix::fs::seek(file, SeekFrom::Data(at)) {
                Ok(start) if start < end => start,
                Ok(_) | Err(Errno::NXIO) => return Ok(None),
                Err(cause) => return Err(cause),
            };
            *known = start..rustix::fs::seek(file, SeekFrom::Hole(start))?;
        }
        Ok(Some(at.max(known.start)..known.end))
    }
}

fn mtime(metadata: &std::fs::Metadata) -> Mtime {
    Mtime { s: metadata.mtime(), ns: metadata.mtime_nsec().clamp(0, 999_999_999) as u32 }
}

/// How long reads took, all in all: those for what is sent of ranges, those for the hashes of ranges, which mostly come first and so wait for the disk,
/// and those of small files.
#[derive(Debug, Default)]
pub(crate) struct ReadTime {
    sent: AtomicU64,
    hashed: AtomicU64,
    files: AtomicU64,
}

impl ReadTime {
    /// Of each kind.
    pub(crate) fn totals(&self) -> [Duration; 3] {
        [&self.sent, &self.hashed, &self.files].map(|total| Duration::from_nanos(total.load(Ordering::Relaxed)))
    }

    /// Reads small files.
    pub(crate) fn of_files<T>(&self, read: impl FnOnce() -> T) -> T {
        timed(&self.files, read)
    }
}

fn timed<T>(total: &AtomicU64, read: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let outcome = read();
    total.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
    outcome
}

/// The data of a range, as an object.
#[derive(Debug)]
pub(crate) struct RangeSource {
    pub(crate) file: Arc<SourceFile>,
    pub(crate) range: Range,
    pub(crate) extents: Extents,
    pub(crate) read_time: Arc<ReadTime>,
}

impl Source for RangeSource {
    fn length(&self) -> u64 {
        self.extents.bytes()
    }

    /// What was read after the hash was made is not given if the file has changed since: that is seen in a while, and after the last of the range.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let read = |start, part: &mut [u8]| self.file.read_at(self.range.start + start, part);
        timed(&self.read_time.sent, || self.extents.read(offset, into, read))?;
        let end = offset + into.len() as u64;
        if offset / LOOK < end / LOOK || end == self.length() { self.file.check_unchanged() } else { Ok(()) }
    }

    fn prefers_runs(&self) -> bool {
        true
    }

    /// The hash of the range is told only if the file is still the same.
    fn own_digest(&self) -> Option<io::Result<[u8; 32]>> {
        let hash = self.range.hash(|at, part| timed(&self.read_time.hashed, || self.file.read_at(at, part)));
        Some(hash.and_then(|hash| self.file.check_unchanged().map(|()| hash)))
    }
}

/// A range in memory, as an object.
#[derive(Debug)]
pub(crate) struct RangeMemory {
    pub(crate) content: Vec<u8>,
    pub(crate) range: Range,
}

impl Source for RangeMemory {
    fn length(&self) -> u64 {
        self.content.len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.content.read_at(offset, into)
    }

    fn memory_at(&self, offset: u64) -> Option<&[u8]> {
        self.content.memory_at(offset)
    }

    fn own_digest(&self) -> Option<io::Result<[u8; 32]>> {
        Some(Ok(self.range.hash_of(&self.content)))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::ranges::range;

    fn open(path: &Path) -> SourceFile {
        SourceFile::open(&Root::here(path).unwrap(), path.file_name().unwrap().as_ref()).unwrap()
    }

    #[test]
    fn holes_are_found_and_data_is_packed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sparse");
        let written = fs::File::create(&path).unwrap();
        written.set_len(1 << 20).unwrap();
        written.write_all_at(&[7; 4096], 8192).unwrap();
        written.write_all_at(&[9; 4096], 1 << 19).unwrap();
        let file = Arc::new(open(&path));
        let range = range(file.size, 0).unwrap();
        let extents = file.extents(&range);
        let packed = extents.bytes();
        let source = RangeSource { file, range, extents, read_time: Arc::default() };
        let mut content = vec![0; packed as usize];
        source.read_at(0, &mut content).unwrap();
        let whole = fs::read(&path).unwrap();
        let [sent, before, _] = source.read_time.totals();
        assert_eq!(source.own_digest().unwrap().unwrap(), *blake3::hash(&whole).as_bytes());
        // What is read for the hash is time that the disk took, too.
        assert!(source.read_time.totals()[1] > before && source.read_time.totals()[0] == sent);
        // File systems that keep no holes tell of none.
        if packed == 8192 {
            assert_eq!(content, [[7; 4096], [9; 4096]].concat());
        } else {
            assert_eq!(packed, 1 << 20);
        }
    }

    #[test]
    fn ranges_of_one_stretch_are_told_alike_in_any_order() {
        const MIB: u64 = 1 << 20;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sparse");
        let written = fs::File::create(&path).unwrap();
        written.set_len(96 * MIB).unwrap();
        // Data from the middle of the first range to that of the third, and in the fifth.
        for at in (8..40).chain(70..71) {
            written.write_all_at(&[7; MIB as usize], at * MIB).unwrap();
        }
        let told = |file: &SourceFile, index| file.extents(&range(file.size, index).unwrap());
        let fresh: Vec<_> = (0..6).map(|index| told(&open(&path), index)).collect();
        let file = open(&path);
        for index in [1, 1, 2, 0, 3, 4, 2, 5, 0] {
            assert_eq!(told(&file, index), fresh[index as usize], "range {index}");
        }
        // File systems that keep no holes tell of none.
        if fresh[5] != Extents::dense(16 * MIB) {
            let pieces = [&[(8 * MIB, 8 * MIB)][..], &[(0, 16 * MIB)], &[(0, 8 * MIB)], &[], &[(6 * MIB, MIB)], &[]];
            let expected = pieces.map(|pieces| Extents::new(pieces.to_vec(), 16 * MIB).unwrap());
            assert_eq!(fresh, expected);
        }
        // What was found is not looked for again.
        told(&file, 1);
        written.set_len(20 * MIB).unwrap();
        assert_eq!(told(&file, 2), fresh[2]);
    }

    #[test]
    fn a_file_that_changes_is_not_given() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("live");
        fs::write(&path, vec![1; 5000]).unwrap();
        let file = Arc::new(open(&path));
        let source = RangeSource {
            range: range(5000, 0).unwrap(),
            extents: Extents::dense(5000),
            file,
            read_time: Arc::default(),
        };
        assert!(source.own_digest().unwrap().is_ok());
        fs::write(&path, vec![2; 100]).unwrap();
        let told = source.own_digest().unwrap().unwrap_err().to_string();
        assert!(told.contains("became shorter"), "{told}");
        fs::write(&path, vec![2; 6000]).unwrap();
        assert!(source.own_digest().unwrap().unwrap_err().to_string().contains("changes while"));
    }

    #[test]
    fn a_file_that_holds_more_than_its_size_is_not_given() {
        let file = open(Path::new("/proc/self/status"));
        let mut content = Vec::new();
        assert_eq!(file.size, 0);
        assert_eq!(file.read_whole(&mut content).unwrap_err().to_string(), UNTOLD);
        assert_eq!(file.hash(&AtomicBool::new(false)).unwrap_err().to_string(), UNTOLD);
    }

    #[test]
    fn what_changes_after_it_was_hashed_is_not_given_either() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("live");
        let length = 3 * LOOK;
        let mut part = vec![0; 1000];
        for (grows, at) in [(true, 0), (false, 5)] {
            fs::write(&path, vec![1; length as usize]).unwrap();
            let file = Arc::new(open(&path));
            let (range, extents) = (range(length, 0).unwrap(), Extents::dense(length));
            let source = RangeSource { range, extents, file, read_time: Arc::default() };
            source.own_digest().unwrap().unwrap();
            source.read_at(length - 1000, &mut part).unwrap();
            let written = fs::File::options().write(true).open(&path).unwrap();
            written.write_all_at(b"more", if grows { length } else { at }).unwrap();
            // A clock that is coarse may tell the same time twice.
            written.set_times(fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH)).unwrap();
            source.read_at(LOOK + 5, &mut part).unwrap();
            for offset in [LOOK - 500, length - 1000] {
                let told = source.read_at(offset, &mut part).unwrap_err().to_string();
                assert!(told.contains("changes while"), "{told}");
            }
        }
    }
}
