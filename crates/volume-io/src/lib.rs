//! Sources of fields: one file per format, one [`open`].
//!
//! A source knows its grid, fields and steps once it is open; values are read by box, as `f32`, missing values as NaN.
//! Invariant: nothing a header claims is allocated before it is held against the file's real size.

mod source;

pub use source::{ReadRequest, Source, SourceError, SourceInfo};

/// Opens the source that `url` names: a path, a path into a container (`file.h5:/path`), or `demo:...`.
///
/// # Errors
/// [`SourceError`] says what could not be opened, where in it, and what to do.
pub fn open(url: &str) -> Result<Box<dyn Source>, SourceError> {
    Err(SourceError::unsupported(url))
}
