//! Control messages: one kind byte, one JSON object.

use serde::{Deserialize, Serialize};
use thiserror::Error;
use visapult_render::{Camera, TransferFunction};
use visapult_volume::{Centering, Grid, StepIndex, StepSpan};

/// Largest control message accepted from a page, in bytes.
pub const MAX_CONTROL_BYTES: usize = 64 * 1024;
/// Largest edge of a page's viewport, in device pixels.
const MAX_VIEWPORT_EDGE: u32 = 4096;
/// Most control points of a page's transfer function.
const MAX_POINTS: usize = 256;

const KIND_WELCOME: u8 = 1;
const KIND_STEPS: u8 = 2;
const KIND_FIELD: u8 = 3;
const KIND_PLAN: u8 = 4;
const KIND_NOTICE: u8 = 5;
const KIND_VIEW: u8 = 64;
const KIND_ACK: u8 = 65;

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
    Plan(Plan),
    /// A sentence for the user.
    Notice(Notice),
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
    /// Unit of `times`.
    pub time_unit: String,
    /// Time of each step, or none.
    pub times: Vec<f64>,
    /// The finest grid.
    pub grid: GridShape,
    /// Fields on that grid.
    pub fields: Vec<FieldName>,
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
        let centering = match grid.centering {
            Centering::Point => "point",
            Centering::Cell => "cell",
        };
        Self {
            size: grid.size,
            spacing: grid.spacing,
            origin: grid.origin,
            unit: grid.unit.clone(),
            centering: centering.to_owned(),
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
    /// Smallest and largest value over the steps known; none where no value is finite.
    pub range: Option<[f32; 2]>,
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
    /// View-aligned colour layers, with coarse bricks.
    Slabs,
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
}

/// Width and height in device pixels.
pub type Viewport = [u32; 2];

/// Which proxy the user wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProxyChoice {
    /// The planner decides.
    #[default]
    Auto,
    /// Bricks only.
    Bricks,
    /// Slabs and coarse bricks.
    Slabs,
}

/// What the page shows and wants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// Number of this view, growing.
    pub sequence: u32,
    /// Where the eye is.
    pub camera: Camera,
    /// Size of the picture.
    pub viewport: Viewport,
    /// Field shown.
    pub field: usize,
    /// Step wanted; none follows the newest.
    pub step: Option<StepIndex>,
    /// Whether the user is turning the view now.
    #[serde(default)]
    pub moving: bool,
    /// Which proxy is wanted.
    #[serde(default)]
    pub proxy: ProxyChoice,
    /// Colours and opacities.
    pub transfer_function: TransferFunction,
}

impl View {
    fn validate(&self) -> Result<(), WireError> {
        let broken = |problem: String| Err(WireError::Rule { message: "View", problem });
        if let Err(problem) = self.camera.validate() {
            return broken(problem.to_string());
        }
        if self.viewport.iter().any(|&edge| edge == 0 || edge > MAX_VIEWPORT_EDGE) {
            return broken(format!("viewport {:?} must have edges of 1 to {MAX_VIEWPORT_EDGE} pixels", self.viewport));
        }
        if self.transfer_function.points.len() > MAX_POINTS {
            return broken(format!("a transfer function may have at most {MAX_POINTS} points"));
        }
        self.transfer_function.validate().map_err(|e| WireError::Rule { message: "View", problem: e.to_string() })
    }
}

/// Bytes of bulk messages that have arrived on a data connection since it opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Bytes received so far.
    pub received_bytes: u64,
}

impl Ack {
    const BYTES: usize = 12;

    /// As sent by a page.
    pub fn encode(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0] = KIND_ACK;
        bytes[4..].copy_from_slice(&self.received_bytes.to_le_bytes());
        bytes
    }
}

/// What a page tells the process.
#[derive(Clone, Debug, PartialEq)]
pub enum FromPage {
    /// What it shows and wants.
    View(Box<View>),
    /// What has arrived.
    Ack(Ack),
    /// A kind from a later version; to be skipped.
    Unknown(u8),
}

/// Why a message from a page is refused.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum WireError {
    /// No bytes at all.
    #[error("empty message: expected a kind byte")]
    Empty,
    /// Longer than any legal message.
    #[error("message of {bytes} bytes is longer than the {MAX_CONTROL_BYTES} allowed")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// Not the JSON of its kind.
    #[error("{message} cannot be read: {problem}")]
    Json {
        /// Kind of message.
        message: &'static str,
        /// What the parser found.
        problem: String,
    },
    /// Breaks a rule of its kind.
    #[error("{message} is refused: {problem}")]
    Rule {
        /// Kind of message.
        message: &'static str,
        /// Which rule.
        problem: String,
    },
}

impl FromPage {
    /// Reads a message from a page.
    ///
    /// # Errors
    /// [`WireError`] says which rule of the protocol the bytes break.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let (&kind, body) = bytes.split_first().ok_or(WireError::Empty)?;
        if bytes.len() > MAX_CONTROL_BYTES {
            return Err(WireError::TooLong { bytes: bytes.len() });
        }
        match kind {
            KIND_VIEW => {
                let view: View = serde_json::from_slice(body)
                    .map_err(|e| WireError::Json { message: "View", problem: e.to_string() })?;
                view.validate()?;
                Ok(Self::View(Box::new(view)))
            }
            KIND_ACK => {
                let count = bytes.get(4..Ack::BYTES).filter(|_| bytes.len() == Ack::BYTES);
                let count: Option<[u8; 8]> = count.and_then(|b| b.try_into().ok());
                let received_bytes = count.map(u64::from_le_bytes).ok_or_else(|| WireError::Rule {
                    message: "Ack",
                    problem: format!("{} bytes long, expected {}", bytes.len(), Ack::BYTES),
                })?;
                Ok(Self::Ack(Ack { received_bytes }))
            }
            other => Ok(Self::Unknown(other)),
        }
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
        }
    }
}

fn json_message(kind: u8, body: &impl Serialize) -> Vec<u8> {
    let mut bytes = vec![kind];
    serde_json::to_writer(&mut bytes, body).expect("control messages have string keys and finite structure");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view_json(change: impl Fn(&mut serde_json::Value)) -> Vec<u8> {
        let mut view = serde_json::json!({
            "sequence": 17,
            "camera": {"azimuth": 30, "elevation": 20, "distance": 3, "fov": 30, "target": [0, 0, 0]},
            "viewport": [1024, 768], "field": 0, "step": null, "moving": false, "proxy": "auto",
            "transfer_function": {"range": [-1, 1], "points": [[0, 0, 0, 0, 0], [1, 1, 1, 1, 1]]}
        });
        change(&mut view);
        let mut bytes = vec![KIND_VIEW];
        bytes.extend(view.to_string().into_bytes());
        bytes
    }

    #[test]
    fn a_view_is_read_and_unknown_members_are_ignored() {
        let decoded = FromPage::decode(&view_json(|v| v["later"] = true.into()));
        let Ok(FromPage::View(view)) = decoded else { panic!("{decoded:?}") };
        assert_eq!((view.sequence, view.step, view.viewport), (17, None, [1024, 768]));
    }

    #[test]
    fn views_that_break_rules_are_refused_with_the_rule() {
        let refused = |change: &dyn Fn(&mut serde_json::Value)| {
            FromPage::decode(&view_json(change)).expect_err("must be refused").to_string()
        };
        assert!(refused(&|v| v["viewport"] = serde_json::json!([0, 10])).contains("viewport"));
        assert!(refused(&|v| v["camera"]["distance"] = (-1.0).into()).contains("distance"));
        assert!(refused(&|v| v["camera"] = "here".into()).contains("View cannot be read"));
        let many: Vec<_> = (0..300).map(|i| [f64::from(i) / 300.0, 0.0, 0.0, 0.0, 0.0]).collect();
        assert!(refused(&|v| v["transfer_function"]["points"] = serde_json::json!(many)).contains("256"));
    }

    #[test]
    fn rubbish_is_refused_and_later_kinds_are_skipped() {
        assert_eq!(FromPage::decode(&[]), Err(WireError::Empty));
        assert!(FromPage::decode(&[KIND_VIEW, 0xff, 0x00]).is_err());
        assert!(FromPage::decode(&[KIND_ACK, 0, 0]).is_err());
        assert!(FromPage::decode(&vec![KIND_VIEW; MAX_CONTROL_BYTES + 1]).is_err());
        assert_eq!(FromPage::decode(&[200, 1, 2]), Ok(FromPage::Unknown(200)));
    }

    #[test]
    fn acks_roundtrip() {
        let ack = Ack { received_bytes: 1 << 40 };
        assert_eq!(FromPage::decode(&ack.encode()), Ok(FromPage::Ack(ack)));
    }
}
