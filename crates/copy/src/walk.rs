//! Walks what is to be copied: folders before what is in them, names in order, links as links.

mod folders;
mod stored;

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::{Dir, Metadata, MetadataExt};

use self::folders::FolderWalk;
use self::stored::StoredWalk;
use crate::error::reason;
use crate::fields::FieldWalk;
use crate::filter::Filter;
use crate::listing::{Entry, Kind, Mtime};
use crate::names::{Name, OURS, shown};
use crate::objects::Store;
use crate::root::{Base, Root};

/// Files smaller than this are read whole, holes or not: small ones may lie in no block of their own.
const LEAST_WITH_HOLES: u64 = 64 << 10;

/// What the walk comes upon.
#[derive(Debug)]
pub(crate) enum Found {
    Entry {
        entry: Entry,
        root: Arc<Root>,
        /// Below the root's folder.
        path: PathBuf,
    },
    Unlisted {
        path: String,
        why: String,
        failed: bool,
    },
    /// Something that one may want to know.
    Notice(String),
}

/// Walks roots one after the other.
pub(crate) struct Walk {
    roots: VecDeque<Arc<Root>>,
    filter: Filter,
    /// What is in the one that is walked now.
    within: Option<Within>,
}

/// What is in a root.
enum Within {
    Folder(FolderWalk),
    Store(StoredWalk),
    /// Files that are made.
    Made(Arc<Root>, FieldWalk),
}

impl Walk {
    pub(crate) fn new(roots: Vec<Root>, filter: Filter) -> Self {
        Self { roots: roots.into_iter().map(Arc::new).collect(), filter, within: None }
    }

    /// The stores that are walked.
    pub(crate) fn stores(&self) -> Vec<Arc<Store>> {
        self.roots.iter().filter_map(|root| root.store()).map(Arc::clone).collect()
    }

    /// What lies in the Zarr group that is walked, if it is one.
    pub(crate) fn group(&self) -> Option<Vec<String>> {
        self.roots.iter().find_map(|root| root.fields()).map(|fields| fields.names())
    }

    /// What is to be said of a root before what is in it.
    fn begin(&mut self, root: &Arc<Root>) -> Option<Found> {
        let path = root.file.clone().unwrap_or_default();
        let entry = match &root.base {
            Base::Folder(dir) => self.begin_folder(root, dir),
            Base::Store(store) => Ok(self.begin_store(root, store)),
            Base::Made(fields) => {
                self.within = Some(Within::Made(Arc::clone(root), FieldWalk::new(Arc::clone(fields))));
                return Some(Found::Notice(fields.summary()));
            }
        };
        match entry {
            Ok(entry) => entry.map(|entry| Found::Entry { entry, root: Arc::clone(root), path }),
            Err(cause) => Some(unlisted(root, &path, &cause)),
        }
    }

    /// The entry of a folder, where it is not only what is in it, or of the one file.
    fn begin_folder(&mut self, root: &Arc<Root>, dir: &Dir) -> io::Result<Option<Entry>> {
        let Some(file) = &root.file else {
            let depth = u16::from(root.name.is_some());
            let metadata = dir.dir_metadata()?;
            self.within = Some(Within::Folder(FolderWalk::new(root, dir, depth, &self.filter)?));
            return Ok(root.name.clone().map(|name| entry(name, 0, Kind::Folder, &metadata)));
        };
        let metadata = dir.symlink_metadata(file)?;
        if !metadata.is_file() {
            return Err(io::Error::other("is neither file nor folder"));
        }
        let name = root.name.clone().ok_or_else(|| io::Error::other("is a file, and has nothing in it"))?;
        let kind = match (file_kind(&metadata), root.span) {
            (Kind::File { has_holes, .. }, Some((_, size))) => Kind::File { size, has_holes },
            (kind, _) => kind,
        };
        Ok(Some(entry(name, 0, kind, &metadata)))
    }

    /// The same of a store.
    fn begin_store(&mut self, root: &Arc<Root>, store: &Arc<Store>) -> Option<Entry> {
        if let Some(told) = store.one() {
            let size = root.span.map_or(told.size, |(_, size)| size);
            return Some(stored(root.name.clone()?, 0, Kind::File { size, has_holes: false }, told.mtime));
        }
        let walk = StoredWalk::new(root, store, &self.filter);
        let folder = walk.folder();
        self.within = Some(Within::Store(walk));
        folder
    }
}

impl Iterator for Walk {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        loop {
            if let Some(found) = self.within.as_mut().and_then(Within::next) {
                return Some(found);
            }
            self.within = None;
            let root = self.roots.pop_front()?;
            if let Some(found) = self.begin(&root) {
                return Some(found);
            }
        }
    }
}

impl Within {
    fn next(&mut self) -> Option<Found> {
        match self {
            Self::Folder(walk) => walk.next(),
            Self::Store(walk) => walk.next(),
            Self::Made(root, walk) => Some(match walk.next()? {
                Ok((entry, path)) => Found::Entry { entry, root: Arc::clone(root), path },
                Err((path, why)) => Found::Unlisted { path: shown(&path), why, failed: true },
            }),
        }
    }
}

fn unlisted(root: &Root, path: &Path, cause: &io::Error) -> Found {
    // No error of the system's has this kind without a number.
    let is_special = cause.kind() == io::ErrorKind::Unsupported && cause.raw_os_error().is_none();
    let why = if is_special { "neither file, folder nor link".to_owned() } else { reason(cause) };
    Found::Unlisted { path: root.called(path), why, failed: !is_special }
}

/// Nobody knows whether it is what a copy has gathered, or somebody's own.
fn left_out(root: &Root, path: &Path) -> Found {
    Found::Unlisted { path: root.called(path), why: OURS.to_owned(), failed: false }
}

fn entry(name: Name, depth: u16, kind: Kind, metadata: &Metadata) -> Entry {
    Entry { depth, name, kind, mode: metadata.mode() & 0o777, mtime: mtime(metadata) }
}

/// Something of a store, which keeps no modes.
fn stored(name: Name, depth: u16, kind: Kind, mtime: Mtime) -> Entry {
    let mode = if kind == Kind::Folder { 0o755 } else { 0o644 };
    Entry { depth, name, kind, mode, mtime }
}

fn file_kind(metadata: &Metadata) -> Kind {
    let size = metadata.len();
    Kind::File { size, has_holes: size >= LEAST_WITH_HOLES && metadata.blocks().saturating_mul(512) < size }
}

pub(crate) fn mtime(metadata: &Metadata) -> Mtime {
    Mtime { s: metadata.mtime(), ns: metadata.mtime_nsec().clamp(0, 999_999_999) as u32 }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::opened::Opened;
    use crate::selection::Patterns;

    fn tree() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("run");
        fs::create_dir_all(at.join("b/empty")).unwrap();
        fs::write(at.join("b/z.raw"), b"z").unwrap();
        fs::write(at.join("a.h5"), b"aa").unwrap();
        fs::write(at.join("a.h5.visapult-part"), b"a").unwrap();
        symlink("/nowhere", at.join("l")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, at.join("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        dir
    }

    fn walked(root: Root, filter: &Filter) -> Vec<String> {
        let told = |found| match found {
            Found::Entry { entry, path, .. } => format!("{} {} {}", entry.depth, entry.name, path.display()),
            Found::Unlisted { path, failed, .. } => format!("{} {failed}", path.rsplit('/').next().unwrap()),
            Found::Notice(text) => text,
        };
        Walk::new(vec![root], filter.clone()).map(told).collect()
    }

    #[test]
    fn folders_come_before_what_is_in_them() {
        let dir = tree();
        let run = dir.path().join("run");
        let all = [
            "1 a.h5 a.h5",
            "a.h5.visapult-part false",
            "1 b b",
            "2 empty b/empty",
            "2 z.raw b/z.raw",
            "1 l l",
            "pipe false",
        ];
        let named = walked(Root::here(&run).unwrap(), &Filter::default());
        assert_eq!(named, [&["0 run "][..], &all[..]].concat());
        let content = walked(Root::here(&run.join(".")).unwrap(), &Filter::default());
        assert_eq!(content[..3], ["0 a.h5 a.h5", "a.h5.visapult-part false", "0 b b"]);
        let file = walked(Root::here(&run.join("a.h5")).unwrap(), &Filter::default());
        assert_eq!(file, ["0 a.h5 a.h5"]);
        let only = Patterns { include: vec!["*.raw".to_owned()], exclude: vec!["empty".to_owned()], follow: false };
        let some = walked(Root::here(&run).unwrap(), &Filter::new(&only).unwrap());
        assert_eq!(some, ["0 run ", "1 b b", "2 z.raw b/z.raw"]);
    }

    #[test]
    fn nothing_outside_a_share_is_reached() {
        let dir = tree();
        symlink(dir.path(), dir.path().join("run/out")).unwrap();
        symlink("b/z.raw", dir.path().join("run/in")).unwrap();
        let share = Arc::new(Dir::open_ambient_dir(dir.path().join("run"), cap_std::ambient_authority()).unwrap());
        let within = |path: &str| Root::within(&share, None, path.as_ref(), &mut Opened::default());
        for outside in ["out", "out/run", "l"] {
            let told = within(outside).unwrap_err().to_string();
            assert!(told.starts_with(outside) && told.contains("leads out"), "{told}");
        }
        assert_eq!(walked(within("in").unwrap(), &Filter::default()), ["0 in z.raw"]);
        assert!(within("none").unwrap_err().to_string().contains("no such file"));
    }
}
