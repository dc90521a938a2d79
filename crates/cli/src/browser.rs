//! Opens a page in the user's browser. What is started has a command line that all users of the machine can read: it names a file of the user's alone,
//! which leads on to the URL and its token.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use tempfile::{Builder, NamedTempFile};
use visapult_ripp_net::private::make_folder;
use visapult_ripp_net::user_folder;

use crate::say::tell;

/// The file that leads to a page; it is gone once this is.
pub(crate) struct Lead(#[expect(dead_code, reason = "removes the file")] NamedTempFile);

/// Opens the browser, if there is one to be seen.
pub(crate) fn open(url: &str) -> Option<Lead> {
    if !has_display() {
        return None;
    }
    let opened = lead_to(url).and_then(|lead| {
        open::that_detached(lead.path())?;
        Ok(Lead(lead))
    });
    opened.map_err(|cause| tell(&format!("no browser could be opened ({cause}): open the URL above in one"))).ok()
}

fn has_display() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// A file that leads to `url`, and that its user alone may read.
fn lead_to(url: &str) -> io::Result<NamedTempFile> {
    let mut lead = Builder::new().prefix("visapult-page-").suffix(".html").tempfile_in(folder()?)?;
    write!(
        lead,
        "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta http-equiv=\"refresh\" content=\"0; url={url}\">\n<title>Visapult</title>\n<a href=\"{url}\">Visapult</a>\n"
    )?;
    lead.flush()?;
    Ok(lead)
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
