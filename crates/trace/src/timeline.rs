//! Events of several processes on one clock.

use std::io::{self, Write};

use crate::event::Event;
use crate::json::Writer;
use crate::reader::Trace;

/// A process that was traced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// The host it ran on.
    pub host: String,
    /// What it was (`view`, `backend`).
    pub role: String,
    /// Whether its clock was brought into line with the session's.
    pub aligned: bool,
    /// Unix time of the zero of the clock that its events are on, in nanoseconds: of its host's, or once that is aligned of the session's.
    pub epoch_ns: Option<i64>,
}

impl Process {
    /// Whether both are the same: two have hardly started within a nanosecond of each other.
    fn is(&self, other: &Self) -> bool {
        self.epoch_ns.is_some() && (&self.host, &self.role, self.epoch_ns) == (&other.host, &other.role, other.epoch_ns)
    }
}

/// An event of one of several processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Index of the process.
    pub process: usize,
    /// The event, in times of the session's clock.
    pub event: Event,
}

/// Everything that is known of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// The processes.
    pub processes: Vec<Process>,
    /// Their events, by start.
    pub events: Vec<Placed>,
    /// Events that were dropped as they came too fast.
    pub lost: u64,
}

impl Timeline {
    /// Puts the contents of several files together. A process of which several files tell, as one that was merged and what it was merged of, counts
    /// once: as in the first.
    #[must_use]
    pub fn of(traces: impl IntoIterator<Item = Trace>) -> Self {
        let mut all = Self::default();
        for trace in traces {
            let others = all.processes.len();
            let mut place = |process: Process| {
                let is_known = all.processes[..others].iter().any(|other| other.is(&process));
                (!is_known).then(|| {
                    all.processes.push(process);
                    all.processes.len() - 1
                })
            };
            let places: Vec<Option<usize>> = trace.processes.into_iter().map(&mut place).collect();
            let placed = |placed: &Placed| Some(Placed { process: places[placed.process]?, event: placed.event });
            all.events.extend(trace.events.iter().filter_map(placed));
            all.lost += if places.iter().any(Option::is_some) { trace.lost } else { 0 };
        }
        all.events.sort_by_key(|placed| (placed.event.start_ns, placed.event.stage, placed.event.member));
        all
    }

    /// The part that belongs to steps from `first` to `last`.
    #[must_use]
    pub fn of_steps(&self, first: u64, last: u64) -> Self {
        let events = self.events.iter().filter(|placed| (first..=last).contains(&placed.event.step)).copied().collect();
        Self { processes: self.processes.clone(), events, lost: self.lost }
    }

    /// The steps, in order, each once.
    #[must_use]
    pub fn steps(&self) -> Vec<u64> {
        let mut steps: Vec<_> = self.events.iter().map(|placed| placed.event.step).collect();
        steps.sort_unstable();
        steps.dedup();
        steps
    }

    /// The hosts whose clocks were never compared; none if that makes no difference. Their events' positions relative to each other
    /// mean nothing.
    #[must_use]
    pub fn unaligned_hosts(&self) -> Vec<&str> {
        let loose = self.processes.iter().filter(|process| !process.aligned).map(|process| process.host.as_str());
        let mut hosts: Vec<_> = loose.collect();
        hosts.sort_unstable();
        hosts.dedup();
        // The session's clock is that of one of the hosts.
        if hosts.len() > 1 { hosts } else { Vec::new() }
    }

    /// Writes everything as one file.
    ///
    /// # Errors
    /// Whatever `out` has to say.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        let mut writer = Writer::new(out)?;
        let pid = |process: usize| u32::try_from(process + 1).unwrap_or(u32::MAX);
        for (number, process) in self.processes.iter().enumerate() {
            writer.process(pid(number), process)?;
        }
        for Placed { process, event } in &self.events {
            writer.event(pid(*process), event)?;
        }
        if self.lost > 0 {
            writer.lost(pid(0), self.lost)?;
        }
        writer.finish()
    }
}
