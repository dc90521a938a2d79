//! What the other end says, and what is done about it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use visapult_objects::{cut, printable, unescaped};
use visapult_ripp_net::Arrival;

use super::lister::Listed;
use super::listings::taken_out;
use super::unasked::Unasked;
use super::{Giving, IDLE};
use crate::error::CopyError;
use crate::notices::line;
use crate::ranges::count;
use crate::report::Event;
use crate::words::{MOST_WHY, Word};

const POLL: Duration = Duration::from_millis(5);
/// Files that are hashed, and told of, at once.
const HASHED: usize = 256;

impl Giving<'_> {
    /// Takes what the other end says; waits a little for it.
    pub(super) fn hear(&mut self) -> Result<(), CopyError> {
        let is_reading = self.readers.bytes() > 0 || self.unasked.is_reading();
        let is_busy = !self.under_way.is_empty() || is_reading || !self.listings.is_whole() || !self.held.is_empty();
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
            // There may always be more.
            if self.stop.load(Ordering::Relaxed) {
                return Err(CopyError::Stopped);
            }
        }
        Ok(())
    }

    /// What the other end has counted by the time that it was gone, and why it went, if it said so.
    pub(super) fn hear_last(&mut self) -> Option<CopyError> {
        let mut refusal = None;
        while let Ok(Some(arrival)) = self.session.next_arrival(Duration::ZERO) {
            let Arrival::Note(note) = arrival else { continue };
            match Word::from_text(&note.text) {
                Some(Word::Tally(tally)) => self.tally = tally,
                Some(Word::Refused { why }) => refusal = Some(CopyError::Refused(printable(why.as_bytes()))),
                _ => {}
            }
        }
        refusal
    }

    fn on_word(&mut self, word: Word) -> Result<(), CopyError> {
        let is_asking =
            matches!(&word, Word::Wants { .. } | Word::Compare { .. } | Word::Compared { .. } | Word::Ranges { .. });
        if is_asking && !self.session.is_alive() {
            // What it still wants cannot be sent. What it tells counts.
            return Ok(());
        }
        match word {
            Word::Wants { upto, files, later } => self.on_wants(upto, &files, &later)?,
            Word::Compare { files } => self.on_compare(&files)?,
            Word::Compared { wanted, same } => {
                same.iter().for_each(|&entry| drop(self.held.remove(entry)));
                for entry in wanted {
                    let listed = self.held.remove(entry);
                    listed.into_iter().for_each(|listed| self.want(entry, listed));
                }
            }
            Word::Ranges { entry, ranges } => self.on_ranges(entry, ranges)?,
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
                (self.watch)(Event::Failed { path: printable(path.as_bytes()), why: line(&why) });
            }
            Word::LeftOut { path, why } => {
                (self.watch)(Event::LeftOut { path: printable(path.as_bytes()), why: line(&why) });
            }
            Word::Deleted { paths } => {
                paths.iter().for_each(|path| (self.watch)(Event::Deleted(printable(path.as_bytes()))));
            }
            Word::Differ { all } => all.iter().for_each(|one| (self.watch)(one.event())),
            Word::Notice { text } => self.notices.pass_on(&text, self.watch),
            Word::Nodes { urls } => (self.nodes, self.is_finished) = (urls, true),
            Word::Tally(tally) => self.tally = tally,
            Word::Finished(tally) => {
                self.tally = tally;
                self.is_finished = true;
            }
            Word::Refused { why } => return Err(CopyError::Refused(printable(why.as_bytes()))),
            _ => {}
        }
        Ok(())
    }

    /// The other end has looked at a listing.
    fn on_wants(&mut self, upto: u64, files: &[(u64, u64)], later: &[(u64, u64)]) -> Result<(), CopyError> {
        let mut answered = self.listings.answer(upto)?;
        for &(first, count) in files {
            for (entry, listed) in taken_out(&mut answered, first, first.saturating_add(count).min(upto)) {
                if let Some(listed) = self.unasked.want(entry, listed) {
                    self.want(entry, listed);
                }
            }
        }
        self.send_otherwise(|unasked| unasked.answer(upto));
        for &(first, count) in later {
            self.held.add(taken_out(&mut answered, first, first.saturating_add(count).min(upto)));
        }
        Ok(())
    }

    /// What was to come in a bundle that nobody had asked for comes in one that is.
    pub(super) fn send_otherwise(&mut self, files: impl FnOnce(&mut Unasked) -> Vec<(u64, Listed)>) {
        files(&mut self.unasked).into_iter().for_each(|(entry, listed)| self.want(entry, listed));
    }

    fn want(&mut self, entry: u64, listed: Listed) {
        if listed.is_ranged {
            self.ranged.insert(entry, listed);
        } else {
            self.tasks.want(entry, listed);
        }
    }

    /// Ranges of a file are wanted.
    fn on_ranges(&mut self, entry: u64, ranges: Vec<(u64, u64)>) -> Result<(), CopyError> {
        let Some(size) = self.ranged.get(&entry).map(|listed| listed.size) else { return Ok(()) };
        if ranges.iter().any(|&(_, end)| end > count(size)) {
            return Err(CopyError::Protocol("it wants a range that the file has not".to_owned()));
        }
        let ranges = self.not_offered(entry, ranges);
        ranges.into_iter().for_each(|range| self.tasks.want_ranges(entry, range));
        Ok(())
    }

    /// The other end wants the hashes of files that it has not answered yet.
    fn on_compare(&mut self, files: &[(u64, u64)]) -> Result<(), CopyError> {
        for &(first, count) in files {
            let end = first.saturating_add(count);
            let files = self.held.ask_hashes(first, end, self.listings.take_out(first, end));
            // Of a large one it is told at once: it may be here by then, and wait for that.
            let (large, small): (Vec<_>, Vec<_>) = files.into_iter().partition(|(_, listed)| listed.is_ranged);
            let jobs = small.chunks(HASHED).chain(large.chunks(1)).map(<[_]>::to_vec);
            self.readers.hash(jobs);
        }
        self.hash_next()
    }

    /// Has files hashed; of large ones that are in their place by now, or failed, nobody waits for it.
    fn hash_next(&mut self) -> Result<(), CopyError> {
        let Self { readers, held, ranged, .. } = self;
        readers.hash_next(|files| {
            let is_forgotten = |entry: &u64| !held.holds(*entry) && !ranged.contains_key(entry);
            matches!(files, [(entry, listed)] if listed.is_ranged && is_forgotten(entry))
        })
    }

    /// Tells hashes of files, or why there are none.
    pub(super) fn tell_contents(&mut self, hashes: Vec<(u64, Result<blake3::Hash, String>)>) -> Result<(), CopyError> {
        let mut files = Vec::new();
        for (entry, outcome) in hashes {
            match outcome {
                Ok(hash) => files.push((entry, hash.to_hex().to_string())),
                Err(why) => {
                    self.held.remove(entry);
                    self.say(&Word::Missing { entry, why: cut(&why, MOST_WHY).to_owned() })?;
                }
            }
        }
        self.say(&Word::Contents { files })?;
        self.hash_next()
    }

    fn forget(&mut self, entry: u64) {
        self.held.remove(entry);
        self.ranged.remove(&entry);
        self.failed.remove(&entry);
        self.open.take_if(|(open, _)| *open == entry);
    }
}
