//! The secrets that pages must show: made once per user, so that an open page survives a restart of the server.

use std::path::Path;

use visapult_pipeline::Right;
use visapult_ripp_net::private::PrivateError;
use visapult_ripp_net::{Token, TokenError};

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
    /// [`PrivateError`] if they can neither be read nor kept.
    pub fn kept_in(folder: &Path) -> Result<Self, PrivateError> {
        let kept = |name| Token::load_or_create(folder, name);
        Ok(Self { steer: kept("token")?, watch: kept("watch-token")? })
    }

    /// What a page that shows `shown` may do; none if it may nothing.
    pub(crate) fn right_of(&self, shown: &str) -> Option<Right> {
        let shown = Token::parse(shown).ok()?;
        let (steers, watches) = (self.steer == shown, self.watch == shown);
        if steers { Some(Right::Steer) } else { watches.then_some(Right::Watch) }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;
    use std::{fs, thread};

    use super::*;

    #[test]
    fn what_is_kept_comes_back_and_is_for_the_user_alone() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("config/visapult");
        let first = Tokens::kept_in(&folder).unwrap();
        assert!(first.steer != first.watch);
        let again = Tokens::kept_in(&folder).unwrap();
        assert!(again.steer == first.steer && again.watch == first.watch);
        let modes = ["", "token", "watch-token"].map(|name| fs::metadata(folder.join(name)).unwrap().mode() & 0o777);
        assert_eq!((modes, fs::read_dir(&folder).unwrap().count()), ([0o700, 0o600, 0o600], 2));
    }

    #[test]
    fn all_who_start_at_once_have_the_same() {
        for _ in 0..100 {
            let folder = tempfile::tempdir().unwrap();
            let found: Vec<_> = thread::scope(|scope| {
                let started: Vec<_> =
                    (0..8).map(|_| scope.spawn(|| Tokens::kept_in(folder.path()).unwrap().steer)).collect();
                started.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert!(found.iter().all(|token| *token == found[0]));
        }
    }

    #[test]
    fn pages_keep_the_tokens_that_older_builds_have_made() {
        let folder = tempfile::tempdir().unwrap();
        Tokens::kept_in(folder.path()).unwrap();
        let older = "00112233445566778899aabbccddeeff";
        fs::write(folder.path().join("token"), older).unwrap();
        let tokens = Tokens::kept_in(folder.path()).unwrap();
        assert_eq!((tokens.steer.encoded().as_str(), tokens.right_of(older)), (older, Some(Right::Steer)));
        assert_eq!(tokens.right_of(&older[..24]), None);
    }
}
