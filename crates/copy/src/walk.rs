//! Walks what is to be copied: folders before what is in them, names in order, links as links.

use std::collections::VecDeque;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, Metadata, MetadataExt};

use crate::error::reason;
use crate::fields::FieldWalk;
use crate::file_id::FileId;
use crate::filter::Filter;
use crate::listing::{Entry, Kind, MOST_DEPTH, Mtime, is_target};
use crate::names::{Name, OURS, shown};
use crate::objects::{Keys, Step, Store};
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
    root: Option<Arc<Root>>,
    /// What links lead to is found in this, once one was followed.
    beyond: Option<Arc<Root>>,
    folders: Vec<Folder>,
    /// Of a store, what is listed of it.
    keys: Option<Keys>,
    /// In place of these, where the files are made.
    fields: Option<FieldWalk>,
}

struct Folder {
    dir: Dir,
    /// What it is found in, and its path there: where a link has led to it, that is another one than below what is copied.
    root: Arc<Root>,
    path: PathBuf,
    meant: PathBuf,
    names: std::vec::IntoIter<Name>,
    /// Depth of what is in it.
    depth: u16,
}

impl Walk {
    pub(crate) fn new(roots: Vec<Root>, filter: Filter) -> Self {
        Self {
            roots: roots.into_iter().map(Arc::new).collect(),
            filter,
            root: None,
            beyond: None,
            folders: Vec::new(),
            keys: None,
            fields: None,
        }
    }

    /// The stores that are walked.
    pub(crate) fn stores(&self) -> Vec<Arc<Store>> {
        self.roots.iter().filter_map(|root| root.store()).map(Arc::clone).collect()
    }

    fn begin(&mut self, root: Arc<Root>) -> Option<Found> {
        self.root = Some(Arc::clone(&root));
        self.beyond = None;
        let path = root.file.clone().unwrap_or_default();
        let dir = match &root.base {
            Base::Folder(dir) => dir,
            Base::Store(store) => return self.begin_store(&root, store, path),
            Base::Made(fields) => {
                self.fields = Some(FieldWalk::new(Arc::clone(fields)));
                return Some(Found::Notice(fields.summary()));
            }
        };
        let metadata = match &root.file {
            Some(file) => dir.symlink_metadata(file),
            None => dir.dir_metadata(),
        };
        let outcome = metadata.and_then(|metadata| match (&root.file, &root.name) {
            (None, None) => {
                self.enter(Folder::of(dir.try_clone()?, &root, 0))?;
                Ok(None)
            }
            (None, Some(name)) => {
                self.enter(Folder::of(dir.try_clone()?, &root, 1))?;
                Ok(Some(entry(name.clone(), 0, Kind::Folder, &metadata)))
            }
            (Some(_), name) if metadata.is_file() => {
                let name = name.clone().ok_or_else(|| io::Error::other("is a file, and has nothing in it"))?;
                let kind = match (file_kind(&metadata), root.span) {
                    (Kind::File { has_holes, .. }, Some((_, size))) => Kind::File { size, has_holes },
                    (kind, _) => kind,
                };
                Ok(Some(entry(name, 0, kind, &metadata)))
            }
            (Some(_), _) => Err(io::Error::other("is neither file nor folder")),
        });
        match outcome {
            Ok(entry) => entry.map(|entry| Found::Entry { entry, root, path }),
            Err(cause) => Some(unlisted(&root, &path, &cause)),
        }
    }

    fn begin_store(&mut self, root: &Arc<Root>, store: &Arc<Store>, path: PathBuf) -> Option<Found> {
        let (name, root) = (root.name.clone(), Arc::clone(root));
        if let Some(told) = store.one() {
            let size = root.span.map_or(told.size, |(_, size)| size);
            let entry = stored(name?, 0, Kind::File { size, has_holes: false }, told.mtime);
            return Some(Found::Entry { entry, root, path });
        }
        let keys = self.keys.insert(Keys::new(store, self.filter.clone()));
        let entry = stored(name?, 0, Kind::Folder, keys.now());
        Some(Found::Entry { entry, root, path })
    }

    /// The next of the files that are made.
    fn make(&mut self) -> Option<Found> {
        let (fields, root) = (self.fields.as_mut()?, self.root.as_ref()?);
        let Some(made) = fields.next() else {
            self.fields = None;
            return None;
        };
        Some(match made {
            Ok((entry, path)) => Found::Entry { entry, root: Arc::clone(root), path },
            Err((path, why)) => Found::Unlisted { path: shown(&path), why, failed: true },
        })
    }

    /// The next that a store has.
    fn next_key(&mut self) -> Option<Found> {
        let (keys, root) = (self.keys.as_mut()?, Arc::clone(self.root.as_ref()?));
        let above = u16::from(root.name.is_some());
        let now = keys.now();
        match keys.next() {
            None => {
                self.keys = None;
                None
            }
            Some(Step::Folder { path, name, depth }) => {
                Some(Found::Entry { entry: stored(name, above + depth, Kind::Folder, now), root, path })
            }
            Some(Step::File { path, name, depth, told }) => {
                let kind = Kind::File { size: told.size, has_holes: false };
                Some(Found::Entry { entry: stored(name, above + depth, kind, told.mtime), root, path })
            }
            Some(Step::Odd { key, why }) => {
                Some(Found::Unlisted { path: root.shown(Path::new(&key)), why, failed: true })
            }
            Some(Step::Ours { path }) => Some(left_out(&root, &path)),
        }
    }

    /// Goes into a folder.
    fn enter(&mut self, mut folder: Folder) -> io::Result<()> {
        if folder.depth > MOST_DEPTH {
            return Err(io::Error::other(format!("more than {MOST_DEPTH} folders in one another")));
        }
        let mut names = Vec::new();
        for found in folder.dir.entries()? {
            names.extend(Name::new(found?.file_name().as_bytes()));
        }
        names.sort_unstable();
        folder.names = names.into_iter();
        self.folders.push(folder);
        Ok(())
    }

    fn visit(&mut self, name: Name) -> Option<Found> {
        let meant = self.folders.last()?.meant.join(name.as_path());
        let root = Arc::clone(self.root.as_ref()?);
        if name.is_ours() {
            return self.filter.takes(&meant).then(|| left_out(&root, &meant));
        }
        match self.look(&name, &meant) {
            Ok(found) => found,
            Err(cause) => Some(unlisted(&root, &meant, &cause)),
        }
    }

    /// What is called `name` in the latest folder, and is at `meant` below what is copied; a folder is entered.
    fn look(&mut self, name: &Name, meant: &Path) -> io::Result<Option<Found>> {
        let Some(folder) = self.folders.last() else { return Ok(None) };
        let (root, path, depth) = (Arc::clone(&folder.root), folder.path.join(name.as_path()), folder.depth);
        let metadata = folder.dir.symlink_metadata(name.as_path())?;
        let kind = if metadata.is_dir() {
            if !self.filter.enters(meant) {
                return Ok(None);
            }
            let dir = folder.dir.open_dir_nofollow(name.as_path())?;
            let (path, meant) = (path.clone(), meant.to_owned());
            self.enter(Folder { path, meant, ..Folder::of(dir, &root, depth + 1) })?;
            Kind::Folder
        } else if metadata.is_symlink() && self.filter.follows() {
            return self.look_beyond(name, meant);
        } else if !self.filter.takes(meant) {
            return Ok(None);
        } else if metadata.is_file() {
            file_kind(&metadata)
        } else if metadata.is_symlink() {
            let target = folder.dir.read_link_contents(name.as_path())?.into_os_string().as_bytes().to_vec();
            if !is_target(&target) {
                return Err(io::Error::other("a link to nowhere"));
            }
            Kind::Link { target }
        } else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        Ok(Some(Found::Entry { entry: entry(name.clone(), depth, kind, &metadata), root, path }))
    }

    /// What the link that is called `name` in the latest folder leads to, under the link's name.
    fn look_beyond(&mut self, name: &Name, meant: &Path) -> io::Result<Option<Found>> {
        let (takes, enters) = (self.filter.takes(meant), self.filter.enters(meant));
        let Some(folder) = self.folders.last().filter(|_| takes || enters) else { return Ok(None) };
        let Some(reach) = &folder.root.reach else { return Ok(None) };
        let (path, depth) = (reach.resolve(&folder.path.join(name.as_path()))?, folder.depth);
        let root = match &self.beyond {
            Some(root) => Arc::clone(root),
            None => Arc::clone(self.beyond.insert(Arc::new(reach.all()?))),
        };
        let Base::Folder(all) = &root.base else { return Ok(None) };
        let is_all = path.as_os_str().is_empty();
        let metadata = if is_all { all.dir_metadata()? } else { all.symlink_metadata(&path)? };
        let kind = if metadata.is_dir() {
            if !enters {
                return Ok(None);
            }
            if self.folders.iter().any(|above| above.is_at(&metadata)) {
                return Err(io::Error::other("a link to a folder that it is in"));
            }
            let dir = if is_all { all.try_clone()? } else { all.open_dir(&path)? };
            let (path, meant) = (path.clone(), meant.to_owned());
            self.enter(Folder { path, meant, ..Folder::of(dir, &root, depth + 1) })?;
            Kind::Folder
        } else if !takes {
            return Ok(None);
        } else if metadata.is_file() {
            file_kind(&metadata)
        } else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        Ok(Some(Found::Entry { entry: entry(name.clone(), depth, kind, &metadata), root, path }))
    }
}

impl Folder {
    /// That of a root, which nothing is known of yet.
    fn of(dir: Dir, root: &Arc<Root>, depth: u16) -> Self {
        let (path, meant) = (PathBuf::new(), PathBuf::new());
        Self { dir, root: Arc::clone(root), path, meant, names: Vec::new().into_iter(), depth }
    }

    /// It is the folder that this was told of.
    fn is_at(&self, metadata: &Metadata) -> bool {
        self.dir.dir_metadata().is_ok_and(|own| FileId::from(&own) == FileId::from(metadata))
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

impl Iterator for Walk {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        loop {
            if let Some(found) = self.next_key() {
                return Some(found);
            }
            let found = match self.folders.last_mut() {
                None if self.fields.is_some() => self.make(),
                Some(folder) => match folder.names.next() {
                    Some(name) => self.visit(name),
                    None => {
                        self.folders.pop();
                        None
                    }
                },
                None => {
                    let root = self.roots.pop_front()?;
                    self.begin(root)
                }
            };
            if found.is_some() {
                return found;
            }
        }
    }
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
        let within = |path: &str| Root::within(&share, None, path.as_ref());
        for outside in ["out", "out/run", "l"] {
            let told = within(outside).unwrap_err().to_string();
            assert!(told.starts_with(outside) && told.contains("leads out"), "{told}");
        }
        assert_eq!(walked(within("in").unwrap(), &Filter::default()), ["0 in z.raw"]);
        assert!(within("none").unwrap_err().to_string().contains("no such file"));
    }
}
