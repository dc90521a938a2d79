//! A large file at the taking end: it comes in ranges, goes on from those that are verified, and is written while more comes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use visapult_ripp_net::Sink;

use crate::error::is_full;
use crate::lock::lock;
use crate::log::{Held, Log, Origin};
use crate::partial::{Partial, Place, open_log};
use crate::ranges::{Extents, Range, RangeHash, count, file_hash, range};

/// Ranges that are written before the disk is made to have them: 64 MiB.
const SYNC_EVERY: u64 = 4;

/// A file that comes in ranges.
#[derive(Debug)]
pub(crate) struct RangedFile {
    partial: Partial,
    origin: Origin,
    state: Mutex<State>,
    /// Ranges since the disk was last made to have them.
    unsynced: AtomicU64,
    /// Somebody has the disk write.
    is_writing: AtomicBool,
    /// The error of the disk, if it has lost some.
    lost: Mutex<Option<i32>>,
    /// There was no room for something of it.
    is_full: AtomicBool,
}

#[derive(Debug)]
struct State {
    /// None where a file is one range: there is nothing to go on from.
    log: Option<Log>,
    /// Of the ranges that are there: what is missing takes no memory, whatever size a source claims.
    hashes: BTreeMap<u64, RangeHash>,
}

/// What was found of a file that comes in ranges.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) file: RangedFile,
    /// The partial was of this source before it was changed.
    pub(crate) had_changed: bool,
    /// The partial was of a source elsewhere, or an older build's.
    pub(crate) was_elsewhere: bool,
}

/// What was there of files from an earlier attempt, and is read back.
#[derive(Debug, Default)]
pub(crate) struct ReadBack {
    /// Nobody wants to know any more.
    pub(crate) over: Arc<AtomicBool>,
    /// Bytes that were found right so far.
    pub(crate) bytes: AtomicU64,
}

impl RangedFile {
    /// Opens the partial and verifies what is there of it; nothing is if it is to be copied `anew`.
    pub(crate) fn open(place: &Place, origin: Origin, anew: bool, read_back: &ReadBack) -> io::Result<Found> {
        let partial = Partial::open(place)?;
        let ranges = count(origin.size);
        let mut hashes = BTreeMap::new();
        let (mut log, mut had_changed, mut was_elsewhere) = (None, false, false);
        let mut held = None;
        if ranges > 1 {
            let log_file = open_log(&place.folder, &place.name.log())?;
            let (mut read, found) = Log::read(log_file, &origin)?;
            let length = partial.file.metadata()?.len();
            let is_begun = length > 0 && !anew;
            (had_changed, was_elsewhere) = (is_begun && found == Held::Changed, is_begun && found == Held::Elsewhere);
            held = match found {
                Held::Ranges(ranges) if length == origin.size && !anew => Some(ranges),
                _ => None,
            };
            if held.is_none() {
                read.reset(&origin)?;
            }
            log = Some(read);
        }
        match held {
            None => partial.file.set_len(0).and_then(|()| partial.file.set_len(origin.size))?,
            Some(held) => {
                for (index, hash) in held {
                    if read_back.over.load(Ordering::Relaxed) {
                        return Err(io::Error::other("stopped"));
                    }
                    if verify(&partial.file, origin.size, index, &hash)? {
                        hashes.insert(index, hash);
                        let length = range(origin.size, index).map_or(0, |range| range.length);
                        read_back.bytes.fetch_add(length, Ordering::Relaxed);
                    }
                }
            }
        }
        let file = Self {
            partial,
            origin,
            state: Mutex::new(State { log, hashes }),
            unsynced: AtomicU64::new(0),
            is_writing: AtomicBool::new(false),
            lost: Mutex::new(None),
            is_full: AtomicBool::new(false),
        };
        Ok(Found { file, had_changed, was_elsewhere })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Ranges that are missing, as first and end.
    pub(crate) fn missing(&self) -> Vec<(u64, u64)> {
        let mut missing = Vec::new();
        let mut next = 0;
        for &index in self.state().hashes.keys().chain([&count(self.origin.size)]) {
            if index > next {
                missing.push((next, index));
            }
            next = index + 1;
        }
        missing
    }

    /// Bytes in ranges that are there.
    pub(crate) fn held_bytes(&self) -> u64 {
        let state = self.state();
        state.hashes.keys().filter_map(|&index| range(self.origin.size, index)).map(|range| range.length).sum()
    }

    /// Bytes in ranges that are missing.
    pub(crate) fn missing_bytes(&self) -> u64 {
        self.origin.size - self.held_bytes()
    }

    /// A range that is still missing.
    pub(crate) fn wants(&self, index: u64) -> Option<Range> {
        range(self.origin.size, index).filter(|_| !self.state().hashes.contains_key(&index))
    }

    /// A range has been verified; true if it was the last.
    pub(crate) fn hold(&self, index: u64, hash: RangeHash) -> io::Result<bool> {
        let mut state = self.state();
        let State { log, hashes } = &mut *state;
        hashes.insert(index, hash);
        self.noting(log.as_mut().map_or(Ok(()), |log| log.add(index, &hash)))?;
        Ok(hashes.len() as u64 == count(self.origin.size))
    }

    /// There was no room for something of it: there is none for anything else either.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    fn noting(&self, written: io::Result<()>) -> io::Result<()> {
        written.inspect_err(|cause| {
            self.is_full.fetch_or(is_full(cause), Ordering::Relaxed);
        })
    }

    /// A range is there: whether it is time for [`RangedFile::write`], which one does at a time.
    pub(crate) fn wants_writing(&self) -> bool {
        self.unsynced.fetch_add(1, Ordering::Relaxed);
        self.partial.place.is_synced && !self.is_writing.swap(true, Ordering::Relaxed)
    }

    /// Has the disk write what is there, so that it works while more comes; once in a few ranges waits until it has them, and after them the log that
    /// tells of them.
    pub(crate) fn write(&self) -> io::Result<()> {
        let outcome = if self.unsynced.load(Ordering::Relaxed) < SYNC_EVERY { Ok(()) } else { self.sync() };
        // What has come meanwhile does not wait for the next range.
        begin_writing(&self.partial.file);
        self.is_writing.store(false, Ordering::Relaxed);
        outcome
    }

    fn sync(&self) -> io::Result<()> {
        self.unsynced.store(0, Ordering::Relaxed);
        self.sync_content()?;
        let log = self.state().log.as_ref().map(Log::handle).transpose()?;
        log.map_or(Ok(()), |log| log.sync_data())
    }

    /// A system tells only once that the disk has lost something: whoever asks after that is told here.
    fn sync_content(&self) -> io::Result<()> {
        let mut lost = lock(&self.lost);
        if let Some(cause) = *lost {
            return Err(io::Error::from_raw_os_error(cause));
        }
        self.partial.sync().inspect_err(|cause| *lost = Some(cause.raw_os_error().unwrap_or(Errno::IO.raw_os_error())))
    }

    /// The hash of what is there, once that is all.
    pub(crate) fn hash(&self) -> RangeHash {
        let hashes: Vec<_> = self.state().hashes.values().copied().collect();
        *file_hash(&hashes).as_bytes()
    }

    /// What is there is not what it should be: all ranges are missing again.
    pub(crate) fn begin_anew(&self) -> io::Result<()> {
        let mut state = self.state();
        let State { log, hashes } = &mut *state;
        hashes.clear();
        log.as_mut().map_or(Ok(()), |log| log.reset(&self.origin))?;
        self.partial.file.set_len(0)?;
        self.partial.file.set_len(self.origin.size)
    }

    /// All ranges are there: the file gets its name. Returns its hash.
    pub(crate) fn keep(&self) -> io::Result<RangeHash> {
        let hashes: Vec<_> = self.state().hashes.values().copied().collect();
        if hashes.len() as u64 != count(self.origin.size) {
            return Err(io::Error::other("ranges are missing"));
        }
        self.sync_content()?;
        self.partial.keep(self.origin.mtime)?;
        // One that waits for its name goes on from its ranges if the copy ends before that.
        if hashes.len() > 1 && !self.partial.place.waits {
            self.partial.remove_log();
        }
        Ok(*file_hash(&hashes).as_bytes())
    }
}

/// Has the system begin to write what the disk does not have, and waits for nothing.
#[expect(unsafe_code, reason = "no safe wrapper among the crates in use")]
fn begin_writing(file: &File) {
    // SAFETY: the descriptor is open as long as `file` is borrowed, and no memory is handed over.
    // What cannot be begun is written, and its error told, when somebody waits for it.
    let _ = unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
}

/// Reads a range back; one that is not what it should be is emptied, for holes are not sent.
fn verify(file: &File, size: u64, index: u64, hash: &RangeHash) -> io::Result<bool> {
    let Some(range) = range(size, index) else { return Ok(false) };
    if range.hash(|at, part| file.read_exact_at(part, at))? == *hash {
        return Ok(true);
    }
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    let _ = rustix::fs::fallocate(file, flags, range.start, range.length);
    Ok(false)
}

/// Where the data of a range goes.
#[derive(Debug)]
pub(crate) struct RangeSink {
    pub(crate) file: Arc<RangedFile>,
    pub(crate) range: Range,
    pub(crate) extents: Extents,
    /// Bytes of it that have arrived.
    pub(crate) arrived: Arc<AtomicU64>,
}

impl Sink for RangeSink {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let Self { file, range, extents, .. } = self;
        let write = |start, part: &[u8]| file.partial.file.write_all_at(part, range.start + start);
        file.noting(extents.write(offset, bytes, write))?;
        self.arrived.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn prefers_runs(&self) -> bool {
        true
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let Self { file, range, extents, .. } = self;
        extents.read(offset, into, |start, part| file.partial.file.read_exact_at(part, range.start + start))
    }

    fn own_digest(&self) -> Option<io::Result<[u8; 32]>> {
        Some(self.range.hash(|at, part| self.file.partial.file.read_exact_at(part, at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing::Mtime;
    use crate::partial::tests::{MTIME, names, place};
    use crate::ranges::RANGE;
    use crate::source_id::SourceId;

    #[test]
    fn what_the_disk_has_lost_gets_no_name() {
        let dir = tempfile::tempdir().unwrap();
        let origin = Origin { size: 5, mtime: MTIME, start: 0, source: SourceId::default() };
        let file = RangedFile::open(&place(&dir, "a"), origin, false, &ReadBack::default()).unwrap().file;
        file.hold(0, [1; 32]).unwrap();
        // The system has told it to another thread.
        *file.lost.lock().unwrap() = Some(Errno::IO.raw_os_error());
        assert_eq!(file.keep().unwrap_err().raw_os_error(), Some(Errno::IO.raw_os_error()));
        assert!(file.sync().is_err());
        assert_eq!(names(&dir), ["a.visapult-part"]);
    }

    #[test]
    fn one_has_the_disk_write_and_what_comes_meanwhile_counts_for_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let origin = Origin { size: 8 * RANGE, mtime: MTIME, start: 0, source: SourceId::default() };
        let file = RangedFile::open(&place(&dir, "a"), origin, false, &ReadBack::default()).unwrap().file;
        let unsynced = || file.unsynced.load(Ordering::Relaxed);
        assert!(file.wants_writing());
        assert!((2..=SYNC_EVERY + 1).all(|_| !file.wants_writing()));
        file.write().unwrap();
        assert_eq!(unsynced(), 0);
        assert!(file.wants_writing() && !file.wants_writing());
        file.write().unwrap();
        assert_eq!(unsynced(), 2);
        // Nor does one who fails keep others from it.
        *file.lost.lock().unwrap() = Some(Errno::IO.raw_os_error());
        assert!(file.wants_writing() && !file.wants_writing());
        assert!(file.write().is_err());
        assert!(file.wants_writing());
    }

    #[test]
    fn only_one_gathers_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let place = place(&dir, "a");
        let origin = Origin { size: 3 * RANGE, mtime: MTIME, start: 0, source: SourceId::default() };
        let first = RangedFile::open(&place, origin, false, &ReadBack::default()).unwrap();
        assert!(
            RangedFile::open(&place, origin, false, &ReadBack::default())
                .unwrap_err()
                .to_string()
                .contains("another copy")
        );
        drop(first);
        assert!(RangedFile::open(&place, origin, false, &ReadBack::default()).is_ok());
    }

    #[test]
    fn a_file_goes_on_from_what_is_verified() {
        let dir = tempfile::tempdir().unwrap();
        let place = place(&dir, "a");
        let content: Vec<u8> = (0..2 * RANGE + 77).map(|at| (at >> 10) as u8).collect();
        let origin = Origin { size: content.len() as u64, mtime: MTIME, start: 0, source: SourceId::default() };
        let read_back = ReadBack::default();
        let open = |origin| RangedFile::open(&place, origin, false, &read_back).unwrap();
        let bring = |file: &Arc<RangedFile>, index: u64| {
            let range = file.wants(index).unwrap();
            let (extents, arrived) = (Extents::dense(range.length), Arc::default());
            let sink = RangeSink { file: Arc::clone(file), range, extents, arrived };
            let part = &content[range.start as usize..(range.start + range.length) as usize];
            let (first, second) = part.split_at(part.len() / 3);
            sink.write_at(first.len() as u64, second).unwrap();
            sink.write_at(0, first).unwrap();
            file.hold(index, sink.own_digest().unwrap().unwrap()).unwrap()
        };
        let file = Arc::new(open(origin).file);
        assert_eq!(file.missing(), [(0, 3)]);
        assert!(!bring(&file, 2) && !bring(&file, 0));
        drop(file);
        // Somebody damages a range.
        let damaged = std::fs::OpenOptions::new().write(true).open(dir.path().join("a.visapult-part")).unwrap();
        damaged.write_all_at(b"!", 5).unwrap();
        let found = open(origin);
        let file = Arc::new(found.file);
        assert_eq!((file.missing(), file.held_bytes(), found.had_changed), (vec![(0, 2)], 77, false));
        assert_eq!(read_back.bytes.load(Ordering::Relaxed), 77);
        assert!(file.keep().is_err());
        drop(file);
        // What is not wanted any more is not read.
        let over = ReadBack { over: Arc::new(true.into()), ..ReadBack::default() };
        assert!(RangedFile::open(&place, origin, false, &over).unwrap_err().to_string().contains("stopped"));
        let file = Arc::new(open(origin).file);
        assert!(!bring(&file, 0) && bring(&file, 1));
        assert_eq!(file.keep().unwrap(), *blake3::hash(&content).as_bytes());
        assert_eq!((names(&dir), std::fs::read(dir.path().join("a")).unwrap()), (vec!["a".to_owned()], content));
    }

    #[test]
    fn what_is_not_what_it_should_be_begins_anew_for_the_next_attempt_too() {
        let dir = tempfile::tempdir().unwrap();
        let place = place(&dir, "a");
        let origin = Origin { size: 2 * RANGE, mtime: MTIME, start: 0, source: SourceId::default() };
        let zeros = |_, part: &mut [u8]| {
            part.fill(0);
            Ok(())
        };
        let file = RangedFile::open(&place, origin, false, &ReadBack::default()).unwrap().file;
        for index in 0..2 {
            file.hold(index, range(origin.size, index).unwrap().hash(zeros).unwrap()).unwrap();
        }
        assert_eq!(file.hash(), *blake3::hash(&vec![0; 2 * RANGE as usize]).as_bytes());
        file.begin_anew().unwrap();
        assert_eq!(file.missing(), [(0, 2)]);
        drop(file);
        let again = RangedFile::open(&place, origin, false, &ReadBack::default()).unwrap();
        assert_eq!((again.file.missing(), again.had_changed), (vec![(0, 2)], false));
    }

    #[test]
    fn a_source_that_has_changed_begins_again() {
        let dir = tempfile::tempdir().unwrap();
        let place = place(&dir, "a");
        let origin = Origin { size: 2 * RANGE, mtime: MTIME, start: 0, source: SourceId::default() };
        let file = RangedFile::open(&place, origin, false, &ReadBack::default()).unwrap().file;
        file.hold(
            0,
            range(origin.size, 0)
                .unwrap()
                .hash(|_, part| {
                    part.fill(0);
                    Ok(())
                })
                .unwrap(),
        )
        .unwrap();
        drop(file);
        let held = RangedFile::open(&place, origin, false, &ReadBack::default()).unwrap();
        assert_eq!((held.file.missing(), held.had_changed), (vec![(1, 2)], false));
        drop(held);
        let later = Origin { mtime: Mtime { s: MTIME.s + 1, ns: 0 }, ..origin };
        let found = RangedFile::open(&place, later, false, &ReadBack::default()).unwrap();
        assert_eq!((found.file.missing(), found.had_changed, found.was_elsewhere), (vec![(0, 2)], true, false));
        drop(found);
        let elsewhere = Origin { source: origin.source.below(b"other"), ..later };
        let found = RangedFile::open(&place, elsewhere, false, &ReadBack::default()).unwrap();
        assert_eq!((found.file.missing(), found.had_changed, found.was_elsewhere), (vec![(0, 2)], false, true));
    }
}
