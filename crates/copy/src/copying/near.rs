//! What this machine gives or takes by itself.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use visapult_objects::ObjectUrl;

use crate::error::CopyError;
use crate::objects::Store;
use crate::root::Root;

#[derive(Clone, Copy, Debug)]
pub(super) enum Near<'a> {
    Path(&'a Path),
    Stored(&'a ObjectUrl),
}

impl Near<'_> {
    pub(super) fn is_content(self) -> bool {
        match self {
            Self::Path(path) => is_content(path),
            Self::Stored(url) => url.is_content,
        }
    }

    /// What is there, for a copy that began at `moment`.
    pub(super) fn root(self, moment: SystemTime, stop: &AtomicBool) -> Result<Root, CopyError> {
        match self {
            Self::Path(path) => Root::here(path),
            Self::Stored(url) => Store::open(url, moment, stop).map(Root::stored),
        }
    }
}

pub(super) fn is_content(path: &Path) -> bool {
    Root::here(path).is_ok_and(|root| root.is_content())
}
