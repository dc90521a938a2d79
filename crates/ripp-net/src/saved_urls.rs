//! URLs that a user keeps in a file, so that no token has to stand on a command line, which all users of a machine may see: of one that is written
//! without its token, that and the fingerprint are taken from there.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::identity::user_folder;
use crate::private::{self, PrivateError};
use crate::url::{RippUrl, SCHEME, UrlError};

/// In the user's configuration folder: a URL in each line, as its listener printed it.
const FILE: &str = "urls";

/// Why nothing can be taken from the file. Never says what stands in it.
#[derive(Debug, Error)]
pub enum KeptError {
    /// The system does not give it, or other users could have read the tokens.
    #[error(transparent)]
    Private(#[from] PrivateError),
    /// A line with something else.
    #[error("{path} line {line}: {cause}")]
    NoUrl {
        /// The file.
        path: PathBuf,
        /// Counted from 1 on.
        line: usize,
        /// What is wrong.
        cause: UrlError,
    },
}

/// What is `written`, or, where that is a URL without a token, or several with blanks between, the same with what the user keeps for it.
///
/// # Errors
/// If the file where it would be kept cannot be believed.
pub fn with_kept_token(written: &OsStr) -> Result<OsString, KeptError> {
    let is_bare = words(written.as_bytes()).any(|word| Bare::of(word).is_some());
    // Whoever has no configuration folder keeps nothing in it.
    let Some(folder) = user_folder().ok().filter(|_| is_bare) else { return Ok(written.to_owned()) };
    let kept = read(&folder.join(FILE))?;
    Ok(OsString::from_vec(completed(written.as_bytes(), &kept)))
}

fn words(written: &[u8]) -> impl Iterator<Item = &[u8]> {
    written.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// A path that is appended to a URL may have blanks in it; a word that begins as a URL does is another one.
fn completed(written: &[u8], kept: &[RippUrl]) -> Vec<u8> {
    let whole = |written: &[u8]| Bare::of(written).and_then(|bare| bare.completed(kept));
    if words(written).all(|word| word.starts_with(SCHEME.as_bytes())) {
        let urls = words(written).map(|word| whole(word).unwrap_or_else(|| word.to_vec()));
        return urls.collect::<Vec<_>>().join(&b' ');
    }
    whole(written.trim_ascii_start()).unwrap_or_else(|| written.to_vec())
}

/// A URL without a token, as it is written: `ripp://PLACE/path`, and what begins with a `#`.
struct Bare<'a> {
    before: &'a [u8],
    behind: &'a [u8],
}

impl<'a> Bare<'a> {
    fn of(written: &'a [u8]) -> Option<Self> {
        let rest = written.strip_prefix(SCHEME.as_bytes())?;
        let (before, behind) = rest.split_at(rest.iter().position(|&sign| sign == b'#').unwrap_or(rest.len()));
        let bare = Self { before, behind };
        (!bare.parts().0.contains(&b'@')).then_some(bare)
    }

    /// Host and port, and the rest of what stands before the fingerprint.
    fn parts(&self) -> (&'a [u8], &'a [u8]) {
        let at = self.before.iter().position(|&sign| sign == b'/').unwrap_or(self.before.len());
        (&self.before[..at], self.before[at..].strip_prefix(b"/").unwrap_or_default())
    }

    /// With what is kept of the same place, of two the one that was added last: the token is shown to nobody else than the kept URL says.
    fn completed(&self, kept: &[RippUrl]) -> Option<Vec<u8>> {
        let url = kept.iter().filter(|url| self.is_at(url)).max_by_key(|url| url.name.len())?;
        let token = url.token.as_ref().map(|token| token.encoded() + "@").unwrap_or_default();
        let print = url.fingerprint.filter(|_| self.behind.is_empty()).map(|print| format!("#{print}"));
        let print = print.unwrap_or_default();
        Some([SCHEME.as_bytes(), token.as_bytes(), self.before, self.behind, print.as_bytes()].concat())
    }

    fn is_at(&self, url: &RippUrl) -> bool {
        let (authority, path) = self.parts();
        let is_below = path.strip_prefix(url.name.as_bytes()).is_some_and(|rest| rest.is_empty() || rest[0] == b'/');
        let print = self.behind.strip_prefix(b"#").map(|behind| behind.split(|&sign| sign == b'/').next());
        let is_same_print = print.is_none_or(|print| {
            let own = url.fingerprint.map(|own| own.to_string());
            own.as_ref().map(String::as_bytes) == print
        });
        is_below && is_same_print && authority.eq_ignore_ascii_case(url.authority().as_bytes())
    }
}

/// The URLs of the file; none if it is not there.
fn read(path: &Path) -> Result<Vec<RippUrl>, KeptError> {
    let Some(text) = private::read_our_text(path)? else { return Ok(Vec::new()) };
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim_start().starts_with('#'));
    // Where a policy names people, a share prints a name before each URL.
    let urls = lines.filter_map(|(line, number)| Some((line.split_whitespace().next_back()?, number)));
    urls.map(|(url, line)| url.parse().map_err(|cause| KeptError::NoUrl { path: path.to_owned(), line, cause }))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const TOKEN: &str = "MDEyMzQ1Njc4OWFiY2RlZg";
    const NEWER: &str = "ZmVkY2JhOTg3NjU0MzIxMA";
    const PRINT: &str = "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0";
    const OTHER: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

    fn kept() -> Vec<RippUrl> {
        let lines = [
            format!("ripp://{TOKEN}@host:1/runs#{PRINT}"),
            format!("ripp://{NEWER}@host:1/runs#{PRINT}"),
            format!("ripp://{TOKEN}@[fe80::1]:2/perf#{PRINT}"),
            format!("ripp://{TOKEN}@host:1/runs/old#{OTHER}"),
        ];
        lines.iter().map(|line| line.parse().unwrap()).collect()
    }

    #[test]
    fn a_url_without_its_token_gets_what_is_kept_of_its_place() {
        let whole = |written: &str| String::from_utf8(completed(written.as_bytes(), &kept())).unwrap();
        let newer = |path: &str| format!("ripp://{NEWER}@host:1/runs{path}#{PRINT}");
        assert_eq!(whole("ripp://host:1/runs"), newer(""));
        assert_eq!(whole("ripp://host:1/runs/a b/.h5"), newer("/a b/.h5"));
        assert_eq!(whole("ripp://HOST:1/runs/"), format!("ripp://{NEWER}@HOST:1/runs/#{PRINT}"));
        assert_eq!(whole(&format!("ripp://host:1/runs#{PRINT}/a b")), newer("") + "/a b");
        assert_eq!(whole("ripp://host:1/runs/old/a"), format!("ripp://{TOKEN}@host:1/runs/old/a#{OTHER}"));
        let perf = format!("ripp://{TOKEN}@[fe80::1]:2/perf#{PRINT}");
        assert_eq!(whole("ripp://[fe80::1]:2/perf"), perf);
        assert_eq!(whole(" ripp://[fe80::1]:2/perf  ripp://host:1/runs"), format!("{perf} {}", newer("")));
    }

    #[test]
    fn nothing_else_gets_a_token() {
        let others = [
            format!("ripp://{TOKEN}@host:1/runs#{PRINT}"),
            format!("ripp://host:1/runs#{OTHER}"),
            "ripp://host:2/runs".to_owned(),
            "ripp://other:1/runs".to_owned(),
            "ripp://host:1/run".to_owned(),
            "ripp://host:1/runs2".to_owned(),
            "ripp://host:1".to_owned(),
            "ripp://host.evil:1/runs".to_owned(),
            "runs/a ripp://host:1/runs".to_owned(),
            "https://host:1/runs".to_owned(),
            String::new(),
        ];
        for written in others {
            assert_eq!(completed(written.as_bytes(), &kept()), written.as_bytes(), "{written}");
        }
    }

    #[test]
    fn the_file_is_the_users_alone_and_a_wrong_line_is_named_without_its_secret() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        assert!(read(&path).unwrap().is_empty());
        let write = |text: &str| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        };
        write(&format!("# shares\n\n  grace ripp://{TOKEN}@host:1/runs#{PRINT}\n"));
        assert_eq!(read(&path).unwrap(), kept()[..1]);
        write("\nripp://SECRET@host:1/runs\n");
        let told = read(&path).unwrap_err().to_string();
        assert!(told.contains("urls line 2: ") && !told.contains("SECRET"), "{told}");
        write(&"#\n".repeat(1 << 20));
        assert!(matches!(read(&path), Err(KeptError::Private(PrivateError::TooLarge { .. }))));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("mode 640): run chmod 600"));
    }
}
