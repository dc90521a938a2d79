//! The back end's side of steering: what was asked, and what the ranks said to it.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

use visapult_volume::StepIndex;

use super::messages::MOST_NAME;
use super::steering::{Action, Commit, Logged, Parameter, RunState, Steer, SteeringView, check};
use super::steering_log::SteeringLog;

/// Entries of the log that are kept and shown.
const MOST_LOG: usize = 20;

/// What was asked of a simulation, and what came of it.
#[derive(Debug)]
pub(super) struct Desk {
    /// Tells it from other back ends: drawn at random.
    number: u64,
    pub(super) view: SteeringView,
    /// Grows with every change of the view.
    pub(super) revision: u64,
    /// All ranks are paused before this step.
    pub(super) waits_before: Option<StepIndex>,
    next: u64,
    pending: BTreeMap<u64, Pending>,
    log: Option<SteeringLog>,
}

/// An action that ranks are still to speak of.
#[derive(Debug)]
struct Pending {
    entry: Logged,
    /// By rank.
    ready: BTreeMap<usize, StepIndex>,
    refused: bool,
    /// By rank: before which step it was done, none where it was not.
    done: BTreeMap<usize, Option<StepIndex>>,
}

impl Default for Desk {
    fn default() -> Self {
        Self {
            number: RandomState::new().build_hasher().finish(),
            view: SteeringView::default(),
            revision: 0,
            waits_before: None,
            next: 0,
            pending: BTreeMap::new(),
            log: None,
        }
    }
}

impl Desk {
    pub(super) fn declare(&mut self, parameters: Vec<Parameter>) {
        self.view.parameters = parameters;
        self.view.state = RunState::Running;
        self.waits_before = None;
        self.revision += 1;
    }

    /// The ranks have been asked to go on, and have not all said that they do.
    pub(super) fn is_to_resume(&self) -> bool {
        self.pending.values().any(|pending| pending.entry.action == Action::Resume)
    }

    /// Takes an action into the log; the error says why it cannot be.
    pub(super) fn ask(&mut self, who: &str, action: Action, at: StepIndex) -> Result<Steer, String> {
        check(&self.view.parameters, &action)?;
        if action == Action::Step && self.view.state != RunState::Paused {
            return Err("the simulation is not paused: pause it, then go on step by step".to_owned());
        }
        let unix_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        let entry = Logged { who: who.to_owned(), unix_s, action: action.clone(), at: None, problem: None };
        self.view.log.push(entry.clone());
        let excess = self.view.log.len().saturating_sub(MOST_LOG);
        self.view.log.drain(..excess);
        self.revision += 1;
        let sequence = self.next;
        self.next += 1;
        let pending = Pending { entry, ready: BTreeMap::new(), refused: false, done: BTreeMap::new() };
        self.pending.insert(sequence, pending);
        // Ranks that have left in the middle of it will not speak of it any more.
        if self.pending.len() > MOST_LOG
            && let Some(oldest) = self.pending.keys().next().copied()
        {
            self.settle(oldest);
        }
        Ok(Steer { desk: self.number, sequence, at, action })
    }

    /// A rank waits at a step, or says why it will not have it. Of `ranks` that will speak the last one decides.
    pub(super) fn on_ready(
        &mut self,
        rank: usize,
        sequence: u64,
        at: StepIndex,
        why: Option<String>,
        ranks: usize,
    ) -> Option<Commit> {
        let pending = self.pending.get_mut(&sequence)?;
        if pending.ready.insert(rank, at).is_some() {
            return None;
        }
        pending.refused |= why.is_some();
        let decided = pending.ready.len() >= ranks;
        let at = pending.ready.values().max().copied().filter(|_| !pending.refused);
        if let Some(why) = why {
            pending.note_problem(why);
        }
        if decided && at.is_none() {
            self.settle(sequence);
        } else {
            self.show(sequence);
        }
        decided.then_some(Commit { sequence, at })
    }

    /// A rank has done it, or says why not after all.
    pub(super) fn on_steered(&mut self, rank: usize, sequence: u64, at: StepIndex, why: Option<String>, ranks: usize) {
        let Some(pending) = self.pending.get_mut(&sequence) else { return };
        pending.done.insert(rank, why.is_none().then_some(at));
        if let Some(why) = why {
            pending.note_problem(why);
        }
        if pending.done.len() < ranks {
            self.show(sequence);
            return;
        }
        let steps = || pending.done.values().flatten().copied();
        let (first, last) = (steps().min(), steps().max());
        if let (true, Some(first), Some(last)) = (first != last, first, last) {
            pending.note_problem(format!("not on all ranks at once: before steps {first} to {last}"));
        }
        if last.is_some() {
            pending.entry.at = last;
            let action = pending.entry.action.clone();
            self.note_done(action, last);
        }
        self.settle(sequence);
    }

    fn note_done(&mut self, action: Action, at: Option<StepIndex>) {
        match action {
            Action::Set { name, value } => self.on_changed(&name, value),
            Action::Pause => (self.view.state, self.waits_before) = (RunState::Paused, at),
            Action::Step => {
                (self.view.state, self.waits_before) = (RunState::Paused, at.map(|step| step.saturating_add(1)));
            }
            Action::Resume => (self.view.state, self.waits_before) = (RunState::Running, None),
            Action::Stop => (self.view.state, self.waits_before) = (RunState::Stopped, None),
        }
    }

    /// A parameter has a new value, whoever has given it.
    pub(super) fn on_changed(&mut self, name: &str, value: f64) {
        let found = self.view.parameters.iter_mut().find(|parameter| parameter.name == name);
        found.into_iter().for_each(|parameter| parameter.value = value);
        self.revision += 1;
    }

    /// Writes what is settled to this log from here on.
    pub(super) fn log_to(&mut self, log: SteeringLog) {
        self.log = Some(log);
    }

    /// Nothing more is to be said of an action.
    fn settle(&mut self, sequence: u64) {
        self.show(sequence);
        let settled = self.pending.remove(&sequence);
        if let (Some(settled), Some(log)) = (settled, &self.log) {
            log.write(&settled.entry);
        }
    }

    /// Shows an action as it stands, if it is among the latest.
    fn show(&mut self, sequence: u64) {
        let (Some(pending), Ok(behind)) = (self.pending.get(&sequence), usize::try_from(self.next - sequence)) else {
            return;
        };
        let place = self.view.log.len().checked_sub(behind);
        if let Some(shown) = place.and_then(|place| self.view.log.get_mut(place))
            && *shown != pending.entry
        {
            *shown = pending.entry.clone();
            self.revision += 1;
        }
    }
}

impl Pending {
    fn note_problem(&mut self, why: String) {
        self.entry.problem = Some(why.chars().take(MOST_NAME).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::super::steering::tests::{parameters, set};
    use super::*;

    #[test]
    fn the_desk_settles_the_greatest_step_and_logs_it_once_it_is_done() {
        let mut desk = Desk::default();
        desk.declare(parameters());
        assert!(desk.ask("ann", set("strength", 20.0), 5).is_err());
        let first = desk.ask("ann", set("strength", 2.0), 5).unwrap().sequence;
        let second = desk.ask("bob", Action::Pause, 6).unwrap().sequence;
        assert_eq!(desk.on_ready(0, first, 5, None, 2), None);
        assert_eq!(desk.on_ready(0, first, 7, None, 2), None);
        assert_eq!(desk.on_ready(1, first, 9, None, 2), Some(Commit { sequence: first, at: Some(9) }));
        for rank in 0..2 {
            desk.on_steered(rank, first, 9, None, 2);
        }
        desk.on_ready(0, second, 6, None, 2);
        let refused = desk.on_ready(1, second, 6, Some("no".to_owned()), 2);
        assert_eq!(refused, Some(Commit { sequence: second, at: None }));
        let log = &desk.view.log;
        assert_eq!((log[0].at, log[0].problem.clone(), desk.view.parameters[0].value), (Some(9), None, 2.0));
        assert_eq!((log[1].who.as_str(), log[1].at, desk.view.state), ("bob", None, RunState::Running));
        assert_eq!(log[1].problem.as_deref(), Some("no"));
    }

    #[test]
    fn what_a_part_of_the_ranks_has_done_is_told_as_done_with_a_problem_whoever_speaks_last() {
        for late in 0..2 {
            let mut desk = Desk::default();
            desk.declare(parameters());
            let asked = desk.ask("ann", set("strength", 2.0), 5).unwrap().sequence;
            for rank in [late, 1 - late] {
                let why = (rank == 0).then(|| "too late".to_owned());
                desk.on_steered(rank, asked, 9, why, 2);
            }
            let entry = &desk.view.log[0];
            assert_eq!((entry.at, entry.problem.as_deref()), (Some(9), Some("too late")));
            assert_eq!(desk.view.parameters[0].value, 2.0);
        }
    }

    #[test]
    fn actions_that_ranks_never_speak_of_are_let_go() {
        let mut desk = Desk::default();
        desk.declare(parameters());
        for _ in 0..3 * MOST_LOG {
            desk.ask("ann", Action::Pause, 5).unwrap();
        }
        assert!(desk.pending.len() <= MOST_LOG);
    }
}
