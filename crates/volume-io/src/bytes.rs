//! Bytes at an offset: a plain file, read without a shared position so that threads do not wait for each other.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

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
