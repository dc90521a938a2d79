//! The receiving end: a flow as a source. Steps are asked for ahead, put together from the pieces of all ranks, and kept for a while.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use visapult_ripp_net::{Arrival, Incoming, Mode, Offer, Options, RippUrl, Session};
use visapult_volume::{Block, FieldInfo, Grid, StepIndex, StepSpan};
use visapult_volume_io::{ReadRequest, Source, SourceError, SourceInfo};

use super::PIECES;
use super::assembly::{Assembly, PieceTable, SpareMemory};
use super::messages::{Declaration, FlowError, FromBackEnd, FromPublisher, PieceName, Want, note};
use super::publisher::trust_of;
use super::received::ReceivedStep;
use crate::step_store::{fitting_boxes, lock};

/// Steps of a running simulation that are asked for ahead.
const AHEAD: usize = 3;
/// Steps of a file that are kept at least: the one shown, the next, and one being received.
const LEAST_KEPT: usize = 3;
/// All ranks declare within this time.
const DECLARE_PATIENCE: Duration = Duration::from_secs(15);
const FIRST_STEP_PATIENCE: Duration = Duration::from_secs(5);
/// How long a step is waited for of which nothing more comes.
const STEP_PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);
/// While pieces are under way.
const QUICK_POLL: Duration = Duration::from_millis(2);
const DIAL_AGAIN: Duration = Duration::from_secs(2);
/// Most steps that ranks may be ahead of what is asked of them.
const MOST_LEAD: StepIndex = 1024;
/// What the session is for, as its request says.
const SUBSCRIBE: &str = "visapult-subscribe";

/// How a flow is received.
#[derive(Clone, Debug)]
pub struct FlowOptions {
    /// PEs that the grid is split over, if so many fit.
    pub pes: usize,
    /// What is asked of the transport for pieces.
    pub mode: Mode,
    /// Bytes of received steps that are kept.
    pub history_bytes: usize,
    /// How the transport receives.
    pub session: Options,
}

impl Default for FlowOptions {
    fn default() -> Self {
        Self { pes: 1, mode: Mode::Reliable, history_bytes: 512 << 20, session: Options::default() }
    }
}

/// A flow that is received: a source like any other.
pub struct FlowSource {
    info: SourceInfo,
    inner: Arc<Inner>,
    threads: Vec<JoinHandle<()>>,
}

struct Inner {
    options: FlowOptions,
    state: Mutex<State>,
    changed: Condvar,
    over: AtomicBool,
}

#[derive(Default)]
struct State {
    /// What all ranks declare alike, with rank 0's name.
    declared: Option<Declared>,
    links: Vec<Link>,
    assemblies: BTreeMap<StepIndex, Assembly>,
    kept: VecDeque<Arc<ReceivedStep>>,
    spare: SpareMemory,
    /// Fields that are asked for.
    active: BTreeSet<usize>,
    /// Steps that were asked for and have not come.
    asked: BTreeMap<StepIndex, Vec<usize>>,
    /// Wants of "any newer step" that have not been answered.
    open_wants: usize,
    /// The next step to be asked for.
    next: StepIndex,
    /// How far ahead of the newest step the next is asked for: ranks move on while the question is on its way.
    lead: StepIndex,
    /// Steps that will not come, and why.
    refused: BTreeMap<StepIndex, String>,
    /// Why nothing more comes at present.
    trouble: Option<String>,
    progressed: Option<Instant>,
}

struct Declared {
    grid: Grid,
    fields: Vec<FieldInfo>,
    live: bool,
    first: Declaration,
    table: Arc<PieceTable>,
}

/// The session of a rank.
#[derive(Clone, Default)]
struct Link {
    session: Option<Arc<Session>>,
    newest: Option<StepIndex>,
}

impl FlowSource {
    /// Receives what the publishers at `urls` publish together: one URL for each rank, with spaces between.
    ///
    /// # Errors
    /// If one cannot be reached, or they do not publish one usable flow.
    pub fn dial(urls: &str, options: FlowOptions) -> Result<Self, FlowError> {
        let urls: Result<Vec<RippUrl>, _> = urls.split_whitespace().map(str::parse).collect();
        let urls = urls.map_err(|cause| FlowError::Usage(cause.to_string()))?;
        let state = State { active: BTreeSet::from([0]), lead: 1, ..State::default() };
        let inner = Arc::new(Inner {
            options,
            state: Mutex::new(state),
            changed: Condvar::new(),
            over: AtomicBool::new(false),
        });
        let mut source = Self { info: empty_info(), inner, threads: Vec::new() };
        for url in urls {
            let trust = trust_of(&url)?;
            let options = Options { request: SUBSCRIBE.to_owned(), ..source.inner.options.session.clone() };
            let session = Session::begin(&url, &trust, None, &options)?;
            let inner = Arc::clone(&source.inner);
            let work = move || {
                let mut session = Some(session);
                while !inner.is_over() {
                    match session.take().map_or_else(|| Session::begin(&url, &trust, None, &options), Ok) {
                        Ok(session) => inner.receive(&Arc::new(session)),
                        Err(cause) => inner.note_trouble(&cause.to_string()),
                    }
                    inner.pause(DIAL_AGAIN);
                }
            };
            let thread = thread::Builder::new().name("flow-receive".to_owned()).spawn(work);
            source.threads.push(thread.map_err(|cause| FlowError::Usage(format!("a thread cannot be had: {cause}")))?);
        }
        source.info = source.inner.wait_for_declaration()?;
        source.inner.wait_for_first_step();
        Ok(source)
    }

    /// Share of a step's values that are its own; the others are of the step before, for they were lost on the way.
    #[must_use]
    pub fn fresh(&self, step: StepIndex) -> Option<f64> {
        self.inner.lock().kept.iter().find(|kept| kept.step == step).map(|kept| kept.fresh)
    }
}

impl Drop for FlowSource {
    fn drop(&mut self) {
        self.inner.over.store(true, Ordering::Relaxed);
        self.inner.changed.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Source for FlowSource {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn steps(&self) -> StepSpan {
        self.inner.lock().span()
    }

    fn wait_beyond(&self, step: StepIndex, limit: Duration) -> StepIndex {
        let state = self.inner.lock();
        let waited = self
            .inner
            .changed
            .wait_timeout_while(state, limit, |state| state.span().last <= step && !self.inner.is_over());
        waited.unwrap_or_else(PoisonError::into_inner).0.span().last
    }

    fn time_of(&self, step: StepIndex) -> Option<f64> {
        let kept = self.inner.lock().kept.iter().find(|kept| kept.step == step).and_then(|kept| kept.time);
        kept.or_else(|| self.info.times.get(usize::try_from(step).ok()?).copied())
    }

    fn read(&self, request: &ReadRequest, out: &mut [f32]) -> Result<(), SourceError> {
        let step = self.inner.step(request, &self.info.name)?;
        step.read(request.field, &request.bounds, out).map_err(|cause| SourceError::io(&self.info.name, cause))
    }
}

impl State {
    fn span(&self) -> StepSpan {
        let declared = self.declared.as_ref().filter(|declared| !declared.live).and_then(|it| it.first.steps);
        if let Some([first, last]) = declared {
            return StepSpan { first, last };
        }
        match (self.kept.front(), self.kept.back()) {
            (Some(first), Some(last)) => StepSpan { first: first.step, last: last.step },
            _ => StepSpan { first: self.next, last: self.next },
        }
    }

    fn is_live(&self) -> bool {
        self.declared.as_ref().is_some_and(|declared| declared.live)
    }

    fn newest(&self) -> Option<StepIndex> {
        self.links.iter().filter_map(|link| link.newest).max()
    }

    fn all_there(&self) -> bool {
        self.declared.is_some() && self.links.iter().all(|link| link.session.is_some())
    }

    /// There is somebody to ask. Ranks that are late are waited for; those that have left are not.
    fn can_ask(&self) -> bool {
        self.all_there() || !self.kept.is_empty() && self.links.iter().any(|link| link.session.is_some())
    }

    fn tell(&self, message: &FromBackEnd) {
        let text = note(message);
        for session in self.links.iter().filter_map(|link| link.session.as_ref()) {
            // A session that has ended is noticed by its thread.
            let _ = session.note(&text);
        }
    }

    fn ask(&mut self, step: StepIndex, or_newer: bool, fields: Vec<usize>) {
        self.tell(&FromBackEnd::Want(Want { step, or_newer, fields: fields.clone() }));
        if or_newer {
            self.open_wants += 1;
        } else {
            self.asked.insert(step, fields);
            self.next = step + 1;
        }
    }

    /// Asks a running simulation for steps ahead.
    fn ask_ahead(&mut self) {
        if !self.is_live() || !self.can_ask() {
            return;
        }
        let fields: Vec<usize> = self.active.iter().copied().collect();
        if self.links.len() == 1 {
            // One publisher knows best which step is the next that it can send.
            while self.open_wants + self.assemblies.len() < AHEAD {
                self.ask(self.next, true, fields.clone());
            }
            return;
        }
        while self.asked.len() < AHEAD {
            let Some(newest) = self.newest() else { return };
            let first = self.kept.is_empty() && self.asked.is_empty();
            let all_at_it = first && self.links.iter().all(|link| link.newest == Some(newest));
            let step = if all_at_it { newest } else { newest + self.lead };
            self.ask(step.max(self.next), false, fields.clone());
        }
    }

    /// A step begins to come.
    fn assembly(&mut self, step: StepIndex) -> Option<&mut Assembly> {
        if !self.assemblies.contains_key(&step) {
            let fields = match self.asked.get(&step) {
                Some(fields) => fields.clone(),
                None if self.open_wants > 0 => {
                    self.open_wants -= 1;
                    self.next = self.next.max(step + 1);
                    self.active.iter().copied().collect()
                }
                None => return None,
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
    fn keep_finished(&mut self, history_bytes: usize) {
        let over: Vec<StepIndex> =
            self.assemblies.iter().filter(|(_, assembly)| assembly.is_over()).map(|(step, _)| *step).collect();
        for step in over {
            self.asked.remove(&step);
            let Some(assembly) = self.assemblies.remove(&step).filter(|assembly| !assembly.is_empty()) else {
                continue;
            };
            let last = self.kept.iter().rev().find(|kept| kept.step < step).cloned();
            match assembly.into_received(last.as_deref()) {
                Ok(received) => self.keep(received, history_bytes),
                Err(cause) => self.trouble = Some(cause.to_string()),
            }
        }
    }

    fn keep(&mut self, received: ReceivedStep, history_bytes: usize) {
        let bytes = received.bytes().max(1);
        let most = (history_bytes / bytes).max(LEAST_KEPT);
        self.kept.retain(|kept| kept.step != received.step);
        let place = self.kept.partition_point(|kept| kept.step < received.step);
        self.kept.insert(place, Arc::new(received));
        while self.kept.len() > most {
            // Of a file, what lies farthest from what has just come.
            let farthest = if self.is_live() || place > self.kept.len() / 2 { 0 } else { self.kept.len() - 1 };
            if let Some(step) = self.kept.remove(farthest) {
                self.spare.keep(&step);
            }
        }
        self.progressed = Some(Instant::now());
        self.lead = self.lead.saturating_sub(u64::from(self.lead > 4 && self.next.is_multiple_of(16))).max(1);
    }

    fn on_gone(&mut self, rank: usize, step: StepIndex, newest: StepIndex, why: Option<String>) {
        self.links[rank].newest = self.links[rank].newest.max(Some(newest));
        if let Some(why) = why {
            self.refused.insert(step, why);
            while self.refused.len() > MOST_LEAD as usize {
                self.refused.pop_first();
            }
        } else {
            self.lead = (self.lead + (newest - step.min(newest)) + 1).min(MOST_LEAD);
        }
        self.assembly(step);
        if let Some(assembly) = self.assemblies.get_mut(&step) {
            assembly.give_up(rank);
        }
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn pause(&self, time: Duration) {
        let until = Instant::now() + time;
        while !self.is_over() && Instant::now() < until {
            thread::sleep(POLL);
        }
    }

    fn note_trouble(&self, why: &str) {
        self.lock().trouble = Some(why.to_owned());
        self.changed.notify_all();
    }

    /// Receives what a rank sends until its session ends.
    fn receive(&self, session: &Arc<Session>) {
        let subscribe = FromBackEnd::Subscribe { pes: self.options.pes, mode: self.options.mode };
        let mut rank = None;
        let outcome = session
            .note(&note(&subscribe))
            .map_err(|cause| cause.to_string())
            .and_then(|()| self.receive_from(session, &mut rank));
        let why = outcome.err().or_else(|| session.admitted().err().map(|cause| cause.to_string()));
        if let Some(why) = &why {
            session.end_because(why);
        }
        let mut state = self.lock();
        state.trouble = Some(why.unwrap_or_else(|| "the publisher has left".to_owned()));
        if let Some(rank) = rank {
            if !self.is_over() {
                tracing::warn!("rank {rank} is gone: {}", state.trouble.as_deref().unwrap_or_default());
            }
            state.links[rank].session = None;
            state.open_wants = 0;
            state.assemblies.values_mut().for_each(|assembly| assembly.give_up(rank));
            state.keep_finished(self.options.history_bytes);
        }
        drop(state);
        self.changed.notify_all();
    }

    fn receive_from(&self, session: &Arc<Session>, rank: &mut Option<usize>) -> Result<(), String> {
        let mut under_way: Vec<(Incoming, PieceName)> = Vec::new();
        while !self.is_over() {
            let patience = if under_way.is_empty() { POLL } else { QUICK_POLL };
            match session.next_arrival(patience) {
                Ok(Some(Arrival::Note(said))) => {
                    let said = serde_json::from_str(&said.text).map_err(|cause| format!("not understood: {cause}"))?;
                    self.on_note(session, rank, said)?;
                }
                Ok(Some(Arrival::Offer(offer))) => {
                    let rank = rank.ok_or("it offers pieces before it has said what it publishes")?;
                    under_way.extend(self.on_offer(rank, offer));
                }
                Ok(None) => {}
                Err(cause) => return Err(cause.to_string()),
            }
            if let Some(rank) = *rank
                && under_way.iter().any(|(incoming, _)| incoming.is_over())
            {
                self.finish(rank, &mut under_way);
            }
        }
        Ok(())
    }

    fn on_note(&self, session: &Arc<Session>, rank: &mut Option<usize>, said: FromPublisher) -> Result<(), String> {
        let mut state = self.lock();
        match (said, *rank) {
            (FromPublisher::Declare(declaration), None) => {
                *rank = Some(join(&mut state, self.options.pes, *declaration, session)?);
            }
            (FromPublisher::Declare(_), Some(_)) => return Err("it declares twice".to_owned()),
            (FromPublisher::Have { newest }, Some(rank)) => {
                state.links[rank].newest = state.links[rank].newest.max(Some(newest));
            }
            (FromPublisher::Gone { step, newest, why }, Some(rank)) => {
                state.on_gone(rank, step, newest, why);
                state.keep_finished(self.options.history_bytes);
            }
            (FromPublisher::Have { .. } | FromPublisher::Gone { .. }, None) => {
                return Err("it speaks of steps before it has said what it publishes".to_owned());
            }
            (FromPublisher::Unknown, _) => {}
        }
        state.ask_ahead();
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    fn on_offer(&self, rank: usize, offer: Offer) -> Option<(Incoming, PieceName)> {
        let name = serde_json::from_str::<PieceName>(&offer.name).ok().filter(|_| offer.flow == PIECES);
        let Some(name) = name else {
            offer.refuse("this is no piece of a field");
            return None;
        };
        let length = offer.length;
        let mut state = self.lock();
        let place = state
            .assembly(name.step)
            .ok_or_else(|| format!("step {} was not asked for", name.step))
            .and_then(|assembly| assembly.place(rank, &name, length));
        state.progressed = Some(Instant::now());
        drop(state);
        match place {
            Ok(sink) => Some((offer.accept(sink), name)),
            Err(why) => {
                offer.refuse(&why);
                None
            }
        }
    }

    /// Notes the pieces that are over.
    fn finish(&self, rank: usize, under_way: &mut Vec<(Incoming, PieceName)>) {
        let mut state = self.lock();
        let (over, rest) = std::mem::take(under_way).into_iter().partition(|(incoming, _)| incoming.is_over());
        *under_way = rest;
        let over: Vec<(Incoming, PieceName)> = over;
        for (incoming, name) in over {
            if let Some(assembly) = state.assemblies.get_mut(&name.step) {
                assembly.finish(rank, &name, incoming.wait());
            }
        }
        state.progressed = Some(Instant::now());
        state.keep_finished(self.options.history_bytes);
        state.ask_ahead();
        drop(state);
        self.changed.notify_all();
    }

    fn wait_for_declaration(&self) -> Result<SourceInfo, FlowError> {
        let pending = |state: &mut State| !state.all_there() && state.trouble.is_none();
        let waited = self.changed.wait_timeout_while(self.lock(), DECLARE_PATIENCE, pending);
        let state = waited.unwrap_or_else(PoisonError::into_inner).0;
        let Some(declared) = state.declared.as_ref().filter(|_| state.all_there()) else {
            let why = state.trouble.clone().unwrap_or_else(|| {
                let there = state.links.iter().filter(|link| link.session.is_some()).count();
                format!(
                    "after {} s {there} of {} ranks have said what they publish",
                    DECLARE_PATIENCE.as_secs(),
                    state.links.len()
                )
            });
            return Err(FlowError::Nobody(why));
        };
        Ok(SourceInfo {
            name: declared.first.name.clone(),
            format: format!("{}, received", declared.first.format),
            levels: vec![declared.grid.clone()],
            fields: declared.fields.clone(),
            times: declared.first.times.clone(),
            time_unit: declared.first.time_unit.clone(),
            live: declared.live,
        })
    }

    /// Whoever looks wants to see something; but not to wait for a simulation whose steps take minutes.
    fn wait_for_first_step(&self) {
        let pending = |state: &mut State| state.is_live() && state.kept.is_empty() && state.all_there();
        drop(self.changed.wait_timeout_while(self.lock(), FIRST_STEP_PATIENCE, pending));
    }

    /// A step, waited for if it is to come.
    fn step(&self, request: &ReadRequest, name: &str) -> Result<Arc<ReceivedStep>, SourceError> {
        let (field, step) = (request.field, request.step);
        let mut state = self.lock();
        let began = Instant::now();
        loop {
            if let Some(kept) = state.kept.iter().find(|kept| kept.step == step && kept.has(field)) {
                return Ok(Arc::clone(kept));
            }
            let refuse = |problem: String| Err(SourceError::Request { name: name.to_owned(), problem });
            if let Some(why) = state.refused.get(&step) {
                return refuse(format!("the publisher cannot send step {step}: {why}"));
            }
            if state.active.insert(field) {
                state.ask_ahead();
            }
            if state.is_live() && !state.kept.is_empty() {
                return Err(SourceError::StepGone { step, available: state.span() });
            }
            if !state.is_live() && !state.asked.contains_key(&step) && state.can_ask() {
                state.ask(step, false, vec![field]);
            }
            let since = state.progressed.map_or(began, |at| at.max(began));
            if since.elapsed() > STEP_PATIENCE || self.is_over() {
                let why = state.trouble.clone().unwrap_or_else(|| "nothing more of it comes".to_owned());
                return refuse(format!("step {step} has not come within {} s: {why}", STEP_PATIENCE.as_secs()));
            }
            state = self.changed.wait_timeout(state, POLL).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A rank has said what it publishes: it joins the others if it fits them. Returns its number.
fn join(state: &mut State, pes: usize, declaration: Declaration, session: &Arc<Session>) -> Result<usize, String> {
    let (grid, fields, block) = declaration.check()?;
    let (rank, ranks) = (declaration.rank as usize, declaration.ranks as usize);
    if let Some(declared) = &state.declared {
        if declared.grid != grid || declared.fields != fields || state.links.len() != ranks {
            return Err(format!(
                "rank {rank} publishes another grid, other fields or another number of ranks; start the back end anew"
            ));
        }
    } else {
        state.links = vec![Link::default(); ranks];
    }
    if state.links[rank].session.as_ref().is_some_and(|other| other.is_alive()) {
        return Err(format!("there is a rank {rank} already: two programs publish under one name"));
    }
    let table = state.declared.as_ref().map(|declared| (*declared.table).clone());
    let mut table = table.unwrap_or_else(|| PieceTable {
        blocks: vec![visapult_volume::Box3::of_size([0; 3]); ranks],
        stored: fitting_boxes(grid.size, pes).iter().map(|owned| Block::stored_for(owned, &grid.bounds())).collect(),
    });
    let others = table.blocks.iter().enumerate().filter(|(other, _)| *other != rank);
    if let Some((other, theirs)) = others.into_iter().find(|(_, theirs)| theirs.intersection(&block).is_some()) {
        return Err(format!("block {block} of rank {rank} overlaps {theirs} of rank {other}"));
    }
    table.blocks[rank] = block;
    let newest = declaration.steps.map(|[_, last]| last).filter(|_| declaration.live);
    state.links[rank] = Link { session: Some(Arc::clone(session)), newest };
    let table = Arc::new(table);
    let live = declaration.live;
    let first = match state.declared.take() {
        Some(before) if rank != 0 => before.first,
        _ => declaration,
    };
    state.declared = Some(Declared { grid, fields, live, first, table });
    state.trouble = None;
    if state.all_there() {
        check_cover(state)?;
    }
    Ok(rank)
}

/// Every cell belongs to a rank.
fn check_cover(state: &State) -> Result<(), String> {
    let Some(declared) = &state.declared else { return Ok(()) };
    let covered: usize = declared.table.blocks.iter().map(visapult_volume::Box3::volume).sum();
    let cells = declared.grid.sample_count();
    if covered != cells {
        return Err(format!("the ranks' blocks hold {covered} of the grid's {cells} samples: they must tile it"));
    }
    Ok(())
}

fn empty_info() -> SourceInfo {
    SourceInfo {
        name: String::new(),
        format: String::new(),
        levels: Vec::new(),
        fields: Vec::new(),
        times: Vec::new(),
        time_unit: String::new(),
        live: false,
    }
}
