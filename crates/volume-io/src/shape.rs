//! What shapes and paths mean, the same for every format.

use std::io::Read;
use std::path::Path;

use crate::SourceError;
use crate::place::Place;

/// Steps and `[nx, ny, nz]` of an array of shape `(nz, ny, nx)` or `(steps, nz, ny, nx)`.
pub(crate) fn steps_and_size(shape: &[u64]) -> Result<(u64, [usize; 3]), String> {
    let (steps, nz, ny, nx) = match *shape {
        [nz, ny, nx] => (1, nz, ny, nx),
        [steps, nz, ny, nx] => (steps, nz, ny, nx),
        _ => return Err(format!("{}; reshape it", wrong_axes(shape))),
    };
    if shape.contains(&0) {
        return Err(format!("its shape {shape:?} holds no value: every axis needs at least one"));
    }
    let size = [nx, ny, nz].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    Ok((steps, size))
}

/// What is said of an array with too few axes, or too many.
pub(crate) fn wrong_axes(shape: &[u64]) -> String {
    let (count, axes) = (shape.len(), if shape.len() == 1 { "axis" } else { "axes" });
    format!("its shape {shape:?} has {count} {axes}: 3 are needed (z, y, x), or 4 (step, z, y, x)")
}

/// Last part of a path, to show.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// Last part of a path without its ending: the name of a field that has no other.
pub(crate) fn file_stem(path: &Path) -> String {
    let name = file_name(path);
    name.split_once('.').filter(|(stem, _)| !stem.is_empty()).map_or(name.clone(), |(stem, _)| stem.to_owned())
}

/// The content of a file that is small by its nature.
pub(crate) fn read_small(place: &Place, limit: u64) -> Result<Vec<u8>, SourceError> {
    let (file, length) = place.open()?;
    if length > limit {
        let problem = format!("it has {length} bytes, at most {limit} are expected of it: name the right file");
        return Err(SourceError::format(place.display(), problem));
    }
    let mut content = Vec::new();
    file.take(limit).read_to_end(&mut content).map_err(|cause| SourceError::io(place.display(), cause))?;
    Ok(content)
}
