//! The tree at the taking end: folders and links are made as they are listed, files are held against what is there.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, Metadata, MetadataExt};
use rustix::fs::{AtFlags, Mode, OFlags, Timespec, Timestamps};

use super::pool::Pending;
use crate::error::reason;
use crate::landing::Landing;
use crate::listing::{Entry, Kind, Mtime};
use crate::log::Origin;
use crate::names::Name;
use crate::walk::mtime;

/// What is to become of an entry.
#[derive(Debug)]
pub(super) enum Verdict {
    /// A folder that was there, or is there now.
    Folder { is_new: bool },
    /// A link that was there, or is there now.
    Link { is_new: bool },
    /// A file that looks the same.
    Same(Pending),
    /// A file that is wanted.
    Wanted { pending: Pending, has_holes: bool },
}

/// Why an entry has no place.
#[derive(Debug)]
pub(super) struct Unplaced {
    pub(super) path: PathBuf,
    pub(super) why: String,
}

/// The folders that entries go into.
#[derive(Debug)]
pub(super) struct Tree {
    dry_run: bool,
    anew: bool,
    rename: Option<Name>,
    /// The name is given away.
    is_named: bool,
    /// Where entries of each depth go.
    levels: Vec<Level>,
    /// Folders that get their modes and times in the end.
    folders: Vec<(PathBuf, u32, Mtime)>,
}

#[derive(Debug)]
struct Level {
    path: PathBuf,
    dir: LevelDir,
}

#[derive(Clone, Debug)]
enum LevelDir {
    Open(Arc<Dir>),
    /// It would be made, were this not a dry run.
    Absent,
    /// Nothing goes into it.
    Failed,
}

impl Tree {
    /// Without a landing it is one that a dry run does not make.
    pub(super) fn new(base: Option<&Arc<Dir>>, landing: Option<&Landing>, dry_run: bool, anew: bool) -> Self {
        let dir = base.map_or(LevelDir::Absent, |base| LevelDir::Open(Arc::clone(base)));
        let rename = landing.and_then(|landing| landing.rename.clone());
        let levels = vec![Level { path: PathBuf::new(), dir }];
        Self { dry_run, anew, rename, is_named: false, levels, folders: Vec::new() }
    }

    /// Deals with the next entry, as far as it is no file to be copied. None if entries do not follow one another as they should.
    pub(super) fn take(&mut self, entry: Entry) -> Option<Result<Verdict, Unplaced>> {
        let depth = usize::from(entry.depth);
        self.levels.truncate(depth + 1);
        let is_top = depth == 0;
        if is_top && entry.kind == Kind::Folder {
            self.make_top();
        }
        let level = self.levels.get(depth)?;
        let (folder, dir) = (level.path.clone(), level.dir.clone());
        let mut name = entry.name;
        if is_top && let Some(rename) = &self.rename {
            name = rename.clone();
            // One name is for one thing.
            if std::mem::replace(&mut self.is_named, true) {
                return None;
            }
        }
        let path = folder.join(name.as_path());
        let spot = Spot { folder, dir, name, mode: entry.mode, mtime: entry.mtime };
        Some(
            self.place(&spot, entry.kind)
                .map_err(|cause| Unplaced { path, why: format!("cannot be written: {}", reason(&cause)) }),
        )
    }

    /// A folder goes into the destination rather than take its name: else the same command would do something else the second time.
    fn make_top(&mut self) {
        let Some(name) = self.rename.take() else { return };
        let Some(top) = self.levels.first() else { return };
        let path = top.path.join(name.as_path());
        let made = match &top.dir {
            LevelDir::Open(_) if self.dry_run => Ok(LevelDir::Absent),
            LevelDir::Open(dir) => {
                let made = dir.create_dir(name.as_path()).and_then(|()| dir.open_dir_nofollow(name.as_path()));
                made.map(|dir| LevelDir::Open(Arc::new(dir)))
            }
            other => Ok(other.clone()),
        };
        self.levels = vec![Level { path, dir: made.unwrap_or(LevelDir::Failed) }];
    }

    /// `path` as it is below the destination.
    pub(super) fn below_destination<'a>(&self, path: &'a Path) -> &'a Path {
        self.levels.first().and_then(|top| path.strip_prefix(&top.path).ok()).unwrap_or(path)
    }

    fn place(&mut self, spot: &Spot, kind: Kind) -> io::Result<Verdict> {
        if spot.name.is_ours() {
            return Err(io::Error::other("names with this ending are kept for files that are being copied"));
        }
        match kind {
            Kind::Folder => {
                let made = self.folder(spot);
                let dir = made.as_ref().map_or(LevelDir::Failed, |(dir, _)| dir.clone());
                self.levels.push(Level { path: spot.path(), dir });
                made.map(|(_, is_new)| Verdict::Folder { is_new })
            }
            Kind::Link { target } => self.link(spot, &target).map(|is_new| Verdict::Link { is_new }),
            Kind::File { size, has_holes } => self.file(spot, size, has_holes),
        }
    }

    fn folder(&mut self, spot: &Spot) -> io::Result<(LevelDir, bool)> {
        let Some(dir) = spot.dir()? else { return Ok((LevelDir::Absent, true)) };
        let name = spot.name.as_path();
        let is_new = match spot.there(dir)? {
            None if self.dry_run => return Ok((LevelDir::Absent, true)),
            None => {
                dir.create_dir(name)?;
                true
            }
            Some(there) if there.is_dir() => false,
            Some(_) => return Err(io::Error::other("something that is no folder has its name")),
        };
        if !self.dry_run {
            self.folders.push((spot.path(), spot.mode, spot.mtime));
        }
        Ok((LevelDir::Open(Arc::new(dir.open_dir_nofollow(name)?)), is_new))
    }

    /// Makes a link; true if it was not there.
    fn link(&self, spot: &Spot, target: &[u8]) -> io::Result<bool> {
        let Some(dir) = spot.dir()? else { return Ok(true) };
        let name = spot.name.as_path();
        match spot.there(dir)? {
            Some(there) if there.is_dir() => return Err(io::Error::other("a folder has its name")),
            Some(there) if there.is_symlink() && dir.read_link_contents(name)?.as_os_str().as_bytes() == target => {
                return Ok(false);
            }
            _ => {}
        }
        if self.dry_run {
            return Ok(true);
        }
        let part = spot.name.partial();
        let target = Path::new(std::ffi::OsStr::from_bytes(target));
        match dir.symlink_contents(target, part.as_path()) {
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
                dir.remove_file(part.as_path())?;
                dir.symlink_contents(target, part.as_path())?;
            }
            made => made?,
        }
        let time = Timespec { tv_sec: spot.mtime.s, tv_nsec: spot.mtime.ns.into() };
        let times = Timestamps { last_access: time, last_modification: time };
        // Not every file system keeps times of links.
        let _ = rustix::fs::utimensat(dir.as_fd(), part.as_path(), &times, AtFlags::SYMLINK_NOFOLLOW);
        dir.rename(part.as_path(), dir, name)?;
        Ok(true)
    }

    fn file(&self, spot: &Spot, size: u64, has_holes: bool) -> io::Result<Verdict> {
        let there = spot.dir()?.map_or(Ok(None), |dir| spot.there(dir))?;
        let pending = Pending {
            folder: spot.folder.clone(),
            name: spot.name.clone(),
            origin: Origin { size, mtime: spot.mtime },
            mode: spot.mode,
            replaces: there.is_some(),
        };
        let is_same = |there: &Metadata| there.len() == size && spot.mtime.is_kept_as(mtime(there));
        match there {
            Some(there) if there.is_dir() => Err(io::Error::other("a folder has its name")),
            Some(there) if !there.is_file() && !there.is_symlink() => {
                Err(io::Error::other("something that is no file has its name"))
            }
            Some(there) if there.is_file() && is_same(&there) && !self.anew => Ok(Verdict::Same(pending)),
            _ => Ok(Verdict::Wanted { pending, has_holes }),
        }
    }

    /// Gives folders their modes and times, the innermost first. Returns those that did not take them.
    pub(super) fn finish(&mut self, base: &Dir) -> Vec<Unplaced> {
        let mut unplaced = Vec::new();
        while let Some((path, mode, mtime)) = self.folders.pop() {
            if let Err(cause) = dress(base, &path, mode, mtime) {
                unplaced.push(Unplaced { path, why: format!("its mode and time cannot be set: {}", reason(&cause)) });
            }
        }
        unplaced
    }
}

fn dress(base: &Dir, path: &Path, mode: u32, mtime: Mtime) -> io::Result<()> {
    let dir = base.open_dir(path)?;
    let now = dir.dir_metadata()?;
    // What a capability holds open may be a path alone.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(dir.as_fd(), ".", flags, Mode::empty())?);
    if now.mode() & 0o777 != mode {
        file.set_permissions(std::fs::Permissions::from_mode(mode))?;
    }
    file.set_times(mtime.times())
}

/// Where an entry goes.
struct Spot {
    folder: PathBuf,
    dir: LevelDir,
    name: Name,
    mode: u32,
    mtime: Mtime,
}

impl Spot {
    fn path(&self) -> PathBuf {
        self.folder.join(self.name.as_path())
    }

    /// The folder, if it is there.
    fn dir(&self) -> io::Result<Option<&Arc<Dir>>> {
        match &self.dir {
            LevelDir::Open(dir) => Ok(Some(dir)),
            LevelDir::Absent => Ok(None),
            LevelDir::Failed => Err(io::Error::other("the folder that it goes into could not be made")),
        }
    }

    /// What is there under its name.
    fn there(&self, dir: &Dir) -> io::Result<Option<Metadata>> {
        match dir.symlink_metadata(self.name.as_path()) {
            Ok(there) => Ok(Some(there)),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(cause),
        }
    }
}
