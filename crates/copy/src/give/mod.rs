//! The giving end: lists, is told what is wanted, reads it and sends it. Nothing is kept of what was sent.

mod ahead;
mod early;
mod headway;
mod heard;
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
use std::time::Duration;

use visapult_objects::{cut, escaped};
use visapult_ripp_net::{Flow, Mode, Outgoing, Session};

use self::ahead::Ahead;
use self::early::Early;
pub(crate) use self::early::MOST_EARLY;
use self::headway::Headway;
use self::lister::{Listed, Listing, Told};
pub(crate) use self::lister::{Lister, is_ranged};
use self::reader::{Job, Read};
use self::unasked::Unasked;
use crate::error::CopyError;
use crate::listing::MOST_FIRST_LISTING;
use crate::report::{Event, Moved, Tally};
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
const IDLE: Duration = Duration::from_millis(50);
/// Bytes of the names of arrays that are told: notes are short.
const MOST_NAMES: usize = 8 << 10;
/// Bytes of files that were made and are not sent yet: no more are listed then.
const MOST_MADE: u64 = 32 << 20;

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
    given: &mut Moved,
    watch: &mut dyn FnMut(Event),
) -> Result<(), CopyError> {
    let listings = session.open_flow(LISTINGS, Mode::Reliable, 4)?;
    let content = session.open_flow(CONTENT, Mode::Reliable, 1)?;
    let Lister { told, stores, group } = lister;
    let begun = group.map_or(Ok(()), |names| {
        let arrays = Some(names).filter(|names| names.iter().map(String::len).sum::<usize>() <= MOST_NAMES);
        session.note(&Word::Group { arrays }.to_text())
    });
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
            to_hash: VecDeque::new(),
            hashing: 0,
            most_hashing: readers - 1,
            under_way: Vec::new(),
            delivered: 0,
            ahead: Ahead::of(session.rate(), !stores.is_empty()),
            headway: Headway::new(Arc::clone(&read_time)),
            tally: Tally::default(),
            is_finished: false,
            nodes: Vec::new(),
        };
        let outcome = begun.map_err(CopyError::from).and_then(|()| giving.run());
        let outcome = outcome.map_err(|cause| match (giving.hear_last(), cause) {
            // The other end has said why before it went: whoever gives may notice the end first.
            (Some(refusal), CopyError::Session(_)) => refusal,
            (_, cause) => cause,
        });
        *given = Moved { tally: giving.tally, arrived: giving.arrived(), nodes: std::mem::take(&mut giving.nodes) };
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
    /// Files that are to be hashed, as one reads them; such jobs that readers have, and how many of them at most.
    to_hash: VecDeque<Vec<(u64, Listed)>>,
    hashing: usize,
    most_hashing: usize,
    under_way: Vec<UnderWay>,
    /// Bytes of content in objects that are over.
    delivered: u64,
    ahead: Ahead,
    headway: Headway,
    /// What the other end counted.
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
            if self.headway.is_due() {
                self.tell();
            }
        }
    }

    fn say(&self, word: &Word) -> Result<(), CopyError> {
        Ok(self.session.note(&word.to_text())?)
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
}
