//! Walks a folder and all that are in it; where links are followed, what they lead to as well.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, Metadata};

use super::{Found, entry, file_kind, left_out, unlisted};
use crate::file_id::FileId;
use crate::filter::Filter;
use crate::listing::{Kind, MOST_DEPTH, is_target};
use crate::names::Name;
use crate::root::{Base, Root};

/// Walks the folder of a root.
pub(super) struct FolderWalk {
    root: Arc<Root>,
    filter: Filter,
    /// What links lead to is found in this, once one was followed.
    beyond: Option<Arc<Root>>,
    /// Those that are walked, each in the one before.
    folders: Vec<Folder>,
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

impl FolderWalk {
    /// What is in `dir`, the folder of `root`, lies at this depth.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn new(root: &Arc<Root>, dir: &Dir, depth: u16, filter: &Filter) -> io::Result<Self> {
        let mut walk = Self { root: Arc::clone(root), filter: filter.clone(), beyond: None, folders: Vec::new() };
        walk.enter(Folder::of(dir.try_clone()?, root, depth))?;
        Ok(walk)
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
        if name.is_ours() {
            return self.filter.takes(&meant).then(|| left_out(&self.root, &meant));
        }
        match self.look(&name, &meant) {
            Ok(found) => found,
            Err(cause) => Some(unlisted(&self.root, &meant, &cause)),
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
            if !self.filter.is_top() {
                let dir = folder.dir.open_dir_nofollow(name.as_path())?;
                let (path, meant) = (path.clone(), meant.to_owned());
                self.enter(Folder { path, meant, ..Folder::of(dir, &root, depth + 1) })?;
            }
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

impl Iterator for FolderWalk {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        loop {
            let Some(name) = self.folders.last_mut()?.names.next() else {
                self.folders.pop();
                continue;
            };
            if let Some(found) = self.visit(name) {
                return Some(found);
            }
        }
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
