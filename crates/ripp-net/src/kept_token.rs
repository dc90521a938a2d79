//! The token of a listener that those who dialled it are to reach again when it comes back: kept as the user's key is.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use crate::private::{self, PrivateError};
use crate::token::Token;

impl Token {
    /// The token kept in `folder` under this `name`; made and kept there, readable by the user alone, if there is none yet.
    ///
    /// # Errors
    /// [`PrivateError`], among them [`PrivateError::TooOpen`] where others could have read it.
    pub fn load_or_create(folder: &Path, name: &str) -> Result<Self, PrivateError> {
        let path = folder.join(name);
        if private::read_ours(&path)?.is_none() {
            private::make_folder(folder)?;
            Self::keep_fresh(&path)?;
        }
        // Whoever was first at making it is who is believed.
        parsed(&path, private::read_ours(&path)?)
    }

    /// The token of a `kind` of listener at `at`: the same each time, kept in `folder`, so that those who dialled it reach it again. With port 0 it is
    /// a new one.
    ///
    /// # Errors
    /// [`PrivateError`], as above.
    pub fn of_listener(folder: &Path, kind: &str, at: SocketAddr) -> Result<Self, PrivateError> {
        if at.port() == 0 {
            return Self::fresh().map_err(|cause| keep(folder, io::Error::other(cause)));
        }
        Self::load_or_create(folder, &format!("{kind}-{at}.token"))
    }

    /// The token in a file that its user has named, for which nothing else is made; made and kept there, readable by its owner alone, if there is none yet.
    ///
    /// # Errors
    /// [`PrivateError`], as above.
    pub fn load_or_create_at(path: &Path) -> Result<Self, PrivateError> {
        if private::read_ours(path)?.is_none() {
            Self::keep_fresh(path)?;
        }
        parsed(path, private::read_ours(path)?)
    }

    fn keep_fresh(path: &Path) -> Result<(), PrivateError> {
        let fresh = Self::fresh().map_err(|cause| keep(path, io::Error::other(cause)))?;
        private::place(path, &format!("{}\n", fresh.encoded()))
    }
}

fn parsed(path: &Path, text: Option<Vec<u8>>) -> Result<Token, PrivateError> {
    let text = String::from_utf8(text.ok_or_else(|| PrivateError::missing(path))?).ok();
    let token = text.and_then(|text| Token::parse(text.trim()).ok());
    token.ok_or_else(|| keep(path, io::Error::other("it holds no token: remove it to have a new one")))
}

fn keep(path: &Path, cause: io::Error) -> PrivateError {
    PrivateError::Keep { path: path.to_owned(), cause }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_token_comes_back_by_its_name_and_is_the_users_alone() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("visapult");
        let first = Token::load_or_create(&folder, "a.token").unwrap();
        assert_eq!(Token::load_or_create(&folder, "a.token").unwrap().as_bytes(), first.as_bytes());
        assert_ne!(Token::load_or_create(&folder, "b.token").unwrap().as_bytes(), first.as_bytes());
        let file = folder.join("a.token");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o600);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
    }

    #[test]
    fn a_listener_has_the_same_token_at_the_same_port_unless_that_is_any() {
        let home = tempfile::tempdir().unwrap();
        let token = |at: &str| Token::of_listener(home.path(), "publisher", at.parse().unwrap()).unwrap().encoded();
        assert_eq!(token("0.0.0.0:7431"), token("0.0.0.0:7431"));
        assert_ne!(token("0.0.0.0:7431"), token("0.0.0.0:7432"));
        assert_ne!(token("0.0.0.0:0"), token("0.0.0.0:0"));
        assert!(home.path().join("publisher-0.0.0.0:7431.token").exists());
    }

    #[test]
    fn a_token_that_somebody_else_has_made_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("a.token");
        let first = Token::load_or_create_at(&file).unwrap();
        assert_eq!(Token::load_or_create_at(&file).unwrap().as_bytes(), first.as_bytes());
        // Only root gives files away.
        if std::os::unix::fs::chown(&file, Some(12_345), None).is_ok() {
            assert!(matches!(Token::load_or_create_at(&file), Err(PrivateError::Foreign { owner: 12_345, .. })));
        }
    }

    #[test]
    fn a_token_that_others_may_read_or_that_is_none_is_refused_with_the_cure() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("visapult");
        Token::load_or_create(&folder, "a.token").unwrap();
        let file = folder.join("a.token");
        let refusal = || Token::load_or_create(&folder, "a.token").unwrap_err().to_string();
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        assert!(refusal().contains("chmod 600"), "{}", refusal());
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        fs::write(&file, "short").unwrap();
        assert!(refusal().contains("remove it") && !refusal().contains("short"), "{}", refusal());
    }
}
