//! What was probably meant by a path where nothing is.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use visapult_volume_io::nearest;

use crate::error::CopyError;
use crate::names::shown;

/// Names of a folder that are looked through at most.
const MOST_NAMES: usize = 10_000;

/// Why nothing can be had at `path`; where nothing is there, with what is nearly called so. `names` are those of a folder at a path.
pub(crate) fn at<N>(path: &Path, cause: &io::Error, names: impl Fn(&Path) -> io::Result<N>) -> CopyError
where
    N: Iterator<Item = io::Result<OsString>>,
{
    let told = CopyError::at(path, cause);
    let meant = if cause.kind() == ErrorKind::NotFound { meant(path, names) } else { None };
    match (told, meant) {
        (CopyError::Here(why), Some(meant)) => CopyError::Here(format!("{why}; did you mean {}?", shown(&meant))),
        (told, _) => told,
    }
}

/// The path up to the first name of it that is not there, with the name there that is nearest to that.
fn meant<N>(path: &Path, names: impl Fn(&Path) -> io::Result<N>) -> Option<PathBuf>
where
    N: Iterator<Item = io::Result<OsString>>,
{
    let (folder, names) = path.ancestors().skip(1).find_map(|folder| Some((folder, names(folder).ok()?)))?;
    let missing = path.strip_prefix(folder).ok()?.components().next()?.as_os_str().to_str()?;
    let names: Vec<String> = names.take(MOST_NAMES).filter_map(|name| name.ok()?.into_string().ok()).collect();
    // What is a link to nowhere is called so already.
    let near = nearest(missing, names.iter().map(String::as_str)).filter(|near| *near != missing)?;
    Some(folder.join(near))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_name_that_is_not_there_is_held_against_those_beside_it() {
        let names = |folder: &Path| match folder.to_str() {
            Some("") => Ok(["runs", "notes", "latest"].map(|name| Ok(name.into())).into_iter()),
            Some("runs") => Ok(["day1", "day2", "density.h5"].map(|name| Ok(name.into())).into_iter()),
            _ => Err(io::Error::from(ErrorKind::NotFound)),
        };
        let meant = |path: &str| meant(path.as_ref(), names).map(|meant| meant.display().to_string());
        assert_eq!(meant("rnus/day1").as_deref(), Some("runs"));
        assert_eq!(meant("runs/densty.h5").as_deref(), Some("runs/density.h5"));
        assert_eq!(meant("runs/pressure.h5"), None);
        assert_eq!(meant("latest"), None);
        let told = at("rnus".as_ref(), &ErrorKind::NotFound.into(), names).to_string();
        assert_eq!(told, "rnus: there is no such file or folder; did you mean runs?");
        let denied = at("rnus".as_ref(), &io::Error::from_raw_os_error(13), names).to_string();
        assert_eq!(denied, "rnus: permission denied");
    }
}
