//! What is of another kind at the destination than at the source gives way to that in the end, where deleting is wished for. Until then what takes
//! its place has a name beside it, and goes on from there if the copy is interrupted.
//!
//! Invariant: nothing gives way before what takes its place is whole and verified, all else is copied, and it is still what was found there.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;

use super::Taking;
use super::folders::{self, folder_at, make_link};
use super::pool::Pending;
use crate::error::{CopyError, reason};
use crate::file_id::FileId;
use crate::listing::Mtime;
use crate::names::Name;
use crate::partial::{COLLIDES, Partial, take_free_name};
use crate::ranges::RangeHash;

/// Something that gives way.
#[derive(Debug)]
pub(super) struct InWay {
    /// The folder that it is in, below where the copy goes, and its name.
    pub(super) folder: PathBuf,
    pub(super) name: Name,
    pub(super) was: FileId,
    pub(super) heir: Heir,
}

impl InWay {
    pub(super) fn path(&self) -> PathBuf {
        self.folder.join(self.name.as_path())
    }

    /// Where a folder is that is to take its place.
    fn stand_in(&self) -> PathBuf {
        self.folder.join(self.name.stand_in().as_path())
    }

    /// What has its name, in the way of what.
    const fn why(&self) -> &'static str {
        match self.heir {
            Heir::Folder => "cannot be written, nor what is in it: something that is no folder has its name",
            Heir::File | Heir::Link { .. } => "cannot be written: a folder has its name",
        }
    }
}

/// What takes its place.
#[derive(Debug)]
pub(super) enum Heir {
    /// One that is filled under another name.
    Folder,
    /// One that is made then.
    Link { target: Vec<u8>, mtime: Mtime },
    /// One that is whole by then.
    File,
}

impl Heir {
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Folder => "a folder",
            Self::Link { .. } => "a link",
            Self::File => "a file",
        }
    }
}

/// Folders that have another name as long as something has theirs: where they are, and what they are to be called there.
#[derive(Debug, Default)]
pub(super) struct StandIns(HashMap<PathBuf, Name>);

impl StandIns {
    pub(super) fn add(&mut self, at: PathBuf, name: Name) {
        self.0.insert(at, name);
    }

    pub(super) fn holds(&self, at: &Path) -> bool {
        self.0.contains_key(at)
    }

    /// Where a path leads once all of them have their names.
    pub(super) fn resolved(&self, path: &Path) -> PathBuf {
        if self.0.is_empty() {
            return path.to_owned();
        }
        let (mut at, mut resolved) = (PathBuf::new(), PathBuf::new());
        for part in path.components() {
            at.push(part);
            resolved.push(self.0.get(&at).map_or(part.as_ref(), Name::as_path));
        }
        resolved
    }

    /// One has not got its name.
    pub(super) fn remove(&mut self, at: &Path) {
        self.0.remove(at);
    }
}

/// Files that are whole and wait for their names, by their paths.
#[derive(Debug, Default)]
pub(super) struct Waiting(HashMap<PathBuf, (Pending, u64, RangeHash)>);

impl Waiting {
    /// A file of so many bytes is whole.
    pub(super) fn add(&mut self, pending: &Pending, bytes: u64, hash: &RangeHash) {
        self.0.insert(pending.path(), (pending.clone(), bytes, *hash));
    }
}

impl Taking<'_> {
    /// What is in the way stays.
    pub(super) fn keep_in_way(&mut self, in_way: &[InWay]) -> Result<(), CopyError> {
        for one in in_way {
            let path = one.path();
            self.tree.stays(&one.stand_in());
            // Of a file that is not whole it was told why.
            if self.wish.dry_run || !matches!(one.heir, Heir::File) || self.waiting.0.contains_key(&path) {
                self.telling.fail(None, &path, &format!("{}, and nothing is deleted", one.why()))?;
            }
        }
        Ok(())
    }

    /// What is in the way gives way, in folders before the folders themselves. Returns what did.
    pub(super) fn give_way(&mut self, base: &Dir, in_way: Vec<InWay>) -> Result<Vec<PathBuf>, CopyError> {
        let mut gone = Vec::new();
        for one in in_way.into_iter().rev() {
            let path = one.path();
            if self.wish.dry_run {
                gone.push(path);
                continue;
            }
            let waiting = self.waiting.0.remove(&path);
            match swap(base, &one, waiting.as_ref().map(|(pending, ..)| pending), !self.wish.unsynced) {
                Ok(()) => gone.push(path),
                Err(cause) => {
                    let why = format!("{}, which does not give way: {}", one.why(), reason(&cause));
                    self.telling.fail(None, &path, &why)?;
                    self.tree.stays(&one.stand_in());
                    continue;
                }
            }
            match (&one.heir, waiting) {
                (Heir::Link { .. }, _) => self.telling.tally.links += 1,
                (_, Some((pending, bytes, hash))) => self.on_named(&pending, bytes, &hash)?,
                _ => {}
            }
        }
        gone.reverse();
        Ok(gone)
    }
}

/// Deletes what is in the way, and gives what takes its place its name.
fn swap(base: &Dir, one: &InWay, waiting: Option<&Pending>, is_synced: bool) -> io::Result<()> {
    let folder = folder_at(base, &one.folder)?;
    match (&one.heir, waiting) {
        (Heir::Folder, _) => {
            let stand_in = one.name.stand_in();
            if !folder.symlink_metadata(stand_in.as_path())?.is_dir() {
                return Err(io::Error::other(COLLIDES));
            }
            clear(base, &folder, one)?;
            take_free_name(&folder, &stand_in, &one.name)
        }
        (Heir::Link { target, mtime }, _) => {
            let part = one.name.partial();
            make_link(&folder, &part, target, *mtime)?;
            let named = clear(base, &folder, one).and_then(|()| take_free_name(&folder, &part, &one.name));
            if named.is_err() {
                // Whoever takes the name for a file finds it free.
                let _ = folder.remove_file(part.as_path());
            }
            named
        }
        (Heir::File, Some(pending)) => {
            let place = pending.place(Arc::new(folder.try_clone()?), is_synced);
            let partial = Partial::open(&crate::partial::Place { waits: false, ..place })?;
            if !partial.is_as_kept(pending.origin.size, pending.origin.mtime)? {
                return Err(io::Error::other("what was copied has changed meanwhile; copy it again"));
            }
            clear(base, &folder, one)?;
            partial.keep(pending.origin.mtime)
        }
        (Heir::File, None) => Err(io::Error::other("it is not there")),
    }
}

/// Deletes what is in the way, if it is still that.
fn clear(base: &Dir, folder: &Dir, one: &InWay) -> io::Result<()> {
    match folder.symlink_metadata(one.name.as_path()) {
        Ok(there) if FileId::from(&there) == one.was => folders::delete(base, &one.path()),
        Ok(_) => Err(io::Error::other(COLLIDES)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(cause) => Err(cause),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use cap_std::ambient_authority;

    use super::*;
    use crate::log::Origin;
    use crate::partial::place_whole;
    use crate::source_id::SourceId;

    const MTIME: Mtime = Mtime { s: 1_000_000_000, ns: 5 };

    #[test]
    fn paths_lead_on_when_folders_have_their_names() {
        let mut stand_ins = StandIns::default();
        stand_ins.add("run/a.visapult-folder".into(), Name::new(b"a").unwrap());
        stand_ins.add("run/a.visapult-folder/b.visapult-folder".into(), Name::new(b"b").unwrap());
        let resolved = |stand_ins: &StandIns, path: &str| stand_ins.resolved(Path::new(path));
        let inner = "run/a.visapult-folder/b.visapult-folder/c";
        assert_eq!(resolved(&stand_ins, inner), Path::new("run/a/b/c"));
        assert_eq!(resolved(&stand_ins, "run/a.visapult-folder"), Path::new("run/a"));
        assert_eq!(resolved(&stand_ins, "run/a.visapult-folders"), Path::new("run/a.visapult-folders"));
        stand_ins.remove(Path::new("run/a.visapult-folder"));
        assert_eq!(resolved(&stand_ins, inner), Path::new("run/a.visapult-folder/b/c"));
    }

    #[test]
    fn only_what_was_found_there_gives_way() {
        let dir = tempfile::tempdir().unwrap();
        let base = Dir::open_ambient_dir(dir.path(), ambient_authority()).unwrap();
        let name = Name::new(b"a").unwrap();
        let path = dir.path().join("a");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("inner"), "old").unwrap();
        let was = FileId::from(&base.symlink_metadata("a").unwrap());
        let heir = || Heir::Link { target: b"new".to_vec(), mtime: MTIME };
        let one = InWay { folder: PathBuf::new(), name: name.clone(), was, heir: heir() };
        // Somebody has put another in its place.
        fs::rename(&path, dir.path().join("elsewhere")).unwrap();
        fs::create_dir(&path).unwrap();
        fs::write(path.join("theirs"), "kept").unwrap();
        assert!(swap(&base, &one, None, false).unwrap_err().to_string().contains("has taken its name"));
        assert_eq!(fs::read(path.join("theirs")).unwrap(), b"kept");
        assert!(!dir.path().join("a.visapult-part").is_symlink());
        fs::remove_dir_all(&path).unwrap();
        fs::rename(dir.path().join("elsewhere"), &path).unwrap();
        swap(&base, &one, None, false).unwrap();
        assert_eq!(fs::read_link(&path).unwrap(), Path::new("new"));
        // Nothing has the name any more.
        fs::remove_file(&path).unwrap();
        swap(&base, &one, None, false).unwrap();
        assert!(path.is_symlink());
    }

    #[test]
    fn a_file_that_somebody_has_written_to_while_it_waited_does_not_get_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let base = Dir::open_ambient_dir(dir.path(), ambient_authority()).unwrap();
        let (name, folder) = (Name::new(b"a").unwrap(), PathBuf::new());
        fs::create_dir(dir.path().join("a")).unwrap();
        fs::write(dir.path().join("a/inner"), "kept").unwrap();
        let was = FileId::from(&base.symlink_metadata("a").unwrap());
        let one = InWay { folder: folder.clone(), name: name.clone(), was, heir: Heir::File };
        let origin = Origin { size: 7, mtime: MTIME, start: 0, source: SourceId::default() };
        let pending = Pending { folder, name, origin, mode: 0o640, replaces: false, waits: true, is_begun: false };
        let place = pending.place(Arc::new(base.try_clone().unwrap()), false);
        let write = |content: &[u8]| place_whole(&place, content, blake3::hash(content).as_bytes(), MTIME).unwrap();
        write(b"content");
        assert!(dir.path().join("a/inner").is_file());
        fs::write(dir.path().join("a.visapult-part"), b"another").unwrap();
        assert!(swap(&base, &one, Some(&pending), false).unwrap_err().to_string().contains("changed meanwhile"));
        assert_eq!(fs::read(dir.path().join("a/inner")).unwrap(), b"kept");
        write(b"content");
        swap(&base, &one, Some(&pending), false).unwrap();
        let found = fs::metadata(dir.path().join("a")).unwrap();
        assert_eq!(std::os::unix::fs::MetadataExt::mode(&found) & 0o7777, 0o640);
        assert_eq!(fs::read(dir.path().join("a")).unwrap(), b"content");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
