//! Where the files of a source lie: anywhere on this machine, or in one folder that is never left.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::{Dir, Metadata, OpenOptions, OpenOptionsExt};

use crate::SourceError;

/// `O_NONBLOCK`: a pipe that has taken a file's place makes nobody wait.
const NONBLOCK: i32 = 0o4000;

/// A file or folder that a reader opens.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The folder that no path and no link leads out of; none where anything may be opened.
    within: Option<Arc<Dir>>,
    /// Below that folder, or on this machine.
    path: PathBuf,
    /// As its user calls it.
    shown: PathBuf,
}

impl Place {
    pub(crate) fn anywhere(path: &Path) -> Self {
        Self { within: None, path: path.to_owned(), shown: path.to_owned() }
    }

    /// What is at `path` below `dir`, the folder itself if that is empty; people know it as `shown`.
    pub(crate) fn within(dir: Arc<Dir>, path: &Path, shown: &Path) -> Self {
        Self { within: Some(dir), path: path.to_owned(), shown: shown.to_owned() }
    }

    pub(crate) fn is_confined(&self) -> bool {
        self.within.is_some()
    }

    /// As its user calls it.
    pub(crate) fn shown(&self) -> &Path {
        &self.shown
    }

    pub(crate) fn display(&self) -> String {
        self.shown.display().to_string()
    }

    /// What is called `name` in this folder.
    pub(crate) fn join(&self, name: impl AsRef<Path>) -> Self {
        let name = name.as_ref();
        Self { within: self.within.clone(), path: self.path.join(name), shown: self.shown.join(name) }
    }

    /// The folder that it is in, where that has a name.
    pub(crate) fn above(&self) -> Option<Self> {
        self.path.file_name()?;
        let (path, shown) = (self.path.parent()?.to_owned(), self.shown.parent()?.to_owned());
        Some(Self { within: self.within.clone(), path, shown })
    }

    /// What is called `name` beside this file.
    pub(crate) fn beside(&self, name: &str) -> Self {
        let folder = |path: &Path| path.parent().unwrap_or(Path::new("")).join(name);
        Self { within: self.within.clone(), path: folder(&self.path), shown: folder(&self.shown) }
    }

    pub(crate) fn is_dir(&self) -> bool {
        match &self.within {
            None => self.path.is_dir(),
            Some(dir) => self.path.as_os_str().is_empty() || dir.is_dir(&self.path),
        }
    }

    pub(crate) fn is_file(&self) -> bool {
        match &self.within {
            None => self.path.is_file(),
            Some(dir) => dir.is_file(&self.path),
        }
    }

    /// What the system knows of what is there now.
    pub(crate) fn metadata(&self) -> io::Result<Metadata> {
        match &self.within {
            None => Ok(Metadata::from_just_metadata(std::fs::metadata(&self.path)?)),
            Some(dir) => dir.metadata(&self.path),
        }
    }

    /// Opens a regular file and tells its length in bytes.
    ///
    /// # Errors
    /// [`SourceError::Io`] if it cannot be opened, [`SourceError::Format`] if it is a folder or a device.
    pub(crate) fn open(&self) -> Result<(File, u64), SourceError> {
        let refuse = |cause| SourceError::io(self.display(), cause);
        if self.is_dir() {
            return Err(SourceError::format(self.display(), "it is a folder, not a file: name the file inside it"));
        }
        let file = self.open_any().map_err(refuse)?;
        let meta = file.metadata().map_err(refuse)?;
        if !meta.is_file() {
            return Err(SourceError::format(self.display(), "it is not a regular file: copy its content to one"));
        }
        Ok((file, meta.len()))
    }

    fn open_any(&self) -> io::Result<File> {
        match &self.within {
            None => {
                use std::os::unix::fs::OpenOptionsExt as _;
                File::options().read(true).custom_flags(NONBLOCK).open(&self.path)
            }
            Some(dir) => {
                let mut options = OpenOptions::new();
                options.read(true).custom_flags(NONBLOCK);
                Ok(dir.open_with(&self.path, &options)?.into_std())
            }
        }
    }

    /// The names of the folders in this one that are text, in order, `most` at most.
    pub(crate) fn folders(&self, most: usize) -> io::Result<Vec<String>> {
        let mut names = self.names()?;
        names.sort();
        names.retain(|name| self.join(name).is_dir());
        names.truncate(most);
        Ok(names)
    }

    /// The names of what is in this folder that are text.
    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        let at = if self.path.as_os_str().is_empty() { Path::new(".") } else { &self.path };
        let names: Vec<_> = match &self.within {
            None => std::fs::read_dir(at)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<_>>()?,
            Some(dir) => dir.read_dir(at)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<_>>()?,
        };
        Ok(names.into_iter().filter_map(|name| name.into_string().ok()).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_folder_is_not_left() {
        let dir = tempfile::tempdir().unwrap();
        let inside = dir.path().join("inside");
        std::fs::create_dir_all(inside.join("there")).unwrap();
        std::fs::write(dir.path().join("secret"), b"secret").unwrap();
        std::fs::write(inside.join("own"), b"own").unwrap();
        symlink("../secret", inside.join("out")).unwrap();
        symlink(dir.path(), inside.join("up")).unwrap();
        symlink("own", inside.join("in")).unwrap();
        let opened = Arc::new(Dir::open_ambient_dir(&inside, cap_std::ambient_authority()).unwrap());
        let place = Place::within(opened, Path::new(""), Path::new("data"));
        assert_eq!(place.join("in").open().unwrap().1, 3);
        for outside in ["out", "../secret", "/etc/passwd", "up/secret", "there/../../secret"] {
            assert!(place.join(outside).open().is_err(), "{outside}");
            assert!(!place.join(outside).is_file(), "{outside}");
        }
        assert_eq!(place.folders(9).unwrap(), ["there"]);
        assert!(place.join("none").open().unwrap_err().to_string().starts_with("cannot read data/none"));
    }
}
