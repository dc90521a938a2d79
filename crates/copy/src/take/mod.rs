//! The taking end: looks what is there, says what it wants, and puts it in its place.

mod arriving;
mod asking;
mod comparing;
mod dealing;
mod deleting;
mod dividing;
mod folders;
mod free_space;
mod giving_way;
mod group;
mod nodes;
mod placing;
mod pool;
mod storing;
mod telling;
mod tree;
mod unasked;
mod unknown;
mod whole_hash;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use visapult_objects::{MOST_PATH, cut, printable, unescaped};
use visapult_ripp_net::{Arrival, Offer, Session, SessionError};

use self::arriving::{Arriving, Ranged};
use self::comparing::Comparing;
use self::dealing::{Dealing, FIRST, NodeId, Piece};
use self::free_space::Room;
use self::giving_way::Waiting;
use self::group::Group;
use self::nodes::Nodes;
use self::pool::{Pending, Pool};
use self::telling::Telling;
pub(crate) use self::tree::IN_WAY;
use self::tree::Tree;
use self::unknown::Unknown;
use self::whole_hash::WholeHashes;
use crate::bundle::{BUNDLE, UnaskedName};
use crate::error::CopyError;
use crate::inventory::Outline;
use crate::landing::{Ground, Landing};
use crate::notices::line;
use crate::ranges::RangeName;
use crate::report::{Event, Limit, Moved};
use crate::stripes::Striped;
use crate::wish::Wish;
use crate::words::{MOST_WHY, Word};

const POLL: Duration = Duration::from_millis(5);
/// Folders that somebody may read below what they have asked for, at most.
const MOST_GRANTS: usize = 1000;

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
    taken: &mut Moved,
    watch: &mut dyn FnMut(Event),
) -> Result<(), CopyError> {
    let ground = landing.as_ref().map(|landing| landing.ground.clone());
    let (outcome, opened) = thread::scope(|scope| {
        let mut taking = Taking {
            session,
            stop,
            wish,
            telling: Telling::new(session, watch),
            tree: Tree::new(landing.as_ref(), wish),
            pool: Pool::start(scope, ground.as_ref(), !wish.unsynced),
            room: Room::of(ground.as_ref()),
            ground: ground.clone(),
            links: 0,
            entries: 0,
            listed: None,
            is_partial: false,
            unlisted: Unknown::default(),
            is_all_new: false,
            knows: landing.as_ref().is_none_or(|landing| landing.is_known),
            group: None,
            outline: wish.lists.then(Outline::default),
            granted: Vec::new(),
            arriving: Arriving::default(),
            pending: HashMap::new(),
            waiting: Waiting::default(),
            comparing: Comparing::default(),
            whole_hashes: WholeHashes::default(),
            ranged: HashMap::new(),
            // A bucket is written by one, which asks one.
            nodes: Nodes::new(striped.filter(|_| !wish.dry_run && !matches!(ground, Some(Ground::Store(_))))),
            dealing: None,
        };
        let outcome = taking.run().map_err(|cause| match cause {
            // What came to nothing for that is noticed first.
            CopyError::Session(SessionError::Ended(_)) if !session.is_alive() => session.ended().into(),
            cause => cause,
        });
        taking.telling.finish_notices();
        taking.count_late();
        taking.telling.tally.resumed_bytes = taking.pool.verified_bytes();
        taken.granted = std::mem::take(&mut taking.granted);
        (taken.tally, taken.arrived) = (taking.telling.tally, taking.arriving.bytes());
        if let Err(CopyError::Stopped) = outcome {
            // What has got its name until now counts there, too.
            let _ = taking.telling.say(&Word::Tally(taking.telling.tally));
        }
        if let Err(CopyError::Here(why) | CopyError::Protocol(why)) = &outcome {
            // It is told why, if it still listens.
            let _ = taking.telling.say(&Word::Refused { why: cut(why, MOST_WHY).to_owned() });
        }
        (outcome, taking.tree.take_opened())
    });
    match &ground {
        Some(Ground::Store(target)) => target.abandon(),
        // Nothing is written any more.
        Some(Ground::Folder(base)) => folders::close_again(base, &opened),
        None => {}
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
    room: Room,
    ground: Option<Ground>,
    /// Links that a store does not hold.
    links: u64,
    /// Entries looked at, and all there are.
    entries: u64,
    listed: Option<u64>,
    /// Not all of the sources could be listed.
    is_partial: bool,
    /// What of them could not.
    unlisted: Unknown,
    /// The sources go into a folder that was made for them.
    is_all_new: bool,
    /// Whoever gives may know what lies there.
    knows: bool,
    /// Where only a listing is wanted, and what may be read where not all of it may.
    outline: Option<Outline>,
    granted: Vec<String>,
    /// What comes is a Zarr group.
    group: Option<Group>,
    arriving: Arriving,
    /// Files that are wanted and not in their place.
    pending: HashMap<u64, Pending>,
    /// Files that are whole, and get their names once something has given way.
    waiting: Waiting,
    /// Those that may be the same.
    comparing: Comparing,
    /// Hashes that files are held against before they get their names.
    whole_hashes: WholeHashes,
    /// Those that come in ranges.
    ranged: HashMap<u64, Ranged>,
    /// The further nodes of a striped share; and who gives what, if it is one.
    nodes: Nodes<'a>,
    dealing: Option<Dealing>,
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
            self.arriving.make_room()?;
            self.settle()?;
            while let Some(done) = self.pool.take() {
                self.on_done(done)?;
            }
            // Before any more is taken.
            if let Some(lack) = self.room.lack() {
                self.telling.notice(lack)?;
            }
            self.answer_held();
            self.answer_unasked()?;
            self.look_at_document()?;
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
        self.is_quiet() && self.group.as_ref().is_none_or(Group::is_over)
    }

    /// All is listed, and what was wanted of it is there.
    fn is_quiet(&self) -> bool {
        self.listed == Some(self.entries) && self.pending.is_empty() && self.pool.is_idle()
    }

    fn finish(&mut self) -> Result<(), CopyError> {
        if self.links > 0 {
            let links = crate::report::counted(self.links, "link");
            self.telling.notice(format!("{links} left out: object stores hold none"))?;
        }
        if let Some(ground) = self.ground.clone() {
            self.delete(&ground)?;
        }
        if let Some(Ground::Folder(base)) = self.ground.clone() {
            for unplaced in self.tree.finish(&base) {
                self.telling.fail(None, &unplaced.path, &unplaced.why)?;
            }
        }
        self.tell()?;
        self.nodes.finish();
        self.telling.say(&Word::Finished(self.telling.tally))
    }

    /// Takes what the other end says and offers; waits a little for it.
    fn hear(&mut self) -> Result<(), CopyError> {
        let mut patience = POLL;
        while let Some(arrival) = self.session.next_arrival(patience)? {
            patience = Duration::ZERO;
            match arrival {
                Arrival::Offer(offer) => self.on_offer(offer, FIRST)?,
                Arrival::Note(note) => {
                    self.on_word(Word::heard(&note.text)?)?;
                }
            }
            // There may always be more.
            if self.stop.load(Ordering::Relaxed) {
                return Err(CopyError::Stopped);
            }
        }
        Ok(())
    }

    fn on_word(&mut self, word: Word) -> Result<(), CopyError> {
        match word {
            Word::Nodes { urls } if self.entries == 0 && self.nodes.dial(&urls) => {
                self.dealing = Some(Dealing::new(Instant::now()));
            }
            Word::Granted { path } if self.outline.is_some() && self.granted.len() < MOST_GRANTS => {
                self.granted.push(path)
            }
            Word::Listing { bytes } => {
                let bytes = unescaped(&bytes).ok_or_else(|| protocol("it told a listing that is none"))?;
                self.arriving.listings.tell(&bytes)?;
            }
            Word::Share { source } if self.entries == 0 => self.tree.comes_from(source),
            Word::Group { arrays } if self.entries == 0 => self.begin_group(arrays.as_deref())?,
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
                let path = printable(path.as_bytes());
                if failed && self.wish.is_comparison() {
                    self.unlisted.add(&path);
                }
                let (path, why) = (cut(&path, MOST_PATH).to_owned(), line(&why));
                if failed {
                    self.is_partial = true;
                    self.telling.fail_called(None, path, &why)?;
                } else {
                    self.telling.left_out(path, why)?;
                }
            }
            Word::Contents { files } => {
                for (entry, hash) in files {
                    let hash = blake3::Hash::from_hex(&hash).map_err(|_| protocol("it told a hash that is none"))?;
                    if let Some(compared) = self.comparing.there(entry, *hash.as_bytes()) {
                        self.on_compared(entry, compared)?;
                    } else if let Some(file) = self.whole_hashes.tell(entry, *hash.as_bytes()) {
                        self.keep(entry, file)?;
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
        } else if name == BUNDLE {
            self.arriving.accept_bundle(offer, from)
        } else if let Some(name) = RangeName::from_text(&name) {
            match UnaskedName::of(&name) {
                Some(name) => self.on_unasked(offer, name, from),
                None => self.on_range(offer, name, from),
            }
            Ok(())
        } else {
            Err(protocol("it offers something unknown"))
        }
    }

    fn on_range(&mut self, offer: Offer, name: RangeName, from: NodeId) {
        let piece = Piece::Range(name.entry, name.range);
        match &self.dealing {
            // Another may have been asked for it.
            Some(dealing) if !dealing.is_asked(from, piece) => offer.refuse("the range was not asked for"),
            None if self.is_open(name.entry) => self.arriving.hold_range(offer, name),
            _ => {
                let file = self.ranged.get(&name.entry);
                self.arriving.accept_range(offer, name, file, from);
            }
        }
    }

    /// It is not known yet whether this file is wanted in ranges, and which.
    fn is_open(&self, entry: u64) -> bool {
        let is_looked_at = entry < self.entries;
        let is_opening = self.pending.contains_key(&entry) && !self.ranged.contains_key(&entry);
        !self.wish.dry_run && (!is_looked_at || (is_opening && !self.comparing.holds(entry)))
    }

    /// Answers what was offered before it was known whether it is wanted.
    fn answer_held(&mut self) {
        for (offer, name) in self.arriving.take_held() {
            self.on_range(offer, name, FIRST);
        }
    }

    fn tell(&mut self) -> Result<(), CopyError> {
        self.nodes.tell_done();
        self.nodes.divide(self.session, Instant::now());
        self.telling.tally.resumed_bytes = self.pool.verified_bytes();
        self.tell_late()?;
        let (arrived, in_ranges) = (self.arriving.bytes(), self.arriving.bytes_in_ranges());
        self.telling.tell(self.listed == Some(self.entries), arrived, in_ranges)
    }
}

fn protocol(why: &str) -> CopyError {
    CopyError::Protocol(why.to_owned())
}
