//! The back end's side of steering: what was asked, and what the ranks said to it.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use visapult_publish::words::MOST_NAME;
use visapult_publish::{Action, Commit, Logged, Parameter, Steer, SteeringLog};
use visapult_volume::StepIndex;

/// Entries of the log that are kept and shown.
const MOST_LOG: usize = 20;

/// What the simulation is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// It computes.
    #[default]
    Running,
    /// It waits to be resumed.
    Paused,
    /// It has been asked to end.
    Stopped,
}

/// What a page shows of steering.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SteeringView {
    /// Parameters with their values now.
    pub parameters: Vec<Parameter>,
    /// What the simulation is doing.
    pub state: RunState,
    /// The latest actions, the newest last.
    pub log: Vec<Logged>,
}

/// What was asked of a simulation, and what came of it.
#[derive(Debug)]
pub(super) struct Coordinator {
    /// Tells it from other back ends: drawn at random.
    number: u64,
    pub(super) view: SteeringView,
    /// Grows with every change of the view.
    pub(super) revision: u64,
    /// All ranks are paused before this step.
    pub(super) waits_before: Option<StepIndex>,
    next: u64,
    /// The latest resume that is done: what was asked for before it holds no rank.
    resumed: Option<u64>,
    pending: BTreeMap<u64, Pending>,
    /// What is decided and the ranks have not been told.
    decided: Vec<Commit>,
    log: Option<SteeringLog>,
}

/// An action that ranks are still to speak of.
#[derive(Debug)]
struct Pending {
    entry: Logged,
    /// Ranks that were asked, and are still there.
    asked: BTreeSet<usize>,
    /// By rank.
    ready: BTreeMap<usize, StepIndex>,
    refused: bool,
    is_decided: bool,
    /// By rank: before which step it was done, none where it was not.
    done: BTreeMap<usize, Option<StepIndex>>,
}

impl Default for Coordinator {
    fn default() -> Self {
        Self {
            number: RandomState::new().build_hasher().finish(),
            view: SteeringView::default(),
            revision: 0,
            waits_before: None,
            next: 0,
            resumed: None,
            pending: BTreeMap::new(),
            decided: Vec::new(),
            log: None,
        }
    }
}

impl Coordinator {
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

    /// Takes an action into the log that the ranks `asked` are to speak of; the error says why it cannot be.
    pub(super) fn ask(
        &mut self,
        who: &str,
        action: Action,
        at: StepIndex,
        asked: BTreeSet<usize>,
    ) -> Result<Steer, String> {
        action.check(&self.view.parameters)?;
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
        // Ranks answer at once where they go on without another word.
        let is_decided = matches!(action, Action::Resume | Action::Step);
        let (ready, done) = (BTreeMap::new(), BTreeMap::new());
        self.pending.insert(sequence, Pending { entry, asked, ready, refused: false, is_decided, done });
        if self.pending.len() > MOST_LOG
            && let Some(oldest) = self.pending.keys().next().copied()
        {
            self.void(oldest, "a rank has not answered in the time of twenty others");
            self.settle(oldest);
        }
        Ok(Steer { coordinator: self.number, sequence, at, action })
    }

    /// A rank waits at a step, or says why it will not have it. Of those that were asked the last one decides.
    pub(super) fn on_ready(&mut self, rank: usize, sequence: u64, at: StepIndex, why: Option<String>) {
        let Some(pending) = self.pending.get_mut(&sequence) else { return };
        if pending.is_decided || pending.ready.insert(rank, at).is_some() {
            return;
        }
        if let Some(why) = why {
            pending.refuse(why);
        }
        self.decide_if_all_have_spoken(sequence);
    }

    /// A rank has done it, or says why not after all: before it is decided, none does it.
    pub(super) fn on_steered(&mut self, rank: usize, sequence: u64, at: StepIndex, why: Option<String>) {
        let Some(pending) = self.pending.get_mut(&sequence) else { return };
        if !pending.is_decided {
            pending.ready.insert(rank, at);
            pending.refuse(why.unwrap_or_else(|| format!("rank {rank} has not waited for the others")));
            return self.decide_if_all_have_spoken(sequence);
        }
        pending.done.insert(rank, why.is_none().then_some(at));
        if let Some(why) = why {
            pending.note_problem(format!("rank {rank}: {why}"));
        }
        self.settle_if_all_have_done(sequence);
    }

    /// A rank has left: what waits for its word is not done by the others either, for it may only have lost its session.
    pub(super) fn on_leave(&mut self, rank: usize) {
        let waits_for = |pending: &mut Pending| pending.asked.remove(&rank);
        let left: Vec<u64> =
            self.pending.iter_mut().filter_map(|(sequence, it)| waits_for(it).then_some(*sequence)).collect();
        for sequence in left {
            if self.void(sequence, &format!("rank {rank} has left before it was settled")) {
                self.settle(sequence);
            } else {
                self.settle_if_all_have_done(sequence);
            }
        }
    }

    /// What is decided, to be told to all ranks.
    pub(super) fn take_decided(&mut self) -> Vec<Commit> {
        std::mem::take(&mut self.decided)
    }

    fn decide_if_all_have_spoken(&mut self, sequence: u64) {
        let Some(pending) = self.pending.get_mut(&sequence) else { return };
        if pending.asked.iter().any(|rank| !pending.ready.contains_key(rank)) {
            return self.show(sequence);
        }
        pending.is_decided = true;
        let at = pending.ready.values().max().copied().filter(|_| !pending.refused);
        self.decided.push(Commit { sequence, at });
        if at.is_none() {
            self.settle(sequence);
        }
    }

    /// What is not decided does not happen; whether it was not.
    fn void(&mut self, sequence: u64, why: &str) -> bool {
        let Some(pending) = self.pending.get_mut(&sequence).filter(|pending| !pending.is_decided) else { return false };
        pending.is_decided = true;
        pending.note_problem(why.to_owned());
        self.decided.push(Commit { sequence, at: None });
        true
    }

    fn settle_if_all_have_done(&mut self, sequence: u64) {
        let Some(pending) = self.pending.get_mut(&sequence) else { return };
        if pending.asked.iter().any(|rank| !pending.done.contains_key(rank)) {
            return self.show(sequence);
        }
        let steps = || pending.done.values().flatten().copied();
        let (first, last) = (steps().min(), steps().max());
        if let (true, Some(first), Some(last)) = (first != last, first, last) {
            pending.note_problem(format!("not on all ranks at once: before steps {first} to {last}"));
        }
        if last.is_some() {
            pending.entry.at = last;
            let action = pending.entry.action.clone();
            self.note_done(sequence, action, last);
        }
        self.settle(sequence);
    }

    fn note_done(&mut self, sequence: u64, action: Action, at: Option<StepIndex>) {
        match action {
            Action::Set { name, value } => self.on_changed(&name, value),
            // A rank that had not paused yet, and was resumed before that, speaks of it late.
            Action::Pause | Action::Step if Some(sequence) < self.resumed => {}
            Action::Pause => (self.view.state, self.waits_before) = (RunState::Paused, at),
            Action::Step => {
                (self.view.state, self.waits_before) = (RunState::Paused, at.map(|step| step.saturating_add(1)));
            }
            Action::Resume => {
                self.resumed = self.resumed.max(Some(sequence));
                (self.view.state, self.waits_before) = (RunState::Running, None);
            }
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
    fn refuse(&mut self, why: String) {
        self.refused = true;
        self.note_problem(why);
    }

    fn note_problem(&mut self, why: String) {
        self.entry.problem = Some(why.chars().take(MOST_NAME).collect());
    }
}

#[cfg(test)]
mod tests {
    use visapult_publish::ParameterKind;

    use super::*;

    fn set(name: &str, value: f64) -> Action {
        Action::Set { name: name.to_owned(), value }
    }

    /// Two ranks are asked for an action.
    fn asked(coordinator: &mut Coordinator, action: Action) -> u64 {
        coordinator.ask("ann", action, 5, BTreeSet::from([0, 1])).unwrap().sequence
    }

    fn coordinator() -> Coordinator {
        let mut coordinator = Coordinator::default();
        let strength = Parameter {
            name: "strength".to_owned(),
            unit: String::new(),
            kind: ParameterKind::Number,
            least: 0.0,
            most: 10.0,
            value: 1.0,
        };
        coordinator.declare(vec![strength]);
        coordinator
    }

    #[test]
    fn the_desk_settles_the_greatest_step_and_logs_it_once_it_is_done() {
        let mut coordinator = coordinator();
        assert!(coordinator.ask("ann", set("strength", 20.0), 5, BTreeSet::from([0, 1])).is_err());
        let first = asked(&mut coordinator, set("strength", 2.0));
        let second = coordinator.ask("bob", Action::Pause, 6, BTreeSet::from([0, 1])).unwrap().sequence;
        coordinator.on_ready(0, first, 5, None);
        coordinator.on_ready(0, first, 7, None);
        assert_eq!(coordinator.take_decided(), []);
        coordinator.on_ready(1, first, 9, None);
        assert_eq!(coordinator.take_decided(), [Commit { sequence: first, at: Some(9) }]);
        for rank in 0..2 {
            coordinator.on_steered(rank, first, 9, None);
        }
        coordinator.on_ready(0, second, 6, None);
        coordinator.on_ready(1, second, 6, Some("no".to_owned()));
        assert_eq!(coordinator.take_decided(), [Commit { sequence: second, at: None }]);
        let log = &coordinator.view.log;
        assert_eq!((log[0].at, log[0].problem.clone(), coordinator.view.parameters[0].value), (Some(9), None, 2.0));
        assert_eq!((log[1].who.as_str(), log[1].at, coordinator.view.state), ("bob", None, RunState::Running));
        assert_eq!(log[1].problem.as_deref(), Some("no"));
    }

    #[test]
    fn what_a_rank_has_let_go_of_before_the_last_one_answers_is_done_by_none() {
        let mut coordinator = coordinator();
        let asked = asked(&mut coordinator, set("strength", 2.0));
        coordinator.on_ready(0, asked, 5, None);
        coordinator.on_steered(0, asked, 6, Some("it has waited too long".to_owned()));
        assert_eq!(coordinator.take_decided(), []);
        coordinator.on_ready(1, asked, 9, None);
        assert_eq!(coordinator.take_decided(), [Commit { sequence: asked, at: None }]);
        let entry = &coordinator.view.log[0];
        assert_eq!((entry.at, entry.problem.as_deref()), (None, Some("it has waited too long")));
    }

    #[test]
    fn what_a_rank_has_left_in_the_middle_of_is_done_by_none() {
        let mut coordinator = coordinator();
        let undecided = asked(&mut coordinator, Action::Stop);
        coordinator.on_ready(0, undecided, 5, None);
        coordinator.on_leave(1);
        assert_eq!(coordinator.take_decided(), [Commit { sequence: undecided, at: None }]);
        assert!(coordinator.view.log[0].problem.as_deref().unwrap().contains("rank 1 has left"));
        assert_eq!((coordinator.pending.len(), coordinator.view.state), (0, RunState::Running));
    }

    #[test]
    fn what_is_decided_is_told_as_done_though_a_rank_has_left_since() {
        let mut coordinator = coordinator();
        let decided = asked(&mut coordinator, set("strength", 2.0));
        (0..2).for_each(|rank| coordinator.on_ready(rank, decided, 5, None));
        assert_eq!(coordinator.take_decided(), [Commit { sequence: decided, at: Some(5) }]);
        coordinator.on_steered(0, decided, 5, None);
        coordinator.on_leave(1);
        let entry = &coordinator.view.log[0];
        assert_eq!((entry.at, entry.problem.clone(), coordinator.take_decided()), (Some(5), None, Vec::new()));
    }

    #[test]
    fn what_a_part_of_the_ranks_has_done_is_told_as_done_with_a_problem_whoever_speaks_last() {
        for late in 0..2 {
            let mut coordinator = coordinator();
            let asked = asked(&mut coordinator, set("strength", 2.0));
            (0..2).for_each(|rank| coordinator.on_ready(rank, asked, 9, None));
            for rank in [late, 1 - late] {
                let why = (rank == 0).then(|| "too late".to_owned());
                coordinator.on_steered(rank, asked, 9, why);
            }
            let entry = &coordinator.view.log[0];
            assert_eq!((entry.at, entry.problem.as_deref()), (Some(9), Some("rank 0: too late")));
            assert_eq!(coordinator.view.parameters[0].value, 2.0);
        }
    }

    #[test]
    fn a_pause_that_a_resume_has_overtaken_on_all_ranks_or_on_one_leaves_the_simulation_running() {
        for paused in 0..2 {
            let mut coordinator = coordinator();
            let pause = asked(&mut coordinator, Action::Pause);
            (0..2).for_each(|rank| coordinator.on_ready(rank, pause, 8, None));
            (0..paused).for_each(|rank| coordinator.on_steered(rank, pause, 8, None));
            let resume = asked(&mut coordinator, Action::Resume);
            (0..2).for_each(|rank| coordinator.on_steered(rank, resume, 8, None));
            (paused..2).for_each(|rank| coordinator.on_steered(rank, pause, 8, Some("resumed".to_owned())));
            assert_eq!((coordinator.view.state, coordinator.waits_before), (RunState::Running, None));
            assert!(coordinator.view.log[0].problem.as_deref().unwrap().contains("resumed"));
        }
    }

    #[test]
    fn actions_that_ranks_never_speak_of_are_let_go() {
        let mut coordinator = coordinator();
        for _ in 0..3 * MOST_LOG {
            asked(&mut coordinator, Action::Pause);
        }
        assert!(coordinator.pending.len() <= MOST_LOG);
        assert_eq!(coordinator.take_decided().len(), 2 * MOST_LOG, "ranks that wait are told");
    }
}
