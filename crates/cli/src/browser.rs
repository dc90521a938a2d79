//! Opens a page in the user's browser. What is started has a command line that all users of the machine can read: it names a file of the user's alone,
//! which leads on to the URL and its token.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tempfile::{Builder, NamedTempFile};
use visapult_ripp_net::private::make_folder;
use visapult_ripp_net::user_folder;

use crate::say::tell;

/// How long a browser may take until it reads the file.
const LASTS: Duration = Duration::from_secs(60);
const PREFIX: &str = "visapult-page-";
const SUFFIX: &str = ".html";

/// The file that leads to a page; it is gone once this is, and after a minute, for the program may be killed.
pub(crate) struct Lead(Arc<Mutex<Option<NamedTempFile>>>);

impl Drop for Lead {
    fn drop(&mut self) {
        forget(&self.0);
    }
}

fn forget(lead: &Mutex<Option<NamedTempFile>>) {
    drop(lead.lock().unwrap_or_else(PoisonError::into_inner).take());
}

/// Opens the browser, if there is one to be seen.
pub(crate) fn open(url: &str) -> Option<Lead> {
    if !has_display() {
        return None;
    }
    let opened = lead_to(url).and_then(|lead| {
        open::that_detached(lead.path())?;
        let lead = Arc::new(Mutex::new(Some(lead)));
        let its = Arc::clone(&lead);
        let lapse = move || {
            thread::sleep(LASTS);
            forget(&its);
        };
        thread::Builder::new().name("lead".to_owned()).spawn(lapse)?;
        Ok(Lead(lead))
    });
    opened.map_err(|cause| tell(&format!("no browser could be opened ({cause}): open the URL above in one"))).ok()
}

fn has_display() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// A file that leads to `url`, and that its user alone may read.
fn lead_to(url: &str) -> io::Result<NamedTempFile> {
    let folder = folder()?;
    remove_those_left_behind(&folder);
    let mut lead = Builder::new().prefix(PREFIX).suffix(SUFFIX).tempfile_in(folder)?;
    write!(
        lead,
        "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta http-equiv=\"refresh\" content=\"0; url={url}\">\n<title>Visapult</title>\n<a href=\"{url}\">Visapult</a>\n"
    )?;
    lead.flush()?;
    Ok(lead)
}

/// Of programs that were killed before they could.
fn remove_those_left_behind(folder: &Path) {
    let is_left = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        let is_ours = name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        let age = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
        is_ours && age().is_some_and(|age| age > LASTS)
    };
    let left = fs::read_dir(folder).into_iter().flatten().flatten().filter(is_left);
    left.for_each(|entry| drop(fs::remove_file(entry.path())));
}

/// Where browsers can read it: those that snap confines read no hidden folders, and no others outside the home.
fn folder() -> io::Result<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    if let Some(home) = home.filter(|home| home.join("snap").is_dir()) {
        return Ok(home);
    }
    let folder = user_folder().map_err(io::Error::other)?;
    make_folder(&folder).map_err(io::Error::other)?;
    fs::canonicalize(folder)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn leads_of_programs_that_were_killed_are_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - 2 * LASTS;
        let named = ["visapult-page-old.html", "visapult-page-new.html", "visapult-page-old.txt", "other.html"];
        for name in named {
            let file = File::create(folder.path().join(name)).unwrap();
            if !name.contains("new") {
                file.set_modified(old).unwrap();
            }
        }
        remove_those_left_behind(folder.path());
        assert_eq!(named.map(|name| folder.path().join(name).exists()), [false, true, true, true]);
    }

    #[test]
    fn a_lead_is_gone_once_it_is_not_needed_and_when_its_time_is_up() {
        let folder = tempfile::tempdir().unwrap();
        let lead = || {
            let file = NamedTempFile::new_in(folder.path()).unwrap();
            (file.path().to_owned(), Lead(Arc::new(Mutex::new(Some(file)))))
        };
        let (path, first) = lead();
        assert!(path.exists());
        drop(first);
        assert!(!path.exists());
        let (path, second) = lead();
        forget(&second.0);
        assert!(!path.exists());
    }
}
