//! What a command writes by itself is not to lie in what others read and write, or in what is copied or deleted.

use std::path::Path;

/// Whether a file is, or would be, below a folder; or leads there, being a link.
pub(crate) fn lies_in(file: &Path, folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_below = |path: &Path| path.canonicalize().is_ok_and(|real| real.starts_with(&folder));
    folder.is_dir() && (is_below(parent) || is_below(file))
}
