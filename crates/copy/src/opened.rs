//! Folders of a share that one request has open, each once.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;

/// The folder that is shared or granted, and the one that was opened in it.
type Within = (Arc<Dir>, Arc<Dir>);

/// By their paths.
#[derive(Debug, Default)]
pub(crate) struct Opened {
    folders: HashMap<PathBuf, Vec<Within>>,
    count: u64,
}

impl Opened {
    /// The folder at `path` below `share`, which may be that itself.
    pub(crate) fn open(&mut self, share: &Arc<Dir>, path: &Path) -> io::Result<Arc<Dir>> {
        if path.as_os_str().is_empty() {
            return Ok(Arc::clone(share));
        }
        let known = self.folders.entry(path.to_owned()).or_default();
        if let Some((_, folder)) = known.iter().find(|(within, _)| Arc::ptr_eq(within, share)) {
            return Ok(Arc::clone(folder));
        }
        let folder = Arc::new(share.open_dir(path)?);
        known.push((Arc::clone(share), Arc::clone(&folder)));
        self.count += 1;
        Ok(folder)
    }

    /// How many there are.
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_again_is_not_opened_again() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("a/b")).unwrap();
        let share =
            |at: &str| Arc::new(Dir::open_ambient_dir(dir.path().join(at), cap_std::ambient_authority()).unwrap());
        let (all, a) = (share(""), share("a"));
        let mut opened = Opened::default();
        for _ in 0..1000 {
            for (within, path) in [(&all, "a"), (&all, ""), (&a, ""), (&a, "b"), (&all, "a/b")] {
                opened.open(within, Path::new(path)).unwrap();
            }
        }
        assert_eq!(opened.count(), 3);
        assert!(opened.open(&all, Path::new("b")).is_err() && opened.count() == 3);
    }
}
