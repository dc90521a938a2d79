//! The sessions of a flow that is received: one thread each, which takes what comes and asks for more.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use visapult_publish::along::along_of;
use visapult_publish::messages::{FromBackEnd, FromPublisher, PieceName, check_step, note};
use visapult_publish::piece::PIECES;
use visapult_publish::{FlowError, Troubles};
use visapult_ripp_net::{Arrival, ControlError, Incoming, Mode, Offer, Session, SessionError};
use visapult_trace::now_ns;
use visapult_volume::StepIndex;
use visapult_volume_io::{ReadRequest, SourceError, SourceInfo};

use super::assembly::Assembly;
use super::options::FlowOptions;
use super::received::ReceivedStep;
use super::state::{State, join};
use crate::lock::{lock, unpoisoned};

/// How long a step is waited for of which nothing more comes.
const STEP_PATIENCE: Duration = Duration::from_secs(30);
/// How long the other processes of the back end may take to reach the ranks: they may have begun late on a busy machine.
const HANDS_PATIENCE: Duration = Duration::from_secs(60);
/// Said to a rank that has come again before it was noticed that its session has ended.
const REPLACED: &str = "another session has taken its place";
const POLL: Duration = Duration::from_millis(50);
/// While pieces are under way.
const QUICK_POLL: Duration = Duration::from_millis(2);

/// What the threads of a flow share.
pub(crate) struct Receiver {
    pub(super) options: FlowOptions,
    pub(super) state: Mutex<State>,
    pub(super) changed: Condvar,
    over: AtomicBool,
}

impl Receiver {
    pub(super) fn new(options: FlowOptions) -> Self {
        let state = State::new(options.ahead.unwrap_or(usize::MAX).max(1), options.crew.clone());
        Self { options, state: Mutex::new(state), changed: Condvar::new(), over: AtomicBool::new(false) }
    }

    /// Everything ends.
    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    pub(super) fn pause(&self, time: Duration) {
        let until = Instant::now() + time;
        while !self.is_over() && Instant::now() < until {
            thread::sleep(POLL);
        }
    }

    pub(super) fn note_trouble(&self, why: &str) {
        self.lock().trouble = Some(why.to_owned());
        self.changed.notify_all();
    }

    /// Receives what a rank sends until its session ends. Why it was refused, unless that was said before; of one that is not there nothing is
    /// to be said.
    pub(super) fn receive(&self, session: &Arc<Session>) -> Option<String> {
        self.greet(session);
        let mut rank = None;
        let outcome = self.receive_from(session, &mut rank);
        // If it failed because there was no session, that is the reason to be told.
        let not_admitted = session.admitted().err();
        let is_there = !not_admitted.as_ref().is_some_and(is_absence);
        let why = not_admitted.map(|cause| cause.to_string()).or(outcome.err());
        if let Some(why) = &why {
            session.end_because(why);
        }
        self.on_end(session, rank, why).filter(|_| is_there)
    }

    /// The session of a rank has ended, or of whoever has not said which it is. Why it was refused, unless that was said before.
    pub(super) fn on_end(&self, session: &Arc<Session>, rank: Option<usize>, why: Option<String>) -> Option<String> {
        let mut state = self.lock();
        let refused = why.clone().filter(|why| rank.is_none() && state.refusals.is_new(why));
        state.trouble = Some(why.unwrap_or_else(|| "the publisher has left".to_owned()));
        // Where all is over it is we who leave.
        if let Some(rank) = rank.filter(|rank| !self.is_over() && state.is_of(*rank, session)) {
            // Once is enough: the process with the pages says it for all.
            if !state.is_hand() {
                tracing::warn!("rank {rank} is gone: {}", state.trouble.as_deref().unwrap_or_default());
            }
            state.leave(rank, &self.options);
            state.forget_unshown();
            if state.ranks() == 0 {
                state.refusals = Troubles::default();
            }
        }
        drop(state);
        self.changed.notify_all();
        refused
    }

    /// Says how the grid is split before it is known, so that whoever publishes need not wait for that; with other processes, what is whose
    /// depends on the grid.
    fn greet(&self, session: &Session) {
        let state = self.lock();
        if state.crew.is_none() {
            state.subscribe(session, &self.options);
        }
    }

    pub(super) fn receive_from(&self, session: &Arc<Session>, rank: &mut Option<usize>) -> Result<(), String> {
        let mut under_way: Vec<(Incoming, PieceName)> = Vec::new();
        let mut held: Vec<Offer> = Vec::new();
        while !self.is_over() {
            let patience = if under_way.is_empty() { POLL } else { QUICK_POLL };
            match session.next_arrival(patience) {
                Ok(Some(Arrival::Note(said))) => {
                    let said = serde_json::from_str(&said.text).map_err(|cause| format!("not understood: {cause}"))?;
                    match said {
                        FromPublisher::Clock { asked } => tell_time(session, asked)?,
                        said => self.on_note(session, rank, said)?,
                    }
                }
                Ok(Some(Arrival::Offer(offer))) => {
                    rank.ok_or("it offers pieces before it has said what it publishes")?;
                    held.push(offer);
                }
                Ok(None) => self.on_pause(),
                Err(cause) => {
                    // What had arrived before it ended counts.
                    rank.iter().for_each(|rank| self.finish(*rank, &mut under_way));
                    return Err(cause.to_string());
                }
            }
            if let Some(rank) = *rank
                && !held.is_empty()
                && !self.lock().expects_first()
            {
                under_way.extend(held.drain(..).filter_map(|offer| self.on_offer(session, rank, offer)));
            }
            if let Some(rank) = *rank
                && under_way.iter().any(|(incoming, _)| incoming.is_over())
            {
                self.finish(rank, &mut under_way);
            }
        }
        Ok(())
    }

    /// Nothing was said for a moment. Ranks that wait for others that do not come go on; what is under way may be nearly through.
    fn on_pause(&self) {
        let mut state = self.lock();
        state.ask_ahead();
        if state.let_go_of_who_waits(Instant::now()) && !state.is_hand() {
            let missing = state.missing().unwrap_or_else(|| "another process of the back end is not ready".to_owned());
            tracing::warn!(
                "{missing}; every step is to arrive, and none can be whole: the ranks that are there go on meanwhile"
            );
        }
    }

    pub(super) fn on_note(
        &self,
        session: &Arc<Session>,
        rank: &mut Option<usize>,
        said: FromPublisher,
    ) -> Result<(), String> {
        let mut state = self.lock();
        if rank.is_some_and(|rank| !state.is_of(rank, session)) {
            return Err(REPLACED.to_owned());
        }
        // Who is left out speaks of what the others did before.
        let is_behind = rank.is_some_and(|rank| state.links[rank].is_behind);
        match (said, *rank) {
            (FromPublisher::Declare(declaration), None) => {
                let joined = join(&mut state, &self.options, *declaration, session)?;
                *rank = Some(joined);
                if let Some(line) = state.name_unlike(joined).filter(|_| !state.is_hand()) {
                    tracing::warn!("{line}");
                }
            }
            (FromPublisher::Declare(_), Some(_)) => return Err("it declares twice".to_owned()),
            (FromPublisher::Have { newest }, Some(rank)) => {
                check_step(newest)?;
                state.links[rank].on_newest(newest);
                state.tell_apart(&self.options);
                if !state.is_hand() {
                    let lines = [state.name_left_out(), state.name_apart(Instant::now())];
                    lines.into_iter().flatten().for_each(|line| tracing::warn!("{line}"));
                }
            }
            (FromPublisher::Gone { step, newest, why }, Some(rank)) => {
                check_step(newest)?;
                state.on_gone(rank, step, newest, why);
                state.tell_apart(&self.options);
                state.keep_finished(self.options.history_bytes);
            }
            (FromPublisher::Ready { sequence, at, why }, Some(rank)) if !is_behind => {
                state.coordinator.on_ready(rank, sequence, at, why);
                state.tell_decided();
            }
            (FromPublisher::Steered { sequence, at, why }, Some(rank)) if !is_behind => {
                state.coordinator.on_steered(rank, sequence, at, why);
                state.tell_decided();
            }
            (FromPublisher::Changed { name, value }, Some(_)) if !is_behind => {
                state.coordinator.on_changed(&name, value)
            }
            // The head says it for all.
            (FromPublisher::Signal, Some(rank)) if !is_behind && !state.is_hand() => {
                state.resume_for_signal(rank);
            }
            (_, None) => {
                return Err("it speaks of steps before it has said what it publishes".to_owned());
            }
            (
                FromPublisher::Ready { .. }
                | FromPublisher::Steered { .. }
                | FromPublisher::Changed { .. }
                | FromPublisher::Signal
                | FromPublisher::Clock { .. }
                | FromPublisher::Unknown,
                Some(_),
            ) => {}
        }
        state.ask_ahead();
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    pub(super) fn on_offer(&self, session: &Arc<Session>, rank: usize, offer: Offer) -> Option<(Incoming, PieceName)> {
        let name = serde_json::from_str::<PieceName>(&offer.name).ok().filter(|_| offer.flow == PIECES);
        let Some(name) = name else {
            offer.refuse("this is no piece of a field");
            return None;
        };
        let length = offer.length;
        let mut state = self.lock();
        let place = if !state.is_of(rank, session) {
            Err(REPLACED.to_owned())
        } else if state.links[rank].is_behind {
            Err("this rank is left out until it has come as far as the others".to_owned())
        } else {
            state.assembly(name.step).and_then(|assembly| assembly.place(rank, &name, length))
        };
        if place.is_ok() {
            state.links[rank].is_late = false;
            state.carrying.begin(Instant::now());
        }
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
    pub(super) fn finish(&self, rank: usize, under_way: &mut Vec<(Incoming, PieceName)>) {
        let mut state = self.lock();
        let (over, rest) = std::mem::take(under_way).into_iter().partition(|(incoming, _)| incoming.is_over());
        *under_way = rest;
        let over: Vec<(Incoming, PieceName)> = over;
        let mut arrived = 0;
        for (incoming, name) in over {
            if let Some(assembly) = state.assemblies.get_mut(&name.step) {
                let delivery = incoming.wait();
                let is_broken = delivery.is_err() && self.options.mode == Mode::Reliable;
                arrived += assembly.finish(rank, &name, delivery);
                if is_broken {
                    assembly.abandon(rank);
                }
            }
        }
        let is_last = !state.assemblies.values().any(Assembly::is_under_way);
        state.carrying.on_arrival(arrived, is_last, Instant::now());
        state.progressed = Some(Instant::now());
        state.keep_finished(self.options.history_bytes);
        state.ask_ahead();
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until all ranks have declared what they publish, or one cannot, or there are more than the `dialled`; and then until the other processes of the
    /// back end, which dial them as well, have heard of all.
    pub(super) fn wait_for_ranks(&self, dialled: usize, limit: Duration) -> Result<(), FlowError> {
        let is_missed =
            |state: &mut State| !state.all_ranks_there() && state.trouble.is_none() && state.links.len() <= dialled;
        let state = unpoisoned(self.changed.wait_timeout_while(self.lock(), limit, is_missed)).0;
        let (state, waited) = if state.all_ranks_there() {
            let is_apart = |state: &mut State| state.all_ranks_there() && !state.all_there() && state.trouble.is_none();
            (unpoisoned(self.changed.wait_timeout_while(state, HANDS_PATIENCE, is_apart)).0, HANDS_PATIENCE)
        } else {
            (state, limit)
        };
        if state.all_there() {
            return Ok(());
        }
        Err(FlowError::Nobody(state.trouble.clone().unwrap_or_else(|| {
            let (there, ranks) = (state.ranks(), state.links.len());
            if ranks > dialled {
                return format!("it has {ranks} ranks: give the URLs of all, not of {dialled} alone");
            }
            let missing = state.missing().or_else(|| state.apart());
            let missing = missing.unwrap_or_else(|| format!("{there} of {ranks} ranks are there"));
            format!("after {} s {missing}", waited.as_secs())
        })))
    }

    /// Whether all ranks have declared, within `limit`.
    pub(super) fn all_there_within(&self, limit: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), limit, |state| !state.all_there());
        unpoisoned(waited).0.all_there()
    }

    /// What is received, once all ranks have declared it.
    pub(super) fn info(&self) -> Result<SourceInfo, FlowError> {
        let state = self.lock();
        let declared = state.declared.as_ref().ok_or_else(|| FlowError::Nobody("the publisher has left".to_owned()))?;
        Ok(SourceInfo {
            name: declared.first.name.clone(),
            format: format!("{}, received", declared.first.format),
            levels: vec![declared.grid.clone()],
            fields: declared.fields.clone(),
            times: declared.first.times.clone(),
            time_unit: declared.first.time_unit.clone(),
            calendar: declared.first.calendar.clone(),
            along: std::array::from_fn(|axis| along_of(declared.first.along[axis].as_ref(), declared.grid.size[axis])),
            live: declared.live,
        })
    }

    /// A step that is kept.
    pub(super) fn kept(&self, step: StepIndex) -> Option<Arc<ReceivedStep>> {
        self.lock().kept.iter().find(|kept| kept.step == step).cloned()
    }

    /// Whether there is a step to show, within `limit`; of what does not move there always is.
    pub(super) fn has_steps_within(&self, limit: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), limit, |state| !state.has_steps());
        unpoisoned(waited).0.has_steps()
    }

    /// A step, waited for if it is to come.
    pub(super) fn step(&self, request: &ReadRequest, name: &str) -> Result<Arc<ReceivedStep>, SourceError> {
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
            if !state.is_hand() && state.active.insert(field) {
                state.ask_ahead();
            }
            // Of a running simulation, the head speaks only of steps that all have; of others perhaps before it has asked for them.
            if state.is_live() && (!state.kept.is_empty() || state.is_hand()) && !state.ask_for_more_of(step) {
                return Err(match state.declared.as_ref().filter(|_| state.keeps(step)) {
                    Some(declared) => SourceError::WithoutField { step, field: declared.fields[field].name.clone() },
                    None => SourceError::StepGone { step, available: state.span() },
                });
            }
            if !state.is_hand() && !state.is_live() && !state.is_waited_for(step) && state.can_ask() {
                state.ask(step, false, vec![field]);
            }
            let since = state.progressed.map_or(began, |at| at.max(began));
            if since.elapsed() > STEP_PATIENCE || self.is_over() {
                let why = state.trouble.clone().unwrap_or_else(|| "nothing more of it comes".to_owned());
                return refuse(format!("step {step} has not come within {} s: {why}", STEP_PATIENCE.as_secs()));
            }
            state = unpoisoned(self.changed.wait_timeout(state, POLL)).0;
        }
    }
}

/// Nobody answers.
const fn is_absence(cause: &SessionError) -> bool {
    use ControlError::{TimedOut, Unreachable, Unresolved};
    matches!(cause, SessionError::Control(Unresolved { .. } | Unreachable { .. } | TimedOut { .. }))
}

fn tell_time(session: &Session, asked: i64) -> Result<(), String> {
    let heard = now_ns();
    session.note(&note(&FromBackEnd::Clock { asked, heard, answered: now_ns() })).map_err(|cause| cause.to_string())
}
