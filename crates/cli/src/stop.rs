//! How commands that go on for long end: by Ctrl-C, or when their time is up.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, raise, sigaction};

/// What a program returns that was interrupted, as shells have it.
pub(crate) const INTERRUPTED: u8 = 130;

/// Time that an orderly end may take.
const ORDERLY: Duration = Duration::from_secs(10);

/// Set when the user wants to stop.
static STOP: AtomicBool = AtomicBool::new(false);

/// What is set once the user wants to stop, or after `limit`.
///
/// # Errors
/// If signals cannot be taken.
pub(crate) fn when_asked(limit: Option<Duration>) -> Result<&'static AtomicBool> {
    once_asked(|| STOP.store(true, Ordering::Relaxed))?;
    if let Some(limit) = limit {
        thread::spawn(move || {
            thread::sleep(limit);
            STOP.store(true, Ordering::Relaxed);
        });
    }
    Ok(&STOP)
}

/// Has `asked` called when the user wants to stop. Asked twice, the program does not wait.
///
/// # Errors
/// If signals cannot be taken.
pub(crate) fn once_asked(mut asked: impl FnMut() + Send + 'static) -> Result<()> {
    let mut is_asked = false;
    on_signal(move || {
        if std::mem::replace(&mut is_asked, true) {
            std::process::exit(INTERRUPTED.into());
        }
        asked();
    })
}

/// Has `asked` called at each signal that asks the program to end, but for those that whoever started it has it ignore, as `nohup` does before its
/// user logs out.
///
/// # Errors
/// If signals cannot be taken.
pub(crate) fn on_signal(asked: impl FnMut() + Send + 'static) -> Result<()> {
    let mut ignored = Vec::new();
    for signal in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM] {
        if matches!(ignore(signal)?.handler(), SigHandler::SigIgn) {
            ignored.push(signal);
        }
    }
    ctrlc::set_handler(asked)?;
    ignored.into_iter().try_for_each(|signal| ignore(signal).map(drop))
}

/// Asks this program to end once its standard input does, whatever it is about; what comes there is for nobody.
pub(crate) fn once_input_ends() {
    thread::spawn(|| {
        // What cannot be read has ended, too.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = raise(Signal::SIGTERM);
        // Who ignores that, or was not ready for it, ends all the same.
        thread::sleep(ORDERLY);
        std::process::exit(INTERRUPTED.into());
    });
}

/// Returns what was done at this signal before.
#[expect(unsafe_code, reason = "the only way to learn what is done at a signal")]
fn ignore(signal: Signal) -> Result<SigAction> {
    let nothing = SigAction::new(SigHandler::SigIgn, SaFlags::empty(), SigSet::empty());
    // SAFETY: no code runs at a signal that is ignored.
    Ok(unsafe { sigaction(signal, &nothing) }?)
}
