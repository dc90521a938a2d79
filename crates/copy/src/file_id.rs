//! What a file or folder is, whatever it is called.

use std::os::unix::fs::MetadataExt;

/// Of two that are the same this is equal, and of two that are there at one time and are not it differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    device: u64,
    number: u64,
}

impl From<&std::fs::Metadata> for FileId {
    fn from(found: &std::fs::Metadata) -> Self {
        Self { device: found.dev(), number: found.ino() }
    }
}

impl From<&cap_std::fs::Metadata> for FileId {
    fn from(found: &cap_std::fs::Metadata) -> Self {
        use cap_std::fs::MetadataExt;
        Self { device: found.dev(), number: found.ino() }
    }
}
