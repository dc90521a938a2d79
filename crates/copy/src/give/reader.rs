//! Reads small files into bundles, and files of any size for their hashes.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender};

use blake3::Hash;

use super::lister::Listed;
use super::stored;
use crate::bundle::{Builder, Item};
use crate::error::reason;
use crate::listing::MOST_WHOLE;
use crate::lock::lock;
use crate::ranges::{Range, RangeName};
use crate::source::{ReadTime, SourceFile};

/// A file that somebody writes to is read again so many times.
const TRIES: usize = 3;

/// Files to be read, with their numbers.
#[derive(Debug)]
pub(super) enum Job {
    /// Into a bundle.
    Bundle { files: Vec<(u64, Listed)>, is_asked: bool },
    /// For their hashes alone.
    Hash(Vec<(u64, Listed)>),
    /// A range of what is in a store.
    Range { name: RangeName, range: Range, listed: Listed },
}

/// What came of it.
#[derive(Debug)]
pub(super) enum Read {
    Bundle(Bundle),
    /// Hashes, or why there are none.
    Hashes(Vec<(u64, Result<Hash, String>)>),
    /// A range of what is in a store, or why there is none.
    Range {
        name: RangeName,
        range: Range,
        content: Result<Vec<u8>, String>,
    },
}

/// A bundle that was read, of files that were said to have so many bytes.
#[derive(Debug)]
pub(super) struct Bundle {
    pub(super) bytes: Vec<u8>,
    pub(super) listed_bytes: u64,
    pub(super) first: u64,
    pub(super) is_asked: bool,
}

/// Reads what it is given until there is no more, or it is over.
pub(super) fn run(jobs: &Mutex<Receiver<Job>>, done: &Sender<Read>, time: &ReadTime, over: &AtomicBool) {
    let mut content = Vec::new();
    loop {
        let job = lock(jobs).recv();
        let read = match job {
            Err(_) => return,
            Ok(Job::Bundle { files, is_asked }) => {
                let bytes = time.of_files(|| bundle(&files, &mut content, over));
                let first = files.first().map_or(0, |(entry, _)| *entry);
                let listed_bytes = files.iter().map(|(_, listed)| listed.size).sum();
                Read::Bundle(Bundle { bytes, listed_bytes, first, is_asked })
            }
            Ok(Job::Range { name, range, listed }) => {
                let content = time.of_files(|| stored::range(&listed, &range, over));
                Read::Range { name, range, content }
            }
            Ok(Job::Hash(files)) => {
                Read::Hashes(files.into_iter().map(|(entry, listed)| (entry, hash(&listed, over))).collect())
            }
        };
        if done.send(read).is_err() {
            return;
        }
    }
}

fn bundle(files: &[(u64, Listed)], content: &mut Vec<u8>, over: &AtomicBool) -> Vec<u8> {
    let mut builder = Builder::default();
    match files.first().and_then(|(_, first)| first.root.store()) {
        Some(store) => stored::add_all(store, files, over, &mut builder),
        None => files.iter().for_each(|(entry, listed)| builder.add(*entry, &read(listed, content))),
    }
    builder.finish()
}

fn hash(listed: &Listed, over: &AtomicBool) -> Result<Hash, String> {
    if listed.root.store().is_some() {
        return stored::hash(listed, over);
    }
    open(listed)?.hash(over).map_err(|cause| format!("cannot be read: {}", reason(&cause)))
}

/// Opens a file that is to be as it was listed.
pub(super) fn open(listed: &Listed) -> Result<SourceFile, String> {
    let file =
        SourceFile::open(&listed.root, &listed.path).map_err(|cause| format!("cannot be read: {}", reason(&cause)))?;
    if file.size != listed.size || file.mtime != listed.mtime {
        return Err("it has changed since it was listed; copy it again".to_owned());
    }
    Ok(file)
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
