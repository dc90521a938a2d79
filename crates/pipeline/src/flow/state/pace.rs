//! How far ahead steps of a running simulation are asked for, by how fast they have come and how late they were asked for.

use std::time::Instant;

use visapult_volume::StepIndex;

use super::super::meter::Meter;

/// Steps that are asked for ahead, at least and at most.
const AHEAD: std::ops::RangeInclusive<usize> = 2..=32;
/// The same before it is known how fast they come.
const FIRST_AHEAD: usize = 4;
/// Round trips from the question for a step until it is known that all of it has come, the time of its bytes left out: question, offer,
/// acceptance, data, the search for what was lost at its end, and the word that it has ended.
const ROUND_TRIPS: f64 = 6.0;
/// Most steps that ranks may be ahead of what is asked of them.
pub(super) const MOST_LEAD: StepIndex = 1024;

#[derive(Default)]
pub(in crate::flow) struct Pace {
    /// Bytes received.
    throughput: Meter,
    /// Steps received per second, of late.
    received_per_s: f64,
    /// Steps that fill the path from question to answer.
    ahead: usize,
    most_ahead: usize,
    /// Bytes of the last step.
    step_bytes: u64,
    /// How far ahead of the newest step the next is asked for: ranks move on while the question is on its way.
    lead: StepIndex,
    /// Steps that ranks do while a word is on its way to them.
    on_the_way: StepIndex,
}

impl Pace {
    /// At most so many steps are asked for ahead.
    pub(super) fn new(most_ahead: usize) -> Self {
        Self { ahead: FIRST_AHEAD, most_ahead, lead: 1, ..Self::default() }
    }

    /// Nothing was asked for in the meantime.
    pub(super) fn rest(&mut self) {
        self.throughput.rest();
    }

    /// Ranks begin anew.
    pub(in crate::flow) fn begin_run(&mut self) {
        self.lead = 1;
    }

    /// A step of so many bytes has come, from ranks that are so far away, and do so many steps while a word is on its way to them.
    pub(super) fn on_step(&mut self, step_bytes: usize, rtt_s: f64, on_the_way: StepIndex) {
        self.throughput.add(step_bytes as f64, Instant::now());
        let steps_per_s = self.throughput.per_s() / step_bytes as f64;
        // Fewer would leave the path idle, more would only wait.
        let under_way = (steps_per_s * rtt_s * ROUND_TRIPS).ceil() as usize;
        self.ahead = (under_way + AHEAD.start()).min(*AHEAD.end());
        (self.received_per_s, self.step_bytes) = (steps_per_s, step_bytes as u64);
        self.on_the_way = on_the_way;
    }

    /// A step was asked for so many steps too late: the next are asked for further ahead.
    pub(in crate::flow) fn fall_behind(&mut self, late_by: StepIndex) {
        self.lead = late_by.saturating_add(self.lead + 1).min(MOST_LEAD);
    }

    /// Steps come in time: once in a while less far ahead is tried, where that is far.
    pub(super) fn keep_up(&mut self, next: StepIndex) {
        self.lead = self.lead.saturating_sub(u64::from(self.lead > 4 && next.is_multiple_of(16))).max(1);
    }

    /// How far ahead of the newest step the next is asked for.
    pub(in crate::flow) fn lead(&self) -> StepIndex {
        self.lead.max(self.on_the_way)
    }

    /// Bytes of a step that has not begun to come.
    pub(super) const fn step_bytes(&self) -> u64 {
        self.step_bytes
    }

    /// Steps that may be asked for and not have come.
    pub(super) fn steps(&self) -> usize {
        self.ahead.min(self.most_ahead)
    }

    /// The same where ranks, which compute so many a second, have yet to come to the next that is asked for: those until then are asked for, too.
    pub(super) fn steps_with_lead(&self, computed_per_s: f64) -> usize {
        const ROOM: f64 = 1.5;
        let lead = self.lead() as f64;
        let received_per_s = self.received_per_s.min(computed_per_s);
        let until = (ROOM * received_per_s * lead / computed_per_s.max(1e-6)).ceil().min(lead) as usize;
        (self.ahead + until).min(self.most_ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_for_too_late_is_asked_for_further_ahead_and_by_and_by_less_far() {
        let mut pace = Pace::new(usize::MAX);
        assert_eq!(pace.lead(), 1);
        pace.fall_behind(10);
        assert_eq!(pace.lead(), 12);
        (0..32).for_each(|next| pace.keep_up(next));
        assert_eq!(pace.lead(), 10);
        (0..3200).for_each(|next| pace.keep_up(next));
        assert_eq!(pace.lead(), 4);
        // Steps that pass while a word is on its way are passed however well it goes.
        pace.on_step(1 << 20, 0.1, 7);
        assert_eq!(pace.lead(), 7);
        pace.begin_run();
        pace.on_step(1 << 20, 0.1, 0);
        assert_eq!(pace.lead(), 1);
    }

    #[test]
    fn no_more_steps_are_asked_for_than_may_be() {
        assert_eq!([0, 3, 99].map(|most| Pace::new(most).steps()), [0, 3, FIRST_AHEAD]);
        let mut slow = Pace::new(99);
        slow.on_step(1 << 20, 0.1, 0);
        assert_eq!(slow.steps(), *AHEAD.start());
        // Nothing has come in a second yet, as far as is known.
        assert_eq!((slow.steps_with_lead(50.0), Pace::new(1).steps_with_lead(50.0)), (*AHEAD.start(), 1));
    }
}
