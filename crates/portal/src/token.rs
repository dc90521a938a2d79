//! The secret that a page must show: made once per user, so that an open page survives a restart of the server.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

const BYTES: usize = 16;

/// A random secret in hexadecimal.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// Why there is no token.
#[derive(Debug, Error)]
pub enum TokenError {
    /// The system gives no random bytes.
    #[error("the system gives no random bytes for a session token: {0}")]
    Random(String),
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

    /// The user's token, kept in `folder`; made and kept there, readable by the user alone, if there is none yet.
    ///
    /// # Errors
    /// [`TokenError`] if it can neither be read nor kept.
    pub fn kept_in(folder: &Path) -> Result<Self, TokenError> {
        let path = folder.join("token");
        if let Some(kept) = fs::read_to_string(&path).ok().and_then(|text| Self::parse(text.trim())) {
            return Ok(kept);
        }
        let token = Self::fresh()?;
        let keep = || -> io::Result<()> {
            fs::create_dir_all(folder)?;
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
    use super::*;

    #[test]
    fn a_kept_token_comes_back_and_a_damaged_one_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let first = Token::kept_in(folder.path()).unwrap();
        assert!(Token::kept_in(folder.path()).unwrap() == first);
        fs::write(folder.path().join("token"), "short").unwrap();
        assert!(Token::kept_in(folder.path()).unwrap() != first);
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
