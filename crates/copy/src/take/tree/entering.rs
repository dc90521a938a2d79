//! Folders at the taking end: made where they are not there, and filled under another name where something else has theirs.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use cap_fs_ext::DirExt;
use cap_std::fs::{Metadata, MetadataExt};

use super::super::folders::{make_dir, open_up};
use super::super::giving_way::Heir;
use super::level::{Level, LevelDir};
use super::spot::{Spot, there};
use super::{NO_FOLDER, Tree, Verdict};
use crate::file_id::FileId;
use crate::names::Name;
use crate::partial::{COLLIDES, take_free_name};
use crate::wish::Delete;

impl Tree {
    /// What follows at the next depth is in this folder, or goes nowhere.
    pub(super) fn enter(&mut self, spot: &Spot) -> io::Result<Verdict> {
        let listed = (self.wish.delete != Delete::Nothing).then(HashSet::new);
        let made = self.folder_name(spot).and_then(|name| Ok((self.folder(spot, &name)?, name)));
        match made {
            Ok(((dir, is_new), name)) => {
                let at = spot.folder.join(name.as_path());
                self.levels.push(Level { is_new, listed, source: spot.source, ..Level::of(at.clone(), dir) });
                if name == spot.name {
                    Ok(Verdict::Folder { path: at, is_new })
                } else {
                    Ok(Verdict::StandIn { at, name: spot.name.clone() })
                }
            }
            Err(cause) => {
                // Nothing takes the place of what has its name.
                self.in_way.pop_if(|one| one.path() == spot.path());
                self.levels.push(Level { listed, ..Level::of(spot.path(), LevelDir::Failed) });
                Err(cause)
            }
        }
    }

    /// What the folder is called for now: something may have its name, or an earlier attempt have filled it under another and come no further.
    fn folder_name(&mut self, spot: &Spot) -> io::Result<Name> {
        let (name, stand_in) = (spot.name.clone(), spot.name.stand_in());
        let Some(dir) = spot.dir()?.filter(|_| !spot.is_new) else { return Ok(name) };
        match spot.there(dir)? {
            Some(there) if there.is_dir() => {
                self.check_kept(spot, &there)?;
                return Ok(name);
            }
            Some(_) => {
                let there = spot.replaced(dir)?;
                self.make_way(spot, there.as_ref(), NO_FOLDER, Heir::Folder)?;
            }
            None if self.wish.is_comparison() => return Ok(name),
            None => match dir.symlink_metadata(stand_in.as_path()) {
                Ok(there) if there.is_dir() && self.wish.dry_run => {}
                Ok(there) if there.is_dir() => {
                    take_free_name(dir, &stand_in, &name)?;
                    return Ok(name);
                }
                _ => return Ok(name),
            },
        }
        self.stand_ins.add(spot.folder.join(stand_in.as_path()), name);
        Ok(stand_in)
    }

    /// A folder that gives way to what was listed under another name is no place for anything, where the two names are one.
    fn check_kept(&self, spot: &Spot, there: &Metadata) -> io::Result<()> {
        let gives_way = |name: &Name| {
            let mut in_way = self.in_way.iter().rev();
            in_way.any(|one| one.name == *name && one.folder == spot.folder && one.was == FileId::from(there))
        };
        let is_gone = spot.namesake.as_ref().is_some_and(gives_way);
        if is_gone { Err(io::Error::other(COLLIDES)) } else { Ok(()) }
    }

    /// The folder that is called `name` for now, and whether it was made just now.
    fn folder(&mut self, spot: &Spot, name: &Name) -> io::Result<(LevelDir, bool)> {
        if let LevelDir::Store(_) = &spot.dir {
            return Ok((spot.dir.clone(), false));
        }
        let Some(dir) = spot.dir()? else { return Ok((LevelDir::Absent, true)) };
        let path = spot.folder.join(name.as_path());
        let name = name.as_path();
        let is_new = match there(dir, name)? {
            None if self.wish.dry_run => return Ok((LevelDir::Absent, true)),
            None => make_dir(dir, name, spot.mode)?,
            Some(there) if there.is_dir() => {
                if !self.wish.dry_run && open_up(dir, name, &there) {
                    self.dressing.opened(path.clone(), there.mode());
                }
                false
            }
            Some(_) => return Err(io::Error::other(NO_FOLDER)),
        };
        if !self.wish.dry_run {
            self.dressing.folder(path, spot.mode, spot.mtime);
        }
        Ok((LevelDir::Open(Arc::new(dir.open_dir_nofollow(name)?)), is_new))
    }
}
