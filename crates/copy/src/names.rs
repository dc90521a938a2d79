//! Names of files in any encoding, paths made of them, and how both are shown to people.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use visapult_objects::{MOST_NAME, MOST_PATH, is_name, printable};

/// What is received of a file until it is whole lies beside it, under this ending.
const PARTIAL: &str = ".visapult-part";
/// What has been verified of it is told by a file with this ending.
const LOG: &str = ".visapult-log";
/// A folder whose name something else has as long as not all is copied lies beside that, under this ending.
const STAND_IN: &str = ".visapult-folder";
/// Why what has such a name is left alone.
pub(crate) const OURS: &str = "names that end in .visapult-part, .visapult-log or .visapult-folder are kept for what is not whole yet; rename it if it is to be copied";

/// The name of one thing in a folder: 1 to 255 bytes without `/` and NUL, neither `.` nor `..`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Name(Vec<u8>);

impl Name {
    /// None if it is no name.
    pub(crate) fn new(bytes: &[u8]) -> Option<Self> {
        is_name(bytes).then(|| Self(bytes.to_vec()))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// The same of all names that differ in upper and lower case only.
    pub(crate) fn lower(&self) -> String {
        self.to_string().to_lowercase()
    }

    /// A file of the copy's own: nobody's data.
    pub(crate) fn is_ours(&self) -> bool {
        [PARTIAL, LOG, STAND_IN].iter().any(|ending| self.0.ends_with(ending.as_bytes()))
    }

    /// The name beside this one that its content is gathered under.
    pub(crate) fn partial(&self) -> Self {
        self.beside(PARTIAL)
    }

    /// The name beside this one of the log of what has been verified.
    pub(crate) fn log(&self) -> Self {
        self.beside(LOG)
    }

    /// The name beside this one that a folder is filled under as long as something else has its own.
    pub(crate) fn stand_in(&self) -> Self {
        self.beside(STAND_IN)
    }

    /// A name that leaves no room for the ending is cut, and told from others cut alike by its hash.
    fn beside(&self, ending: &str) -> Self {
        let mut name = self.0.clone();
        if name.len() + ending.len() > MOST_NAME {
            let hash = blake3::hash(&self.0).to_hex();
            name.truncate(MOST_NAME - ending.len() - 17);
            name.push(b'~');
            name.extend_from_slice(&hash.as_bytes()[..16]);
        }
        name.extend_from_slice(ending.as_bytes());
        Self(name)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&printable(&self.0))
    }
}

/// What the last part of a path is called.
pub(crate) fn last_name(path: &Path) -> Option<Name> {
    path.file_name().and_then(|name| Name::new(name.as_bytes()))
}

/// The path below a folder that `text` names, without `.` and empty parts; none if it leads out of the folder or is too long.
pub(crate) fn inner_path(text: &[u8]) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for part in text.split(|&byte| byte == b'/').filter(|part| !part.is_empty() && part != b".") {
        path.push(Name::new(part)?.as_path());
    }
    (path.as_os_str().len() <= MOST_PATH).then_some(path)
}

pub(crate) fn shown(path: &Path) -> String {
    printable(path.as_os_str().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_elsewhere_is_no_name() {
        for wrong in [&b""[..], b".", b"..", b"a/b", b"/", b"a\0", &[b'x'; 256]] {
            assert!(Name::new(wrong).is_none(), "{wrong:?}");
        }
        for right in [&b"..."[..], b"a b", b"\xff\xfe", &[b'x'; 255]] {
            assert!(Name::new(right).is_some(), "{right:?}");
        }
    }

    #[test]
    fn names_beside_the_longest_name_fit_and_differ() {
        let long = |last: u8| Name::new(&[&[b'x'; 254][..], &[last]].concat()).unwrap();
        let (a, b) = (long(b'a').partial(), long(b'b').partial());
        assert!(a.bytes().len() <= MOST_NAME && a != b && a.is_ours());
        assert_ne!(long(b'a').log(), a);
        assert!(long(b'a').stand_in().is_ours() && long(b'a').stand_in() != long(b'b').stand_in());
        assert_eq!(Name::new(b"run.h5").unwrap().partial().bytes(), b"run.h5.visapult-part");
    }

    #[test]
    fn paths_stay_inside() {
        assert_eq!(inner_path(b"a//./b/"), Some(PathBuf::from("a/b")));
        assert_eq!(inner_path(b"/etc"), Some(PathBuf::from("etc")));
        assert_eq!(inner_path(b""), Some(PathBuf::new()));
        assert_eq!(inner_path(b"a/../../etc"), None);
        assert_eq!(inner_path(&[b'a', b'/'].repeat(3000)), None);
    }
}
