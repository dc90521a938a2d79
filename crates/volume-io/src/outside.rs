//! Files of a source that lie elsewhere than the one that was named: neither beside it nor below its folder.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use visapult_objects::printable;

/// Those of `files`, told by their real names, that lie outside the folder of `named`: that it is named in, or really lies in.
pub(crate) fn of<'a>(named: &Path, files: impl IntoIterator<Item = &'a PathBuf>) -> Vec<PathBuf> {
    let own = [folder(named), named.canonicalize().ok().and_then(|real| folder(&real))];
    let is_own = |file: &PathBuf| own.iter().flatten().any(|folder| file.starts_with(folder));
    files.into_iter().filter(|file| !is_own(file)).cloned().collect()
}

/// Where the links in `folder` lead, and those in folders that they lead to: real names.
pub(crate) fn linked(folder: &Path) -> BTreeSet<PathBuf> {
    let mut linked = BTreeSet::new();
    let mut folders: Vec<PathBuf> = folder.canonicalize().into_iter().collect();
    while let Some(folder) = folders.pop() {
        // What is not to be read has no values either.
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_symlink()
                && let Ok(real) = entry.path().canonicalize()
                && linked.insert(real.clone())
                && real.is_dir()
            {
                folders.push(real);
            }
        }
    }
    linked
}

/// What is remarked of them.
pub(crate) fn remark(outside: &[PathBuf]) -> Option<String> {
    let (first, more) = outside.split_first()?;
    let more = if more.is_empty() { String::new() } else { format!(", and {} more", more.len()) };
    Some(format!("values are in {}{more}, outside its folder", printable(first.as_os_str().as_encoded_bytes())))
}

fn folder(file: &Path) -> Option<PathBuf> {
    let folder = file.parent()?;
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }.canonicalize().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_beside_or_below_is_not_outside() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap();
        let [named, linked] = ["own/run.h5", "links/run.h5"].map(|name| real.join(name));
        std::fs::create_dir_all(real.join("own/parts")).unwrap();
        std::fs::create_dir_all(real.join("links")).unwrap();
        std::fs::write(&named, b"").unwrap();
        std::os::unix::fs::symlink(&named, &linked).unwrap();
        let files = ["own/a.h5", "own/parts/b.h5", "c.h5", "links/d.h5"].map(|name| real.join(name));
        assert_eq!(of(&named, &files), files[2..]);
        assert_eq!(of(&linked, &files), files[2..3]);
        assert_eq!(remark(&files[..1]).unwrap(), format!("values are in {}, outside its folder", files[0].display()));
        assert_eq!(remark(&[]), None);
    }

    #[test]
    fn links_are_followed_once_each() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(real.join("store/c/0")).unwrap();
        std::fs::create_dir_all(real.join("other")).unwrap();
        std::fs::write(real.join("secret"), b"").unwrap();
        let link = |to: &str, at: &str| std::os::unix::fs::symlink(real.join(to), real.join(at)).unwrap();
        link("other", "store/c/0/1");
        link("secret", "other/0");
        link("store", "other/1");
        link("nothing", "store/c/0/2");
        let expected: Vec<_> = ["other", "secret", "store"].iter().map(|name| real.join(name)).collect();
        assert_eq!(linked(&real.join("store")).into_iter().collect::<Vec<_>>(), expected);
    }
}
