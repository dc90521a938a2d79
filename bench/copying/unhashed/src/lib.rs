//! As much of the interface of `blake3` as copies use; every hash is zero.

use std::fmt;
use std::io::{self, Read};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Hash([u8; 32]);

/// Text of a hash.
pub struct Hex(String);

#[derive(Clone, Copy, Debug, Default)]
pub struct Hasher(u64);

pub struct OutputReader;

pub fn hash(_: &[u8]) -> Hash {
    Hash::default()
}

impl Hash {
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub fn from_hex(_: impl AsRef<[u8]>) -> Result<Self, fmt::Error> {
        Ok(Self::default())
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub fn to_hex(&self) -> Hex {
        Hex("0".repeat(64))
    }
}

impl Hex {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl PartialEq<[u8; 32]> for Hash {
    fn eq(&self, other: &[u8; 32]) -> bool {
        self.0 == *other
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.to_hex().as_str())
    }
}

impl fmt::Display for Hex {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl From<Hash> for [u8; 32] {
    fn from(hash: Hash) -> Self {
        hash.0
    }
}

impl Hasher {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn update(&mut self, input: &[u8]) -> &mut Self {
        self.0 += input.len() as u64;
        self
    }

    pub fn update_reader(&mut self, mut reader: impl Read) -> io::Result<&mut Self> {
        let mut chunk = vec![0; 1 << 16];
        loop {
            match reader.read(&mut chunk)? {
                0 => return Ok(self),
                bytes => self.0 += bytes as u64,
            }
        }
    }

    pub fn count(&self) -> u64 {
        self.0
    }

    pub fn finalize(&self) -> Hash {
        Hash::default()
    }

    pub fn finalize_xof(&self) -> OutputReader {
        OutputReader
    }
}

impl OutputReader {
    pub fn fill(&mut self, buffer: &mut [u8]) {
        buffer.fill(0);
    }
}

/// Parts of a tree.
pub mod hazmat {
    use super::{Hash, Hasher};

    pub enum Mode {
        Hash,
    }

    pub trait HasherExt {
        fn set_input_offset(&mut self, offset: u64) -> &mut Self;
        fn finalize_non_root(&self) -> [u8; 32];
    }

    impl HasherExt for Hasher {
        fn set_input_offset(&mut self, _: u64) -> &mut Self {
            self
        }

        fn finalize_non_root(&self) -> [u8; 32] {
            [0; 32]
        }
    }

    pub fn merge_subtrees_non_root(_: &[u8; 32], _: &[u8; 32], _: Mode) -> [u8; 32] {
        [0; 32]
    }

    pub fn merge_subtrees_root(_: &[u8; 32], _: &[u8; 32], _: Mode) -> Hash {
        Hash::default()
    }
}
