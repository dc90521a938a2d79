//! Files that their owner alone may read, and rules that nobody else may write: how they are told from others, and how they come to be.
//!
//! Invariant: one that is made here is whole or not there, and whoever comes second takes what is there.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use thiserror::Error;

/// Others may do something with it.
const OPEN: u32 = 0o077;
/// Others may write into it, and so replace what is in it.
const OPEN_TO_WRITE: u32 = 0o022;
const OPEN_TO_GROUP: u32 = 0o020;
/// A chain of certificates and a key are a few kilobytes, and so are rules.
const MAX_BYTES: u64 = 1 << 20;

/// Why a private file or folder cannot be believed, or had.
#[derive(Debug, Error)]
pub enum PrivateError {
    /// The system's reason.
    #[error("cannot read or keep the secret in {path}: {cause}")]
    Keep {
        /// The folder or file.
        path: PathBuf,
        /// The reason.
        cause: io::Error,
    },
    /// Other users could have read or changed it.
    #[error("{path} may be read or changed by others (mode {mode:o}): run chmod {wanted:o} on it")]
    TooOpen {
        /// The folder or file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
        /// The permissions it may have.
        wanted: u32,
    },
    /// Others could have changed rules in it.
    #[error("{path} says what is allowed, and may be changed by others (mode {mode:o}): run chmod go-w on it")]
    OpenRules {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// Somebody else has made the rules in it.
    #[error("{path} says what is allowed, and belongs to user {owner}, neither to us nor to root: run chown on it")]
    ForeignRules {
        /// The file.
        path: PathBuf,
        /// Its owner's number.
        owner: u32,
    },
    /// Nobody has so much to keep there.
    #[error("{path} is larger than 1 MiB, and so nothing that is read here: shorten it")]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// It is in another encoding, or no text.
    #[error("{path} is no text in UTF-8: write it so")]
    NoText {
        /// The file.
        path: PathBuf,
    },
    /// Somebody else put it there.
    #[error("{path} belongs to user {owner}, not to us: remove it, or name another")]
    Foreign {
        /// The folder or file.
        path: PathBuf,
        /// Its owner's number.
        owner: u32,
    },
}

impl PrivateError {
    pub(crate) fn missing(path: &Path) -> Self {
        Self::keep(path)(io::Error::new(io::ErrorKind::NotFound, "there is no such file"))
    }

    fn keep(path: &Path) -> impl Fn(io::Error) -> Self {
        move |cause| Self::Keep { path: path.to_owned(), cause }
    }
}

/// What stands in a file that is ours, and that we alone may read; `None` if there is no such file.
pub(crate) fn read_ours(path: &Path) -> Result<Option<Vec<u8>>, PrivateError> {
    let Some((file, found)) = found(path)? else { return Ok(None) };
    check(path, &found)?;
    check_ours(path, &found)?;
    content(path, file).map(Some)
}

/// The same as text.
pub(crate) fn read_our_text(path: &Path) -> Result<Option<String>, PrivateError> {
    read_ours(path)?.map(|content| text(path, content)).transpose()
}

/// What stands in a file of rules, which we or root have written, and nobody else may write; `None` if there is no such file. A group whose number is
/// that of the owner is the owner's own, as many systems make one for each user.
///
/// # Errors
/// [`PrivateError`], [`PrivateError::Keep`] among them where the system does not give it.
pub fn read_rules(path: &Path) -> Result<Option<String>, PrivateError> {
    let Some((file, found)) = found(path)? else { return Ok(None) };
    if found.mode() & open_to_others(&found) != 0 {
        return Err(PrivateError::OpenRules { path: path.to_owned(), mode: found.mode() & 0o7777 });
    }
    if found.uid() != 0 && !is_ours(&found) {
        return Err(PrivateError::ForeignRules { path: path.to_owned(), owner: found.uid() });
    }
    text(path, content(path, file)?).map(Some)
}

/// What stands in a record that we have written, and nobody else may write; `None` if there is no such file. Groups are as in [`read_rules`].
///
/// # Errors
/// [`PrivateError`].
pub fn read_record(path: &Path) -> Result<Option<Vec<u8>>, PrivateError> {
    let Some((file, found)) = found(path)? else { return Ok(None) };
    check_record(path, &found)?;
    content(path, file).map(Some)
}

/// Makes the folder of such records, if it is not there, and refuses one that is not ours, or that others may write.
///
/// # Errors
/// [`PrivateError`].
pub fn make_record_folder(folder: &Path) -> Result<(), PrivateError> {
    check_record(folder, &made_folder(folder)?)
}

/// The same as [`read_rules`], whoever may write it: for what can but take away.
///
/// # Errors
/// [`PrivateError::Keep`], [`PrivateError::TooLarge`] and [`PrivateError::NoText`].
pub fn read_anybodys(path: &Path) -> Result<Option<String>, PrivateError> {
    let Some((file, _)) = found(path)? else { return Ok(None) };
    text(path, content(path, file)?).map(Some)
}

/// Refuses a file or folder that others may read, or change.
///
/// # Errors
/// [`PrivateError::TooOpen`].
pub fn check(path: &Path, found: &Metadata) -> Result<(), PrivateError> {
    refuse(path, found, OPEN)
}

/// Puts `text` at `path` whole, for its owner alone, unless somebody was first.
///
/// # Errors
/// [`PrivateError::Keep`].
pub fn place(path: &Path, text: &str) -> Result<(), PrivateError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let written = || -> io::Result<()> {
        let mut suffix = [0; 8];
        getrandom::fill(&mut suffix).map_err(io::Error::other)?;
        let beside = folder.join(format!(".visapult.{}", URL_SAFE_NO_PAD.encode(suffix)));
        let outcome = linked(&beside, path, text);
        // Best effort: a leftover is private to the user and never read.
        let _ = fs::remove_file(&beside);
        outcome
    };
    written().map_err(PrivateError::keep(path))
}

/// Makes the folder that private files are kept in, if it is not there, and refuses one that is not ours alone to write.
///
/// # Errors
/// [`PrivateError`].
pub fn make_folder(folder: &Path) -> Result<(), PrivateError> {
    let found = made_folder(folder)?;
    refuse(folder, &found, OPEN_TO_WRITE)?;
    check_ours(folder, &found)
}

fn made_folder(folder: &Path) -> Result<Metadata, PrivateError> {
    let keep = PrivateError::keep(folder);
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(&keep)?;
    fs::metadata(folder).map_err(&keep)
}

fn check_record(path: &Path, found: &Metadata) -> Result<(), PrivateError> {
    refuse(path, found, open_to_others(found))?;
    check_ours(path, found)
}

/// By what others than its owner may write it.
fn open_to_others(found: &Metadata) -> u32 {
    if found.gid() == found.uid() { OPEN_TO_WRITE & !OPEN_TO_GROUP } else { OPEN_TO_WRITE }
}

/// The file, and what it is once it is open.
fn found(path: &Path) -> Result<Option<(File, Metadata)>, PrivateError> {
    let keep = PrivateError::keep(path);
    // Of a pipe that has its name nobody may ever write the other end.
    let nonblock = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = match File::options().read(true).custom_flags(nonblock).open(path) {
        Ok(file) => file,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(keep(cause)),
    };
    let found = file.metadata().map_err(&keep)?;
    if !found.is_file() {
        return Err(keep(io::Error::other("it is not a regular file")));
    }
    Ok(Some((file, found)))
}

/// No more of it is read than 1 MiB and a byte.
fn content(path: &Path, file: File) -> Result<Vec<u8>, PrivateError> {
    let mut content = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut content).map_err(PrivateError::keep(path))?;
    let is_read = content.len() as u64 <= MAX_BYTES;
    if is_read { Ok(content) } else { Err(PrivateError::TooLarge { path: path.to_owned() }) }
}

fn text(path: &Path, content: Vec<u8>) -> Result<String, PrivateError> {
    String::from_utf8(content).map_err(|_| PrivateError::NoText { path: path.to_owned() })
}

fn refuse(path: &Path, found: &Metadata, forbidden: u32) -> Result<(), PrivateError> {
    let mode = found.mode() & 0o7777;
    let wanted = if found.is_dir() { 0o700 } else { 0o600 };
    let is_open = mode & forbidden != 0;
    if is_open { Err(PrivateError::TooOpen { path: path.to_owned(), mode, wanted }) } else { Ok(()) }
}

fn check_ours(path: &Path, found: &Metadata) -> Result<(), PrivateError> {
    if is_ours(found) { Ok(()) } else { Err(PrivateError::Foreign { path: path.to_owned(), owner: found.uid() }) }
}

fn is_ours(found: &Metadata) -> bool {
    found.uid() == rustix::process::geteuid().as_raw()
}

fn linked(beside: &Path, path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    match fs::hard_link(beside, path) {
        Err(cause) if cause.kind() != io::ErrorKind::AlreadyExists => Err(cause),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    fn rules(mode: u32) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rules.toml");
        fs::write(&path, "x").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        (folder, path)
    }

    #[test]
    fn rules_that_others_may_write_are_refused_with_the_cure() {
        for mode in [0o600, 0o644, 0o444] {
            let (_folder, path) = rules(mode);
            assert_eq!(read_rules(&path).unwrap().unwrap(), "x", "{mode:o}");
        }
        for mode in [0o602, 0o666, 0o777] {
            let (_folder, path) = rules(mode);
            let refusal = read_rules(&path).unwrap_err().to_string();
            assert!(refusal.contains(&format!("mode {mode:o}): run chmod go-w")), "{refusal}");
        }
    }

    #[test]
    fn a_group_may_write_rules_only_where_it_is_the_owners_own() {
        let (_folder, path) = rules(0o664);
        let found = fs::metadata(&path).unwrap();
        assert_eq!(read_rules(&path).is_ok(), found.gid() == found.uid());
        // Only root gives files away.
        if found.uid() == 0 && chown(&path, None, Some(12_345)).is_ok() {
            assert!(matches!(read_rules(&path), Err(PrivateError::OpenRules { mode: 0o664, .. })));
        }
    }

    #[test]
    fn what_is_too_large_or_no_text_is_refused() {
        let (_folder, path) = rules(0o600);
        fs::write(&path, vec![b'#'; 1 << 20]).unwrap();
        assert!(read_rules(&path).is_ok() && read_our_text(&path).is_ok());
        fs::write(&path, vec![b'#'; (1 << 20) + 1]).unwrap();
        assert!(matches!(read_rules(&path), Err(PrivateError::TooLarge { .. })));
        assert!(matches!(read_ours(&path), Err(PrivateError::TooLarge { .. })));
        fs::write(&path, b"caf\xe9").unwrap();
        assert!(matches!(read_rules(&path), Err(PrivateError::NoText { .. })));
        assert!(matches!(read_our_text(&path), Err(PrivateError::NoText { .. })));
        assert_eq!(read_ours(&path).unwrap().unwrap(), b"caf\xe9");
    }

    #[test]
    fn a_pipe_is_refused_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rules.toml");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        for refusal in [read_rules(&path).unwrap_err(), read_ours(&path).unwrap_err()] {
            assert!(refusal.to_string().contains("not a regular file"), "{refusal}");
        }
    }

    #[test]
    fn what_somebody_else_has_made_is_refused() {
        let (_folder, path) = rules(0o600);
        if chown(&path, Some(12_345), None).is_err() {
            // Only root gives files away.
            return;
        }
        assert!(matches!(read_rules(&path), Err(PrivateError::ForeignRules { owner: 12_345, .. })));
        assert!(matches!(read_ours(&path), Err(PrivateError::Foreign { owner: 12_345, .. })));
    }
}
