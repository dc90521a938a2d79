//! The back end's side of steering: what was asked, and what the ranks said to it.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use visapult_volume::StepIndex;

use super::steering::{Action, Commit, Logged, MOST_NAME, Parameter, RunState, Steer, SteeringView, check};

/// Entries of the log that are kept and shown.
const MOST_LOG: usize = 20;

/// What was asked of a simulation, and what came of it.
#[derive(Debug, Default)]
pub(super) struct Desk {
    pub(super) view: SteeringView,
    /// Grows with every change of the view.
    pub(super) revision: u64,
    /// All ranks are paused before this step.
    pub(super) waits_before: Option<StepIndex>,
    next: u64,
    pending: BTreeMap<u64, Pending>,
}

/// An action that ranks are still to speak of.
#[derive(Debug, Default)]
struct Pending {
    ready: Vec<StepIndex>,
    refused: bool,
    done: Vec<StepIndex>,
}

impl Desk {
    pub(super) fn declare(&mut self, parameters: Vec<Parameter>) {
        self.view.parameters = parameters;
        self.view.state = RunState::Running;
        self.waits_before = None;
        self.revision += 1;
    }

    /// Takes an action into the log; the error says why it cannot be.
    pub(super) fn ask(&mut self, who: &str, action: Action, at: StepIndex) -> Result<Steer, String> {
        check(&self.view.parameters, &action)?;
        if action == Action::Step && self.view.state != RunState::Paused {
            return Err("the simulation is not paused: pause it, then go on step by step".to_owned());
        }
        let unix_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        let entry = Logged { who: who.to_owned(), unix_s, action: action.clone(), at: None, problem: None };
        self.view.log.push(entry);
        let excess = self.view.log.len().saturating_sub(MOST_LOG);
        self.view.log.drain(..excess);
        self.revision += 1;
        let sequence = self.next;
        self.next += 1;
        self.pending.insert(sequence, Pending::default());
        Ok(Steer { sequence, at, action })
    }

    /// A rank waits at a step, or says why it will not have it. Of `ranks` that will speak the last one decides.
    pub(super) fn on_ready(
        &mut self,
        sequence: u64,
        at: StepIndex,
        why: Option<String>,
        ranks: usize,
    ) -> Option<Commit> {
        let pending = self.pending.get_mut(&sequence)?;
        pending.ready.push(at);
        pending.refused |= why.is_some();
        let decided = pending.ready.len() >= ranks;
        let at = pending.ready.iter().max().copied().filter(|_| !pending.refused);
        if let Some(why) = why {
            self.note_problem(sequence, why);
        }
        if decided && at.is_none() {
            self.pending.remove(&sequence);
        }
        decided.then_some(Commit { sequence, at })
    }

    /// A rank has done it, or says why not after all.
    pub(super) fn on_steered(&mut self, sequence: u64, at: StepIndex, why: Option<String>, ranks: usize) {
        let Some(pending) = self.pending.get_mut(&sequence) else { return };
        pending.done.push(at);
        let (first, last) = (pending.done.iter().min().copied(), pending.done.iter().max().copied());
        let all = pending.done.len() >= ranks;
        if all {
            self.pending.remove(&sequence);
        }
        if let Some(why) = why {
            self.note_problem(sequence, why);
            return;
        }
        if !all {
            return;
        }
        if let (true, Some(first), Some(last)) = (first != last, first, last) {
            self.note_problem(sequence, format!("not on all ranks at once: before steps {first} to {last}"));
        }
        let Some(entry) = self.entry(sequence) else { return };
        entry.at = last;
        let action = entry.action.clone();
        self.waits_before = match action {
            Action::Set { .. } => self.waits_before,
            Action::Pause => last,
            Action::Step => last.map(|step| step.saturating_add(1)),
            Action::Resume | Action::Stop => None,
        };
        match action {
            Action::Set { name, value } => {
                let found = self.view.parameters.iter_mut().find(|parameter| parameter.name == name);
                found.into_iter().for_each(|parameter| parameter.value = value);
            }
            Action::Pause | Action::Step => self.view.state = RunState::Paused,
            Action::Resume => self.view.state = RunState::Running,
            Action::Stop => self.view.state = RunState::Stopped,
        }
        self.revision += 1;
    }

    fn note_problem(&mut self, sequence: u64, why: String) {
        if let Some(entry) = self.entry(sequence) {
            entry.problem = Some(why.chars().take(MOST_NAME).collect());
            self.revision += 1;
        }
    }

    fn entry(&mut self, sequence: u64) -> Option<&mut Logged> {
        let behind = usize::try_from(self.next - sequence).ok()?;
        let place = self.view.log.len().checked_sub(behind)?;
        self.view.log.get_mut(place)
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
        assert_eq!(desk.on_ready(first, 5, None, 2), None);
        assert_eq!(desk.on_ready(first, 9, None, 2), Some(Commit { sequence: first, at: Some(9) }));
        for _ in 0..2 {
            desk.on_steered(first, 9, None, 2);
        }
        desk.on_ready(second, 6, None, 2);
        let refused = desk.on_ready(second, 6, Some("no".to_owned()), 2);
        assert_eq!(refused, Some(Commit { sequence: second, at: None }));
        let log = &desk.view.log;
        assert_eq!((log[0].at, log[0].problem.clone(), desk.view.parameters[0].value), (Some(9), None, 2.0));
        assert_eq!((log[1].who.as_str(), log[1].at, desk.view.state), ("bob", None, RunState::Running));
        assert_eq!(log[1].problem.as_deref(), Some("no"));
    }
}
