//! Writes a timeline in the JSON form of OTLP (OpenTelemetry protocol 1, `TracesData`), which collectors and their viewers read.
//!
//! Every step is a trace: a root span from its first event to its last, and a child for each event. Numbers of 64 bits are strings, and
//! identifiers hexadecimal, as that form wants them.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use crate::event::Event;
use crate::timeline::{Placed, Process, Timeline};

/// `SPAN_KIND_INTERNAL`.
const INTERNAL: u8 = 1;
/// Marks the root spans' identifiers; events are counted from 1.
const ROOT: u64 = 1 << 63;

#[derive(Serialize)]
struct Attribute<'a> {
    key: &'a str,
    value: Value<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Value<'a> {
    StringValue(&'a str),
    IntValue(String),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Span<'a> {
    trace_id: String,
    span_id: String,
    parent_span_id: String,
    name: &'a str,
    kind: u8,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<Attribute<'a>>,
}

/// First start and last end of a step, and the process that began it.
struct Root {
    process: usize,
    start_ns: i64,
    end_ns: i64,
}

struct Spans {
    /// Unix time of the session's clock's zero.
    epoch_ns: i64,
    /// Tells this run's traces from others'.
    run: u64,
}

impl Timeline {
    /// Writes everything as one `TracesData` message of OTLP, in JSON.
    ///
    /// # Errors
    /// Whatever `out` has to say.
    pub fn write_otlp(&self, mut out: impl Write) -> io::Result<()> {
        let epoch_ns = self.epoch_ns();
        let first = self.events.first().map_or(0, |placed| placed.event.start_ns);
        let spans = Spans { epoch_ns, run: epoch_ns.saturating_add(first) as u64 | 1 };
        let roots = roots(&self.events);
        out.write_all(br#"{"resourceSpans":["#)?;
        for (number, process) in self.processes.iter().enumerate() {
            out.write_all(if number == 0 { b"\n" } else { b",\n" })?;
            open_resource(&mut out, process)?;
            let own_roots = roots.iter().filter(|(_, root)| root.process == number);
            let own_roots = own_roots.map(|(step, root)| spans.root(*step, root));
            let events = self.events.iter().enumerate().filter(|(_, placed)| placed.process == number);
            let events = events.map(|(index, placed)| spans.event(index, &placed.event));
            for (index, span) in own_roots.chain(events).enumerate() {
                out.write_all(if index == 0 { b"\n" } else { b",\n" })?;
                serde_json::to_writer(&mut out, &span)?;
            }
            out.write_all(b"]}]}")?;
        }
        out.write_all(b"]}\n")?;
        out.flush()
    }

    /// Unix time of the zero of the session's clock: of a process whose clock that is, where one has said so.
    fn epoch_ns(&self) -> i64 {
        let own = self.processes.iter().filter(|process| !process.aligned).find_map(|process| process.epoch_ns);
        own.or_else(|| self.processes.iter().find_map(|process| process.epoch_ns)).unwrap_or(0)
    }
}

fn roots(events: &[Placed]) -> BTreeMap<u64, Root> {
    let mut roots: BTreeMap<u64, Root> = BTreeMap::new();
    for Placed { process, event } in events {
        let first = Root { process: *process, start_ns: event.start_ns, end_ns: event.end_ns };
        let root = roots.entry(event.step).or_insert(first);
        root.end_ns = root.end_ns.max(event.end_ns);
    }
    roots
}

fn open_resource(out: &mut impl Write, process: &Process) -> io::Result<()> {
    let attributes = [
        Attribute { key: "service.name", value: Value::StringValue("visapult") },
        Attribute { key: "service.instance.id", value: Value::StringValue(&process.role) },
        Attribute { key: "host.name", value: Value::StringValue(&process.host) },
    ];
    out.write_all(br#"{"resource":{"attributes":"#)?;
    serde_json::to_writer(&mut *out, &attributes)?;
    let version = env!("CARGO_PKG_VERSION");
    write!(out, r#"}},"scopeSpans":[{{"scope":{{"name":"visapult","version":"{version}"}},"spans":["#)
}

impl Spans {
    fn root(&self, step: u64, root: &Root) -> Span<'static> {
        let times = (root.start_ns, root.end_ns);
        self.span(step, ROOT | step, None, "step", times, vec![integer("visapult.step", step)])
    }

    fn event(&self, index: usize, event: &Event) -> Span<'static> {
        let Event { stage, member, step, bytes, start_ns, end_ns } = *event;
        let member_key = match stage.site().member() {
            "rank" => "visapult.rank",
            "pe" => "visapult.pe",
            _ => "visapult.session",
        };
        let attributes = vec![
            integer("visapult.step", step),
            integer(member_key, u64::from(member)),
            integer("visapult.bytes", bytes),
        ];
        self.span(step, index as u64 + 1, Some(ROOT | step), stage.name(), (start_ns, end_ns), attributes)
    }

    fn span(
        &self,
        step: u64,
        id: u64,
        parent: Option<u64>,
        name: &'static str,
        (start_ns, end_ns): (i64, i64),
        attributes: Vec<Attribute<'static>>,
    ) -> Span<'static> {
        let unix = |ns: i64| self.epoch_ns.saturating_add(ns).max(0).to_string();
        Span {
            trace_id: format!("{:016x}{:016x}", self.run, step),
            span_id: format!("{id:016x}"),
            parent_span_id: parent.map_or_else(String::new, |parent| format!("{parent:016x}")),
            name,
            kind: INTERNAL,
            start_time_unix_nano: unix(start_ns),
            end_time_unix_nano: unix(end_ns),
            attributes,
        }
    }
}

fn integer(key: &'static str, value: u64) -> Attribute<'static> {
    Attribute { key, value: Value::IntValue(i64::try_from(value).unwrap_or(i64::MAX).to_string()) }
}
