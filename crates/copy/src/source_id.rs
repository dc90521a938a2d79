//! Where something lies at its source, as a number: what was begun from elsewhere is not gone on with.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::endpoint::Endpoint;
use crate::names::last_name;

/// Of two paths that are not the same this differs; which machine they are on it does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SourceId(u64);

impl SourceId {
    /// The folder that these are in; nowhere where there are several: another file of those may be there when the same is copied again.
    pub(crate) fn around(sources: &[Endpoint]) -> Self {
        let mut folders = sources.iter().map(folder_of);
        let first = folders.next().unwrap_or_default();
        if folders.all(|other| other == first) { first } else { Self::default() }
    }

    /// What is called `name` there.
    pub(crate) fn below(self, name: &[u8]) -> Self {
        let mut number = [0; 8];
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.0.to_be_bytes()).update(name).finalize_xof().fill(&mut number);
        Self(u64::from_be_bytes(number))
    }

    /// What is at `path`.
    pub(crate) fn at(path: &Path) -> Self {
        let names = path.components().filter(|part| matches!(part, Component::Normal(_)));
        names.fold(Self::default(), |folder, name| folder.below(name.as_os_str().as_encoded_bytes()))
    }

    /// The same in a share that calls itself `share`.
    pub(crate) fn in_share(self, share: Self) -> Self {
        share.below(&self.0.to_be_bytes())
    }

    /// As the header of a log has it.
    pub(crate) const fn to_be_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }
}

fn folder_of(source: &Endpoint) -> SourceId {
    match source {
        Endpoint::Here(path) => {
            SourceId::at(&real(&folder(path, path.as_os_str().as_encoded_bytes().ends_with(b"/."))))
        }
        Endpoint::There(remote) => SourceId::at(&folder(&remote.path, remote.is_content)),
        Endpoint::Stored(url) => {
            let url_text = url.to_string();
            // What follows may be a signature, of which each is another.
            let place = url_text.split(['?', '#']).next().unwrap_or_default();
            SourceId::at(&folder(Path::new(place), url.is_content))
        }
    }
}

/// The folder that `path` is in, or is itself where what is in it is meant.
fn folder(path: &Path, is_content: bool) -> PathBuf {
    match path.parent() {
        Some(parent) if !is_content && last_name(path).is_some() => parent.to_owned(),
        _ => path.to_owned(),
    }
}

/// The path from the root of this machine, where there is one.
fn real(path: &Path) -> PathBuf {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(sources: &[&str]) -> SourceId {
        SourceId::around(&sources.iter().map(|source| source.parse().unwrap()).collect::<Vec<_>>())
    }

    #[test]
    fn a_file_is_the_same_however_it_is_named_and_by_whichever_port_and_token() {
        let one = around(&["ripp://127.0.0.1:5/data/run/a"]);
        assert_eq!(one, around(&["ripp://127.0.0.1:6/data/run/b", "ripp://127.0.0.1:6/data/run/a/"]));
        assert_eq!(one, around(&["ripp://127.0.0.1:5/data/run/."]));
        assert_eq!(one, around(&["ripp://127.0.0.1:5/data/run"]).below(b"run"));
        assert_ne!(one, around(&["ripp://127.0.0.1:5/data/other/a"]));
        let several = around(&["ripp://127.0.0.1:5/data/run/a", "ripp://127.0.0.1:5/data/other/a"]);
        assert_eq!(several, around(&["ripp://127.0.0.1:5/data/other/b", "ripp://127.0.0.1:5/data/third/a"]));
        assert_ne!(one, several);
        assert_ne!(one, one.in_share(SourceId::at(Path::new("/data"))));
    }

    #[test]
    fn a_path_of_this_machine_is_the_same_from_any_folder() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| SourceId::around(&[Endpoint::Here(dir.path().join(path))]);
        std::fs::create_dir(dir.path().join("run")).unwrap();
        std::os::unix::fs::symlink("run", dir.path().join("link")).unwrap();
        assert_eq!(at("run/a"), at("link/../run/b"));
        assert_eq!(at("run/a"), at("link/a"));
        assert_eq!(at("run/a"), at("run/."));
        assert_ne!(at("run/a"), at("a"));
        assert_eq!(around(&["a"]), around(&["./b"]));
    }

    #[test]
    fn the_signature_of_a_url_is_no_place() {
        let signed = around(&["https://example.org/run/a.raw?key=1"]);
        assert_eq!(signed, around(&["https://example.org/run/a.raw?key=2"]));
        assert_ne!(signed, around(&["https://example.org/other/a.raw?key=1"]));
    }
}
