//! The threads that read files, and what they have been given to read.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::Scope;

use super::lister::Listed;
use super::reader::{self, Job, Read};
use crate::error::CopyError;
use crate::ranges::{Range, RangeName};
use crate::source::ReadTime;

/// Threads that read small files: most of their time is spent waiting for a disk.
pub(super) const THREADS: usize = 4;
/// And where a store is read, which takes its time for each request.
const STORE_THREADS: usize = 12;

/// The giving end's side of them.
#[derive(Debug)]
pub(super) struct Readers {
    jobs: Sender<Job>,
    done: Receiver<Read>,
    /// Nobody wants to know any more.
    over: Arc<AtomicBool>,
    /// Bytes that were asked for and are being read.
    bytes: u64,
    /// Ranges of a store among them.
    ranges: usize,
    /// Files that are to be hashed, as one reads them; such jobs that threads have, and how many of them at most.
    to_hash: VecDeque<Vec<(u64, Listed)>>,
    hashing: usize,
    most_hashing: usize,
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

impl Readers {
    /// Starts threads that end when this is dropped.
    pub(super) fn start<'scope>(scope: &'scope Scope<'scope, '_>, of_store: bool, time: &Arc<ReadTime>) -> Self {
        let (jobs, jobs_out) = channel();
        let (done_in, done) = channel();
        let jobs_out = Arc::new(Mutex::new(jobs_out));
        let over = Arc::new(AtomicBool::new(false));
        let threads = if of_store { STORE_THREADS } else { THREADS };
        for _ in 0..threads {
            let (jobs, done, time, over) =
                (Arc::clone(&jobs_out), done_in.clone(), Arc::clone(time), Arc::clone(&over));
            scope.spawn(move || reader::run(&jobs, &done, &time, &over));
        }
        let to_hash = VecDeque::new();
        // What is wanted is read beside that.
        Self { jobs, done, over, bytes: 0, ranges: 0, to_hash, hashing: 0, most_hashing: threads - 1 }
    }

    /// Has files read into a bundle.
    pub(super) fn read_bundle(&mut self, files: Vec<(u64, Listed)>, is_asked: bool) -> Result<(), CopyError> {
        if is_asked {
            self.bytes += files.iter().map(|(_, listed)| listed.size).sum::<u64>();
        }
        self.give(Job::Bundle { files, is_asked })
    }

    /// Has a range of what is in a store read.
    pub(super) fn read_range(&mut self, name: RangeName, range: Range, listed: Listed) -> Result<(), CopyError> {
        self.bytes += range.length;
        self.ranges += 1;
        self.give(Job::Range { name, range, listed })
    }

    /// Has files hashed, some at once, once there is a thread for it.
    pub(super) fn hash(&mut self, jobs: impl IntoIterator<Item = Vec<(u64, Listed)>>) {
        self.to_hash.extend(jobs);
    }

    /// Begins to hash what is next, unless it `is_needless` by now.
    pub(super) fn hash_next(&mut self, is_needless: impl Fn(&[(u64, Listed)]) -> bool) -> Result<(), CopyError> {
        while self.hashing < self.most_hashing
            && let Some(files) = self.to_hash.pop_front()
        {
            if !is_needless(&files) {
                self.hashing += 1;
                self.give(Job::Hash(files))?;
            }
        }
        Ok(())
    }

    fn give(&self, job: Job) -> Result<(), CopyError> {
        self.jobs.send(job).map_err(|_| CopyError::Here("no thread reads files any more".to_owned()))
    }

    /// What one of them has read.
    pub(super) fn take(&mut self) -> Option<Read> {
        let read = self.done.try_recv().ok()?;
        match &read {
            Read::Bundle(bundle) if bundle.is_asked => self.bytes -= bundle.listed_bytes,
            Read::Bundle(_) => {}
            Read::Range { range, .. } => {
                self.bytes -= range.length;
                self.ranges -= 1;
            }
            Read::Hashes(_) => self.hashing -= 1,
        }
        Some(read)
    }

    /// Bytes that were asked for and are being read.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whole ranges are read, or hashed, now or soon.
    pub(super) fn is_at_ranges(&self) -> bool {
        self.ranges + self.hashing > 0 || !self.to_hash.is_empty()
    }
}
