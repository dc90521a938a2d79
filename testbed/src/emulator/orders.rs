//! What is asked of a running emulator: reports, and changes of the link, now and later.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::{fs, io};

use super::{Emulator, STALL, Tally, nanoseconds};
use crate::link::Link;
use crate::settings::{Change, Scheduled, SettingError};
use crate::stats::{OwnErrors, Report};

/// What is asked of a running emulator.
#[derive(Debug)]
pub enum Order {
    /// Tell what happened, and count from zero if `reset`.
    Report {
        /// Whether to count anew.
        reset: bool,
        /// Where the answer goes.
        reply: Sender<Report>,
    },
    /// Change the link, now and later.
    Set {
        /// Now.
        changes: Vec<Change>,
        /// Later, counted from now.
        scheduled: Vec<Scheduled>,
        /// Where the answer goes.
        reply: Sender<Result<(), SettingError>>,
    },
    /// End.
    Stop,
}

impl Emulator {
    /// Follows orders and the schedule; false if it shall stop.
    pub(super) fn obey(&mut self, now: u64) -> bool {
        while self.scheduled.front().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, change)) = self.scheduled.pop_front() {
                // What cannot be done together was refused when it was scheduled, as far as it was known then.
                let _ = self.change(&[change], now);
            }
        }
        while let Ok(order) = self.orders.try_recv() {
            let _ = rustix::io::read(&*self.bell, &mut [0_u8; 8]);
            match order {
                Order::Stop => return false,
                Order::Report { reset, reply } => {
                    let _ = reply.send(self.report(now));
                    if reset {
                        self.reset(now);
                    }
                }
                Order::Set { changes, scheduled, reply } => {
                    let result = self.change(&changes, now);
                    if result.is_ok() {
                        self.schedule(scheduled);
                    }
                    let _ = reply.send(result);
                }
            }
        }
        true
    }

    pub(super) fn schedule(&mut self, scheduled: Vec<Scheduled>) {
        let now = self.now();
        self.scheduled.extend(scheduled.into_iter().map(|entry| (now + nanoseconds(entry.after), entry.change)));
        self.scheduled.make_contiguous().sort_by_key(|(at, _)| *at);
    }

    fn change(&mut self, changes: &[Change], now: u64) -> Result<(), SettingError> {
        let mut settings = self.settings.clone();
        changes.iter().for_each(|change| settings.apply(change));
        settings.check()?;
        if settings.rebinds != self.settings.rebinds {
            self.translation.rebind(settings.rebinds);
        }
        for side in 0..2 {
            let events = &mut self.events;
            self.links[side].change(&settings, now, &mut |event| events.push(event));
            self.settle(1 - side);
        }
        self.settings = settings;
        Ok(())
    }

    fn report(&self, now: u64) -> Report {
        let tally = &self.tally;
        let own_errors = OwnErrors {
            // Judged once it is known what went unread.
            kept_up: false,
            late_median_us: tally.late.quantile(0.5) as f64 / 1e3,
            late_p99_us: tally.late.quantile(0.99) as f64 / 1e3,
            late_max_us: tally.late.max() as f64 / 1e3,
            late_share: tally.late.share_above(STALL),
            stalls: tally.stalls,
            stalled_ms: tally.stalled_ns as f64 / 1e6,
            unread: 0,
            unwritten: tally.unwritten,
            no_memory: tally.no_memory,
            oversized: tally.oversized,
        };
        Report {
            name: self.name.clone(),
            seconds: (now - self.counted_from) as f64 / 1e9,
            cpu_s: cpu_seconds() - tally.cpu_before,
            reads: tally.reads,
            writes: tally.writes,
            to_right: self.links[0].counters(),
            to_left: self.links[1].counters(),
            own_errors,
            settings: self.settings.clone(),
        }
    }

    fn reset(&mut self, now: u64) {
        self.links.iter_mut().for_each(Link::reset);
        self.tally = Tally { cpu_before: cpu_seconds(), ..Tally::default() };
        self.counted_from = now;
    }
}

/// CPU time of the calling thread, from the scheduler's own account.
fn cpu_seconds() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// The bell that tells an emulator of orders.
///
/// # Errors
/// If the kernel gives none.
pub fn bell() -> io::Result<Arc<OwnedFd>> {
    let flags = rustix::event::EventfdFlags::NONBLOCK | rustix::event::EventfdFlags::CLOEXEC;
    Ok(Arc::new(rustix::event::eventfd(0, flags)?))
}
