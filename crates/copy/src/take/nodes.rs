//! The further nodes of a striped share: they list the same, and give of it what they are asked for. One that fails, or that has not the same, is
//! left out.

use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use blake3::Hasher;
use visapult_objects::printable;
use visapult_ripp_net::{Arrival, Offer, Session};

use super::arriving::Listings;
use super::asking::add;
use super::dealing::{FIRST, NodeId};
use super::telling::FILES;
use crate::error::CopyError;
use crate::give::is_ranged;
use crate::listing::{self, Entry, Kind, Mtime};
use crate::names::shown;
use crate::report::Tally;
use crate::stripes::{Dialled, Striped};
use crate::weights::{Claim, Meter, divide};
use crate::words::Word;

/// What of an entry has to be the same.
type Likeness = u64;

pub(super) struct Nodes<'a> {
    striped: Option<&'a Striped<'a>>,
    /// Nodes that are being dialled.
    dialled: Option<Receiver<Dialled>>,
    next_id: NodeId,
    all: Vec<Node>,
    /// What the share has listed that was dialled; and all, once it has.
    known: Vec<Likeness>,
    listed: Option<u64>,
    /// Files that nothing more is wanted of, of which they have not been told.
    done: Vec<u64>,
    /// What each made use of what it may, where there is a limit: first that of the share that was dialled.
    meters: Vec<(NodeId, Meter, f64)>,
}

struct Node {
    id: NodeId,
    name: String,
    session: Session,
    listings: Listings,
    /// A listing that is whole, and tells of more than is known.
    next: Option<Vec<Entry>>,
    /// Entries that are known to be the same, and all it has.
    entries: u64,
    listed: Option<u64>,
}

/// What a node does.
pub(super) enum Heard {
    Offer(NodeId, Offer),
    /// It can give nothing more.
    Left(NodeId, String),
}

impl<'a> Nodes<'a> {
    pub(super) const fn new(striped: Option<&'a Striped<'a>>) -> Self {
        Self {
            striped,
            dialled: None,
            next_id: FIRST + 1,
            all: Vec::new(),
            known: Vec::new(),
            listed: None,
            done: Vec::new(),
            meters: Vec::new(),
        }
    }

    /// Dials those that the share has told of; false if that is not to be.
    pub(super) fn dial(&mut self, urls: &[String]) -> bool {
        let Some(striped) = self.striped.filter(|_| self.dialled.is_none()) else { return false };
        self.dialled = Some(striped.dial_nodes(urls));
        true
    }

    /// A node that has answered, as it is called, or why one has not.
    pub(super) fn dialled(&mut self) -> Option<Result<(NodeId, String), (String, CopyError)>> {
        let Dialled { node: name, session } = self.dialled.as_ref()?.try_recv().ok()?;
        Some(match session {
            Err(cause) => Err((name, cause)),
            Ok(session) => {
                let id = self.next_id;
                self.next_id += 1;
                let (listings, next) = (Listings::default(), None);
                self.all.push(Node { id, name: name.clone(), session, listings, next, entries: 0, listed: None });
                Ok((id, name))
            }
        })
    }

    /// Takes note of what the share has listed that was dialled.
    pub(super) fn know(&mut self, entry: &Entry) {
        self.known.push(likeness(entry));
    }

    pub(super) const fn know_all(&mut self, entries: u64) {
        self.listed = Some(entries);
    }

    /// What they say and offer.
    pub(super) fn hear(&mut self) -> Vec<Heard> {
        let mut heard = Vec::new();
        for node in &mut self.all {
            if let Err(why) = node.hear(&mut heard) {
                heard.push(Heard::Left(node.id, why));
            }
        }
        heard
    }

    /// Holds what they have listed against what is known, and tells them what of it `is_wanted`. Returns those that have not the same.
    pub(super) fn look(&mut self, is_wanted: impl Fn(u64) -> bool) -> Vec<(NodeId, String)> {
        let mut others = Vec::new();
        for node in &mut self.all {
            if let Err(why) = node.look(&self.known, self.listed, &is_wanted) {
                others.push((node.id, why));
            }
        }
        others
    }

    /// Entries of which a node can give files.
    pub(super) fn entries(&self, id: NodeId) -> Option<u64> {
        self.all.iter().find(|node| node.id == id).map(|node| node.entries)
    }

    /// Says something to a node; one that is gone is found to be so when it is heard.
    pub(super) fn say(&self, id: NodeId, word: &Word) {
        if let Some(node) = self.all.iter().find(|node| node.id == id) {
            let _ = node.session.note(&word.to_text());
        }
    }

    pub(super) fn is_alive(&self, id: NodeId) -> bool {
        self.all.iter().any(|node| node.id == id && node.session.is_alive())
    }

    /// Ends what there is with a node; nothing is written of what it has sent once this returns. Returns what it was called.
    pub(super) fn drop(&mut self, id: NodeId, why: &str) -> Option<String> {
        let at = self.all.iter().position(|node| node.id == id)?;
        let node = self.all.swap_remove(at);
        node.session.end_because(why);
        Some(node.name)
    }

    /// Nothing more of a file is wanted.
    pub(super) fn done(&mut self, entry: u64) {
        self.done.push(entry);
    }

    pub(super) fn tell_done(&mut self) {
        for files in std::mem::take(&mut self.done).chunks(FILES) {
            self.say_all(&Word::Done { files: files.to_vec() });
        }
    }

    /// All is there. The share that was dialled has the count.
    pub(super) fn finish(&self) {
        self.say_all(&Word::Finished(Tally::default()));
    }

    fn say_all(&self, word: &Word) {
        self.all.iter().for_each(|node| self.say(node.id, word));
    }

    /// Divides what may be received among the sessions, of which `first` is that with the share that was dialled.
    pub(super) fn divide(&mut self, first: &Session, now: Instant) {
        let total_bps = self.striped.map_or(0, Striped::most_receive_bps);
        if total_bps == 0 {
            return;
        }
        let of_all = self.all.iter().map(|node| (node.id, &node.session));
        let sessions: Vec<_> = [(FIRST, first)].into_iter().chain(of_all).collect();
        let mut before = std::mem::take(&mut self.meters);
        let mut claims = Vec::new();
        for (id, session) in &sessions {
            let bytes = session.statistics().received_bytes;
            let known = before.iter().position(|(of, ..)| of == id).map(|at| before.swap_remove(at));
            let (_, mut meter, may_bps) = known.unwrap_or_else(|| (*id, Meter::new(now, bytes), 0.0));
            let used_bps = meter.rate_bps(now, bytes);
            claims.push(Claim { who: None, person_weight: 1, weight: 1, used_bps, may_bps });
            self.meters.push((*id, meter, 0.0));
        }
        let shares = divide(total_bps as f64, &claims);
        for (((_, session), (.., may)), share_bps) in sessions.iter().zip(&mut self.meters).zip(shares) {
            *may = share_bps;
            session.limit(0, (share_bps as u64).max(1));
        }
    }
}

impl Node {
    fn hear(&mut self, heard: &mut Vec<Heard>) -> Result<(), String> {
        while let Some(arrival) = self.session.next_arrival(Duration::ZERO).map_err(|cause| cause.to_string())? {
            match arrival {
                Arrival::Offer(offer) => match offer.name.clone().strip_prefix("l ") {
                    Some(number) => self.listings.accept(offer, number).map_err(|cause| cause.to_string())?,
                    None => heard.push(Heard::Offer(self.id, offer)),
                },
                Arrival::Note(note) => match Word::from_text(&note.text) {
                    Some(Word::Listed { entries }) => self.listed = Some(entries),
                    Some(Word::Missing { why, .. } | Word::Refused { why }) => return Err(printable(why.as_bytes())),
                    Some(_) => {}
                    None => return Err("it said something that is no word".to_owned()),
                },
            }
        }
        Ok(())
    }

    fn look(
        &mut self,
        known: &[Likeness],
        listed: Option<u64>,
        is_wanted: &impl Fn(u64) -> bool,
    ) -> Result<(), String> {
        loop {
            if self.next.is_none() {
                let Some(memory) = self.listings.take().map_err(|cause| cause.to_string())? else { break };
                self.next = Some(listing::read(memory.bytes()).map_err(|cause| cause.to_string())?);
            }
            let Some(entries) = self.next.as_deref() else { break };
            let known = known.get(self.entries as usize..).unwrap_or_default();
            if let Some((entry, _)) = entries.iter().zip(known).find(|(entry, known)| likeness(entry) != **known) {
                let name = shown(entry.name.as_path());
                return Err(format!("it has not the same, from {name} on: another name, size or time"));
            }
            if known.len() < entries.len() {
                break;
            }
            let (mut files, mut later) = (Vec::new(), Vec::new());
            for (entry, number) in entries.iter().zip(self.entries..).filter(|(_, number)| is_wanted(*number)) {
                match entry.kind {
                    Kind::File { size, has_holes } if is_ranged(size, has_holes) => add(&mut files, number),
                    _ => add(&mut later, number),
                }
            }
            self.entries += entries.len() as u64;
            self.next = None;
            // Should it be gone, that is found when it is heard.
            let _ = self.session.note(&Word::Wants { upto: self.entries, files, later }.to_text());
        }
        match (listed, self.listed) {
            (Some(all), Some(here)) if all != here => Err(format!("it has {here} files and folders, the others {all}")),
            _ => Ok(()),
        }
    }
}

/// What has to be the same of an entry: of folders and links not their times.
fn likeness(entry: &Entry) -> Likeness {
    let mut bytes = Vec::new();
    if matches!(entry.kind, Kind::File { .. }) {
        entry.write(&mut bytes);
    } else {
        Entry { mtime: Mtime { s: 0, ns: 0 }, ..entry.clone() }.write(&mut bytes);
    }
    let mut likeness = [0; 8];
    Hasher::new().update(&bytes).finalize_xof().fill(&mut likeness);
    u64::from_be_bytes(likeness)
}
