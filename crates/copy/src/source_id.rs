//! Where something lies at its source, as a number: what was begun from elsewhere is not gone on with.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::endpoint::Endpoint;
use crate::names::last_name;

/// Of two places that are not the same this differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SourceId(u64);

impl SourceId {
    /// The folder, or folders, that these are in.
    pub(crate) fn around(sources: &[Endpoint]) -> Self {
        let mut folders: Vec<_> = sources.iter().map(folder_of).collect();
        folders.sort_unstable();
        folders.dedup();
        let all = folders.into_iter();
        all.reduce(|all, one| all.below(&one.0.to_be_bytes())).unwrap_or_default()
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
        assert_ne!(one, around(&["ripp://127.0.0.1:5/data/run/a", "ripp://127.0.0.1:5/data/other/a"]));
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
