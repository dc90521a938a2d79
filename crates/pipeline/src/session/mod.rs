//! One viewer's connection: a thread that decides what the page is sent next, and queues that never grow.
//!
//! Invariant: what is queued is at most one set of messages; it leaves as the page acknowledges, and a newer step or
//! view replaces what has not left.

mod agenda;
mod driver;
mod heading;
mod lifelines;
mod link;
mod measured;
mod series;
mod told;

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::time::Instant;

use thiserror::Error;
use visapult_publish::Action;
use visapult_trace::{Span, Stage, begin, now_ns, record};

use self::heading::Heading;
use self::link::Link;
use self::series::{Gathered, Question};
use crate::back_end::BackEnd;
use crate::lock::lock;
use crate::wire::{Ack, AskClock, AskLifelines, AskSeries, BulkBody, BulkHeader, Clock, Events, PROBE, Pick, View};

/// Takes a control message for the page; false when the page is too slow to take it now.
pub type ControlSink = Box<dyn Fn(Vec<u8>) -> bool + Send + Sync>;
/// Takes a bulk message for the page; the session never gives more than the page's credit.
pub type BulkSink = Box<dyn Fn(Vec<u8>) + Send + Sync>;

/// What a page did that ends its session.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum SessionError {
    /// The session has ended already.
    #[error("this session has ended: open a new one")]
    Closed,
    /// A data connection of a group that does not exist.
    #[error("there is no group {group}: this session has {groups}")]
    NoGroup {
        /// Group asked for.
        group: usize,
        /// Groups there are.
        groups: usize,
    },
    /// An acknowledgement of bytes that were never sent, or fewer than before.
    #[error("acknowledged {received} bytes, which cannot be: the page and the server disagree on what was sent")]
    Ack {
        /// Bytes the page says it received.
        received: u64,
    },
    /// A view of a field that does not exist.
    #[error("there is no field {field}: fields 0 to {} are, their logarithms counted", fields - 1)]
    NoField {
        /// Field asked for.
        field: usize,
        /// Fields there are, their logarithms counted.
        fields: usize,
    },
}

struct Outgoing {
    header: BulkHeader,
    body: BulkBody,
}

#[derive(Default)]
struct Lane {
    sink: Option<BulkSink>,
    queue: VecDeque<Outgoing>,
}

#[derive(Default)]
struct State {
    view: Option<(View, Instant)>,
    heading: Heading,
    lanes: Vec<Lane>,
    link: Link,
    /// The set that is being sent, and its bytes.
    sending: Option<(Span, u64)>,
    /// Whether the page wants to see lifelines.
    lifelines: bool,
    /// What it asked for last and was not told yet.
    pick: Option<Pick>,
    /// The values over time that it asked for last.
    series: Option<Gathered>,
    /// Somebody reads them.
    is_reading: bool,
    closed: bool,
}

impl State {
    fn pump(&mut self) {
        let now = Instant::now();
        while self.link.has_room(now) {
            let Some((which, message)) = self.next_message() else { break };
            let Some(sink) = &self.lanes[which].sink else { break };
            if self.link.wants_probe(now) {
                self.link.on_probe_sent(which, PROBE.len() as u64, now);
                sink(PROBE.to_vec());
            }
            self.link.on_sent(which, message.len() as u64, now);
            sink(message);
        }
        self.note_sent();
    }

    /// Of the lane that has least on the way.
    fn next_message(&mut self) -> Option<(usize, Vec<u8>)> {
        let lanes = self.lanes.iter_mut().enumerate();
        let ready = lanes.filter(|(_, lane)| lane.sink.is_some() && !lane.queue.is_empty());
        let (which, lane) = ready.min_by_key(|(which, _)| self.link.under_way(*which))?;
        let next = lane.queue.pop_front()?;
        Some((which, next.header.message(&next.body)))
    }

    fn note_sent(&mut self) {
        if self.lanes.iter().all(|lane| lane.queue.is_empty())
            && let Some((span, bytes)) = self.sending.take()
        {
            span.end(bytes);
        }
    }
}

/// What the session's thread and its connections share.
pub(crate) struct SessionShared {
    number: u32,
    state: Mutex<State>,
    changed: Condvar,
}

impl SessionShared {
    pub(crate) fn wake(&self) {
        self.changed.notify_all();
    }

    pub(crate) fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        state.lanes.iter_mut().for_each(|lane| *lane = Lane::default());
        drop(state);
        self.wake();
    }

    /// Queues a set; `asked`: when the view was looked at that it was made for, where how long that takes is to be known.
    fn queue(&self, header: BulkHeader, bodies: &[BulkBody], asked: Option<Instant>) {
        let bytes = bodies.iter().map(|body| body.bytes.len() as u64).sum();
        let mut state = lock(&self.state);
        state.sending = Some((begin(Stage::Send, self.number, header.step), bytes));
        for body in bodies {
            state.lanes[body.group].queue.push_back(Outgoing { header, body: body.clone() });
        }
        // Not before: what was sent earlier may arrive while this is made.
        asked.into_iter().for_each(|asked| state.heading.begin(asked));
        state.pump();
    }

    fn drop_queued(&self) {
        let mut state = lock(&self.state);
        state.lanes.iter_mut().for_each(|lane| lane.queue.clear());
        state.sending = None;
    }
}

/// What a page may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Look, and ask something of a simulation.
    Steer,
    /// Look.
    Watch,
}

/// A viewer's session; it ends when this is dropped.
pub struct Session {
    shared: Arc<SessionShared>,
    back_end: Weak<BackEnd>,
    /// What it is called in the log of what was asked of the simulation.
    who: String,
    right: Right,
    fields: usize,
}

impl Session {
    pub(crate) fn begin(back_end: Arc<BackEnd>, id: String, right: Right, sink: ControlSink) -> Self {
        let lanes: Vec<Lane> = (0..back_end.groups()).map(|_| Lane::default()).collect();
        let state = State { link: Link::of(lanes.len()), lanes, ..State::default() };
        let number = back_end.next_session();
        let shared = Arc::new(SessionShared { number, state: Mutex::new(state), changed: Condvar::new() });
        let fields = back_end.store().source().info().fields.len();
        let driven = Arc::clone(&shared);
        let who = format!("page {}", id.chars().take(4).collect::<String>());
        let weak = Arc::downgrade(&back_end);
        std::thread::spawn(move || driver::Driver::new(back_end, driven, sink).run(&id, right));
        Self { shared, back_end: weak, who, right, fields }
    }

    pub(crate) fn shared_weak(&self) -> Weak<SessionShared> {
        Arc::downgrade(&self.shared)
    }

    /// Takes the newest view of the page.
    ///
    /// # Errors
    /// [`SessionError::NoField`] if it shows a field that does not exist.
    pub fn on_view(&self, view: View) -> Result<(), SessionError> {
        self.check_field(view.field)?;
        let now = Instant::now();
        let mut state = lock(&self.shared.state);
        state.heading.note(now, view.camera);
        state.view = Some((view, now));
        drop(state);
        self.shared.wake();
        Ok(())
    }

    /// Asks something of the simulation.
    ///
    /// # Errors
    /// Why it cannot be asked: to be told to the page, whose session goes on.
    pub fn on_steer(&self, action: Action) -> Result<(), String> {
        if self.right == Right::Watch {
            return Err(
                "this page may only watch: whoever started visapult has the URL of a page that may steer".to_owned()
            );
        }
        self.back_end.upgrade().ok_or("the server is ending")?.steer(&self.who, action)
    }

    /// Records what the page did with the steps it was sent, while anything is recorded. What makes no sense is passed over.
    pub fn on_stamps(&self, stamps: &Events) {
        let now_ns = now_ns();
        stamps.events.iter().filter_map(|stamp| stamp.of_page(self.shared.number, now_ns)).for_each(record);
    }

    /// Begins or ends telling the page what is done to the latest steps.
    pub fn on_lifelines(&self, asked: AskLifelines) {
        lock(&self.shared.state).lifelines = asked.on;
        self.shared.wake();
    }

    /// Is asked for a value; of several questions the last is answered.
    pub fn on_pick(&self, pick: Pick) {
        lock(&self.shared.state).pick = Some(pick);
        self.shared.wake();
    }

    /// Is asked for the values of a place at all steps of a field; what was asked for before ends.
    ///
    /// # Errors
    /// [`SessionError::NoField`] if there is no such field.
    pub fn on_series(&self, AskSeries { number, field, place }: AskSeries) -> Result<(), SessionError> {
        self.check_field(field)?;
        let mut state = lock(&self.shared.state);
        state.series = place.map(|place| Gathered::new(Question { number, field, place }));
        if state.series.is_some() && !state.closed && !state.is_reading {
            state.is_reading = true;
            series::read(self.back_end.clone(), Arc::downgrade(&self.shared));
        }
        Ok(())
    }

    fn check_field(&self, field: usize) -> Result<(), SessionError> {
        let fields = self.fields;
        if field < fields { Ok(()) } else { Err(SessionError::NoField { field, fields }) }
    }

    /// Answers what time it is.
    #[must_use]
    pub fn clock(asked: AskClock) -> Clock {
        let now_ms = now_ns() as f64 * 1e-6;
        Clock { asked_ms: asked.asked_ms, heard_ms: now_ms, answered_ms: now_ms }
    }

    /// Attaches a data connection.
    ///
    /// # Errors
    /// [`SessionError::NoGroup`] if the session has no such group.
    pub fn attach(&self, group: usize, sink: BulkSink) -> Result<(), SessionError> {
        let mut state = lock(&self.shared.state);
        let (groups, closed) = (state.lanes.len(), state.closed);
        let lane = state.lanes.get_mut(group).ok_or(SessionError::NoGroup { group, groups })?;
        if closed {
            return Err(SessionError::Closed);
        }
        lane.sink = Some(sink);
        state.link.attach(group);
        state.pump();
        drop(state);
        self.shared.wake();
        Ok(())
    }

    /// Notes what has arrived on a data connection, and sends what that leaves room for.
    ///
    /// # Errors
    /// [`SessionError`] if that cannot be.
    pub fn on_ack(&self, group: usize, ack: Ack) -> Result<(), SessionError> {
        let mut state = lock(&self.shared.state);
        if state.closed {
            return Ok(());
        }
        let groups = state.lanes.len();
        if group >= groups {
            return Err(SessionError::NoGroup { group, groups });
        }
        if !state.link.on_ack(group, ack.received_bytes, Instant::now()) {
            return Err(SessionError::Ack { received: ack.received_bytes });
        }
        state.pump();
        let emptied = state.lanes.iter().all(|lane| lane.queue.is_empty());
        if emptied && state.link.is_idle() {
            state.heading.arrived(Instant::now());
        }
        drop(state);
        if emptied {
            self.shared.wake();
        }
        Ok(())
    }

    /// Ends the session: its thread stops, its data connections are let go.
    pub fn close(&self) {
        self.shared.close();
    }

    /// Whether the session has ended.
    pub fn is_closed(&self) -> bool {
        lock(&self.shared.state).closed
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.shared.close();
    }
}
