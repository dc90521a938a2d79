//! MPI's functions as safe ones: buffers are owned until MPI is done with them.
//!
//! Invariant: stays on the thread that started MPI (it is not `Send`: `MPI_THREAD_FUNNELED`).

#![expect(unsafe_code, reason = "calls of a C library through pointers")]

use std::ffi::{c_char, c_int};
use std::marker::PhantomData;
use std::mem::{forget, take};
use std::ptr::null_mut;

use super::library::{Calls, ERROR_STRING_BYTES, FUNNELED, Handle, Status};
use crate::{CommError, WireTag};

/// MPI, started.
pub(crate) struct Mpi<H: Handle> {
    calls: Calls<H>,
    pub(crate) rank: usize,
    pub(crate) size: usize,
    not_send: PhantomData<*const ()>,
}

/// A message that has come so far that its size is known.
pub(crate) struct Announced {
    pub(crate) from: usize,
    pub(crate) tag: WireTag,
    pub(crate) bytes: usize,
}

/// Bytes that MPI reads or writes until the request is complete.
pub(crate) struct Transfer<H: Handle> {
    request: H,
    bytes: Vec<u8>,
    done: bool,
}

impl<H: Handle> Mpi<H> {
    /// Starts MPI for this thread; errors are returned from now on rather than ending the process.
    pub(crate) fn start(calls: Calls<H>) -> Result<Self, CommError> {
        let world = calls.constants.world;
        let mut mpi = Self { calls, rank: 0, size: 1, not_send: PhantomData };
        let (mut provided, mut rank, mut size) = (0, 0, 0);
        // SAFETY: MPI-2 allows null for both arguments; `JOINED` lets this happen once per process.
        mpi.checked("MPI_Init_thread", unsafe {
            (mpi.calls.init_thread)(null_mut(), null_mut(), FUNNELED, &raw mut provided)
        })?;
        if provided < FUNNELED {
            let reason = format!("offers thread level {provided}, {FUNNELED} (MPI_THREAD_FUNNELED) is needed");
            return Err(CommError::Library { call: "MPI_Init_thread", reason });
        }
        // SAFETY: predefined handles and places for the answers.
        unsafe {
            mpi.checked(
                "MPI_Comm_set_errhandler",
                (mpi.calls.set_errhandler)(world, mpi.calls.constants.errors_return),
            )?;
            mpi.checked("MPI_Comm_rank", (mpi.calls.rank)(world, &raw mut rank))?;
            mpi.checked("MPI_Comm_size", (mpi.calls.size)(world, &raw mut size))?;
        }
        let nonsense = |_| CommError::Library { call: "MPI_Comm_rank", reason: format!("says rank {rank} of {size}") };
        mpi.rank = usize::try_from(rank).map_err(nonsense)?;
        mpi.size = usize::try_from(size).map_err(nonsense)?;
        Ok(mpi)
    }

    /// A message of this sender and tag (or of any) that can be received.
    pub(crate) fn probe(&self, from: Option<usize>, tag: Option<WireTag>) -> Result<Option<Announced>, CommError> {
        let constants = &self.calls.constants;
        let from = from.map_or(constants.any_source, int);
        let tag = tag.map_or(constants.any_tag, c_int::from);
        let (mut flag, mut status, mut count) = (0, Status::default(), 0);
        // SAFETY: places for the answers, the status with room for either library's.
        let code = unsafe { (self.calls.iprobe)(from, tag, constants.world, &raw mut flag, &raw mut status) };
        self.checked("MPI_Iprobe", code)?;
        if flag == 0 {
            return Ok(None);
        }
        // SAFETY: a status that MPI has just filled.
        let code = unsafe { (self.calls.get_count)(&raw const status, constants.byte, &raw mut count) };
        self.checked("MPI_Get_count", code)?;
        let found = (status.0[constants.source_at], status.0[constants.tag_at]);
        let announced = || {
            let bytes = usize::try_from(count).ok()?;
            let from = usize::try_from(found.0).ok().filter(|from| *from < self.size)?;
            Some(Announced { from, tag: WireTag::try_from(found.1).ok()?, bytes })
        };
        let reason = || format!("says sender {}, tag {}, {count} bytes", found.0, found.1);
        announced().map(Some).ok_or_else(|| CommError::Library { call: "MPI_Iprobe", reason: reason() })
    }

    /// Begins to receive what `probe` has found.
    pub(crate) fn receive(&self, found: &Announced) -> Result<Transfer<H>, CommError> {
        let (byte, world) = (self.calls.constants.byte, self.calls.constants.world);
        let (from, tag, count) = (int(found.from), c_int::from(found.tag), int(found.bytes));
        let mut transfer = Transfer { request: H::NOTHING, bytes: vec![0; found.bytes], done: false };
        let at = transfer.bytes.as_mut_ptr().cast();
        // SAFETY: the buffer has that size and stays where it is until the request is complete (`Transfer`).
        let code = unsafe { (self.calls.irecv)(at, count, byte, from, tag, world, &raw mut transfer.request) };
        self.begun("MPI_Irecv", code, transfer)
    }

    /// Begins to send.
    pub(crate) fn send(&self, to: usize, tag: WireTag, bytes: Vec<u8>) -> Result<Transfer<H>, CommError> {
        let (byte, world) = (self.calls.constants.byte, self.calls.constants.world);
        let mut transfer = Transfer { request: H::NOTHING, bytes, done: false };
        let (at, count) = (transfer.bytes.as_ptr().cast(), int(transfer.bytes.len()));
        // SAFETY: the buffer has that size and stays where it is until the request is complete (`Transfer`).
        let code =
            unsafe { (self.calls.isend)(at, count, byte, int(to), tag.into(), world, &raw mut transfer.request) };
        self.begun("MPI_Isend", code, transfer)
    }

    /// Whether MPI is done with it.
    pub(crate) fn is_done(&self, transfer: &mut Transfer<H>) -> Result<bool, CommError> {
        if !transfer.done {
            let (mut flag, mut status) = (0, Status::default());
            // SAFETY: a request that this library has made and not yet completed.
            let code = unsafe { (self.calls.test)(&raw mut transfer.request, &raw mut flag, &raw mut status) };
            self.checked("MPI_Test", code)?;
            transfer.done = flag != 0;
        }
        Ok(transfer.done)
    }

    /// Ends MPI; waits for the others within the library.
    pub(crate) fn finalize(self) {
        // SAFETY: started once, and nothing is called after.
        unsafe { (self.calls.finalize)() };
    }

    /// Ends all processes of the run.
    pub(crate) fn abort(&self, code: i32) {
        // SAFETY: may be called at any time between start and end.
        unsafe { (self.calls.abort)(self.calls.constants.world, code) };
    }

    fn begun(&self, call: &'static str, code: c_int, mut transfer: Transfer<H>) -> Result<Transfer<H>, CommError> {
        // What has not begun is not MPI's.
        transfer.done = code != 0;
        self.checked(call, code).map(|()| transfer)
    }

    fn checked(&self, call: &'static str, code: c_int) -> Result<(), CommError> {
        if code == 0 {
            return Ok(());
        }
        let (mut text, mut length) = ([0_u8; ERROR_STRING_BYTES], 0);
        // SAFETY: the buffer is longer than either library's longest text.
        unsafe { (self.calls.error_string)(code, text.as_mut_ptr().cast::<c_char>(), &raw mut length) };
        let text = &text[..usize::try_from(length).unwrap_or(0).min(ERROR_STRING_BYTES)];
        Err(CommError::Library { call, reason: String::from_utf8_lossy(text).into_owned() })
    }
}

impl<H: Handle> Transfer<H> {
    /// The bytes, once MPI is done with them.
    pub(crate) fn into_bytes(mut self) -> Vec<u8> {
        debug_assert!(self.done);
        take(&mut self.bytes)
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }
}

impl<H: Handle> Drop for Transfer<H> {
    fn drop(&mut self) {
        if !self.done {
            // MPI may still read or write there.
            forget(take(&mut self.bytes));
        }
    }
}

/// What is bounded by `MAX_MESSAGE_BYTES` or came from MPI as an `int`.
fn int(number: usize) -> c_int {
    c_int::try_from(number).unwrap_or(c_int::MAX)
}
