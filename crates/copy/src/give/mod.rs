//! The giving end: lists, is told what is wanted, reads it and sends it. Nothing is kept of what was sent.

mod ahead;
mod early;
mod lister;
mod reader;
mod sending;
mod stored;
mod unasked;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use visapult_objects::{cut, escaped, unescaped};
use visapult_ripp_net::{Arrival, Flow, Mode, Outgoing, Session, Verdict};

use self::ahead::Ahead;
use self::early::Early;
pub(crate) use self::early::MOST_EARLY;
use self::lister::{Listed, Listing, Told};
pub(crate) use self::lister::{Lister, is_ranged};
use self::reader::{Job, Read};
use self::unasked::Unasked;
use crate::error::CopyError;
use crate::listing::MOST_FIRST_LISTING;
use crate::report::{Event, Limit, Progress, Tally};
use crate::source::{ReadTime, SourceFile};
use crate::words::{MOST_WHY, Word};

/// Name of the flow that content travels in, and of that of listings.
const CONTENT: &str = "content";
const LISTINGS: &str = "listings";
/// Listings that the other end has not answered, at most.
const MOST_LISTINGS: usize = 4;
/// Threads that read small files: most of their time is spent waiting for a disk.
const READERS: usize = 4;
/// And where a store is read, which takes its time for each request.
const STORED_READERS: usize = 12;
const POLL: Duration = Duration::from_millis(5);
const IDLE: Duration = Duration::from_millis(50);
const TELL_EVERY: Duration = Duration::from_millis(200);
/// Files that are hashed, and told of, at once.
const HASHED: usize = 256;
/// Bytes of files that were made and are not sent yet: no more are listed then.
const MOST_MADE: u64 = 32 << 20;

/// What came of giving.
#[derive(Debug, Default)]
pub(crate) struct Given {
    pub(crate) tally: Tally,
    /// Bytes of content that arrived at the other end.
    pub(crate) arrived: u64,
    /// The other end takes nothing before it is asked again, for these take with it.
    pub(crate) nodes: Vec<String>,
}

/// Something to send.
#[derive(Debug)]
enum Task {
    /// A small file.
    Whole(u64, Listed),
    /// Ranges of a file, from the first to before the second.
    Ranges(u64, u64, u64),
}

/// An object on its way.
#[derive(Debug)]
struct UnderWay {
    object: Outgoing,
    bytes: u64,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Listing,
    /// Files that were asked for.
    Bundle,
    /// Files that were not, from this one on.
    Unasked(u64),
    /// This range of this file.
    Range {
        entry: u64,
        index: u64,
    },
}

impl UnderWay {
    /// The file that it is a range of, and which.
    const fn range_of(&self) -> Option<(u64, u64)> {
        if let What::Range { entry, index } = self.what { Some((entry, index)) } else { None }
    }
}

/// When something is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// Once it is asked for.
    WhenAsked,
    /// The first ranges of the first large file, and small files, before that: they are under way two round trips sooner.
    AtOnce,
}

/// Gives what is listed to the other end of `session`, until that has all of it that it wants.
///
/// # Errors
/// If it could not go on; what has arrived by then is in `given`.
pub(crate) fn give(
    session: &Session,
    lister: Lister,
    begin: Begin,
    stop: &AtomicBool,
    given: &mut Given,
    watch: &mut dyn FnMut(Event),
) -> Result<(), CopyError> {
    let listings = session.open_flow(LISTINGS, Mode::Reliable, 4)?;
    let content = session.open_flow(CONTENT, Mode::Reliable, 1)?;
    let Lister { told, stores } = lister;
    let (jobs, jobs_out) = channel();
    let (read_in, read) = channel();
    let jobs_out = Mutex::new(jobs_out);
    let over = AtomicBool::new(false);
    let read_time = Arc::new(ReadTime::default());
    let readers = if stores.is_empty() { READERS } else { STORED_READERS };
    thread::scope(|scope| {
        for _ in 0..readers {
            let read_in = read_in.clone();
            let (jobs_out, over, read_time) = (&jobs_out, &over, Arc::clone(&read_time));
            scope.spawn(move || reader::run(jobs_out, &read_in, &read_time, over));
        }
        let mut giving = Giving {
            session,
            stop,
            watch,
            listings,
            content,
            told: Some(told),
            jobs,
            read,
            entries: 0,
            lists: 0,
            unanswered: VecDeque::new(),
            listed: BTreeMap::new(),
            held: HashMap::new(),
            ranged: HashMap::new(),
            failed: HashSet::new(),
            early: Early::new(begin),
            unasked: Unasked::new(begin),
            tasks: VecDeque::new(),
            open: None,
            reading: 0,
            reading_ranges: 0,
            under_way: Vec::new(),
            delivered: 0,
            ahead: Ahead::of(session.rate(), !stores.is_empty()),
            began: Instant::now(),
            told_at: Instant::now(),
            read_time: Arc::clone(&read_time),
            read_until: [Duration::ZERO; 3],
            limit: None,
            tally: Tally::default(),
            is_finished: false,
            nodes: Vec::new(),
        };
        let outcome = giving.run();
        *given = Given { tally: giving.tally, arrived: giving.arrived(), nodes: std::mem::take(&mut giving.nodes) };
        over.store(true, Ordering::Relaxed);
        stores.iter().for_each(|store| store.close());
        outcome
    })
}

struct Giving<'a> {
    session: &'a Session,
    stop: &'a AtomicBool,
    watch: &'a mut dyn FnMut(Event),
    listings: Flow,
    content: Flow,
    /// None once all is listed.
    told: Option<Receiver<Told>>,
    jobs: Sender<Job>,
    read: Receiver<Read>,
    /// Entries and listings so far.
    entries: u64,
    lists: u64,
    /// Where listings end that have not been answered.
    unanswered: VecDeque<u64>,
    /// Files of those.
    listed: BTreeMap<u64, Listed>,
    /// Those of which the other end says later whether it wants them.
    held: HashMap<u64, Listed>,
    /// Files that are wanted in ranges.
    ranged: HashMap<u64, Listed>,
    /// Those of which nothing more is sent, though it may be wanted still.
    failed: HashSet<u64>,
    /// What is offered before it is asked for: ranges, and bundles.
    early: Early,
    unasked: Unasked,
    tasks: VecDeque<Task>,
    /// The file that ranges were sent of last.
    open: Option<(u64, Arc<SourceFile>)>,
    /// Bytes that are being read.
    reading: u64,
    /// Ranges of a store among them.
    reading_ranges: usize,
    under_way: Vec<UnderWay>,
    /// Bytes of content in objects that are over.
    delivered: u64,
    ahead: Ahead,
    began: Instant,
    told_at: Instant,
    /// How long reads took, and how long they had until it was told last.
    read_time: Arc<ReadTime>,
    read_until: [Duration; 3],
    limit: Option<Limit>,
    tally: Tally,
    is_finished: bool,
    nodes: Vec<String>,
}

impl Giving<'_> {
    fn run(&mut self) -> Result<(), CopyError> {
        // The other end has nothing to say before it is told something.
        if let Some(Ok(first)) = self.told.as_ref().map(|told| told.recv_timeout(IDLE)) {
            self.on_told(first)?;
        }
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(CopyError::Stopped);
            }
            self.hear()?;
            if self.is_finished {
                self.tell();
                return Ok(());
            }
            self.list()?;
            self.offer()?;
            self.settle()?;
            if self.told_at.elapsed() > TELL_EVERY {
                self.tell();
            }
        }
    }

    fn say(&self, word: &Word) -> Result<(), CopyError> {
        Ok(self.session.note(&word.to_text())?)
    }

    /// Takes what the other end says; waits a little for it.
    fn hear(&mut self) -> Result<(), CopyError> {
        let is_reading = self.reading > 0 || self.unasked.is_reading();
        let is_busy = !self.under_way.is_empty() || is_reading || self.told.is_some() || !self.held.is_empty();
        let mut patience = if is_busy { POLL } else { IDLE };
        while let Some(arrival) = self.session.next_arrival(patience)? {
            patience = Duration::ZERO;
            match arrival {
                Arrival::Offer(offer) => offer.refuse("this end gives and takes nothing"),
                Arrival::Note(note) => {
                    self.on_word(Word::heard(&note.text)?)?;
                }
            }
            if self.is_finished {
                break;
            }
        }
        Ok(())
    }

    fn on_word(&mut self, word: Word) -> Result<(), CopyError> {
        match word {
            Word::Wants { upto, files, later } => self.on_wants(upto, &files, &later)?,
            Word::Compare { files } => self.on_compare(&files)?,
            Word::Compared { wanted, same } => {
                same.iter().for_each(|entry| drop(self.held.remove(entry)));
                for entry in wanted {
                    let listed = self.held.remove(&entry);
                    listed.into_iter().for_each(|listed| self.want(entry, listed));
                }
            }
            Word::Ranges { entry, ranges } if self.ranged.contains_key(&entry) => {
                let ranges = self.not_offered(entry, ranges);
                self.tasks.extend(ranges.into_iter().map(|(first, end)| Task::Ranges(entry, first, end)));
            }
            Word::Done { files } => {
                files.into_iter().for_each(|entry| self.forget(entry));
            }
            Word::Hashes { files } => {
                for (path, hash) in files {
                    if let (Some(path), Ok(_)) = (unescaped(&path), blake3::Hash::from_hex(&hash)) {
                        (self.watch)(Event::Hash { path, hash });
                    }
                }
            }
            Word::Failed { entry, path, why } => {
                if let Some(entry) = entry {
                    self.give_up(entry);
                    self.forget(entry);
                }
                (self.watch)(Event::Failed { path: visapult_objects::printable(path.as_bytes()), why });
            }
            Word::LeftOut { path, why } => (self.watch)(Event::LeftOut { path, why }),
            Word::Deleted { paths } => {
                paths
                    .iter()
                    .for_each(|path| (self.watch)(Event::Deleted(visapult_objects::printable(path.as_bytes()))));
            }
            Word::Differ { all } => all.iter().for_each(|one| (self.watch)(one.event())),
            Word::Notice { text } => (self.watch)(Event::Notice(text)),
            Word::Nodes { urls } => (self.nodes, self.is_finished) = (urls, true),
            Word::Tally(tally) => self.tally = tally,
            Word::Finished(tally) => {
                self.tally = tally;
                self.is_finished = true;
            }
            Word::Refused { why } => return Err(CopyError::Refused(visapult_objects::printable(why.as_bytes()))),
            _ => {}
        }
        Ok(())
    }

    /// The other end has looked at a listing.
    fn on_wants(&mut self, upto: u64, files: &[(u64, u64)], later: &[(u64, u64)]) -> Result<(), CopyError> {
        if self.unanswered.pop_front() != Some(upto) {
            return Err(CopyError::Protocol("it answered a listing that it was not given".to_owned()));
        }
        let unanswered = self.listed.split_off(&upto);
        let mut answered = std::mem::replace(&mut self.listed, unanswered);
        for &(first, count) in files {
            for (entry, listed) in taken_out(&mut answered, first, first.saturating_add(count).min(upto)) {
                if let Some(listed) = self.unasked.want(entry, listed) {
                    self.want(entry, listed);
                }
            }
        }
        self.send_otherwise(|unasked| unasked.answer(upto));
        for &(first, count) in later {
            self.held.extend(taken_out(&mut answered, first, first.saturating_add(count).min(upto)));
        }
        Ok(())
    }

    /// What was to come in a bundle that nobody had asked for comes in one that is.
    fn send_otherwise(&mut self, files: impl FnOnce(&mut Unasked) -> Vec<(u64, Listed)>) {
        files(&mut self.unasked).into_iter().for_each(|(entry, listed)| self.want(entry, listed));
    }

    fn want(&mut self, entry: u64, listed: Listed) {
        if listed.is_ranged {
            self.ranged.insert(entry, listed);
        } else {
            self.tasks.push_back(Task::Whole(entry, listed));
        }
    }

    /// The other end wants the hashes of files that it has not answered yet.
    fn on_compare(&mut self, files: &[(u64, u64)]) -> Result<(), CopyError> {
        for &(first, count) in files {
            let files = taken_out(&mut self.listed, first, first.saturating_add(count));
            for some in files.chunks(HASHED) {
                self.held.extend(some.iter().cloned());
                self.give_job(Job::Hash(some.to_vec()))?;
            }
        }
        Ok(())
    }

    /// Tells hashes of files, or why there are none.
    fn tell_contents(&mut self, hashes: Vec<(u64, Result<blake3::Hash, String>)>) -> Result<(), CopyError> {
        let mut files = Vec::new();
        for (entry, outcome) in hashes {
            match outcome {
                Ok(hash) => files.push((entry, hash.to_hex().to_string())),
                Err(why) => {
                    self.held.remove(&entry);
                    self.say(&Word::Missing { entry, why: cut(&why, MOST_WHY).to_owned() })?;
                }
            }
        }
        self.say(&Word::Contents { files })
    }

    fn forget(&mut self, entry: u64) {
        self.held.remove(&entry);
        self.ranged.remove(&entry);
        self.failed.remove(&entry);
        self.open.take_if(|(open, _)| *open == entry);
    }

    /// Offers listings as long as the other end keeps up with them.
    fn list(&mut self) -> Result<(), CopyError> {
        while self.unanswered.len() < MOST_LISTINGS && !self.is_far_ahead() {
            let Some(told) = &self.told else { return Ok(()) };
            match told.try_recv() {
                Ok(told) => self.on_told(told)?,
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => {
                    self.told = None;
                    self.say(&Word::Listed { entries: self.entries })?;
                }
            }
        }
        Ok(())
    }

    fn on_told(&mut self, told: Told) -> Result<(), CopyError> {
        match told {
            Told::Listing(listing) => self.offer_listing(listing),
            Told::Unlisted { path, why, failed } => {
                let why = if failed { format!("cannot be read: {}", cut(&why, MOST_WHY)) } else { why };
                self.say(&Word::Unlisted { path, why, failed })
            }
            Told::Notice(text) => {
                self.say(&Word::Notice { text: text.clone() })?;
                (self.watch)(Event::Notice(text));
                Ok(())
            }
        }
    }

    /// So much is listed and not sent that what was made for the list would have to be made again.
    fn is_far_ahead(&self) -> bool {
        let made = |listed: &&Listed| listed.root.fields().is_some();
        let whole = self.tasks.iter().filter_map(|task| match task {
            Task::Whole(_, listed) => Some(listed),
            Task::Ranges(..) => None,
        });
        whole.chain(self.ranged.values()).filter(made).map(|listed| listed.size).sum::<u64>() > MOST_MADE
    }

    fn offer_listing(&mut self, listing: Listing) -> Result<(), CopyError> {
        let is_first = self.early.is_to_begin();
        if is_first && listing.bytes.len() as u64 <= MOST_FIRST_LISTING {
            self.say(&Word::Listing { bytes: escaped(&listing.bytes) })?;
        }
        let object = self.listings.send(&format!("l {}", self.lists), Arc::new(listing.bytes))?;
        self.under_way.push(UnderWay { object, bytes: 0, what: What::Listing });
        self.lists += 1;
        self.entries = listing.first + listing.entries;
        self.unanswered.push_back(self.entries);
        if is_first {
            self.offer_early(&listing.files)?;
        }
        self.listed.extend(listing.files);
        Ok(())
    }

    fn tell(&mut self) {
        let is_reading = self.reading > 0 || self.told.is_some();
        let is_slow = self.is_source_slow();
        self.told_at = Instant::now();
        let limit = self.session.verdict().and_then(|verdict| limit_of(verdict, is_reading, is_slow));
        if limit != self.limit {
            self.limit = limit;
            let by = limit.map(|limit| limit.to_string()).unwrap_or_default();
            // It is only told for people to see.
            let _ = self.say(&Word::Limit { by });
        }
        let (tally, arrived, elapsed) = (self.tally, self.arrived(), self.began.elapsed());
        (self.watch)(Event::Progress(Progress { tally, is_listed: self.told.is_none(), arrived, elapsed, limit }));
    }

    /// Most of the time since it was told last went into reading: for what was sent, for its hashes, or of small files.
    fn is_source_slow(&mut self) -> bool {
        let before = std::mem::replace(&mut self.read_until, self.read_time.totals());
        let elapsed = self.told_at.elapsed();
        self.read_until.iter().zip(before).any(|(now, before)| now.saturating_sub(before) * 2 > elapsed)
    }
}

/// Takes those out whose numbers are from `first` on, before `end`.
fn taken_out(files: &mut BTreeMap<u64, Listed>, first: u64, end: u64) -> Vec<(u64, Listed)> {
    let entries: Vec<u64> = files.range(first.min(end)..end).map(|(&entry, _)| entry).collect();
    entries.into_iter().filter_map(|entry| Some((entry, files.remove(&entry)?))).collect()
}

/// What limits the copy where `verdict` is what limits the session: a lane that waits for a disk is late, as one is on a machine that is busy.
fn limit_of(verdict: Verdict, is_reading: bool, is_source_slow: bool) -> Option<Limit> {
    match verdict {
        Verdict::Receiver => Some(Limit::SinkDisk),
        Verdict::Sender | Verdict::Source if is_source_slow => Some(Limit::SourceDisk),
        Verdict::Sender => Some(Limit::Sender),
        // With nothing to be read, the other end has not said yet what it wants.
        Verdict::Source => is_reading.then_some(Limit::SourceDisk),
        Verdict::Rate => Some(Limit::Rate),
        Verdict::Shared | Verdict::ShallowQueue | Verdict::Policer | Verdict::RandomLoss | Verdict::Link => {
            Some(Limit::Network)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_disk_is_told_from_a_busy_machine() {
        assert_eq!(limit_of(Verdict::Sender, false, true), Some(Limit::SourceDisk));
        assert_eq!(limit_of(Verdict::Sender, false, false), Some(Limit::Sender));
        assert_eq!(limit_of(Verdict::Source, false, false), None);
        assert_eq!(limit_of(Verdict::Link, true, true), Some(Limit::Network));
    }
}
