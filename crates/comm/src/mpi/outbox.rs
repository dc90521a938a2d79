//! What other threads want of the one that owns MPI.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::mailbox::ROOM;
use crate::{CommError, WireTag};

#[derive(Debug, Default)]
pub(crate) struct Outbox(Mutex<Wishes>);

/// One message to send.
#[derive(Debug)]
pub(crate) struct Parcel {
    pub(crate) to: usize,
    pub(crate) tag: WireTag,
    pub(crate) bytes: Vec<u8>,
}

/// What is wished for, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    pub(crate) parcels: VecDeque<Parcel>,
    pub(crate) leave: bool,
    pub(crate) abort: Option<i32>,
    /// Given away and not yet gone, here and at MPI.
    under_way: usize,
}

impl Outbox {
    pub(crate) fn add(&self, to: usize, tag: WireTag, bytes: Vec<u8>) -> Result<(), CommError> {
        let mut wishes = self.lock();
        if wishes.under_way >= ROOM {
            return Err(CommError::Full { rank: to });
        }
        wishes.under_way += bytes.len();
        wishes.parcels.push_back(Parcel { to, tag, bytes });
        Ok(())
    }

    pub(crate) fn abort(&self, code: i32) {
        self.lock().abort = Some(code);
    }

    pub(crate) fn leave(&self) {
        self.lock().leave = true;
    }

    /// The wishes so far; parcels are handed over.
    pub(crate) fn take(&self) -> Wishes {
        let mut wishes = self.lock();
        let parcels = std::mem::take(&mut wishes.parcels);
        Wishes { parcels, leave: wishes.leave, abort: wishes.abort, under_way: wishes.under_way }
    }

    /// A parcel has gone.
    pub(crate) fn gone(&self, bytes: usize) {
        let mut wishes = self.lock();
        wishes.under_way = wishes.under_way.saturating_sub(bytes);
    }

    fn lock(&self) -> MutexGuard<'_, Wishes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
