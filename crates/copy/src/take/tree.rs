//! The tree at the taking end: folders and links are made as they are listed, files are held against what is there.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::fs::Permissions;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, Metadata, MetadataExt};

use super::folders::{COPIED, SPECIAL, dress, make_dir, make_link, open_up, surplus, sync_names};
use super::giving_way::{Heir, InWay, StandIns};
use super::pool::Pending;
use crate::error::{CopyError, reason};
use crate::file_id::FileId;
use crate::landing::{Ground, Landing};
use crate::listing::{Entry, Kind, Mtime};
use crate::log::Origin;
use crate::names::Name;
use crate::objects::Shelf;
use crate::partial::{COLLIDES, take_free_name};
use crate::walk::mtime;
use crate::wish::{Alike, Delete, Wish};

/// The mode of a folder as a user makes one.
const ANY: u32 = 0o777;

/// Why a folder has no place, and why a file or link has none.
const NO_FOLDER: &str = "something that is no folder has its name";
const A_FOLDER: &str = "a folder has its name";

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
    /// Folders that get their modes and times in the end.
    folders: Vec<(PathBuf, u32, Mtime)>,
    /// Folders that were there and did not let us put things into them, and the modes they had.
    opened: Vec<(PathBuf, u32)>,
    /// What is of another kind than what was listed of its name, and gives way in the end; and folders that have another name until then.
    in_way: Vec<InWay>,
    stand_ins: StandIns,
    /// Files that are there and did not take the mode of their sources.
    undressed: Vec<Unplaced>,
    /// What is there and was not listed, in folders that are over; or why that cannot be told.
    surplus: Vec<Result<PathBuf, Unplaced>>,
    /// What was not listed, and has a name that copies keep for themselves.
    ours: Vec<PathBuf>,
}

#[derive(Debug)]
struct Level {
    path: PathBuf,
    dir: LevelDir,
    /// It was made just now: nothing is in it but what is put there.
    is_new: bool,
    /// Names that were listed, where what was not is to be deleted.
    listed: Option<HashSet<Name>>,
    /// The latest name that was listed of those that differ in upper and lower case only, where something may be there.
    by_lower: HashMap<String, Name>,
}

impl Level {
    fn of(path: PathBuf, dir: LevelDir) -> Self {
        Self { path, dir, is_new: false, listed: None, by_lower: HashMap::new() }
    }

    /// A name is listed. Returns one that was before it, and may be the same here.
    fn list(&mut self, name: &Name) -> Option<Name> {
        if let Some(listed) = &mut self.listed {
            listed.insert(name.clone());
        }
        let is_open = !self.is_new && matches!(self.dir, LevelDir::Open(_));
        if is_open { self.by_lower.insert(name.lower(), name.clone()) } else { None }
    }
}

#[derive(Clone, Debug)]
enum LevelDir {
    Open(Arc<Dir>),
    /// In a store, where it is the beginning of keys.
    Shelf(Arc<Shelf>),
    /// It would be made, were this not a dry run.
    Absent,
    /// Nothing goes into it.
    Failed,
}

impl Tree {
    /// Without a landing it is one that a dry run does not make.
    pub(super) fn new(landing: Option<&Landing>, wish: Wish) -> Self {
        let dir = match landing.map(|landing| &landing.ground) {
            None => LevelDir::Absent,
            Some(Ground::Folder(base)) => LevelDir::Open(Arc::clone(base)),
            Some(Ground::Shelf(shelf)) => LevelDir::Shelf(Arc::clone(shelf)),
        };
        let rename = landing.and_then(|landing| landing.rename.clone());
        let listed = (wish.delete == Delete::InDestination).then(HashSet::new);
        let levels = vec![Level { listed, ..Level::of(PathBuf::new(), dir) }];
        Self {
            wish,
            rename,
            is_named: false,
            top: PathBuf::new(),
            levels,
            folders: Vec::new(),
            opened: Vec::new(),
            in_way: Vec::new(),
            stand_ins: StandIns::default(),
            undressed: Vec::new(),
            surplus: Vec::new(),
            ours: Vec::new(),
        }
    }

    /// Deals with the next entry, as far as it is no file to be copied. None if entries do not follow one another as they should.
    pub(super) fn take(&mut self, entry: Entry) -> Option<Result<Verdict, Unplaced>> {
        let depth = usize::from(entry.depth);
        self.leave(depth + 1);
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
        let what =
            if entry.kind == Kind::Folder { "cannot be written, nor what is in it" } else { "cannot be written" };
        let spot = Spot { folder, dir, is_new, name, namesake, mode: entry.mode, mtime: entry.mtime };
        let placed = self.place(&spot, entry.kind);
        Some(placed.map_err(|cause| Unplaced { path, why: format!("{what}: {}", reason(&cause)) }))
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
        let (is_dry, path) = (self.wish.dry_run, top.path.join(name.as_path()));
        let dir = match &top.dir {
            LevelDir::Open(dir) => top_in(dir, &name, is_dry).map_err(CopyError::Here)?,
            other => other.clone(),
        };
        self.top.clone_from(&path);
        self.levels = vec![Level::of(path, dir)];
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
            Kind::Folder => {
                let made = self.folder_name(spot).and_then(|name| Ok((self.folder(spot, &name)?, name)));
                let listed = (self.wish.delete != Delete::Nothing).then(HashSet::new);
                let level = match &made {
                    Ok(((dir, is_new), name)) => {
                        let path = spot.folder.join(name.as_path());
                        Level { is_new: *is_new, listed, ..Level::of(path, dir.clone()) }
                    }
                    Err(_) => {
                        // Nothing takes the place of what has its name.
                        self.in_way.pop_if(|one| one.path() == spot.path());
                        Level { listed, ..Level::of(spot.path(), LevelDir::Failed) }
                    }
                };
                let at = level.path.clone();
                self.levels.push(level);
                made.map(|((_, is_new), name)| {
                    if name == spot.name {
                        Verdict::Folder { path: at, is_new }
                    } else {
                        Verdict::StandIn { at, name: spot.name.clone() }
                    }
                })
            }
            Kind::Link { .. } if matches!(spot.dir, LevelDir::Shelf(_)) => Ok(Verdict::NoLink),
            Kind::Link { target } => self.link(spot, target),
            Kind::File { size, has_holes } => self.file(spot, size, has_holes),
        }
    }

    fn place_of(&self, spot: &Spot) -> OsString {
        self.below_destination(&spot.path()).as_os_str().to_owned()
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

    /// What has the name of an entry of another kind gives way in the end, if that is wished for; else that is `why` the entry has no place.
    fn make_way(&mut self, spot: &Spot, there: Option<&Metadata>, why: &str, heir: Heir) -> io::Result<()> {
        let may_go = |there: &&Metadata| there.is_dir() || there.is_file() || there.is_symlink();
        let Some(there) = there.filter(may_go).filter(|_| !self.wish.is_comparison()) else {
            return Err(io::Error::other(why));
        };
        if self.wish.delete == Delete::Nothing {
            return Err(io::Error::other(format!("{why}: remove that, or have it deleted with --delete")));
        }
        let (folder, name) = (spot.folder.clone(), spot.name.clone());
        self.in_way.push(InWay { folder, name, was: FileId::from(there), heir });
        Ok(())
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
        if let LevelDir::Shelf(_) = &spot.dir {
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
                    self.opened.push((path.clone(), there.mode()));
                }
                false
            }
            Some(_) => return Err(io::Error::other(NO_FOLDER)),
        };
        if !self.wish.dry_run {
            self.folders.push((path, spot.mode, spot.mtime));
        }
        Ok((LevelDir::Open(Arc::new(dir.open_dir_nofollow(name)?)), is_new))
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
            _ => {}
        }
        if !self.wish.dry_run {
            let part = spot.name.partial();
            make_link(dir, &part, &target, spot.mtime)?;
            dir.rename(part.as_path(), dir, name)?;
        }
        Ok(Verdict::Link { path, is_new: true })
    }

    fn file(&mut self, spot: &Spot, size: u64, has_holes: bool) -> io::Result<Verdict> {
        let any_time = self.wish.alike == Alike::Content;
        if let LevelDir::Shelf(shelf) = &spot.dir {
            let there = shelf.there(&spot.path())?;
            let pending = self.pending(spot, size, there.is_some());
            // A store keeps the time when it was written there: what was changed before then is there.
            let is_same = there.is_some_and(|there| there.size == size && (any_time || there.mtime.s >= spot.mtime.s));
            let is_same = is_same && !self.wish.anew;
            return Ok(if is_same {
                Verdict::Same { pending, has_holes }
            } else {
                Verdict::Wanted { pending, has_holes }
            });
        }
        // What else comes into a folder that was made just now is found when the file gets its name.
        let dir = spot.dir()?.filter(|_| !spot.is_new);
        let there = dir.map_or(Ok(None), |dir| spot.replaced(dir))?;
        let mut pending = self.pending(spot, size, there.is_some());
        let is_same = |there: &Metadata| there.len() == size && (any_time || spot.mtime.is_kept_as(mtime(there)));
        match there {
            Some(there) if there.is_dir() => {
                self.make_way(spot, Some(&there), A_FOLDER, Heir::File)?;
                (pending.replaces, pending.waits) = (false, true);
                Ok(Verdict::Wanted { pending, has_holes })
            }
            Some(there) if !there.is_file() && !there.is_symlink() => {
                Err(io::Error::other("something that is no file has its name"))
            }
            Some(there) if there.is_file() && is_same(&there) && !self.wish.anew => {
                self.mend_mode(spot, &there);
                Ok(Verdict::Same { pending, has_holes })
            }
            _ => Ok(Verdict::Wanted { pending, has_holes }),
        }
    }

    /// A mode may have changed where nothing else has.
    fn mend_mode(&mut self, spot: &Spot, there: &Metadata) {
        if self.wish.dry_run || there.mode() & COPIED == spot.mode {
            return;
        }
        let mode = Permissions::from_mode(there.mode() & SPECIAL | spot.mode);
        let set = |dir: &Arc<Dir>| dir.set_permissions(spot.name.as_path(), cap_std::fs::Permissions::from_std(mode));
        if let Err(cause) = spot.dir().and_then(|dir| dir.map_or(Ok(()), set)) {
            let why = format!("its mode cannot be set: {}", reason(&cause));
            self.undressed.push(Unplaced { path: spot.path(), why });
        }
    }

    fn pending(&self, spot: &Spot, size: u64, replaces: bool) -> Pending {
        Pending {
            folder: spot.folder.clone(),
            name: spot.name.clone(),
            origin: Origin { size, mtime: spot.mtime, start: self.wish.start.unwrap_or(0) },
            mode: spot.mode,
            replaces,
            waits: false,
        }
    }

    /// Nothing more goes into folders at this depth, or deeper.
    fn leave(&mut self, depth: usize) {
        for level in self.levels.drain(depth.min(self.levels.len())..).rev() {
            let Some(listed) = &level.listed else { continue };
            let found = match &level.dir {
                LevelDir::Open(dir) => surplus(dir, listed),
                LevelDir::Shelf(shelf) => shelf.names(&level.path).map(|there| without(there, listed)),
                LevelDir::Absent | LevelDir::Failed => continue,
            };
            match found {
                Ok(names) => {
                    let (ours, surplus): (Vec<_>, Vec<_>) = names.iter().partition(|name| name.is_ours());
                    let path = |name: &Name| level.path.join(name.as_path());
                    let goes_on = if self.wish.dry_run && !ours.is_empty() && !self.wish.is_comparison() {
                        listed.iter().flat_map(|name| [name.partial(), name.log()]).collect()
                    } else {
                        HashSet::new()
                    };
                    let ours = ours.into_iter().filter(|name| !goes_on.contains(name)).map(path);
                    self.ours.extend(ours.filter(|at| !self.stand_ins.holds(at)));
                    self.surplus.extend(surplus.into_iter().map(path).map(Ok));
                }
                Err(cause) => self.surplus.push(Err(Unplaced {
                    path: level.path,
                    why: format!("what is to be deleted cannot be told: {}", reason(&cause)),
                })),
            }
        }
    }

    /// All is listed: what is in the folders that were copied, and was not listed.
    pub(super) fn take_surplus(&mut self) -> Vec<Result<PathBuf, Unplaced>> {
        self.leave(0);
        std::mem::take(&mut self.surplus)
    }

    /// The folders that were opened up and have no mode of their own yet, outermost first; and what modes they had.
    pub(super) fn take_opened(&mut self) -> Vec<(PathBuf, u32)> {
        std::mem::take(&mut self.opened)
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
        std::mem::take(&mut self.ours)
    }

    /// Gives folders their modes and times, the innermost first, and waits until the disk has all names. Returns what did not take them.
    pub(super) fn finish(&mut self, base: &Dir) -> Vec<Unplaced> {
        let mut unplaced = std::mem::take(&mut self.undressed);
        let mut folders = std::mem::take(&mut self.folders);
        folders.iter_mut().for_each(|(path, ..)| *path = self.resolved(path));
        self.opened.clear();
        // Where others take parts, theirs may not be in them yet.
        let dressed = folders.iter().rev().filter(|_| self.wish.part.is_none());
        for (path, mode, mtime) in dressed {
            if let Err(cause) = dress(base, path, *mode, *mtime) {
                let why = format!("its mode and time cannot be set: {}", reason(&cause));
                unplaced.push(Unplaced { path: path.clone(), why });
            }
        }
        if !self.wish.unsynced && !self.wish.dry_run {
            // What the first one waits for is most often all there is to wait for.
            let paths = folders.iter().map(|(path, ..)| path.as_path()).chain([self.top.as_path(), Path::new("")]);
            unplaced.extend(paths.filter_map(|path| {
                let cause = sync_names(base, path).err()?;
                Some(Unplaced { path: path.to_owned(), why: format!("cannot be written: {}", reason(&cause)) })
            }));
        }
        unplaced
    }
}

fn without(names: BTreeSet<Name>, listed: &HashSet<Name>) -> Vec<Name> {
    names.into_iter().filter(|name| !listed.contains(name)).collect()
}

/// The folder called `name`, which is made for what is copied, unless that is only tried.
fn top_in(dir: &Dir, name: &Name, is_dry: bool) -> Result<LevelDir, String> {
    let path = name.as_path();
    if dir.symlink_metadata(path).is_ok_and(|there| !there.is_dir()) {
        return Err(format!("{name} is no folder, and a folder is to go into it: name another destination"));
    }
    if is_dry {
        return Ok(LevelDir::Absent);
    }
    let made = make_dir(dir, path, ANY).and_then(|_| dir.open_dir_nofollow(path));
    made.map(|dir| LevelDir::Open(Arc::new(dir)))
        .map_err(|cause| format!("{name}: cannot be written: {}", reason(&cause)))
}

/// Where an entry goes.
struct Spot {
    folder: PathBuf,
    dir: LevelDir,
    /// The folder was made just now.
    is_new: bool,
    name: Name,
    /// A name that was listed before it, and may be the same here.
    namesake: Option<Name>,
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
            LevelDir::Absent | LevelDir::Shelf(_) => Ok(None),
            LevelDir::Failed => Err(io::Error::other("the folder that it goes into could not be made")),
        }
    }

    /// What is there under its name.
    fn there(&self, dir: &Dir) -> io::Result<Option<Metadata>> {
        there(dir, self.name.as_path())
    }

    /// The same, which it takes the place of: not of what another entry is.
    fn replaced(&self, dir: &Dir) -> io::Result<Option<Metadata>> {
        let there = self.there(dir)?;
        let other = self.namesake.as_ref().and_then(|other| dir.symlink_metadata(other.as_path()).ok());
        match (&there, &other) {
            (Some(there), Some(other)) if FileId::from(there) == FileId::from(other) => Err(io::Error::other(COLLIDES)),
            _ => Ok(there),
        }
    }
}

/// What is in a folder under this name.
fn there(dir: &Dir, name: &Path) -> io::Result<Option<Metadata>> {
    match dir.symlink_metadata(name) {
        Ok(there) => Ok(Some(there)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(cause),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use cap_std::ambient_authority;

    use super::super::folders::close_again;
    use super::*;

    const MTIME: Mtime = Mtime { s: 1_000_000_000, ns: 5 };

    fn folder(name: &str, mode: u32) -> Entry {
        Entry { depth: 0, name: Name::new(name.as_bytes()).unwrap(), kind: Kind::Folder, mode, mtime: MTIME }
    }

    #[test]
    fn a_folder_is_never_open_to_more_people_than_its_mode_says() {
        let dir = tempfile::tempdir().unwrap();
        let base = Arc::new(Dir::open_ambient_dir(dir.path(), ambient_authority()).unwrap());
        let mode = |name: &str| fs::metadata(dir.path().join(name)).unwrap().permissions().mode() & 0o7777;
        let landing = Landing { ground: Ground::Folder(Arc::clone(&base)), rename: None };
        let mut tree = Tree::new(Some(&landing), Wish { unsynced: true, ..Wish::default() });
        fs::create_dir(dir.path().join("group")).unwrap();
        fs::set_permissions(dir.path().join("group"), Permissions::from_mode(0o2700)).unwrap();
        for entry in [folder("private", 0o700), folder("closed", 0o500), folder("group", 0o750)] {
            assert!(matches!(tree.take(entry), Some(Ok(Verdict::Folder { .. }))));
        }
        // What is put into them meanwhile is nobody else's to see, and there may be an end before theirs.
        assert_eq!((mode("private"), mode("closed"), mode("group")), (0o700, 0o700, 0o2700));
        assert!(tree.finish(&base).is_empty());
        assert_eq!((mode("private"), mode("closed"), mode("group")), (0o700, 0o500, 0o2750));
    }

    #[test]
    fn a_folder_that_was_opened_up_is_closed_again_where_the_copy_ends_before_it_has_its_mode() {
        let dir = tempfile::tempdir().unwrap();
        let base = Arc::new(Dir::open_ambient_dir(dir.path(), ambient_authority()).unwrap());
        let path = dir.path().join("closed");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o2500)).unwrap();
        let landing = Landing { ground: Ground::Folder(Arc::clone(&base)), rename: None };
        let mut tree = Tree::new(Some(&landing), Wish::default());
        assert!(matches!(tree.take(folder("closed", 0o555)), Some(Ok(Verdict::Folder { .. }))));
        // Whoever may do all needs no folder opened.
        let is_root = std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").unwrap()) == 0;
        let meanwhile = if is_root { 0o2500 } else { 0o2700 };
        assert_eq!(mode(), meanwhile);
        close_again(&base, &tree.take_opened());
        assert_eq!(mode(), 0o2500);
    }

    /// What becomes of entries of these names, in a folder that was there.
    fn fates(dir: &Path, entries: [(&str, Kind); 3]) -> [Result<(), String>; 3] {
        let base = Arc::new(Dir::open_ambient_dir(dir, ambient_authority()).unwrap());
        let landing = Landing { ground: Ground::Folder(base), rename: None };
        let mut tree = Tree::new(Some(&landing), Wish::default());
        entries.map(|(name, kind)| {
            let entry = Entry { kind, ..folder(name, 0o640) };
            tree.take(entry).unwrap().map(|_| ()).map_err(|unplaced| unplaced.why)
        })
    }

    /// A folder with a file, a link and a folder in it, and a tree that is copied into it.
    fn of_other_kinds(dir: &Path, wish: Wish) -> (Arc<Dir>, Tree) {
        fs::write(dir.join("file"), "kept").unwrap();
        std::os::unix::fs::symlink("folder", dir.join("link")).unwrap();
        fs::create_dir(dir.join("folder")).unwrap();
        fs::write(dir.join("folder/inner"), "kept").unwrap();
        let base = Arc::new(Dir::open_ambient_dir(dir, ambient_authority()).unwrap());
        let landing = Landing { ground: Ground::Folder(Arc::clone(&base)), rename: None };
        let tree = Tree::new(Some(&landing), Wish { unsynced: true, ..wish });
        (base, tree)
    }

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_of_another_kind_stays_until_it_is_to_give_way() {
        let dir = tempfile::tempdir().unwrap();
        let (_, mut tree) = of_other_kinds(dir.path(), Wish { delete: Delete::InFolders, ..Wish::default() });
        for name in ["file", "link"] {
            let Some(Ok(Verdict::StandIn { at, .. })) = tree.take(folder(name, 0o755)) else { panic!("{name}") };
            assert_eq!((tree.resolved(&at), at), (name.into(), format!("{name}.visapult-folder").into()));
            // What is in it goes there, and is not held against what the link leads to.
            let inner = Entry { depth: 1, kind: Kind::File { size: 4, has_holes: false }, ..folder("inner", 0o644) };
            let Some(Ok(Verdict::Wanted { pending, .. })) = tree.take(inner) else { panic!("{name}") };
            assert_eq!(pending.folder, Path::new(&format!("{name}.visapult-folder")));
            assert!(!pending.replaces && !pending.waits);
        }
        let file = Entry { kind: Kind::File { size: 4, has_holes: false }, ..folder("folder", 0o644) };
        let Some(Ok(Verdict::Wanted { pending, .. })) = tree.take(file) else { panic!() };
        assert!(pending.waits && !pending.replaces);
        assert_eq!(names(dir.path()), ["file", "file.visapult-folder", "folder", "link", "link.visapult-folder"]);
        assert_eq!(fs::read(dir.path().join("folder/inner")).unwrap(), b"kept");
        let surplus = tree.take_surplus();
        assert!(surplus.is_empty() && tree.take_ours().is_empty(), "{surplus:?}");
        let gives_way: Vec<PathBuf> = tree.take_in_way().iter().map(InWay::path).collect();
        assert_eq!(gives_way, [Path::new("file"), Path::new("link"), Path::new("folder")]);
    }

    #[test]
    fn a_link_is_made_once_a_folder_has_given_way() {
        let dir = tempfile::tempdir().unwrap();
        let (_, mut tree) = of_other_kinds(dir.path(), Wish { delete: Delete::InFolders, ..Wish::default() });
        let link = Entry { kind: Kind::Link { target: b"elsewhere".to_vec() }, ..folder("folder", 0o777) };
        assert!(matches!(tree.take(link), Some(Ok(Verdict::Later { .. }))));
        assert_eq!(names(dir.path()), ["file", "folder", "link"]);
        assert_eq!(tree.take_in_way().len(), 1);
    }

    #[test]
    fn what_is_of_another_kind_is_told_where_nothing_is_to_be_deleted_or_copied() {
        let comparison = Wish { dry_run: true, alike: Alike::Content, delete: Delete::InFolders, ..Wish::default() };
        for (wish, is_advised) in [(Wish::default(), true), (comparison, false)] {
            let dir = tempfile::tempdir().unwrap();
            let (_, mut tree) = of_other_kinds(dir.path(), wish);
            let file = Entry { kind: Kind::File { size: 4, has_holes: false }, ..folder("folder", 0o644) };
            for (entry, what) in
                [(folder("file", 0o755), NO_FOLDER), (folder("link", 0o755), NO_FOLDER), (file, A_FOLDER)]
            {
                let Some(Err(Unplaced { why, .. })) = tree.take(entry) else { panic!("{what}") };
                assert!(why.contains(what) && why.contains("--delete") == is_advised, "{why}");
            }
            assert!(tree.take_in_way().is_empty());
            assert_eq!(names(dir.path()), ["file", "folder", "link"]);
        }
    }

    #[test]
    fn a_dry_run_makes_nothing_for_what_would_give_way_and_looks_into_what_an_earlier_attempt_has_left() {
        let dir = tempfile::tempdir().unwrap();
        let wish = Wish { dry_run: true, delete: Delete::InFolders, ..Wish::default() };
        let (_, mut tree) = of_other_kinds(dir.path(), wish);
        fs::create_dir(dir.path().join("link.visapult-folder")).unwrap();
        fs::write(dir.path().join("link.visapult-folder/inner"), "half").unwrap();
        for (name, replaces) in [("file", false), ("link", true)] {
            assert!(matches!(tree.take(folder(name, 0o755)), Some(Ok(Verdict::StandIn { .. }))));
            let inner = Entry { depth: 1, kind: Kind::File { size: 9, has_holes: false }, ..folder("inner", 0o644) };
            let Some(Ok(Verdict::Wanted { pending, .. })) = tree.take(inner) else { panic!("{name}") };
            assert_eq!(pending.replaces, replaces, "{name}");
        }
        assert_eq!(names(dir.path()), ["file", "folder", "link", "link.visapult-folder"]);
    }

    #[test]
    fn a_folder_goes_on_from_what_was_left_when_its_name_had_just_become_free() {
        let dir = tempfile::tempdir().unwrap();
        let (base, mut tree) = of_other_kinds(dir.path(), Wish::default());
        fs::create_dir(dir.path().join("new.visapult-folder")).unwrap();
        fs::write(dir.path().join("new.visapult-folder/inner"), "kept").unwrap();
        let landing = Landing { ground: Ground::Folder(base), rename: None };
        let mut dry = Tree::new(Some(&landing), Wish { dry_run: true, ..Wish::default() });
        let inner = Entry { depth: 1, kind: Kind::File { size: 9, has_holes: false }, ..folder("inner", 0o644) };
        assert!(matches!(dry.take(folder("new", 0o755)), Some(Ok(Verdict::StandIn { .. }))));
        let Some(Ok(Verdict::Wanted { pending, .. })) = dry.take(inner) else { panic!() };
        assert!(pending.replaces);
        assert_eq!(names(dir.path()), ["file", "folder", "link", "new.visapult-folder"]);
        let taken = tree.take(folder("new", 0o755));
        assert!(matches!(taken, Some(Ok(Verdict::Folder { is_new: false, .. }))), "{taken:?}");
        assert_eq!(fs::read(dir.path().join("new/inner")).unwrap(), b"kept");
        assert_eq!(names(dir.path()), ["file", "folder", "link", "new"]);
    }

    #[test]
    fn what_gives_way_to_one_name_is_no_place_for_another_that_is_the_same_there() {
        let dir = tempfile::tempdir().unwrap();
        let (_, mut tree) = of_other_kinds(dir.path(), Wish { delete: Delete::InFolders, ..Wish::default() });
        let file = Entry { kind: Kind::File { size: 4, has_holes: false }, ..folder("folder", 0o644) };
        assert!(matches!(tree.take(file), Some(Ok(Verdict::Wanted { .. }))));
        // As where case does not count: one folder has both names.
        fs::rename(dir.path().join("folder"), dir.path().join("Folder")).unwrap();
        let Some(Err(Unplaced { why, .. })) = tree.take(folder("Folder", 0o755)) else { panic!() };
        assert!(why.contains(COLLIDES), "{why}");
    }

    #[test]
    fn what_is_neither_file_folder_nor_link_gives_way_to_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (_, mut tree) = of_other_kinds(dir.path(), Wish { delete: Delete::InFolders, ..Wish::default() });
        let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("socket")).unwrap();
        let Some(Err(Unplaced { why, .. })) = tree.take(folder("socket", 0o755)) else { panic!() };
        assert!(why.ends_with(NO_FOLDER), "{why}");
        assert!(tree.take_in_way().is_empty());
    }

    #[test]
    fn nothing_takes_the_place_of_what_was_listed_before_it() {
        let dir = tempfile::tempdir().unwrap();
        let (upper, lower) = (dir.path().join("Density"), dir.path().join("density"));
        let file = || Kind::File { size: 3, has_holes: false };
        fs::write(&upper, "one").unwrap();
        // As where case does not count: one file has both names.
        fs::hard_link(&upper, &lower).unwrap();
        for kind in [file(), Kind::Link { target: b"x".to_vec() }] {
            let [first, second, other] = fates(dir.path(), [("Density", file()), ("density", kind), ("other", file())]);
            assert_eq!((first, other), (Ok(()), Ok(())));
            assert_eq!(second, Err(format!("cannot be written: {COLLIDES}")));
        }
        assert_eq!(fs::read(&lower).unwrap(), b"one");
        // And where it does.
        fs::remove_file(&lower).unwrap();
        fs::write(&lower, "two").unwrap();
        let all = fates(dir.path(), [("Density", file()), ("density", file()), ("DENSITY", file())]);
        assert_eq!(all, [Ok(()), Ok(()), Ok(())]);
    }
}
