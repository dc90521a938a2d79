//! Where a copy goes: into a folder that is there, or under a new name, as `cp` has it; or into a bucket in the same way.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use visapult_objects::ObjectUrl;

use crate::error::CopyError;
use crate::names::{Name, last_name, shown};
use crate::objects::StoreDestination;
use crate::wish::Wish;

/// A part of a file must not take the place of the whole, which has its name in the folder.
pub(crate) const PART_NEEDS_NAME: &str =
    "a part of a file needs a name of its own: write the destination as the name of a new file";

/// What a copy goes into.
#[derive(Clone, Debug)]
pub(crate) enum Ground {
    Folder(Arc<Dir>),
    Store(Arc<StoreDestination>),
}

/// Where the things of a copy go.
#[derive(Debug)]
pub(crate) struct Landing {
    /// What they go into.
    pub(crate) ground: Ground,
    /// What the one thing is called there; else they keep their names.
    pub(crate) rename: Option<Name>,
    /// Whoever gives may know what lies there.
    pub(crate) is_known: bool,
}

impl Landing {
    /// What `path` means on this machine. Folders that are missing are made, unless it is a dry run.
    ///
    /// # Errors
    /// If it cannot be a place for what is copied.
    pub(crate) fn here(path: &Path, into: bool, dry_run: bool) -> Result<Option<Self>, CopyError> {
        let into = into || path.as_os_str().as_bytes().ends_with(b"/");
        let wrong = |at: &Path| {
            let at = at.to_owned();
            move |cause: io::Error| CopyError::at(&at, &cause)
        };
        let open = |at: &Path| Dir::open_ambient_dir(at, ambient_authority()).map_err(wrong(at));
        let make = |at: &Path| match std::fs::create_dir_all(at) {
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
                Err(CopyError::Here(format!("{} is no folder", shown(at))))
            }
            made => made.map_err(wrong(at)),
        };
        let found = std::fs::metadata(path).ok();
        // What is written to standard output would take the place of the link that leads there.
        let is_stream = std::fs::read_link(path).is_ok_and(|to| to.starts_with("/proc"));
        if is_stream || found.as_ref().is_some_and(|found| !found.is_file() && !found.is_dir()) {
            return Err(CopyError::stream(path));
        }
        let is_folder = found.is_some_and(|found| found.is_dir());
        let (folder, rename) = if into || is_folder { (path, None) } else { parted(path)? };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        if dry_run && std::fs::metadata(folder).is_err_and(|cause| cause.kind() == io::ErrorKind::NotFound) {
            return Ok(None);
        }
        make(folder)?;
        Ok(Some(Self { ground: Ground::Folder(Arc::new(open(folder)?)), rename, is_known: true }))
    }

    /// What `url` means in an object store.
    ///
    /// # Errors
    /// If nothing can be copied there.
    pub(crate) fn stored(url: &ObjectUrl, into: bool, wish: Wish, stop: &AtomicBool) -> Result<Self, CopyError> {
        let (target, rename) = StoreDestination::open(url, into, wish, stop)?;
        Ok(Self { ground: Ground::Store(Arc::new(target)), rename, is_known: true })
    }

    /// The same for what may be a span of a file, which has a name of its own.
    ///
    /// # Errors
    /// If it is a span, and the place a folder.
    pub(crate) fn for_span(self, is_span: bool) -> Result<Self, CopyError> {
        if is_span && self.rename.is_none() { Err(CopyError::Misfit(PART_NEEDS_NAME.to_owned())) } else { Ok(self) }
    }

    /// The same for somebody who may know what lies there, or may not.
    pub(crate) fn known(self, is_known: bool) -> Self {
        Self { is_known, ..self }
    }

    /// The same below `share`: nothing outside of it is reached.
    ///
    /// # Errors
    /// If it cannot be a place for what is copied.
    pub(crate) fn within(share: &Dir, path: &Path, into: bool, dry_run: bool) -> Result<Option<Self>, CopyError> {
        let wrong = |cause: io::Error| CopyError::at(path, &cause);
        let is_folder = path.as_os_str().is_empty() || share.metadata(path).is_ok_and(|metadata| metadata.is_dir());
        let (folder, rename) = if into || is_folder { (path, None) } else { parted(path)? };
        if folder.as_os_str().is_empty() {
            let dir = Arc::new(share.try_clone().map_err(wrong)?);
            return Ok(Some(Self { ground: Ground::Folder(dir), rename, is_known: true }));
        }
        match share.metadata(folder) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound && dry_run => return Ok(None),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => share.create_dir_all(folder).map_err(wrong)?,
            Ok(_) => {}
            Err(cause) => return Err(wrong(cause)),
        }
        let dir = Arc::new(share.open_dir(folder).map_err(wrong)?);
        Ok(Some(Self { ground: Ground::Folder(dir), rename, is_known: true }))
    }
}

/// The folder that `path` is in, and its name.
fn parted(path: &Path) -> Result<(&Path, Option<Name>), CopyError> {
    match (path.parent(), last_name(path)) {
        (Some(parent), Some(name)) => Ok((parent, Some(name))),
        _ => Err(CopyError::Here(format!("{} can be no destination", shown(path)))),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::root::Root;

    #[test]
    fn things_go_into_folders_or_get_new_names() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("there")).unwrap();
        let share = Dir::open_ambient_dir(dir.path(), ambient_authority()).unwrap();
        let told = |found: Result<Option<Landing>, CopyError>| {
            found.unwrap().map(|landing| landing.rename.map(|name| name.to_string()))
        };
        let here = |path: &str, into| told(Landing::here(&dir.path().join(path), into, false));
        let within = |path: &str, into| told(Landing::within(&share, path.as_ref(), into, false));
        assert_eq!((here("there", false), within("there", false)), (Some(None), Some(None)));
        assert_eq!((here("new", false), within("new", false)), (Some(Some("new".into())), Some(Some("new".into()))));
        assert_eq!(here("a/b/new", false), Some(Some("new".to_owned())));
        assert!(dir.path().join("a/b").is_dir());
        assert_eq!((here("c/", false), within("d/e", true)), (Some(None), Some(None)));
        assert!(dir.path().join("c").is_dir() && dir.path().join("d/e").is_dir());
        assert_eq!(told(Landing::here(&dir.path().join("f/"), false, true)), None);
        assert_eq!(told(Landing::within(&share, "f".as_ref(), true, true)), None);
        assert!(!dir.path().join("f").exists());
        assert_eq!(within("", false), Some(None));
    }

    #[test]
    fn a_file_is_no_folder_however_it_is_named() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "kept").unwrap();
        for (path, into) in [("file", true), ("file/", false), ("file/new", false)] {
            let refused = Landing::here(&dir.path().join(path), into, false).unwrap_err().to_string();
            assert!(refused.contains("no folder"), "{refused}");
        }
        assert_eq!(std::fs::read(dir.path().join("file")).unwrap(), b"kept");
    }

    #[test]
    fn nothing_goes_through_a_pipe_or_takes_the_place_of_what_leads_to_one() {
        let dir = tempfile::tempdir().unwrap();
        let (fifo, link, output) = (dir.path().join("fifo"), dir.path().join("link"), dir.path().join("output"));
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).unwrap();
        symlink("fifo", &link).unwrap();
        symlink("/proc/self/fd/1", &output).unwrap();
        for path in [&fifo, &link, &output, Path::new("/dev/null")] {
            let refused = Landing::here(path, false, false).unwrap_err().to_string();
            assert!(refused.contains("is a pipe or a device"), "{refused}");
        }
        assert!(Root::here(&fifo).unwrap_err().to_string().contains("is a pipe or a device"));
        assert!(link.is_symlink() && output.is_symlink());
    }

    #[test]
    fn a_share_is_not_left() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        symlink(outside.path(), dir.path().join("out")).unwrap();
        let share = Dir::open_ambient_dir(dir.path(), ambient_authority()).unwrap();
        for path in ["out", "out/new", "out/a/b"] {
            for into in [false, true] {
                assert!(
                    Landing::within(&share, path.as_ref(), into, false).is_err() || path == "out" && !into,
                    "{path}"
                );
            }
        }
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    }
}
