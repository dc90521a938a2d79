//! What is wanted is read and sent, as far ahead of what has arrived as the path needs it.

use std::sync::Arc;

use visapult_objects::cut;

use super::Giving;
use super::lister::Listed;
use super::reader::{Bundle, Read, open};
use super::tasks::Task;
use super::under_way::What;
use crate::bundle::{BUNDLE, FULL_BYTES, FULL_FILES};
use crate::error::CopyError;
use crate::ranges::{Extents, Range, RangeName, range};
use crate::source::{RangeMemory, RangeSource, SourceFile};
use crate::words::{MOST_WHY, Word};

impl Giving<'_> {
    /// Offers what is wanted, as far ahead of what has arrived as the path needs it.
    pub(super) fn offer(&mut self) -> Result<(), CopyError> {
        while let Some(read) = self.readers.take() {
            match read {
                Read::Bundle(bundle) => self.offer_bundle(bundle)?,
                Read::Hashes(hashes) => self.tell_contents(hashes)?,
                Read::Range { name, range, content } => self.on_read_range(&name, range, content)?,
            }
        }
        let most = self.ahead.bytes(&self.session.statistics());
        let mut ahead = self.readers.bytes() + self.under_way.left(|what| !self.is_unasked(what));
        while ahead < most && !self.under_way.is_full() {
            if self.tasks.next_ranged().is_some_and(|entry| self.must_wait(entry)) {
                break;
            }
            match self.tasks.take() {
                None => break,
                Some(Task::Whole(entry, listed)) => ahead += self.read_bundle(entry, listed)?,
                Some(Task::Range(entry, range)) => ahead += self.offer_range(entry, range)?,
            }
        }
        if ahead < most && self.tasks.is_empty() {
            self.read_unasked()?;
        }
        Ok(())
    }

    /// Nobody has asked for it yet.
    fn is_unasked(&self, what: What) -> bool {
        match what {
            What::Unasked(first) => self.unasked.holds(first),
            What::Range { entry, index } => self.early.holds((entry, index)),
            What::Listing | What::Bundle => false,
        }
    }

    /// Has bundles read before they are asked for.
    fn read_unasked(&mut self) -> Result<(), CopyError> {
        let (listed, unanswered) = self.listings.open();
        while let Some(files) = self.unasked.next(listed, unanswered) {
            self.readers.read_bundle(files, false)?;
        }
        Ok(())
    }

    /// Offers a bundle that was read, unless it is needless by now.
    fn offer_bundle(&mut self, bundle: Bundle) -> Result<(), CopyError> {
        let Bundle { bytes: content, first, is_asked, .. } = bundle;
        let (name, what) = if is_asked {
            (BUNDLE.to_owned(), What::Bundle)
        } else {
            let Some((name, is_asked)) = self.unasked.name(first) else { return Ok(()) };
            (name, if is_asked { What::Bundle } else { What::Unasked(first) })
        };
        let bytes = content.len() as u64;
        Ok(self.under_way.offer(&name, Arc::new(content), bytes, what)?)
    }

    /// Has a bundle read that begins with this file; returns its bytes.
    fn read_bundle(&mut self, entry: u64, listed: Listed) -> Result<u64, CopyError> {
        let mut bytes = listed.size;
        let mut job = vec![(entry, listed)];
        while job.len() < FULL_FILES
            && bytes < FULL_BYTES
            && let Some((entry, listed)) = self.tasks.take_whole(|next| next.is_beside(&job[0].1))
        {
            bytes += listed.size;
            job.push((entry, listed));
        }
        self.readers.read_bundle(job, true)?;
        Ok(bytes)
    }

    /// Offers one range of a file; returns its bytes.
    fn offer_range(&mut self, entry: u64, index: u64) -> Result<u64, CopyError> {
        if self.failed.contains(&entry) {
            return Ok(0);
        }
        let Some(listed) = self.ranged.get(&entry) else { return Ok(0) };
        if listed.root.store().is_some() {
            return self.read_range(entry, index, listed.clone());
        }
        let file = match &self.open {
            Some((open, file)) if *open == entry => Arc::clone(file),
            _ => match open(listed) {
                Ok(file) => Arc::clone(&self.open.insert((entry, Arc::new(file))).1),
                Err(why) => return self.miss(entry, why),
            },
        };
        self.offer_range_of(entry, index, file)
    }

    /// Offers one range of a file that is open; returns its bytes.
    pub(super) fn offer_range_of(&mut self, entry: u64, index: u64, file: Arc<SourceFile>) -> Result<u64, CopyError> {
        let Some(range) = range(file.size, index) else {
            return Err(CopyError::Protocol("it wants a range that the file has not".to_owned()));
        };
        let extents = file.extents(&range);
        let name = RangeName::of(entry, index, range.length, &extents).to_text();
        let bytes = extents.bytes();
        let source = RangeSource { file, range, extents, read_time: Arc::clone(&self.headway.read_time) };
        self.under_way.offer(&name, Arc::new(source), bytes, What::Range { entry, index })?;
        Ok(bytes)
    }

    /// Has a range of a store read; returns its bytes.
    fn read_range(&mut self, entry: u64, index: u64, listed: Listed) -> Result<u64, CopyError> {
        let Some(range) = range(listed.size, index) else {
            return Err(CopyError::Protocol("it wants a range that the file has not".to_owned()));
        };
        let (bytes, name) = (range.length, RangeName::of(entry, index, range.length, &Extents::dense(range.length)));
        self.readers.read_range(name, range, listed)?;
        Ok(bytes)
    }

    /// A store that gives no parts is read from its beginning to its end, by one.
    fn must_wait(&self, entry: u64) -> bool {
        let store = self.ranged.get(&entry).and_then(|listed| listed.root.store());
        self.readers.is_at_ranges() && store.is_some_and(|store| !store.gives_parts())
    }

    /// Offers a range of a store that was read.
    fn on_read_range(
        &mut self,
        name: &RangeName,
        range: Range,
        content: Result<Vec<u8>, String>,
    ) -> Result<(), CopyError> {
        if self.failed.contains(&name.entry) || !self.ranged.contains_key(&name.entry) {
            return Ok(());
        }
        match content {
            Ok(content) => {
                let (bytes, what) = (range.length, What::Range { entry: name.entry, index: name.range });
                let content = Arc::new(RangeMemory { content, range });
                Ok(self.under_way.offer(&name.to_text(), content, bytes, what)?)
            }
            Err(why) => self.miss(name.entry, why).map(|_| ()),
        }
    }

    /// A file cannot be given.
    fn miss(&mut self, entry: u64, why: String) -> Result<u64, CopyError> {
        self.failed.insert(entry);
        self.give_up(entry);
        self.say(&Word::Missing { entry, why: cut(&why, MOST_WHY).to_owned() })?;
        Ok(0)
    }

    /// Takes note of what is over. Whether a range was delivered or failed, the other end knows as well.
    pub(super) fn settle(&mut self) {
        for (what, outcome) in self.under_way.settled() {
            match (outcome, what) {
                (outcome, What::Unasked(first)) => self.send_otherwise(|unasked| unasked.over(first, outcome.is_ok())),
                (Ok(()), _) => {}
                // Nobody had asked for it.
                (Err(_), What::Range { entry, index }) if self.early.forget((entry, index)) => {}
                (Err(_), What::Range { entry, .. }) => {
                    if self.failed.insert(entry) {
                        self.give_up(entry);
                    }
                }
                (Err(cause), What::Listing | What::Bundle) => tracing::debug!("an object was not delivered: {cause}"),
            }
        }
    }

    /// Sends nothing more of a file.
    pub(super) fn give_up(&mut self, entry: u64) {
        self.tasks.drop_ranges(entry);
        self.under_way.cancel(entry);
    }
}
