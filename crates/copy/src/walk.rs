//! Walks what is to be copied: folders before what is in them, names in order, links as links.

use std::collections::VecDeque;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, Metadata, MetadataExt};

use visapult_objects::{Connection, ObjectUrl, PATIENCE};

use crate::error::{CopyError, reason};
use crate::fields::{FieldPart, FieldTree, FieldWalk, Place, Turn};
use crate::filter::Filter;
use crate::listing::{Entry, Kind, MOST_DEPTH, Mtime, is_target};
use crate::names::{Name, OURS, shown};
use crate::objects::{Keys, Step, Store};
use crate::words::Span;

/// Files smaller than this are read whole, holes or not: small ones may lie in no block of their own.
const LEAST_WITH_HOLES: u64 = 64 << 10;

/// What all paths of a machine are below.
const ALL: &str = "/";

/// One of the things that are to be copied.
#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) base: Base,
    /// The file, in that folder; none if the folder is meant.
    file: Option<PathBuf>,
    /// Of the file, where the bytes begin that are meant, and how many they are; none if all are.
    span: Option<(u64, u64)>,
    /// What it is called at the other end; none if what is in the folder is meant.
    name: Option<Name>,
    /// What its user calls it.
    shown: String,
    /// Where links in the folder may lead to; none of a file.
    reach: Option<Reach>,
}

/// What links may lead to, where they are followed: anything below, where the folder that they are in is at `at`.
#[derive(Debug)]
struct Reach {
    /// None on this machine, where that is all there is.
    share: Option<Arc<Dir>>,
    at: PathBuf,
}

impl Reach {
    /// Where the link leads to that is at `path` in the folder.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let path = self.at.join(path);
        let real = match &self.share {
            Some(share) => share.canonicalize(path)?,
            None => std::fs::canonicalize(Path::new(ALL).join(path))?,
        };
        Ok(real.strip_prefix(ALL).or(real.strip_prefix(".")).unwrap_or(&real).to_owned())
    }

    /// All that is below, as what links lead to is found in.
    fn all(&self) -> io::Result<Root> {
        let base = match &self.share {
            Some(share) => share.try_clone()?,
            None => Dir::open_ambient_dir(ALL, cap_std::ambient_authority())?,
        };
        let reach = Some(Self { share: self.share.clone(), at: PathBuf::new() });
        Ok(Root { base: Base::Folder(base), file: None, span: None, name: None, shown: String::new(), reach })
    }
}

/// Where what is copied lies.
#[derive(Debug)]
pub(crate) enum Base {
    /// The folder itself, or the one that the file is in.
    Folder(Dir),
    /// A place in an object store.
    Store(Arc<Store>),
    /// Nowhere: files are made of a part of some fields.
    Made(Arc<FieldTree>),
}

impl Root {
    /// What an object store has there.
    pub(crate) fn stored(store: Store) -> Self {
        let url = store.url();
        let (name, shown) = (url.name().and_then(|name| Name::new(&name)), url.to_string());
        let file = store.one().and(name.as_ref()).map(|name| name.as_path().to_owned());
        Self { base: Base::Store(Arc::new(store)), file, span: None, name, shown, reach: None }
    }

    /// The store that it is in, if it is in one.
    pub(crate) const fn store(&self) -> Option<&Arc<Store>> {
        match &self.base {
            Base::Folder(_) | Base::Made(_) => None,
            Base::Store(store) => Some(store),
        }
    }

    /// What `path` names on this machine. A link that is named itself is followed.
    pub(crate) fn here(path: &Path) -> Result<Self, CopyError> {
        let wrong = |cause: io::Error| CopyError::at(path, &cause);
        let real = std::fs::canonicalize(path).map_err(wrong)?;
        let open = |dir: &Path| Dir::open_ambient_dir(dir, cap_std::ambient_authority()).map_err(wrong);
        // `folder/.` is what is in the folder.
        let is_content = path.as_os_str().as_bytes().ends_with(b"/.");
        let name = path.file_name().filter(|_| !is_content).and_then(|name| Name::new(name.as_bytes()));
        let shown = shown(path);
        if std::fs::metadata(&real).map_err(wrong)?.is_dir() {
            let base = Base::Folder(open(&real)?);
            let reach = Reach { share: None, at: real.strip_prefix(ALL).unwrap_or(&real).to_owned() };
            return Ok(Self { base, file: None, span: None, name, shown, reach: Some(reach) });
        }
        let (Some(parent), Some(file)) = (real.parent(), real.file_name()) else {
            return Err(CopyError::Here(format!("{shown} is no file")));
        };
        let base = Base::Folder(open(parent)?);
        Ok(Self { base, file: Some(file.into()), span: None, name, shown, reach: None })
    }

    /// What is in the folder is meant, whatever that is called.
    pub(crate) fn content(self) -> Self {
        Self { name: None, ..self }
    }

    /// What `path` names below `share`; the share itself is called `name`. Links that stay in the share are followed.
    pub(crate) fn within(share: &Arc<Dir>, name: Option<&Name>, path: &Path) -> Result<Self, CopyError> {
        let wrong = |cause: io::Error| CopyError::at(path, &cause);
        let folder = |dir: Dir, name: Option<Name>, shown: String| {
            let reach = Some(Reach { share: Some(Arc::clone(share)), at: path.to_owned() });
            Self { base: Base::Folder(dir), file: None, span: None, name, shown, reach }
        };
        let Some(last) = path.file_name() else {
            let shown = name.map(Name::to_string).unwrap_or_default();
            return Ok(folder(share.try_clone().map_err(wrong)?, name.cloned(), shown));
        };
        let name = Name::new(last.as_bytes());
        if share.metadata(path).map_err(wrong)?.is_dir() {
            return Ok(folder(share.open_dir(path).map_err(wrong)?, name, shown(path)));
        }
        let real = share.canonicalize(path).map_err(wrong)?;
        let (parent, file) = (real.parent().unwrap_or(Path::new("")), real.file_name().unwrap_or(last));
        let dir = if parent.as_os_str().is_empty() { share.try_clone() } else { share.open_dir(parent) };
        let base = Base::Folder(dir.map_err(wrong)?);
        Ok(Self { base, file: Some(file.into()), span: None, name, shown: shown(path), reach: None })
    }

    /// Only these bytes of the file are meant.
    ///
    /// # Errors
    /// If it is no file, or has not so many.
    pub(crate) fn cut(self, span: Span) -> Result<Self, CopyError> {
        let wrong = |why: String| CopyError::Here(format!("{}: {why}", self.shown));
        let Some(file) = &self.file else {
            return Err(wrong("is a folder, and a range is of one file".to_owned()));
        };
        let length = match &self.base {
            Base::Folder(dir) => dir.symlink_metadata(file).map_err(|cause| wrong(reason(&cause)))?.len(),
            Base::Store(store) => store.one().map_or(0, |told| told.size),
            Base::Made(_) => 0,
        };
        let end = span.end.unwrap_or(length);
        if span.start >= end || end > length {
            return Err(wrong(format!("it has {length} bytes, none or not all of them in the range")));
        }
        Ok(Self { span: Some((span.start, end - span.start)), ..self })
    }

    /// Only this part of the fields in it is meant: what is in a group that is made of it.
    ///
    /// # Errors
    /// If it holds no fields, or not this part of them.
    pub(crate) fn part(self, part: &FieldPart, turn: Turn) -> Result<Self, CopyError> {
        let place = match self.base {
            Base::Folder(dir) => Place::Folder(dir, self.file.clone()),
            Base::Store(store) => return Self::stored_part(store.url(), part),
            Base::Made(_) => return Ok(self),
        };
        let fields = FieldTree::open(place, &self.shown, part, turn)?;
        Ok(Self { base: Base::Made(Arc::new(fields)), name: None, ..self })
    }

    /// A part of the fields that an object store has there.
    ///
    /// # Errors
    /// If it has no fields there, or not this part of them.
    pub(crate) fn stored_part(url: &ObjectUrl, part: &FieldPart) -> Result<Self, CopyError> {
        let shown = url.to_string();
        let connection = Connection::new(url, PATIENCE).map_err(|why| CopyError::Here(format!("{shown}: {why}")))?;
        let fields = FieldTree::open(Place::Objects(connection), &shown, part, Turn::default())?;
        let base = Base::Made(Arc::new(fields));
        Ok(Self { base, file: None, span: None, name: None, shown, reach: None })
    }

    pub(crate) const fn fields(&self) -> Option<&Arc<FieldTree>> {
        match &self.base {
            Base::Made(fields) => Some(fields),
            Base::Folder(_) | Base::Store(_) => None,
        }
    }

    pub(crate) const fn span(&self) -> Option<(u64, u64)> {
        self.span
    }

    /// What is in it is meant, whatever it is called.
    pub(crate) const fn is_content(&self) -> bool {
        self.name.is_none()
    }

    /// As its user would call what is at `path` in it.
    pub(crate) fn shown(&self, path: &Path) -> String {
        if self.file.is_some() || path.as_os_str().is_empty() {
            return self.shown.clone();
        }
        if self.shown.is_empty() {
            shown(path)
        } else {
            format!("{}/{}", self.shown.trim_end_matches('/'), shown(path))
        }
    }
}

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
        self.dir.dir_metadata().is_ok_and(|own| (own.dev(), own.ino()) == (metadata.dev(), metadata.ino()))
    }
}

fn unlisted(root: &Root, path: &Path, cause: &io::Error) -> Found {
    // No error of the system's has this kind without a number.
    let is_special = cause.kind() == io::ErrorKind::Unsupported && cause.raw_os_error().is_none();
    let why = if is_special { "neither file, folder nor link".to_owned() } else { reason(cause) };
    Found::Unlisted { path: root.shown(path), why, failed: !is_special }
}

/// Nobody knows whether it is what a copy has gathered, or somebody's own.
fn left_out(root: &Root, path: &Path) -> Found {
    Found::Unlisted { path: root.shown(path), why: OURS.to_owned(), failed: false }
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
    use crate::words::Patterns;

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
