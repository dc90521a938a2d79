//! Where a paused program waits: until it is told something, or has been given a signal that asks it to end or warns it.
//!
//! Handlers are the program's own. That one has run is seen by whose wait it has cut short; what the program has blocked, to ask for it between two
//! steps, by what is pending.

use std::os::fd::AsFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;

/// By these a batch system, a launcher or a terminal asks a program to end, or warns it that it will be ended. The timers of profilers, children and
/// windows have others, which come once the wait is over.
const HEEDED: [Signal; 7] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGXCPU,
];

/// Wakes the thread that waits.
pub(crate) struct Bell(EventFd);

impl Bell {
    pub(crate) fn new() -> Result<Self, Errno> {
        EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK).map(Self)
    }

    /// Whoever waits, or is about to, goes on.
    pub(crate) fn ring(&self) {
        // One that has rung so often that it takes no more is heard.
        let _ = self.0.write(1);
    }
}

/// While it lives, the signals that are heeded come to this thread while it waits, and not in between.
pub(crate) struct Heed {
    before: Option<SigSet>,
    /// Tells what is pending of those that the program has blocked itself.
    blocked: Option<SignalFd>,
}

impl Heed {
    pub(crate) fn begin() -> Self {
        let heeded: SigSet = HEEDED.into_iter().collect();
        let before = heeded.thread_swap_mask(SigmaskHow::SIG_BLOCK).ok();
        let is_blocked = |signal: &Signal| before.is_some_and(|before| before.contains(*signal));
        let blocked: SigSet = HEEDED.into_iter().filter(is_blocked).collect();
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let blocked = blocked.iter().next().and_then(|_| SignalFd::with_flags(&blocked, flags).ok());
        Self { before, blocked }
    }

    /// Waits until `bell` rings, for `limit` at most; where signals still matter, whether there is one.
    pub(crate) fn wait(&self, bell: &Bell, limit: Duration, signals_matter: bool) -> bool {
        let mut mask = SigSet::all();
        let is_let_in = |signal: &Signal| self.before.is_some_and(|before| !before.contains(*signal));
        HEEDED.into_iter().filter(is_let_in).for_each(|signal| mask.remove(signal));
        let blocked = self.blocked.as_ref().filter(|_| signals_matter);
        let looked_at = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let mut told: Vec<PollFd> =
            [Some(bell.0.as_fd()), blocked.map(AsFd::as_fd)].into_iter().flatten().map(looked_at).collect();
        let outcome = ppoll(&mut told, Some(TimeSpec::from_duration(limit)), Some(mask));
        let is_pending = outcome.is_ok() && told.get(1).and_then(PollFd::any) == Some(true);
        // Nothing is to be read where it has not rung.
        let _ = bell.0.read();
        signals_matter && (outcome == Err(Errno::EINTR) || is_pending)
    }
}

impl Drop for Heed {
    fn drop(&mut self) {
        // What was a mask is one.
        let _ = self.before.map(|before| before.thread_set_mask());
    }
}
