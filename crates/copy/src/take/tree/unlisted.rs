//! What is there and was not listed, in folders that are over.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;

use super::super::folders::surplus;
use super::super::giving_way::StandIns;
use super::Unplaced;
use super::level::{Level, LevelDir};
use crate::error::reason;
use crate::names::Name;
use crate::wish::Wish;

#[derive(Debug, Default)]
pub(super) struct Unlisted {
    /// What is to be deleted, or why that cannot be told.
    pub(super) surplus: Vec<Result<PathBuf, Unplaced>>,
    /// What has a name that copies keep for themselves.
    pub(super) ours: Vec<PathBuf>,
}

impl Unlisted {
    /// Nothing more goes into the folder.
    pub(super) fn look_through(&mut self, level: Level, wish: Wish, stand_ins: &StandIns) {
        let Some(listed) = &level.listed else { return };
        let names = match names_in(&level, listed) {
            Ok(names) => names,
            Err(cause) => {
                let what = if wish.is_comparison() { "what is in it" } else { "what is to be deleted" };
                let why = format!("{what} cannot be told: {}", reason(&cause));
                return self.surplus.push(Err(Unplaced { path: level.path, why }));
            }
        };
        let (ours, surplus): (Vec<_>, Vec<_>) = names.iter().partition(|name| name.is_ours());
        let path = |name: &Name| level.path.join(name.as_path());
        // A dry run leaves what a copy would go on from.
        let goes_on = if wish.dry_run && !ours.is_empty() && !wish.is_comparison() {
            listed.iter().flat_map(|name| [name.partial(), name.log()]).collect()
        } else {
            HashSet::new()
        };
        let ours = ours.into_iter().filter(|name| !goes_on.contains(name)).map(path);
        self.ours.extend(ours.filter(|at| !stand_ins.holds(at)));
        self.surplus.extend(surplus.into_iter().map(path).map(Ok));
    }
}

fn names_in(level: &Level, listed: &HashSet<Name>) -> io::Result<Vec<Name>> {
    match &level.dir {
        LevelDir::Open(dir) => surplus(dir, listed),
        LevelDir::Store(target) => {
            let there = target.names(&level.path)?;
            Ok(there.into_iter().filter(|name| !listed.contains(name)).collect())
        }
        LevelDir::Absent | LevelDir::Failed => Ok(Vec::new()),
    }
}
