//! What is wanted is read and sent, as far ahead of what has arrived as the path needs it.

use std::sync::Arc;

use visapult_objects::cut;

use super::lister::Listed;
use super::reader::{Bundle, Job, Read, open};
use super::{Giving, Task, UnderWay, What};
use crate::bundle::{BUNDLE, FULL_BYTES, FULL_FILES};
use crate::error::CopyError;
use crate::ranges::{Extents, Range, RangeName, range};
use crate::source::{RangeMemory, RangeSource, SourceFile};
use crate::words::{MOST_WHY, Word};

/// Objects under way at most.
const MOST_OBJECTS: usize = 4096;

impl Giving<'_> {
    /// Offers what is wanted, as far ahead of what has arrived as the path needs it.
    pub(super) fn offer(&mut self) -> Result<(), CopyError> {
        while let Ok(read) = self.read.try_recv() {
            let bundle = match read {
                Read::Bundle(bundle) => bundle,
                Read::Hashes(hashes) => {
                    self.tell_contents(hashes)?;
                    continue;
                }
                Read::Range { name, range, content } => {
                    self.on_read_range(&name, range, content)?;
                    continue;
                }
            };
            self.offer_bundle(bundle)?;
        }
        let most = self.ahead.bytes(&self.session.statistics());
        let asked = self.under_way.iter().filter(|one| !self.is_unasked(one));
        let mut ahead = self.reading + asked.map(|one| one.bytes - one.object.arrived().min(one.bytes)).sum::<u64>();
        while ahead < most && self.under_way.len() < MOST_OBJECTS {
            match self.tasks.pop_front() {
                None => break,
                Some(Task::Whole(entry, listed)) => ahead += self.read_bundle(entry, listed)?,
                Some(Task::Ranges(entry, first, end)) if self.must_wait(entry) => {
                    self.tasks.push_front(Task::Ranges(entry, first, end));
                    break;
                }
                Some(Task::Ranges(entry, first, end)) => {
                    if first + 1 < end {
                        self.tasks.push_front(Task::Ranges(entry, first + 1, end));
                    }
                    ahead += self.offer_range(entry, first)?;
                }
            }
        }
        if ahead < most && self.tasks.is_empty() {
            self.read_unasked()?;
        }
        Ok(())
    }

    /// Nobody has asked for it yet.
    fn is_unasked(&self, one: &UnderWay) -> bool {
        match one.what {
            What::Unasked(first) => self.unasked.holds(first),
            _ => self.early.holds(one.range_of()),
        }
    }

    /// Has bundles read before they are asked for.
    fn read_unasked(&mut self) -> Result<(), CopyError> {
        while let Some(files) = self.unasked.next(&self.listed, &self.unanswered) {
            self.give_job(Job::Bundle { files, is_asked: false })?;
        }
        Ok(())
    }

    /// Offers a bundle that was read, unless it is needless by now.
    fn offer_bundle(&mut self, bundle: Bundle) -> Result<(), CopyError> {
        let Bundle { bytes: content, listed_bytes, first, is_asked } = bundle;
        let (name, what) = if is_asked {
            self.reading -= listed_bytes.min(self.reading);
            (BUNDLE.to_owned(), What::Bundle)
        } else {
            let Some((name, is_asked)) = self.unasked.name(first) else { return Ok(()) };
            (name, if is_asked { What::Bundle } else { What::Unasked(first) })
        };
        let bytes = content.len() as u64;
        let object = self.content.send(&name, Arc::new(content))?;
        self.under_way.push(UnderWay { object, bytes, what });
        Ok(())
    }

    /// Has a bundle read that begins with this file; returns its bytes.
    fn read_bundle(&mut self, entry: u64, listed: Listed) -> Result<u64, CopyError> {
        let mut bytes = listed.size;
        let mut job = vec![(entry, listed)];
        while job.len() < FULL_FILES && bytes < FULL_BYTES {
            match self.tasks.pop_front() {
                Some(Task::Whole(entry, listed)) if listed.is_beside(&job[0].1) => {
                    bytes += listed.size;
                    job.push((entry, listed));
                }
                Some(other) => {
                    self.tasks.push_front(other);
                    break;
                }
                None => break,
            }
        }
        self.reading += bytes;
        self.give_job(Job::Bundle { files: job, is_asked: true })?;
        Ok(bytes)
    }

    pub(super) fn give_job(&self, job: Job) -> Result<(), CopyError> {
        self.jobs.send(job).map_err(|_| CopyError::Here("no thread reads files any more".to_owned()))
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
        let object = self.content.send(
            &name,
            Arc::new(RangeSource { file, range, extents, read_time: Arc::clone(&self.headway.read_time) }),
        )?;
        self.under_way.push(UnderWay { object, bytes, what: What::Range { entry, index } });
        Ok(bytes)
    }

    /// Has a range of a store read; returns its bytes.
    fn read_range(&mut self, entry: u64, index: u64, listed: Listed) -> Result<u64, CopyError> {
        let Some(range) = range(listed.size, index) else {
            return Err(CopyError::Protocol("it wants a range that the file has not".to_owned()));
        };
        self.reading += range.length;
        self.reading_ranges += 1;
        let name = RangeName::of(entry, index, range.length, &Extents::dense(range.length));
        self.give_job(Job::Range { name, range, listed })?;
        Ok(range.length)
    }

    /// A store that gives no parts is read from its beginning to its end, by one.
    fn must_wait(&self, entry: u64) -> bool {
        let store = self.ranged.get(&entry).and_then(|listed| listed.root.store());
        let is_read = self.reading_ranges + self.hashing > 0 || !self.to_hash.is_empty();
        is_read && store.is_some_and(|store| !store.gives_parts())
    }

    /// Offers a range of a store that was read.
    fn on_read_range(
        &mut self,
        name: &RangeName,
        range: Range,
        content: Result<Vec<u8>, String>,
    ) -> Result<(), CopyError> {
        self.reading -= range.length.min(self.reading);
        self.reading_ranges -= 1;
        if self.failed.contains(&name.entry) || !self.ranged.contains_key(&name.entry) {
            return Ok(());
        }
        match content {
            Ok(content) => {
                let object = self.content.send(&name.to_text(), Arc::new(RangeMemory { content, range }))?;
                let what = What::Range { entry: name.entry, index: name.range };
                self.under_way.push(UnderWay { object, bytes: range.length, what });
                Ok(())
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
    pub(super) fn settle(&mut self) -> Result<(), CopyError> {
        let mut failed = Vec::new();
        let mut unasked = Vec::new();
        let mut delivered = 0;
        self.under_way.retain(|one| {
            if !one.object.is_over() {
                return true;
            }
            let outcome = one.object.wait();
            delivered += if outcome.is_ok() { one.bytes } else { 0 };
            match (outcome, one.what) {
                (outcome, What::Unasked(first)) => unasked.push((first, outcome.is_ok())),
                (Ok(_), _) => {}
                // Nobody had asked for it.
                (Err(_), What::Range { entry, index }) if self.early.forget((entry, index)) => {}
                (Err(_), What::Range { entry, .. }) => failed.push(entry),
                (Err(cause), What::Listing | What::Bundle) => tracing::debug!("an object was not delivered: {cause}"),
            }
            false
        });
        self.delivered += delivered;
        for (first, is_delivered) in unasked {
            self.send_otherwise(|unasked| unasked.over(first, is_delivered));
        }
        for entry in failed {
            if self.failed.insert(entry) {
                self.give_up(entry);
            }
        }
        Ok(())
    }

    pub(super) fn arrived(&self) -> u64 {
        self.delivered
            + self
                .under_way
                .iter()
                .filter(|one| one.bytes > 0)
                .map(|one| one.object.arrived().min(one.bytes))
                .sum::<u64>()
    }

    /// Sends nothing more of a file.
    pub(super) fn give_up(&mut self, entry: u64) {
        self.tasks.retain(|task| !matches!(task, Task::Ranges(of, ..) if *of == entry));
        let of_it = |one: &&UnderWay| one.range_of().is_some_and(|(of, _)| of == entry);
        self.under_way.iter().filter(of_it).for_each(|one| one.object.cancel());
    }
}
