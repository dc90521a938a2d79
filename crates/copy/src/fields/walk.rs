//! Lists the files of a group: chunks of each field, its document behind them, coordinates, and the group's document last of all, so that what looks
//! like a group is one.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::group::{CHUNKS, DOCUMENT};
use super::{FieldTree, Made};
use crate::listing::{Entry, Kind, Mtime};
use crate::names::last_name;

const FOLDER_MODE: u32 = 0o755;
const FILE_MODE: u32 = 0o644;

/// Walks a tree from its beginning.
#[derive(Debug)]
pub(crate) struct FieldWalk {
    tree: Arc<FieldTree>,
    /// What has been made, and not been asked for.
    ready: VecDeque<(Entry, PathBuf)>,
    /// The array, and the chunk of it, that come next.
    array: usize,
    chunk: u64,
    /// Nothing more comes.
    is_over: bool,
}

/// A file or folder and its path, or what could not be made and why.
pub(crate) type Step = Result<(Entry, PathBuf), (PathBuf, String)>;

impl FieldWalk {
    pub(crate) fn new(tree: Arc<FieldTree>) -> Self {
        Self { tree, ready: VecDeque::new(), array: 0, chunk: 0, is_over: false }
    }

    /// Makes ready what comes next; chunks a batch at a time.
    fn advance(&mut self) -> Result<(), (PathBuf, String)> {
        let tree = Arc::clone(&self.tree);
        let Some(array) = tree.group.arrays.get(self.array) else {
            self.is_over = true;
            for axis in &tree.group.coordinates {
                self.folder(Path::new(axis));
                self.folder(&Path::new(axis).join(CHUNKS));
                self.document(&Path::new(axis).join(CHUNKS).join("0"));
                self.document(&Path::new(axis).join(DOCUMENT));
            }
            self.document(Path::new(DOCUMENT));
            return Ok(());
        };
        if self.chunk == 0 {
            self.folder(Path::new(&array.name));
            self.folder(&Path::new(&array.name).join(CHUNKS));
        }
        let batch = array.batches.of(self.chunk);
        let chunks = array.batches.chunks(batch);
        let is_dry = tree.part.is_dry;
        let made = if is_dry { Ok(None) } else { tree.batch(array, batch).map(Some) };
        let made = made.map_err(|why| (array.path(chunks.start), why))?;
        for (number, chunk) in chunks.clone().enumerate() {
            let path = array.path(chunk);
            self.folders_above(array.zarr.shape.len(), array.batches.place(chunk), &path);
            match made.as_ref().and_then(|made| made.get(number)) {
                Some(bytes) => self.file(&path, &tree.made(Arc::clone(bytes))),
                None => self.entry(&path, Kind::File { size: array.chunk_bytes(), has_holes: false }, 0),
            }
        }
        self.chunk = chunks.end;
        if self.chunk == array.batches.count() {
            self.document(&Path::new(&array.name).join(DOCUMENT));
            (self.array, self.chunk) = (self.array + 1, 0);
        }
        Ok(())
    }

    /// Folders that the first chunk in each of them brings along.
    fn folders_above(&mut self, axes: usize, [_, z, y, x]: [u64; 4], path: &Path) {
        let above: Vec<&Path> = path.ancestors().collect();
        if axes == 4 && (z, y, x) == (0, 0, 0) {
            self.folder(above[3]);
        }
        if (y, x) == (0, 0) {
            self.folder(above[2]);
        }
        if x == 0 {
            self.folder(above[1]);
        }
    }

    fn folder(&mut self, path: &Path) {
        self.entry(path, Kind::Folder, 0);
    }

    fn document(&mut self, path: &Path) {
        let tree = Arc::clone(&self.tree);
        if let Some(bytes) = tree.group.documents.get(path) {
            self.file(path, &tree.made(Arc::clone(bytes)));
        }
    }

    fn file(&mut self, path: &Path, made: &Made) {
        let size = made.bytes.len() as u64;
        self.entry(path, Kind::File { size, has_holes: false }, made.mtime.ns);
    }

    fn entry(&mut self, path: &Path, kind: Kind, ns: u32) {
        let name = last_name(path);
        let mode = if kind == Kind::Folder { FOLDER_MODE } else { FILE_MODE };
        let depth = path.iter().count() as u16 - 1;
        let mtime = Mtime { s: self.tree.origin.changed.s, ns };
        self.ready.extend(name.map(|name| (Entry { depth, name, kind, mode, mtime }, path.to_owned())));
    }
}

impl Iterator for FieldWalk {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        while self.ready.is_empty() && !self.is_over {
            if let Err(unmade) = self.advance() {
                // Without its document nobody takes what there is for the whole.
                self.is_over = true;
                return Some(Err(unmade));
            }
        }
        self.ready.pop_front().map(Ok)
    }
}
