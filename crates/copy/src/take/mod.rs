//! The taking end: looks what is there, says what it wants, and puts it in its place.

mod arriving;
mod comparing;
mod pool;
mod telling;
mod tree;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use cap_std::fs::Dir;
use visapult_ripp_net::{Arrival, Offer, Session, SessionError};

use self::arriving::{Arriving, RangeOver};
use self::comparing::{Compared, Comparing};
use self::pool::{Done, Fault, Job, Pending, Pool};
use self::telling::Telling;
use self::tree::{Tree, Unplaced, Verdict};
use crate::bundle::{self, cut};
use crate::error::{CopyError, reason};
use crate::give::is_ranged;
use crate::landing::Landing;
use crate::listing;
use crate::names::{printable, shown};
use crate::partial::{Found, RangedFile};
use crate::ranges::{RangeHash, RangeName};
use crate::report::{Event, Limit, Tally};
use crate::words::{Alike, Delete, MOST_WHY, Wish, Word};

/// No further listing is looked at while so many files are wanted.
const MOST_PENDING: usize = 32 << 10;
const POLL: Duration = Duration::from_millis(5);

/// What came of taking.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    pub(crate) tally: Tally,
    /// Bytes of content that arrived.
    pub(crate) arrived: u64,
}

/// Takes what the other end of `session` gives, until it is all there.
///
/// # Errors
/// If it could not go on; what has arrived by then is in `taken`, and kept.
pub(crate) fn take(
    session: &Session,
    landing: Option<Landing>,
    wish: Wish,
    stop: &AtomicBool,
    taken: &mut Taken,
    watch: &mut dyn FnMut(Event),
) -> Result<(), CopyError> {
    let base = landing.as_ref().map(|landing| landing.dir.try_clone().map(Arc::new)).transpose();
    let base = base.map_err(|cause| CopyError::Here(format!("the destination cannot be opened: {cause}")))?;
    thread::scope(|scope| {
        let mut taking = Taking {
            session,
            stop,
            wish,
            telling: Telling::new(session, watch),
            tree: Tree::new(base.as_ref(), landing.as_ref(), wish),
            pool: Pool::start(scope, base.as_ref()),
            base: base.clone(),
            entries: 0,
            listed: None,
            is_partial: false,
            arriving: Arriving::default(),
            pending: HashMap::new(),
            comparing: Comparing::default(),
            ranged: HashMap::new(),
        };
        let outcome = taking.run();
        *taken = Taken { tally: taking.telling.tally, arrived: taking.arriving.bytes() };
        if let Err(CopyError::Here(why) | CopyError::Protocol(why)) = &outcome {
            // It is told why, if it still listens.
            let _ = taking.telling.say(&Word::Refused { why: cut(why, MOST_WHY).to_owned() });
        }
        outcome
    })
}

struct Taking<'a> {
    session: &'a Session,
    stop: &'a AtomicBool,
    wish: Wish,
    telling: Telling<'a>,
    tree: Tree,
    pool: Pool,
    base: Option<Arc<Dir>>,
    /// Entries looked at, and all there are.
    entries: u64,
    listed: Option<u64>,
    /// Not all of the sources could be listed.
    is_partial: bool,
    arriving: Arriving,
    /// Files that are wanted and not in their place.
    pending: HashMap<u64, Pending>,
    /// Those that may be the same.
    comparing: Comparing,
    /// Those that come in ranges.
    ranged: HashMap<u64, Arc<RangedFile>>,
}

/// What is said of a file that is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Nothing,
    Wanted,
    Compare,
}

impl Taking<'_> {
    fn run(&mut self) -> Result<(), CopyError> {
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(CopyError::Stopped);
            }
            self.hear()?;
            self.look()?;
            self.arriving.make_room();
            self.settle()?;
            while let Some(done) = self.pool.take() {
                self.on_done(done)?;
            }
            self.telling.tell_same()?;
            if self.is_over() {
                self.finish()?;
                return Ok(());
            }
            if self.telling.is_due() {
                self.tell()?;
            }
        }
    }

    fn is_over(&self) -> bool {
        self.listed == Some(self.entries) && self.pending.is_empty() && self.pool.is_idle()
    }

    fn finish(&mut self) -> Result<(), CopyError> {
        if let Some(base) = self.base.clone() {
            self.delete(&base)?;
            for unplaced in self.tree.finish(&base) {
                self.telling.fail(None, &unplaced.path, &unplaced.why)?;
            }
        }
        self.tell()?;
        self.telling.say(&Word::Finished(self.telling.tally))
    }

    /// Deletes what the sources do not have, if it is sure that they do not.
    fn delete(&mut self, base: &Dir) -> Result<(), CopyError> {
        let surplus = self.tree.take_surplus();
        if self.wish.delete == Delete::Nothing || surplus.is_empty() {
            return Ok(());
        }
        let Tally { wanted_files, same_files, failed, .. } = self.telling.tally;
        if self.is_partial || (wanted_files + same_files + failed == 0) {
            let why = if self.is_partial { "not all of the sources could be read" } else { "the sources hold no file" };
            return self.telling.notice(format!("nothing is deleted, for {why}"));
        }
        let mut deleted = Vec::new();
        for found in surplus {
            let outcome = found.and_then(|path| {
                let gone = if self.wish.dry_run { Ok(()) } else { tree::delete(base, &path) };
                match gone {
                    Ok(()) => Ok(path),
                    Err(cause) => Err(Unplaced { path, why: format!("cannot be deleted: {}", reason(&cause)) }),
                }
            });
            match outcome {
                Ok(path) => deleted.push(shown(&path)),
                Err(unplaced) => self.telling.fail(None, &unplaced.path, &unplaced.why)?,
            }
        }
        self.telling.deleted(&deleted)
    }

    /// Takes what the other end says and offers; waits a little for it.
    fn hear(&mut self) -> Result<(), CopyError> {
        let mut patience = POLL;
        while let Some(arrival) = self.session.next_arrival(patience)? {
            patience = Duration::ZERO;
            match arrival {
                Arrival::Offer(offer) => self.on_offer(offer)?,
                Arrival::Note(note) => {
                    let word = Word::from_text(&note.text);
                    self.on_word(word.ok_or_else(|| protocol("it said something that is no word"))?)?;
                }
            }
        }
        Ok(())
    }

    fn on_word(&mut self, word: Word) -> Result<(), CopyError> {
        match word {
            Word::Listed { entries } if entries >= self.entries && self.listed.is_none() => self.listed = Some(entries),
            Word::Listed { .. } => return Err(protocol("it cannot count its entries")),
            Word::Missing { entry, why } => {
                if let Some(pending) = self.drop_pending(entry) {
                    self.telling.fail(Some(entry), &pending.path(), &printable(why.as_bytes()))?;
                }
            }
            Word::Unlisted { path, why, failed } => {
                let (path, why) = (printable(path.as_bytes()), printable(why.as_bytes()));
                if failed {
                    self.is_partial = true;
                    self.telling.fail(None, Path::new(&path), &why)?;
                } else {
                    self.telling.left_out(path, why)?;
                }
            }
            Word::Contents { files } => {
                for (entry, hash) in files {
                    let hash = blake3::Hash::from_hex(&hash).map_err(|_| protocol("it told a hash that is none"))?;
                    if let Some(compared) = self.comparing.there(entry, *hash.as_bytes()) {
                        self.on_compared(entry, compared)?;
                    }
                }
            }
            Word::Limit { by } => {
                let known = [Limit::SourceDisk, Limit::Network, Limit::SinkDisk, Limit::Rate, Limit::Sender];
                self.telling.limit = known.into_iter().find(|limit| limit.to_string() == by);
            }
            Word::Refused { why } => return Err(CopyError::Refused(printable(why.as_bytes()))),
            _ => {}
        }
        Ok(())
    }

    fn on_offer(&mut self, offer: Offer) -> Result<(), CopyError> {
        let name = offer.name.clone();
        if let Some(number) = name.strip_prefix("l ") {
            self.arriving.accept_listing(offer, number)
        } else if name == "b" {
            self.arriving.accept_bundle(offer)
        } else if let Some(name) = RangeName::from_text(&name) {
            self.arriving.accept_range(offer, &name, self.ranged.get(&name.entry));
            Ok(())
        } else {
            Err(protocol("it offers something unknown"))
        }
    }

    /// Looks at the next listings that are whole.
    fn look(&mut self) -> Result<(), CopyError> {
        while self.pending.len() < MOST_PENDING
            && let Some(memory) = self.arriving.take_listing()?
        {
            let (mut wanted, mut alike) = (Vec::new(), Vec::new());
            for entry in listing::read(memory.bytes()).map_err(|cause| CopyError::Protocol(cause.to_string()))? {
                let number = self.entries;
                self.entries += 1;
                let verdict = self.tree.take(entry).ok_or_else(|| protocol("its entries do not follow one another"))?;
                match verdict {
                    Ok(verdict) => {
                        let files = match self.on_verdict(number, verdict) {
                            Answer::Nothing => continue,
                            Answer::Wanted => &mut wanted,
                            Answer::Compare => &mut alike,
                        };
                        match files.last_mut() {
                            Some((first, count)) if *first + *count == number => *count += 1,
                            _ => files.push((number, 1)),
                        }
                    }
                    Err(unplaced) => self.telling.fail(None, &unplaced.path, &unplaced.why)?,
                }
            }
            if !alike.is_empty() {
                self.telling.say(&Word::Compare { files: alike })?;
            }
            self.telling.say(&Word::Wants { upto: self.entries, files: wanted })?;
        }
        Ok(())
    }

    fn on_verdict(&mut self, entry: u64, verdict: Verdict) -> Answer {
        match verdict {
            Verdict::Folder { path, is_new } => {
                self.telling.tally.folders += u64::from(is_new);
                self.tell_differs(is_new, &path, "is not there");
            }
            Verdict::Link { path, is_new } => {
                self.telling.tally.links += u64::from(is_new);
                self.tell_differs(is_new, &path, "is another link, or not there");
            }
            Verdict::Same { pending, .. } | Verdict::Wanted { pending, .. } if self.is_told_hashes() => {
                self.comparing.begin(entry, false, true);
                self.pending.insert(entry, pending);
                return Answer::Compare;
            }
            Verdict::Same { pending, has_holes } if self.wish.alike != Alike::SizeAndTime => {
                self.comparing.begin(entry, has_holes, false);
                self.pending.insert(entry, pending.clone());
                self.pool.give(Job::Hash { entry, pending });
                return Answer::Compare;
            }
            Verdict::Same { pending, .. } => {
                self.telling.count_same(&pending);
                if self.wish.hashes {
                    self.pool.give(Job::Hash { entry, pending });
                }
            }
            Verdict::Wanted { pending, has_holes } => return self.want(entry, pending, has_holes),
        }
        Answer::Nothing
    }

    /// Only the hashes of the sources are asked for.
    const fn is_told_hashes(&self) -> bool {
        self.wish.dry_run && self.wish.hashes
    }

    fn tell_differs(&mut self, differs: bool, path: &Path, how: &str) {
        if differs && self.wish.dry_run {
            self.telling.differs(path, how);
        }
    }

    fn want(&mut self, entry: u64, pending: Pending, has_holes: bool) -> Answer {
        self.telling.count_wanted(&pending);
        if self.wish.dry_run {
            let how = if pending.replaces { "differs" } else { "is not there" };
            self.tell_differs(true, &pending.path(), how);
            return Answer::Nothing;
        }
        if is_ranged(pending.origin.size, has_holes) {
            let job = Job::Open { entry, pending: pending.clone(), anew: self.wish.anew };
            self.pool.give(job);
        }
        self.pending.insert(entry, pending);
        Answer::Wanted
    }

    fn on_compared(&mut self, entry: u64, compared: Compared) -> Result<(), CopyError> {
        let Some(pending) = self.pending.remove(&entry) else { return Ok(()) };
        if compared.is_same {
            self.telling.count_same(&pending);
            self.telling.same(entry);
            return if self.wish.hashes { self.tell_hash(&pending, &compared.hash) } else { Ok(()) };
        }
        if self.wish.dry_run {
            self.telling.same(entry);
        } else {
            // Before it is said which ranges of it are.
            self.telling.say(&Word::Compared { wanted: vec![entry], same: Vec::new() })?;
        }
        self.want(entry, pending, compared.has_holes);
        Ok(())
    }

    /// Takes what has arrived.
    fn settle(&mut self) -> Result<(), CopyError> {
        for memory in self.arriving.take_bundles()? {
            let items = bundle::read(memory.bytes()).ok_or_else(|| protocol("a bundle is damaged"))?;
            let files: Option<Vec<_>> =
                items.iter().map(|(entry, _)| Some((*entry, self.pending.remove(entry)?))).collect();
            let files = files.ok_or_else(|| protocol("a bundle holds a file that is not wanted"))?;
            self.pool.give(Job::Place { bundle: memory, files });
        }
        for RangeOver { entry, range, outcome } in self.arriving.take_ranges() {
            let Some(file) = self.ranged.get(&entry).cloned() else { continue };
            let held = outcome.and_then(|hash| file.hold(range, hash).map_err(|cause| Fault::writing(&cause).why));
            match held {
                Ok(true) => {
                    self.ranged.remove(&entry);
                    self.pool.give(Job::Keep { entry, file });
                }
                Ok(false) => {}
                Err(why) => self.on_bad_range(entry, &why)?,
            }
        }
        Ok(())
    }

    fn on_bad_range(&mut self, entry: u64, why: &str) -> Result<(), CopyError> {
        if !self.session.is_alive() {
            return Err(SessionError::Ended(self.session.why_ended().unwrap_or_default()).into());
        }
        let Some(pending) = self.drop_pending(entry) else { return Ok(()) };
        if why.contains("os error 28") || why.contains("os error 122") {
            return Err(self.full(&pending));
        }
        self.telling.fail(Some(entry), &pending.path(), why)
    }

    fn full(&self, pending: &Pending) -> CopyError {
        CopyError::Here(format!(
            "{}: the disk (or quota) at the destination is full; what has been copied is kept: make room, and the same command goes on from there",
            shown(&pending.path())
        ))
    }

    /// Nothing more of a file is wanted; what there is of it stays under its partial name.
    fn drop_pending(&mut self, entry: u64) -> Option<Pending> {
        self.ranged.remove(&entry);
        self.comparing.drop(entry);
        self.pending.remove(&entry)
    }

    fn on_done(&mut self, done: Done) -> Result<(), CopyError> {
        match done {
            Done::Opened { entry, found } => self.on_opened(entry, found),
            Done::Placed { bytes, files } => {
                self.arriving.placed(bytes);
                for (entry, pending, outcome) in files {
                    match outcome {
                        Ok((bytes, hash)) => self.on_kept(&pending, bytes, &hash)?,
                        Err(fault) => self.on_fault(entry, &pending, &fault)?,
                    }
                }
                Ok(())
            }
            Done::Kept { entry, hash } => {
                let Some(pending) = self.pending.remove(&entry) else { return Ok(()) };
                match hash {
                    Ok(hash) => {
                        self.telling.done(entry);
                        self.on_kept(&pending, pending.origin.size, &hash)
                    }
                    Err(fault) => self.on_fault(entry, &pending, &fault),
                }
            }
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

    /// What is there of a file is known: the rest is wanted.
    fn on_opened(&mut self, entry: u64, found: Result<Found, Fault>) -> Result<(), CopyError> {
        let Some(pending) = self.pending.get(&entry).cloned() else { return Ok(()) };
        let found = match found {
            Ok(found) => found,
            Err(fault) => {
                self.drop_pending(entry);
                return self.on_fault(entry, &pending, &fault);
            }
        };
        if found.had_changed {
            self.telling.notice(format!(
                "{} has changed since it was copied in part: it is copied from its beginning",
                shown(&pending.path())
            ))?;
        }
        let file = Arc::new(found.file);
        let (missing, held) = (file.missing(), file.held_bytes());
        if held > 0 {
            self.telling.tally.resumed_bytes += held;
            self.telling.notice(format!("{} goes on from {}", shown(&pending.path()), crate::report::size(held)))?;
        }
        if missing.is_empty() {
            self.pool.give(Job::Keep { entry, file });
            return Ok(());
        }
        self.ranged.insert(entry, file);
        for ranges in missing.chunks(1000) {
            self.telling.say(&Word::Ranges { entry, ranges: ranges.to_vec() })?;
        }
        Ok(())
    }

    fn on_kept(&mut self, pending: &Pending, bytes: u64, hash: &RangeHash) -> Result<(), CopyError> {
        self.telling.count_kept(bytes);
        if self.wish.hashes { self.tell_hash(pending, hash) } else { Ok(()) }
    }

    fn tell_hash(&mut self, pending: &Pending, hash: &RangeHash) -> Result<(), CopyError> {
        let path = pending.path();
        self.telling.hash(self.tree.below_destination(&path), hash)
    }

    fn on_fault(&mut self, entry: u64, pending: &Pending, fault: &Fault) -> Result<(), CopyError> {
        if fault.is_full {
            return Err(self.full(pending));
        }
        self.telling.fail(Some(entry), &pending.path(), &fault.why)
    }

    fn tell(&mut self) -> Result<(), CopyError> {
        self.telling.tell(self.listed == Some(self.entries), self.arriving.bytes())
    }
}

fn protocol(why: &str) -> CopyError {
    CopyError::Protocol(why.to_owned())
}
