//! What has arrived is put in its place; what came of that is told.

use std::sync::Arc;
use std::time::Instant;

use visapult_ripp_net::SessionError;

use super::arriving::{BundleOver, RangeOver, Ranged};
use super::dealing::{FIRST, Piece};
use super::free_space::has_no_inodes;
use super::pool::{Done, Fault, Job, Pending};
use super::{Taking, protocol};
use crate::bundle;
use crate::error::CopyError;
use crate::landing::Ground;
use crate::memory::CountedMemory;
use crate::objects::Upload;
use crate::ranged::Found;
use crate::ranges::{RangeHash, count};
use crate::wish::Alike;
use crate::words::Word;

impl Taking<'_> {
    /// Takes what has arrived.
    pub(super) fn settle(&mut self) -> Result<(), CopyError> {
        for BundleOver { outcome, from, unasked } in self.arriving.take_bundles() {
            match (outcome, unasked) {
                (Ok(memory), None) => self.on_bundle(memory, true)?,
                (Ok(memory), Some(name)) => self.arriving.keep_unasked(memory, name),
                (Err(why), _) if from == FIRST => return Err(SessionError::Ended(why).into()),
                (Err(why), _) => self.leave_out(from, &why)?,
            }
        }
        for memory in self.arriving.take_unasked(self.entries) {
            self.on_bundle(memory, false)?;
        }
        for RangeOver { entry, range, outcome, buffer, hole_bytes, from } in self.arriving.take_ranges() {
            if let Err(why) = &outcome
                && from != FIRST
                && (!self.nodes.is_alive(from) || !self.is_full(entry))
            {
                self.leave_out(from, why)?;
                continue;
            }
            if let Some(dealing) = &mut self.dealing {
                dealing.given(Piece::Range(entry, range), Instant::now());
            }
            let file = match (self.ranged.get(&entry).cloned(), buffer) {
                (Some(Ranged::File(file)), _) => file,
                (Some(Ranged::Upload(upload)), Some(buffer)) => {
                    match outcome {
                        Ok(hash) => {
                            self.telling.placed_bytes += hole_bytes;
                            self.pool.give(Job::Put { entry, upload, index: range, hash, buffer });
                        }
                        Err(why) => self.on_bad_range(entry, &why)?,
                    }
                    continue;
                }
                _ => continue,
            };
            if outcome.is_ok() {
                self.whole_hashes.came(entry, from);
            }
            let held = outcome.and_then(|hash| file.hold(range, hash).map_err(|cause| Fault::writing(&cause).why));
            self.telling.placed_bytes += held.as_ref().map_or(0, |_| hole_bytes);
            match held {
                Ok(true) => self.keep(entry, file)?,
                Ok(false) if file.wants_writing() => self.pool.give(Job::Write { entry, file }),
                Ok(false) => {}
                Err(why) => self.on_bad_range(entry, &why)?,
            }
        }
        Ok(())
    }

    /// A bundle has come; what was not asked for may hold files that are not wanted.
    fn on_bundle(&mut self, bundle: Arc<CountedMemory>, is_asked: bool) -> Result<(), CopyError> {
        let items = bundle::read(bundle.bytes()).ok_or_else(|| protocol("a bundle is damaged"))?;
        let mut files = Vec::new();
        for (entry, _) in &items {
            let pending = self.pending.remove(entry);
            match &mut self.dealing {
                Some(dealing) => dealing.given(Piece::File(*entry), Instant::now()),
                None if pending.is_none() && is_asked => {
                    return Err(protocol("a bundle holds a file that is not wanted"));
                }
                None => {}
            }
            // Another node may have given it meanwhile.
            files.push(pending.map(|pending| (*entry, pending)));
        }
        self.pool.give(Job::Place { bundle, files });
        Ok(())
    }

    fn on_bad_range(&mut self, entry: u64, why: &str) -> Result<(), CopyError> {
        if !self.session.is_alive() {
            return Err(SessionError::Ended(self.session.why_ended().unwrap_or_default()).into());
        }
        let is_full = self.is_full(entry);
        let Some(pending) = self.drop_pending(entry) else { return Ok(()) };
        if is_full {
            return Err(self.full(&pending));
        }
        self.telling.fail(Some(entry), &pending.path(), why)
    }

    /// There was no room for a file that comes in ranges.
    fn is_full(&self, entry: u64) -> bool {
        matches!(self.ranged.get(&entry), Some(Ranged::File(file)) if file.is_full())
    }

    fn full(&self, pending: &Pending) -> CopyError {
        let lack = if matches!(&self.ground, Some(Ground::Folder(base)) if has_no_inodes(base)) {
            "the disk at the destination has no inodes left, and takes no further file whatever room there is (df -i)"
        } else {
            "the disk (or quota) at the destination is full"
        };
        CopyError::Here(format!(
            "{}: {lack}; what has been copied is kept: make room, and the same command goes on from there",
            self.telling.called(&pending.path())
        ))
    }

    /// Nothing more of a file is wanted; what there is of it stays under its partial name.
    pub(super) fn drop_pending(&mut self, entry: u64) -> Option<Pending> {
        self.ranged.remove(&entry);
        self.comparing.drop(entry);
        self.whole_hashes.drop(entry);
        self.no_more_of(entry);
        if let Some(dealing) = &mut self.dealing {
            dealing.forget(entry, Instant::now());
        }
        self.pending.remove(&entry)
    }

    pub(super) fn on_done(&mut self, done: Done) -> Result<(), CopyError> {
        match done {
            Done::Opened { entry, found } => self.on_opened(entry, found),
            Done::Placed { bytes, files } => {
                self.arriving.placed(bytes);
                for (entry, pending, outcome) in files {
                    self.no_more_of(entry);
                    match outcome {
                        Ok((bytes, hash)) => {
                            self.telling.placed_bytes += bytes;
                            self.on_kept(&pending, bytes, &hash)?;
                        }
                        Err(fault) => self.on_fault(entry, &pending, &fault)?,
                    }
                }
                Ok(())
            }
            Done::Written { entry, outcome } => match (outcome, self.pending.get(&entry).cloned()) {
                (Err(fault), Some(pending)) => {
                    self.drop_pending(entry);
                    self.on_fault(entry, &pending, &fault)
                }
                _ => Ok(()),
            },
            Done::Begun { entry, upload } => self.on_begun(entry, upload),
            Done::Put { whole: Ok(None), .. } => Ok(()),
            Done::Put { entry, whole: Ok(Some(hash)) } => {
                self.ranged.remove(&entry);
                self.on_whole(entry, Ok(hash))
            }
            Done::Put { entry, whole: Err(fault) } => match self.drop_pending(entry) {
                Some(pending) => self.on_fault(entry, &pending, &fault),
                None => Ok(()),
            },
            Done::Kept { entry, hash } => self.on_whole(entry, hash),
            Done::Hashed { entry, pending, hash } => match hash {
                // Without a comparison the other end has lost it.
                Ok(hash) if self.wish.alike != Alike::SizeAndTime => match self.comparing.here(entry, hash) {
                    Some(compared) => self.on_compared(entry, compared),
                    None => Ok(()),
                },
                Ok(hash) => self.tell_hash(&pending, &hash),
                Err(fault) => {
                    self.drop_pending(entry);
                    self.on_fault(entry, &pending, &fault)
                }
            },
        }
    }

    /// Files that got their names when the copy was over already.
    pub(super) fn count_late(&mut self) {
        for done in self.pool.end() {
            match done {
                Done::Placed { files, .. } => {
                    let placed = files.into_iter().filter(|(_, pending, _)| !pending.waits);
                    let placed = placed.filter_map(|(.., outcome)| outcome.ok());
                    placed.for_each(|(bytes, _)| self.telling.count_kept(bytes));
                }
                Done::Kept { entry, hash: Ok(_) } | Done::Put { entry, whole: Ok(Some(_)) } => {
                    let kept = self.pending.remove(&entry).filter(|pending| !pending.waits);
                    kept.into_iter().for_each(|pending| self.telling.count_kept(pending.origin.size));
                }
                _ => {}
            }
        }
    }

    /// All ranges of a file are there, and it has its name; or why not.
    fn on_whole(&mut self, entry: u64, hash: Result<RangeHash, Fault>) -> Result<(), CopyError> {
        let Some(pending) = self.pending.remove(&entry) else { return Ok(()) };
        self.nodes.done(entry);
        self.whole_hashes.drop(entry);
        match hash {
            Ok(hash) => {
                self.telling.done(entry);
                self.on_kept(&pending, pending.origin.size, &hash)
            }
            Err(fault) => self.on_fault(entry, &pending, &fault),
        }
    }

    /// A store takes the ranges of a file: all are wanted.
    fn on_begun(&mut self, entry: u64, upload: Result<Arc<Upload>, Fault>) -> Result<(), CopyError> {
        let Some(pending) = self.pending.get(&entry).cloned() else { return Ok(()) };
        match upload {
            Ok(upload) => {
                self.ranged.insert(entry, Ranged::Upload(upload));
                self.telling.say(&Word::Ranges { entry, ranges: vec![(0, count(pending.origin.size))] })
            }
            Err(fault) => {
                self.drop_pending(entry);
                self.on_fault(entry, &pending, &fault)
            }
        }
    }

    /// What is there of a file is known: the rest is wanted.
    fn on_opened(&mut self, entry: u64, found: Result<Found, Fault>) -> Result<(), CopyError> {
        let is_new = self.pending.get(&entry).is_some_and(|pending| !pending.replaces);
        self.room.opened(found.as_ref().ok().filter(|_| is_new).map_or(0, |found| found.file.missing_bytes()));
        let Some(pending) = self.pending.get(&entry).cloned() else { return Ok(()) };
        let found = match found {
            Ok(found) => found,
            Err(fault) => {
                self.drop_pending(entry);
                return self.on_fault(entry, &pending, &fault);
            }
        };
        if found.had_changed {
            // Of what tells no time it is the version that may be another, and not all tell that.
            let has = if pending.origin.mtime.is_untold() { "may have" } else { "has" };
            self.telling.notice(format!(
                "{} {has} changed since it was copied in part: it is copied from its beginning",
                self.telling.called(&pending.path())
            ))?;
        }
        if found.was_elsewhere {
            self.telling.notice(format!(
                "{} was begun from another source, or by an older visapult: it is copied from its beginning",
                self.telling.called(&pending.path())
            ))?;
        }
        let file = Arc::new(found.file);
        let (missing, held) = (file.missing(), file.held_bytes());
        if held > 0 {
            self.telling.notice(format!(
                "{} goes on from {}",
                self.telling.called(&pending.path()),
                crate::report::size(held)
            ))?;
        }
        if missing.is_empty() {
            return self.keep(entry, file);
        }
        self.ranged.insert(entry, Ranged::File(file));
        if let Some(dealing) = &mut self.dealing {
            dealing.want_ranges(entry, &missing);
            return Ok(());
        }
        for ranges in missing.chunks(1000) {
            self.telling.say(&Word::Ranges { entry, ranges: ranges.to_vec() })?;
        }
        Ok(())
    }

    fn on_kept(&mut self, pending: &Pending, bytes: u64, hash: &RangeHash) -> Result<(), CopyError> {
        if pending.waits {
            self.waiting.add(pending, bytes, hash);
            return Ok(());
        }
        self.on_named(pending, bytes, hash)
    }

    /// A file has its name.
    pub(super) fn on_named(&mut self, pending: &Pending, bytes: u64, hash: &RangeHash) -> Result<(), CopyError> {
        self.telling.count_kept(bytes);
        if self.wish.hashes { self.tell_hash(pending, hash) } else { Ok(()) }
    }

    pub(super) fn tell_hash(&mut self, pending: &Pending, hash: &RangeHash) -> Result<(), CopyError> {
        let path = self.telling.stand_ins.resolved(&pending.path());
        self.telling.hash(self.tree.below_destination(&path), hash)
    }

    pub(super) fn on_fault(&mut self, entry: u64, pending: &Pending, fault: &Fault) -> Result<(), CopyError> {
        if fault.is_full {
            return Err(self.full(pending));
        }
        self.telling.fail(Some(entry), &pending.path(), &fault.why)
    }
}
