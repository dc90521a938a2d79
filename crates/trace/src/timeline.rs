//! Events of several processes on one clock.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::event::{Event, Site, Stage};
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

/// A back end has seen a simulation begin anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Anew {
    /// When, by the session's clock.
    pub at_ns: i64,
    /// Index of the process that has seen it.
    pub process: usize,
}

/// Everything that is known of a run, or of several that one back end has seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// The processes.
    pub processes: Vec<Process>,
    /// Their events, by start.
    pub events: Vec<Placed>,
    /// Where another run begins.
    pub anew: Vec<Anew>,
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
            let anew = |anew: &Anew| Some(Anew { process: places[anew.process]?, ..*anew });
            all.anew.extend(trace.anew.iter().filter_map(anew));
            all.lost += if places.iter().any(Option::is_some) { trace.lost } else { 0 };
        }
        all.events.sort_by_key(|placed| (placed.event.start_ns, placed.event.stage, placed.event.member));
        all.anew.sort_unstable();
        all
    }

    /// One run, where a back end has seen several: the last, or the last of which a rank tells, where one does; with its number, from 1, and how many
    /// there are. Of runs that follow one another, steps have the same numbers.
    #[must_use]
    pub fn of_one_run(&self) -> (Self, usize, usize) {
        let run_at = |at_ns: i64| self.anew.iter().filter(|anew| anew.at_ns <= at_ns).count();
        let mut first_in: BTreeMap<usize, i64> = BTreeMap::new();
        for event in self.events.iter().map(|placed| &placed.event).filter(|event| event.stage == Stage::Receive) {
            let first = first_in.entry(run_at(event.start_ns)).or_insert(event.end_ns);
            *first = event.end_ns.min(*first);
        }
        if first_in.len() < 2 {
            return (self.clone(), 1, 1);
        }
        // Ranks begin to publish before the back end knows that all of them are there.
        let mut ranks: BTreeMap<usize, usize> = BTreeMap::new();
        for Placed { process, event } in self.events.iter().filter(|it| it.event.stage.site() == Site::Source) {
            let run = ranks.entry(*process).or_default();
            *run = run_at(event.start_ns).max(*run);
        }
        let told = ranks.values().filter(|run| first_in.contains_key(run)).max();
        let Some(run) = told.or_else(|| first_in.keys().last()).copied() else { return (self.clone(), 1, 1) };
        let is_in = |placed: &&Placed| match placed.event.stage {
            Stage::Put | Stage::SendPiece => ranks.get(&placed.process) == Some(&run),
            Stage::Receive => run_at(placed.event.start_ns) == run,
            // The run before is shown until something of the next is there.
            _ => {
                first_in.iter().rev().find(|(_, first)| **first <= placed.event.start_ns).map(|(of, _)| *of)
                    == Some(run)
            }
        };
        let events = self.events.iter().filter(is_in).copied().collect();
        let number = first_in.range(..=run).count();
        (Self { events, ..self.clone() }, number, first_in.len())
    }

    /// The part that belongs to steps from `first` to `last`.
    #[must_use]
    pub fn of_steps(&self, first: u64, last: u64) -> Self {
        let events = self.events.iter().filter(|placed| (first..=last).contains(&placed.event.step)).copied().collect();
        Self { events, ..self.clone() }
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
        for anew in &self.anew {
            writer.anew(pid(anew.process), anew.at_ns)?;
        }
        if self.lost > 0 {
            writer.lost(pid(0), self.lost)?;
        }
        writer.finish()
    }
}
