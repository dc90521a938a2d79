//! What the processes of a back end say to one another: notes in JSON, questions of the head with answers in bytes.

use serde::{Deserialize, Serialize};
use visapult_render::{Camera, Form, TransferFunction};
use visapult_volume::StepIndex;

use super::images::ImagePlan;
use super::membership::Membership;
use super::slabs::SlabPlan;
use crate::wire::{MissingPart, Spot};

/// What all processes tell one another before anything else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Agreement {
    /// PEs of all processes, as the head has it.
    pub(crate) pes: usize,
    /// What it was asked for: all the same.
    pub(crate) asked: Vec<String>,
    /// The machine it runs on.
    pub(crate) machine: String,
}

/// What the head tells hands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(crate) enum Order {
    /// Who there is from now on: all that was under way is void.
    Members(Membership),
    /// To ask publishers for a step.
    Want {
        /// The step.
        step: StepIndex,
        /// Fields of it.
        fields: Vec<usize>,
    },
    /// A step is not needed any more.
    Forget {
        /// The step.
        step: StepIndex,
    },
    /// What time it is at the head, in nanoseconds of its clock.
    Clock {
        /// What the question said.
        asked: i64,
        /// When it was heard.
        heard: i64,
        /// When this was said.
        answered: i64,
    },
    /// The back end ends.
    End,
}

/// What a hand tells the head.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(crate) enum News {
    /// Ranks of a simulation may dial it at this URL.
    Door {
        /// With the token.
        url: String,
    },
    /// It asks what time it is, at `asked` by its own clock, in nanoseconds.
    Clock {
        /// Given back with the answer.
        asked: i64,
    },
    /// It leaves.
    Leaves {
        /// Why.
        why: String,
    },
    /// All ranks of the simulation have declared what they publish.
    Ready,
    /// A step has come.
    Got {
        /// Whose members' it was.
        epoch: u64,
        /// The step.
        step: StepIndex,
        /// Bytes of the values.
        bytes: u64,
        /// Bytes of them that are of this step.
        fresh: u64,
        /// Ranks of the simulation of which nothing has come.
        missing: Vec<MissingPart>,
    },
    /// A step will not come.
    Missed {
        /// Whose members' it was.
        epoch: u64,
        /// The step.
        step: StepIndex,
        /// The newest that a rank of the simulation has come to.
        newest: StepIndex,
    },
}

/// A question about a step of a field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Question {
    pub(crate) field: usize,
    pub(crate) step: StepIndex,
    /// What the head has under this number, in words: who has something else would give parts of another picture.
    pub(crate) shown: String,
    pub(crate) what: What,
}

/// What is asked of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum What {
    /// Something of its PEs, for which it needs nobody.
    Of(OfStep),
    /// Its tiles of slabs.
    Slabs(SlabPlan),
    /// Its patches of an exact image.
    Image(ImagePlan),
}

/// What is asked of the PEs of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OfStep {
    /// To load it: the range of its values.
    Load,
    /// How often values are in each of equal bins over a range.
    Count([f32; 2]),
    /// A level of bricks.
    Bricks {
        /// Level of detail.
        level: u32,
        /// Of a code.
        bits: u8,
        /// Values beyond are at its ends, where there is one.
        kept: Option<[f32; 2]>,
    },
    /// Its segments.
    Segments {
        /// The key view.
        camera: Camera,
        /// Rays per row, and rows.
        rays: [u16; 2],
        /// Most segments of a ray.
        segments: u16,
        /// With its range.
        transfer_function: TransferFunction,
        /// Values that codes divide.
        range: [f32; 2],
    },
    /// What proxies of it would be worth.
    Predictions {
        /// The key view, and the shape of its picture, width over height.
        camera: Camera,
        aspect: f64,
        /// With its range.
        transfer_function: TransferFunction,
        /// From where they are looked at.
        views: Vec<Camera>,
        /// Which.
        forms: Vec<Form>,
    },
    /// What it has of scalar slabs.
    ScalarSlabs {
        /// The key view.
        camera: Camera,
        /// Rays per row, and rows.
        rays: [u16; 2],
        /// Number of slabs.
        slabs: u16,
        /// Values that codes divide.
        range: [f32; 2],
    },
    /// What it shows where a page points.
    Pick {
        /// Where.
        spot: Spot,
        /// With its range.
        transfer_function: TransferFunction,
    },
    /// Between which distances from the key eye there is anything to see.
    Depths {
        /// The key view.
        camera: Camera,
        /// With its range.
        transfer_function: TransferFunction,
    },
}

/// A message between two processes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Message<'a> {
    /// JSON.
    Note(&'a [u8]),
    /// A question or the answer to it, by its number.
    Work(u64, &'a [u8]),
    /// What a process owes another for work that several do together, by its number.
    Part(u64, &'a [u8]),
}

const NOTE: u8 = 0;
const WORK: u8 = 1;
const PART: u8 = 2;

impl<'a> Message<'a> {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Note(json) => [&[NOTE], *json].concat(),
            Self::Work(number, body) => [&[WORK], &number.to_le_bytes()[..], body].concat(),
            Self::Part(number, body) => [&[PART], &number.to_le_bytes()[..], body].concat(),
        }
    }

    pub(crate) fn of(bytes: &'a [u8]) -> Option<Self> {
        match bytes.split_first()? {
            (&NOTE, json) => Some(Self::Note(json)),
            (kind @ (&WORK | &PART), rest) => {
                let (number, body) = rest.split_first_chunk()?;
                let message = if *kind == WORK { Self::Work } else { Self::Part };
                Some(message(u64::from_le_bytes(*number), body))
            }
            _ => None,
        }
    }
}

/// Plain data as JSON.
pub(crate) fn json(data: &impl Serialize) -> Vec<u8> {
    #[expect(clippy::expect_used, reason = "plain data")]
    serde_json::to_vec(data).expect("plain data")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_the_way_and_damaged_ones_are_none() {
        let work = Message::Work(7, b"body").to_bytes();
        assert_eq!(Message::of(&work), Some(Message::Work(7, b"body")));
        let part = Message::Part(9, b"part").to_bytes();
        assert_eq!(Message::of(&part), Some(Message::Part(9, b"part")));
        let note = Message::Note(b"{}").to_bytes();
        assert_eq!(Message::of(&note), Some(Message::Note(b"{}")));
        assert_eq!(Message::of(&work[..6]), None);
        assert_eq!(Message::of(&[9]), None);
        assert_eq!(Message::of(&[]), None);
    }

    #[test]
    fn questions_survive_the_way() {
        let transfer_function = TransferFunction { range: Some([0.1, 0.7]), points: vec![[0.0; 5], [1.0; 5]] };
        let camera = Camera { azimuth_deg: 0.1, ..Camera::default() };
        let (size, runs) = ([64, 48], vec![(0, vec![1, 2]), (1, vec![4])]);
        let what = What::Image(ImagePlan { number: 3, camera, transfer_function, size, sample_step: 0.1, runs });
        let question = Question { field: 1, step: 9, shown: "density".to_owned(), what };
        assert_eq!(serde_json::from_slice::<Question>(&json(&question)).unwrap(), question);
    }
}
