//! Sources of fields: one file per format, one [`open`].
//!
//! A source knows its grid, fields and steps once it is open; values are read by box, as `f32`, missing values as NaN.
//! Invariant: nothing a header claims is allocated before it is held against the file's real size.

mod bytes;
mod demo;
mod flat;
mod gunzip;
mod nifti;
mod npy;
mod raw;
mod scalar;
mod shape;
mod source;
mod wave;

use std::path::Path;

pub use source::{ReadRequest, Source, SourceError, SourceInfo};

/// Opens the source that `url` names: a path, a path into a container (`file.h5:/path`), or `demo:...`.
///
/// # Errors
/// [`SourceError`] says what could not be opened, where in it, and what to do.
pub fn open(url: &str) -> Result<Box<dyn Source>, SourceError> {
    if url.starts_with("demo:") {
        return Ok(Box::new(demo::Demo::open(url)?));
    }
    let path = Path::new(url.strip_prefix("file://").unwrap_or(url));
    let name = shape::file_name(path).to_ascii_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    if ends(&[".npy"]) {
        Ok(Box::new(npy::open(path)?))
    } else if ends(&[".nii", ".nii.gz"]) {
        nifti::open(path)
    } else if ends(&[".json"]) {
        Ok(Box::new(raw::open(path)?))
    } else {
        Err(SourceError::unsupported(url))
    }
}
