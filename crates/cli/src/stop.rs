//! How commands that go on for long end: by Ctrl-C, or when their time is up.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Result;

/// What a program returns that was interrupted, as shells have it.
pub(crate) const INTERRUPTED: u8 = 130;

/// Set when the user wants to stop.
static STOP: AtomicBool = AtomicBool::new(false);

/// What is set once the user wants to stop, or after `limit`.
///
/// # Errors
/// If signals cannot be taken.
pub(crate) fn when_asked(limit: Option<Duration>) -> Result<&'static AtomicBool> {
    ctrlc::set_handler(|| {
        // Asked twice, it does not wait.
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED.into());
        }
    })?;
    if let Some(limit) = limit {
        thread::spawn(move || {
            thread::sleep(limit);
            STOP.store(true, Ordering::Relaxed);
        });
    }
    Ok(&STOP)
}
