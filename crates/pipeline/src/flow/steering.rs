//! Steering: parameters that a simulation declares, and what may be asked of it between steps.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use visapult_volume::StepIndex;

/// Most parameters of a simulation.
pub(super) const MOST_PARAMETERS: usize = 64;
const MOST_NAME: usize = 200;
/// Entries of the log that are kept and shown.
const MOST_LOG: usize = 20;

/// What values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ParameterKind {
    /// Any number.
    Number,
    /// Whole numbers.
    Integer,
}

/// A parameter that viewers may change while the simulation runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its unit; empty where it has none.
    pub unit: String,
    /// What values it takes.
    pub kind: ParameterKind,
    /// Least value.
    pub least: f64,
    /// Greatest value.
    pub most: f64,
    /// Value now.
    pub value: f64,
}

/// What a viewer asks of a simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum Action {
    /// Give a parameter a value.
    Set {
        /// Which.
        name: String,
        /// The value.
        value: f64,
    },
    /// Stop before the next step, and wait.
    Pause,
    /// Go on.
    Resume,
    /// Do one step, then wait again.
    Step,
    /// End in order.
    Stop,
}

/// An action, and the step before which it shall take effect on all ranks. Each rank answers with the step it has not begun, and does not begin
/// it before it is told which step it is to be: the greatest of all answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Steer {
    pub(super) sequence: u64,
    pub(super) at: StepIndex,
    #[serde(flatten)]
    pub(super) action: Action,
}

/// The step before which an action takes effect; none if it does not, because a rank will not have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Commit {
    pub(super) sequence: u64,
    pub(super) at: Option<StepIndex>,
}

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

/// One action in the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Logged {
    /// Who asked.
    pub who: String,
    /// When, in seconds since 1970.
    pub unix_s: f64,
    /// What.
    #[serde(flatten)]
    pub action: Action,
    /// The step before which it took effect; none while that is not known.
    pub at: Option<StepIndex>,
    /// Why it did not, or not as asked.
    pub problem: Option<String>,
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

impl Parameter {
    /// Holds the parameter against its own bounds.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.name.is_empty() || self.name.len() > MOST_NAME || self.unit.len() > MOST_NAME {
            return Err(format!("a parameter needs a name, and name and unit of at most {MOST_NAME} bytes"));
        }
        if !(self.least.is_finite() && self.most.is_finite() && self.least <= self.most) {
            return Err(format!("parameter {} has no range: {} to {}", self.name, self.least, self.most));
        }
        self.check_value(self.value)
    }

    fn check_value(&self, value: f64) -> Result<(), String> {
        if !(self.least..=self.most).contains(&value) {
            let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
            return Err(format!("{} takes {} to {}{unit}, not {value}", self.name, self.least, self.most));
        }
        if self.kind == ParameterKind::Integer && value.fract() != 0.0 {
            return Err(format!("{} takes whole numbers, not {value}", self.name));
        }
        Ok(())
    }
}

/// Whether `action` can be done with `parameters`.
pub(super) fn check(parameters: &[Parameter], action: &Action) -> Result<(), String> {
    let Action::Set { name, value } = action else { return Ok(()) };
    let Some(parameter) = parameters.iter().find(|parameter| parameter.name == *name) else {
        let shown: String = name.chars().take(MOST_NAME).collect();
        return Err(format!("the simulation has no parameter {shown}"));
    };
    parameter.check_value(*value)
}

/// The back end's side: what was asked, and what the ranks said to it.
#[derive(Debug, Default)]
pub(super) struct Desk {
    pub(super) view: SteeringView,
    /// Grows with every change of the view.
    pub(super) revision: u64,
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

/// A parameter that has been changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Which.
    pub name: String,
    /// Its value from here on.
    pub value: f64,
}

/// What viewers ask of the simulation before its next step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steering {
    /// Parameters that change.
    pub changes: Vec<Change>,
    /// It shall end in order.
    pub stop: bool,
}

/// What a rank answers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    /// To which back end.
    pub(super) to: usize,
    pub(super) sequence: u64,
    /// It waits, and has not done it yet.
    pub(super) is_ready: bool,
    pub(super) at: StepIndex,
    pub(super) why: Option<String>,
}

/// Most actions that wait for their step.
const MOST_WAITING: usize = 1024;
/// A rank that waits to be told its step goes on without it after this long: the back end has died at the wrong moment.
const COMMIT_PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug)]
struct Waiting {
    from: usize,
    sequence: u64,
    action: Action,
    /// Before this step, once that is settled; until then this step is not begun.
    at: StepIndex,
    settled: bool,
    since: Instant,
}

/// The rank's side: what is to be done before which step.
#[derive(Debug, Default)]
pub(super) struct Helm {
    waiting: Vec<Waiting>,
    /// The first step that has not begun.
    next: StepIndex,
    paused: bool,
    stopped: bool,
    /// Steps that may be done while paused.
    allowance: u64,
}

impl Helm {
    /// Takes what back end `from` asks for.
    pub(super) fn take(&mut self, from: usize, steer: Steer, parameters: &[Parameter]) -> Answer {
        let next = self.next;
        let answer = |is_ready, at, why| Answer { to: from, sequence: steer.sequence, is_ready, at, why };
        if let Err(why) = check(parameters, &steer.action) {
            return answer(true, next, Some(why));
        }
        match steer.action {
            // Whoever waits does not come to a later step by itself.
            Action::Resume => {
                self.paused = false;
                // Who was to pause later is to go on, too.
                let pauses = self.waiting.iter_mut().filter(|waiting| waiting.action == Action::Pause);
                pauses.for_each(|waiting| waiting.action = Action::Resume);
                answer(false, next, None)
            }
            Action::Step => {
                self.allowance += u64::from(self.paused);
                self.paused = true;
                answer(false, next, None)
            }
            _ if self.waiting.len() >= MOST_WAITING => {
                answer(true, next, Some("too much is asked for at once".to_owned()))
            }
            action => {
                let at = if self.paused { next } else { steer.at.max(next) };
                let since = Instant::now();
                self.waiting.push(Waiting { from, sequence: steer.sequence, action, at, settled: false, since });
                Answer { to: from, sequence: steer.sequence, is_ready: true, at, why: None }
            }
        }
    }

    /// The step is settled, or it does not happen.
    pub(super) fn commit(&mut self, from: usize, commit: Commit) {
        let is_meant = |waiting: &Waiting| waiting.from == from && waiting.sequence == commit.sequence;
        match commit.at {
            Some(at) => self.waiting.iter_mut().filter(|waiting| is_meant(waiting)).for_each(|waiting| {
                waiting.at = at;
                waiting.settled = true;
            }),
            None => self.waiting.retain(|waiting| !is_meant(waiting)),
        }
    }

    /// Does what is due before step `next`, in the order in which it was asked for.
    pub(super) fn apply(&mut self, next: StepIndex, parameters: &mut [Parameter]) -> (Vec<Change>, Vec<Answer>) {
        self.next = next;
        let (mut changes, mut answers) = (Vec::new(), Vec::new());
        for waiting in std::mem::take(&mut self.waiting) {
            let answer = |why| Answer { to: waiting.from, sequence: waiting.sequence, is_ready: false, at: next, why };
            if !waiting.settled && waiting.since.elapsed() > COMMIT_PATIENCE {
                answers.push(answer(Some("the back end did not say before which step".to_owned())));
                continue;
            }
            if !waiting.settled || waiting.at > next {
                self.waiting.push(waiting);
                continue;
            }
            answers.push(answer(None));
            match waiting.action {
                Action::Set { name, value } => {
                    let found = parameters.iter_mut().find(|parameter| parameter.name == name);
                    found.into_iter().for_each(|parameter| parameter.value = value);
                    changes.push(Change { name, value });
                }
                Action::Pause => self.paused = true,
                Action::Stop => self.stopped = true,
                Action::Resume | Action::Step => {}
            }
        }
        (changes, answers)
    }

    /// Whether step `next` may begin; if so it has begun.
    pub(super) fn may_begin(&mut self, next: StepIndex) -> bool {
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

    pub(super) const fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Nobody is left who could say more.
    pub(super) fn release(&mut self) {
        self.paused = false;
        self.waiting.retain(|waiting| waiting.settled);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters() -> Vec<Parameter> {
        let parameter = |name: &str, kind, value| Parameter {
            name: name.to_owned(),
            unit: "Pa".to_owned(),
            kind,
            least: 0.0,
            most: 10.0,
            value,
        };
        vec![parameter("strength", ParameterKind::Number, 1.0), parameter("sources", ParameterKind::Integer, 3.0)]
    }

    fn set(name: &str, value: f64) -> Action {
        Action::Set { name: name.to_owned(), value }
    }

    #[test]
    fn values_out_of_range_of_the_wrong_type_or_of_nothing_are_refused_with_the_reason() {
        let refused = |action| check(&parameters(), &action).unwrap_err();
        assert_eq!(refused(set("strength", 11.0)), "strength takes 0 to 10 Pa, not 11");
        assert_eq!(refused(set("strength", f64::NAN)), "strength takes 0 to 10 Pa, not NaN");
        assert_eq!(refused(set("sources", 2.5)), "sources takes whole numbers, not 2.5");
        assert_eq!(refused(set("colour", 2.5)), "the simulation has no parameter colour");
        assert_eq!(check(&parameters(), &set("sources", 2.0)), Ok(()));
    }

    fn answer(sequence: u64, is_ready: bool, at: StepIndex) -> Answer {
        Answer { to: 0, sequence, is_ready, at, why: None }
    }

    #[test]
    fn a_change_waits_for_its_step_and_is_answered_with_it() {
        let (mut helm, mut own) = (Helm::default(), parameters());
        let steer = Steer { sequence: 4, at: 10, action: set("strength", 2.0) };
        helm.apply(7, &mut own);
        assert_eq!(helm.take(0, steer, &own), answer(4, true, 10));
        helm.commit(0, Commit { sequence: 4, at: Some(11) });
        assert_eq!(helm.apply(10, &mut own), (Vec::new(), Vec::new()));
        let (changes, answers) = helm.apply(11, &mut own);
        assert_eq!(changes, [Change { name: "strength".to_owned(), value: 2.0 }]);
        assert_eq!(answers, [answer(4, false, 11)]);
        assert_eq!(own[0].value, 2.0);
    }

    #[test]
    fn a_rank_does_not_begin_a_step_before_it_is_settled_whether_that_is_it() {
        let (mut helm, mut own) = (Helm::default(), parameters());
        helm.apply(5, &mut own);
        assert!(helm.may_begin(5));
        // Step 5 has begun: it is too late for that.
        let steer = |sequence| Steer { sequence, at: 3, action: set("strength", 2.0) };
        assert_eq!(helm.take(0, steer(0), &own), answer(0, true, 6));
        assert!(!helm.may_begin(6));
        helm.commit(0, Commit { sequence: 0, at: Some(8) });
        assert!(helm.may_begin(6));
        assert_eq!(helm.take(0, steer(1), &own).at, 7);
        assert!(!helm.may_begin(7));
        helm.commit(0, Commit { sequence: 1, at: None });
        assert!(helm.may_begin(7));
        assert_eq!(helm.apply(8, &mut own).1, [answer(0, false, 8)]);
    }

    #[test]
    fn who_is_paused_goes_on_step_by_step_and_when_resumed() {
        let (mut helm, mut own) = (Helm::default(), parameters());
        let steer = |sequence, action| Steer { sequence, at: 3, action };
        let settle = |helm: &mut Helm, sequence, at| helm.commit(0, Commit { sequence, at: Some(at) });
        helm.take(0, steer(0, Action::Pause), &own);
        settle(&mut helm, 0, 3);
        helm.apply(2, &mut own);
        assert!(helm.may_begin(2));
        helm.apply(3, &mut own);
        assert!(!helm.may_begin(3));
        assert!(!helm.take(0, steer(1, Action::Step), &own).is_ready);
        assert!(helm.may_begin(3) && !helm.may_begin(4));
        helm.take(0, steer(2, set("sources", 1.0)), &own);
        settle(&mut helm, 2, 4);
        assert_eq!(helm.apply(4, &mut own).0.len(), 1);
        helm.take(0, steer(3, Action::Resume), &own);
        assert!(helm.may_begin(4));
        helm.take(0, steer(4, Action::Stop), &own);
        settle(&mut helm, 4, 5);
        helm.apply(5, &mut own);
        assert!(helm.is_stopped() && helm.may_begin(5));
    }

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
