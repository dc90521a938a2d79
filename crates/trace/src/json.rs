//! Writes events in the Chrome trace format: an array of objects, one to a line.
//!
//! Invariant: everything up to a flush can be read without the closing bracket, which the format allows to be missing.

use std::collections::HashMap;
use std::io::{self, Write};

use crate::event::{Event, Stage};
use crate::timeline::Process;

/// Events of one stage and member that overlap stand in so many rows at most: viewers want those of a row nested or apart.
const MOST_ROWS: usize = 8;
const MEMBERS: u64 = 1_000_000;

/// Marks the entries that our reader wants.
pub(crate) const CATEGORY: &str = "visapult";
/// Metadata: who the process is.
pub(crate) const PROCESS: &str = "visapult_process";
/// Metadata: from here on, times are those of the session's clock; those before want so many nanoseconds added.
pub(crate) const CLOCK: &str = "visapult_clock";
/// Metadata: so many events were dropped.
pub(crate) const LOST: &str = "visapult_lost";

/// Metadata: at `at_ns`, a simulation was seen to begin anew.
pub(crate) const ANEW: &str = "visapult_anew";

pub(crate) struct Writer<W> {
    out: W,
    empty: bool,
    rows: HashMap<(u32, Stage, u32), Vec<i64>>,
}

impl<W: Write> Writer<W> {
    pub(crate) fn new(mut out: W) -> io::Result<Self> {
        out.write_all(b"[")?;
        Ok(Self { out, empty: true, rows: HashMap::new() })
    }

    /// Says who has this `pid` in this file.
    pub(crate) fn process(&mut self, pid: u32, process: &Process) -> io::Result<()> {
        let Process { host, role, epoch_ns, .. } = process;
        let name = serde_json::json!({ "name": format!("{role} on {host}") });
        self.metadata(pid, 0, "process_name", &name)?;
        self.metadata(
            pid,
            0,
            PROCESS,
            &serde_json::json!({ "format": 1, "host": host, "role": role, "epoch_ns": epoch_ns }),
        )?;
        if process.aligned { self.clock(pid, 0) } else { Ok(()) }
    }

    pub(crate) fn clock(&mut self, pid: u32, behind_ns: i64) -> io::Result<()> {
        self.metadata(pid, 0, CLOCK, &serde_json::json!({ "aligned": true, "behind_ns": behind_ns }))
    }

    pub(crate) fn lost(&mut self, pid: u32, events: u64) -> io::Result<()> {
        self.metadata(pid, 0, LOST, &serde_json::json!({ "events": events }))
    }

    /// Says where another run begins, by the session's clock.
    pub(crate) fn anew(&mut self, pid: u32, at_ns: i64) -> io::Result<()> {
        self.metadata(pid, 0, ANEW, &serde_json::json!({ "at_ns": at_ns }))
    }

    /// Adds an event; its times are those of the session's clock.
    pub(crate) fn event(&mut self, pid: u32, event: &Event) -> io::Result<()> {
        let tid = self.row(pid, event)?;
        let Event { stage, member, step, bytes, start_ns, end_ns } = *event;
        let duration = end_ns.saturating_sub(start_ns).max(0);
        self.separate()?;
        write!(
            self.out,
            r#"{{"name":"{}","cat":"{CATEGORY}","ph":"X","ts":{},"dur":{},"pid":{pid},"tid":{tid},"args":{{"step":{step},"{}":{member},"bytes":{bytes}}}}}"#,
            stage.name(),
            Microseconds(start_ns),
            Microseconds(duration),
            stage.site().member(),
        )
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.out.write_all(b"\n]\n")?;
        self.out.flush()
    }

    /// The row that an event stands in: the first of its stage and member that is free at its start.
    fn row(&mut self, pid: u32, event: &Event) -> io::Result<u64> {
        let Event { stage, member, .. } = *event;
        let rows = self.rows.entry((pid, stage, member)).or_default();
        let free = rows.iter().position(|end| *end <= event.start_ns);
        let row = free.unwrap_or(rows.len().min(MOST_ROWS - 1));
        let is_new = row == rows.len();
        if is_new {
            rows.push(event.end_ns);
        }
        rows[row] = event.end_ns;
        let tid = ((stage as u64 + 1) * MEMBERS + u64::from(member) % MEMBERS) * MOST_ROWS as u64 + row as u64;
        if is_new {
            let name = format!("{} {member}: {}", stage.site().member(), stage.name());
            self.metadata(pid, tid, "thread_name", &serde_json::json!({ "name": name }))?;
            self.metadata(pid, tid, "thread_sort_index", &serde_json::json!({ "sort_index": tid }))?;
        }
        Ok(tid)
    }

    fn metadata(&mut self, pid: u32, tid: u64, name: &str, arguments: &serde_json::Value) -> io::Result<()> {
        self.separate()?;
        write!(self.out, r#"{{"name":"{name}","ph":"M","pid":{pid},"tid":{tid},"args":{arguments}}}"#)
    }

    fn separate(&mut self) -> io::Result<()> {
        self.out.write_all(if std::mem::take(&mut self.empty) { b"\n" } else { b",\n" })
    }
}

/// Nanoseconds, written as the format wants them.
struct Microseconds(i64);

impl std::fmt::Display for Microseconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let ns = self.0.unsigned_abs();
        write!(f, "{sign}{}.{:03}", ns / 1000, ns % 1000)
    }
}
