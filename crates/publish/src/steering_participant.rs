//! The rank's side of steering: what is to be done before which step.

use visapult_volume::StepIndex;

use crate::steering::{Action, Change, Commit, Parameter, Steer};

/// What a rank answers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    /// To which back end.
    pub(crate) to: usize,
    pub(crate) sequence: u64,
    /// It waits, and has not done it yet.
    pub(crate) is_ready: bool,
    pub(crate) at: StepIndex,
    pub(crate) why: Option<String>,
}

/// What is answered of a pause that a resume has overtaken.
const TAKEN_BACK: &str = "it was resumed before that";

/// Most actions that wait for their step.
const MOST_WAITING: usize = 1024;

#[derive(Debug)]
struct Waiting {
    from: usize,
    coordinator: u64,
    sequence: u64,
    action: Action,
    /// Before this step, once that is settled; until then this step is not begun.
    at: StepIndex,
    settled: bool,
    /// It was to pause, and has been resumed since: it is answered, and not done.
    is_taken_back: bool,
}

/// The rank's side: what is to be done before which step.
#[derive(Debug, Default)]
pub(crate) struct Participant {
    waiting: Vec<Waiting>,
    /// The first step that has not begun.
    next: StepIndex,
    paused: bool,
    stopped: bool,
    /// Steps that may be done while paused.
    allowance: u64,
    /// What an earlier run was asked for, each before its step.
    replay: Vec<(StepIndex, Action)>,
}

/// What has been done before a step.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Applied {
    pub(crate) changes: Vec<Change>,
    /// Who asked for each change; none for an earlier run.
    pub(crate) from: Vec<Option<usize>>,
    pub(crate) answers: Vec<Answer>,
}

impl Participant {
    /// Takes what back end `from` asks for.
    pub(crate) fn take(&mut self, from: usize, steer: Steer, parameters: &[Parameter]) -> Answer {
        let next = self.next;
        let answer = |is_ready, at, why| Answer { to: from, sequence: steer.sequence, is_ready, at, why };
        if let Err(why) = steer.action.check(parameters) {
            return answer(true, next, Some(why));
        }
        match steer.action {
            // Whoever waits does not come to a later step by itself; steps that it may do, and has not begun, come first.
            Action::Resume => {
                let at = next.saturating_add(std::mem::take(&mut self.allowance));
                self.paused = false;
                // Who was to pause later is to go on, too.
                let pauses = self.waiting.iter_mut().filter(|waiting| waiting.action == Action::Pause);
                pauses.for_each(|waiting| waiting.is_taken_back = true);
                answer(false, at, None)
            }
            Action::Step => {
                let at = next.saturating_add(self.allowance);
                self.allowance += u64::from(self.paused);
                self.paused = true;
                answer(false, at, None)
            }
            _ if self.waiting.len() >= MOST_WAITING => {
                answer(true, next, Some("too much is asked for at once".to_owned()))
            }
            action => {
                let at = if self.paused { next } else { steer.at.max(next) };
                let (coordinator, sequence) = (steer.coordinator, steer.sequence);
                self.waiting.push(Waiting {
                    from,
                    coordinator,
                    sequence,
                    action,
                    at,
                    settled: false,
                    is_taken_back: false,
                });
                Answer { to: from, sequence: steer.sequence, is_ready: true, at, why: None }
            }
        }
    }

    /// The step is settled, or it does not happen. What is to be said where it is settled for ranks that were asked, and this is none of them.
    pub(crate) fn commit(&mut self, from: usize, commit: Commit) -> Option<Answer> {
        let Commit { sequence, at } = commit;
        let is_meant = |waiting: &Waiting| waiting.from == from && waiting.sequence == sequence;
        let Some(at) = at else {
            self.waiting.retain(|waiting| !is_meant(waiting));
            return None;
        };
        if let Some(waiting) = self.waiting.iter_mut().find(|waiting| is_meant(waiting)) {
            waiting.at = at;
            waiting.settled = true;
            return None;
        }
        let why = Some("this rank has come after it was asked for".to_owned());
        Some(Answer { to: from, sequence, is_ready: false, at: self.next, why })
    }

    /// Back end `from` has left: it settles nothing any more.
    pub(crate) fn let_go(&mut self, from: usize) {
        self.waiting.retain(|waiting| waiting.settled || waiting.from != from);
    }

    /// Does what is due before step `next`: what a back end asked for in the order in which it did, back end by back end, so that the order is the
    /// same on all ranks.
    pub(crate) fn apply(&mut self, next: StepIndex, parameters: &mut [Parameter]) -> Applied {
        self.next = next;
        let mut applied = Applied::default();
        let due = self.replay.partition_point(|(at, _)| *at <= next);
        for (_, action) in self.replay.drain(..due).collect::<Vec<_>>() {
            self.carry_out(action, None, parameters, &mut applied);
        }
        self.waiting.sort_by_key(|waiting| (waiting.coordinator, waiting.sequence));
        for waiting in std::mem::take(&mut self.waiting) {
            if !waiting.settled || waiting.at > next {
                self.waiting.push(waiting);
                continue;
            }
            let Waiting { from, sequence, is_taken_back, .. } = waiting;
            let why = is_taken_back.then(|| TAKEN_BACK.to_owned());
            applied.answers.push(Answer { to: from, sequence, is_ready: false, at: next, why });
            if !is_taken_back {
                self.carry_out(waiting.action, Some(from), parameters, &mut applied);
            }
        }
        applied
    }

    fn carry_out(&mut self, action: Action, from: Option<usize>, parameters: &mut [Parameter], applied: &mut Applied) {
        match action {
            Action::Set { name, value } => {
                let found = parameters.iter_mut().find(|parameter| parameter.name == name);
                found.into_iter().for_each(|parameter| parameter.value = value);
                applied.changes.push(Change { name, value });
                applied.from.push(from);
            }
            Action::Pause => self.paused = true,
            Action::Stop => self.stopped = true,
            Action::Resume | Action::Step => {}
        }
    }

    /// Does what an earlier run was asked for, each before its step; steps are in order.
    pub(crate) fn replay(&mut self, actions: Vec<(StepIndex, Action)>) {
        self.replay = actions;
    }

    /// Whether step `next` may begin; if so it has begun.
    pub(crate) fn may_begin(&mut self, next: StepIndex) -> bool {
        if self.waiting.iter().any(|waiting| !waiting.settled && waiting.at <= next) {
            return false;
        }
        let may = !self.paused || self.stopped || self.allowance > 0;
        if may && self.paused {
            self.allowance = self.allowance.saturating_sub(1);
        }
        self.next = next + StepIndex::from(may);
        may
    }

    pub(crate) const fn is_paused(&self) -> bool {
        self.paused
    }

    pub(crate) const fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Nobody is left who could say more.
    pub(crate) fn release(&mut self) {
        self.paused = false;
        self.waiting.retain(|waiting| waiting.settled);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steering::tests::{parameters, set};

    fn answer(sequence: u64, is_ready: bool, at: StepIndex) -> Answer {
        Answer { to: 0, sequence, is_ready, at, why: None }
    }

    #[test]
    fn a_change_waits_for_its_step_and_is_answered_with_it() {
        let (mut participant, mut own) = (Participant::default(), parameters());
        let steer = Steer { coordinator: 0, sequence: 4, at: 10, action: set("strength", 2.0) };
        participant.apply(7, &mut own);
        assert_eq!(participant.take(0, steer, &own), answer(4, true, 10));
        participant.commit(0, Commit { sequence: 4, at: Some(11) });
        assert_eq!(participant.apply(10, &mut own), Applied::default());
        let Applied { changes, from, answers } = participant.apply(11, &mut own);
        assert_eq!(from, [Some(0)]);
        assert_eq!(changes, [Change { name: "strength".to_owned(), value: 2.0 }]);
        assert_eq!(answers, [answer(4, false, 11)]);
        assert_eq!(own[0].value, 2.0);
    }

    #[test]
    fn a_rank_does_not_begin_a_step_before_it_is_settled_whether_that_is_it() {
        let (mut participant, mut own) = (Participant::default(), parameters());
        participant.apply(5, &mut own);
        assert!(participant.may_begin(5));
        // Step 5 has begun: it is too late for that.
        let steer = |sequence| Steer { coordinator: 0, sequence, at: 3, action: set("strength", 2.0) };
        assert_eq!(participant.take(0, steer(0), &own), answer(0, true, 6));
        assert!(!participant.may_begin(6));
        participant.commit(0, Commit { sequence: 0, at: Some(8) });
        assert!(participant.may_begin(6));
        assert_eq!(participant.take(0, steer(1), &own).at, 7);
        assert!(!participant.may_begin(7));
        participant.commit(0, Commit { sequence: 1, at: None });
        assert!(participant.may_begin(7));
        assert_eq!(participant.apply(8, &mut own).answers, [answer(0, false, 8)]);
    }

    #[test]
    fn a_rank_waits_for_the_word_of_a_back_end_until_that_has_left() {
        let (mut participant, mut own) = (Participant::default(), parameters());
        participant.apply(5, &mut own);
        for from in 0..2 {
            participant.take(from, Steer { coordinator: 0, sequence: 0, at: 5, action: set("strength", 2.0) }, &own);
        }
        assert_eq!(participant.commit(1, Commit { sequence: 0, at: Some(5) }), None);
        assert_eq!(participant.apply(5, &mut own).answers.len(), 1);
        assert!(!participant.may_begin(5));
        participant.let_go(1);
        assert!(!participant.may_begin(5), "another has left");
        participant.let_go(0);
        assert!(participant.may_begin(5));
    }

    #[test]
    fn a_rank_that_was_not_asked_says_that_it_does_not_do_what_the_others_do() {
        let mut participant = Participant::default();
        participant.apply(5, &mut parameters());
        assert_eq!(participant.commit(0, Commit { sequence: 3, at: None }), None);
        let said = participant.commit(0, Commit { sequence: 3, at: Some(9) }).unwrap();
        assert_eq!((said.sequence, said.is_ready, said.at, said.why.is_some()), (3, false, 5, true));
    }

    #[test]
    fn what_two_back_ends_ask_for_is_done_in_the_same_order_on_all_ranks() {
        let value_if_heard = |order: [(usize, u64); 2]| {
            let (mut participant, mut own) = (Participant::default(), parameters());
            for (from, coordinator) in order {
                participant.take(
                    from,
                    Steer { coordinator, sequence: 0, at: 3, action: set("strength", coordinator as f64) },
                    &own,
                );
                participant.commit(from, Commit { sequence: 0, at: Some(3) });
            }
            participant.apply(3, &mut own);
            own[0].value
        };
        assert_eq!(value_if_heard([(0, 1), (1, 2)]), value_if_heard([(0, 2), (1, 1)]));
    }

    #[test]
    fn who_is_paused_goes_on_step_by_step_and_when_resumed() {
        let (mut participant, mut own) = (Participant::default(), parameters());
        let steer = |sequence, action| Steer { coordinator: 0, sequence, at: 3, action };
        let settle =
            |participant: &mut Participant, sequence, at| participant.commit(0, Commit { sequence, at: Some(at) });
        participant.take(0, steer(0, Action::Pause), &own);
        settle(&mut participant, 0, 3);
        participant.apply(2, &mut own);
        assert!(participant.may_begin(2));
        participant.apply(3, &mut own);
        assert!(!participant.may_begin(3));
        assert!(!participant.take(0, steer(1, Action::Step), &own).is_ready);
        assert!(participant.may_begin(3) && !participant.may_begin(4));
        participant.take(0, steer(2, set("sources", 1.0)), &own);
        settle(&mut participant, 2, 4);
        assert_eq!(participant.apply(4, &mut own).changes.len(), 1);
        participant.take(0, steer(3, Action::Resume), &own);
        assert!(participant.may_begin(4));
        participant.take(0, steer(4, Action::Stop), &own);
        settle(&mut participant, 4, 5);
        participant.apply(5, &mut own);
        assert!(participant.is_stopped() && participant.may_begin(5));
    }

    #[test]
    fn a_pause_that_a_resume_has_overtaken_is_not_done_and_said_not_to_be() {
        let (mut participant, mut own) = (Participant::default(), parameters());
        let steer = |sequence, action| Steer { coordinator: 0, sequence, at: 8, action };
        participant.take(0, steer(0, Action::Pause), &own);
        participant.commit(0, Commit { sequence: 0, at: Some(8) });
        assert_eq!(participant.take(0, steer(1, Action::Resume), &own), answer(1, false, 0));
        let why = Some(TAKEN_BACK.to_owned());
        assert_eq!(participant.apply(8, &mut own).answers, [Answer { why, ..answer(0, false, 8) }]);
        assert!(participant.may_begin(8));
    }

    #[test]
    fn a_rank_that_is_late_to_do_a_single_step_is_resumed_after_it_as_the_others() {
        let (mut participant, mut own) = (Participant::default(), parameters());
        let steer = |sequence, action| Steer { coordinator: 0, sequence, at: 3, action };
        participant.apply(3, &mut own);
        participant.take(0, steer(0, Action::Pause), &own);
        participant.commit(0, Commit { sequence: 0, at: Some(3) });
        participant.apply(3, &mut own);
        assert!(!participant.may_begin(3));
        assert_eq!(participant.take(0, steer(1, Action::Step), &own), answer(1, false, 3));
        assert_eq!(participant.take(0, steer(2, Action::Step), &own), answer(2, false, 4));
        assert_eq!(participant.take(0, steer(3, Action::Resume), &own), answer(3, false, 5));
        assert!((3..6).all(|step| participant.may_begin(step)));
        // What it was allowed then does not count for another pause.
        participant.take(0, steer(4, Action::Pause), &own);
        participant.commit(0, Commit { sequence: 4, at: Some(6) });
        participant.apply(6, &mut own);
        assert!(!participant.may_begin(6));
    }

    #[test]
    fn what_an_earlier_run_was_asked_for_is_done_before_the_same_steps() {
        let (mut participant, mut own) = (Participant::default(), parameters());
        participant.replay(vec![(2, set("strength", 2.0)), (2, set("strength", 3.0)), (4, Action::Stop)]);
        assert_eq!(participant.apply(1, &mut own), Applied::default());
        let applied = participant.apply(2, &mut own);
        assert_eq!((applied.changes.len(), applied.from, own[0].value), (2, vec![None, None], 3.0));
        participant.apply(3, &mut own);
        assert!(!participant.is_stopped());
        participant.apply(4, &mut own);
        assert!(participant.is_stopped());
    }
}
