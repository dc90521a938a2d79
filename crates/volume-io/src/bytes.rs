//! Bytes at an offset: a plain file, read without a shared position so that threads do not wait for each other.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::SourceError;

/// Bytes that can be read anywhere.
pub(crate) trait BytesAt: Send + Sync {
    /// Fills `out` from `offset` on.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;
}

impl BytesAt for File {
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.read_exact_at(out, offset)
    }
}

/// Opens a regular file and tells its length in bytes.
///
/// # Errors
/// [`SourceError::Io`] if it cannot be opened, [`SourceError::Format`] if it is a folder or a device.
pub(crate) fn open_file(path: &Path) -> Result<(File, u64), SourceError> {
    let refuse = |cause| SourceError::io(path.display(), cause);
    let meta = std::fs::metadata(path).map_err(refuse)?;
    if meta.is_dir() {
        return Err(SourceError::format(path.display(), "it is a folder, not a file: name the file inside it"));
    }
    if !meta.is_file() {
        return Err(SourceError::format(path.display(), "it is not a regular file: copy its content to one"));
    }
    Ok((File::open(path).map_err(refuse)?, meta.len()))
}
