//! What the taking end tells: the other end, and whoever watches. What is counted is counted here.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use visapult_objects::{cut, escaped};
use visapult_ripp_net::Session;

use super::giving_way::StandIns;
use super::pool::Pending;
use crate::error::CopyError;
use crate::inventory::Item;
use crate::names::shown;
use crate::notices::Notices;
use crate::ranges::RangeHash;
use crate::report::{Event, Limit, Progress, Tally};
use crate::words::{Differing, MOST_WHY, Word};

/// Files in one note; and bytes of hashes and paths, after which a note is full enough.
pub(super) const FILES: usize = 2000;
const HASHES_LEN: usize = 40_000;
/// Paths that were deleted, in one note.
const DELETED: usize = 10;
const EVERY: Duration = Duration::from_millis(200);

pub(super) struct Telling<'a> {
    session: &'a Session,
    watch: &'a mut dyn FnMut(Event),
    /// The folder that was made for what is copied: nothing is told of by its name.
    pub(super) top: PathBuf,
    /// Nor of folders that have another name for now.
    pub(super) stand_ins: StandIns,
    pub(super) tally: Tally,
    /// Bytes of small files in their place, and of holes in ranges of large ones.
    pub(super) placed_bytes: u64,
    /// Bytes that were here, and have to come once more.
    pub(super) void_bytes: u64,
    notices: Notices,
    /// What limits the giving end, as it says.
    pub(super) limit: Option<Limit>,
    /// Files that are in their place, and their hashes with so many bytes of text: the other end has not been told of them.
    done: Vec<u64>,
    hashes: Vec<(String, String)>,
    hashes_len: usize,
    /// What differs, in a dry run, with so many bytes of text.
    differing: Vec<Differing>,
    differing_len: usize,
    /// And files that were compared and are the same.
    same: Vec<u64>,
    began: Instant,
    told_at: Instant,
}

impl<'a> Telling<'a> {
    pub(super) fn new(session: &'a Session, watch: &'a mut dyn FnMut(Event)) -> Self {
        let now = Instant::now();
        Self {
            session,
            watch,
            top: PathBuf::new(),
            stand_ins: StandIns::default(),
            tally: Tally::default(),
            placed_bytes: 0,
            void_bytes: 0,
            notices: Notices::default(),
            limit: None,
            done: Vec::new(),
            hashes: Vec::new(),
            hashes_len: 0,
            differing: Vec::new(),
            differing_len: 0,
            same: Vec::new(),
            began: now,
            told_at: now,
        }
    }

    pub(super) fn say(&self, word: &Word) -> Result<(), CopyError> {
        Ok(self.session.note(&word.to_text())?)
    }

    /// What is at `path`, as it is called in the destination, whether that was there or not; both ends call it so, whichever of them it fails at.
    pub(super) fn called(&self, path: &Path) -> String {
        let path = self.stand_ins.resolved(path);
        let below = path.strip_prefix(&self.top).unwrap_or(&path);
        if below.as_os_str().is_empty() { shown(&Path::new(".").join(&path)) } else { shown(below) }
    }

    pub(super) fn fail(&mut self, entry: Option<u64>, path: &Path, why: &str) -> Result<(), CopyError> {
        self.fail_called(entry, self.called(path), why)
    }

    /// Of what has a name already.
    pub(super) fn fail_called(&mut self, entry: Option<u64>, path: String, why: &str) -> Result<(), CopyError> {
        self.tally.failed += 1;
        let why = cut(why, MOST_WHY).to_owned();
        self.say(&Word::Failed { entry, path: path.clone(), why: why.clone() })?;
        (self.watch)(Event::Failed { path, why });
        Ok(())
    }

    pub(super) fn left_out(&mut self, path: String, why: String) -> Result<(), CopyError> {
        self.tally.left_out += 1;
        self.say(&Word::LeftOut { path: path.clone(), why: why.clone() })?;
        (self.watch)(Event::LeftOut { path, why });
        Ok(())
    }

    pub(super) fn notice(&mut self, text: String) -> Result<(), CopyError> {
        self.say(&Word::Notice { text: text.clone() })?;
        (self.watch)(Event::Notice(text));
        Ok(())
    }

    /// What the other end wants to be known.
    pub(super) fn pass_on(&mut self, text: &str) {
        self.notices.pass_on(text, self.watch);
    }

    /// It has said all.
    pub(super) fn finish_notices(&mut self) {
        self.notices.finish(self.watch);
    }

    pub(super) fn deleted(&mut self, paths: &[String]) -> Result<(), CopyError> {
        self.tell_differing()?;
        self.tally.deleted += paths.len() as u64;
        for paths in paths.chunks(DELETED) {
            self.say(&Word::Deleted { paths: paths.to_vec() })?;
            paths.iter().for_each(|path| (self.watch)(Event::Deleted(path.clone())));
        }
        Ok(())
    }

    /// In a listing, what is there.
    pub(super) fn listed(&mut self, item: Item) {
        (self.watch)(Event::Listed(item));
    }

    /// In a dry run, what would be done.
    pub(super) fn differs(&mut self, path: &Path, how: &str, bytes: Option<u64>) -> Result<(), CopyError> {
        let (path, how) = (self.called(path), how.to_owned());
        self.differing_len += path.len() + how.len() + 60;
        self.differing.push(Differing { path: path.clone(), how: how.clone(), bytes });
        (self.watch)(Event::Differs { path, how, bytes });
        if self.differing_len >= HASHES_LEN { self.tell_differing() } else { Ok(()) }
    }

    fn tell_differing(&mut self) -> Result<(), CopyError> {
        self.differing_len = 0;
        let all = std::mem::take(&mut self.differing);
        if all.is_empty() { Ok(()) } else { self.say(&Word::Differ { all }) }
    }

    /// A file is in its place.
    pub(super) const fn count_kept(&mut self, bytes: u64) {
        self.tally.files += 1;
        self.tally.bytes += bytes;
    }

    /// A file is there already.
    pub(super) const fn count_same(&mut self, pending: &Pending) {
        self.tally.same_files += 1;
        self.tally.same_bytes += pending.origin.size;
    }

    /// A file is to be copied.
    pub(super) const fn count_wanted(&mut self, pending: &Pending) {
        self.tally.wanted_files += 1;
        self.tally.wanted_bytes += pending.origin.size;
    }

    /// A file that came in ranges needs no more of them.
    pub(super) fn done(&mut self, entry: u64) {
        self.done.push(entry);
    }

    /// A file that was compared is not wanted.
    pub(super) fn same(&mut self, entry: u64) {
        self.same.push(entry);
    }

    /// The hash of the file at `path` below the destination.
    pub(super) fn hash(&mut self, path: &Path, hash: &RangeHash) -> Result<(), CopyError> {
        let hash = blake3::Hash::from_bytes(*hash).to_hex().to_string();
        let path = path.as_os_str().as_bytes().to_vec();
        let text = escaped(&path);
        self.hashes_len += text.len() + hash.len() + 8;
        self.hashes.push((text, hash.clone()));
        (self.watch)(Event::Hash { path, hash });
        if self.hashes_len >= HASHES_LEN { self.tell_hashes() } else { Ok(()) }
    }

    fn tell_hashes(&mut self) -> Result<(), CopyError> {
        self.hashes_len = 0;
        let files = std::mem::take(&mut self.hashes);
        if files.is_empty() { Ok(()) } else { self.say(&Word::Hashes { files }) }
    }

    /// Tells at once what the other end waits for.
    pub(super) fn tell_same(&mut self) -> Result<(), CopyError> {
        for same in std::mem::take(&mut self.same).chunks(FILES) {
            self.say(&Word::Compared { wanted: Vec::new(), same: same.to_vec() })?;
        }
        Ok(())
    }

    pub(super) fn is_due(&self) -> bool {
        self.told_at.elapsed() > EVERY
    }

    /// Tells how far it is: what has arrived, and what of that in ranges of large files.
    pub(super) fn tell(&mut self, is_listed: bool, arrived: u64, in_ranges: u64) -> Result<(), CopyError> {
        self.told_at = Instant::now();
        let here_bytes = self.placed_bytes + in_ranges + self.tally.resumed_bytes;
        self.tally.here_bytes = here_bytes.saturating_sub(self.void_bytes);
        for files in std::mem::take(&mut self.done).chunks(FILES) {
            self.say(&Word::Done { files: files.to_vec() })?;
        }
        self.tell_hashes()?;
        self.tell_differing()?;
        self.say(&Word::Tally(self.tally))?;
        let (tally, elapsed, limit) = (self.tally, self.began.elapsed(), self.limit);
        (self.watch)(Event::Progress(Progress { tally, is_listed, arrived, elapsed, limit }));
        Ok(())
    }
}
