//! Hashes files from their beginning to their end, until nobody wants to know any more.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use blake3::{Hash, Hasher};

/// What is read at once.
const CHUNK: usize = 1 << 18;

/// The hash of what `read` gives, and its bytes; `read` is told how much was read before, and gives nothing in the end.
///
/// # Errors
/// If it cannot be read, or once it is `over`.
pub(crate) fn hash(
    over: &AtomicBool,
    mut read: impl FnMut(u64, &mut [u8]) -> io::Result<usize>,
) -> io::Result<(Hash, u64)> {
    let mut hasher = Hasher::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        if over.load(Ordering::Relaxed) {
            return Err(io::Error::other("stopped"));
        }
        match read(hasher.count(), &mut chunk)? {
            0 => return Ok((hasher.finalize(), hasher.count())),
            bytes => hasher.update(&chunk[..bytes]),
        };
    }
}
