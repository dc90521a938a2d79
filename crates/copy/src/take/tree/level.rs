//! The folders that entries go into, one for each depth, and the names that were listed of them.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use cap_fs_ext::DirExt;
use cap_std::fs::Dir;

use super::super::folders::make_dir;
use crate::error::reason;
use crate::names::Name;
use crate::objects::StoreDestination;
use crate::source_id::SourceId;

/// The mode of a folder as a user makes one.
const ANY: u32 = 0o777;

/// A folder that entries go into, as long as they are listed.
#[derive(Debug)]
pub(super) struct Level {
    pub(super) path: PathBuf,
    pub(super) dir: LevelDir,
    /// Where it lies at the source.
    pub(super) source: SourceId,
    /// It was made just now: nothing is in it but what is put there.
    pub(super) is_new: bool,
    /// Names that were listed, where what was not is to be deleted.
    pub(super) listed: Option<HashSet<Name>>,
    /// The latest name that was listed of those that differ in upper and lower case only, where something may be there.
    pub(super) by_lower: HashMap<String, Name>,
}

impl Level {
    pub(super) fn of(path: PathBuf, dir: LevelDir) -> Self {
        Self { path, dir, source: SourceId::default(), is_new: false, listed: None, by_lower: HashMap::new() }
    }

    /// A name is listed. Returns one that was before it, and may be the same here.
    pub(super) fn list(&mut self, name: &Name) -> Option<Name> {
        if let Some(listed) = &mut self.listed {
            listed.insert(name.clone());
        }
        let is_open = !self.is_new && matches!(self.dir, LevelDir::Open(_));
        if is_open { self.by_lower.insert(name.lower(), name.clone()) } else { None }
    }
}

/// Where that folder is.
#[derive(Clone, Debug)]
pub(super) enum LevelDir {
    Open(Arc<Dir>),
    /// In a store, where it is the beginning of keys.
    Store(Arc<StoreDestination>),
    /// It would be made, were this not a dry run.
    Absent,
    /// Nothing goes into it.
    Failed,
}

/// The folder called `name`, which is made for what is copied, unless that is only tried.
pub(super) fn top_in(dir: &Dir, name: &Name, is_dry: bool) -> Result<LevelDir, String> {
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
