//! The name of a certificate that nobody can forge.

use std::fmt;
use std::str::FromStr;

use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use thiserror::Error;

const BYTES: usize = 32;

/// SHA-256 of a certificate's DER, written in base64url without padding (43 characters, never fewer).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; BYTES]);

/// A text that is no fingerprint.
#[derive(Debug, Error)]
#[error(
    "fingerprint {text:?} is not 43 characters of base64url: copy the whole URL that the listener printed, with all after the #"
)]
pub struct FingerprintError {
    text: String,
}

impl Fingerprint {
    /// The fingerprint of the certificate with this DER.
    pub fn of_der(der: &[u8]) -> Self {
        let mut bytes = [0; BYTES];
        bytes.copy_from_slice(digest(&SHA256, der).as_ref());
        Self(bytes)
    }
}

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Self, FingerprintError> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok().and_then(|bytes| <[u8; BYTES]>::try_from(bytes).ok());
        bytes.map(Self).ok_or_else(|| FingerprintError { text: text.to_owned() })
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHA-256("abc"), FIPS 180-4's example, in base64url.
    const ABC: &str = "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0";

    #[test]
    fn is_sha_256_in_base64url() {
        assert_eq!(Fingerprint::of_der(b"abc").to_string(), ABC);
        assert_eq!(ABC.parse::<Fingerprint>().unwrap(), Fingerprint::of_der(b"abc"));
    }

    #[test]
    fn a_shortened_one_is_refused() {
        for text in ["", &ABC[..22], &ABC[..42], "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0=", "+/"] {
            assert!(text.parse::<Fingerprint>().is_err(), "{text}");
        }
    }
}
