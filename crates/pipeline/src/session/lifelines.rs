//! What a page that wants to see lifelines is told: a few times a second, what was done to the latest steps.

use std::time::{Duration, Instant};

use visapult_trace::{Event, Site, Stage, Tap};

use super::ControlSink;
use crate::wire::{Events, MOST_EVENTS, ToPage};

const EVERY: Duration = Duration::from_millis(250);

/// Tells of events as they come, while it is wanted.
#[derive(Default)]
pub(super) struct Lifelines {
    tap: Option<Tap>,
    told: Option<Instant>,
}

impl Lifelines {
    /// Tells the page of `session` what is new; when to do so again.
    pub(super) fn tell(&mut self, wanted: bool, session: u32, control: &ControlSink) -> Option<Instant> {
        if !wanted {
            self.tap = None;
            return None;
        }
        let tap = self.tap.get_or_insert_with(Tap::open);
        let now = Instant::now();
        if let Some(at) = self.told.map(|told| told + EVERY).filter(|at| *at > now) {
            return Some(at);
        }
        let concerns = |event: &Event| {
            event.stage.site() == Site::BackEnd || event.stage == Stage::Send && event.member == session
        };
        let events: Vec<_> = tap.take().iter().filter(|event| concerns(event)).map(Into::into).collect();
        for events in events.chunks(MOST_EVENTS) {
            // What finds no room is not told: the next events are as good.
            control(ToPage::Events(Events { events: events.to_vec() }).encode());
        }
        self.told = Some(now);
        Some(now + EVERY)
    }
}
