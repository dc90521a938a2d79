//! Locks that a panic elsewhere does not close: what they guard is whole after each change.

use std::sync::{LockResult, Mutex, MutexGuard, PoisonError};

/// The guard, whether somebody who held the lock has panicked or not.
pub(crate) fn unpoisoned<Guard>(outcome: LockResult<Guard>) -> Guard {
    outcome.unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    unpoisoned(mutex.lock())
}
