//! The secret in a URL: whoever shows it may take part.

use std::fmt;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use thiserror::Error;

const FRESH_BYTES: usize = 16;
const MAX_BYTES: usize = 64;

/// 16 to 64 random bytes, written in base64url without padding. `Debug` does not show them.
#[derive(Clone)]
pub struct Token(Vec<u8>);

/// Why there is no token. Never says what was shown.
#[derive(Debug, Error)]
pub enum TokenError {
    /// Not base64url.
    #[error("the token is not base64url (letters, digits, - and _): copy the whole URL that the listener printed")]
    Encoding,
    /// Too short to be a secret, or too long.
    #[error("the token has {0} bytes, 16 to 64 are needed: copy the whole URL that the listener printed")]
    Length(usize),
    /// The system gives no random bytes.
    #[error("the system gives no random bytes for a token: {0}")]
    Random(String),
}

impl Token {
    /// A new secret of 128 bits.
    ///
    /// # Errors
    /// [`TokenError::Random`] if the system gives no random bytes.
    pub fn fresh() -> Result<Self, TokenError> {
        let mut bytes = vec![0; FRESH_BYTES];
        getrandom::fill(&mut bytes).map_err(|cause| TokenError::Random(cause.to_string()))?;
        Ok(Self(bytes))
    }

    /// The token written as `text`.
    ///
    /// # Errors
    /// [`TokenError::Encoding`] and [`TokenError::Length`].
    pub fn parse(text: &str) -> Result<Self, TokenError> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| TokenError::Encoding)?;
        Self::from_bytes(&bytes)
    }

    /// The token of these bytes, as they came in a message.
    ///
    /// # Errors
    /// [`TokenError::Length`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TokenError> {
        match bytes.len() {
            FRESH_BYTES..=MAX_BYTES => Ok(Self(bytes.to_vec())),
            other => Err(TokenError::Length(other)),
        }
    }

    /// The secret itself.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// As it stands in a URL.
    pub fn encoded(&self) -> String {
        URL_SAFE_NO_PAD.encode(&self.0)
    }

    /// Whether `shown` is this token; takes the same time wherever they differ.
    pub fn matches(&self, shown: &[u8]) -> bool {
        verify_slices_are_equal(&self.0, shown).is_ok()
    }
}

impl PartialEq for Token {
    fn eq(&self, other: &Self) -> bool {
        self.matches(&other.0)
    }
}

impl Eq for Token {}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_token_reads_back_and_only_the_whole_one_matches() {
        let token = Token::fresh().unwrap();
        assert_eq!(Token::parse(&token.encoded()).unwrap(), token);
        assert!(token.matches(token.as_bytes()));
        assert!(!token.matches(&token.as_bytes()[1..]));
        assert!(!token.matches(&[]));
        assert_ne!(Token::fresh().unwrap(), token);
    }

    #[test]
    fn debug_does_not_show_the_secret() {
        let token = Token::from_bytes(b"0123456789abcdef").unwrap();
        assert_eq!(format!("{token:?}"), "Token(hidden)");
    }

    #[test]
    fn a_guessable_token_is_refused() {
        assert!(matches!(Token::parse("c2VjcmV0"), Err(TokenError::Length(6))));
        assert!(matches!(Token::parse("not base64url!"), Err(TokenError::Encoding)));
        assert!(matches!(Token::from_bytes(&[0; 65]), Err(TokenError::Length(65))));
    }
}
