//! What the sources do not have is deleted in the end, where that is wished for.

use std::path::PathBuf;

use super::tree::Unplaced;
use super::{Taking, folders};
use crate::error::{CopyError, reason};
use crate::landing::Ground;
use crate::names::OURS;
use crate::report::Tally;
use crate::wish::Delete;

impl Taking<'_> {
    /// Deletes what the sources do not have, if it is sure that they do not.
    pub(super) fn delete(&mut self, ground: &Ground) -> Result<(), CopyError> {
        let surplus = self.tree.take_surplus();
        let in_way = self.tree.take_in_way();
        let ours = self.tree.take_ours();
        if self.wish.is_comparison() {
            return self.tell_surplus(surplus, &ours);
        }
        if self.wish.delete == Delete::Nothing {
            return Ok(());
        }
        let Tally { wanted_files, same_files, failed, .. } = self.telling.tally;
        let is_partial = self.is_partial || failed > 0;
        if is_partial || wanted_files + same_files == 0 {
            if surplus.is_empty() && in_way.is_empty() {
                return Ok(());
            }
            self.keep_in_way(&in_way)?;
            let why = if is_partial { "not all of the sources could be copied" } else { "the sources hold no file" };
            return self.telling.notice(format!("nothing is deleted, for {why}"));
        }
        let (mut paths, mut deleted) = (Vec::new(), Vec::new());
        for found in surplus {
            match found {
                Ok(path) => paths.push(path),
                Err(unplaced) => self.telling.fail(None, &unplaced.path, &unplaced.why)?,
            }
        }
        for (path, gone) in paths.iter().zip(self.delete_from(ground, &paths)) {
            match gone {
                Ok(()) => deleted.push(self.telling.called(path)),
                Err(why) => self.telling.fail(None, path, &format!("cannot be deleted: {why}"))?,
            }
        }
        if let Ground::Folder(base) = ground {
            let gone = self.give_way(base, in_way)?;
            deleted.extend(gone.iter().map(|path| self.telling.called(path)));
        }
        self.tell_of_ours(ground, ours)?;
        if deleted.is_empty() { Ok(()) } else { self.telling.deleted(&deleted) }
    }

    /// In a comparison, tells of what is here alone, whatever else differs or fails: but not where it is not known what the sources have.
    fn tell_surplus(&mut self, surplus: Vec<Result<PathBuf, Unplaced>>, ours: &[PathBuf]) -> Result<(), CopyError> {
        for path in ours {
            self.telling.left_out(self.telling.called(path), OURS.to_owned())?;
        }
        let mut alone = Vec::new();
        for found in surplus {
            match found {
                Ok(path) => alone.push(self.telling.called(&path)),
                Err(unplaced) => self.telling.fail(None, &unplaced.path, &unplaced.why)?,
            }
        }
        if self.unlisted.is_all(self.entries) {
            return Ok(());
        }
        alone.retain(|path| !self.unlisted.holds(path));
        if alone.is_empty() { Ok(()) } else { self.telling.deleted(&alone) }
    }

    /// What copies keep for themselves in folders that are listed is not deleted, for one may be under way: nor is it passed over, for it may be of
    /// any size.
    fn tell_of_ours(&mut self, ground: &Ground, mut ours: Vec<PathBuf>) -> Result<(), CopyError> {
        if let Ground::Folder(base) = ground {
            // What of it was gone on from has its name by now.
            ours.retain(|path| base.symlink_metadata(self.tree.resolved(path)).is_ok());
        }
        let [first, others @ ..] = &ours[..] else { return Ok(()) };
        let (first, others) = (self.telling.called(first), others.len());
        let all = if others > 0 { format!("{first} and {others} more are") } else { format!("{first} is") };
        let why = "of copies that were interrupted, or go on: delete by hand what is of no use any more";
        self.telling.notice(format!("{all} not deleted, {why}"))
    }

    /// Deletes these, unless it is a dry run: of each why it is still there, if so.
    fn delete_from(&self, ground: &Ground, paths: &[PathBuf]) -> Vec<Result<(), String>> {
        match ground {
            _ if self.wish.dry_run => paths.iter().map(|_| Ok(())).collect(),
            Ground::Folder(base) => {
                let delete = |path: &PathBuf| folders::delete(base, path).map_err(|cause| reason(&cause));
                paths.iter().map(delete).collect()
            }
            Ground::Store(target) => {
                let gone = target.delete_all(paths, self.stop).into_iter();
                gone.map(|gone| gone.map_err(|fault| target.why(&fault))).collect()
            }
        }
    }
}
