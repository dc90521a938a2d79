//! The token of a listener that those who dialled it are to reach again when it comes back: kept as the user's key is.

use std::io;
use std::path::Path;

use crate::identity::{IdentityError, make_folder, place, read_private};
use crate::token::Token;

impl Token {
    /// The token kept in `folder` under this `name`; made and kept there, readable by the user alone, if there is none yet.
    ///
    /// # Errors
    /// [`IdentityError`], among them [`IdentityError::TooOpen`] where others could have read it.
    pub fn load_or_create(folder: &Path, name: &str) -> Result<Self, IdentityError> {
        let path = folder.join(name);
        let no_token = |why: &str| {
            let cause = io::Error::other(format!("{why}: remove it to get a new token"));
            IdentityError::Keep { path: path.clone(), cause }
        };
        if read_private(&path)?.is_none() {
            make_folder(folder)?;
            let token = Self::fresh().map_err(|cause| IdentityError::Make(cause.to_string()))?;
            place(folder, &path, &token.encoded())?;
        }
        // Whoever was first at making it is who is believed.
        let text = read_private(&path)?.ok_or_else(|| no_token("it has vanished"))?;
        let text = String::from_utf8(text).map_err(|_| no_token("it holds no token"))?;
        Self::parse(text.trim()).map_err(|_| no_token("it holds no token"))
    }

    /// Keeps a fresh token in a file that the user alone may read, all of it or nothing, unless somebody was first.
    ///
    /// # Errors
    /// The system's reason.
    pub fn keep_fresh(file: &Path) -> io::Result<()> {
        let fresh = Self::fresh().map_err(io::Error::other)?;
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        place(folder, file, &format!("{}\n", fresh.encoded())).map_err(|cause| match cause {
            IdentityError::Keep { cause, .. } => cause,
            cause => io::Error::other(cause),
        })
    }
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
