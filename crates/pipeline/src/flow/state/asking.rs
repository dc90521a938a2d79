//! Which steps of a running simulation are asked for, and how far ahead.

use std::time::Duration;

use visapult_publish::is_nearly_through;
use visapult_publish::messages::{FromBackEnd, Want, note};
use visapult_ripp_net::Session;
use visapult_volume::StepIndex;

use super::super::assembly::Assembly;
use super::{Link, State};

impl State {
    /// There is somebody to ask. Ranks that are late are waited for; those that have left are not.
    pub(in crate::flow) fn can_ask(&self) -> bool {
        let had_steps = !self.kept.is_empty() || self.convoy.span_before.is_some();
        self.all_there() || had_steps && self.ranks() > 0
    }

    /// Somebody looks, and no step has been asked for: which it is to be is known once all ranks are there.
    pub(in crate::flow) fn expects_first(&self) -> bool {
        let is_asked = !self.asked.is_empty() || !self.open_wants.is_empty();
        self.looks > 0 && !is_asked && self.assemblies.is_empty() && self.kept.is_empty()
    }

    /// It was asked for, and is on its way.
    pub(in crate::flow) fn is_waited_for(&self, step: StepIndex) -> bool {
        self.asked.contains_key(&step) || self.convoy.waits_for(step)
    }

    pub(in crate::flow) fn ask(&mut self, step: StepIndex, or_newer: bool, fields: Vec<usize>) {
        self.tell_present(&FromBackEnd::Want(Want { step, or_newer, fields: fields.clone() }));
        if self.expects_first() {
            self.links.iter().filter_map(|link| link.session.as_ref()).for_each(|session| session.nudge());
        }
        if or_newer {
            self.open_wants.push_back(fields);
        } else {
            self.order_want(step, &fields);
            self.asked.insert(step, fields);
            self.next = self.next.max(step.saturating_add(1));
            if self.crew.is_some() && !self.links.iter().all(Link::is_present) {
                self.begin_all_asked();
            }
        }
    }

    /// Asks once more for a step that is kept, with the fields that have been looked at since, where all ranks are still at it. Whether it is on
    /// its way.
    pub(in crate::flow) fn ask_for_more_of(&mut self, step: StepIndex) -> bool {
        // Hands are told by the head.
        if self.is_hand() || !self.keeps(step) {
            return false;
        }
        let are_at_it = self.present().next().is_some() && self.present().all(|link| link.newest <= Some(step));
        if are_at_it && self.can_ask() && !self.is_waited_for(step) {
            self.ask(step, false, self.active.iter().copied().collect());
        }
        self.is_waited_for(step)
    }

    /// Asks a rank that has come back for what the others were asked for meanwhile, and it before, where it is not too late for that.
    pub(in crate::flow) fn ask_again(&self, rank: usize, session: &Session) {
        let comes = |step: &StepIndex| self.assemblies.get(step).is_none_or(|assembly| assembly.waits_for(rank));
        for (step, fields) in self.asked.iter().filter(|(step, _)| comes(step)) {
            // A session that has ended is noticed by its thread.
            let _ =
                session.note(&note(&FromBackEnd::Want(Want { step: *step, or_newer: false, fields: fields.clone() })));
        }
    }

    /// What was asked for is void, and what had come of it.
    pub(in crate::flow) fn forget_asked(&mut self) {
        self.assemblies.clear();
        self.asked.clear();
        (self.next, self.asked_before) = (0, None);
    }

    /// Somebody begins to look.
    pub(in crate::flow) fn begin_look(&mut self) {
        self.looks += 1;
        if self.looks == 1 {
            self.pace.rest();
            self.ask_ahead();
        }
    }

    /// Asks a running simulation for steps ahead, while somebody looks or every one is to be taken.
    pub(in crate::flow) fn ask_ahead(&mut self) {
        if self.is_hand() || !self.is_live() || !self.can_ask() {
            return;
        }
        let fields: Vec<usize> = self.active.iter().copied().collect();
        if self.takes_every() {
            return self.ask_every(&fields);
        }
        if self.looks == 0 {
            return;
        }
        if self.links.len() == 1 && self.crew.is_none() {
            // One publisher knows best which step is the next that it can send.
            while self.open_wants.len() + self.assemblies.len() < self.pace.steps() {
                self.ask(self.next, true, fields.clone());
            }
            return;
        }
        let newest = self.newest();
        self.ask_paused(&fields);
        let lead = self.pace.lead();
        let most = self.pace.steps_with_lead(self.present().map(|link| link.rate.per_s()).fold(0.0, f64::max));
        while self.asked.len().max(self.convoy.pending()) < most && self.is_nearly_through() {
            let Some(newest) = newest else { return };
            let first = (self.kept.is_empty() || self.run_begins) && self.asked.is_empty();
            let all_at_it = first && self.links.iter().all(|link| link.newest == Some(newest));
            let step = if all_at_it { newest } else { newest.saturating_add(lead) };
            self.ask(step.max(self.next), false, fields.clone());
        }
    }

    /// What was asked for has come, or will soon.
    fn is_nearly_through(&self) -> bool {
        let begun: u64 = self.assemblies.values().map(Assembly::left).sum();
        let to_begin = self.asked.keys().filter(|step| !self.assemblies.contains_key(step)).count() as u64;
        let left = begun + to_begin * self.pace.step_bytes();
        let rtt = Duration::from_secs_f64(self.rtt_s());
        self.carrying.bps().is_none_or(|bps| is_nearly_through(left, bps, rtt))
    }

    /// Where the ranks are paused, asks for the step that they have done last and for the one that they do next: who does single steps wants to
    /// see each.
    fn ask_paused(&mut self, fields: &[usize]) {
        let waits_before = self.coordinator.waits_before;
        if self.asked_before == waits_before {
            return;
        }
        self.asked_before = waits_before;
        let steps = waits_before.map_or(0..0, |next| next.saturating_sub(1)..next.saturating_add(1));
        for step in steps {
            if !self.is_waited_for(step) && !self.keeps(step) {
                self.ask(step, false, fields.to_vec());
            }
        }
    }

    /// Asks for the steps that come, one after the other, whether somebody looks or not: the ranks wait until they are taken.
    fn ask_every(&mut self, fields: &[usize]) {
        while self.asked.len().max(self.convoy.pending()) < self.pace.steps() {
            // Whoever has just come, or has come too late, begins with what is there. Who has caught up and gone farther is waited for by nobody.
            let in_step = self.links.iter().filter(|link| !link.is_late);
            let newest = in_step.filter_map(|link| link.newest).max();
            let there = newest.filter(|_| self.asked.is_empty() && self.convoy.pending() == 0);
            self.ask(there.map_or(self.next, |newest| newest.max(self.next)), false, fields.to_vec());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::Carrying;
    use super::*;

    #[test]
    fn while_a_step_takes_long_to_come_no_further_one_is_asked_for() {
        let mut state = State::new(usize::MAX, None);
        state.links = vec![Link::default(), Link::default()];
        state.asked.insert(5, vec![0]);
        assert!(state.is_nearly_through(), "nothing is known of the path");
        let (bytes, began) = (1 << 20, Instant::now());
        for (takes_s, is_nearly_through) in [(0.1, true), (2.0, false)] {
            state.carrying = Carrying::default();
            state.carrying.begin(began);
            (1..=10).for_each(|step| {
                state.carrying.on_arrival(bytes, false, began + Duration::from_secs_f64(takes_s) * step)
            });
            state.pace.on_step(bytes as usize, 0.0, 0);
            assert_eq!(state.is_nearly_through(), is_nearly_through, "{takes_s} s");
        }
        state.asked.clear();
        assert!(state.is_nearly_through(), "it has come");
    }
}
