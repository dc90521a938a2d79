//! Messages between PEs: threads of one process, or processes under `mpiexec`. The only crate that knows MPI.
//!
//! - [`Comm::world`]: MPI where a launcher started several of us, else one PE alone.
//! - [`Comm::threads`]: as many PEs as asked for, in this process.
//!
//! Both keep what has arrived in a mailbox and wait on its condition variable: whoever waits gives the core away. Under MPI one
//! thread of our own makes every call of the library (`MPI_THREAD_FUNNELED`), never one that blocks, and sleeps between them; messages
//! move on while the PE computes.
//!
//! Invariant: no wait is without end. A PE that ends says so to the others; one that is not heard of for [`World::patience`] is lost;
//! whatever waits for either returns an error.

mod collectives;
mod error;
mod launcher;
mod mailbox;
mod mpi;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub use error::{CommError, JoinError};
use mailbox::Mailbox;
pub use mpi::World;

/// Most bytes of one message: what MPI counts in an `int`, by halves.
pub const MAX_MESSAGE_BYTES: usize = 1 << 30;

/// What a message is about; messages of one sender and one tag arrive in the order in which they were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag(pub u8);

/// A tag as it travels: those above the user's are this crate's own.
type WireTag = u16;

/// What carries the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// Memory of this process.
    Threads,
    /// MPICH, or a library with its binary interface (Intel MPI, MVAPICH, Cray MPICH).
    Mpich,
    /// Open MPI.
    OpenMpi,
}

/// One PE's end of the messages between all PEs of a run.
///
/// Sending and receiving may be done from any thread; collective calls are made by all PEs in the same order, one at a time.
/// Dropping it says farewell to the others; under MPI it waits until they have done so too, and ends MPI.
#[derive(Debug)]
pub struct Comm {
    rank: usize,
    size: usize,
    inbox: Arc<Mailbox>,
    route: Route,
    collective: Mutex<()>,
}

#[derive(Debug)]
enum Route {
    Threads(Arc<[Arc<Mailbox>]>),
    Mpi(mpi::Owner),
}

impl Comm {
    /// The PEs that were started together with this process: by `mpiexec` or its like, through the MPI library that belongs to it;
    /// otherwise this process alone. Once per process.
    ///
    /// # Errors
    /// [`JoinError`], with what to do about it.
    pub fn world() -> Result<Self, JoinError> {
        World::default().join()
    }

    /// `size` PEs in this process, by rank; at least one.
    #[must_use]
    pub fn threads(size: usize) -> Vec<Self> {
        let size = size.max(1);
        let mailboxes: Arc<[_]> = (0..size).map(|_| Arc::new(Mailbox::new(size))).collect();
        (0..size)
            .map(|rank| Self::new(rank, size, mailboxes[rank].clone(), Route::Threads(mailboxes.clone())))
            .collect()
    }

    fn new(rank: usize, size: usize, inbox: Arc<Mailbox>, route: Route) -> Self {
        Self { rank, size, inbox, route, collective: Mutex::new(()) }
    }

    /// Which PE this is, from 0.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many PEs there are.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// What carries the messages.
    #[must_use]
    pub fn medium(&self) -> Medium {
        match &self.route {
            Route::Threads(_) => Medium::Threads,
            Route::Mpi(owner) => owner.medium(),
        }
    }

    /// Gives `bytes` away to PE `to`; never waits.
    ///
    /// # Errors
    /// [`CommError`] if there is no such PE, it is gone, 1 GiB is already on its way and nobody takes it, or the message is larger
    /// than [`MAX_MESSAGE_BYTES`].
    pub fn send(&self, to: usize, tag: Tag, bytes: Vec<u8>) -> Result<(), CommError> {
        self.post(to, tag.0.into(), bytes)
    }

    /// Waits for the next message of PE `from` about `tag`.
    ///
    /// # Errors
    /// [`CommError`] if there is no such PE, or it is gone and has left no such message.
    pub fn receive(&self, from: usize, tag: Tag) -> Result<Vec<u8>, CommError> {
        self.take(from, tag.0.into())
    }

    /// The next message of PE `from` about `tag`, if it is there within `time`; `Duration::ZERO` only looks.
    ///
    /// # Errors
    /// As [`Comm::receive`].
    pub fn receive_within(&self, from: usize, tag: Tag, time: Duration) -> Result<Option<Vec<u8>>, CommError> {
        self.check(from)?;
        self.inbox.take(from, tag.0.into(), Some(Instant::now() + time))
    }

    /// Ends the run for all PEs: under MPI every process ends with `code`, among threads every call from now on fails.
    pub fn abort(&self, code: i32) {
        match &self.route {
            Route::Threads(mailboxes) => mailboxes.iter().for_each(|mailbox| mailbox.fail(CommError::Aborted)),
            Route::Mpi(owner) => owner.abort(code),
        }
    }

    fn post(&self, to: usize, tag: WireTag, bytes: Vec<u8>) -> Result<(), CommError> {
        self.check(to)?;
        if bytes.len() > MAX_MESSAGE_BYTES {
            return Err(CommError::TooLarge { bytes: bytes.len() });
        }
        match &self.route {
            Route::Threads(mailboxes) => mailboxes[to].offer(to, self.rank, tag, bytes),
            Route::Mpi(_) if to == self.rank => self.inbox.offer(to, to, tag, bytes),
            Route::Mpi(owner) => {
                self.inbox.check(to)?;
                owner.send(to, tag, bytes)
            }
        }
    }

    fn take(&self, from: usize, tag: WireTag) -> Result<Vec<u8>, CommError> {
        self.check(from)?;
        loop {
            if let Some(bytes) = self.inbox.take(from, tag, None)? {
                return Ok(bytes);
            }
        }
    }

    fn check(&self, rank: usize) -> Result<(), CommError> {
        if rank < self.size { Ok(()) } else { Err(CommError::NoSuchPe { rank, size: self.size }) }
    }
}

impl Drop for Comm {
    fn drop(&mut self) {
        match &mut self.route {
            Route::Threads(mailboxes) => {
                for mailbox in mailboxes.iter() {
                    mailbox.mark_gone(self.rank, CommError::Left { rank: self.rank });
                }
            }
            // The others would wait for what a panic left undone.
            Route::Mpi(owner) if std::thread::panicking() => owner.abort(101),
            Route::Mpi(owner) => owner.leave(),
        }
    }
}
