//! What a page tells the process, held against the rules of the protocol before anything believes it.

use serde::{Deserialize, Serialize};
use thiserror::Error;
use visapult_publish::Action;
use visapult_render::{Camera, TransferFunction};
use visapult_volume::StepIndex;

use super::lifelines::Events;

/// Largest control message accepted from a page, in bytes.
pub const MAX_CONTROL_BYTES: usize = 64 * 1024;
/// Largest edge of a page's viewport, in device pixels.
const MAX_VIEWPORT_EDGE: u32 = 4096;
/// Most control points of a page's transfer function.
const MAX_POINTS: usize = 256;

const KIND_VIEW: u8 = 64;
const KIND_ACK: u8 = 65;
const KIND_STEER: u8 = 66;
const KIND_CLOCK: u8 = 67;
const KIND_STAMPS: u8 = 68;
const KIND_LIFELINES: u8 = 69;
const KIND_PICK: u8 = 70;
const KIND_SERIES: u8 = 71;

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
    /// Segments and coarse bricks.
    Segments,
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
    /// Shape of the picture, width over height.
    pub(crate) fn aspect(&self) -> f64 {
        let [width, height] = self.viewport.map(f64::from);
        width / height
    }

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

/// A question for the time.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct AskClock {
    /// The page's time, to be given back.
    pub asked_ms: f64,
}

/// Whether events are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct AskLifelines {
    /// They are.
    pub on: bool,
}

/// A question for a value of the step that is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pick {
    /// To be given back.
    pub number: u32,
    /// Where.
    #[serde(flatten)]
    pub spot: Spot,
}

/// Where a value is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Spot {
    /// Where a ray of a picture shows most.
    Ray(PictureRay),
    /// Sample coordinates along x, y, z.
    Place([f64; 3]),
}

/// A ray of a picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PictureRay {
    /// Who sees the picture.
    pub camera: Camera,
    /// Its shape, width over height.
    pub aspect: f64,
    /// Where in it, in shares of its width and height from the upper left corner.
    pub at: [f64; 2],
}

impl Spot {
    /// # Errors
    /// What it breaks of the rules.
    pub(crate) fn validate(&self) -> Result<(), String> {
        match self {
            Self::Place(place) => check_place(place),
            Self::Ray(PictureRay { camera, aspect, at }) => {
                let most = f64::from(MAX_VIEWPORT_EDGE);
                if !(most.recip()..=most).contains(aspect) || !at.iter().all(|share| (0.0..=1.0).contains(share)) {
                    return Err(format!("{at:?} is no place in a picture of shape {aspect}"));
                }
                camera.validate().map_err(|problem| problem.to_string())
            }
        }
    }
}

fn check_place(place: &[f64; 3]) -> Result<(), String> {
    let is_one = place.iter().all(|coordinate| coordinate.is_finite());
    is_one.then_some(()).ok_or_else(|| format!("place {place:?} is none"))
}

/// A question for the values of a place at all steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskSeries {
    /// To be given back.
    pub number: u32,
    /// Of which field.
    pub field: usize,
    /// Sample coordinates along x, y, z; none ends what was asked for before.
    pub place: Option<[f64; 3]>,
}

/// What a page tells the process.
#[derive(Clone, Debug, PartialEq)]
pub enum FromPage {
    /// What it shows and wants.
    View(Box<View>),
    /// What has arrived.
    Ack(Ack),
    /// What it asks of the simulation.
    Steer(Action),
    /// What time is it?
    Clock(AskClock),
    /// What it did with the steps it was sent.
    Stamps(Events),
    /// Whether it wants to be told what is done to the latest steps.
    Lifelines(AskLifelines),
    /// Which value is there?
    Pick(Box<Pick>),
    /// Which are there at all steps?
    Series(AskSeries),
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
                let view: View = read(body, "View")?;
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
            KIND_STEER => read(body, "Steer").map(Self::Steer),
            KIND_CLOCK => read(body, "Clock").map(Self::Clock),
            KIND_STAMPS => {
                let stamps: Events = read(body, "Stamps")?;
                stamps.check_stamps().map_err(|problem| WireError::Rule { message: "Stamps", problem })?;
                Ok(Self::Stamps(stamps))
            }
            KIND_LIFELINES => read(body, "Lifelines").map(Self::Lifelines),
            KIND_PICK => {
                let pick: Pick = read(body, "Pick")?;
                pick.spot.validate().map_err(|problem| WireError::Rule { message: "Pick", problem })?;
                Ok(Self::Pick(Box::new(pick)))
            }
            KIND_SERIES => {
                let asked: AskSeries = read(body, "Series")?;
                let checked = asked.place.as_ref().map_or(Ok(()), check_place);
                checked.map_err(|problem| WireError::Rule { message: "Series", problem })?;
                Ok(Self::Series(asked))
            }
            other => Ok(Self::Unknown(other)),
        }
    }
}

fn read<'a, T: Deserialize<'a>>(body: &'a [u8], message: &'static str) -> Result<T, WireError> {
    serde_json::from_slice(body).map_err(|e| WireError::Json { message, problem: e.to_string() })
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
    fn what_is_asked_of_a_simulation_is_read() {
        let read = |text: &str| FromPage::decode(&[&[KIND_STEER], text.as_bytes()].concat());
        let set = Action::Set { name: "strength".to_owned(), value: 2.5 };
        assert_eq!(read(r#"{"action":"set","name":"strength","value":2.5}"#), Ok(FromPage::Steer(set)));
        assert_eq!(read(r#"{"action":"pause"}"#), Ok(FromPage::Steer(Action::Pause)));
        assert!(read(r#"{"action":"explode"}"#).unwrap_err().to_string().contains("Steer cannot be read"));
    }

    #[test]
    fn a_value_is_asked_for_at_a_place_or_in_a_picture() {
        let read = |text: &str| FromPage::decode(&[&[KIND_PICK], text.as_bytes()].concat());
        let at_place = Pick { number: 3, spot: Spot::Place([1.0, 2.5, 0.0]) };
        assert_eq!(read(r#"{"number":3,"place":[1,2.5,0]}"#), Ok(FromPage::Pick(Box::new(at_place))));
        let in_picture = r#"{"number":4,"ray":{"camera":{"distance":2},"aspect":1.5,"at":[0.25,1]}}"#;
        let Ok(FromPage::Pick(pick)) = read(in_picture) else { panic!("{in_picture} is read") };
        assert!(matches!(pick.spot, Spot::Ray(PictureRay { at: [0.25, 1.0], .. })));
        let damages =
            [("0.25", "-1"), ("1.5", "0"), ("1.5", "1e300"), (":2}", ":-2}"), ("0.25,1", "0.25"), ("ray", "way")];
        for (was, is) in damages {
            assert!(read(&in_picture.replace(was, is)).is_err(), "{was} as {is}");
        }
    }

    #[test]
    fn acks_roundtrip() {
        let ack = Ack { received_bytes: 1 << 40 };
        assert_eq!(FromPage::decode(&ack.encode()), Ok(FromPage::Ack(ack)));
    }
}
