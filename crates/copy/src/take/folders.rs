//! Folders of the disk that is copied to: made, dressed and written, and what is too much in them.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, Metadata, MetadataExt};
use rustix::fs::{Access, AtFlags, Mode, OFlags, Timespec, Timestamps};
use rustix::io::Errno;

use crate::file_id::FileId;
use crate::listing::Mtime;
use crate::names::Name;

/// What of a mode lets us put things into a folder.
const OURS: u32 = 0o700;
/// What of a mode is copied; and the rest, which a folder keeps, such as that what is made in it has its group.
pub(super) const COPIED: u32 = 0o777;
pub(super) const SPECIAL: u32 = 0o7000;

/// Makes a folder, which is not open to more people than its mode says before it has that; true unless somebody else has just made it.
pub(super) fn make_dir(dir: &Dir, name: &Path, mode: u32) -> io::Result<bool> {
    let mut builder = DirBuilder::new();
    builder.mode(mode | OURS);
    match dir.create_dir_with(name, &builder) {
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        made => made.map(|()| true),
    }
}

/// Has a folder that is there let us put things into it, where its mode does not; it gets its own in the end. True if it did not.
pub(super) fn open_up(dir: &Dir, name: &Path, there: &Metadata) -> bool {
    let all = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
    let may_we = || rustix::fs::accessat(dir.as_fd(), name, all, AtFlags::EACCESS).is_ok();
    // Where it is somebody else's, what cannot be put into it is told.
    there.mode() & OURS != OURS && !may_we() && set_mode(dir, name, there.mode() | OURS).is_ok()
}

/// Folders that were opened up and did not get their own modes have again what they had.
pub(super) fn close_again(base: &Dir, opened: &[(PathBuf, u32)]) {
    for (path, mode) in opened.iter().rev() {
        // What is gone meanwhile needs none.
        let _ = set_mode(base, path, *mode);
    }
}

fn set_mode(dir: &Dir, path: &Path, mode: u32) -> io::Result<()> {
    let mode = Permissions::from_mode(mode & (SPECIAL | COPIED));
    dir.set_permissions(path, cap_std::fs::Permissions::from_std(mode))
}

/// What is in a folder and was not listed. What is neither file, folder nor link stays.
pub(super) fn surplus(dir: &Dir, listed: &HashSet<Name>) -> io::Result<Vec<Name>> {
    let mut surplus = Vec::new();
    for entry in dir.entries()? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let name = Name::new(entry.file_name().as_bytes()).filter(|name| !listed.contains(name));
        let is_ordinary = kind.is_file() || kind.is_dir() || kind.is_symlink();
        surplus.extend(name.filter(|_| is_ordinary));
    }
    if !surplus.is_empty() {
        keep_namesakes(dir, listed, &mut surplus);
    }
    surplus.sort_unstable();
    Ok(surplus)
}

/// Some file systems take names for one that differ in upper and lower case only: what was listed under another is no surplus.
fn keep_namesakes(dir: &Dir, listed: &HashSet<Name>, surplus: &mut Vec<Name>) {
    let of = |name: &Name| dir.symlink_metadata(name.as_path()).map(|there| FileId::from(&there)).ok();
    let by_lower: HashMap<String, &Name> = listed.iter().map(|name| (name.lower(), name)).collect();
    surplus.retain(|name| {
        let listed = by_lower.get(&name.lower()).and_then(|other| of(other));
        listed.is_none() || listed != of(name)
    });
}

/// Deletes a file, a link, or a folder with all that is in it, at `path` below `base`.
pub(super) fn delete(base: &Dir, path: &Path) -> io::Result<()> {
    let (Some(name), Some(parent)) = (path.file_name(), path.parent()) else { return Ok(()) };
    let dir = folder_at(base, parent)?;
    if !dir.symlink_metadata(name)?.is_dir() {
        return dir.remove_file(name);
    }
    match dir.remove_dir_all(name) {
        Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => {
            open_up_all(&dir, name)?;
            dir.remove_dir_all(name)
        }
        removed => removed,
    }
}

/// The folder at `path` below `base`, or that itself.
pub(super) fn folder_at(base: &Dir, path: &Path) -> io::Result<Dir> {
    if path.as_os_str().is_empty() { base.try_clone() } else { base.open_dir(path) }
}

/// Makes a link of this name, in place of one that an earlier attempt has left.
pub(super) fn make_link(dir: &Dir, name: &Name, target: &[u8], mtime: Mtime) -> io::Result<()> {
    let (name, target) = (name.as_path(), Path::new(OsStr::from_bytes(target)));
    match dir.symlink_contents(target, name) {
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
            dir.remove_file(name)?;
            dir.symlink_contents(target, name)?;
        }
        made => made?,
    }
    let time = Timespec { tv_sec: mtime.s, tv_nsec: mtime.ns.into() };
    let times = Timestamps { last_access: time, last_modification: time };
    // Not every file system keeps times of links.
    let _ = rustix::fs::utimensat(dir.as_fd(), name, &times, AtFlags::SYMLINK_NOFOLLOW);
    Ok(())
}

/// The same of a folder and of all that are in it, so that they can be deleted.
fn open_up_all(dir: &Dir, name: &OsStr) -> io::Result<()> {
    open_up(dir, Path::new(name), &dir.symlink_metadata(name)?);
    let folder = dir.open_dir_nofollow(name)?;
    for entry in folder.entries()? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up_all(&folder, &entry.file_name())?;
        }
    }
    Ok(())
}

pub(super) fn dress(base: &Dir, path: &Path, mode: u32, mtime: Mtime) -> io::Result<()> {
    let dir = base.open_dir(path)?;
    let now = dir.dir_metadata()?;
    let file = as_file(&dir)?;
    if now.mode() & COPIED != mode {
        file.set_permissions(Permissions::from_mode(now.mode() & SPECIAL | mode))?;
    }
    file.set_times(mtime.times())
}

/// Waits until the disk has the names in a folder.
pub(super) fn sync_names(base: &Dir, path: &Path) -> io::Result<()> {
    match folder_at(base, path).and_then(|dir| as_file(&dir)).and_then(|file| file.sync_all()) {
        // Its mode is one that does not let us read it.
        Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        // Not every file system can do that for folders.
        Err(cause) if cause.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => Ok(()),
        outcome => outcome,
    }
}

/// What a capability holds open may be a path alone.
fn as_file(dir: &Dir) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::openat(dir.as_fd(), ".", flags, Mode::empty())?))
}
