//! Dials that come to nothing, as the log tells of them: anybody can cause them, so few are told, and the others counted.
//!
//! Invariant: of those who have something to tell one waits for the log at most, whoever does not read it.

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, TryLockError};
use std::time::Instant;

use super::refused::Allowance;

/// Of one listener.
#[derive(Debug)]
pub(super) struct Failures {
    /// Held by who tells.
    telling: Mutex<Allowance>,
    /// Those that came meanwhile.
    meanwhile: AtomicU64,
}

impl Failures {
    pub(super) const fn new(now: Instant) -> Self {
        Self { telling: Mutex::new(Allowance::new(now)), meanwhile: AtomicU64::new(0) }
    }

    /// Tells of one, unless somebody is telling, or many have been told.
    pub(super) fn tell(&self, what: &dyn Display) {
        let mut allowance = match self.telling.try_lock() {
            Ok(allowance) => allowance,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                self.meanwhile.fetch_add(1, Ordering::Relaxed);
                return;
            }
        };
        allowance.leave_out(self.meanwhile.swap(0, Ordering::Relaxed));
        match allowance.spend(Instant::now()) {
            None => {}
            Some(0) => tracing::info!("no session {what}"),
            Some(untold) => tracing::info!("no session {what}; of {untold} more before nothing was told"),
        }
    }
}
