//! Batches of chunks that were made, until others take their place: what is listed now is wanted soon.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use crate::lock::lock;

/// Bytes that are kept, beside the latest batches.
const MOST_BYTES: usize = 128 << 20;
/// Batches that are kept however large they are: who lists and who reads work on different ones.
const LEAST_BATCHES: usize = 4;

/// The chunks of a batch, as they are stored.
pub(super) type Chunks = Arc<[Arc<[u8]>]>;

/// Number of an array, and of a batch of it.
type Key = (usize, u64);

#[derive(Debug, Default)]
pub(super) struct Kept(Mutex<VecDeque<(Key, Chunks)>>);

impl Kept {
    pub(super) fn find(&self, key: Key) -> Option<Chunks> {
        let mut kept = lock(&self.0);
        let at = kept.iter().position(|(other, _)| *other == key)?;
        // The last is the one that was wanted last.
        let found = kept.remove(at)?;
        let chunks = Arc::clone(&found.1);
        kept.push_back(found);
        Some(chunks)
    }

    pub(super) fn keep(&self, key: Key, chunks: &Chunks) {
        let mut kept = lock(&self.0);
        kept.push_back((key, Arc::clone(chunks)));
        let bytes = |chunks: &[Arc<[u8]>]| chunks.iter().map(|chunk| chunk.len()).sum::<usize>();
        let mut total: usize = kept.iter().map(|(_, chunks)| bytes(chunks)).sum();
        while kept.len() > LEAST_BATCHES && total > MOST_BYTES {
            let Some((_, oldest)) = kept.pop_front() else { return };
            total -= bytes(&oldest);
        }
    }
}
