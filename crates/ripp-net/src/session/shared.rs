//! What the threads of a session share: both ends' state, each behind one lock, and the control channel.
//!
//! Lock order: `out` and `incoming` are never held together. Messages are queued under the lock that made them, so that they leave in order.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{SendError, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use visapult_ripp::control::{MOST_LANES, Message};
use visapult_ripp::lane_out::{LaneOut, SentCounts};
use visapult_ripp::memory::Limits;
use visapult_ripp::receiving::{ReceiveEvent, Receiving};
use visapult_ripp::sending::{SendEvent, Sending};
use visapult_ripp::time::Time;

use super::backlog::Backlog;
use super::digest::{DigestKeys, Job};
use super::lane::LaneLink;
use super::lanes::Material;
use super::objects::{Arrival, Delivery, Note, ObjectError, Offer, Outcome, Room, Sink, Source};
use super::parts::{add_parts, divide_sending};
use super::place::place_held;
use super::stream::{Pace, StreamOut, Streams};
use super::{Options, SessionError};
use crate::control::ControlSender;
use crate::lock::{lock, unpoisoned};

/// Times of a session count from so long before it began: datagrams may have come by then.
const LEAD: Duration = Duration::from_secs(1);
/// When a session began.
pub(super) const BEGAN: Time = Time::from_ns(LEAD.as_nanos() as u64);
/// What an offer or a note takes beside its text while it waits for the program to look at it.
const OFFER_BYTES: usize = 256;

/// The sending end: objects, and what each lane is at.
pub(super) struct Out {
    pub(super) sending: Sending,
    /// One per lane; none before it has a path and after it died.
    pub(super) lanes: Vec<Option<LaneOut>>,
    /// Counts of lanes that were given up.
    pub(super) retired: SentCounts,
    /// One per stream that was ever opened.
    pub(super) streams: Vec<StreamOut>,
    pub(super) pace: Pace,
    /// What was asked for of all lanes together, and what the program allows them at present; 0 sets no limit.
    pub(super) asked_bps: u64,
    pub(super) most_send_bps: u64,
    /// What the other end has said at the beginning that it takes at most, of all lanes together; 0 sets no limit.
    pub(super) peer_most_bps: u64,
    /// Which part of that each lane has.
    pub(super) parts: Vec<f64>,
    pub(super) sources: HashMap<u32, Outbound>,
}

impl Out {
    /// Tells the lanes what each may of what was asked for, and of what the program allows.
    pub(super) fn limit_lanes(&mut self) {
        for (lane, part) in self.lanes.iter_mut().zip(&self.parts) {
            let Some(lane) = lane else { continue };
            let of = |bps: u64| (bps as f64 * part) as u64;
            if self.asked_bps > 0 {
                lane.set_asked(of(self.asked_bps));
            }
            lane.set_most(if self.most_send_bps == 0 { u64::MAX } else { of(self.most_send_bps) });
        }
    }

    /// What a lane had under way goes back to the outbox; the lane is no more.
    pub(super) fn retire_lane(&mut self, index: usize, now: Time) {
        if let Some(mut lane) = self.lanes[index].take() {
            lane.abandon(now, &mut self.sending.outbox);
            self.retired = self.retired.plus(lane.counts());
        }
    }
}

#[derive(Clone)]
pub(super) struct Outbound {
    pub(super) source: Arc<dyn Source>,
    pub(super) outcome: Arc<Outcome>,
    pub(super) digest: Option<String>,
}

/// The receiving end: objects and where their bytes go.
pub(super) struct In {
    pub(super) receiving: Receiving,
    pub(super) places: HashMap<u32, Place>,
}

#[derive(Clone)]
pub(super) struct Place {
    pub(super) sink: Arc<dyn Sink>,
    pub(super) length: u64,
    pub(super) outcome: Arc<Outcome>,
}

pub(super) struct Shared {
    /// What times count from.
    origin: Instant,
    /// What may be kept.
    pub(super) limits: Limits,
    out: Mutex<Out>,
    incoming: Mutex<In>,
    pub(super) backlog: Backlog,
    offered: Arc<AtomicUsize>,
    /// None before the listener has admitted the session, nor links.
    digest_keys: OnceLock<DigestKeys>,
    material: OnceLock<Material>,
    /// Filled from the first on, as lanes are added.
    links: [OnceLock<Arc<LaneLink>>; MOST_LANES as usize],
    /// Lanes that there may come to be, as both ends have agreed.
    most_lanes: AtomicU16,
    pub(super) streams: Streams,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// How long it took to begin.
    pub(super) setup: OnceLock<Duration>,
    /// Greatest rate to receive at, by the options and as the program wants it at present; 0 sets no limit.
    most_receive_bps: [AtomicU64; 2],
    /// Bytes of IP packets that came with data.
    pub(super) received_bytes: AtomicU64,
    arrivals: Mutex<Sender<Option<Arrival>>>,
    jobs: Mutex<Sender<Job>>,
    /// Lanes whose path has been valid.
    opened: Mutex<usize>,
    opening: Condvar,
    /// Milliseconds since the other end's last sign of life, as of late.
    pub(super) silent_ms: AtomicU64,
    over: AtomicBool,
    ending: Mutex<Ending>,
}

/// How a session has ended.
#[derive(Default)]
struct Ending {
    why: Option<String>,
    /// The other end broke the protocol.
    is_breach: bool,
}

impl fmt::Debug for Shared {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Session")
            .field("lanes", &self.links().count())
            .field("over", &self.is_over())
            .finish_non_exhaustive()
    }
}

impl Shared {
    pub(super) fn new(
        control: ControlSender,
        arrivals: Sender<Option<Arrival>>,
        jobs: Sender<Job>,
        options: &Options,
        limits: Limits,
    ) -> Self {
        let out = Out {
            sending: Sending::default(),
            lanes: Vec::new(),
            retired: SentCounts::default(),
            streams: Vec::new(),
            pace: Pace::new(options),
            asked_bps: options.rate.most_bps().unwrap_or(0),
            most_send_bps: 0,
            peer_most_bps: 0,
            parts: Vec::new(),
            sources: HashMap::new(),
        };
        Self {
            origin: Instant::now().checked_sub(LEAD).unwrap_or_else(Instant::now),
            limits,
            out: Mutex::new(out),
            incoming: Mutex::new(In { receiving: Receiving::new(limits), places: HashMap::new() }),
            backlog: Backlog::new(control, limits),
            offered: Arc::default(),
            digest_keys: OnceLock::new(),
            material: OnceLock::new(),
            links: [const { OnceLock::new() }; MOST_LANES as usize],
            most_lanes: AtomicU16::new(limits.lanes),
            streams: Streams::of(options),
            threads: Mutex::default(),
            setup: OnceLock::new(),
            most_receive_bps: [AtomicU64::new(options.most_receive_bps), AtomicU64::new(0)],
            received_bytes: AtomicU64::new(0),
            arrivals: Mutex::new(arrivals),
            jobs: Mutex::new(jobs),
            opened: Mutex::new(0),
            opening: Condvar::new(),
            silent_ms: AtomicU64::new(0),
            over: AtomicBool::new(false),
            ending: Mutex::default(),
        }
    }

    pub(super) fn now(&self) -> Time {
        Time::from_ns(self.origin.elapsed().as_nanos() as u64)
    }

    pub(super) fn out(&self) -> MutexGuard<'_, Out> {
        lock(&self.out)
    }

    pub(super) fn incoming(&self) -> MutexGuard<'_, In> {
        lock(&self.incoming)
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Why the session ended; `None` while it goes on, or when it ended in peace.
    pub(super) fn why(&self) -> Option<String> {
        lock(&self.ending).why.clone()
    }

    /// The same as an error, of a session that is over.
    pub(super) fn ended(&self) -> SessionError {
        let ending = lock(&self.ending);
        let why = ending.why.clone().unwrap_or_default();
        if ending.is_breach { SessionError::Breach(why) } else { SessionError::Ended(why) }
    }

    /// The lanes' sockets and paths.
    pub(super) fn links(&self) -> impl Iterator<Item = &Arc<LaneLink>> {
        self.links.iter().map_while(OnceLock::get)
    }

    /// What lanes are made of, once that is known.
    pub(super) fn material(&self) -> Option<&Material> {
        self.material.get()
    }

    /// Tells what lanes are made of, once.
    pub(super) fn set_material(&self, material: Material) {
        let _ = self.material.set(material);
    }

    /// Lanes that there may come to be.
    pub(super) fn most_lanes(&self) -> u16 {
        self.most_lanes.load(Ordering::Relaxed)
    }

    /// The other end lets there come to be so many lanes; no more than this end does.
    pub(super) fn agree_on_most_lanes(&self, theirs: Option<u16>) {
        let most = theirs.unwrap_or(1).min(self.limits.most_lanes());
        self.most_lanes.fetch_max(most, Ordering::Relaxed);
    }

    /// Some could not be had: there are no more from here on, for the other end may number them otherwise.
    pub(super) fn add_no_more_lanes(&self) {
        self.most_lanes.store(0, Ordering::Relaxed);
    }

    /// Gives the session the keys of digests, once, before objects are accepted.
    pub(super) fn set_digest_keys(&self, keys: DigestKeys) {
        let _ = self.digest_keys.set(keys);
    }

    /// The keys of digests.
    pub(super) fn digest_keys(&self) -> io::Result<&DigestKeys> {
        self.digest_keys.get().ok_or_else(|| io::Error::other("the session has not begun"))
    }

    /// Adds lanes, and says the number of the first of them.
    pub(super) fn add_links(&self, links: &[Arc<LaneLink>]) -> usize {
        let mut out = self.out();
        let (first, all) = (out.lanes.len(), out.lanes.len() + links.len());
        add_parts(self.links().map(|link| &link.arrivals), links.iter().map(|link| &link.arrivals));
        for (place, link) in self.links[first..].iter().zip(links) {
            // Nobody else adds any while we hold the lock.
            let _ = place.set(Arc::clone(link));
        }
        out.lanes.resize_with(all, || None);
        // What is bounded is divided anew when they begin to send.
        out.parts.resize(all, if first == 0 { 1.0 / all.max(1) as f64 } else { 0.0 });
        first
    }

    /// Starts a thread that ends when the session does, and ends that where there is none.
    pub(super) fn spawn(
        self: &Arc<Self>,
        name: String,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<(), SessionError> {
        self.try_spawn(name, work).inspect_err(|_| self.end(Some("a thread could not be had")))
    }

    /// The same of a thread that the session can do without.
    pub(super) fn try_spawn(
        self: &Arc<Self>,
        name: String,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<(), SessionError> {
        let shared = Arc::clone(self);
        let guarded = move || shared.end_if_it_panics(work);
        let thread = thread::Builder::new().name(name).spawn(guarded).map_err(SessionError::Thread)?;
        lock(&self.threads).push(thread);
        Ok(())
    }

    /// Does the work of a thread. What panics in it is most likely a source or sink of the program, and nobody else goes on with that work.
    pub(super) fn end_if_it_panics(&self, work: impl FnOnce()) {
        if catch_unwind(AssertUnwindSafe(work)).is_err() {
            self.end(Some("a thread of this end panicked, as where the program's own source or sink does"));
        }
    }

    /// Waits for all threads to end, which they do when the session has.
    pub(super) fn join(&self) {
        loop {
            let threads = std::mem::take(&mut *lock(&self.threads));
            if threads.is_empty() {
                break;
            }
            // The first one may have started more.
            threads.into_iter().for_each(|thread| drop(thread.join()));
        }
        self.streams.join();
    }

    /// Greatest rate to receive at; 0 sets no limit.
    pub(super) fn most_receive_bps(&self) -> u64 {
        let known = self.most_receive_bps.each_ref().map(|bps| bps.load(Ordering::Relaxed));
        known.into_iter().filter(|&bps| bps > 0).min().unwrap_or(0)
    }

    /// Sends and receives no faster from here on; 0 sets no limit beside the options'.
    pub(super) fn limit(&self, send_bps: u64, receive_bps: u64) {
        self.most_receive_bps[1].store(receive_bps, Ordering::Relaxed);
        let mut out = self.out();
        if out.most_send_bps == send_bps {
            return;
        }
        out.most_send_bps = send_bps;
        out.pace.set_share(self.now(), send_bps);
        divide_sending(&mut out);
        drop(out);
        self.wake_senders();
    }

    /// The other end has said how much it takes at most; each lane and stream hears anew of that as it goes on.
    pub(super) fn note_peer_most(&self, most_bps: Option<u64>) {
        let most_bps = most_bps.unwrap_or(0);
        let mut out = self.out();
        out.peer_most_bps = most_bps;
        out.pace.set_peer(self.now(), most_bps);
        drop(out);
        self.wake_senders();
    }

    /// A lane's path has been validated.
    pub(super) fn path_validated(&self) {
        *lock(&self.opened) += 1;
        self.opening.notify_all();
    }

    /// Waits until a lane has a valid path; false if none has after all of the patience.
    pub(super) fn wait_for_lane(&self, patience: Duration) -> bool {
        self.wait_for(1, patience)
    }

    /// Waits until all lanes have a valid path, or one has and half of the patience is gone; false if none has after all of it.
    pub(super) fn wait_for_lanes(&self, patience: Duration) -> bool {
        self.wait_for(self.links().count(), patience / 2) || self.wait_for(1, patience / 2)
    }

    fn wait_for(&self, enough: usize, patience: Duration) -> bool {
        let pending = |opened: &mut usize| *opened < enough && !self.is_over();
        let guard = lock(&self.opened);
        *unpoisoned(self.opening.wait_timeout_while(guard, patience, pending)).0 >= enough
    }

    /// Waits until it is over, `most` at the most; true if it is.
    pub(super) fn wait_over(&self, most: Duration) -> bool {
        let guard = lock(&self.opened);
        drop(self.opening.wait_timeout_while(guard, most, |_| !self.is_over()));
        self.is_over()
    }

    /// Wakes what sends: there is something to do.
    pub(super) fn wake_senders(&self) {
        self.links().for_each(|link| link.work.notify_all());
        self.streams.wake();
    }

    /// The other end keeps `room` bytes of what it has not accepted when it comes: so much is sent ahead.
    pub(super) fn presume(&self, room: u64) {
        self.out().sending.outbox.presume(room.min(self.limits.held as u64));
        self.wake_senders();
    }

    /// Ends the session; what is under way fails with `why`.
    pub(super) fn end(&self, why: Option<&str>) {
        self.end_as(Ending { why: why.map(str::to_owned), is_breach: false });
    }

    /// The same where the other end has broken the protocol.
    pub(super) fn end_for_breach(&self, why: &str) {
        self.end_as(Ending { why: Some(why.to_owned()), is_breach: true });
    }

    fn end_as(&self, ending: Ending) {
        let why = ending.why.clone();
        let why = why.as_deref();
        // Who sees that it is over and asks why waits for the answer.
        let mut told = lock(&self.ending);
        if self.over.swap(true, Ordering::Relaxed) {
            return;
        }
        *told = ending;
        drop(told);
        self.backlog.close(why.unwrap_or_default());
        // Nobody waits for a path any more, nor for the end.
        drop(lock(&self.opened));
        self.opening.notify_all();
        let why = why.unwrap_or("the session ended");
        let fault = || Err(ObjectError { why: why.to_owned() });
        let mut out = self.out();
        out.sending.fail_all(why);
        out.sources.drain().for_each(|(_, outbound)| outbound.outcome.set(fault()));
        drop(out);
        let mut incoming = self.incoming();
        incoming.places.drain().for_each(|(_, place)| place.outcome.set(fault()));
        incoming.receiving.let_go();
        drop(incoming);
        for link in self.links() {
            link.work.notify_all();
            link.socket.waker().wake();
        }
        self.streams.wake();
        let (closed, _) = std::sync::mpsc::channel();
        *lock(&self.arrivals) = closed;
        *lock(&self.jobs) = std::sync::mpsc::channel().0;
    }

    /// Sends a message, unless it is over.
    pub(super) fn message(&self, message: &Message) {
        if !self.is_over() {
            self.backlog.send(message);
        }
    }

    /// Sends what the sending end has to say, and does what its events ask for.
    pub(super) fn pump_out(&self, out: &mut Out) {
        for message in out.sending.take_messages() {
            self.message(&message);
        }
        for event in out.sending.take_events() {
            match event {
                SendEvent::Accepted { .. } => self.wake_senders(),
                SendEvent::Digest { object } => self.tell_digest(out, object),
                SendEvent::Done { object, arrived } => {
                    if let Some(sent) = out.sources.remove(&object) {
                        let arrived = arrived.min(sent.source.length());
                        sent.outcome.set(Ok(Delivery { arrived, holes: Vec::new(), digest: sent.digest }));
                    }
                }
                SendEvent::Failed { object, why } => {
                    if let Some(sent) = out.sources.remove(&object) {
                        sent.outcome.set(Err(ObjectError { why }));
                    }
                }
            }
        }
    }

    fn tell_digest(&self, out: &Out, object: u32) {
        if let Some(sent) = out.sources.get(&object) {
            let _ = lock(&self.jobs).send(Job::Tell { object, source: Arc::clone(&sent.source) });
        }
    }

    /// Sends what the receiving end has to say, and does what its events ask for.
    pub(super) fn pump_in(self: &Arc<Self>, incoming: &mut In) {
        if !incoming.receiving.has_news() {
            return;
        }
        for event in incoming.receiving.take_events() {
            match event {
                ReceiveEvent::Offered { object, flow, name, length, mode } => {
                    let Some(room) =
                        Room::take(&self.offered, OFFER_BYTES + flow.len() + name.len(), self.limits.offered)
                    else {
                        incoming.receiving.refuse(
                            object,
                            "too many objects are on offer that nobody has looked at: more `memory` has room for more",
                        );
                        continue;
                    };
                    let shared = Arc::clone(self);
                    let offer = Offer { shared, object, flow, name, length, mode, room, answered: false };
                    let sent = lock(&self.arrivals).send(Some(Arrival::Offer(offer)));
                    if let Err(SendError(Some(Arrival::Offer(mut offer)))) = sent {
                        // The session is over, and we hold the lock that a refusal takes.
                        offer.answered = true;
                    }
                }
                ReceiveEvent::Whole { object, digest } => self.on_whole(incoming, object, digest),
                ReceiveEvent::Ended { object, holes } => {
                    let missing: u64 = holes.iter().map(|(start, end)| end - start).sum();
                    if let Some(place) = incoming.places.remove(&object) {
                        let arrived = place.length - missing;
                        incoming.receiving.finish(object, arrived, None);
                        place.outcome.set(Ok(Delivery { arrived, holes, digest: None }));
                    }
                }
                ReceiveEvent::Cancelled { object, why } => {
                    if let Some(place) = incoming.places.remove(&object) {
                        place.outcome.set(Err(ObjectError { why }));
                    }
                }
            }
        }
        for message in incoming.receiving.take_messages() {
            self.message(&message);
        }
    }

    /// Hands on a note; false if too much waits that nobody has looked at.
    pub(super) fn on_note(&self, text: String) -> bool {
        let Some(room) = Room::take(&self.offered, OFFER_BYTES + text.len(), self.limits.offered) else { return false };
        // Nobody wants to know once the session is over.
        let _ = lock(&self.arrivals).send(Some(Arrival::Note(Note { text, room })));
        true
    }

    /// Whoever waits for an arrival waits no longer.
    pub(super) fn nudge(&self) {
        // Nobody waits once the session is over.
        let _ = lock(&self.arrivals).send(None);
    }

    fn on_whole(&self, incoming: &mut In, object: u32, digest: Option<String>) {
        let Some(place) = incoming.places.get(&object).cloned() else { return };
        if let Some(expected) = digest {
            let _ = lock(&self.jobs).send(Job::Verify { object, place, expected });
        } else {
            incoming.places.remove(&object);
            incoming.receiving.finish(object, place.length, None);
            place.outcome.set(Ok(Delivery { arrived: place.length, holes: Vec::new(), digest: None }));
        }
    }

    pub(super) fn cancel(&self, object: u32, why: &str) {
        let mut out = self.out();
        out.sending.cancel(object, why);
        self.pump_out(&mut out);
    }

    pub(super) fn accept(self: &Arc<Self>, object: u32, length: u64, sink: Arc<dyn Sink>, outcome: Arc<Outcome>) {
        let mut incoming = self.incoming();
        if self.is_over() {
            let why = self.why().unwrap_or_else(|| "the session ended".to_owned());
            outcome.set(Err(ObjectError { why }));
            return;
        }
        if let Err(why) = incoming.receiving.accept(object) {
            outcome.set(Err(ObjectError { why }));
            return;
        }
        incoming.places.insert(object, Place { sink, length, outcome });
        self.pump_in(&mut incoming);
        let held = incoming.receiving.take_held(object);
        drop(incoming);
        place_held(self, object, held);
    }

    pub(super) fn refuse(self: &Arc<Self>, object: u32, why: &str) {
        let mut incoming = self.incoming();
        incoming.receiving.refuse(object, why);
        if let Some(place) = incoming.places.remove(&object) {
            place.outcome.set(Err(ObjectError { why: why.to_owned() }));
        }
        self.pump_in(&mut incoming);
    }
}
