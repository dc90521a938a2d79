//! The giving end: lists, is told what is wanted, reads it and sends it. Nothing is kept of what was sent.

mod ahead;
mod early;
mod headway;
mod heard;
mod held;
mod lister;
mod listings;
mod reader;
mod readers;
mod sending;
mod stored;
mod tasks;
mod unasked;
mod under_way;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use visapult_objects::{cut, escaped};
use visapult_ripp_net::{Mode, Session};

use self::ahead::Ahead;
use self::early::Early;
pub(crate) use self::early::MOST_EARLY;
use self::headway::Headway;
use self::held::Held;
use self::lister::{Listed, Listing, Told};
pub(crate) use self::lister::{Lister, is_ranged};
use self::listings::{Listings, Next};
use self::readers::Readers;
use self::tasks::Tasks;
use self::unasked::Unasked;
use self::under_way::UnderWay;
use crate::error::CopyError;
use crate::listing::MOST_FIRST_LISTING;
use crate::notices::Notices;
use crate::report::{Event, Moved, Tally};
use crate::source::{ReadTime, SourceFile};
use crate::words::{MOST_WHY, Word};

/// Name of the flow that content travels in, and of that of listings.
const CONTENT: &str = "content";
const LISTINGS: &str = "listings";
const IDLE: Duration = Duration::from_millis(50);
/// Bytes of the names of arrays that are told: notes are short.
const MOST_NAMES: usize = 8 << 10;
/// Bytes of files that were made and are not sent yet: no more are listed then.
const MOST_MADE: u64 = 32 << 20;

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
    let read_time = Arc::new(ReadTime::default());
    thread::scope(|scope| {
        let mut giving = Giving {
            session,
            stop,
            watch,
            listings: Listings::new(listings, told),
            readers: Readers::start(scope, !stores.is_empty(), &read_time),
            under_way: UnderWay::new(content),
            tasks: Tasks::default(),
            held: Held::default(),
            ranged: HashMap::new(),
            failed: HashSet::new(),
            open: None,
            early: Early::new(begin),
            unasked: Unasked::new(begin),
            ahead: Ahead::of(session.rate(), !stores.is_empty()),
            headway: Headway::new(read_time),
            tally: Tally::default(),
            is_finished: false,
            nodes: Vec::new(),
            notices: Notices::default(),
        };
        let outcome = begun.map_err(CopyError::from).and_then(|()| giving.run());
        let outcome = outcome.map_err(|cause| match (giving.hear_last(), cause) {
            // The other end has said why before it went: whoever gives may notice the end first.
            (Some(refusal), CopyError::Session(_)) => refusal,
            (_, cause) => cause,
        });
        giving.notices.finish(giving.watch);
        *given = Moved {
            tally: giving.tally,
            arrived: giving.under_way.arrived(),
            nodes: std::mem::take(&mut giving.nodes),
            granted: Vec::new(),
        };
        // The readers end: what they are at is needless now.
        drop(giving);
        stores.iter().for_each(|store| store.close());
        outcome
    })
}

struct Giving<'a> {
    session: &'a Session,
    stop: &'a AtomicBool,
    watch: &'a mut dyn FnMut(Event),
    listings: Listings,
    readers: Readers,
    under_way: UnderWay,
    tasks: Tasks,
    held: Held,
    /// Files that are wanted in ranges.
    ranged: HashMap<u64, Listed>,
    /// Those of which nothing more is sent, though it may be wanted still.
    failed: HashSet<u64>,
    /// The one that ranges were sent of last.
    open: Option<(u64, Arc<SourceFile>)>,
    /// What is offered before it is asked for: ranges, and bundles.
    early: Early,
    unasked: Unasked,
    ahead: Ahead,
    headway: Headway,
    /// What the other end counted.
    tally: Tally,
    is_finished: bool,
    nodes: Vec<String>,
    notices: Notices,
}

impl Giving<'_> {
    fn run(&mut self) -> Result<(), CopyError> {
        // The other end has nothing to say before it is told something.
        if let Some(first) = self.listings.first(IDLE) {
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
            self.settle();
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
        while !self.is_far_ahead() {
            match self.listings.next() {
                Next::Told(told) => self.on_told(told)?,
                Next::Nothing => break,
                Next::All(entries) => self.say(&Word::Listed { entries })?,
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
        self.tasks.whole().chain(self.ranged.values()).filter(made).map(|listed| listed.size).sum::<u64>() > MOST_MADE
    }

    fn offer_listing(&mut self, listing: Listing) -> Result<(), CopyError> {
        let is_first = self.early.is_to_begin();
        if is_first && listing.bytes.len() as u64 <= MOST_FIRST_LISTING {
            self.say(&Word::Listing { bytes: escaped(&listing.bytes) })?;
        }
        let early = is_first.then(|| Early::of(&listing.files)).flatten();
        let object = self.listings.send(listing)?;
        self.under_way.add_listing(object);
        if is_first { self.offer_early(early) } else { Ok(()) }
    }
}
