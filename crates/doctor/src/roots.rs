//! Where the system's files are looked for.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Where settings lie.
const SETTINGS: [&str; 2] = ["/proc/sys", "/sys"];

/// The folder that has `proc` and `sys` in it.
///
/// Any other than `/` is a picture of a host: nothing but its files is looked at, and what a real one is asked by system calls and programs is
/// read from `ethtool/INTERFACE.json` and `qdisc/INTERFACE.json`.
#[derive(Clone, Debug)]
pub struct Roots {
    root: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self::at("/")
    }
}

impl Roots {
    /// The host that is pictured in `root`; this one in `/`.
    #[must_use]
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// This is the host that runs.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.root == Path::new("/")
    }

    /// Where a file is; `path` is as it is known on a host, such as `/proc/cpuinfo`.
    #[must_use]
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// What a file says, without blanks around it.
    pub(crate) fn read(&self, path: &str) -> io::Result<String> {
        fs::read(self.path(path)).map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// The number that a file begins with.
    pub(crate) fn number(&self, path: &str) -> Option<i64> {
        self.read(path).ok()?.split_whitespace().next()?.parse().ok()
    }

    /// Names in a folder, in order.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(path)).into_iter().flatten().flatten();
        let mut names: Vec<_> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// What a setting is, which lies below `/proc/sys` or `/sys`.
    pub(crate) fn setting(&self, path: &str) -> io::Result<String> {
        self.check_setting(path)?;
        self.read(path)
    }

    /// Sets it.
    pub(crate) fn set(&self, path: &str, value: &str) -> io::Result<()> {
        self.check_setting(path)?;
        File::options().write(true).truncate(true).open(self.path(path))?.write_all(value.as_bytes())
    }

    /// Refuses what is no setting, wherever links lead.
    fn check_setting(&self, path: &str) -> io::Result<()> {
        let file = fs::canonicalize(self.path(path))?;
        let is_below = |folder| fs::canonicalize(self.path(folder)).is_ok_and(|folder| file.starts_with(folder));
        if file.is_file() && SETTINGS.into_iter().any(is_below) {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is no file below {}", SETTINGS.join(" or "))))
    }

    /// Draws into a picture of a host.
    pub(crate) fn draw(&self, path: &str, content: &str) -> io::Result<()> {
        fs::write(self.path(path), content)
    }
}
