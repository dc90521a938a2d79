//! Content that both sides know without telling each other: one pattern, begun elsewhere for every object.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::session::{MemorySink, Sink, Source};

/// Bytes of the pattern; objects are not longer.
pub(super) const PATTERN: usize = 4 << 20;
const STRIDE: usize = 4_099;

/// The pattern, made by a linear congruential generator (Knuth's MMIX).
pub(super) fn pattern() -> Arc<Vec<u8>> {
    let mut state = 0x5eed_u64;
    let words = (0..PATTERN / 8).flat_map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state ^ (state >> 33)).to_le_bytes()
    });
    Arc::new(words.collect())
}

/// Object `index`: the pattern from a place of its own.
pub(super) struct Patterned {
    pub(super) pattern: Arc<Vec<u8>>,
    pub(super) index: usize,
    pub(super) length: usize,
}

impl Patterned {
    fn pieces(&self, offset: usize, length: usize) -> (&[u8], &[u8]) {
        let start = (self.index * STRIDE + offset) % PATTERN;
        let first = length.min(PATTERN - start);
        (&self.pattern[start..start + first], &self.pattern[..length - first])
    }

    /// `bytes` are what stands at `offset`.
    pub(super) fn matches(&self, offset: usize, bytes: &[u8]) -> bool {
        let (first, second) = self.pieces(offset, bytes.len());
        bytes[..first.len()] == *first && bytes[first.len()..] == *second
    }
}

impl Source for Patterned {
    fn length(&self) -> u64 {
        self.length as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let (first, second) = self.pieces(offset as usize, into.len());
        into[..first.len()].copy_from_slice(first);
        into[first.len()..].copy_from_slice(second);
        Ok(())
    }

    fn memory_at(&self, offset: u64) -> Option<&[u8]> {
        let offset = usize::try_from(offset).ok()?;
        Some(self.pieces(offset, self.length.checked_sub(offset)?).0)
    }
}

/// Memory that counts what is placed in it.
pub(super) struct Counting {
    pub(super) memory: MemorySink,
    pub(super) placed: Arc<AtomicU64>,
    /// Bytes of all objects that came after others behind them.
    pub(super) late: Arc<AtomicU64>,
    /// End of what came of this one.
    pub(super) furthest: AtomicU64,
}

impl Sink for Counting {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let length = bytes.len() as u64;
        self.placed.fetch_add(length, Ordering::Relaxed);
        if self.furthest.fetch_max(offset + length, Ordering::Relaxed) > offset {
            self.late.fetch_add(length, Ordering::Relaxed);
        }
        self.memory.write_at(offset, bytes)
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.memory.read_at(offset, into)
    }

    fn memory_at(&self, offset: u64) -> Option<&[u8]> {
        self.memory.memory_at(offset)
    }
}
