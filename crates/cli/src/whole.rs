//! Files that are written: they take the place of their like alone, and get their names once they are whole.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// What is written: how such a file is called, and how it begins.
#[derive(Clone, Copy)]
pub(crate) enum Output {
    Png,
    Report,
    Svg,
    Trace,
}

impl Output {
    fn named(self) -> (&'static str, &'static [&'static [u8]]) {
        match self {
            Self::Png => ("PNG image", &[b"\x89PNG"]),
            Self::Report => ("JSON report", &[b"{"]),
            Self::Svg => ("SVG picture", &[b"<svg"]),
            Self::Trace => ("trace", visapult_trace::BEGINNINGS),
        }
    }
}

/// What cannot be written, or would take the place of something else or of what is `read`, is told before anything is computed for it. A file that
/// is there stays as it is until there is another.
pub(crate) fn check_writable(path: &Path, read: &[impl AsRef<Path>], output: Output) -> Result<()> {
    let real = fs::canonicalize(path).ok();
    if real.is_some() && read.iter().any(|source| fs::canonicalize(source).ok() == real) {
        bail!("{} is what is read: name another file to be written", path.display());
    }
    if path.is_file() && !may_be_replaced(path, output)? {
        let (name, _) = output.named();
        bail!("{} is there, and is no {name} made before: name another file, or remove it first", path.display());
    }
    let is_new = !path.exists();
    if !(is_new || path.is_file()) {
        return Ok(());
    }
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .with_context(|| format!("cannot write {}", path.display()))?;
    if is_new {
        fs::remove_file(path).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Whether a file is empty or of the kind that takes its place.
fn may_be_replaced(path: &Path, output: Output) -> Result<bool> {
    /// No beginning is longer.
    const MOST: u64 = 16;
    let (_, beginnings) = output.named();
    let shown = || format!("cannot read {}", path.display());
    let mut found = Vec::new();
    File::open(path).with_context(shown)?.take(MOST).read_to_end(&mut found).with_context(shown)?;
    Ok(found.is_empty() || beginnings.iter().any(|beginning| found.starts_with(beginning)))
}

/// A file without its name; it goes if it never gets it.
pub(crate) struct Unnamed {
    at: PathBuf,
    path: PathBuf,
}

impl Unnamed {
    /// To be called `path`. What is no file, but a device or a pipe, is written as it is; of a link, what it leads to.
    pub(crate) fn new(path: &Path) -> Self {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let ending = if path.exists() && !path.is_file() { "" } else { ".part" };
        let at: OsString = [path.as_os_str(), ending.as_ref()].into_iter().collect();
        Self { at: at.into(), path }
    }

    /// Opens it, empty.
    pub(crate) fn create(&self) -> io::Result<File> {
        File::create(&self.at)
    }

    /// All that was written is to come again: an empty one in its place; none where what was written cannot be taken back.
    pub(crate) fn begin_anew(&self) -> io::Result<Option<File>> {
        if self.at == self.path {
            return Ok(None);
        }
        // What is not written yet goes with the file that has no name any more.
        fs::remove_file(&self.at)?;
        self.create().map(Some)
    }

    /// Gives it its name.
    pub(crate) fn name(self) -> io::Result<()> {
        fs::rename(&self.at, &self.path)
    }
}

impl Drop for Unnamed {
    fn drop(&mut self) {
        if self.at != self.path {
            // It is not there any more if it has its name.
            let _ = fs::remove_file(&self.at);
        }
    }
}

/// Writes a file as a whole, or not at all.
pub(crate) fn write_whole(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
    let file = Unnamed::new(path);
    let written = file.create().and_then(|mut out| {
        write(&mut out)?;
        out.flush()
    });
    written.and_then(|()| file.name()).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_as_a_whole_leaves_the_file_of_before() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a"), folder.path().join("link"));
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let write = |path: &Path, content: &[u8], fault: Option<io::Error>| {
            write_whole(path, |out| out.write_all(content).and_then(|()| fault.map_or(Ok(()), Err)))
        };
        write(&path, b"first", None).unwrap();
        let problem = write(&path, b"sec", Some(io::ErrorKind::StorageFull.into())).unwrap_err();
        assert!(format!("{problem:#}").starts_with(&format!("cannot write {}: ", path.display())), "{problem:#}");
        assert_eq!(fs::read(&path).unwrap(), b"first");
        write(&link, b"second", None).unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        write(Path::new("/dev/null"), b"lost", None).unwrap();
    }
}
