//! The taking end: looks what is there, says what it wants, and puts it in its place. What is counted is counted here.

mod pool;
mod tree;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cap_std::fs::Dir;
use visapult_ripp_net::{Arrival, Incoming, Offer, Session, SessionError};

use self::pool::{Done, Fault, Job, Pending, Pool};
use self::tree::{Tree, Unplaced, Verdict};
use crate::bundle::{self, MOST_BUNDLE, cut};
use crate::error::{CopyError, reason};
use crate::give::is_ranged;
use crate::landing::Landing;
use crate::listing::{self, MOST_LISTING};
use crate::names::{printable, shown};
use crate::partial::{CountedMemory, Found, RangeSink, RangedFile};
use crate::ranges::{RangeHash, RangeName};
use crate::report::{Event, Limit, Progress, Tally};
use crate::words::{Alike, Delete, MOST_WHY, Wish, Word, escaped};

/// Listings that are received at one time, at most.
const MOST_LISTINGS: usize = 8;
/// No further listing is looked at while so many files are wanted.
const MOST_PENDING: usize = 32 << 10;
/// Bytes of bundles in memory; others wait at the other end.
const MOST_BUNDLES: u64 = 64 << 20;
/// Files in one note; and bytes of hashes and paths, after which a note is full enough.
const DONE: usize = 2000;
const HASHES_LEN: usize = 40_000;
/// Paths that were deleted, in one note.
const DELETED: usize = 10;
/// Why a range did not come that its file's failure made needless.
const CANCELLED: &str = "cancelled by the sender";
const POLL: Duration = Duration::from_millis(5);
const TELL_EVERY: Duration = Duration::from_millis(200);

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
            watch,
            wish,
            tree: Tree::new(base.as_ref(), landing.as_ref(), wish),
            pool: Pool::start(scope, base.as_ref()),
            base: base.clone(),
            lists: BTreeMap::new(),
            next_list: 0,
            entries: 0,
            listed: None,
            offers: VecDeque::new(),
            pending: HashMap::new(),
            comparing: HashMap::new(),
            compared_same: Vec::new(),
            is_partial: false,
            ranged: HashMap::new(),
            bundles: Vec::new(),
            bundle_bytes: 0,
            ranges: Vec::new(),
            done: Vec::new(),
            hashes: Vec::new(),
            hashes_len: 0,
            arrived: Arc::default(),
            tally: Tally::default(),
            limit: None,
            began: Instant::now(),
            told_at: Instant::now(),
        };
        let outcome = taking.run();
        *taken = Taken { tally: taking.tally, arrived: taking.arrived.load(Ordering::Relaxed) };
        if let Err(CopyError::Here(why) | CopyError::Protocol(why)) = &outcome {
            // It is told why, if it still listens.
            let _ = taking.say(&Word::Refused { why: cut(why, MOST_WHY).to_owned() });
        }
        outcome
    })
}

struct Taking<'a> {
    session: &'a Session,
    stop: &'a AtomicBool,
    watch: &'a mut dyn FnMut(Event),
    wish: Wish,
    tree: Tree,
    pool: Pool,
    base: Option<Arc<Dir>>,
    /// Listings that are arriving, by their numbers.
    lists: BTreeMap<u64, (Incoming, Arc<CountedMemory>)>,
    next_list: u64,
    /// Entries looked at, and all there are.
    entries: u64,
    listed: Option<u64>,
    /// Bundles that there is no room for yet.
    offers: VecDeque<Offer>,
    /// Files that are wanted and not in their place.
    pending: HashMap<u64, Pending>,
    /// Those that may be the same; and those that are, of which the other end has not been told.
    comparing: HashMap<u64, Comparing>,
    compared_same: Vec<u64>,
    /// Not all of the sources could be listed.
    is_partial: bool,
    /// Those that come in ranges.
    ranged: HashMap<u64, Arc<RangedFile>>,
    bundles: Vec<(Incoming, Arc<CountedMemory>)>,
    /// Bytes of bundles that arrive or are being placed.
    bundle_bytes: u64,
    ranges: Vec<(Incoming, u64, u64)>,
    /// Files that the other end has not been told of.
    done: Vec<u64>,
    /// And their hashes, with so many bytes of text.
    hashes: Vec<(String, String)>,
    hashes_len: usize,
    arrived: Arc<AtomicU64>,
    tally: Tally,
    limit: Option<Limit>,
    began: Instant,
    told_at: Instant,
}

/// A file that may be the same: hashes, as far as they are known.
#[derive(Debug, Default)]
struct Comparing {
    has_holes: bool,
    here: Option<RangeHash>,
    there: Option<RangeHash>,
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
            self.make_room();
            self.settle()?;
            while let Some(done) = self.pool.take() {
                self.on_done(done)?;
            }
            self.tell_compared()?;
            if self.is_over() {
                self.finish()?;
                return Ok(());
            }
            if self.told_at.elapsed() > TELL_EVERY {
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
                self.fail(None, &unplaced.path, &unplaced.why)?;
            }
        }
        self.tell()?;
        self.say(&Word::Finished(self.tally))
    }

    /// Deletes what the sources do not have, if it is sure that they do not.
    fn delete(&mut self, base: &Dir) -> Result<(), CopyError> {
        let surplus = self.tree.take_surplus();
        if self.wish.delete == Delete::Nothing || surplus.is_empty() {
            return Ok(());
        }
        let Tally { wanted_files, same_files, failed, .. } = self.tally;
        if self.is_partial || (wanted_files + same_files + failed == 0) {
            let why = if self.is_partial { "not all of the sources could be read" } else { "the sources hold no file" };
            return self.notice(format!("nothing is deleted, for {why}"));
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
                Err(unplaced) => self.fail(None, &unplaced.path, &unplaced.why)?,
            }
        }
        self.tally.deleted += deleted.len() as u64;
        for paths in deleted.chunks(DELETED) {
            self.say(&Word::Deleted { paths: paths.to_vec() })?;
        }
        deleted.into_iter().for_each(|path| (self.watch)(Event::Deleted(path)));
        Ok(())
    }

    fn say(&self, word: &Word) -> Result<(), CopyError> {
        Ok(self.session.note(&word.to_text())?)
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
                    self.fail(Some(entry), &pending.path(), &printable(why.as_bytes()))?;
                }
            }
            Word::Unlisted { path, why, failed } => {
                let (path, why) = (printable(path.as_bytes()), printable(why.as_bytes()));
                if failed {
                    self.is_partial = true;
                    self.fail(None, Path::new(&path), &why)?;
                } else {
                    self.tally.left_out += 1;
                    self.say(&Word::LeftOut { path: path.clone(), why: why.clone() })?;
                    (self.watch)(Event::LeftOut { path, why });
                }
            }
            Word::Contents { files } => {
                for (entry, hash) in files {
                    let hash = blake3::Hash::from_hex(&hash).map_err(|_| protocol("it told a hash that is none"))?;
                    if let Some(comparing) = self.comparing.get_mut(&entry) {
                        comparing.there = Some(*hash.as_bytes());
                        self.compare(entry)?;
                    }
                }
            }
            Word::Limit { by } => {
                let known = [Limit::SourceDisk, Limit::Network, Limit::SinkDisk, Limit::Rate, Limit::Sender];
                self.limit = known.into_iter().find(|limit| limit.to_string() == by);
            }
            Word::Refused { why } => return Err(CopyError::Refused(printable(why.as_bytes()))),
            _ => {}
        }
        Ok(())
    }

    fn on_offer(&mut self, offer: Offer) -> Result<(), CopyError> {
        if let Some(number) = offer.name.strip_prefix("l ") {
            let number =
                number.parse().ok().filter(|&number| number >= self.next_list && !self.lists.contains_key(&number));
            let number = number.filter(|_| self.lists.len() < MOST_LISTINGS && offer.length <= MOST_LISTING);
            let number = number.ok_or_else(|| protocol("it offers listings out of turn"))?;
            // Listings are no content.
            let memory = self.memory(offer.length, &Arc::default())?;
            self.lists.insert(number, (offer.accept(Arc::clone(&memory) as _), memory));
        } else if offer.name == "b" && offer.length <= MOST_BUNDLE {
            self.offers.push_back(offer);
        } else if let Some(name) = RangeName::from_text(&offer.name) {
            self.on_range(offer, &name);
        } else {
            return Err(protocol("it offers something unknown"));
        }
        Ok(())
    }

    fn memory(&self, length: u64, arrived: &Arc<AtomicU64>) -> Result<Arc<CountedMemory>, CopyError> {
        let memory = CountedMemory::new(length, arrived);
        memory.map(Arc::new).map_err(|cause| CopyError::Here(cause.to_string()))
    }

    /// A range of a file that we want it of, with as many bytes as its name says.
    fn on_range(&mut self, offer: Offer, name: &RangeName) {
        let Some(file) = self.ranged.get(&name.entry) else {
            return offer.refuse("the file is not wanted (any more)");
        };
        let is_coming = self.ranges.iter().any(|(_, entry, range)| (*entry, *range) == (name.entry, name.range));
        let range = file.wants(name.range).filter(|_| !is_coming);
        let extents = range.and_then(|range| name.extents(range.length));
        match (range, extents) {
            (Some(range), Some(extents)) if extents.bytes() == offer.length => {
                let sink = RangeSink { file: Arc::clone(file), range, extents, arrived: Arc::clone(&self.arrived) };
                self.ranges.push((offer.accept(Arc::new(sink)), name.entry, name.range));
            }
            _ => offer.refuse("the range is not wanted, or is not what its name says"),
        }
    }

    /// Accepts bundles as long as there is memory for them.
    fn make_room(&mut self) {
        while let Some(offer) = self.offers.front() {
            if self.bundle_bytes > 0 && self.bundle_bytes + offer.length > MOST_BUNDLES {
                return;
            }
            let Some(offer) = self.offers.pop_front() else { return };
            match CountedMemory::new(offer.length, &self.arrived) {
                Ok(memory) => {
                    let memory = Arc::new(memory);
                    self.bundle_bytes += offer.length;
                    self.bundles.push((offer.accept(Arc::clone(&memory) as _), memory));
                }
                Err(cause) => offer.refuse(&cause.to_string()),
            }
        }
    }

    /// Looks at the next listings that are whole.
    fn look(&mut self) -> Result<(), CopyError> {
        while self.pending.len() < MOST_PENDING
            && self.lists.get(&self.next_list).is_some_and(|(incoming, _)| incoming.is_over())
        {
            let Some((incoming, memory)) = self.lists.remove(&self.next_list) else { return Ok(()) };
            incoming.wait().map_err(|cause| SessionError::Ended(cause.to_string()))?;
            self.next_list += 1;
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
                    Err(unplaced) => self.fail(None, &unplaced.path, &unplaced.why)?,
                }
            }
            if !alike.is_empty() {
                self.say(&Word::Compare { files: alike })?;
            }
            self.say(&Word::Wants { upto: self.entries, files: wanted })?;
        }
        Ok(())
    }

    fn on_verdict(&mut self, entry: u64, verdict: Verdict) -> Answer {
        match verdict {
            Verdict::Folder { path, is_new } => {
                self.tally.folders += u64::from(is_new);
                self.tell_differs(is_new, &path, "is not there");
            }
            Verdict::Link { path, is_new } => {
                self.tally.links += u64::from(is_new);
                self.tell_differs(is_new, &path, "is another link, or not there");
            }
            Verdict::Same { pending, .. } | Verdict::Wanted { pending, .. } if self.is_told_hashes() => {
                self.comparing.insert(entry, Comparing::default());
                self.pending.insert(entry, pending);
                return Answer::Compare;
            }
            Verdict::Same { pending, has_holes } if self.wish.alike != Alike::SizeAndTime => {
                self.comparing.insert(entry, Comparing { has_holes, ..Comparing::default() });
                self.pending.insert(entry, pending.clone());
                self.pool.give(Job::Hash { entry, pending });
                return Answer::Compare;
            }
            Verdict::Same { pending, .. } => {
                self.count_same(&pending);
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
            (self.watch)(Event::Differs { path: shown(path), how: how.to_owned() });
        }
    }

    fn count_same(&mut self, pending: &Pending) {
        self.tally.same_files += 1;
        self.tally.same_bytes += pending.origin.size;
    }

    fn want(&mut self, entry: u64, pending: Pending, has_holes: bool) -> Answer {
        self.tally.wanted_files += 1;
        self.tally.wanted_bytes += pending.origin.size;
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

    /// Decides whether a file that looks the same is, once that can be known.
    fn compare(&mut self, entry: u64) -> Result<(), CopyError> {
        let Some(Comparing { has_holes, here, there: Some(hash) }) = self.comparing.get(&entry) else {
            return Ok(());
        };
        let (hash, has_holes) = (*hash, *has_holes);
        let is_same = match here {
            Some(here) => *here == hash,
            None if self.is_told_hashes() => true,
            None => return Ok(()),
        };
        self.comparing.remove(&entry);
        let Some(pending) = self.pending.remove(&entry) else { return Ok(()) };
        if is_same {
            self.count_same(&pending);
            self.compared_same.push(entry);
            return if self.wish.hashes { self.tell_hash(&pending, &hash) } else { Ok(()) };
        }
        if self.wish.dry_run {
            self.compared_same.push(entry);
        } else {
            // Before it is said which ranges of it are.
            self.say(&Word::Compared { wanted: vec![entry], same: Vec::new() })?;
        }
        self.want(entry, pending, has_holes);
        Ok(())
    }

    fn tell_compared(&mut self) -> Result<(), CopyError> {
        for same in std::mem::take(&mut self.compared_same).chunks(DONE) {
            self.say(&Word::Compared { wanted: Vec::new(), same: same.to_vec() })?;
        }
        Ok(())
    }

    /// Takes what has arrived.
    fn settle(&mut self) -> Result<(), CopyError> {
        for (incoming, memory) in take_over(&mut self.bundles, |(incoming, _)| incoming) {
            incoming.wait().map_err(|cause| SessionError::Ended(cause.to_string()))?;
            let items = bundle::read(memory.bytes()).ok_or_else(|| protocol("a bundle is damaged"))?;
            let files: Option<Vec<_>> =
                items.iter().map(|(entry, _)| Some((*entry, self.pending.remove(entry)?))).collect();
            let files = files.ok_or_else(|| protocol("a bundle holds a file that is not wanted"))?;
            self.pool.give(Job::Place { bundle: memory, files });
        }
        let over = take_over(&mut self.ranges, |(incoming, ..)| incoming).into_iter();
        let mut over: Vec<_> =
            over.map(|(incoming, entry, range)| (incoming.wait().map_err(|cause| cause.why), entry, range)).collect();
        // When a range has failed the other end cancels the rest of its file: the cause comes first.
        over.sort_by_key(|(outcome, ..)| outcome.as_ref().is_err_and(|why| why.contains(CANCELLED)));
        for (outcome, entry, range) in over {
            let Some(file) = self.ranged.get(&entry).cloned() else { continue };
            let held = outcome.and_then(|delivery| {
                let hash = delivery.blake3.and_then(|hash| blake3::Hash::from_hex(hash).ok());
                let hash = hash.ok_or_else(|| "it came without a hash".to_owned())?;
                file.hold(range, *hash.as_bytes()).map_err(|cause| Fault::writing(&cause).why)
            });
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
        self.fail(Some(entry), &pending.path(), why)
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
        self.comparing.remove(&entry);
        self.pending.remove(&entry)
    }

    fn on_done(&mut self, done: Done) -> Result<(), CopyError> {
        match done {
            Done::Opened { entry, found } => self.on_opened(entry, found),
            Done::Placed { bytes, files } => {
                self.bundle_bytes -= bytes;
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
                        self.done.push(entry);
                        self.on_kept(&pending, pending.origin.size, &hash)
                    }
                    Err(fault) => self.on_fault(entry, &pending, &fault),
                }
            }
            Done::Hashed { entry, pending, hash } => match hash {
                Ok(hash) => match self.comparing.get_mut(&entry) {
                    Some(comparing) => {
                        comparing.here = Some(hash);
                        self.compare(entry)
                    }
                    // It was to be compared, and the other end has lost it.
                    None if self.wish.alike != Alike::SizeAndTime => Ok(()),
                    None => self.tell_hash(&pending, &hash),
                },
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
            self.notice(format!(
                "{} has changed since it was copied in part: it is copied from its beginning",
                shown(&pending.path())
            ))?;
        }
        let file = Arc::new(found.file);
        let (missing, held) = (file.missing(), file.held_bytes());
        if held > 0 {
            self.tally.resumed_bytes += held;
            self.notice(format!("{} goes on from {}", shown(&pending.path()), crate::report::size(held)))?;
        }
        if missing.is_empty() {
            self.pool.give(Job::Keep { entry, file });
            return Ok(());
        }
        self.ranged.insert(entry, file);
        for ranges in missing.chunks(1000) {
            self.say(&Word::Ranges { entry, ranges: ranges.to_vec() })?;
        }
        Ok(())
    }

    fn on_kept(&mut self, pending: &Pending, bytes: u64, hash: &RangeHash) -> Result<(), CopyError> {
        self.tally.files += 1;
        self.tally.bytes += bytes;
        if self.wish.hashes { self.tell_hash(pending, hash) } else { Ok(()) }
    }

    fn tell_hash(&mut self, pending: &Pending, hash: &RangeHash) -> Result<(), CopyError> {
        let hash = blake3::Hash::from_bytes(*hash).to_hex().to_string();
        let path = pending.path();
        let path = self.tree.below_destination(&path).as_os_str().as_bytes().to_vec();
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

    fn on_fault(&mut self, entry: u64, pending: &Pending, fault: &Fault) -> Result<(), CopyError> {
        if fault.is_full {
            return Err(self.full(pending));
        }
        self.fail(Some(entry), &pending.path(), &fault.why)
    }

    fn fail(&mut self, entry: Option<u64>, path: &Path, why: &str) -> Result<(), CopyError> {
        self.tally.failed += 1;
        let (path, why) = (shown(path), cut(why, MOST_WHY).to_owned());
        self.say(&Word::Failed { entry, path: path.clone(), why: why.clone() })?;
        (self.watch)(Event::Failed { path, why });
        Ok(())
    }

    fn notice(&mut self, text: String) -> Result<(), CopyError> {
        self.say(&Word::Notice { text: text.clone() })?;
        (self.watch)(Event::Notice(text));
        Ok(())
    }

    fn tell_done(&mut self) -> Result<(), CopyError> {
        for files in std::mem::take(&mut self.done).chunks(DONE) {
            self.say(&Word::Done { files: files.to_vec() })?;
        }
        self.tell_hashes()
    }

    fn tell(&mut self) -> Result<(), CopyError> {
        self.told_at = Instant::now();
        self.tell_done()?;
        self.say(&Word::Tally(self.tally))?;
        (self.watch)(Event::Progress(Progress {
            tally: self.tally,
            is_listed: self.listed == Some(self.entries),
            arrived: self.arrived.load(Ordering::Relaxed),
            elapsed: self.began.elapsed(),
            limit: self.limit,
        }));
        Ok(())
    }
}

fn protocol(why: &str) -> CopyError {
    CopyError::Protocol(why.to_owned())
}

/// Takes those out whose object is over.
fn take_over<T>(all: &mut Vec<T>, incoming: impl Fn(&T) -> &Incoming) -> Vec<T> {
    all.extract_if(.., |one| incoming(one).is_over()).collect()
}
