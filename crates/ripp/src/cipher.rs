//! The authenticated ciphers of the data path, and their keys.
//!
//! Two libraries make AES-GCM, the same bytes: aws-lc, and ring on x86-64 processors that have wide AES instructions (VAES) for vectors of 256 bits alone,
//! such as AMD's Zen 3 and most of Intel's for desks and laps. For those aws-lc has narrow ones only, which take 1.6 times as long.

use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::wire::TAG;

/// Bytes of a nonce.
pub const NONCE: usize = 12;

/// Authenticated ciphers of the data path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cipher {
    /// AES-128-GCM: the fastest where the processor has AES instructions.
    Aes128Gcm,
    /// AES-256-GCM.
    Aes256Gcm,
    /// ChaCha20-Poly1305: the fastest where it has none.
    Chacha20Poly1305,
}

impl Cipher {
    fn algorithm(self) -> &'static aead::Algorithm {
        match self {
            Self::Aes128Gcm => &aead::AES_128_GCM,
            Self::Aes256Gcm => &aead::AES_256_GCM,
            Self::Chacha20Poly1305 => &aead::CHACHA20_POLY1305,
        }
    }

    /// As many of these bytes as the cipher takes.
    fn key_bytes(self, bytes: &[u8; 32]) -> &[u8] {
        &bytes[..self.algorithm().key_len()]
    }

    /// A key that makes tags of long messages of which nothing is encrypted: aws-lc is the faster everywhere.
    pub(crate) fn tag_key(self, bytes: &[u8; 32]) -> LessSafeKey {
        #[expect(clippy::expect_used, reason = "the length is the algorithm's own")]
        let key = UnboundKey::new(self.algorithm(), self.key_bytes(bytes)).expect("a key of the algorithm's length");
        LessSafeKey::new(key)
    }
}

/// Sealing went wrong: the cipher refused its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a datagram could not be sealed")]
pub struct SealError;

/// Seals and opens packets. A nonce must not seal twice under one key.
pub struct PacketKey(Library);

impl std::fmt::Debug for PacketKey {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("PacketKey").finish_non_exhaustive()
    }
}

enum Library {
    AwsLc(LessSafeKey),
    #[cfg(target_arch = "x86_64")]
    Ring(Box<ring::aead::LessSafeKey>),
}

impl PacketKey {
    /// A key of as many of these bytes as the cipher takes.
    #[must_use]
    pub fn new(cipher: Cipher, bytes: &[u8; 32]) -> Self {
        #[cfg(target_arch = "x86_64")]
        if wide::alone_at_256_bits() {
            return Self(wide::key(cipher, bytes));
        }
        Self(Library::AwsLc(cipher.tag_key(bytes)))
    }

    /// Seals `body` in place, and returns its tag, which holds `clear` too.
    ///
    /// # Errors
    /// If the cipher refuses.
    pub fn seal(&self, nonce: [u8; NONCE], clear: &[u8], body: &mut [u8]) -> Result<[u8; TAG], SealError> {
        let mut bytes = [0; TAG];
        match &self.0 {
            Library::AwsLc(key) => {
                let nonce = Nonce::assume_unique_for_key(nonce);
                let tag = key.seal_in_place_separate_tag(nonce, Aad::from(clear), body).map_err(|_| SealError)?;
                bytes.copy_from_slice(tag.as_ref());
            }
            #[cfg(target_arch = "x86_64")]
            Library::Ring(key) => {
                let nonce = ring::aead::Nonce::assume_unique_for_key(nonce);
                let clear = ring::aead::Aad::from(clear);
                let tag = key.seal_in_place_separate_tag(nonce, clear, body).map_err(|_| SealError)?;
                bytes.copy_from_slice(tag.as_ref());
            }
        }
        Ok(bytes)
    }

    /// Opens `sealed`, a body and its tag, in place, and returns the body; `None` if it or `clear` is not authentic.
    pub fn open<'a>(&self, nonce: [u8; NONCE], clear: &[u8], sealed: &'a mut [u8]) -> Option<&'a mut [u8]> {
        match &self.0 {
            Library::AwsLc(key) => {
                key.open_in_place(Nonce::assume_unique_for_key(nonce), Aad::from(clear), sealed).ok()
            }
            #[cfg(target_arch = "x86_64")]
            Library::Ring(key) => {
                let nonce = ring::aead::Nonce::assume_unique_for_key(nonce);
                key.open_in_place(nonce, ring::aead::Aad::from(clear), sealed).ok()
            }
        }
    }
}

/// Whether ring seals and opens faster than aws-lc here.
#[must_use]
pub fn is_ring_faster() -> bool {
    #[cfg(target_arch = "x86_64")]
    return wide::alone_at_256_bits();
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use ring::aead::{AES_128_GCM, AES_256_GCM, CHACHA20_POLY1305, LessSafeKey, UnboundKey};

    use super::{Cipher, Library};

    /// Whether the processor has wide AES instructions, and none of AVX-512's, for which aws-lc is the faster.
    pub(super) fn alone_at_256_bits() -> bool {
        is_x86_feature_detected!("vaes")
            && is_x86_feature_detected!("vpclmulqdq")
            && is_x86_feature_detected!("avx2")
            && !is_x86_feature_detected!("avx512vl")
    }

    pub(super) fn key(cipher: Cipher, bytes: &[u8; 32]) -> Library {
        let algorithm = match cipher {
            Cipher::Aes128Gcm => &AES_128_GCM,
            Cipher::Aes256Gcm => &AES_256_GCM,
            Cipher::Chacha20Poly1305 => &CHACHA20_POLY1305,
        };
        #[expect(clippy::expect_used, reason = "the length is the algorithm's own")]
        let key = UnboundKey::new(algorithm, cipher.key_bytes(bytes)).expect("a key of the algorithm's length");
        Library::Ring(Box::new(LessSafeKey::new(key)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CIPHERS: [Cipher; 3] = [Cipher::Aes128Gcm, Cipher::Aes256Gcm, Cipher::Chacha20Poly1305];

    fn message(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at * 7 + at / 251) as u8).collect()
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn what_one_library_seals_the_other_opens() {
        let bytes = std::array::from_fn(|at| at as u8);
        for cipher in CIPHERS {
            let keys = [PacketKey(wide::key(cipher, &bytes)), PacketKey(Library::AwsLc(cipher.tag_key(&bytes)))];
            for length in (0..300).chain([1439, 1440, 1441, 4096, 8939, 65_000]) {
                let sealed = keys.each_ref().map(|key| {
                    let mut body = message(length);
                    let tag = key.seal([3; NONCE], b"clear", &mut body).unwrap();
                    body.extend_from_slice(&tag);
                    body
                });
                assert_eq!(sealed[0], sealed[1], "{cipher:?}, {length} bytes");
                for key in &keys {
                    let mut sealed = sealed[0].clone();
                    assert_eq!(key.open([3; NONCE], b"clear", &mut sealed), Some(&mut message(length)[..]));
                }
            }
        }
    }

    #[test]
    fn what_was_changed_does_not_open() {
        for cipher in CIPHERS {
            let key = PacketKey::new(cipher, &[7; 32]);
            let mut sealed = message(600);
            let tag = key.seal([3; NONCE], b"clear", &mut sealed).unwrap();
            sealed.extend_from_slice(&tag);
            for at in 0..sealed.len() {
                let mut bad = sealed.clone();
                bad[at] ^= 0x10;
                assert_eq!(key.open([3; NONCE], b"clear", &mut bad), None, "{cipher:?}, byte {at}");
            }
            assert_eq!(key.open([3; NONCE], b"other", &mut sealed.clone()), None);
            assert_eq!(key.open([4; NONCE], b"clear", &mut sealed.clone()), None);
            assert_eq!(key.open([3; NONCE], b"clear", &mut sealed[..TAG - 1]), None);
        }
    }
}
