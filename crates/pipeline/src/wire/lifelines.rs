//! What a page tells and is told of the stages that steps go through. Times are milliseconds of this host's clock.

use serde::{Deserialize, Serialize};
use visapult_trace::{Event, Stage};
use visapult_volume::StepIndex;

/// Most stamps in a message of a page.
const MOST_STAMPS: usize = 64;
/// Most events in a message to a page.
pub(crate) const MOST_EVENTS: usize = 256;
/// A page that believes it is so far from now has not understood the clock.
const FAR_MS: f64 = 3.6e6;

/// A stage that a step went through.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageEvent {
    /// Name of the stage.
    pub stage: String,
    /// PE or session; of a page's own stamps the session is known.
    #[serde(default)]
    pub member: u32,
    /// The step.
    pub step: StepIndex,
    /// Start.
    pub start_ms: f64,
    /// End.
    pub end_ms: f64,
    /// Bytes that were moved.
    #[serde(default)]
    pub bytes: u64,
}

/// What PEs and the page's session have been doing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Events {
    /// In no particular order.
    pub events: Vec<StageEvent>,
}

/// What time it is: the answer to a page's question.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// What the question said: the page's time.
    pub asked_ms: f64,
    /// When it was heard.
    pub heard_ms: f64,
    /// When this was said.
    pub answered_ms: f64,
}

impl From<&Event> for StageEvent {
    fn from(event: &Event) -> Self {
        Self {
            stage: event.stage.name().to_owned(),
            member: event.member,
            step: event.step,
            start_ms: event.start_ns as f64 * 1e-6,
            end_ms: event.end_ns as f64 * 1e-6,
            bytes: event.bytes,
        }
    }
}

impl StageEvent {
    /// As an event of `session`; none if it is no stage of a page, or its times make no sense at `now_ns`.
    pub(crate) fn of_page(&self, session: u32, now_ns: i64) -> Option<Event> {
        let stage = Stage::named(&self.stage).filter(|stage| matches!(stage, Stage::Receipt | Stage::Draw))?;
        let now_ms = now_ns as f64 * 1e-6;
        let near = |ms: f64| (ms - now_ms).abs() < FAR_MS;
        if !(near(self.start_ms) && near(self.end_ms) && self.end_ms >= self.start_ms) {
            return None;
        }
        let ns = |ms: f64| (ms * 1e6) as i64;
        let (start_ns, end_ns) = (ns(self.start_ms), ns(self.end_ms));
        Some(Event { stage, member: session, step: self.step, bytes: self.bytes, start_ns, end_ns })
    }
}

impl Events {
    pub(super) fn check_stamps(&self) -> Result<(), String> {
        let stamps = self.events.len();
        if stamps > MOST_STAMPS { Err(format!("{stamps} stamps in a message: at most {MOST_STAMPS}")) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_that_make_no_sense_are_passed_over() {
        let now_ns = 10_000_000_000;
        let sound =
            StageEvent { stage: "drawn".to_owned(), member: 0, step: 7, start_ms: 9_990.0, end_ms: 9_999.5, bytes: 0 };
        let event = sound.of_page(3, now_ns).unwrap();
        assert_eq!(
            (event.stage, event.member, event.start_ns, event.end_ns),
            (Stage::Draw, 3, 9_990_000_000, 9_999_500_000)
        );
        for nonsense in [
            StageEvent { stage: "render".to_owned(), ..sound.clone() },
            StageEvent { stage: "later".to_owned(), ..sound.clone() },
            StageEvent { end_ms: 9_989.0, ..sound.clone() },
            StageEvent { start_ms: -1e9, ..sound.clone() },
            StageEvent { end_ms: f64::NAN, ..sound.clone() },
        ] {
            assert_eq!(nonsense.of_page(3, now_ns), None);
        }
    }
}
