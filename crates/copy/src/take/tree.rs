//! The tree at the taking end: folders and links are made as they are listed, files are held against what is there.

mod dressing;
mod entering;
mod level;
mod spot;
#[cfg(test)]
mod tests;
mod unlisted;

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::{Dir, Metadata};

use self::dressing::Dressing;
use self::level::{Level, LevelDir, top_in};
use self::spot::Spot;
use self::unlisted::Unlisted;
use super::folders::make_link;
use super::giving_way::{Heir, InWay, StandIns};
use super::pool::Pending;
use crate::error::{CopyError, reason};
use crate::file_id::FileId;
use crate::landing::{Ground, Landing};
use crate::listing::{Entry, Kind};
use crate::log::Origin;
use crate::names::Name;
use crate::objects::Told;
use crate::source_id::SourceId;
use crate::walk::mtime;
use crate::wish::{Alike, Delete, Wish};

/// Why a folder has no place, and why a file or link has none.
const NO_FOLDER: &str = "something that is no folder has its name";
const A_FOLDER: &str = "a folder has its name";
const NO_FILE: &str = "something that is no file has its name";

/// Why a part of a file has no place: it would be all that is left of another.
const NO_PART: &str = "a file of another size than this part has its name: remove that, or name a new file";

/// What is to be done about something that has the name of something of another kind.
pub(crate) const IN_WAY: &str = "remove that, or copy with delete";

/// What is to become of an entry.
#[derive(Debug)]
pub(super) enum Verdict {
    /// A folder that was there, or is there now.
    Folder { path: PathBuf, is_new: bool },
    /// A folder that is at `at` as long as its name is not free; what an earlier attempt has left may be in it.
    StandIn { at: PathBuf, name: Name },
    /// A link that was there, or is there now.
    Link { path: PathBuf, is_new: bool },
    /// A link that is made once a folder has given way.
    Later { path: PathBuf },
    /// A file that looks the same.
    Same { pending: Pending, has_holes: bool },
    /// A link, of which there are none at the destination.
    NoLink,
    /// A file that is wanted.
    Wanted { pending: Pending, has_holes: bool },
    /// A file or link that others take.
    Elsewhere,
    /// What is in a folder that has no place, which is told of the folder.
    Nowhere,
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
    wish: Wish,
    rename: Option<Name>,
    /// The name is given away.
    is_named: bool,
    /// The folder that things go into, where it was made for them.
    top: PathBuf,
    /// Where entries of each depth go.
    levels: Vec<Level>,
    dressing: Dressing,
    /// What is of another kind than what was listed of its name, and gives way in the end; and folders that have another name until then.
    in_way: Vec<InWay>,
    stand_ins: StandIns,
    unlisted: Unlisted,
}

impl Tree {
    /// Without a landing it is one that a dry run does not make.
    pub(super) fn new(landing: Option<&Landing>, wish: Wish) -> Self {
        let dir = match landing.map(|landing| &landing.ground) {
            None => LevelDir::Absent,
            Some(Ground::Folder(base)) => LevelDir::Open(Arc::clone(base)),
            Some(Ground::Store(target)) => LevelDir::Store(Arc::clone(target)),
        };
        let rename = landing.and_then(|landing| landing.rename.clone());
        let listed = (wish.delete == Delete::InDestination).then(HashSet::new);
        let levels = vec![Level { listed, source: wish.source, ..Level::of(PathBuf::new(), dir) }];
        Self {
            wish,
            rename,
            is_named: false,
            top: PathBuf::new(),
            levels,
            dressing: Dressing::default(),
            in_way: Vec::new(),
            stand_ins: StandIns::default(),
            unlisted: Unlisted::default(),
        }
    }

    /// The share that all comes from calls itself so.
    pub(super) fn comes_from(&mut self, share: SourceId) {
        if let Some(top) = self.levels.first_mut() {
            top.source = top.source.in_share(share);
        }
    }

    /// Deals with the next entry, as far as it is no file to be copied. None if entries do not follow one another as they should.
    pub(super) fn take(&mut self, entry: Entry) -> Option<Result<Verdict, Unplaced>> {
        let depth = usize::from(entry.depth);
        self.leave(depth + 1);
        let source = self.levels.get(depth)?.source.below(entry.name.bytes());
        let mut name = entry.name;
        if depth == 0
            && let Some(rename) = &self.rename
        {
            name = rename.clone();
            // One name is for one thing.
            if std::mem::replace(&mut self.is_named, true) {
                return None;
            }
        }
        let level = self.levels.get_mut(depth)?;
        let namesake = level.list(&name);
        let (folder, dir, is_new) = (level.path.clone(), level.dir.clone(), level.is_new);
        let path = folder.join(name.as_path());
        let what = match entry.kind {
            _ if self.wish.is_comparison() => "",
            Kind::Folder => "cannot be written, nor what is in it: ",
            _ => "cannot be written: ",
        };
        let spot = Spot { folder, dir, is_new, name, namesake, mode: entry.mode, mtime: entry.mtime, source };
        let placed = self.place(&spot, entry.kind);
        Some(placed.map_err(|cause| Unplaced { path, why: format!("{what}{}", reason(&cause)) }))
    }

    /// A folder goes into the destination rather than take its name: else the same command would do something else the second time.
    ///
    /// # Errors
    /// If `entry` is one, and the destination can be none.
    pub(super) fn make_top(&mut self, entry: &Entry) -> Result<(), CopyError> {
        if entry.depth > 0 || entry.kind != Kind::Folder {
            return Ok(());
        }
        let (Some(name), Some(top)) = (self.rename.take(), self.levels.first()) else { return Ok(()) };
        let (is_dry, path, source) = (self.wish.dry_run, top.path.join(name.as_path()), top.source);
        let dir = match &top.dir {
            LevelDir::Open(dir) => top_in(dir, &name, is_dry).map_err(CopyError::Here)?,
            other => other.clone(),
        };
        self.top.clone_from(&path);
        self.levels = vec![Level { source, ..Level::of(path, dir) }];
        Ok(())
    }

    /// The folder that was made for what is copied; empty where that was there.
    pub(super) const fn top(&self) -> &PathBuf {
        &self.top
    }

    /// `path` as it is below the destination.
    pub(super) fn below_destination<'a>(&self, path: &'a Path) -> &'a Path {
        self.levels.first().and_then(|top| path.strip_prefix(&top.path).ok()).unwrap_or(path)
    }

    fn place(&mut self, spot: &Spot, kind: Kind) -> io::Result<Verdict> {
        if spot.name.is_ours() {
            return Err(io::Error::other("names with this ending are kept for files that are being copied"));
        }
        if matches!(spot.dir, LevelDir::Failed) {
            if kind == Kind::Folder {
                self.levels.push(Level::of(spot.path(), LevelDir::Failed));
            }
            return Ok(Verdict::Nowhere);
        }
        if kind != Kind::Folder && self.wish.part.is_some_and(|part| !part.holds(self.place_of(spot).as_bytes())) {
            return Ok(Verdict::Elsewhere);
        }
        match kind {
            Kind::Folder => self.enter(spot),
            Kind::Link { .. } if matches!(spot.dir, LevelDir::Store(_)) => Ok(Verdict::NoLink),
            Kind::Link { target } => self.link(spot, target),
            Kind::File { size, has_holes } => self.file(spot, size, has_holes),
        }
    }

    fn place_of(&self, spot: &Spot) -> OsString {
        self.below_destination(&spot.path()).as_os_str().to_owned()
    }

    /// What has the name of an entry of another kind gives way in the end, if that is wished for; else that is `why` the entry has no place.
    fn make_way(&mut self, spot: &Spot, there: Option<&Metadata>, why: &str, heir: Heir) -> io::Result<()> {
        let may_go = |there: &&Metadata| there.is_dir() || there.is_file() || there.is_symlink();
        let Some(there) = there.filter(may_go).filter(|_| !self.wish.is_comparison()) else {
            return Err(self.no_place(there, heir.kind(), why));
        };
        if self.wish.delete == Delete::Nothing {
            return Err(io::Error::other(format!("{why}: {IN_WAY}")));
        }
        let (folder, name) = (spot.folder.clone(), spot.name.clone());
        self.in_way.push(InWay { folder, name, was: FileId::from(there), heir });
        Ok(())
    }

    /// Something of another kind has the name of what is listed: that is `why` it has no place, or how the two differ.
    fn no_place(&self, there: Option<&Metadata>, listed: &str, why: &str) -> io::Error {
        let Some(there) = there.filter(|_| self.wish.is_comparison()) else { return io::Error::other(why) };
        let here = match there {
            _ if there.is_dir() => "a folder",
            _ if there.is_file() => "a file",
            _ if there.is_symlink() => "a link",
            _ => "neither file, folder nor link",
        };
        io::Error::other(format!("is {here} here and {listed} there"))
    }

    /// Makes a link where it is not there.
    fn link(&mut self, spot: &Spot, target: Vec<u8>) -> io::Result<Verdict> {
        let path = spot.path();
        let Some(dir) = spot.dir()? else { return Ok(Verdict::Link { path, is_new: true }) };
        let name = spot.name.as_path();
        match spot.replaced(dir)? {
            Some(there) if there.is_dir() => {
                self.make_way(spot, Some(&there), A_FOLDER, Heir::Link { target, mtime: spot.mtime })?;
                return Ok(Verdict::Later { path });
            }
            Some(there) if there.is_symlink() && dir.read_link_contents(name)?.as_os_str().as_bytes() == target => {
                return Ok(Verdict::Link { path, is_new: false });
            }
            Some(there) if !there.is_file() && !there.is_symlink() => {
                return Err(self.no_place(Some(&there), "a link", NO_FILE));
            }
            _ => {}
        }
        if !self.wish.dry_run {
            let part = spot.name.partial();
            make_link(dir, &part, &target, spot.mtime)?;
            dir.rename(part.as_path(), dir, name)?;
        }
        Ok(Verdict::Link { path, is_new: true })
    }

    /// A file, which is wanted unless it looks the same there.
    fn file(&mut self, spot: &Spot, size: u64, has_holes: bool) -> io::Result<Verdict> {
        if let LevelDir::Store(target) = &spot.dir {
            let there = target.there(&spot.path())?;
            if self.is_part() && !self.wish.anew && there.as_ref().is_some_and(|there| there.size != size) {
                return Err(io::Error::other(NO_PART));
            }
            let pending = self.pending(spot, size, there.is_some());
            // A store keeps the time when it was written there: what was changed before then is there.
            let is_no_older = |there: Told| !spot.mtime.is_untold() && there.mtime.s >= spot.mtime.s;
            let looks_same = |there: Told| there.size == size && (self.any_time() || is_no_older(there));
            return Ok(match there.filter(|_| !self.wish.anew) {
                Some(there) if looks_same(there) => Verdict::Same { pending, has_holes },
                _ => Verdict::Wanted { pending, has_holes },
            });
        }
        // What else comes into a folder that was made just now is found when the file gets its name.
        let dir = spot.dir()?.filter(|_| !spot.is_new);
        let there = dir.map_or(Ok(None), |dir| spot.replaced(dir))?;
        let mut pending = self.pending(spot, size, there.is_some());
        pending.is_begun = self.wish.alike == Alike::All
            && !self.wish.anew
            && dir.is_some_and(|dir| dir.symlink_metadata(spot.name.partial().as_path()).is_ok());
        let any_time = self.any_time();
        let is_same = |there: &Metadata| there.len() == size && (any_time || spot.mtime.is_kept_as(mtime(there)));
        match there {
            Some(there) if there.is_dir() => {
                self.make_way(spot, Some(&there), A_FOLDER, Heir::File)?;
                (pending.replaces, pending.waits) = (false, true);
                Ok(Verdict::Wanted { pending, has_holes })
            }
            Some(there) if !there.is_file() && !there.is_symlink() => {
                Err(self.no_place(Some(&there), "a file", NO_FILE))
            }
            Some(there) if self.is_part() && !self.wish.anew && there.is_file() && there.len() != size => {
                Err(io::Error::other(NO_PART))
            }
            Some(there) if there.is_file() && is_same(&there) && !self.wish.anew => {
                if !self.wish.dry_run {
                    self.dressing.mend_mode(spot, &there);
                }
                Ok(Verdict::Same { pending, has_holes })
            }
            _ => Ok(Verdict::Wanted { pending, has_holes }),
        }
    }

    /// What is copied is some bytes of a file.
    const fn is_part(&self) -> bool {
        self.wish.start.is_some()
    }

    /// Files are the same whenever they were changed.
    fn any_time(&self) -> bool {
        self.wish.alike == Alike::Content
    }

    fn pending(&self, spot: &Spot, size: u64, replaces: bool) -> Pending {
        Pending {
            folder: spot.folder.clone(),
            name: spot.name.clone(),
            origin: Origin { size, mtime: spot.mtime, start: self.wish.start.unwrap_or(0), source: spot.source },
            mode: spot.mode,
            replaces,
            waits: false,
            is_begun: false,
        }
    }

    /// All is listed: what is in the folders that were copied, and was not listed.
    pub(super) fn take_surplus(&mut self) -> Vec<Result<PathBuf, Unplaced>> {
        self.leave(0);
        std::mem::take(&mut self.unlisted.surplus)
    }

    /// The folders that were opened up and have no mode of their own yet, outermost first; and what modes they had.
    pub(super) fn take_opened(&mut self) -> Vec<(PathBuf, u32)> {
        self.dressing.take_opened()
    }

    /// What has the name of something of another kind, and gives way to that, once all is listed.
    pub(super) fn take_in_way(&mut self) -> Vec<InWay> {
        std::mem::take(&mut self.in_way)
    }

    /// The folder at `at` does not get its name.
    pub(super) fn stays(&mut self, at: &Path) {
        self.stand_ins.remove(at);
    }

    /// Where a path leads once folders have their names.
    pub(super) fn resolved(&self, path: &Path) -> PathBuf {
        self.stand_ins.resolved(path)
    }

    /// What is there under names that copies keep for themselves, once all is listed.
    pub(super) fn take_ours(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.unlisted.ours)
    }

    /// Nothing more goes into folders at this depth, or deeper.
    fn leave(&mut self, depth: usize) {
        for level in self.levels.drain(depth.min(self.levels.len())..).rev() {
            self.unlisted.look_through(level, self.wish, &self.stand_ins);
        }
    }

    /// Gives folders their modes and times, and waits until the disk has all names. Returns what did not take them.
    pub(super) fn finish(&mut self, base: &Dir) -> Vec<Unplaced> {
        self.dressing.finish(base, self.wish, &self.top, &self.stand_ins)
    }
}
