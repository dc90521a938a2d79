//! Walks what an object store has below a URL.

use std::path::Path;
use std::sync::Arc;

use super::{Found, left_out, stored};
use crate::filter::Filter;
use crate::listing::{Entry, Kind};
use crate::objects::{Keys, Step, Store};
use crate::root::Root;

/// Walks the keys of a root.
pub(super) struct StoredWalk {
    root: Arc<Root>,
    keys: Keys,
}

impl StoredWalk {
    pub(super) fn new(root: &Arc<Root>, store: &Arc<Store>, filter: &Filter) -> Self {
        Self { root: Arc::clone(root), keys: Keys::new(store, filter.clone()) }
    }

    /// The folder that it is, where that is copied with what is in it.
    pub(super) fn folder(&self) -> Option<Entry> {
        Some(stored(self.root.name.clone()?, 0, Kind::Folder, self.keys.now()))
    }
}

impl Iterator for StoredWalk {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        let root = Arc::clone(&self.root);
        let above = u16::from(root.name.is_some());
        let now = self.keys.now();
        Some(match self.keys.next()? {
            Step::Folder { path, name, depth } => {
                Found::Entry { entry: stored(name, above + depth, Kind::Folder, now), root, path }
            }
            Step::File { path, name, depth, told } => {
                let kind = Kind::File { size: told.size, has_holes: false };
                Found::Entry { entry: stored(name, above + depth, kind, told.mtime), root, path }
            }
            Step::Odd { key, why } => Found::Unlisted { path: root.shown(Path::new(&key)), why, failed: true },
            Step::Ours { path } => left_out(&root, &path),
        })
    }
}
