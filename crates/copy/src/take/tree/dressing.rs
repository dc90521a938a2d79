//! Modes and times at the taking end: folders get theirs once nothing more goes into them.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::{Dir, Metadata, MetadataExt};

use super::super::folders::{COPIED, SPECIAL, dress, sync_names};
use super::super::giving_way::StandIns;
use super::Unplaced;
use super::spot::Spot;
use crate::error::reason;
use crate::listing::Mtime;
use crate::wish::Wish;

/// A folder that was made, or was there.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    mode: u32,
    mtime: Mtime,
}

#[derive(Debug, Default)]
pub(super) struct Dressing {
    /// Folders that get their modes and times in the end.
    folders: Vec<Folder>,
    /// Folders that were there and did not let us put things into them, and the modes they had.
    opened: Vec<(PathBuf, u32)>,
    /// Files that are there and did not take the mode of their sources.
    undressed: Vec<Unplaced>,
}

impl Dressing {
    pub(super) fn folder(&mut self, path: PathBuf, mode: u32, mtime: Mtime) {
        self.folders.push(Folder { path, mode, mtime });
    }

    /// A folder had this mode, and has another meanwhile.
    pub(super) fn opened(&mut self, path: PathBuf, mode: u32) {
        self.opened.push((path, mode));
    }

    /// The folders that were opened up and have no mode of their own yet, outermost first; and what modes they had.
    pub(super) fn take_opened(&mut self) -> Vec<(PathBuf, u32)> {
        std::mem::take(&mut self.opened)
    }

    /// The mode of a file may have changed where nothing else has.
    pub(super) fn mend_mode(&mut self, spot: &Spot, there: &Metadata) {
        if there.mode() & COPIED == spot.mode {
            return;
        }
        let mode = Permissions::from_mode(there.mode() & SPECIAL | spot.mode);
        let set = |dir: &Arc<Dir>| dir.set_permissions(spot.name.as_path(), cap_std::fs::Permissions::from_std(mode));
        if let Err(cause) = spot.dir().and_then(|dir| dir.map_or(Ok(()), set)) {
            let why = format!("its mode cannot be set: {}", reason(&cause));
            self.undressed.push(Unplaced { path: spot.path(), why });
        }
    }

    /// Gives folders their modes and times, the innermost first, and waits until the disk has all names, those in `top` among them. Returns what
    /// did not take them.
    pub(super) fn finish(&mut self, base: &Dir, wish: Wish, top: &Path, stand_ins: &StandIns) -> Vec<Unplaced> {
        let mut unplaced = std::mem::take(&mut self.undressed);
        let mut folders = std::mem::take(&mut self.folders);
        folders.iter_mut().for_each(|folder| folder.path = stand_ins.resolved(&folder.path));
        self.opened.clear();
        // Where others take parts, theirs may not be in them yet.
        for Folder { path, mode, mtime } in folders.iter().rev().filter(|_| wish.part.is_none()) {
            if let Err(cause) = dress(base, path, *mode, *mtime) {
                let why = format!("its mode and time cannot be set: {}", reason(&cause));
                unplaced.push(Unplaced { path: path.clone(), why });
            }
        }
        if !wish.unsynced && !wish.dry_run {
            // What the first one waits for is most often all there is to wait for.
            let paths = folders.iter().map(|folder| folder.path.as_path()).chain([top, Path::new("")]);
            unplaced.extend(paths.filter_map(|path| {
                let cause = sync_names(base, path).err()?;
                Some(Unplaced { path: path.to_owned(), why: format!("cannot be written: {}", reason(&cause)) })
            }));
        }
        unplaced
    }
}
