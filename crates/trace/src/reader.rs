//! Reads trace files: ours in full, of others what is not an event of ours is passed over.
//!
//! Invariant: what is kept is bounded by the size of the file; a file that was cut off is read up to there.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use thiserror::Error;

use crate::event::{Event, Site, Stage};
use crate::json::{ANEW, CATEGORY, CLOCK, LOST, PROCESS};
use crate::timeline::{Anew, Placed, Process};

/// Largest file that is read.
const MAX_FILE_BYTES: u64 = 1 << 30;
/// Thirty years, in microseconds: no clock is farther off.
const MOST_US: f64 = 1e15;

/// The contents of one file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// The processes it tells of.
    pub processes: Vec<Process>,
    /// Their events, in the file's order.
    pub events: Vec<Placed>,
    /// Where another run begins.
    pub anew: Vec<Anew>,
    /// Events that were dropped as they came too fast.
    pub lost: u64,
    /// Whether the file was closed in order.
    pub complete: bool,
}

/// Why a file is of no use.
#[derive(Debug, Error)]
pub enum TraceError {
    /// It cannot be read.
    #[error("cannot read {file}: {cause}")]
    Io {
        /// The file.
        file: String,
        /// The system's words.
        cause: std::io::Error,
    },
    /// More than is read of one.
    #[error("{file} has more than {MAX_FILE_BYTES} bytes: trace a shorter run")]
    TooLarge {
        /// The file.
        file: String,
    },
    /// It is something else, or was damaged.
    #[error("{file} is not a trace as --trace writes it: {reason} at byte {byte}")]
    Damaged {
        /// The file.
        file: String,
        /// Where, from 0.
        byte: usize,
        /// What is wrong there.
        reason: String,
    },
    /// A trace, but of something else.
    #[error("{file} holds no events of Visapult: record some with --trace")]
    Empty {
        /// The file.
        file: String,
    },
}

/// Reads a file.
///
/// # Errors
/// [`TraceError`], with the file's name.
pub fn read(file: &Path) -> Result<Trace, TraceError> {
    let name = file.display().to_string();
    let failed = |cause| TraceError::Io { file: name.clone(), cause };
    let mut bytes = Vec::new();
    std::fs::File::open(file).map_err(failed)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(TraceError::TooLarge { file: name });
    }
    parse(&bytes, &name)
}

/// Reads the contents of a file that is called `name` in errors.
///
/// # Errors
/// [`TraceError`].
pub fn parse(bytes: &[u8], name: &str) -> Result<Trace, TraceError> {
    // A machine that lost its power may leave zeros in place of what it had not written yet.
    let length = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let bytes = &bytes[..length];
    let mut reading = Reading { bytes, at: 0, trace: Trace::default(), pids: HashMap::new() };
    reading.all().map_err(|reason| TraceError::Damaged { file: name.to_owned(), byte: reading.at, reason })?;
    if reading.trace.events.is_empty() {
        return Err(TraceError::Empty { file: name.to_owned() });
    }
    Ok(reading.trace)
}

/// An entry of the array, as far as we want to know.
#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    ph: Cow<'a, str>,
    #[serde(borrow, default)]
    cat: Cow<'a, str>,
    #[serde(default)]
    pid: u64,
    ts: Option<f64>,
    dur: Option<f64>,
    #[serde(borrow, default)]
    args: Arguments<'a>,
}

#[derive(Default, Deserialize)]
struct Arguments<'a> {
    step: Option<u64>,
    rank: Option<u32>,
    pe: Option<u32>,
    session: Option<u32>,
    bytes: Option<u64>,
    events: Option<u64>,
    behind_ns: Option<i64>,
    at_ns: Option<i64>,
    epoch_ns: Option<i64>,
    #[serde(borrow)]
    host: Option<Cow<'a, str>>,
    #[serde(borrow)]
    role: Option<Cow<'a, str>>,
}

struct Reading<'a> {
    bytes: &'a [u8],
    at: usize,
    trace: Trace,
    pids: HashMap<u64, usize>,
}

impl Reading<'_> {
    fn all(&mut self) -> Result<(), String> {
        self.skip_white();
        if self.bytes.get(self.at) != Some(&b'[') {
            return Err("no array of events begins".to_owned());
        }
        self.at += 1;
        loop {
            self.skip_white();
            match self.bytes.get(self.at) {
                None => return Ok(()),
                Some(b']') => {
                    self.trace.complete = true;
                    return Ok(());
                }
                Some(b',') => self.at += 1,
                Some(_) => {
                    if !self.entry()? {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn skip_white(&mut self) {
        let white = self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.at += white;
    }

    /// Reads one entry; false where the file was cut off.
    fn entry(&mut self) -> Result<bool, String> {
        let mut entries = serde_json::Deserializer::from_slice(&self.bytes[self.at..]).into_iter::<Entry>();
        match entries.next() {
            Some(Ok(entry)) => {
                let after = self.at + entries.byte_offset();
                self.take(&entry)?;
                self.at = after;
                Ok(true)
            }
            Some(Err(problem)) if !problem.is_eof() => {
                // Its own line and column count from the entry.
                let text = problem.to_string();
                Err(text.split(" at line ").next().unwrap_or_default().to_owned())
            }
            Some(Err(_)) | None => Ok(false),
        }
    }

    fn take(&mut self, entry: &Entry) -> Result<(), String> {
        match (entry.ph.as_ref(), entry.name.as_ref()) {
            ("M", PROCESS) => {
                let process = self.process(entry.pid);
                let text = |value: &Option<Cow<str>>| value.as_ref().map_or_else(String::new, ToString::to_string);
                let (host, role) = (text(&entry.args.host), text(&entry.args.role));
                let known = &mut self.trace.processes[process];
                (known.host, known.role, known.epoch_ns) = (host, role, entry.args.epoch_ns);
            }
            ("M", CLOCK) => {
                let process = self.process(entry.pid);
                let was_aligned = std::mem::replace(&mut self.trace.processes[process].aligned, true);
                if let Some(behind_ns) = entry.args.behind_ns.filter(|_| !was_aligned) {
                    self.shift(process, behind_ns)?;
                    let epoch_ns = &mut self.trace.processes[process].epoch_ns;
                    *epoch_ns = epoch_ns.map(|epoch_ns| epoch_ns.saturating_sub(behind_ns));
                }
            }
            ("M", LOST) => self.trace.lost = self.trace.lost.saturating_add(entry.args.events.unwrap_or(0)),
            ("M", ANEW) => {
                if let Some(at_ns) = entry.args.at_ns.filter(|at_ns| at_ns.unsigned_abs() as f64 <= MOST_US * 1000.0) {
                    let process = self.process(entry.pid);
                    self.trace.anew.push(Anew { at_ns, process });
                }
            }
            ("X", name) if entry.cat == CATEGORY => {
                let Some(stage) = Stage::named(name) else { return Ok(()) };
                let event = event(stage, entry)?;
                let process = self.process(entry.pid);
                self.trace.events.push(Placed { process, event });
            }
            _ => {}
        }
        Ok(())
    }

    /// Events that were written before the clocks were compared.
    fn shift(&mut self, process: usize, behind_ns: i64) -> Result<(), String> {
        if behind_ns.unsigned_abs() as f64 > MOST_US * 1000.0 {
            return Err("an impossible difference of clocks".to_owned());
        }
        for placed in self.trace.events.iter_mut().filter(|placed| placed.process == process) {
            placed.event.start_ns += behind_ns;
            placed.event.end_ns += behind_ns;
        }
        for anew in self.trace.anew.iter_mut().filter(|anew| anew.process == process) {
            anew.at_ns += behind_ns;
        }
        Ok(())
    }

    fn process(&mut self, pid: u64) -> usize {
        let processes = &mut self.trace.processes;
        *self.pids.entry(pid).or_insert_with(|| {
            processes.push(Process { host: String::new(), role: String::new(), aligned: false, epoch_ns: None });
            processes.len() - 1
        })
    }
}

fn event(stage: Stage, entry: &Entry) -> Result<Event, String> {
    let missing = |what: &str| format!("an event \"{}\" without {what}", stage.name());
    let Arguments { step, rank, pe, session, bytes, .. } = entry.args;
    let member = match stage.site() {
        Site::Source => rank,
        Site::BackEnd => pe,
        Site::Viewer => session,
    };
    let ns = |us: Option<f64>, what, least| match us {
        Some(us) if (least..=MOST_US).contains(&us) => Ok((us * 1000.0).round() as i64),
        Some(_) => Err(format!("an event \"{}\" with an impossible {what}", stage.name())),
        None => Err(missing(what)),
    };
    let start_ns = ns(entry.ts, "ts", -MOST_US)?;
    let end_ns = start_ns + ns(entry.dur, "dur", 0.0)?;
    let member = member.ok_or_else(|| missing(stage.site().member()))?;
    let step = step.ok_or_else(|| missing("step"))?;
    Ok(Event { stage, member, step, bytes: bytes.unwrap_or(0), start_ns, end_ns })
}
