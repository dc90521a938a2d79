//! The place of an entry, and what is there.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::{Dir, Metadata};

use super::level::LevelDir;
use crate::file_id::FileId;
use crate::listing::Mtime;
use crate::names::Name;
use crate::partial::COLLIDES;
use crate::source_id::SourceId;

/// Where an entry goes.
pub(super) struct Spot {
    pub(super) folder: PathBuf,
    pub(super) dir: LevelDir,
    /// The folder was made just now.
    pub(super) is_new: bool,
    pub(super) name: Name,
    /// A name that was listed before it, and may be the same here.
    pub(super) namesake: Option<Name>,
    pub(super) mode: u32,
    pub(super) mtime: Mtime,
    /// Where it lies at the source.
    pub(super) source: SourceId,
}

impl Spot {
    pub(super) fn path(&self) -> PathBuf {
        self.folder.join(self.name.as_path())
    }

    /// The folder, if it is there.
    pub(super) fn dir(&self) -> io::Result<Option<&Arc<Dir>>> {
        match &self.dir {
            LevelDir::Open(dir) => Ok(Some(dir)),
            LevelDir::Absent | LevelDir::Store(_) => Ok(None),
            LevelDir::Failed => Err(io::Error::other("the folder that it goes into could not be made")),
        }
    }

    /// What is there under its name.
    pub(super) fn there(&self, dir: &Dir) -> io::Result<Option<Metadata>> {
        there(dir, self.name.as_path())
    }

    /// The same, which it takes the place of: not of what another entry is.
    pub(super) fn replaced(&self, dir: &Dir) -> io::Result<Option<Metadata>> {
        let there = self.there(dir)?;
        let other = self.namesake.as_ref().and_then(|other| dir.symlink_metadata(other.as_path()).ok());
        match (&there, &other) {
            (Some(there), Some(other)) if FileId::from(there) == FileId::from(other) => Err(io::Error::other(COLLIDES)),
            _ => Ok(there),
        }
    }
}

/// What is in a folder under this name.
pub(super) fn there(dir: &Dir, name: &Path) -> io::Result<Option<Metadata>> {
    match dir.symlink_metadata(name) {
        Ok(there) => Ok(Some(there)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(cause),
    }
}
