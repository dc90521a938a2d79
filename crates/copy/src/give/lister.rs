//! Lists a tree while what was listed before is under way already.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::listing::{Kind, MOST_ENTRIES, MOST_LISTING, MOST_WHOLE, Mtime};
use crate::objects::Store;
use crate::root::Root;
use crate::walk::{Found, Walk};

/// The first is short: what is offered with it has to fit the first packets of a connection, too.
const FIRST_LISTING: u64 = 2 << 10;
/// Bytes of the longest entry.
const MOST_ENTRY: u64 = 8192;
/// A listing leaves after this time even if there is room for more.
const SOON: Duration = Duration::from_millis(100);

/// A file as it was listed.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub(super) root: Arc<Root>,
    /// Below the root's folder.
    pub(super) path: PathBuf,
    pub(super) size: u64,
    pub(super) mtime: Mtime,
    pub(super) is_ranged: bool,
}

impl Listed {
    /// It lies in a folder: what is made, or lies in a store, takes its time.
    pub(super) fn is_at_hand(&self) -> bool {
        self.root.store().is_none() && self.root.fields().is_none()
    }

    /// It is in the same store, or both are in folders.
    pub(super) fn is_beside(&self, other: &Self) -> bool {
        match (self.root.store(), other.root.store()) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

/// What comes of listing.
#[derive(Debug)]
pub(super) enum Told {
    Listing(Listing),
    Unlisted { path: String, why: String, failed: bool },
    Notice(String),
}

/// Some entries of the tree.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// Number of the first entry, and entries.
    pub(super) first: u64,
    pub(super) entries: u64,
    pub(super) bytes: Vec<u8>,
    /// The files among them, with their numbers.
    pub(super) files: Vec<(u64, Listed)>,
}

/// A file that travels in ranges rather than in a bundle.
pub(crate) const fn is_ranged(size: u64, has_holes: bool) -> bool {
    size > MOST_WHOLE || has_holes
}

/// What is listed already, and goes on being so.
#[derive(Debug)]
pub(crate) struct Lister {
    pub(super) told: Receiver<Told>,
    /// The stores that are listed.
    pub(super) stores: Vec<Arc<Store>>,
    /// What lies in the Zarr group that is listed, if it is one.
    pub(super) group: Option<Vec<String>>,
}

impl Lister {
    /// Begins to list all that `walk` finds: a few listings ahead of whoever takes them.
    pub(crate) fn start(walk: Walk) -> Self {
        let (told_in, told) = sync_channel(2);
        let (stores, group) = (walk.stores(), walk.group());
        thread::spawn(move || run(walk, &told_in));
        Self { told, stores, group }
    }
}

/// Lists all that `walk` finds, until that was all or nobody listens.
fn run(walk: Walk, told: &SyncSender<Told>) {
    let mut listing = Listing::default();
    let mut began = Instant::now();
    for found in walk {
        let sent = match found {
            Found::Unlisted { path, why, failed } => told.send(Told::Unlisted { path, why, failed }),
            Found::Notice(text) => told.send(Told::Notice(text)),
            Found::Entry { entry, root, path } => {
                if let Kind::File { size, has_holes } = entry.kind {
                    let is_ranged = is_ranged(size, has_holes);
                    let listed = Listed { root, path, size, mtime: entry.mtime, is_ranged };
                    listing.files.push((listing.first + listing.entries, listed));
                }
                entry.write(&mut listing.bytes);
                listing.entries += 1;
                Ok(())
            }
        };
        let enough = if listing.first == 0 { FIRST_LISTING } else { MOST_LISTING - MOST_ENTRY };
        let is_full = listing.entries as usize >= MOST_ENTRIES || listing.bytes.len() as u64 >= enough;
        let is_late = listing.entries > 0 && began.elapsed() > SOON;
        let sent = sent.and_then(|()| {
            if !is_full && !is_late {
                return Ok(());
            }
            let next = Listing { first: listing.first + listing.entries, ..Listing::default() };
            began = Instant::now();
            told.send(Told::Listing(std::mem::replace(&mut listing, next)))
        });
        if sent.is_err() {
            return;
        }
    }
    if listing.entries > 0 {
        let _ = told.send(Told::Listing(listing));
    }
}
