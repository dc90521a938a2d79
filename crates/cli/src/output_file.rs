//! What is written in the end: a file takes the place of its like alone, and gets its name once it is whole; `-` is standard output.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::builder::{OsStringValueParser, TypedValueParser};
use tempfile::{Builder, PersistError};

use crate::say;

/// Bytes of a file by which it is told what it is.
const MOST_BEGINNING: u64 = 65;
/// Characters of a hash.
const HASH: usize = 64;
/// Links that lead to each other, as far as systems follow them.
const MOST_LINKS: usize = 40;

/// What is written: how such a file is called, and how it begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    Manifest,
    Png,
    Report,
    Svg,
    Trace,
}

impl Output {
    const fn name(self) -> &'static str {
        match self {
            Self::Manifest => "list of hashes",
            Self::Png => "PNG image",
            Self::Report => "JSON report",
            Self::Svg => "SVG picture",
            Self::Trace => "trace",
        }
    }

    fn begins(self, file: &[u8]) -> bool {
        match self {
            Self::Manifest => {
                let hash = file.strip_prefix(b"\\").unwrap_or(file);
                hash.len() >= HASH && hash[..HASH].iter().all(u8::is_ascii_hexdigit)
            }
            Self::Png => file.starts_with(b"\x89PNG"),
            Self::Report => file.starts_with(b"{"),
            Self::Svg => file.starts_with(b"<svg"),
            Self::Trace => visapult_trace::BEGINNINGS.iter().any(|beginning| file.starts_with(beginning)),
        }
    }
}

/// A file that grows while a command goes on, and so is not standard output, where that says other things.
pub(crate) fn growing_file() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|name: OsString| {
        let path = PathBuf::from(name);
        if is_output(&path) { Err("it grows, and needs a file; one of this name is ./-") } else { Ok(path) }
    })
}

/// Standard output is meant.
pub(crate) fn is_output(path: &Path) -> bool {
    path == Path::new("-") || path == Path::new("/dev/stdout")
}

/// What cannot be written, or would take the place of something else or of what is `read`, is told before anything is computed for it. A file that
/// is there stays as it is until there is another. Where it is standard output that is written, what else is said goes beside it from here on.
pub(crate) fn check_writable(path: &Path, read: &[impl AsRef<Path>], output: Output) -> Result<()> {
    if is_output(path) {
        if output == Output::Png && io::stdout().is_terminal() {
            bail!(
                "a {} is nothing for a terminal: name a file, or the program that it goes to (| PROGRAM)",
                output.name()
            );
        }
        if say::is_given_away() {
            bail!("only one thing can go to standard output: name a file for the others");
        }
        say::give_away();
        return Ok(());
    }
    let real = fs::canonicalize(path).ok();
    if real.is_some() && read.iter().any(|source| fs::canonicalize(source).ok() == real) {
        bail!("{} is what is read: name another file to be written", path.display());
    }
    if path.is_dir() {
        bail!("{} is a folder: name a file in it", path.display());
    }
    if path.is_file() && !may_be_replaced(path, output)? {
        let name = output.name();
        bail!("{} is there, and is no {name} made before: name another file, or remove it first", path.display());
    }
    let is_new = !path.exists();
    if !(is_new || path.is_file()) {
        return Ok(());
    }
    let path = behind_links(path);
    let shown = || format!("cannot write {}", path.display());
    OpenOptions::new().append(true).create(true).open(&path).with_context(shown)?;
    if is_new {
        fs::remove_file(&path).with_context(shown)?;
    }
    Ok(())
}

/// Whether a file is empty or of the kind that takes its place.
fn may_be_replaced(path: &Path, output: Output) -> Result<bool> {
    let shown = || format!("cannot read {}", path.display());
    let mut found = Vec::new();
    File::open(path).with_context(shown)?.take(MOST_BEGINNING).read_to_end(&mut found).with_context(shown)?;
    Ok(found.is_empty() || output.begins(&found))
}

/// What a link leads to, be it there or not.
fn behind_links(path: &Path) -> PathBuf {
    let mut at = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(to) = fs::read_link(&at) else { break };
        at = folder_of(&at).join(to);
    }
    at
}

/// The folder that a file is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes a file as a whole, or not at all. Standard output, a device or a pipe is written as it is.
pub(crate) fn write_whole(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    if is_output(path) {
        say::pour(write);
        return Ok(());
    }
    write_file(path, write).with_context(|| format!("cannot write {}", path.display()))
}

fn write_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let there = fs::metadata(path).ok();
    if there.as_ref().is_some_and(|there| !there.is_file()) {
        return write(&mut OpenOptions::new().write(true).open(path)?);
    }
    let path = behind_links(path);
    // Of a mode that the user's mask leaves.
    let beside =
        Builder::new().prefix(".visapult-").permissions(PermissionsExt::from_mode(0o666)).tempfile_in(folder_of(&path));
    let mut beside = match beside {
        Ok(beside) => beside,
        Err(cause) if there.is_some() && is_denied(&cause) => return write(&mut File::create(&path)?),
        Err(cause) => return Err(cause),
    };
    write(beside.as_file_mut())?;
    let dressed = there.as_ref().map_or(Ok(()), |there| dress(beside.as_file(), there));
    let named = match dressed {
        Ok(()) => beside.persist(&path),
        Err(error) => Err(PersistError { error, file: beside }),
    };
    match named {
        // In a folder where others may not take away what one may write.
        Err(PersistError { error, mut file }) if there.is_some() && is_denied(&error) => {
            file.rewind()?;
            io::copy(&mut file, &mut File::create(&path)?).map(drop)
        }
        named => Ok(named.map(drop)?),
    }
}

/// Gives a file the owner and mode of the one whose place it takes.
fn dress(file: &File, there: &Metadata) -> io::Result<()> {
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (there.uid(), there.gid()) {
        fchown(file, Some(there.uid()), Some(there.gid()))?;
    }
    file.set_permissions(there.permissions())
}

fn is_denied(cause: &io::Error) -> bool {
    matches!(cause.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_as_a_whole_leaves_the_file_of_before() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a"), folder.path().join("link"));
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let write = |path: &Path, content: &[u8], fault: Option<io::Error>| {
            write_whole(path, |out| out.write_all(content).and_then(|()| fault.map_or(Ok(()), Err)))
        };
        write(&path, b"first", None).unwrap();
        let problem = write(&path, b"sec", Some(io::ErrorKind::StorageFull.into())).unwrap_err();
        assert!(format!("{problem:#}").starts_with(&format!("cannot write {}: ", path.display())), "{problem:#}");
        assert_eq!(fs::read(&path).unwrap(), b"first");
        write(&link, b"second", None).unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        write(Path::new("/dev/null"), b"lost", None).unwrap();
    }

    #[test]
    fn what_lies_beside_a_file_and_what_it_is_like_stay() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a.part"), "somebody's own").unwrap();
        fs::write(at("a"), "").unwrap();
        fs::set_permissions(at("a"), PermissionsExt::from_mode(0o640)).unwrap();
        let write = |name: &str| write_whole(&at(name), |out| out.write_all(b"new"));
        write("a").unwrap();
        assert_eq!(fs::read(at("a.part")).unwrap(), b"somebody's own");
        assert_eq!(fs::metadata(at("a")).unwrap().mode() & 0o777, 0o640);
        // A link that leads nowhere yet.
        std::os::unix::fs::symlink("later", at("link")).unwrap();
        check_writable(&at("link"), &[""; 0], Output::Report).unwrap();
        write("link").unwrap();
        assert!(at("link").is_symlink());
        assert_eq!(fs::read(at("later")).unwrap(), b"new");
        // As any other that is made there.
        fs::write(at("other"), "").unwrap();
        assert_eq!(fs::metadata(at("later")).unwrap().mode(), fs::metadata(at("other")).unwrap().mode());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5);
    }

    #[test]
    fn a_file_that_may_be_written_is_written_where_its_folder_may_not_be() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "").unwrap();
        let mode = |mode| fs::set_permissions(folder.path(), PermissionsExt::from_mode(mode)).unwrap();
        mode(0o555);
        let written = write_whole(&path, |out| out.write_all(b"new"));
        mode(0o755);
        written.unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn a_file_takes_the_place_of_its_like_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let hash = "0123456789abcdef".repeat(4);
        for (content, may) in [
            ("", true),
            (&format!("{hash}  a"), true),
            (&format!("\\{hash}  a"), true),
            ("notes", false),
            (&hash[1..], false),
        ] {
            fs::write(&path, content).unwrap();
            assert_eq!(check_writable(&path, &[""; 0], Output::Manifest).is_ok(), may, "{content}");
        }
        assert!(check_writable(folder.path(), &[""; 0], Output::Png).unwrap_err().to_string().contains("is a folder"));
    }
}
