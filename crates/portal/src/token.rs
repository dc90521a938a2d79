//! The secret that a page must show: made once per user, so that an open page survives a restart of the server.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use thiserror::Error;
use visapult_pipeline::Right;

const BYTES: usize = 16;

/// A random secret in hexadecimal.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// What pages show: the one token opens pages that may steer a simulation, the other pages that may only watch it.
#[derive(Clone)]
pub struct Tokens {
    /// May steer.
    pub steer: Token,
    /// May watch.
    pub watch: Token,
}

impl Tokens {
    /// Tokens for this process only.
    ///
    /// # Errors
    /// [`TokenError::Random`] if the system gives no random bytes.
    pub fn fresh() -> Result<Self, TokenError> {
        Ok(Self { steer: Token::fresh()?, watch: Token::fresh()? })
    }

    /// The user's tokens, kept in `folder`; made and kept there, readable by the user alone, if there are none yet.
    ///
    /// # Errors
    /// [`TokenError`] if they can neither be read nor kept.
    pub fn kept_in(folder: &Path) -> Result<Self, TokenError> {
        Ok(Self { steer: Token::kept_in(folder, "token")?, watch: Token::kept_in(folder, "watch-token")? })
    }

    /// What a page that shows `shown` may do; none if it may nothing.
    pub(crate) fn right_of(&self, shown: &str) -> Option<Right> {
        let (steers, watches) = (self.steer.matches(shown), self.watch.matches(shown));
        if steers { Some(Right::Steer) } else { watches.then_some(Right::Watch) }
    }
}

/// Why there is no token.
#[derive(Debug, Error)]
pub enum TokenError {
    /// The system gives no random bytes.
    #[error("the system gives no random bytes for a session token: {0}")]
    Random(String),
    /// Other users of this machine could have read it, and reach pages as its user does.
    #[error(
        "{path} may be read or changed by others (mode {mode:o}): run chmod 600 on it, or remove it to have a new one"
    )]
    TooOpen {
        /// The token's file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The token cannot be kept.
    #[error("cannot keep the session token in {path}: {cause}")]
    Keep {
        /// Where it was to be kept.
        path: PathBuf,
        /// The system's reason.
        cause: io::Error,
    },
}

impl Token {
    /// A token for this process only.
    ///
    /// # Errors
    /// [`TokenError::Random`] if the system gives no random bytes.
    pub fn fresh() -> Result<Self, TokenError> {
        let mut bytes = [0_u8; BYTES];
        getrandom::fill(&mut bytes).map_err(|e| TokenError::Random(e.to_string()))?;
        Ok(Self(bytes.iter().map(|b| format!("{b:02x}")).collect()))
    }

    /// The user's token of that `name`, kept in `folder`; made and kept there, readable by the user alone, if there is none yet.
    ///
    /// # Errors
    /// [`TokenError`] if it can neither be read nor kept.
    fn kept_in(folder: &Path, name: &str) -> Result<Self, TokenError> {
        let path = folder.join(name);
        if let Ok(mut file) = File::open(&path) {
            let failed = |cause| TokenError::Keep { path: path.clone(), cause };
            let mode = file.metadata().map_err(failed)?.mode() & 0o777;
            if mode & 0o077 != 0 {
                return Err(TokenError::TooOpen { path, mode });
            }
            let mut text = String::new();
            let read = file.read_to_string(&mut text);
            if let Some(kept) = read.ok().and_then(|_| Self::parse(text.trim())) {
                return Ok(kept);
            }
        }
        let token = Self::fresh()?;
        let keep = || -> io::Result<()> {
            // Other secrets of the user's lie there, and are not used where others may write.
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
            file.write_all(token.0.as_bytes())
        };
        keep().map_err(|cause| TokenError::Keep { path: path.clone(), cause })?;
        Ok(token)
    }

    fn parse(text: &str) -> Option<Self> {
        let is_token = text.len() == 2 * BYTES && text.bytes().all(|b| b.is_ascii_hexdigit());
        is_token.then(|| Self(text.to_owned()))
    }

    /// Whether `shown` is this token; takes the same time wherever they differ.
    pub fn matches(&self, shown: &str) -> bool {
        let differing = self.0.bytes().zip(shown.bytes()).fold(0, |differing, (a, b)| differing | (a ^ b));
        differing == 0 && shown.len() == self.0.len()
    }

    /// As it stands in a URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_kept_token_comes_back_and_a_damaged_one_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let first = Tokens::kept_in(folder.path()).unwrap();
        assert!(first.steer != first.watch);
        let again = Tokens::kept_in(folder.path()).unwrap();
        assert!(again.steer == first.steer && again.watch == first.watch);
        fs::write(folder.path().join("token"), "short").unwrap();
        let mended = Tokens::kept_in(folder.path()).unwrap();
        assert!(mended.steer != first.steer && mended.watch == first.watch);
    }

    #[test]
    fn what_is_made_is_for_the_user_alone() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("config/visapult");
        Tokens::kept_in(&folder).unwrap();
        let modes = ["", "token", "watch-token"].map(|name| fs::metadata(folder.join(name)).unwrap().mode() & 0o777);
        assert_eq!(modes, [0o700, 0o600, 0o600]);
    }

    #[test]
    fn a_token_that_others_may_have_read_lets_nobody_in() {
        let folder = tempfile::tempdir().unwrap();
        Tokens::kept_in(folder.path()).unwrap();
        let file = folder.path().join("watch-token");
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        let problem = Tokens::kept_in(folder.path()).err().unwrap().to_string();
        assert!(problem.contains("watch-token may be read or changed by others (mode 640)"), "{problem}");
    }

    #[test]
    fn only_the_whole_token_matches() {
        let token = Token::fresh().unwrap();
        assert!(token.matches(token.as_str()));
        assert!(!token.matches(&token.as_str()[1..]));
        assert!(!token.matches(""));
        assert!(!token.matches(&format!("{}0", token.as_str())));
    }
}
