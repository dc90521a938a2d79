//! What the process tells a page on the control connection: one kind byte, one JSON object.

use serde::{Deserialize, Serialize};
use visapult_publish::messages::AlongAxis;
use visapult_render::{Picked, TransferFunction};
use visapult_volume::{Grid, StepIndex, StepSpan};

use super::freshness::Freshness;
use super::lifelines::{Clock, Events};
use crate::flow::SteeringView;
use crate::step_store::StepKey;

const KIND_WELCOME: u8 = 1;
const KIND_STEPS: u8 = 2;
const KIND_FIELD: u8 = 3;
const KIND_PLAN: u8 = 4;
const KIND_NOTICE: u8 = 5;
const KIND_STEERING: u8 = 6;
const KIND_FRESHNESS: u8 = 7;
const KIND_CLOCK: u8 = 8;
const KIND_EVENTS: u8 = 9;
const KIND_PICKED: u8 = 10;
const KIND_SERIES: u8 = 11;

/// What the process tells a page on the control connection.
#[derive(Clone, Debug, PartialEq)]
pub enum ToPage {
    /// First message of a session.
    Welcome(Box<Welcome>),
    /// The readable steps changed.
    Steps(Steps),
    /// Range, histogram and default transfer function of a field.
    Field(Field),
    /// What is being sent, and why.
    Plan(Planned),
    /// A sentence for the user.
    Notice(Notice),
    /// What can be steered, and what was.
    Steering(Box<SteeringView>),
    /// How much of a step is its own.
    Freshness(Freshness),
    /// What time it is.
    Clock(Clock),
    /// What was done to the latest steps.
    Events(Events),
    /// A value that was asked for.
    Picked(Answer),
    /// Values of a place at some of the steps.
    Series(Series),
}

/// A value that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Number of the question.
    pub number: u32,
    /// Index into the welcome's fields.
    pub field: usize,
    /// Step that it is of.
    pub step: StepIndex,
    /// Time of the step, where it is known.
    pub time: Option<f64>,
    /// What was found; nothing where nothing shows.
    pub picked: Option<Picked>,
    /// Why it cannot be told, where it cannot.
    pub problem: Option<String>,
}

/// Values of a place that was asked for, at some of the steps; others follow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Number of the question.
    pub number: u32,
    /// Index into the welcome's fields.
    pub field: usize,
    /// In no order of steps.
    pub values: Vec<AtStep>,
    /// How many come in all.
    pub of: u64,
    /// Whether these are the last.
    pub is_over: bool,
    /// Why the first cannot be told of those that cannot be.
    pub problem: Option<String>,
}

/// The value of a place at a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AtStep {
    /// The step.
    pub step: StepIndex,
    /// Its time, where it is known.
    pub time: Option<f64>,
    /// None where it is missing, or cannot be read.
    pub value: Option<f32>,
}

/// First message of a session: what there is to see.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Welcome {
    /// Version of the view protocol.
    pub protocol: u32,
    /// Name and version of the program.
    pub server: String,
    /// Session to name on data connections.
    pub session: String,
    /// Number of data connections to open.
    pub groups: usize,
    /// Whether it may steer a simulation, or only watch.
    pub steers: bool,
    /// Whether the page is asked for its stamps.
    pub trace: bool,
    /// What is being shown.
    pub source: SourceShape,
    /// Steps that can be read now.
    pub steps: Steps,
}

/// What is being shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceShape {
    /// File or simulation.
    pub name: String,
    /// Format in a few words.
    pub format: String,
    /// Whether steps keep coming.
    pub live: bool,
    /// Unit of the times of steps.
    pub time_unit: String,
    /// Calendar in which that counts, as netCDF calls it; empty where none is told.
    pub calendar: String,
    /// The finest grid.
    pub grid: GridShape,
    /// Where its samples lie along x, y, z, as the source has it; none where the grid says as much, or it is not known.
    pub along: [Option<AlongAxis>; 3],
    /// Fields on that grid.
    pub fields: Vec<FieldName>,
    /// What the source has besides, of other shapes, and how it is opened, as a line to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<String>,
}

/// A grid as a page needs it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GridShape {
    /// Samples per axis, `[nx, ny, nz]`.
    pub size: [usize; 3],
    /// Distance between samples, in `unit`.
    pub spacing: [f64; 3],
    /// Position of the first sample, in `unit`.
    pub origin: [f64; 3],
    /// Unit of length.
    pub unit: String,
    /// `point` or `cell`.
    pub centering: String,
}

impl From<&Grid> for GridShape {
    fn from(grid: &Grid) -> Self {
        Self {
            size: grid.size,
            spacing: grid.spacing,
            origin: grid.origin,
            unit: grid.unit.clone(),
            centering: grid.centering.name().to_owned(),
        }
    }
}

/// Name and unit of a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldName {
    /// Name as the source gives it.
    pub name: String,
    /// Unit of its values.
    pub unit: String,
}

/// Steps that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steps {
    /// Oldest.
    pub first: StepIndex,
    /// Newest.
    pub last: StepIndex,
}

impl From<StepSpan> for Steps {
    fn from(span: StepSpan) -> Self {
        Self { first: span.first, last: span.last }
    }
}

/// Range, histogram and default transfer function of a field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// Index into the welcome's fields.
    pub field: usize,
    /// Step the histogram was taken from.
    pub step: StepIndex,
    /// It was taken from few values, while the step is still being read: another message follows.
    pub provisional: bool,
    /// That of the histogram, and of the default transfer function; none where no value is finite.
    pub range: Option<[f32; 2]>,
    /// Smallest and largest value of this step.
    pub extent: Option<[f32; 2]>,
    /// Finite values of this step in equal bins over `range`.
    pub histogram: Vec<u64>,
    /// Finite values of this step.
    pub finite: u64,
    /// Values of this step that are missing or not finite.
    pub missing: u64,
    /// Default transfer function.
    pub transfer_function: TransferFunction,
}

/// Proxies a page can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProxyKind {
    /// Multiresolution scalar bricks.
    Bricks,
    /// View-aligned slabs of colour or of the field itself, with coarse bricks.
    Slabs,
    /// Per ray of a key view the field as cubics, with coarse bricks.
    Segments,
}

/// A plan as a page is told of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// Sequence of the newest view that was known.
    pub view: u32,
    /// The plan.
    #[serde(flatten)]
    pub plan: Plan,
}

/// What is being sent, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What the page turns by itself.
    pub proxy: ProxyKind,
    /// Finest level of bricks sent.
    pub level: u32,
    /// Bits per sample of those bricks.
    pub bits: u8,
    /// The reason in one sentence.
    pub reason: String,
    /// Measured throughput to this page, bits per second; 0 while unknown.
    pub throughput_bps: f64,
    /// Bytes this plan costs per step or view.
    pub bytes: u64,
}

/// How bad a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// For information.
    Info,
    /// Something is not as asked.
    Warning,
    /// Something failed.
    Error,
}

/// A sentence for the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// How bad.
    pub severity: Severity,
    /// What, where, what to do.
    pub text: String,
    /// The step of a field that cannot be shown, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<StepKey>,
}

impl Notice {
    /// About no step of its own.
    pub const fn new(severity: Severity, text: String) -> Self {
        Self { severity, text, failed: None }
    }
}

impl ToPage {
    /// The bytes of the message.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Welcome(body) => json_message(KIND_WELCOME, body.as_ref()),
            Self::Steps(body) => json_message(KIND_STEPS, body),
            Self::Field(body) => json_message(KIND_FIELD, body),
            Self::Plan(body) => json_message(KIND_PLAN, body),
            Self::Notice(body) => json_message(KIND_NOTICE, body),
            Self::Steering(body) => json_message(KIND_STEERING, body.as_ref()),
            Self::Freshness(body) => json_message(KIND_FRESHNESS, body),
            Self::Clock(body) => json_message(KIND_CLOCK, body),
            Self::Events(body) => json_message(KIND_EVENTS, body),
            Self::Picked(body) => json_message(KIND_PICKED, body),
            Self::Series(body) => json_message(KIND_SERIES, body),
        }
    }
}

fn json_message(kind: u8, body: &impl Serialize) -> Vec<u8> {
    let mut bytes = vec![kind];
    serde_json::to_writer(&mut bytes, body).expect("control messages have string keys and finite structure");
    bytes
}
