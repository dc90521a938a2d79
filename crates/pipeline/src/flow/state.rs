//! What is known of a flow that is received: its ranks, the steps that were asked for, those that are coming, and those that are kept.

mod alike;
mod asking;
mod behind;
mod carrying;
mod gathering;
mod join;
mod pace;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use visapult_publish::messages::{Declaration, FromBackEnd, note};
use visapult_publish::{Action, Troubles};
use visapult_ripp_net::Session;
use visapult_volume::{FieldInfo, Grid, StepIndex, StepSpan};

use super::assembly::{Assembly, PieceTable};
use super::crew::Convoy;
use super::meter::Meter;
use super::received::ReceivedStep;
use super::spare::SpareMemory;
use super::steering_coordinator::Coordinator;
use crate::crew::Crew;
use alike::Alike;
pub(super) use behind::Apart;
use carrying::Carrying;
use gathering::Gathering;
pub(super) use join::join;
use pace::{MOST_LEAD, Pace};

/// Steps of a file that are kept at least: the one shown, the next, and one being received.
const LEAST_KEPT: usize = 3;
/// A rank is told of, and reads a word, within so many seconds beside the round trip.
const WORD_S: f64 = 0.1;

#[derive(Default)]
pub(super) struct State {
    /// The other processes that receive the flow, and what is waited for of them.
    pub(super) crew: Option<Arc<Crew>>,
    pub(super) convoy: Convoy,
    /// What all ranks declare alike, with rank 0's name.
    pub(super) declared: Option<Declared>,
    pub(super) links: Vec<Link>,
    pub(super) assemblies: BTreeMap<StepIndex, Assembly>,
    pub(super) kept: VecDeque<Arc<ReceivedStep>>,
    pub(super) spare: SpareMemory,
    /// Fields that are asked for.
    pub(super) active: BTreeSet<usize>,
    /// Steps that were asked for and have not come.
    pub(super) asked: BTreeMap<StepIndex, Vec<usize>>,
    /// Fields of the wants of "any newer step" that have not been answered, the oldest first.
    pub(super) open_wants: VecDeque<Vec<usize>>,
    /// Where the ranks are paused and the steps there have been asked for.
    pub(super) asked_before: Option<StepIndex>,
    /// The next step to be asked for.
    pub(super) next: StepIndex,
    /// How far ahead.
    pub(super) pace: Pace,
    pub(super) carrying: Carrying,
    /// Steps that will not come, and why.
    pub(super) refused: BTreeMap<StepIndex, String>,
    /// Why nothing more comes at present.
    pub(super) trouble: Option<String>,
    /// Why somebody was refused, as it was said since the ranks are there.
    pub(super) refusals: Troubles,
    pub(super) progressed: Option<Instant>,
    pub(super) statistics: FlowStatistics,
    /// When all ranks were there for the first time.
    gathered: Option<Instant>,
    pub(super) last_gone: Option<StepIndex>,
    gathering: Gathering,
    /// Ranks that seem to be far apart.
    pub(super) apart: Apart,
    /// It was said that ranks declare what does not go together.
    is_unlike_named: bool,
    pub(super) coordinator: Coordinator,
    /// How often the simulation was started anew.
    pub(super) runs: u64,
    /// It was, and nothing has come of its new run yet: the steps of the last one are still shown.
    pub(super) run_begins: bool,
    /// How many look at it now.
    pub(super) looks: usize,
    /// Grows whenever a rank comes or goes, or is refused while none is there.
    pub(super) comings: u64,
    /// Why a program was refused that came after all ranks had gone.
    pub(super) turned_away: Option<String>,
}

/// What has been received of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowStatistics {
    /// When the first step was there.
    pub first_step: Option<Instant>,
    /// Steps, the first among them.
    pub steps: u64,
    /// Bytes of their values, with the ghost layers of PEs; what was lost on the way left out.
    pub bytes: u64,
    /// Those that came once the first step was there.
    pub later_bytes: u64,
    /// Sum over the steps of the share that is theirs.
    pub fresh: f64,
    /// Time from all ranks being there to the first step being there, in seconds.
    pub first_step_s: Option<f64>,
}

pub(super) struct Declared {
    pub(super) grid: Grid,
    pub(super) fields: Vec<FieldInfo>,
    pub(super) live: bool,
    pub(super) first: Declaration,
    pub(super) table: Arc<PieceTable>,
}

/// The session of a rank.
#[derive(Clone, Default)]
pub(super) struct Link {
    pub(super) session: Option<Arc<Session>>,
    pub(super) newest: Option<StepIndex>,
    /// The first step that it was known to have done.
    first: Option<StepIndex>,
    /// What it has declared that all ranks declare alike, beside what they publish.
    alike: Alike,
    /// It has come back with fewer steps than it had: it was started anew.
    pub(super) is_anew: bool,
    /// It is anew, and others have gone on: it is left out.
    pub(super) is_behind: bool,
    /// It was said that it is.
    is_named: bool,
    /// It has caught up, and nothing of it has come since: what it has passed meanwhile comes without it.
    pub(super) is_late: bool,
    /// Steps.
    rate: Meter,
    /// When it has last told its newest step.
    heard: Option<Instant>,
}

impl Link {
    /// The rank has come to a step.
    pub(super) fn on_newest(&mut self, newest: StepIndex) {
        let steps = newest.saturating_sub(self.newest.unwrap_or(newest));
        let now = Instant::now();
        self.rate.add(steps as f64, now);
        self.heard = Some(now);
        self.newest = self.newest.max(Some(newest));
        self.first = self.first.or(self.newest);
    }

    /// Steps that the rank does while a word is on its way to it.
    fn on_the_way(&self) -> StepIndex {
        (self.rate.per_s() * (self.rtt_s() + WORD_S)).ceil() as StepIndex
    }

    fn rtt_s(&self) -> f64 {
        self.session.as_ref().map_or(0.0, |session| {
            let lanes = session.statistics().lanes;
            lanes.iter().map(|lane| lane.rtt.smooth().as_secs_f64()).fold(0.0, f64::max)
        })
    }
}

impl State {
    pub(super) fn new(most_ahead: usize, crew: Option<Arc<Crew>>) -> Self {
        let convoy = Convoy::new(crew.as_deref());
        Self { crew, convoy, pace: Pace::new(most_ahead), ..Self::default() }
    }

    pub(super) fn span(&self) -> StepSpan {
        let declared = self.declared.as_ref().filter(|declared| !declared.live).and_then(|it| it.first.steps);
        if let Some([first, last]) = declared {
            return StepSpan { first, last };
        }
        match (self.kept.front(), self.kept.back()) {
            (Some(first), Some(last)) => StepSpan { first: first.step, last: last.step },
            _ => self.convoy.span_before.unwrap_or(StepSpan { first: self.next, last: self.next }),
        }
    }

    pub(super) fn is_live(&self) -> bool {
        self.declared.as_ref().is_some_and(|declared| declared.live)
    }

    /// Whether there is a step to show: a hand is told of steps by the head.
    pub(super) fn has_steps(&self) -> bool {
        self.is_hand() || !self.is_live() || !self.kept.is_empty()
    }

    /// Every step is to be taken: the ranks wait.
    pub(super) fn takes_every(&self) -> bool {
        self.declared.as_ref().is_some_and(|declared| declared.first.every)
    }

    pub(super) fn newest(&self) -> Option<StepIndex> {
        self.links.iter().filter_map(|link| link.newest).max()
    }

    pub(super) fn keeps(&self, step: StepIndex) -> bool {
        self.kept.iter().any(|kept| kept.step == step)
    }

    pub(super) fn all_there(&self) -> bool {
        self.all_ranks_there() && self.all_hands_ready()
    }

    pub(super) fn all_ranks_there(&self) -> bool {
        self.declared.is_some() && self.links.iter().all(|link| link.session.is_some())
    }

    /// Ranks that are there, those that are left out included.
    pub(super) fn ranks(&self) -> usize {
        self.links.iter().filter(|link| link.session.is_some()).count()
    }

    /// Asks something of the simulation, before a step that no rank has come to when it hears of it.
    pub(super) fn steer(&mut self, who: &str, action: Action) -> Result<(), String> {
        if self.ranks() == 0 {
            return Err("the simulation is not there".to_owned());
        }
        let ahead = self.on_the_way_now();
        let at = self.newest().map_or(0, |newest| newest.saturating_add(2 + ahead));
        // A single step would stop a rank that is behind where it is; all else takes effect once it has come to the step.
        let is_for_all = action != Action::Step;
        let asked = (0..self.links.len()).filter(|&rank| self.links[rank].is_present()).collect();
        let steer = FromBackEnd::Steer(self.coordinator.ask(who, action, at, asked)?);
        if is_for_all {
            self.tell(&steer);
        } else {
            self.tell_present(&steer);
        }
        self.tell_decided();
        Ok(())
    }

    /// Tells all ranks before which step that is done of which they have spoken.
    pub(super) fn tell_decided(&mut self) {
        for commit in self.coordinator.take_decided() {
            self.tell(&FromBackEnd::Commit(commit));
        }
    }

    /// A rank of a paused simulation has been given a signal: all go on, for what it does then the others may have a part in.
    pub(super) fn resume_for_signal(&mut self, rank: usize) {
        if self.coordinator.is_to_resume() {
            return;
        }
        // Where it cannot be asked there is no rank that could be told.
        let _ = self.steer(&format!("a signal to rank {rank}"), Action::Resume);
    }

    pub(super) fn tell(&self, message: &FromBackEnd) {
        tell(self.links.iter(), message);
    }

    /// Tells those that are not left out.
    pub(super) fn tell_present(&self, message: &FromBackEnd) {
        tell(self.present(), message);
    }

    /// Steps that ranks do while a word is on its way to them.
    fn on_the_way_now(&self) -> StepIndex {
        self.present().map(Link::on_the_way).max().unwrap_or(0)
    }

    /// The longest round trip to a rank, in seconds.
    pub(super) fn rtt_s(&self) -> f64 {
        self.present().map(Link::rtt_s).fold(0.0, f64::max)
    }

    /// A step begins to come; the error says why it cannot.
    pub(super) fn assembly(&mut self, step: StepIndex) -> Result<&mut Assembly, String> {
        let unasked = || format!("step {step} was not asked for");
        if !self.assemblies.contains_key(&step) {
            let fields = match self.asked.get(&step) {
                Some(fields) => fields.clone(),
                None => {
                    // Wants are answered in their order.
                    let fields = self.open_wants.pop_front().ok_or_else(unasked)?;
                    self.next = self.next.max(step.saturating_add(1));
                    fields
                }
            };
            let table = Arc::clone(&self.declared.as_ref().ok_or_else(unasked)?.table);
            let spare = &mut self.spare;
            let made = Assembly::new(step, &fields, &table, |length| spare.take(length));
            let mut assembly = made.map_err(|cause| {
                self.asked.insert(step, fields);
                self.refuse(step, cause.to_string());
                cause.to_string()
            })?;
            let absent = self.links.iter().enumerate().filter(|(_, link)| !link.is_present());
            absent.for_each(|(rank, _)| assembly.give_up(rank));
            self.spare.touch();
            self.assemblies.insert(step, assembly);
        }
        self.assemblies.get_mut(&step).ok_or_else(unasked)
    }

    /// Whoever waits for the step is told why it does not come.
    fn refuse(&mut self, step: StepIndex, why: String) {
        self.refused.insert(step, why);
        while self.refused.len() > MOST_LEAD as usize {
            self.refused.pop_first();
        }
    }

    /// Keeps the steps that are over.
    pub(super) fn keep_finished(&mut self, history_bytes: usize) {
        let over: Vec<StepIndex> =
            self.assemblies.iter().filter(|(_, assembly)| assembly.is_over()).map(|(step, _)| *step).collect();
        for step in over {
            self.asked.remove(&step);
            let Some(assembly) = self.assemblies.remove(&step) else { continue };
            // With other processes, it is all that counts.
            if assembly.is_abandoned() || assembly.is_vain() && self.crew.is_none() {
                self.miss(step);
                continue;
            }
            // The step itself, where it was asked for once more, and the one before.
            let before = |kept: &&Arc<ReceivedStep>| kept.step < step;
            let is_known = self.kept.iter().rev().filter(|_| !self.run_begins);
            let itself = is_known.clone().find(|kept| kept.step == step);
            let before: Vec<_> = itself.into_iter().chain(is_known.clone().find(before)).cloned().collect();
            match assembly.into_received(&before) {
                Ok(received) => self.complete(received, history_bytes),
                Err(cause) => self.trouble = Some(cause.to_string()),
            }
        }
    }

    pub(super) fn keep(&mut self, received: ReceivedStep, history_bytes: usize) {
        let bytes = received.held().max(1);
        self.note_throughput(bytes, &received);
        if std::mem::take(&mut self.run_begins) {
            self.kept.drain(..).for_each(|kept| self.spare.keep(&kept));
            self.runs += 1;
        }
        let most = (history_bytes / bytes).max(LEAST_KEPT);
        self.kept.retain(|kept| kept.step != received.step);
        let place = self.kept.partition_point(|kept| kept.step < received.step);
        self.kept.insert(place, Arc::new(received));
        while self.kept.len() > most {
            // Of a file, what lies farthest from what has just come.
            let farthest = if self.is_live() || place > self.kept.len() / 2 { 0 } else { self.kept.len() - 1 };
            if let Some(step) = self.kept.remove(farthest) {
                self.order_forget(step.step);
                self.spare.keep(&step);
            }
        }
        self.progressed = Some(Instant::now());
        self.pace.keep_up(self.next);
    }

    fn note_throughput(&mut self, bytes: usize, received: &ReceivedStep) {
        let statistics = &mut self.statistics;
        if statistics.first_step.is_none() {
            statistics.first_step = Some(Instant::now());
            statistics.first_step_s = self.gathered.map(|at| at.elapsed().as_secs_f64());
        } else {
            statistics.later_bytes += received.fresh_bytes;
        }
        statistics.steps += 1;
        statistics.bytes += received.fresh_bytes;
        statistics.fresh += received.fresh();
        self.pace.on_step(bytes, self.rtt_s(), self.on_the_way_now());
    }

    pub(super) fn on_gone(&mut self, rank: usize, step: StepIndex, newest: StepIndex, why: Option<String>) {
        self.links[rank].on_newest(newest);
        let Link { is_behind, is_late, .. } = self.links[rank];
        if is_behind {
            return;
        }
        if let Some(why) = why {
            self.refuse(step, why);
        } else if self.last_gone.replace(step) != Some(step) && !self.keeps(step) {
            // All ranks say so of the same step: it counts once. One that was to come once more was in time before.
            self.pace.fall_behind(newest.saturating_sub(step));
        }
        match self.assembly(step) {
            Ok(assembly) if is_late => assembly.give_up(rank),
            Ok(assembly) => assembly.abandon(rank),
            Err(_) => {}
        }
    }
}

fn tell<'a>(links: impl Iterator<Item = &'a Link>, message: &FromBackEnd) {
    let text = note(message);
    for session in links.filter_map(|link| link.session.as_ref()) {
        // A session that has ended is noticed by its thread.
        let _ = session.note(&text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_at_the_end_of_all_numbers_are_no_trouble() {
        let mut state = State::new(usize::MAX, None);
        state.links = vec![Link::default(), Link::default()];
        state.asked.insert(0, vec![0]);
        state.on_gone(0, 0, StepIndex::MAX, None);
        state.on_gone(1, StepIndex::MAX, StepIndex::MAX, None);
        assert_eq!(state.pace.lead(), MOST_LEAD);
    }
}
