//! What a timeline says in numbers: periods, overlap, and why the network was idle.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::event::{Event, Stage};
use crate::intervals::{Intervals, total};
use crate::timeline::{Placed, Timeline};

/// Which stage brings the data in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Input {
    /// It is received from a source.
    Receive,
    /// It is read from a file.
    Load,
}

/// Why nothing came in for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// The source had not handed over the next step.
    Source,
    /// It had, and a PE was rendering before the next step was asked for.
    Render,
    /// It had, nobody was rendering, and nothing was sent: for want of credit, or of the sender's time.
    Credit,
    /// It was sent, and under way.
    Path,
    /// The file says nothing of the source.
    Unknown,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 5] = [Self::Source, Self::Render, Self::Credit, Self::Path, Self::Unknown];
}

/// How the time from the first byte of the first step to the last byte of the last was spent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Network {
    /// That time, in seconds.
    pub span_s: f64,
    /// Share of it in which some PE received.
    pub busy: f64,
    /// Shares in which none did, by reason; with `busy` they make 1.
    pub idle: BTreeMap<Reason, f64>,
}

/// A timeline in numbers. Times are medians over the steps, in seconds; those of a step are those of its slowest PE.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Number of steps.
    pub steps: usize,
    /// Number of PEs.
    pub pes: usize,
    /// Which stage brings the data in; the rest speaks of it as "receive".
    pub input: Input,
    /// From the end of one step's work in the back end to that of the next.
    pub frame_period_s: Option<f64>,
    /// The same as a mean: the time of the run over its steps.
    pub frame_period_mean_s: Option<f64>,
    /// From the first byte of a step to its last.
    pub receive_s: Option<f64>,
    /// Rendering of a step.
    pub render_s: Option<f64>,
    /// The larger of the two: no period is shorter, however well they overlap.
    pub max_s: Option<f64>,
    /// The sum of the two: the period without overlap.
    pub sum_s: Option<f64>,
    /// Share of the rendering time in which data came in as well.
    pub overlap: Option<f64>,
    /// What came in.
    pub bytes: u64,
    /// The same over the time in which it came, in bits per second.
    pub rate_bps: Option<f64>,
    /// Use of the network.
    pub network: Network,
    /// Events that are missing as they came too fast.
    pub lost: u64,
}

impl Summary {
    /// The summary of a timeline.
    #[must_use]
    pub fn of(timeline: &Timeline) -> Self {
        let input = input(timeline);
        let coming = input.stage();
        let (receive_s, render_s) = (slowest_pe(timeline, coming), slowest_pe(timeline, Stage::Render));
        let both = receive_s.zip(render_s);
        let (periods, mean) = periods(timeline);
        let bytes = events(timeline, coming).fold(0_u64, |sum, event| sum.saturating_add(event.bytes));
        let network = network(timeline);
        let span = Some(network.span_s).filter(|span| *span > 0.0);
        Self {
            steps: timeline.steps().len(),
            pes: timeline.pes().len(),
            input,
            frame_period_s: median(periods),
            frame_period_mean_s: mean,
            receive_s,
            render_s,
            max_s: both.map(|(receive, render)| receive.max(render)),
            sum_s: both.map(|(receive, render)| receive + render),
            overlap: overlap(timeline, coming),
            bytes,
            rate_bps: span.map(|span| bytes as f64 * 8.0 / span),
            network,
            lost: timeline.lost,
        }
    }
}

impl Input {
    fn stage(self) -> Stage {
        match self {
            Self::Receive => Stage::Receive,
            Self::Load => Stage::Load,
        }
    }
}

impl Timeline {
    /// The PEs: index of the process and number.
    #[must_use]
    pub fn pes(&self) -> Vec<(usize, u32)> {
        let of_pe = |placed: &&Placed| placed.event.stage.site() == crate::Site::BackEnd;
        let mut pes: Vec<_> = self.events.iter().filter(of_pe).map(|it| (it.process, it.event.member)).collect();
        pes.sort_unstable_by_key(|(process, pe)| (*pe, *process));
        pes.dedup();
        pes
    }
}

/// The times in which the network was idle, each with its reason, in order; nanoseconds.
pub(crate) fn idle_times(timeline: &Timeline) -> Vec<(i64, i64, Reason)> {
    let coming = input(timeline).stage();
    let busy = times(timeline, coming);
    let rendering = times(timeline, Stage::Render);
    let pieces = Pieces::of(timeline, coming);

    let mut idle = Vec::new();
    for (start, end) in busy.gaps() {
        let (ready_at, sent_at) = pieces.before(end);
        let (Some(ready_at), sent_at) = (ready_at.or(sent_at), sent_at.unwrap_or(end)) else {
            let (rendered, other) = rendering.divide(start, end);
            idle.extend(rendered.into_iter().map(|(from, to)| (from, to, Reason::Render)));
            idle.extend(other.into_iter().map(|(from, to)| (from, to, Reason::Unknown)));
            continue;
        };
        let ready_at = ready_at.clamp(start, end);
        let sent_at = sent_at.clamp(ready_at, end);
        idle.push((start, ready_at, Reason::Source));
        let (rendered, other) = rendering.divide(ready_at, sent_at);
        idle.extend(rendered.into_iter().map(|(from, to)| (from, to, Reason::Render)));
        idle.extend(other.into_iter().map(|(from, to)| (from, to, Reason::Credit)));
        idle.push((sent_at, end, Reason::Path));
    }
    idle.retain(|(from, to, _)| from < to);
    idle.sort_unstable();
    idle
}

/// By step, in order of time: when its parts were put, when its pieces began to be sent, and when they began to come.
struct Pieces {
    put: BTreeMap<u64, Vec<i64>>,
    sent: BTreeMap<u64, Vec<i64>>,
    /// When, which step, and how many pieces of it came before.
    came: BTreeMap<i64, (u64, usize)>,
}

impl Pieces {
    fn of(timeline: &Timeline, coming: Stage) -> Self {
        let mut came = BTreeMap::new();
        for (step, starts) in by_step(timeline, coming, |event| event.start_ns) {
            for (before, at) in starts.into_iter().enumerate() {
                came.entry(at).or_insert((step, before));
            }
        }
        Self {
            put: by_step(timeline, Stage::Put, |event| event.end_ns),
            sent: by_step(timeline, Stage::SendPiece, |event| event.start_ns),
            came,
        }
    }

    /// When the piece that came at `end` was put and sent, as far as that is known: pieces of a step come in the order in which they are sent.
    fn before(&self, end: i64) -> (Option<i64>, Option<i64>) {
        let Some((step, number)) = self.came.get(&end) else { return (None, None) };
        let sent = self.sent.get(step).and_then(|sent| sent.get(*number).or(sent.last())).copied();
        let before = sent.unwrap_or(end);
        let put = self.put.get(step).and_then(|put| put.iter().rev().find(|at| **at <= before).or(put.first()));
        (put.copied(), sent)
    }
}

/// A time of every event of a stage, by step, in order.
fn by_step(timeline: &Timeline, stage: Stage, time: impl Fn(&Event) -> i64) -> BTreeMap<u64, Vec<i64>> {
    let mut all: BTreeMap<u64, Vec<i64>> = BTreeMap::new();
    for event in events(timeline, stage) {
        all.entry(event.step).or_default().push(time(event));
    }
    all.values_mut().for_each(|times| times.sort_unstable());
    all
}

/// The times in which something came in.
pub(crate) fn busy_times(timeline: &Timeline) -> Intervals {
    times(timeline, input(timeline).stage())
}

pub(crate) fn input(timeline: &Timeline) -> Input {
    if events(timeline, Stage::Receive).next().is_some() { Input::Receive } else { Input::Load }
}

fn events(timeline: &Timeline, stage: Stage) -> impl Iterator<Item = &Event> {
    timeline.events.iter().map(|placed| &placed.event).filter(move |event| event.stage == stage)
}

fn times(timeline: &Timeline, stage: Stage) -> Intervals {
    Intervals::union(events(timeline, stage).map(|event| (event.start_ns, event.end_ns)))
}

/// Median over the steps of what the slowest PE took for a stage, from its first start to its last end.
fn slowest_pe(timeline: &Timeline, stage: Stage) -> Option<f64> {
    let mut spans: BTreeMap<(u64, usize, u32), (i64, i64)> = BTreeMap::new();
    for Placed { process, event } in timeline.events.iter().filter(|placed| placed.event.stage == stage) {
        let key = (event.step, *process, event.member);
        let span = spans.entry(key).or_insert((event.start_ns, event.end_ns));
        *span = (span.0.min(event.start_ns), span.1.max(event.end_ns));
    }
    let mut slowest: BTreeMap<u64, i64> = BTreeMap::new();
    for ((step, ..), (start, end)) in spans {
        let longest = slowest.entry(step).or_default();
        *longest = (end - start).max(*longest);
    }
    median(slowest.into_values().map(seconds).collect())
}

/// Times between the ends of the back end's work on consecutive steps, and their mean.
fn periods(timeline: &Timeline) -> (Vec<f64>, Option<f64>) {
    let last_stage = [Stage::Encode, Stage::Render, Stage::Load, Stage::Receive].into_iter();
    let Some(stage) = last_stage.into_iter().find(|stage| events(timeline, *stage).next().is_some()) else {
        return (Vec::new(), None);
    };
    let mut last: BTreeMap<u64, i64> = BTreeMap::new();
    for event in events(timeline, stage) {
        let end = last.entry(event.step).or_insert(event.end_ns);
        *end = event.end_ns.max(*end);
    }
    let mut done: Vec<_> = last.into_values().collect();
    done.sort_unstable();
    let periods: Vec<_> = done.windows(2).map(|pair| seconds(pair[1] - pair[0])).collect();
    let mean = (!periods.is_empty()).then(|| periods.iter().sum::<f64>() / periods.len() as f64);
    (periods, mean)
}

fn overlap(timeline: &Timeline, coming: Stage) -> Option<f64> {
    let (rendering, busy) = (times(timeline, Stage::Render), times(timeline, coming));
    let both: i64 = rendering.as_slice().iter().map(|(start, end)| total(&busy.divide(*start, *end).0)).sum();
    let all = rendering.total();
    (all > 0).then(|| both as f64 / all as f64)
}

fn network(timeline: &Timeline) -> Network {
    let busy = busy_times(timeline);
    let ends = busy.as_slice().first().zip(busy.as_slice().last());
    let span = ends.map_or(0, |(first, last)| last.1 - first.0);
    if span == 0 {
        return Network::default();
    }
    let mut idle = BTreeMap::new();
    for (from, to, reason) in idle_times(timeline) {
        *idle.entry(reason).or_insert(0.0) += (to - from) as f64 / span as f64;
    }
    Network { span_s: seconds(span), busy: busy.total() as f64 / span as f64, idle }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        length if length % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

fn seconds(ns: i64) -> f64 {
    ns as f64 * 1e-9
}
