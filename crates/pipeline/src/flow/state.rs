//! What is known of a flow that is received: its ranks, the steps that were asked for, those that are coming, and those that are kept.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use visapult_ripp_net::Session;
use visapult_volume::{Block, Box3, FieldInfo, Grid, StepIndex, StepSpan};

use super::assembly::{Assembly, PieceTable, SpareMemory};
use super::crew::Convoy;
use super::desk::Desk;
use super::messages::{Declaration, FromBackEnd, Want, note};
use super::meter::Meter;
use super::received::ReceivedStep;
use super::source::FlowOptions;
use super::steering::Action;
use crate::crew::Crew;
use crate::step_store::fitting_boxes;

/// Steps of a running simulation that are asked for ahead, at least and at most.
const AHEAD: std::ops::RangeInclusive<usize> = 2..=32;
/// The same before it is known how fast they come.
const FIRST_AHEAD: usize = 4;
/// Round trips from the question for a step until it is known that all of it has come, the time of its bytes left out: question, offer,
/// acceptance, data, the search for what was lost at its end, and the word that it has ended.
const ROUND_TRIPS: f64 = 6.0;
/// Steps of a file that are kept at least: the one shown, the next, and one being received.
const LEAST_KEPT: usize = 3;
/// A rank is told of, and reads a word, within so many seconds beside the round trip.
const WORD_S: f64 = 0.1;
/// Most steps that ranks may be ahead of what is asked of them.
const MOST_LEAD: StepIndex = 1024;

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
    /// How far ahead of the newest step the next is asked for: ranks move on while the question is on its way.
    pub(super) lead: StepIndex,
    /// Steps that will not come, and why.
    pub(super) refused: BTreeMap<StepIndex, String>,
    /// Why nothing more comes at present.
    pub(super) trouble: Option<String>,
    pub(super) progressed: Option<Instant>,
    pub(super) statistics: FlowStatistics,
    /// When all ranks were there for the first time.
    gathered: Option<Instant>,
    /// Bytes.
    throughput: Meter,
    /// Steps to be asked for ahead.
    ahead: usize,
    /// The same at most.
    most_ahead: usize,
    /// Steps received per second, of late.
    received_per_s: f64,
    /// Steps that ranks do while a word is on its way to them.
    on_the_way: StepIndex,
    pub(super) last_gone: Option<StepIndex>,
    pub(super) desk: Desk,
    /// How often the simulation was started anew.
    pub(super) runs: u64,
    /// It was, and nothing has come of its new run yet: the steps of the last one are still shown.
    pub(super) run_begins: bool,
    /// How many look at it now.
    pub(super) looks: usize,
    /// Grows whenever a rank comes or goes.
    pub(super) comings: u64,
}

/// What has been received of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowStatistics {
    /// Steps.
    pub steps: u64,
    /// Bytes of their values, with the ghost layers of PEs; what was lost on the way left out.
    pub bytes: u64,
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
    /// It has come back with fewer steps than it had: it was started anew.
    pub(super) is_anew: bool,
    /// Steps.
    rate: Meter,
}

impl Link {
    /// The rank has come to a step.
    pub(super) fn on_newest(&mut self, newest: StepIndex) {
        let steps = newest.saturating_sub(self.newest.unwrap_or(newest));
        self.rate.add(steps as f64, Instant::now());
        self.newest = self.newest.max(Some(newest));
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
        Self { crew, convoy, lead: 1, ahead: FIRST_AHEAD, most_ahead, ..Self::default() }
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

    pub(super) fn newest(&self) -> Option<StepIndex> {
        self.links.iter().filter_map(|link| link.newest).max()
    }

    pub(super) fn all_there(&self) -> bool {
        self.all_ranks_there() && self.all_hands_ready()
    }

    pub(super) fn all_ranks_there(&self) -> bool {
        self.declared.is_some() && self.links.iter().all(|link| link.session.is_some())
    }

    /// Ranks that are there.
    pub(super) fn ranks(&self) -> usize {
        self.links.iter().filter(|link| link.session.is_some()).count()
    }

    /// There is somebody to ask. Ranks that are late are waited for; those that have left are not.
    pub(super) fn can_ask(&self) -> bool {
        let had_steps = !self.kept.is_empty() || self.convoy.span_before.is_some();
        self.all_there() || had_steps && self.links.iter().any(|link| link.session.is_some())
    }

    /// Asks something of the simulation, before a step that no rank has come to when it hears of it.
    pub(super) fn steer(&mut self, who: &str, action: Action) -> Result<(), String> {
        if !self.links.iter().any(|link| link.session.is_some()) {
            return Err("the simulation is not there".to_owned());
        }
        let ahead = self.links.iter().map(Link::on_the_way).max().unwrap_or(0);
        let at = self.newest().map_or(0, |newest| newest.saturating_add(2 + ahead));
        let steer = self.desk.ask(who, action, at)?;
        self.tell(&FromBackEnd::Steer(steer));
        Ok(())
    }

    /// It was asked for, and is on its way.
    pub(super) fn is_waited_for(&self, step: StepIndex) -> bool {
        self.asked.contains_key(&step) || self.convoy.waits_for(step)
    }

    pub(super) fn tell(&self, message: &FromBackEnd) {
        let text = note(message);
        for session in self.links.iter().filter_map(|link| link.session.as_ref()) {
            // A session that has ended is noticed by its thread.
            let _ = session.note(&text);
        }
    }

    pub(super) fn ask(&mut self, step: StepIndex, or_newer: bool, fields: Vec<usize>) {
        self.tell(&FromBackEnd::Want(Want { step, or_newer, fields: fields.clone() }));
        if or_newer {
            self.open_wants.push_back(fields);
        } else {
            self.order_want(step, &fields);
            self.asked.insert(step, fields);
            self.next = self.next.max(step.saturating_add(1));
            if self.crew.is_some() && !self.all_ranks_there() {
                self.begin_all_asked();
            }
        }
    }

    /// A simulation that was started anew may be split over another number of ranks, once all of the run before are gone.
    fn take_ranks(&mut self, ranks: usize) -> Result<(), String> {
        if self.links.len() == ranks {
            return Ok(());
        }
        let there = self.ranks();
        if there > 0 {
            let before = self.links.len();
            return Err(format!(
                "it has {ranks} ranks, but {there} of the {before} ranks of a run before are still there"
            ));
        }
        self.assemblies.clear();
        self.asked.clear();
        self.links = vec![Link { is_anew: true, ..Link::default() }; ranks];
        Ok(())
    }

    /// The pieces once `rank` owns `block`. Boxes of ranks that are gone are kept while nobody else wants the place.
    fn table_with(
        &self,
        rank: usize,
        block: Box3,
        grid: &Grid,
        options: &FlowOptions,
    ) -> Result<Arc<PieceTable>, String> {
        let stored = |owned: &Box3| Block::stored_for(owned, &grid.bounds());
        let mut table = self.declared.as_ref().map_or_else(
            || PieceTable {
                blocks: Vec::new(),
                stored: fitting_boxes(grid.size, options.pes).iter().map(stored).collect(),
                own: 0..0,
            },
            |declared| (*declared.table).clone(),
        );
        table.blocks.resize(self.links.len(), Box3::of_size([0; 3]));
        table.own = self.own_share(table.stored.len());
        for (other, link) in self.links.iter().enumerate().filter(|(other, _)| *other != rank) {
            let theirs = table.blocks[other];
            if theirs.intersection(&block).is_none() {
                continue;
            }
            if link.session.is_some() {
                return Err(format!("block {block} of rank {rank} overlaps {theirs} of rank {other}"));
            }
            table.blocks[other] = Box3::of_size([0; 3]);
        }
        table.blocks[rank] = block;
        Ok(Arc::new(table))
    }

    /// Asks a rank that has come back for what the others were asked for meanwhile, and it before.
    fn ask_again(&self, session: &Session) {
        for (step, fields) in &self.asked {
            // A session that has ended is noticed by its thread.
            let _ =
                session.note(&note(&FromBackEnd::Want(Want { step: *step, or_newer: false, fields: fields.clone() })));
        }
    }

    /// Steps that can be received until the ranks come to the step that is asked for now: they are asked for, too.
    fn steps_until(&self, lead: StepIndex) -> usize {
        const ROOM: f64 = 1.5;
        let computed_per_s = self.links.iter().map(|link| link.rate.per_s()).fold(0.0, f64::max);
        let received_per_s = self.received_per_s.min(computed_per_s);
        (ROOM * received_per_s * lead as f64 / computed_per_s.max(1e-6)).ceil().min(lead as f64) as usize
    }

    /// As many steps as the path holds from question to answer: fewer would leave it idle, more would only wait.
    fn steps_ahead(&self, step_bytes: usize) -> usize {
        let rtt_s = self.links.iter().map(Link::rtt_s).fold(0.0, f64::max);
        let under_way = (self.throughput.per_s() * rtt_s * ROUND_TRIPS / step_bytes as f64).ceil() as usize;
        (under_way + AHEAD.start()).min(*AHEAD.end())
    }

    /// Somebody begins to look.
    pub(super) fn begin_look(&mut self) {
        self.looks += 1;
        if self.looks == 1 {
            self.throughput.rest();
            self.ask_ahead();
        }
    }

    /// Asks a running simulation for steps ahead, while somebody looks or every one is to be taken.
    pub(super) fn ask_ahead(&mut self) {
        if self.is_hand() || !self.is_live() || !self.can_ask() {
            return;
        }
        let fields: Vec<usize> = self.active.iter().copied().collect();
        if self.declared.as_ref().is_some_and(|declared| declared.first.every) {
            return self.ask_every(&fields);
        }
        if self.looks == 0 {
            return;
        }
        if self.links.len() == 1 && self.crew.is_none() {
            // One publisher knows best which step is the next that it can send.
            while self.open_wants.len() + self.assemblies.len() < self.ahead.min(self.most_ahead) {
                self.ask(self.next, true, fields.clone());
            }
            return;
        }
        let newest = self.newest();
        self.ask_paused(&fields);
        let lead = self.lead.max(self.on_the_way);
        let most = (self.ahead + self.steps_until(lead)).min(self.most_ahead);
        while self.asked.len().max(self.convoy.pending()) < most {
            let Some(newest) = newest else { return };
            let first = (self.kept.is_empty() || self.run_begins) && self.asked.is_empty();
            let all_at_it = first && self.links.iter().all(|link| link.newest == Some(newest));
            let step = if all_at_it { newest } else { newest.saturating_add(lead) };
            self.ask(step.max(self.next), false, fields.clone());
        }
    }

    /// Where the ranks are paused, asks for the step that they have done last and for the one that they do next: who does single steps wants to
    /// see each.
    fn ask_paused(&mut self, fields: &[usize]) {
        let waits_before = self.desk.waits_before;
        if self.asked_before == waits_before {
            return;
        }
        self.asked_before = waits_before;
        let steps = waits_before.map_or(0..0, |next| next.saturating_sub(1)..next.saturating_add(1));
        for step in steps {
            if !self.is_waited_for(step) && self.kept.iter().all(|kept| kept.step != step) {
                self.ask(step, false, fields.to_vec());
            }
        }
    }

    /// Asks for the steps that come, one after the other, whether somebody looks or not: the ranks wait until they are taken.
    fn ask_every(&mut self, fields: &[usize]) {
        while self.asked.len().max(self.convoy.pending()) < self.ahead.min(self.most_ahead) {
            // Whoever has just come, or has come too late, begins with what is there.
            let there = self.newest().filter(|_| self.asked.is_empty() && self.convoy.pending() == 0);
            self.ask(there.map_or(self.next, |newest| newest.max(self.next)), false, fields.to_vec());
        }
    }

    /// A step begins to come.
    pub(super) fn assembly(&mut self, step: StepIndex) -> Option<&mut Assembly> {
        if !self.assemblies.contains_key(&step) {
            let fields = match self.asked.get(&step) {
                Some(fields) => fields.clone(),
                None => {
                    // Wants are answered in their order.
                    let fields = self.open_wants.pop_front()?;
                    self.next = self.next.max(step.saturating_add(1));
                    fields
                }
            };
            let table = Arc::clone(&self.declared.as_ref()?.table);
            let spare = &mut self.spare;
            let mut assembly = Assembly::new(step, &fields, &table, |length| spare.take(length));
            let gone = self.links.iter().enumerate().filter(|(_, link)| link.session.is_none());
            gone.for_each(|(rank, _)| assembly.give_up(rank));
            self.assemblies.insert(step, assembly);
        }
        self.assemblies.get_mut(&step)
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
            let last = self.kept.iter().rev().find(|kept| kept.step < step && !self.run_begins).cloned();
            match assembly.into_received(last.as_deref()) {
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
        self.lead = self.lead.saturating_sub(u64::from(self.lead > 4 && self.next.is_multiple_of(16))).max(1);
    }

    fn note_throughput(&mut self, bytes: usize, received: &ReceivedStep) {
        self.throughput.add(bytes as f64, Instant::now());
        let statistics = &mut self.statistics;
        statistics.steps += 1;
        statistics.bytes += received.fresh_bytes;
        statistics.fresh += received.fresh;
        statistics.first_step_s = statistics.first_step_s.or(self.gathered.map(|at| at.elapsed().as_secs_f64()));
        self.ahead = self.steps_ahead(bytes);
        self.received_per_s = self.throughput.per_s() / bytes as f64;
        self.on_the_way = self.links.iter().map(Link::on_the_way).max().unwrap_or(0);
    }

    /// A step was asked for too late: the next are asked for further ahead.
    pub(super) fn fall_behind(&mut self, step: StepIndex, newest: StepIndex) {
        self.lead = newest.saturating_sub(step).saturating_add(self.lead + 1).min(MOST_LEAD);
    }

    pub(super) fn on_gone(&mut self, rank: usize, step: StepIndex, newest: StepIndex, why: Option<String>) {
        self.links[rank].on_newest(newest);
        if let Some(why) = why {
            self.refused.insert(step, why);
            while self.refused.len() > MOST_LEAD as usize {
                self.refused.pop_first();
            }
        } else if self.last_gone.replace(step) != Some(step) {
            // All ranks say so of the same step: it counts once.
            self.fall_behind(step, newest);
        }
        self.assembly(step);
        if let Some(assembly) = self.assemblies.get_mut(&step) {
            assembly.abandon(rank);
        }
    }
}

/// A rank has said what it publishes: it joins the others if it fits them. Returns its number.
pub(super) fn join(
    state: &mut State,
    options: &FlowOptions,
    declaration: Declaration,
    session: &Arc<Session>,
) -> Result<usize, String> {
    let (grid, fields, block) = declaration.check()?;
    check_memory(&grid, memory_bytes())?;
    let (rank, ranks) = (declaration.rank as usize, declaration.ranks as usize);
    if let Some(declared) = &state.declared {
        if declared.grid != grid || declared.fields != fields {
            return Err(format!("rank {rank} publishes another grid or other fields; start the back end anew"));
        }
        state.take_ranks(ranks)?;
    } else {
        state.links = vec![Link::default(); ranks];
        state.active = options.watch.numbers(&fields);
    }
    if state.links[rank].session.as_ref().is_some_and(|other| other.is_alive()) {
        return Err(format!("there is a rank {rank} already: two programs publish under one name"));
    }
    let table = state.table_with(rank, block, &grid, options)?;
    let newest = declaration.steps.map(|[_, last]| last).filter(|_| declaration.live);
    let before = &state.links[rank];
    let is_anew = declaration.live && (before.is_anew || before.newest > newest);
    state.comings += 1;
    state.links[rank] = Link { session: Some(Arc::clone(session)), newest, is_anew, ..Link::default() };
    if rank == 0 {
        state.desk.declare(declaration.parameters.clone());
    }
    let live = declaration.live;
    let first = match state.declared.take() {
        Some(before) if rank != 0 => before.first,
        _ => declaration,
    };
    state.declared = Some(Declared { grid, fields, live, first, table });
    state.trouble = None;
    if state.all_ranks_there() {
        check_cover(state)?;
        state.gathered.get_or_insert_with(Instant::now);
        state.report_ready();
        if state.links.iter().all(|link| link.is_anew) {
            state.begin_run(options);
        }
    }
    if !state.links[rank].is_anew {
        state.ask_again(session);
    }
    Ok(rank)
}

/// What a publisher claims is not allocated before it is known to fit: a step being received, beside the one that is shown.
fn check_memory(grid: &Grid, memory_bytes: Option<u64>) -> Result<(), String> {
    let step_bytes = grid.sample_count() as u64 * 4;
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    match memory_bytes {
        Some(memory) if step_bytes > memory / 2 => Err(format!(
            "a step of one field takes {:.1} GiB, more than half of this machine's {:.1} GiB of memory",
            gib(step_bytes),
            gib(memory)
        )),
        _ => Ok(()),
    }
}

/// Memory of this machine, where the system tells.
fn memory_bytes() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = told.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Every cell belongs to a rank.
fn check_cover(state: &State) -> Result<(), String> {
    let Some(declared) = &state.declared else { return Ok(()) };
    let covered: usize = declared.table.blocks.iter().map(Box3::volume).sum();
    let cells = declared.grid.sample_count();
    if covered != cells {
        return Err(format!("the ranks' blocks hold {covered} of the grid's {cells} samples: they must tile it"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_that_does_not_fit_memory_is_refused_before_any_is_taken() {
        let grid = Grid::of_size([1024, 1024, 1024]);
        let refused = check_memory(&grid, Some(6 << 30)).unwrap_err();
        assert!(refused.contains("4.0 GiB") && refused.contains("6.0 GiB"), "{refused}");
        assert_eq!(check_memory(&grid, Some(8 << 30)), Ok(()));
        assert_eq!(check_memory(&grid, None), Ok(()));
    }

    #[test]
    fn steps_at_the_end_of_all_numbers_are_no_trouble() {
        let mut state = State::new(usize::MAX, None);
        state.links = vec![Link::default(), Link::default()];
        state.asked.insert(0, vec![0]);
        state.on_gone(0, 0, StepIndex::MAX, None);
        state.on_gone(1, StepIndex::MAX, StepIndex::MAX, None);
        assert_eq!(state.lead, MOST_LEAD);
    }
}
