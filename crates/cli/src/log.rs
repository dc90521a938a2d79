//! A log of JSON, for its owner alone where it is made: a line for each record, in the file that has the name now, as one that is put aside (`logrotate`) leaves it to another.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use serde_json::Value;
use visapult_copy::FileId;

/// Lines are appended to it by any thread.
pub(crate) struct Log {
    path: PathBuf,
    end: Mutex<End>,
}

struct End {
    file: File,
    /// It does not end with a whole line.
    is_torn: bool,
}

impl Log {
    /// Opens the file, which is made if need be.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = opened(path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { path: path.to_owned(), end: Mutex::new(End { file, is_torn: false }) })
    }

    /// Appends a line; where that cannot be had, that is told.
    pub(crate) fn append(&self, record: &Value) {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        // Where no other can be had, the one that is open is better than none.
        if !is_at(&end.file, &self.path)
            && let Ok(file) = opened(&self.path)
        {
            *end = End { file, is_torn: false };
        }
        if let Err(cause) = end.append(&format!("{record}\n")) {
            tracing::warn!("{} lacks a line, which could not be written: {cause}", self.path.display());
        }
    }
}

impl End {
    /// All in one piece, so that others may append to the same file; what could not be written whole has a line of its own.
    fn append(&mut self, line: &str) -> io::Result<()> {
        let line = if self.is_torn { format!("\n{line}") } else { line.to_owned() };
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            match self.file.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    rest = &rest[count..];
                    self.is_torn = !rest.is_empty();
                }
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(cause),
            }
        }
        Ok(())
    }
}

fn opened(path: &Path) -> io::Result<File> {
    // Who has asked for what, and from where, is not for all to read.
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

fn is_at(file: &File, path: &Path) -> bool {
    let which = |told: io::Result<fs::Metadata>| told.ok().map(|told| FileId::from(&told));
    which(file.metadata()) == which(fs::metadata(path))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_log_that_was_put_aside_leaves_it_to_another() {
        let folder = tempfile::tempdir().unwrap();
        let (path, aside) = (folder.path().join("log"), folder.path().join("log.1"));
        let log = Log::open(&path).unwrap();
        log.append(&json!({ "copy": 1 }));
        fs::rename(&path, &aside).unwrap();
        log.append(&json!({ "copy": 2 }));
        log.append(&json!({ "copy": 3 }));
        assert_eq!(fs::read_to_string(&aside).unwrap(), "{\"copy\":1}\n");
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"copy\":2}\n{\"copy\":3}\n");
        for path in [&path, &aside] {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600, "{}", path.display());
        }
    }
}
