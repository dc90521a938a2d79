//! What is asked for: entries are held against what is there, as they are listed and as hashes become known.

use std::path::Path;

use super::comparing::Compared;
use super::pool::{Job, Pending};
use super::telling::FILES;
use super::tree::Verdict;
use super::{Taking, protocol};
use crate::error::CopyError;
use crate::give::is_ranged;
use crate::listing;
use crate::report::NOT_THERE;
use crate::wish::Alike;
use crate::words::Word;

/// No further listing is looked at while so many files are wanted.
const MOST_PENDING: usize = 32 << 10;

/// How something differs, in a dry run, that has to give way first.
const OF_ANOTHER_KIND: &str = "is of another kind there";

const OUT_OF_TURN: &str = "its entries do not follow one another";

/// What is said of a file that is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Nothing,
    Wanted,
    /// Wanted of whoever has the least to do.
    Later,
    Compare,
    /// Wanted, and so is its hash.
    ByWholeHash,
}

impl Taking<'_> {
    /// Looks at the next listings that are whole.
    pub(super) fn look(&mut self) -> Result<(), CopyError> {
        while self.pending.len() < MOST_PENDING
            && let Some(memory) = self.arriving.listings.take()?
        {
            let (mut wanted, mut later, mut alike, mut by_whole_hash) =
                (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            for entry in listing::read(memory.bytes()).map_err(|cause| CopyError::Protocol(cause.to_string()))? {
                let number = self.entries;
                if self.dealing.is_some() {
                    self.nodes.know(&entry);
                }
                self.entries += 1;
                if let Some(outline) = &mut self.outline {
                    let item = outline.item(entry).ok_or_else(|| protocol(OUT_OF_TURN))?;
                    self.telling.listed(item);
                    continue;
                }
                self.tree.make_top(&entry)?;
                self.telling.top.clone_from(self.tree.top());
                let verdict = self.tree.take(entry).ok_or_else(|| protocol(OUT_OF_TURN))?;
                match verdict {
                    Ok(verdict) => {
                        if number == 0 {
                            self.foresee(&verdict);
                        }
                        let files = match self.on_verdict(number, verdict)? {
                            Answer::Nothing => continue,
                            Answer::Wanted => &mut wanted,
                            Answer::Later => &mut later,
                            Answer::Compare => &mut alike,
                            Answer::ByWholeHash => {
                                by_whole_hash.push(number);
                                &mut alike
                            }
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
            for wanted in by_whole_hash.chunks(FILES) {
                self.telling.say(&Word::Compared { wanted: wanted.to_vec(), same: Vec::new() })?;
            }
        }
        Ok(())
    }

    fn on_verdict(&mut self, entry: u64, verdict: Verdict) -> Result<Answer, CopyError> {
        match self.hold_back(entry, verdict) {
            Some(verdict) => self.answer(entry, verdict),
            None => Ok(Answer::Later),
        }
    }

    /// What is said of an entry, and done about it.
    pub(super) fn answer(&mut self, entry: u64, verdict: Verdict) -> Result<Answer, CopyError> {
        match verdict {
            Verdict::Folder { path, is_new } => {
                self.telling.tally.folders += u64::from(is_new);
                self.tell_differs(is_new, &path, NOT_THERE, None)?;
            }
            Verdict::StandIn { at, name } => {
                self.telling.stand_ins.add(at.clone(), name);
                self.telling.tally.folders += 1;
                self.tell_differs(true, &at, OF_ANOTHER_KIND, None)?;
            }
            // It is counted when it is made.
            Verdict::Later { path } => {
                self.telling.tally.links += u64::from(self.wish.dry_run);
                self.tell_differs(true, &path, OF_ANOTHER_KIND, None)?;
            }
            Verdict::Link { path, is_new } => {
                self.telling.tally.links += u64::from(is_new);
                self.tell_differs(is_new, &path, "is another link, or not there", None)?;
            }
            Verdict::NoLink => {
                self.links += 1;
                self.telling.tally.left_out += 1;
            }
            Verdict::Same { pending, .. } | Verdict::Wanted { pending, .. } if self.is_told_hashes() => {
                self.comparing.begin(entry, false, true);
                self.pending.insert(entry, pending);
                return Ok(Answer::Compare);
            }
            Verdict::Same { pending, has_holes } if self.wish.alike != Alike::SizeAndTime => {
                self.comparing.begin(entry, has_holes, false);
                self.pending.insert(entry, pending.clone());
                self.pool.give(Job::Hash { entry, pending });
                return Ok(Answer::Compare);
            }
            Verdict::Same { pending, .. } => {
                self.telling.count_same(&pending);
                if self.wish.hashes {
                    self.pool.give(Job::Hash { entry, pending });
                }
            }
            Verdict::Wanted { pending, has_holes } => {
                let needs_hash = is_ranged(pending.origin.size, has_holes) && self.needs_whole_hash(&pending);
                let is_begun = pending.is_begun;
                let answer = self.want(entry, pending, has_holes)?;
                if needs_hash && answer == Answer::Wanted {
                    self.whole_hashes.ask(entry, is_begun);
                    return Ok(Answer::ByWholeHash);
                }
                return Ok(answer);
            }
            Verdict::Elsewhere | Verdict::Nowhere => {}
        }
        Ok(Answer::Nothing)
    }

    /// Only the hashes of the sources are asked for.
    const fn is_told_hashes(&self) -> bool {
        self.wish.dry_run && self.wish.hashes
    }

    fn tell_differs(&mut self, differs: bool, path: &Path, how: &str, bytes: Option<u64>) -> Result<(), CopyError> {
        if differs && self.wish.dry_run { self.telling.differs(path, how, bytes) } else { Ok(()) }
    }

    pub(super) fn want(&mut self, entry: u64, pending: Pending, has_holes: bool) -> Result<Answer, CopyError> {
        self.telling.count_wanted(&pending);
        let is_ranged = is_ranged(pending.origin.size, has_holes);
        // What is there of one that comes in ranges is known once it is opened.
        if !pending.replaces && (self.wish.dry_run || !is_ranged) {
            self.room.need(pending.origin.size);
        }
        if self.wish.dry_run {
            let how = match &pending {
                Pending { waits: true, .. } => OF_ANOTHER_KIND,
                Pending { replaces: true, .. } => "differs",
                _ => NOT_THERE,
            };
            self.tell_differs(true, &pending.path(), how, Some(pending.origin.size))?;
            return Ok(Answer::Nothing);
        }
        self.take_document_away()?;
        let mut answer = Answer::Wanted;
        if is_ranged {
            self.room.open();
            let job = Job::Open { entry, pending: pending.clone(), anew: self.wish.anew };
            self.pool.give(job);
        } else if let Some(dealing) = &mut self.dealing
            // Of what is held against contents small files come from whom those are.
            && self.wish.alike == Alike::SizeAndTime
        {
            dealing.want_file(entry, pending.origin.size);
            answer = Answer::Later;
        }
        self.pending.insert(entry, pending);
        Ok(answer)
    }

    pub(super) fn on_compared(&mut self, entry: u64, compared: Compared) -> Result<(), CopyError> {
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
        if is_ranged(pending.origin.size, compared.has_holes) && self.may_ask_whole_hash() {
            self.whole_hashes.hold(entry, compared.hash);
        }
        let answer = self.want(entry, pending, compared.has_holes)?;
        if answer == Answer::Wanted {
            // Before it is said which ranges of it are.
            self.telling.say(&Word::Compared { wanted: vec![entry], same: Vec::new() })?;
        }
        Ok(())
    }
}

/// Adds a number to some that are told as first and count.
pub(super) fn add(files: &mut Vec<(u64, u64)>, number: u64) {
    match files.last_mut() {
        Some((first, count)) if *first + *count == number => *count += 1,
        _ => files.push((number, 1)),
    }
}
