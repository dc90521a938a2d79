//! Locks that a panic elsewhere does not close: what they guard is whole after each change.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The guard, whether somebody who held the lock has panicked or not.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
