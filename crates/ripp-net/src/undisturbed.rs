//! Threads of our own in somebody else's program.

use nix::sys::signal::{SigSet, SigmaskHow, Signal};

/// While it lives, threads that are begun by the thread that made it, and by those in turn, take none of the program's signals: its own threads do, as
/// they would without us, and one that it has blocked there waits until it asks for it. Nor does what they write where nobody reads any more
/// (`SIGPIPE`) end the program.
#[must_use]
pub struct Undisturbed {
    before: Option<SigSet>,
}

/// What a thread has done itself is for the program's handlers, wherever it was.
const OWN_FAULTS: [Signal; 6] =
    [Signal::SIGSEGV, Signal::SIGBUS, Signal::SIGFPE, Signal::SIGILL, Signal::SIGTRAP, Signal::SIGABRT];

impl Undisturbed {
    /// From here on.
    pub fn begin() -> Self {
        let mut signals = SigSet::all();
        OWN_FAULTS.into_iter().for_each(|fault| signals.remove(fault));
        Self { before: signals.thread_swap_mask(SigmaskHow::SIG_BLOCK).ok() }
    }
}

impl Drop for Undisturbed {
    fn drop(&mut self) {
        // What was a mask is one.
        let _ = self.before.map(|before| before.thread_set_mask());
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn threads_that_are_begun_meanwhile_take_no_signals_and_those_before_and_after_do() {
        let blocked = || thread::spawn(|| SigSet::thread_get_mask().unwrap()).join().unwrap();
        let before = blocked();
        let undisturbed = Undisturbed::begin();
        let meanwhile = blocked();
        drop(undisturbed);
        assert!([Signal::SIGTERM, Signal::SIGUSR1, Signal::SIGPIPE].iter().all(|&it| meanwhile.contains(it)));
        assert!(!meanwhile.contains(Signal::SIGSEGV));
        assert_eq!((blocked(), before.contains(Signal::SIGTERM)), (before, false));
    }
}
