//! Digests of objects, from end to end: what the session's cipher says of each chunk under a key that only the two ends have, and SHA-256 of
//! all that.
//!
//! Nothing is encrypted here: a chunk is what a sealed message of no bytes goes with, so that its tag is GMAC, or Poly1305. Processors make those several
//! times faster than any hash that needs no key. A key and nonce are used once: object numbers never repeat within a session and direction.

use std::fmt;

use aws_lc_rs::aead::{Aad, LessSafeKey, Nonce};
use aws_lc_rs::digest::{Context, SHA256};

use crate::cipher::{Cipher, SealError};
use crate::record::{End, expand};

/// Bytes of a chunk: it stays in the processor's nearest cache but one.
pub const CHUNK: usize = 1 << 16;

/// The key of the objects that one end sends.
pub struct DigestKey {
    key: LessSafeKey,
}

impl fmt::Debug for DigestKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("DigestKey").finish_non_exhaustive()
    }
}

impl DigestKey {
    /// The key of what `from` sends, out of the session's secret.
    #[must_use]
    pub fn derive(session: &[u8; 32], cipher: Cipher, from: End) -> Self {
        let key = expand::<32>(session, &[b"ripp digest", &[from.letter()]]);
        Self { key: cipher.tag_key(&key) }
    }

    /// The digest of an object, of which nothing has been taken yet.
    #[must_use]
    pub fn object(&self, object: u32) -> ObjectDigest<'_> {
        ObjectDigest { key: &self.key, object, chunks: 0, tags: Context::new(&SHA256) }
    }
}

/// The digest of an object, chunk by chunk.
pub struct ObjectDigest<'a> {
    key: &'a LessSafeKey,
    object: u32,
    chunks: u64,
    tags: Context,
}

impl fmt::Debug for ObjectDigest<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ObjectDigest")
            .field("object", &self.object)
            .field("chunks", &self.chunks)
            .finish_non_exhaustive()
    }
}

impl ObjectDigest<'_> {
    /// Takes the next [`CHUNK`] bytes, or what is left of the object.
    ///
    /// # Errors
    /// If the cipher refuses.
    pub fn take(&mut self, chunk: &[u8]) -> Result<(), SealError> {
        let mut nonce = [0; 12];
        nonce[..4].copy_from_slice(&self.object.to_be_bytes());
        nonce[4..].copy_from_slice(&self.chunks.to_be_bytes());
        self.chunks += 1;
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = self.key.seal_in_place_separate_tag(nonce, Aad::from(chunk), &mut []).map_err(|_| SealError)?;
        self.tags.update(tag.as_ref());
        Ok(())
    }

    /// The digest of all that was taken.
    #[must_use]
    pub fn finish(self) -> [u8; 32] {
        let mut digest = [0; 32];
        digest.copy_from_slice(self.tags.finish().as_ref());
        digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(key: &DigestKey, object: u32, bytes: &[u8]) -> [u8; 32] {
        let mut digest = key.object(object);
        bytes.chunks(CHUNK).for_each(|chunk| digest.take(chunk).unwrap());
        digest.finish()
    }

    #[test]
    fn whatever_differs_is_noticed() {
        let bytes: Vec<u8> = (0..3 * CHUNK + 5).map(|at| (at / 1000) as u8).collect();
        for cipher in [Cipher::Aes128Gcm, Cipher::Aes256Gcm, Cipher::Chacha20Poly1305] {
            let key = DigestKey::derive(&[7; 32], cipher, End::Dialer);
            let right = digest(&key, 3, &bytes);
            assert_eq!(right, digest(&key, 3, &bytes));
            let mut bit = bytes.clone();
            bit[2 * CHUNK] ^= 1;
            let mut swapped = bytes.clone();
            swapped[..2 * CHUNK].rotate_left(CHUNK);
            for wrong in [&bit[..], &swapped, &bytes[..bytes.len() - 1], &bytes[..3 * CHUNK], &[]] {
                assert_ne!(right, digest(&key, 3, wrong));
            }
            assert_ne!(right, digest(&key, 4, &bytes));
            let others = [([7; 32], End::Listener), ([8; 32], End::Dialer)];
            assert!(
                others
                    .iter()
                    .all(|(session, from)| digest(&DigestKey::derive(session, cipher, *from), 3, &bytes) != right)
            );
        }
    }
}
