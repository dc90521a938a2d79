//! What the taking end of a copy is to do.

use serde::{Deserialize, Serialize};

use crate::source_id::SourceId;

/// What the taking end is to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    /// Only tell what would be copied.
    #[serde(default)]
    pub dry_run: bool,
    /// Copy what looks the same, too, and from its beginning.
    #[serde(default)]
    pub anew: bool,
    /// Tell the hash of every file; in a dry run that of the source's, whatever is here.
    #[serde(default)]
    pub hashes: bool,
    /// What is taken for the same.
    #[serde(default)]
    pub alike: Alike,
    /// Delete what the sources do not have.
    #[serde(default)]
    pub delete: Delete,
    /// The source is a part of a file, whose first byte is there.
    #[serde(default)]
    pub start: Option<u64>,
    /// The folder that the sources are in: a copy sets it itself.
    #[serde(default)]
    pub source: SourceId,
    /// Only tell what is listed: it is held against nothing.
    #[serde(skip)]
    pub lists: bool,
    /// Files get their names before the disk has them.
    #[serde(default)]
    pub unsynced: bool,
    /// Others take the other files at the same time.
    #[serde(default)]
    pub part: Option<Part>,
}

impl Wish {
    /// Two places are held against each other: nothing is to be copied.
    pub(crate) fn is_comparison(&self) -> bool {
        self.dry_run && self.alike == Alike::Content
    }
}

/// A part of the files: those whose paths below the destination fall to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Which, from 0 on.
    pub index: u32,
    /// Of so many.
    pub of: u32,
}

impl Part {
    /// What is at this path is of the part.
    pub(crate) fn holds(self, path: &[u8]) -> bool {
        let mut number = [0; 8];
        blake3::Hasher::new().update(path).finalize_xof().fill(&mut number);
        u64::from_be_bytes(number) % u64::from(self.of.max(1)) == u64::from(self.index)
    }
}

/// Which files are taken for the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Alike {
    /// Those with the same size and time.
    #[default]
    SizeAndTime,
    /// Those with the same size, time and content.
    All,
    /// Those with the same content.
    Content,
}

/// Where the taking end deletes what the sources do not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delete {
    /// Nowhere.
    #[default]
    Nothing,
    /// In the folders that are copied.
    InFolders,
    /// There and in the destination itself, which stands for a source written `SRC/.`.
    InDestination,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_falls_to_one_part() {
        let all = |path: &str| (0..3).filter(|&index| Part { index, of: 3 }.holds(path.as_bytes())).count();
        let falls = |index| (0..3000).filter(|at| Part { index, of: 3 }.holds(format!("run/{at}").as_bytes())).count();
        assert!((0..100).all(|at| all(&at.to_string()) == 1));
        assert!((0..3).all(|index| (900..1100).contains(&falls(index))));
        assert!(!Part { index: 1, of: 0 }.holds(b"a"));
    }
}
