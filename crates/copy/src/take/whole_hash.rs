//! What the giving end has hashed of whole files, where their ranges may be of several versions that look the same: with what an earlier attempt has
//! left, and from several nodes.
//!
//! Invariant: such a file gets its name only if its hash is the one that the share has that was dialled.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Taking;
use super::arriving::Ranged;
use super::dealing::{FIRST, NodeId};
use super::pool::{Fault, Job, Pending};
use crate::error::CopyError;
use crate::landing::Ground;
use crate::ranged::RangedFile;
use crate::ranges::{RangeHash, count};
use crate::wish::Alike;
use crate::words::Word;

const CHANGES: &str =
    "what came of it is not what the other end has read of it: it changes there, and keeps its time; copy it again";

/// A file that waits for so long is told of: nothing else may happen meanwhile.
const WAITS: Duration = Duration::from_secs(10);

/// What is known of one file.
#[derive(Debug, Default)]
struct WholeHash {
    /// Once it is told.
    hash: Option<RangeHash>,
    /// All ranges are there, and wait for that.
    file: Option<Arc<RangedFile>>,
    /// Not all of it came now, and from the share that was dialled.
    is_mixed: bool,
    /// It came from its beginning, from the share alone that was dialled.
    is_anew: bool,
}

/// A file that waits for its hash.
#[derive(Debug)]
struct Waiting {
    entry: u64,
    since: Instant,
    is_told: bool,
}

/// What is to be done with a file all of whose ranges are there.
enum Outcome {
    Keep,
    Wait,
    Begin,
    Fail,
}

#[derive(Debug, Default)]
pub(super) struct WholeHashes {
    files: HashMap<u64, WholeHash>,
    waiting: Option<Waiting>,
}

impl WholeHashes {
    /// A file is held against this hash.
    pub(super) fn hold(&mut self, entry: u64, hash: RangeHash) {
        self.files.insert(entry, WholeHash { hash: Some(hash), ..WholeHash::default() });
    }

    /// A file is held against a hash that will be told, if something of it is there already, or some of it comes from others.
    pub(super) fn ask(&mut self, entry: u64, is_begun: bool) {
        self.files.insert(entry, WholeHash { is_mixed: is_begun, ..WholeHash::default() });
    }

    /// Some of a file came from there.
    pub(super) fn came(&mut self, entry: u64, from: NodeId) {
        if from != FIRST
            && let Some(known) = self.files.get_mut(&entry)
        {
            known.is_mixed = true;
        }
    }

    pub(super) fn drop(&mut self, entry: u64) {
        self.files.remove(&entry);
        self.waiting.take_if(|waiting| waiting.entry == entry);
    }

    /// A file that has waited for long, each once.
    fn late(&mut self, now: Instant) -> Option<u64> {
        if self.waiting.is_none() {
            let entry = self.files.iter().find(|(_, known)| known.file.is_some()).map(|(&entry, _)| entry);
            self.waiting = entry.map(|entry| Waiting { entry, since: now, is_told: false });
        }
        let waiting = self.waiting.as_mut().filter(|waiting| !waiting.is_told && now >= waiting.since + WAITS)?;
        waiting.is_told = true;
        Some(waiting.entry)
    }

    /// The hash is told; returns the file that waits for it.
    pub(super) fn tell(&mut self, entry: u64, hash: RangeHash) -> Option<Arc<RangedFile>> {
        let known = self.files.get_mut(&entry)?;
        known.hash = Some(hash);
        self.waiting.take_if(|waiting| waiting.entry == entry);
        known.file.take()
    }

    fn outcome(&mut self, entry: u64, file: &Arc<RangedFile>) -> Outcome {
        let Some(known) = self.files.get_mut(&entry) else { return Outcome::Keep };
        match known.hash {
            None if !known.is_mixed => Outcome::Keep,
            None => {
                known.file = Some(Arc::clone(file));
                Outcome::Wait
            }
            Some(hash) if hash == file.hash() => Outcome::Keep,
            Some(_) if known.is_anew => Outcome::Fail,
            Some(_) => {
                known.is_anew = true;
                Outcome::Begin
            }
        }
    }
}

impl Taking<'_> {
    /// The hash of a file that comes in ranges, and was not compared, is to be asked for.
    pub(super) fn needs_whole_hash(&self, pending: &Pending) -> bool {
        let is_mixed = pending.is_begun || self.dealing.is_some();
        is_mixed && self.wish.alike == Alike::All && self.may_ask_whole_hash()
    }

    /// Files are held against hashes before they get their names: what a store has taken it keeps.
    pub(super) const fn may_ask_whole_hash(&self) -> bool {
        !self.wish.dry_run && matches!(self.ground, Some(Ground::Folder(_)))
    }

    /// Tells why nothing may seem to happen.
    pub(super) fn tell_late(&mut self) -> Result<(), CopyError> {
        let late = self.whole_hashes.late(Instant::now()).and_then(|entry| self.pending.get(&entry));
        let Some(path) = late.map(Pending::path) else { return Ok(()) };
        let name = self.telling.called(&path);
        self.telling.notice(format!("{name} is here, and waits for its hash: the other end reads all of it for that"))
    }

    /// All ranges of a file are there: it gets its name, if it is what it should be.
    pub(super) fn keep(&mut self, entry: u64, file: Arc<RangedFile>) -> Result<(), CopyError> {
        self.ranged.remove(&entry);
        match self.whole_hashes.outcome(entry, &file) {
            Outcome::Keep => {
                self.pool.give(Job::Keep { entry, file });
                Ok(())
            }
            Outcome::Wait => Ok(()),
            Outcome::Begin => self.begin_again(entry, file),
            Outcome::Fail => self.give_up(entry, &file),
        }
    }

    /// All of a file is taken once more, from the share that was dialled.
    fn begin_again(&mut self, entry: u64, file: Arc<RangedFile>) -> Result<(), CopyError> {
        let Some(pending) = self.pending.get(&entry).cloned() else { return Ok(()) };
        if let Err(cause) = file.begin_anew() {
            self.drop_pending(entry);
            return self.on_fault(entry, &pending, &Fault::writing(&cause));
        }
        let nodes = if self.dealing.is_some() { ", from the share alone that was dialled" } else { "" };
        self.telling.notice(format!(
            "{} was put together of versions that differ, though their size and time are the same: it is copied from its beginning{nodes}",
            self.telling.called(&pending.path())
        ))?;
        self.telling.void_bytes += pending.origin.size;
        let ranges = count(pending.origin.size);
        self.ranged.insert(entry, Ranged::File(file));
        if let Some(dealing) = &mut self.dealing {
            dealing.ask_first(entry, ranges, Instant::now());
        }
        self.telling.say(&Word::Ranges { entry, ranges: vec![(0, ranges)] })
    }

    /// Nothing of it is to be gone on from.
    fn give_up(&mut self, entry: u64, file: &RangedFile) -> Result<(), CopyError> {
        let Some(pending) = self.drop_pending(entry) else { return Ok(()) };
        let why = file.begin_anew().map_or_else(|cause| Fault::writing(&cause).why, |()| CHANGES.to_owned());
        self.telling.fail(Some(entry), &pending.path(), &why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Origin;
    use crate::partial::tests::{MTIME, place};
    use crate::ranged::ReadBack;
    use crate::source_id::SourceId;

    #[test]
    fn what_came_from_the_share_alone_that_was_dialled_waits_for_no_hash() {
        let dir = tempfile::tempdir().unwrap();
        let origin = Origin { size: 5, mtime: MTIME, start: 0, source: SourceId::default() };
        let file = Arc::new(RangedFile::open(&place(&dir, "a"), origin, false, &ReadBack::default()).unwrap().file);
        let mut whole_hashes = WholeHashes::default();
        whole_hashes.ask(1, false);
        whole_hashes.came(1, FIRST);
        assert!(matches!(whole_hashes.outcome(1, &file), Outcome::Keep));
        whole_hashes.came(1, FIRST + 1);
        assert!(matches!(whole_hashes.outcome(1, &file), Outcome::Wait));
        let now = Instant::now();
        assert_eq!(
            (whole_hashes.late(now), whole_hashes.late(now + WAITS), whole_hashes.late(now + WAITS)),
            (None, Some(1), None)
        );
        assert!(whole_hashes.tell(1, [1; 32]).is_some() && whole_hashes.late(now + WAITS).is_none());
        whole_hashes.ask(2, true);
        assert!(matches!(whole_hashes.outcome(2, &file), Outcome::Wait));
        whole_hashes.drop(2);
        assert!(matches!(whole_hashes.outcome(2, &file), Outcome::Keep));
    }
}
