//! How much processor time a thread has taken, as another thread may ask.

use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// The clock of a thread's processor time; of none before it was [set](Self::set).
#[derive(Debug, Default)]
pub(crate) struct ThreadClock(AtomicI32);

impl ThreadClock {
    /// From here on it is that of the thread that calls.
    #[expect(unsafe_code, reason = "no safe wrapper among the crates in use")]
    pub(crate) fn set(&self) {
        let mut clock = 0;
        // SAFETY: `pthread_self` is a thread that lives, and `clock` is ours to be written.
        let failed = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) } != 0;
        self.0.store(if failed { 0 } else { clock }, Ordering::Relaxed);
    }

    /// From here on it is that of a thread that works all the time.
    #[cfg(test)]
    pub(crate) fn set_to_all_of_a_core(&self) {
        self.0.store(libc::CLOCK_MONOTONIC, Ordering::Relaxed);
    }

    /// The processor time of the thread so far, while it lives.
    #[expect(unsafe_code, reason = "no safe wrapper among the crates in use")]
    pub(crate) fn time(&self) -> Option<Duration> {
        let clock = self.0.load(Ordering::Relaxed);
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is ours to be written; a clock of a thread that is gone is an error.
        let known = clock != 0 && unsafe { libc::clock_gettime(clock, &raw mut time) } == 0;
        known.then(|| Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::thread;
    use std::time::Instant;

    use super::*;

    #[test]
    fn the_time_of_a_thread_that_works_grows_and_that_of_one_that_is_gone_is_not_known() {
        let clock = Arc::new(ThreadClock::default());
        assert_eq!(clock.time(), None);
        let (told, ends) = (mpsc::channel::<()>(), mpsc::channel::<()>());
        let of_worker = Arc::clone(&clock);
        let worker = thread::spawn(move || {
            of_worker.set();
            while of_worker.time().is_some_and(|time| time < Duration::from_millis(20)) {}
            told.0.send(()).unwrap();
            let _ = ends.1.recv();
        });
        told.1.recv().unwrap();
        let worked = clock.time().unwrap();
        assert!(worked >= Duration::from_millis(20), "{worked:?}");
        drop(ends.0);
        worker.join().unwrap();
        // Who waits for a thread goes on a moment before the system has forgotten it.
        let soon = Instant::now() + Duration::from_secs(10);
        while clock.time().is_some() && Instant::now() < soon {
            thread::yield_now();
        }
        assert_eq!(clock.time(), None);
    }
}
