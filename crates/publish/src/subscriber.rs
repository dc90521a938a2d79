//! A back end that is attached to a publisher: what it wants, and what is under way to it.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use visapult_ripp_net::{Arrival, Flow, Mode, Outgoing, Session};
use visapult_trace::{Stage, is_on};
use visapult_volume::{Box3, StepIndex, stored_boxes};

use crate::building::Published;
use crate::clock::ClockOfBackEnd;
use crate::door::dial_also;
use crate::lock::lock;
use crate::messages::{FromBackEnd, FromPublisher, MOST_PES, PieceName, Want, note};
use crate::nearly_through::is_nearly_through;
use crate::piece::{PIECES, PieceSource};
use crate::publisher::{Delivery, PublisherOptions, Wanted};
use crate::shared::Shared;
use crate::stamp::Stamp;
use crate::steering::Change;
use crate::steering_participant::Answer;

/// Steps that a back end may want ahead; what it wants beyond is forgotten.
const MOST_WANTS: usize = 64;
/// Steps under way to one back end at most.
const MOST_UNDER_WAY: usize = 64;
/// The same where every step is to be taken: the program waits meanwhile.
const MOST_HELD: usize = 4;
/// The newest step is told this often at most.
const TELL_EVERY: Duration = Duration::from_millis(20);
/// A back end that was sent nothing for so long wants no step.
const STILL_TAKES: Duration = Duration::from_secs(1);
/// One that has given no sign of life for so long is named where it is waited for.
const SILENT_FOR: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(20);

/// A back end that is attached.
pub(crate) struct Subscriber {
    session: Session,
    /// No other that is or was attached has it.
    pub(crate) number: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// It has been told what is published: nothing is said before that.
    is_declared: bool,
    /// The latest step then: what it asks for of those before is not missed, for they were never to come.
    first: Option<StepIndex>,
    /// It has said which step it wants.
    has_asked: bool,
    /// What it wants pieces for, once it has said how it is split.
    subscribed: Option<Subscribed>,
    wants: VecDeque<Want>,
    /// Steps below were sent or missed.
    sent_below: StepIndex,
    under_way: VecDeque<Sent>,
    /// Fields of the newest step that are to be offered unasked.
    unasked: Vec<usize>,
    told: Option<(StepIndex, Instant)>,
    sent_at: Option<Instant>,
}

/// A step that was offered.
struct Sent {
    pieces: Vec<Outgoing>,
    /// What the back end is expected to say that it wants, where it was offered before that.
    unasked: Option<Want>,
}

/// How a back end is split.
#[derive(Clone)]
struct Subscribed {
    /// Boxes of all PEs, with their ghost layers.
    stored: Vec<Box3>,
    /// The PEs that pieces go to.
    only: Range<usize>,
    mode: Mode,
    /// What pieces travel in.
    flow: Flow,
}

impl Subscriber {
    /// Attaches whoever is at the other end of `session`, on a thread of its own.
    pub(crate) fn attach(shared: &Arc<Shared>, session: Session) {
        let attached = Arc::clone(shared);
        let work = move || drop(Self::attach_here(&attached, session));
        if let Err(cause) = thread::Builder::new().name("flow-subscriber".to_owned()).spawn(work) {
            tracing::warn!("a back end cannot be attached: no thread can be had: {cause}");
        }
    }

    /// Attaches whoever is at the other end of `session` until it leaves. Why it did, where we go on.
    pub(crate) fn attach_here(shared: &Arc<Shared>, session: Session) -> Option<String> {
        let number = shared.numbers.fetch_add(1, Ordering::Relaxed);
        let subscriber = Arc::new(Self { session, number, state: Mutex::default() });
        lock(&shared.subscribers).push(Arc::clone(&subscriber));
        let why = subscriber.run(shared).unwrap_or_else(|why| {
            subscriber.session.end_because(&why);
            Some(why)
        });
        dial_also(shared, number, &[]);
        lock(&shared.subscribers).retain(|other| !Arc::ptr_eq(other, &subscriber));
        shared.on_leave(number);
        why
    }

    fn declare(&self, shared: &Shared) -> Result<(), String> {
        let mut state = lock(&self.state);
        let declaration = shared.declaration();
        state.first = lock(&shared.latest).as_ref().map(|latest| latest.step).filter(|_| declaration.live);
        self.tell(&FromPublisher::Declare(Box::new(declaration)))?;
        state.is_declared = true;
        Ok(())
    }

    /// Whether it is the process of its back end that has the first PEs, and the pages.
    pub(crate) fn is_head(&self) -> bool {
        lock(&self.state).subscribed.as_ref().is_some_and(|subscribed| subscribed.only.start == 0)
    }

    pub(crate) fn end(&self) {
        self.session.end_because("the publisher has ended");
    }

    /// Why the other end has left, where we go on; the error is why it has to.
    fn run(&self, shared: &Arc<Shared>) -> Result<Option<String>, String> {
        self.declare(shared)?;
        let mut clock = ClockOfBackEnd::default();
        while !shared.is_over() {
            if is_on()
                && shared.leads(self.number)
                && let Some(asked) = clock.question()
            {
                self.tell(&FromPublisher::Clock { asked })?;
            }
            let arrival = match self.session.next_arrival(POLL) {
                Ok(Some(arrival)) => arrival,
                Ok(None) => {
                    // What is under way may be nearly through.
                    self.serve(shared);
                    continue;
                }
                Err(cause) => return Ok(Some(cause.to_string())),
            };
            let Arrival::Note(said) = arrival else {
                return Err("a back end has nothing to send to a publisher".to_owned());
            };
            let said: FromBackEnd =
                serde_json::from_str(&said.text).map_err(|cause| format!("not understood: {cause}"))?;
            match said {
                FromBackEnd::Subscribe { pes, mode, only, newest } => {
                    self.subscribe(shared, pes, mode, only)?;
                    self.offer_unasked(shared, newest);
                }
                FromBackEnd::Also { urls } => dial_also(shared, self.number, &urls),
                FromBackEnd::Want(want) => self.want(shared, want),
                FromBackEnd::Steer(steer) => shared.on_steer(self.number, steer),
                FromBackEnd::Clock { asked, heard, answered } => clock.on_answer(asked, heard, answered),
                FromBackEnd::Commit(commit) => shared.on_commit(self.number, commit),
                FromBackEnd::Unknown => {}
            }
            self.serve(shared);
        }
        Ok(None)
    }

    /// Notes how a back end is split, in place of what it has said before and wanted then.
    fn subscribe(&self, shared: &Shared, pes: usize, mode: Mode, only: Option<[usize; 2]>) -> Result<(), String> {
        if pes == 0 || pes > MOST_PES {
            return Err(format!("{pes} PEs: 1 to {MOST_PES} are possible"));
        }
        let stored = stored_boxes(&shared.options.grid, pes);
        let [first, end] = only.unwrap_or([0, stored.len()]);
        if first > end || end > stored.len() {
            return Err(format!("PEs {first} to {end}: there are {}", stored.len()));
        }
        let mut state = lock(&self.state);
        let before = state.subscribed.take().filter(|before| before.mode == mode).map(|before| before.flow);
        let flow = before.map_or_else(|| self.session.open_flow(PIECES, mode, 1), Ok);
        let flow = flow.map_err(|cause| cause.to_string())?;
        state.wants.clear();
        state.under_way.iter_mut().for_each(|sent| sent.unasked = None);
        state.subscribed = Some(Subscribed { stored, only: first..end, mode, flow });
        Ok(())
    }

    /// Notes that the newest step of a running simulation is to be offered before it is wanted. Where every step is to be taken the program waits,
    /// and none is begun before it is known which.
    fn offer_unasked(&self, shared: &Shared, fields: Vec<usize>) {
        let PublisherOptions { live, delivery, .. } = shared.options;
        if live && delivery == Delivery::Newest && shared.has_fields(&fields) {
            lock(&self.state).unasked = fields;
        }
    }

    fn want(&self, shared: &Shared, want: Want) {
        let mut state = lock(&self.state);
        state.has_asked |= want.step != StepIndex::MAX;
        // A back end that has let the program go asks for steps again.
        state.wants.retain(|other| other.step != StepIndex::MAX);
        if state.wants.len() < MOST_WANTS && shared.has_fields(&want.fields) && !state.is_offered(&want) {
            state.wants.push_back(want);
        }
    }

    /// What it wants that is not the latest step.
    pub(crate) fn wants_other(&self, latest: Option<&Published>) -> Option<Wanted> {
        let state = lock(&self.state);
        let other = |want: &&Want| {
            latest.is_none_or(|latest| {
                latest.step != want.step || want.fields.iter().any(|&field| latest.fields[field].is_none())
            })
        };
        state.subscribed.as_ref()?;
        state.wants.iter().find(other).map(|want| Wanted { step: want.step, fields: want.fields.clone() })
    }

    /// It is there, and has said which PEs it has.
    pub(crate) fn is_subscribed(&self) -> bool {
        let has_pes = |subscribed: &Subscribed| !subscribed.only.is_empty();
        self.session.is_alive() && lock(&self.state).subscribed.as_ref().is_some_and(has_pes)
    }

    /// It is to take every step, and step `step`, the latest, is not under way to it yet, or too many are.
    pub(crate) fn holds_back(&self, step: StepIndex) -> bool {
        if !self.session.is_alive() {
            return false;
        }
        let mut state = lock(&self.state);
        match &state.subscribed {
            // It has heard what is published, and is about to say what it wants: other processes of its back end may be quicker.
            None => return state.is_declared,
            Some(subscribed) if subscribed.only.is_empty() => return false,
            Some(_) => {}
        }
        state.forget_arrived();
        if state.sent_below > step {
            return state.under_way.len() >= MOST_HELD;
        }
        // It asks for steps in order: one that asks for later ones does not want this one.
        state.wants.front().is_none_or(|want| want.step <= step)
    }

    /// Why it holds back step `step`, the latest, in words. One that asks for steps and takes its time is nothing to be said.
    pub(crate) fn why_it_holds_back(&self, step: StepIndex, ranks: u32) -> Option<String> {
        if !self.holds_back(step) {
            return None;
        }
        let state = lock(&self.state);
        let (asks, has_asked) = (state.sent_below > step, state.has_asked);
        drop(state);
        why_held(self.session.peer(), self.session.silence(), asks, has_asked, ranks)
    }

    /// It has taken steps until now, and not step `step` yet, the latest.
    pub(crate) fn is_about_to_take(&self, step: StepIndex) -> bool {
        let state = lock(&self.state);
        let is_taking = state.sent_at.is_some_and(|at| at.elapsed() < STILL_TAKES);
        self.session.is_alive() && is_taking && state.sent_below <= step
    }

    /// Something is under way to it.
    pub(crate) fn is_busy(&self) -> bool {
        let mut state = lock(&self.state);
        state.forget_arrived();
        self.session.is_alive() && !state.under_way.is_empty()
    }

    /// Says what came of something that was asked for.
    pub(crate) fn answer(&self, answer: &Answer) {
        let Answer { sequence, at, why, is_ready, .. } = answer.clone();
        // A session that has ended is noticed by its thread.
        let _ = self.tell(&if is_ready {
            FromPublisher::Ready { sequence, at, why }
        } else {
            FromPublisher::Steered { sequence, at, why }
        });
    }

    /// Says that somebody else has changed a parameter.
    pub(crate) fn tell_change(&self, change: &Change) {
        if !lock(&self.state).is_declared {
            return;
        }
        // A session that has ended is noticed by its thread.
        let _ = self.tell(&FromPublisher::Changed { name: change.name.clone(), value: change.value });
    }

    /// Says that the program, which is paused, has been given a signal.
    pub(crate) fn tell_signal(&self) {
        if lock(&self.state).is_declared {
            // A session that has ended is noticed by its thread.
            let _ = self.tell(&FromPublisher::Signal);
        }
    }

    /// Says that a step will not come.
    pub(crate) fn refuse(&self, step: StepIndex, why: &str) {
        let mut state = lock(&self.state);
        let before = state.wants.len();
        state.wants.retain(|want| want.step != step);
        if state.wants.len() < before {
            let _ = self.tell(&FromPublisher::Gone { step, newest: step, why: Some(why.chars().take(1000).collect()) });
        }
    }

    /// Says which step is the newest, not too often.
    pub(crate) fn tell_newest(&self, shared: &Shared) {
        let Some(newest) = lock(&shared.latest).as_ref().map(|latest| latest.step) else { return };
        let mut state = lock(&self.state);
        if state.is_declared && state.told.is_none_or(|(told, at)| told != newest && at.elapsed() >= TELL_EVERY) {
            state.told = Some((newest, Instant::now()));
            // A session that has ended is noticed by its thread.
            let _ = self.tell(&FromPublisher::Have { newest });
        }
    }

    /// Sends the latest step if it is wanted, and says what will not come.
    pub(crate) fn serve(&self, shared: &Shared) {
        let Some(latest) = lock(&shared.latest).clone() else { return };
        let mut state = lock(&self.state);
        state.forget_arrived();
        let Some(subscribed) = state.subscribed.clone() else { return };
        let unasked = std::mem::take(&mut state.unasked);
        if !unasked.is_empty() {
            let want = Want { step: latest.step, or_newer: false, fields: unasked };
            state.send(shared, &subscribed, &latest, &want.fields.clone(), Some(want));
        }
        let mut wants = std::mem::take(&mut state.wants);
        // What is asked for next is the newest step then.
        let waits = wants.iter().any(|want| want.or_newer) && !self.is_nearly_through(&subscribed.flow);
        let mut sent = false;
        wants.retain(|want| {
            let fits = if want.or_newer {
                !waits && latest.step >= want.step.max(state.sent_below)
            } else {
                latest.step == want.step && want.fields.iter().all(|&field| latest.fields[field].is_some())
            };
            if fits && !sent && state.under_way.len() < MOST_UNDER_WAY {
                sent = true;
                state.send(shared, &subscribed, &latest, &want.fields, None);
                return false;
            }
            let gone = shared.options.live && !fits && !want.or_newer && want.step <= latest.step;
            if gone {
                let was_to_come = state.first <= Some(want.step);
                shared.missed.fetch_add(u64::from(was_to_come), Ordering::Relaxed);
                let _ = self.tell(&FromPublisher::Gone { step: want.step, newest: latest.step, why: None });
            }
            !gone
        });
        state.wants = wants;
    }

    /// Whether the path would soon be idle.
    fn is_nearly_through(&self, flow: &Flow) -> bool {
        let left = flow.expected();
        left == 0 || {
            let lanes = self.session.statistics().lanes;
            let rtt = lanes.iter().map(|lane| lane.rtt.smooth()).max().unwrap_or_default();
            is_nearly_through(left, lanes.iter().map(|lane| lane.rate_bps as f64).sum(), rtt)
        }
    }

    fn tell(&self, message: &FromPublisher) -> Result<(), String> {
        self.session.note(&note(message)).map_err(|cause| cause.to_string())
    }
}

impl State {
    fn forget_arrived(&mut self) {
        while self.under_way.front().is_some_and(|first| first.pieces.iter().all(Outgoing::is_over)) {
            self.under_way.pop_front();
        }
    }

    fn send(&mut self, shared: &Shared, to: &Subscribed, step: &Published, fields: &[usize], unasked: Option<Want>) {
        self.sent_below = self.sent_below.max(step.step + 1);
        let pieces = send(&shared.options, to, step, fields);
        self.under_way.push_back(Sent { pieces, unasked });
        self.sent_at = Some(Instant::now());
        shared.sent.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether what is wanted was offered before, and not refused: this is said once.
    fn is_offered(&mut self, want: &Want) -> bool {
        let answers = |offered: &Want| {
            offered.fields == want.fields && (offered.step == want.step || want.or_newer && offered.step > want.step)
        };
        let offered = self.under_way.iter_mut().find(|sent| sent.unasked.as_ref().is_some_and(answers));
        offered.is_some_and(|sent| {
            sent.unasked = None;
            sent.pieces.iter().all(|piece| !piece.is_over() || piece.wait().is_ok())
        })
    }
}

/// Why a back end at `peer` that has been silent for so long holds up a program of so many ranks. `asks`: the step is under way to it.
fn why_held(peer: SocketAddr, silence: Duration, asks: bool, has_asked: bool, ranks: u32) -> Option<String> {
    if silence >= SILENT_FOR {
        let (silent, most) = (SILENT_FOR.as_secs(), Session::GONE_AFTER.as_secs());
        return Some(format!(
            "a step waits for the back end at {peer}, as every step is to arrive: it has given no sign of life for {silent} s, and is waited for until there was none for {most} s"
        ));
    }
    match (asks, ranks > 1 && !has_asked) {
        (true, _) => None,
        (false, true) => Some(
            "a step waits until the back end asks for it, as every step is to arrive: it asks for none before all ranks are there"
                .to_owned(),
        ),
        (false, false) => {
            Some(format!("a step waits until the back end at {peer} asks for it, as every step is to arrive"))
        }
    }
}

/// Offers the pieces of a step.
fn send(from: &PublisherOptions, to: &Subscribed, step: &Published, fields: &[usize]) -> Vec<Outgoing> {
    let block = &from.block;
    let mut under_way = Vec::new();
    for &field in fields {
        let Some(values) = &step.fields[field] else { continue };
        for pe in to.only.clone() {
            let Some(piece) = block.intersection(&to.stored[pe]) else { continue };
            let name = PieceName { field, step: step.step, pe, time: Some(step.time).filter(|time| time.is_finite()) };
            let stamp = Stamp::of(Stage::SendPiece, from.rank as usize, step.step);
            let source = Arc::new(PieceSource::new(&piece, block, Arc::clone(values), stamp));
            // A session that has ended is noticed by its thread.
            under_way.extend(to.flow.send(&note(&name), source));
        }
    }
    under_way
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_holds_up_a_program_is_named_with_the_reason() {
        let peer = SocketAddr::from(([10, 0, 0, 7], 7430));
        let why = |silence_s, asks, has_asked, ranks| {
            why_held(peer, Duration::from_secs(silence_s), asks, has_asked, ranks).unwrap_or_default()
        };
        for (asks, has_asked, ranks) in [(false, false, 1), (true, true, 1), (false, false, 2)] {
            let said = why(4, asks, has_asked, ranks);
            assert!(said.contains("10.0.0.7:7430") && said.contains("no sign of life for 3 s"), "{said}");
        }
        assert!(why(0, false, false, 2).contains("before all ranks are there"));
        for (has_asked, ranks) in [(false, 1), (true, 2)] {
            assert!(why(0, false, has_asked, ranks).contains("until the back end at 10.0.0.7:7430 asks for it"));
        }
        assert_eq!(why(0, true, true, 2), "");
    }
}
