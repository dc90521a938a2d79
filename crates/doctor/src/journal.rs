//! What was changed, and what it was before: written down before each change, so that all can be put back, whatever came in between.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;
use visapult_ripp_net::private;

use crate::change::Change;
use crate::roots::Roots;

const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// Changes that were made, in the file that remembers them.
///
/// Nobody else has it open for the same file meanwhile, and nobody else may write it: what it says is done with the rights of who undoes it.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    roots: Roots,
    kept: Kept,
    _lock: File,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    /// Since when the machine runs: with it all settings are lost.
    boot: String,
    entries: Vec<Entry>,
}

/// A change, and what was there before.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    change: Change,
    before: String,
}

/// Why changes cannot be made, or not be put back.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The file that remembers them.
    #[error("what is changed cannot be remembered in {path}, so nothing is: {cause}")]
    State {
        /// The file.
        path: PathBuf,
        /// The system's reason, or what is wrong with it.
        cause: io::Error,
    },
    /// A setting.
    #[error("`{command}` failed: {cause}{}", if cause.kind() == io::ErrorKind::PermissionDenied { " (run it as root)" } else { "" })]
    Setting {
        /// What was to be done.
        command: String,
        /// The system's reason.
        cause: io::Error,
    },
}

impl Journal {
    /// Opens the journal at `path`, which need not be there yet, for the host in `roots`.
    ///
    /// # Errors
    /// If it cannot be written, is damaged, or in use, or if it or its folder is another user's, or others may write it.
    pub fn open(path: &Path, roots: Roots) -> Result<Self, JournalError> {
        let state = |cause| JournalError::State { path: path.to_owned(), cause };
        let folder = path.parent().unwrap_or(Path::new("."));
        private::make_record_folder(folder).map_err(|refusal| state(io::Error::other(refusal)))?;
        let mut lock = OpenOptions::new();
        lock.create(true).truncate(false).write(true).custom_flags(libc::O_NOFOLLOW);
        let lock = lock.open(path.with_extension("lock")).map_err(state)?;
        lock.try_lock().map_err(|_| state(io::Error::other("another doctor is at it")))?;
        let mut kept: Kept = match private::read_record(path).map_err(|refusal| state(io::Error::other(refusal)))? {
            Some(bytes) => serde_json::from_slice(&bytes).map_err(|cause| state(cause.into()))?,
            None => Kept::default(),
        };
        let boot = roots.read(BOOT).unwrap_or_default();
        if kept.boot != boot {
            kept = Kept { boot, entries: Vec::new() };
        }
        Ok(Self { path: path.to_owned(), roots, kept, _lock: lock })
    }

    /// How many changes can be put back.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kept.entries.len()
    }

    /// Nothing was changed since the machine was started.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kept.entries.is_empty()
    }

    /// Makes a change and remembers what was there before; false if it is so already.
    ///
    /// # Errors
    /// [`JournalError`]; the setting is as it was.
    pub fn make(&mut self, change: &Change) -> Result<bool, JournalError> {
        let failed = |cause| JournalError::Setting { command: change.command(), cause };
        let before = change.now(&self.roots).map_err(failed)?;
        if same(&before, change.value()) {
            return Ok(false);
        }
        self.kept.entries.push(Entry { change: change.clone(), before });
        self.write()?;
        if let Err(cause) = change.make(&self.roots) {
            self.kept.entries.pop();
            self.write()?;
            return Err(failed(cause));
        }
        Ok(true)
    }

    /// Puts everything back, the last change first, and tells `done` of each. One that cannot be put back is kept, and the others are.
    ///
    /// # Errors
    /// The first [`JournalError`].
    pub fn undo(&mut self, mut done: impl FnMut(&Change)) -> Result<(), JournalError> {
        let mut stuck = Vec::new();
        let mut first = Ok(());
        while let Some(entry) = self.kept.entries.last().cloned() {
            let back = entry.change.with(&entry.before);
            match put_back(&back, &self.roots) {
                Ok(()) => done(&back),
                Err(cause) => {
                    stuck.insert(0, entry);
                    first = first.and(Err(JournalError::Setting { command: back.command(), cause }));
                }
            }
            self.kept.entries.pop();
            let rest = self.kept.entries.len();
            // What is stuck is remembered, too, whenever this may end.
            self.kept.entries.extend(stuck.iter().cloned());
            self.write()?;
            self.kept.entries.truncate(rest);
        }
        self.kept.entries = stuck;
        if self.kept.entries.is_empty() {
            fs::remove_file(&self.path).map_err(|cause| self.state(cause)).or_else(|fault| match &fault {
                JournalError::State { cause, .. } if cause.kind() == io::ErrorKind::NotFound => Ok(()),
                _ => Err(fault),
            })?;
        }
        first
    }

    /// In one go: the file holds what it did or all that it is to.
    fn write(&self) -> Result<(), JournalError> {
        let next = self.path.with_extension("next");
        let write = || {
            // One that was left half written; nobody else is at it.
            match fs::remove_file(&next) {
                Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
                _ => {}
            }
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&next)?;
            file.write_all(&serde_json::to_vec(&self.kept)?)?;
            file.sync_all()?;
            fs::rename(&next, &self.path)
        };
        write().map_err(|cause| self.state(cause))
    }

    fn state(&self, cause: io::Error) -> JournalError {
        JournalError::State { path: self.path.clone(), cause }
    }
}

/// Nothing is written where the value is there already: a change that was remembered may never have been made.
fn put_back(back: &Change, roots: &Roots) -> io::Result<()> {
    if same(&back.now(roots)?, back.value()) { Ok(()) } else { back.make(roots) }
}

/// Tabs and blanks between numbers mean the same.
fn same(one: &str, other: &str) -> bool {
    one.split_whitespace().eq(other.split_whitespace())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

    use super::*;

    const NAMES: [&str; 3] = ["a", "b", "c"];

    fn host() -> (tempfile::TempDir, Roots, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let roots = Roots::at(folder.path());
        fs::create_dir_all(roots.path("/proc/sys/kernel/random")).unwrap();
        fs::write(roots.path(BOOT), "one\n").unwrap();
        NAMES.iter().for_each(|name| fs::write(roots.path(&format!("/proc/sys/{name}")), "1\t2\n").unwrap());
        let path = folder.path().join("state/doctor.json");
        (folder, roots, path)
    }

    fn values(roots: &Roots) -> Vec<String> {
        NAMES.iter().map(|name| roots.read(&format!("/proc/sys/{name}")).unwrap()).collect()
    }

    fn change(name: &str, value: &str) -> Change {
        Change::sysctl(name, value)
    }

    #[test]
    fn all_is_put_back_in_reverse_order_and_once_more_does_nothing() {
        let (_folder, roots, path) = host();
        let mut journal = Journal::open(&path, roots.clone()).unwrap();
        assert!(journal.make(&change("a", "3 4")).unwrap());
        assert!(journal.make(&change("b", "5 6")).unwrap());
        assert!(journal.make(&change("a", "7 8")).unwrap());
        assert!(!journal.make(&change("c", "1 2")).unwrap());
        drop(journal);
        assert_eq!(values(&roots), ["7 8", "5 6", "1\t2"]);
        let mut journal = Journal::open(&path, roots.clone()).unwrap();
        let mut done = Vec::new();
        journal.undo(|change| done.push(change.command())).unwrap();
        assert_eq!(done, ["sysctl -w a='3 4'", "sysctl -w b='1\t2'", "sysctl -w a='1\t2'"]);
        assert_eq!(values(&roots), ["1\t2"; 3]);
        journal.undo(|_| panic!("nothing is left to be done")).unwrap();
        assert!(journal.is_empty() && !path.exists());
    }

    #[test]
    fn a_change_that_was_remembered_and_not_made_does_no_harm() {
        let (_folder, roots, path) = host();
        let mut journal = Journal::open(&path, roots.clone()).unwrap();
        journal.make(&change("a", "3 4")).unwrap();
        // As if it had been killed after it had written down the second.
        journal.kept.entries.push(Entry { change: change("b", "5 6"), before: "1\t2".to_owned() });
        journal.write().unwrap();
        drop(journal);
        Journal::open(&path, roots.clone()).unwrap().undo(|_| ()).unwrap();
        assert_eq!(values(&roots), ["1\t2"; 3]);
    }

    #[test]
    fn what_cannot_be_changed_is_not_remembered_and_what_cannot_be_put_back_is_kept() {
        let (_folder, roots, path) = host();
        let mut journal = Journal::open(&path, roots.clone()).unwrap();
        assert!(journal.make(&change("none", "1")).is_err());
        assert!(journal.is_empty());
        journal.make(&change("a", "3 4")).unwrap();
        journal.make(&change("b", "5 6")).unwrap();
        fs::remove_file(roots.path("/proc/sys/b")).unwrap();
        assert!(journal.undo(|_| ()).is_err());
        assert_eq!((journal.len(), roots.read("/proc/sys/a").unwrap().as_str()), (1, "1\t2"));
        drop(journal);
        assert_eq!(Journal::open(&path, roots).unwrap().len(), 1);
    }

    #[test]
    fn a_restart_of_the_machine_undoes_everything_by_itself() {
        let (_folder, roots, path) = host();
        Journal::open(&path, roots.clone()).unwrap().make(&change("a", "3 4")).unwrap();
        fs::write(roots.path(BOOT), "two\n").unwrap();
        assert!(Journal::open(&path, roots).unwrap().is_empty());
    }

    #[test]
    fn a_damaged_journal_and_one_in_use_are_refused() {
        let (_folder, roots, path) = host();
        let journal = Journal::open(&path, roots.clone()).unwrap();
        assert!(Journal::open(&path, roots.clone()).unwrap_err().to_string().contains("another doctor"));
        drop(journal);
        fs::write(&path, "{").unwrap();
        assert!(matches!(Journal::open(&path, roots), Err(JournalError::State { .. })));
    }

    /// As somebody else would write it.
    fn record(path: &Path, changed: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let change = serde_json::json!({"kind": "file", "path": changed, "value": "new"});
        let kept = serde_json::json!({"boot": "one", "entries": [{"change": change, "before": "old"}]});
        fs::write(path, kept.to_string()).unwrap();
    }

    #[test]
    fn nothing_but_settings_is_put_back_whatever_is_remembered() {
        let (folder, roots, path) = host();
        fs::create_dir_all(roots.path("/etc")).unwrap();
        fs::create_dir_all(roots.path("/sys")).unwrap();
        let victim = roots.path("/etc/victim");
        std::os::unix::fs::symlink(&victim, roots.path("/proc/sys/link")).unwrap();
        for changed in ["/etc/victim", "/proc/sys/../../etc/victim", "/sys/../etc/victim", "/proc/sys/link", "/sys", ""]
        {
            fs::write(&victim, "mine").unwrap();
            record(&path, changed);
            let mut journal = Journal::open(&path, roots.clone()).unwrap();
            let fault = journal.undo(|_| ()).unwrap_err();
            assert!(matches!(fault, JournalError::Setting { .. }), "{changed}: {fault}");
            assert_eq!(fs::read_to_string(&victim).unwrap(), "mine", "{changed}");
        }
        drop(folder);
    }

    #[test]
    fn what_others_may_write_is_not_believed() {
        let (_folder, roots, path) = host();
        let folder = path.parent().unwrap();
        let refused = || Journal::open(&path, roots.clone()).unwrap_err().to_string();
        record(&path, "/proc/sys/a");
        let allow = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        allow(&path, 0o646);
        assert!(refused().contains("may be read or changed by others"), "{}", refused());
        allow(&path, 0o644);
        allow(folder, 0o777);
        assert!(refused().contains("may be read or changed by others"), "{}", refused());
        allow(folder, 0o755);
        assert_eq!(Journal::open(&path, roots.clone()).unwrap().len(), 1);
        // Only root gives files away.
        for given in [path.as_path(), folder] {
            if chown(given, Some(12_345), None).is_ok() {
                assert!(refused().contains("belongs to user 12345"), "{}", refused());
                chown(given, Some(0), None).unwrap();
            }
        }
    }

    #[test]
    fn what_lies_where_it_is_written_is_not_written_through() {
        let (folder, roots, path) = host();
        let victim = folder.path().join("victim");
        fs::write(&victim, "mine").unwrap();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&victim, path.with_extension("next")).unwrap();
        Journal::open(&path, roots.clone()).unwrap().make(&change("a", "3 4")).unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        fs::remove_file(path.with_extension("lock")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("made"), path.with_extension("lock")).unwrap();
        assert!(Journal::open(&path, roots).is_err() && !folder.path().join("made").exists());
    }
}
