//! What is sent and what is received: sources, sinks, and handles on objects under way.

use std::cell::UnsafeCell;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use thiserror::Error;
use visapult_ripp::outbox::Mode;

use super::Shared;
use crate::lock::{lock, unpoisoned};

/// Bytes to be sent. They are read once to be sent, once more for the digest of a reliable object, and again where they were lost: a source
/// must not change while it is being sent.
pub trait Source: Send + Sync {
    /// Bytes in all.
    fn length(&self) -> u64;
    /// Reads exactly `into.len()` bytes from `offset` on, which is within the length.
    ///
    /// # Errors
    /// If they cannot be read: the object is cancelled.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()>;
    /// A read costs much however little is read, such as a call of the system: what goes into several datagrams is read at once, and then copied.
    fn prefers_runs(&self) -> bool {
        false
    }
    /// The bytes from `offset` on where they lie in memory, as many as lie together: what only looks at them need not copy them.
    fn memory_at(&self, _offset: u64) -> Option<&[u8]> {
        None
    }
    /// What the other end's sink is to find, too, where the two programs have agreed on something else than a digest of the session, such as the
    /// value of a part in the hash of something larger. Asked for once, while the object is being sent.
    fn own_digest(&self) -> Option<io::Result<[u8; 32]>> {
        None
    }
}

/// A place for received bytes. Every byte is written once; the parts come in any order, from several threads.
pub trait Sink: Send + Sync {
    /// Writes `bytes` at `offset`.
    ///
    /// # Errors
    /// If they cannot be kept: the object is refused.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// A write costs much however little is written: what came in several datagrams is gathered, and written at once.
    fn prefers_runs(&self) -> bool {
        false
    }
    /// Reads back what was written, to verify it.
    ///
    /// # Errors
    /// If it cannot be read.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()>;
    /// What was written from `offset` on where it lies in memory, as much as lies together: asked for only once all of it has been written.
    fn memory_at(&self, _offset: u64) -> Option<&[u8]> {
        None
    }
    /// The same as the source's, of what was written: asked for only once all of it has been.
    fn own_digest(&self) -> Option<io::Result<[u8; 32]>> {
        None
    }
}

impl Source for Vec<u8> {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(offset).map_err(io::Error::other)?;
        let part = self.get(start..start + into.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        into.copy_from_slice(part);
        Ok(())
    }

    fn memory_at(&self, offset: u64) -> Option<&[u8]> {
        self.get(usize::try_from(offset).ok()?..)
    }
}

/// A multiple of the size of a page on common systems.
const PAGE: usize = 64 << 10;

/// Memory that an object is received into.
#[derive(Debug)]
pub struct MemorySink {
    bytes: UnsafeCell<Box<[u8]>>,
    length: usize,
}

#[expect(unsafe_code, reason = "disjoint parts of one buffer are written by several threads")]
// SAFETY: the session writes every byte of an object once, and reads parts only after they were written; both pass through a mutex in between.
unsafe impl Sync for MemorySink {}

impl MemorySink {
    /// Memory of `length` zeros, touched so that no page is missing when data comes. The program ends if there is not so much; see
    /// [`MemorySink::try_new`].
    #[must_use]
    pub fn new(length: usize) -> Self {
        Self::of(Vec::with_capacity(length), length)
    }

    /// The same, where `length` is what another computer says.
    ///
    /// # Errors
    /// If there is not so much memory: the offer is to be refused with this.
    pub fn try_new(length: usize) -> Result<Self, NoMemory> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length).map_err(|_| NoMemory { length })?;
        Ok(Self::of(bytes, length))
    }

    fn of(mut bytes: Vec<u8>, length: usize) -> Self {
        bytes.resize(length, 0);
        Self { bytes: UnsafeCell::new(bytes.into_boxed_slice()), length }
    }

    /// The same, whose pages the system gives as they are written, or [touched](Self::touch).
    ///
    /// # Errors
    /// If there is not so much memory.
    pub fn untouched(length: usize) -> Result<Self, NoMemory> {
        let bytes = bytemuck::allocation::try_zeroed_slice_box(length).map_err(|()| NoMemory { length })?;
        Ok(Self { bytes: UnsafeCell::new(bytes), length })
    }

    /// Has the system give all pages now, while others may write. Where it cannot, they are given as they are written.
    pub fn touch(&self) {
        let Ok(start) = self.part(0, self.length) else { return };
        let (first, end) = (start.addr().next_multiple_of(PAGE), (start.addr() + self.length) / PAGE * PAGE);
        let Some(length) = end.checked_sub(first).filter(|length| *length > 0) else { return };
        let first = start.wrapping_add(first - start.addr());
        #[expect(unsafe_code, reason = "the system is asked for pages, which changes none of the contents")]
        // SAFETY: the range lies within the buffer, which lives as long as `self`.
        unsafe {
            libc::madvise(first.cast(), length, libc::MADV_POPULATE_WRITE);
        }
    }

    /// Bytes of room.
    #[must_use]
    pub const fn length(&self) -> usize {
        self.length
    }

    /// The bytes, once nobody writes them any more.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes.into_inner().into_vec()
    }

    fn part(&self, offset: u64, length: usize) -> io::Result<*mut u8> {
        #[expect(unsafe_code, reason = "only the buffer's address and length are looked at, which never change")]
        // SAFETY: no reference to the contents is made.
        let whole: *mut [u8] = unsafe { &raw mut **self.bytes.get() };
        let start = usize::try_from(offset).map_err(io::Error::other)?;
        if start.checked_add(length).is_none_or(|end| end > whole.len()) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "beyond the end of the memory"));
        }
        Ok(whole.cast::<u8>().wrapping_add(start))
    }
}

impl Sink for MemorySink {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let to = self.part(offset, bytes.len())?;
        #[expect(unsafe_code, reason = "see the implementation of Sync")]
        // SAFETY: the range is within the buffer, and nobody else writes or reads these bytes now.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
        Ok(())
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let from = self.part(offset, into.len())?;
        #[expect(unsafe_code, reason = "see the implementation of Sync")]
        // SAFETY: the range is within the buffer, and was written before.
        unsafe {
            std::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len());
        }
        Ok(())
    }

    fn memory_at(&self, offset: u64) -> Option<&[u8]> {
        let from = self.part(offset, 0).ok()?;
        let length = self.length - usize::try_from(offset).ok()?;
        #[expect(unsafe_code, reason = "see the implementation of Sync")]
        // SAFETY: the range is within the buffer, and all of it was written before: nobody writes any of it again.
        Some(unsafe { std::slice::from_raw_parts(from, length) })
    }
}

/// There is not enough memory for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the receiver has no {length} bytes of memory for the object")]
pub struct NoMemory {
    /// What was asked for.
    pub length: usize,
}

/// Why an object was not delivered.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{why}")]
pub struct ObjectError {
    /// What happened, and where.
    pub why: String,
}

/// What came of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Bytes that arrived; all of them in a reliable flow.
    pub arrived: u64,
    /// Where bytes are missing, as `(start, end)`; known to the receiver only.
    pub holes: Vec<(u64, u64)>,
    /// The digest of the object in hexadecimal, or what the programs have in its place, where both ends found the same.
    pub digest: Option<String>,
}

/// A result that a thread may wait for.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    result: Mutex<Option<Result<Delivery, ObjectError>>>,
    set: Condvar,
}

impl Outcome {
    pub(super) fn set(&self, result: Result<Delivery, ObjectError>) {
        lock(&self.result).get_or_insert(result);
        self.set.notify_all();
    }

    pub(super) fn wait(&self) -> Result<Delivery, ObjectError> {
        let mut guard = lock(&self.result);
        loop {
            if let Some(result) = &*guard {
                return result.clone();
            }
            guard = unpoisoned(self.set.wait(guard));
        }
    }

    fn is_set(&self) -> bool {
        lock(&self.result).is_some()
    }

    /// Bytes that arrived, once that is known.
    fn arrived(&self) -> Option<u64> {
        let result = lock(&self.result);
        result.as_ref()?.as_ref().ok().map(|delivery| delivery.arrived)
    }
}

/// An object being sent.
#[derive(Debug)]
pub struct Outgoing {
    pub(super) shared: Arc<Shared>,
    pub(super) object: u32,
    pub(super) outcome: Arc<Outcome>,
}

impl Outgoing {
    /// Waits until the receiver is through with the object.
    ///
    /// # Errors
    /// Why it was not delivered.
    pub fn wait(&self) -> Result<Delivery, ObjectError> {
        self.outcome.wait()
    }

    /// The object was delivered or has failed.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.outcome.is_set()
    }

    /// Bytes known to have arrived.
    #[must_use]
    pub fn arrived(&self) -> u64 {
        let so_far = self.shared.out().sending.arrived(self.object);
        so_far.or_else(|| self.outcome.arrived()).unwrap_or(0)
    }

    /// Takes the object back.
    pub fn cancel(&self) {
        self.cancel_because("cancelled by the sender");
    }

    pub(crate) fn cancel_because(&self, why: &str) {
        self.shared.cancel(self.object, why);
    }
}

/// What the other end has to say.
#[derive(Debug)]
pub enum Arrival {
    /// It would like to send an object.
    Offer(Offer),
    /// A word from its program.
    Note(Note),
}

/// A word from the other end's program.
#[derive(Debug)]
pub struct Note {
    /// The word.
    pub text: String,
    #[expect(dead_code, reason = "given back when the note is dropped")]
    pub(super) room: Room,
}

/// An object that the other end would like to send. Dropping it refuses the object.
#[derive(Debug)]
pub struct Offer {
    pub(super) shared: Arc<Shared>,
    pub(super) object: u32,
    /// Name of its flow.
    pub flow: String,
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub length: u64,
    /// What its flow promises.
    pub mode: Mode,
    #[expect(dead_code, reason = "given back when the offer is dropped")]
    pub(super) room: Room,
    pub(super) answered: bool,
}

/// Memory that an offer takes of what all may take.
#[derive(Debug)]
pub(super) struct Room {
    taken: Arc<AtomicUsize>,
    bytes: usize,
}

impl Room {
    /// Takes `bytes` of `most`; `None` if they are not left.
    pub(super) fn take(taken: &Arc<AtomicUsize>, bytes: usize, most: usize) -> Option<Self> {
        let before = taken.fetch_add(bytes, Ordering::Relaxed);
        let room = Self { taken: Arc::clone(taken), bytes };
        (before + bytes <= most).then_some(room)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Offer {
    /// Accepts the object into `sink`, which has room for its length.
    #[must_use]
    pub fn accept(mut self, sink: Arc<dyn Sink>) -> Incoming {
        self.answered = true;
        let outcome = Arc::new(Outcome::default());
        self.shared.accept(self.object, self.length, sink, Arc::clone(&outcome));
        Incoming { shared: Arc::clone(&self.shared), object: self.object, outcome }
    }

    /// Refuses the object.
    pub fn refuse(mut self, why: &str) {
        self.answered = true;
        self.shared.refuse(self.object, why);
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        if !self.answered {
            self.shared.refuse(self.object, "the receiving program does not want the object");
        }
    }
}

/// An object being received.
#[derive(Debug)]
pub struct Incoming {
    shared: Arc<Shared>,
    object: u32,
    outcome: Arc<Outcome>,
}

impl Incoming {
    /// Waits until the object is whole and verified, or nothing more will come of it.
    ///
    /// # Errors
    /// Why it is of no use.
    pub fn wait(&self) -> Result<Delivery, ObjectError> {
        self.outcome.wait()
    }

    /// The object is whole and verified, or nothing more will come of it.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.outcome.is_set()
    }

    /// Bytes written so far.
    #[must_use]
    pub fn arrived(&self) -> u64 {
        let so_far = self.shared.incoming().receiving.progress(self.object).map(|(arrived, _)| arrived);
        so_far.or_else(|| self.outcome.arrived()).unwrap_or(0)
    }

    /// Gives the object up.
    pub fn cancel(&self) {
        self.shared.refuse(self.object, "cancelled by the receiver");
        self.outcome.set(Err(ObjectError { why: "cancelled by the receiver".to_owned() }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touching_memory_changes_nothing_of_it() {
        let memory = MemorySink::untouched(10 * PAGE + 3).unwrap();
        memory.write_at(PAGE as u64 - 2, b"here").unwrap();
        memory.touch();
        memory.write_at(10 * PAGE as u64, b"end").unwrap();
        let bytes = memory.into_bytes();
        assert_eq!((&bytes[PAGE - 2..PAGE + 2], &bytes[10 * PAGE..]), (&b"here"[..], &b"end"[..]));
        assert_eq!(bytes.iter().filter(|byte| **byte != 0).count(), 7);
        MemorySink::untouched(0).unwrap().touch();
    }
}
