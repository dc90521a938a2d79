//! The taking end: looks what is there, says what it wants, and puts it in its place.

mod arriving;
mod comparing;
mod dealing;
mod nodes;
mod pool;
mod shelving;
mod telling;
mod tree;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cap_std::fs::Dir;
use visapult_ripp_net::{Arrival, Offer, Session, SessionError};

use self::arriving::{Arriving, BundleOver, RangeOver, Ranged};
use self::comparing::{Compared, Comparing};
use self::dealing::{Dealing, FIRST, NodeId, Piece};
use self::nodes::{Heard, Nodes};
use self::pool::{Done, Fault, Job, Pending, Pool};
use self::telling::{FILES, Telling};
use self::tree::{Tree, Unplaced, Verdict};
use crate::bundle::{self, cut};
use crate::error::{CopyError, reason};
use crate::give::is_ranged;
use crate::landing::{Ground, Landing};
use crate::listing;
use crate::names::{printable, shown};
use crate::objects::Upload;
use crate::partial::{CountedMemory, Found};
use crate::ranges::{RangeHash, RangeName, count};
use crate::report::{Event, Limit, Tally};
use crate::stripes::Striped;
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

/// Takes what the other end of `session` gives, until it is all there; of a share that is `striped` from its other nodes, too.
///
/// # Errors
/// If it could not go on; what has arrived by then is in `taken`, and kept.
pub(crate) fn take(
    session: &Session,
    striped: Option<&Striped<'_>>,
    landing: Option<Landing>,
    wish: Wish,
    stop: &AtomicBool,
    taken: &mut Taken,
    watch: &mut dyn FnMut(Event),
) -> Result<(), CopyError> {
    let ground = landing.as_ref().map(|landing| landing.ground.clone());
    let outcome = thread::scope(|scope| {
        let mut taking = Taking {
            session,
            stop,
            wish,
            telling: Telling::new(session, watch),
            tree: Tree::new(landing.as_ref(), wish),
            pool: Pool::start(scope, ground.as_ref(), !wish.unsynced),
            ground: ground.clone(),
            links: 0,
            entries: 0,
            listed: None,
            is_partial: false,
            arriving: Arriving::default(),
            pending: HashMap::new(),
            comparing: Comparing::default(),
            ranged: HashMap::new(),
            // A bucket is written by one, which asks one.
            nodes: Nodes::new(striped.filter(|_| !wish.dry_run && !matches!(ground, Some(Ground::Shelf(_))))),
            dealing: None,
        };
        let outcome = taking.run();
        *taken = Taken { tally: taking.telling.tally, arrived: taking.arriving.bytes() };
        if let Err(CopyError::Here(why) | CopyError::Protocol(why)) = &outcome {
            // It is told why, if it still listens.
            let _ = taking.telling.say(&Word::Refused { why: cut(why, MOST_WHY).to_owned() });
        }
        outcome
    });
    if let Some(Ground::Shelf(shelf)) = &ground {
        shelf.abandon();
    }
    outcome
}

struct Taking<'a> {
    session: &'a Session,
    stop: &'a AtomicBool,
    wish: Wish,
    telling: Telling<'a>,
    tree: Tree,
    pool: Pool,
    ground: Option<Ground>,
    /// Links that a store does not hold.
    links: u64,
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
    ranged: HashMap<u64, Ranged>,
    /// The further nodes of a striped share; and who gives what, if it is one.
    nodes: Nodes<'a>,
    dealing: Option<Dealing>,
}

/// What is said of a file that is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Nothing,
    Wanted,
    /// Wanted of whoever has the least to do.
    Later,
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
            self.hear_nodes()?;
            self.deal()?;
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
        if self.links > 0 {
            let links = crate::report::counted(self.links, "link");
            self.telling.notice(format!("{links} left out: object stores hold none"))?;
        }
        if let Some(Ground::Folder(base)) = self.ground.clone() {
            self.delete(&base)?;
            for unplaced in self.tree.finish(&base) {
                self.telling.fail(None, &unplaced.path, &unplaced.why)?;
            }
        }
        self.tell()?;
        self.nodes.finish();
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
                Arrival::Offer(offer) => self.on_offer(offer, FIRST)?,
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
            Word::Nodes { urls } if self.entries == 0 && self.nodes.dial(&urls) => {
                self.dealing = Some(Dealing::new(Instant::now()));
            }
            Word::Listed { entries } if entries >= self.entries && self.listed.is_none() => {
                self.listed = Some(entries);
                self.nodes.know_all(entries);
            }
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
            Word::Notice { text } => self.telling.pass_on(&text),
            Word::Refused { why } => return Err(CopyError::Refused(printable(why.as_bytes()))),
            _ => {}
        }
        Ok(())
    }

    fn on_offer(&mut self, offer: Offer, from: NodeId) -> Result<(), CopyError> {
        let name = offer.name.clone();
        if let Some(number) = name.strip_prefix("l ") {
            self.arriving.listings.accept(offer, number)
        } else if name == "b" {
            self.arriving.accept_bundle(offer, from)
        } else if let Some(name) = RangeName::from_text(&name) {
            let file = self.ranged.get(&name.entry);
            self.arriving.accept_range(offer, name, file, from);
            Ok(())
        } else {
            Err(protocol("it offers something unknown"))
        }
    }

    /// Looks at the next listings that are whole.
    fn look(&mut self) -> Result<(), CopyError> {
        while self.pending.len() < MOST_PENDING
            && let Some(memory) = self.arriving.listings.take()?
        {
            let (mut wanted, mut later, mut alike) = (Vec::new(), Vec::new(), Vec::new());
            for entry in listing::read(memory.bytes()).map_err(|cause| CopyError::Protocol(cause.to_string()))? {
                let number = self.entries;
                if self.dealing.is_some() {
                    self.nodes.know(&entry);
                }
                self.entries += 1;
                let verdict = self.tree.take(entry).ok_or_else(|| protocol("its entries do not follow one another"))?;
                match verdict {
                    Ok(verdict) => {
                        let files = match self.on_verdict(number, verdict) {
                            Answer::Nothing => continue,
                            Answer::Wanted => &mut wanted,
                            Answer::Later => &mut later,
                            Answer::Compare => &mut alike,
                        };
                        add(files, number);
                    }
                    Err(unplaced) => self.telling.fail(None, &unplaced.path, &unplaced.why)?,
                }
            }
            if !alike.is_empty() {
                self.telling.say(&Word::Compare { files: alike })?;
            }
            self.telling.say(&Word::Wants { upto: self.entries, files: wanted, later })?;
        }
        Ok(())
    }

    /// Takes what the further nodes say and offer.
    fn hear_nodes(&mut self) -> Result<(), CopyError> {
        if self.dealing.is_none() {
            return Ok(());
        }
        while let Some(dialled) = self.nodes.dialled() {
            match (dialled, &mut self.dealing) {
                (Ok((node, name)), Some(dealing)) => {
                    dealing.enter(node, Instant::now());
                    self.telling.notice(format!("{name} gives, too"))?;
                }
                (Err((name, cause)), _) => self.telling.notice(format!("{name} is left out: {cause}"))?,
                (Ok(_), None) => {}
            }
        }
        for heard in self.nodes.hear() {
            match heard {
                Heard::Left(node, why) => self.leave_out(node, &why)?,
                Heard::Offer(node, offer) => {
                    if let Err(cause) = self.on_offer(offer, node) {
                        self.leave_out(node, &cause.to_string())?;
                    }
                }
            }
        }
        let pending = &self.pending;
        for (node, why) in self.nodes.look(|entry| pending.contains_key(&entry)) {
            self.leave_out(node, &why)?;
        }
        Ok(())
    }

    /// A node can give nothing more, or is not to: the others give what it was to.
    fn leave_out(&mut self, node: NodeId, why: &str) -> Result<(), CopyError> {
        let Some(name) = self.nodes.drop(node, why) else { return Ok(()) };
        if let Some(dealing) = &mut self.dealing {
            dealing.leave(node);
        }
        self.telling.notice(format!("{name} is left out: {why}; the others go on with what it was to give"))
    }

    /// Asks each that gives for what it is to give next.
    fn deal(&mut self) -> Result<(), CopyError> {
        let Some(dealing) = &mut self.dealing else { return Ok(()) };
        let (now, nodes) = (Instant::now(), &self.nodes);
        let known = |node| if node == FIRST { u64::MAX } else { nodes.entries(node).unwrap_or(0) };
        let asked = dealing.deal(now, known);
        let straggler = dealing.straggler(now).filter(|_| self.listed == Some(self.entries));
        for (node, pieces) in asked {
            for word in words(&pieces) {
                if node == FIRST {
                    self.telling.say(&word)?;
                } else {
                    self.nodes.say(node, &word);
                }
            }
        }
        straggler.map_or(Ok(()), |node| self.leave_out(node, "the others are done, and it is far behind"))
    }

    /// Nothing more of a file is wanted of those that give.
    fn no_more_of(&mut self, entry: u64) {
        if self.dealing.is_some() {
            self.telling.done(entry);
            self.nodes.done(entry);
        }
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
            Verdict::NoLink => {
                self.links += 1;
                self.telling.tally.left_out += 1;
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
            Verdict::Elsewhere => {}
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
        let mut answer = Answer::Wanted;
        if is_ranged(pending.origin.size, has_holes) {
            let job = Job::Open { entry, pending: pending.clone(), anew: self.wish.anew };
            self.pool.give(job);
        } else if let Some(dealing) = &mut self.dealing {
            dealing.want_file(entry, pending.origin.size);
            answer = Answer::Later;
        }
        self.pending.insert(entry, pending);
        answer
    }

    fn on_compared(&mut self, entry: u64, compared: Compared) -> Result<(), CopyError> {
        let Some(pending) = self.pending.remove(&entry) else { return Ok(()) };
        if compared.is_same {
            self.telling.count_same(&pending);
            self.telling.same(entry);
            self.nodes.done(entry);
            return if self.wish.hashes { self.tell_hash(&pending, &compared.hash) } else { Ok(()) };
        }
        if self.wish.dry_run {
            self.telling.same(entry);
        }
        let answer = self.want(entry, pending, compared.has_holes);
        if answer == Answer::Wanted {
            // Before it is said which ranges of it are.
            self.telling.say(&Word::Compared { wanted: vec![entry], same: Vec::new() })?;
        }
        Ok(())
    }

    /// Takes what has arrived.
    fn settle(&mut self) -> Result<(), CopyError> {
        for BundleOver { outcome, from } in self.arriving.take_bundles() {
            match outcome {
                Ok(memory) => self.on_bundle(memory)?,
                Err(why) if from == FIRST => return Err(SessionError::Ended(why).into()),
                Err(why) => self.leave_out(from, &why)?,
            }
        }
        for RangeOver { entry, range, outcome, buffer, from } in self.arriving.take_ranges() {
            if let Err(why) = &outcome
                && from != FIRST
                && (!self.nodes.is_alive(from) || !is_full(why))
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
                        Ok(hash) => self.pool.give(Job::Put { entry, upload, index: range, hash, buffer }),
                        Err(why) => self.on_bad_range(entry, &why)?,
                    }
                    continue;
                }
                _ => continue,
            };
            let held = outcome.and_then(|hash| file.hold(range, hash).map_err(|cause| Fault::writing(&cause).why));
            match held {
                Ok(true) => {
                    self.ranged.remove(&entry);
                    self.pool.give(Job::Keep { entry, file });
                }
                Ok(false) if file.wants_sync() => self.pool.give(Job::Sync { entry, file }),
                Ok(false) => {}
                Err(why) => self.on_bad_range(entry, &why)?,
            }
        }
        Ok(())
    }

    fn on_bundle(&mut self, bundle: Arc<CountedMemory>) -> Result<(), CopyError> {
        let items = bundle::read(bundle.bytes()).ok_or_else(|| protocol("a bundle is damaged"))?;
        let mut files = Vec::new();
        for (entry, _) in &items {
            let pending = self.pending.remove(entry);
            match &mut self.dealing {
                Some(dealing) => dealing.given(Piece::File(*entry), Instant::now()),
                None if pending.is_none() => return Err(protocol("a bundle holds a file that is not wanted")),
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
        let Some(pending) = self.drop_pending(entry) else { return Ok(()) };
        if is_full(why) {
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
        self.no_more_of(entry);
        if let Some(dealing) = &mut self.dealing {
            dealing.forget(entry, Instant::now());
        }
        self.pending.remove(&entry)
    }

    fn on_done(&mut self, done: Done) -> Result<(), CopyError> {
        match done {
            Done::Opened { entry, found } => self.on_opened(entry, found),
            Done::Placed { bytes, files } => {
                self.arriving.placed(bytes);
                for (entry, pending, outcome) in files {
                    self.no_more_of(entry);
                    match outcome {
                        Ok((bytes, hash)) => self.on_kept(&pending, bytes, &hash)?,
                        Err(fault) => self.on_fault(entry, &pending, &fault)?,
                    }
                }
                Ok(())
            }
            Done::Synced { entry, outcome } => match (outcome, self.pending.get(&entry).cloned()) {
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

    /// All ranges of a file are there, and it has its name; or why not.
    fn on_whole(&mut self, entry: u64, hash: Result<RangeHash, Fault>) -> Result<(), CopyError> {
        let Some(pending) = self.pending.remove(&entry) else { return Ok(()) };
        self.nodes.done(entry);
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
        self.nodes.tell_done();
        self.nodes.divide(self.session, Instant::now());
        self.telling.tell(self.listed == Some(self.entries), self.arriving.bytes())
    }
}

/// What is said to have these.
fn words(pieces: &[Piece]) -> Vec<Word> {
    let (mut wanted, mut ranges) = (Vec::new(), Vec::<(u64, Vec<(u64, u64)>)>::new());
    for &piece in pieces {
        match (piece, ranges.last_mut()) {
            (Piece::File(entry), _) => wanted.push(entry),
            (Piece::Range(entry, range), Some((of, ranges))) if *of == entry => match ranges.last_mut() {
                Some((_, end)) if *end == range => *end += 1,
                _ => ranges.push((range, range + 1)),
            },
            (Piece::Range(entry, range), _) => ranges.push((entry, vec![(range, range + 1)])),
        }
    }
    let files = wanted.chunks(FILES).map(|wanted| Word::Compared { wanted: wanted.to_vec(), same: Vec::new() });
    files.chain(ranges.into_iter().map(|(entry, ranges)| Word::Ranges { entry, ranges })).collect()
}

/// What went wrong with a range is that there is no room for it.
fn is_full(why: &str) -> bool {
    why.contains("os error 28") || why.contains("os error 122")
}

/// Adds a number to some that are told as first and count.
fn add(files: &mut Vec<(u64, u64)>, number: u64) {
    match files.last_mut() {
        Some((first, count)) if *first + *count == number => *count += 1,
        _ => files.push((number, 1)),
    }
}

fn protocol(why: &str) -> CopyError {
    CopyError::Protocol(why.to_owned())
}
