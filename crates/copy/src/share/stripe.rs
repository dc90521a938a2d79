//! Shares of one file system that give as one: each leaves its URL in a folder that all of them see, and nobody else. What one leaves that is
//! killed, the next one on its machine takes away.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use visapult_ripp_net::{RippUrl, private};

use crate::error::CopyError;
use crate::names::shown;
use crate::stripes::MOST_NODES;

const ENDING: &str = ".node";
const MOST_BYTES: u64 = 4096;
/// A machine tells itself at once that nobody listens.
const PATIENCE: Duration = Duration::from_secs(1);

/// The folder, and what this share has left there. It takes that away when it ends.
#[derive(Debug)]
pub(super) struct Stripe {
    folder: PathBuf,
    own: String,
}

impl Stripe {
    /// Leaves `url` in `folder`, which is made if it is not there; it holds tokens, and so may not lie in what is `shared`.
    pub(super) fn join(folder: &Path, shared: &Path, url: &RippUrl) -> Result<Self, CopyError> {
        let wrong = |cause: io::Error| CopyError::at(folder, &cause);
        if real(folder).starts_with(shared) {
            let why =
                format!("{} holds tokens, and lies in the folder that is shared: put it elsewhere", shown(folder));
            return Err(CopyError::Here(why));
        }
        match DirBuilder::new().mode(0o700).create(folder) {
            Err(cause) if cause.kind() != io::ErrorKind::AlreadyExists => return Err(wrong(cause)),
            _ => {}
        }
        let folder = fs::canonicalize(folder).map_err(wrong)?;
        let found = fs::metadata(&folder).map_err(wrong)?;
        private::check(&folder, &found).map_err(|cause| CopyError::Here(cause.to_string()))?;
        let own = format!("{}{ENDING}", url.authority());
        let stripe = Self { folder, own };
        // Whoever reads finds all of it, or what was there before.
        let (new, path) = (stripe.folder.join(format!("{}.new", stripe.own)), stripe.folder.join(&stripe.own));
        let written = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new);
        let written = written.and_then(|mut file| writeln!(file, "{url}")).and_then(|()| fs::rename(&new, &path));
        written.map_err(|cause| CopyError::at(&path, &cause))?;
        stripe.clear(&url.host);
        Ok(stripe)
    }

    /// Takes away what shares on this machine have left that were killed. Of other machines only they themselves know.
    fn clear(&self, host: &str) {
        for file in self.files() {
            if url_in(&file).is_some_and(|url| url.host == host && is_deserted(&url)) {
                // Who cannot take it away leaves it.
                let _ = fs::remove_file(file);
            }
        }
    }

    /// The URLs of the others; those of machines that are gone without taking theirs away are among them.
    pub(super) fn others(&self) -> Vec<String> {
        self.files().iter().filter_map(|file| url_in(file)).map(|url| url.to_string()).take(MOST_NODES).collect()
    }

    /// What the others have left.
    fn files(&self) -> Vec<PathBuf> {
        let names = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
        let mut names: Vec<_> = names.filter_map(|name| name.into_string().ok()).collect();
        names.retain(|name| name.ends_with(ENDING) && *name != self.own);
        names.sort_unstable();
        names.iter().map(|name| self.folder.join(name)).collect()
    }
}

impl Drop for Stripe {
    fn drop(&mut self) {
        // Whoever dials it meanwhile is told that it does not answer.
        let _ = fs::remove_file(self.folder.join(&self.own));
    }
}

fn url_in(file: &Path) -> Option<RippUrl> {
    let mut text = String::new();
    File::open(file).ok()?.take(MOST_BYTES).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// Nobody listens there: a share does from before it leaves its URL until it ends.
fn is_deserted(url: &RippUrl) -> bool {
    let Ok(addresses) = (url.host.as_str(), url.port).to_socket_addrs() else { return false };
    let refuses = |at| {
        TcpStream::connect_timeout(&at, PATIENCE).is_err_and(|cause| cause.kind() == io::ErrorKind::ConnectionRefused)
    };
    let mut addresses = addresses.peekable();
    addresses.peek().is_some() && addresses.all(refuses)
}

/// Where `folder` is, or would be.
fn real(folder: &Path) -> PathBuf {
    let outer = folder.parent().filter(|outer| !outer.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let of_outer = || Ok(fs::canonicalize(outer)?.join(folder.file_name().unwrap_or_default()));
    fs::canonicalize(folder).or_else(|_: io::Error| of_outer()).unwrap_or_else(|_: io::Error| folder.to_owned())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn url_of(authority: &str) -> RippUrl {
        format!("ripp://MDEyMzQ1Njc4OWFiY2RlZg@{authority}/run#ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0")
            .parse()
            .unwrap()
    }

    /// Each is a machine of its own.
    fn url(number: u16) -> RippUrl {
        url_of(&format!("dtn-{number}:7440"))
    }

    #[test]
    fn each_finds_the_others_for_as_long_as_they_are_there() {
        let dir = tempfile::tempdir().unwrap();
        let (shared, folder) = (dir.path().join("shared"), dir.path().join("stripe"));
        let [first, second, third] = [1, 2, 3].map(|port| Stripe::join(&folder, &shared, &url(port)).unwrap());
        assert_eq!(first.others(), [url(2).to_string(), url(3).to_string()]);
        let file = folder.join("dtn-2:7440.node");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        drop(second);
        fs::write(folder.join("x.node"), "no URL").unwrap();
        assert_eq!((third.others(), file.exists()), (vec![url(1).to_string()], false));
    }

    #[test]
    fn what_a_killed_share_has_left_is_taken_away_by_the_next_of_its_machine() {
        let dir = tempfile::tempdir().unwrap();
        let (shared, folder) = (dir.path().join("shared"), dir.path().join("stripe"));
        let listening = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [alive, next] = listening.each_ref().map(|one| url_of(&one.local_addr().unwrap().to_string()));
        let join = |url: &RippUrl| Stripe::join(&folder, &shared, url).unwrap();
        let (_alive, killed, elsewhere) = (join(&alive), join(&url_of("127.0.0.1:1")), join(&url_of("127.0.0.2:1")));
        std::mem::forget(killed);
        assert_eq!(join(&next).others(), [alive.to_string(), url_of("127.0.0.2:1").to_string()]);
        drop(elsewhere);
    }

    #[test]
    fn a_folder_that_others_may_see_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let join = |folder: &str| Stripe::join(&dir.path().join(folder), dir.path(), &url(1)).unwrap_err().to_string();
        assert!(join("stripe").contains("put it elsewhere"));
        // Nothing is left of it.
        assert!(!dir.path().join("stripe").exists());
        fs::create_dir(dir.path().join("there")).unwrap();
        assert!(join("there").contains("put it elsewhere"));
        let open = tempfile::tempdir().unwrap();
        fs::set_permissions(open.path(), fs::Permissions::from_mode(0o750)).unwrap();
        let told = Stripe::join(open.path(), dir.path(), &url(1)).unwrap_err().to_string();
        assert!(told.contains("chmod 700"), "{told}");
    }
}
