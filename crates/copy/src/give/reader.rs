//! Reads small files into bundles.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, Sender};

use super::lister::Listed;
use crate::bundle::{Builder, Item};
use crate::error::reason;
use crate::listing::MOST_WHOLE;
use crate::source::SourceFile;

/// A file that somebody writes to is read again so many times.
const TRIES: usize = 3;

/// Files to be read, with their numbers.
pub(super) type Job = Vec<(u64, Listed)>;

/// A bundle that was read, of files that were said to have so many bytes.
#[derive(Debug)]
pub(super) struct Bundle {
    pub(super) bytes: Vec<u8>,
    pub(super) listed_bytes: u64,
}

/// Reads what it is given until there is no more, or nobody wants it.
pub(super) fn run(jobs: &Mutex<Receiver<Job>>, bundles: &Sender<Bundle>) {
    let mut content = Vec::new();
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        let listed_bytes = job.iter().map(|(_, listed)| listed.size).sum();
        let mut builder = Builder::default();
        for (entry, listed) in job {
            builder.add(entry, &read(&listed, &mut content));
        }
        if bundles.send(Bundle { bytes: builder.finish(), listed_bytes }).is_err() {
            return;
        }
    }
}

fn read<'a>(listed: &Listed, content: &'a mut Vec<u8>) -> Item<'a> {
    let mut why = String::new();
    for _ in 0..TRIES {
        let outcome = SourceFile::open(&listed.root, &listed.path).and_then(|file| {
            if file.size > MOST_WHOLE {
                return Err(std::io::Error::other("it has grown since it was listed; copy it again"));
            }
            file.read_whole(content)?;
            Ok(file.mtime)
        });
        match outcome {
            Ok(mtime) => {
                let hash = *blake3::hash(content).as_bytes();
                return Item::Here { mtime, hash, content };
            }
            Err(cause) => why = format!("cannot be read: {}", reason(&cause)),
        }
    }
    Item::Not { why }
}
