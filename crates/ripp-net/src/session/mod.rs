//! A session: two ends, flows of objects between them, lanes that carry those.
//!
//! Threads: one that keeps the control channel, one that digests, one per lane and direction, and one per stream where there are no
//! datagrams. They share [`shared::Shared`].

mod backlog;
mod black_hole;
mod control_loop;
mod dial;
mod digest;
mod door;
mod error;
mod failures;
mod greeting;
mod growing;
mod lane;
mod lanes;
mod listen;
mod objects;
mod options;
mod parts;
mod path;
mod place;
mod receive;
mod refused;
mod send;
mod service;
mod setup;
mod shared;
mod statistics;
mod strangers;
mod stream;

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use visapult_ripp::control::{
    FLOW_BOUNDS, MOST_MESSAGE, Message, OBJECT_BOUNDS, Transport, may_be_flow, may_be_object,
};
use visapult_ripp::lane_out::Sizes;
use visapult_ripp::outbox::Mode;
use visapult_ripp::rate::{Auto, Controller, Fixed, Verdict};

pub use error::SessionError;
pub use listen::{Listener, ListenerOptions};
pub use objects::{
    Arrival, Delivery, Incoming, MemorySink, NoMemory, Note, ObjectError, Offer, Outgoing, Sink, Source,
};
pub use options::{Lanes, Options, Rate};
pub use refused::Refused;
pub use service::Service;
pub use statistics::{LaneStatistics, Statistics};
pub(crate) use stream::Ack;

use crate::lock::lock;
use crate::policy::Ruling;
use objects::Outcome;
use setup::Begun;
use shared::{Outbound, Shared};

/// One end of a session. Dropping it ends the session.
#[derive(Debug)]
pub struct Session {
    shared: Arc<Shared>,
    /// None wakes whoever waits.
    arrivals: Mutex<Receiver<Option<Arrival>>>,
    peer: SocketAddr,
    request: String,
    name: String,
    member: Option<String>,
    /// Gives why the listener did not admit us, or ends.
    refusal: Mutex<Option<Receiver<SessionError>>>,
    rate: Rate,
    ruling: Option<Ruling>,
}

/// A flow: objects that share a mode and a weight.
#[derive(Clone, Debug)]
pub struct Flow {
    shared: Arc<Shared>,
    flow: u16,
}

impl Session {
    /// Another end that gives no sign of life for this long is gone.
    pub const GONE_AFTER: Duration = control_loop::GONE_AFTER;

    fn new(begun: Begun, peer: SocketAddr, name: String, options: &Options, ruling: Option<Ruling>) -> Self {
        let Begun { shared, arrivals } = begun;
        let (arrivals, request, rate) = (Mutex::new(arrivals), options.request.clone(), options.rate);
        Self { shared, arrivals, peer, request, name, member: None, refusal: Mutex::new(None), rate, ruling }
    }

    /// Waits until the listener has admitted a session that was [begun](Self::begin).
    ///
    /// # Errors
    /// Why it has not. This is told once.
    pub fn admitted(&self) -> Result<(), SessionError> {
        match lock(&self.refusal).take().map(|refusal| refusal.recv()) {
            Some(Ok(cause)) => Err(cause),
            Some(Err(_)) | None => Ok(()),
        }
    }

    /// Opens a flow to the other end. Flows that have something to send share the rate by weight.
    ///
    /// # Errors
    /// If there are 65,536 already, or its name or deadline is too long.
    pub fn open_flow(&self, name: &str, mode: Mode, weight: u32) -> Result<Flow, SessionError> {
        if !may_be_flow(name, mode) {
            return Err(SessionError::Bounds(FLOW_BOUNDS));
        }
        let mut out = self.shared.out();
        let flow = out.sending.open_flow(name, mode, weight).ok_or(SessionError::TooManyFlows)?;
        self.shared.pump_out(&mut out);
        Ok(Flow { shared: Arc::clone(&self.shared), flow })
    }

    /// Waits for the next object that the other end offers, passing over notes; `None` when `timeout` has passed.
    ///
    /// # Errors
    /// Why the session ended, if it did.
    pub fn next_offer(&self, timeout: Duration) -> Result<Option<Offer>, SessionError> {
        let began = Instant::now();
        loop {
            match self.next_arrival(timeout.saturating_sub(began.elapsed()))? {
                Some(Arrival::Offer(offer)) => return Ok(Some(offer)),
                Some(Arrival::Note(_)) => {}
                None => return Ok(None),
            }
        }
    }

    /// Gives the other end's program a note of at most 60 KiB: half a round trip later it is there.
    ///
    /// # Errors
    /// If it is longer, or the session has ended.
    pub fn note(&self, text: &str) -> Result<(), SessionError> {
        let note = Message::Note { text: text.to_owned() };
        if note.to_bytes().len() > MOST_MESSAGE {
            return Err(SessionError::LongNote(text.len()));
        }
        if self.shared.is_over() {
            return Err(self.shared.ended());
        }
        self.shared.message(&note);
        Ok(())
    }

    /// Waits for the next note or offer of the other end, in the order in which it gave them; `None` when `timeout` has passed, or somebody has
    /// [nudged](Self::nudge).
    ///
    /// # Errors
    /// Why the session ended, if it did.
    pub fn next_arrival(&self, timeout: Duration) -> Result<Option<Arrival>, SessionError> {
        match lock(&self.arrivals).recv_timeout(timeout) {
            Ok(arrival) => Ok(arrival),
            Err(RecvTimeoutError::Timeout) if !self.shared.is_over() => Ok(None),
            Err(_) => Err(self.shared.ended()),
        }
    }

    /// Whoever waits for an [arrival](Self::next_arrival) looks up from it, now or the next time.
    pub fn nudge(&self) {
        self.shared.nudge();
    }

    /// How long the other end has given no sign of life, as of late.
    #[must_use]
    pub fn silence(&self) -> Duration {
        Duration::from_millis(self.shared.silent_ms.load(Ordering::Relaxed))
    }

    /// The session goes on.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        !self.shared.is_over()
    }

    /// Waits until it has ended, `most` at the most; true if it has.
    pub fn wait_ended(&self, most: Duration) -> bool {
        self.shared.wait_over(most)
    }

    /// Why the session ended; `None` while it goes on, or when it ended in peace.
    #[must_use]
    pub fn why_ended(&self) -> Option<String> {
        self.shared.why()
    }

    /// How data moves.
    #[must_use]
    pub fn transport(&self) -> Transport {
        if self.shared.streams.are_on() { Transport::Tcp } else { Transport::Udp }
    }

    /// The same as an error, of a session that has ended.
    #[must_use]
    pub fn ended(&self) -> SessionError {
        self.shared.ended()
    }

    /// What the dialler wants, in its own words.
    #[must_use]
    pub fn request(&self) -> &str {
        &self.request
    }

    /// Where the other end is, as the control channel has it.
    #[must_use]
    pub const fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// What was dialled: the name in the URL.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whose token was shown, where the listener knows whose it is.
    #[must_use]
    pub fn member(&self) -> Option<&str> {
        self.member.as_deref()
    }

    /// How long it took from the first packet to the last answer of the handshake.
    #[must_use]
    pub fn setup_time(&self) -> Duration {
        self.shared.setup.get().copied().unwrap_or_default()
    }

    /// How fast this end may send: the least of what was asked for and what its user's policy allows.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// What this end's user has ruled for the path, if anything.
    #[must_use]
    pub const fn ruling(&self) -> Option<&Ruling> {
        self.ruling.as_ref()
    }

    /// What limits the session's sending, by the latest rounds of its lanes; `None` before enough of it has been seen.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        statistics::verdict(&self.shared)
    }

    /// What the session has done so far.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        statistics::gather(&self.shared)
    }

    /// Sends, and has the other end send, no faster than so many bits of IP packets per second from here on; 0 sets no limit beside those that the
    /// session began with.
    pub fn limit(&self, send_bps: u64, receive_bps: u64) {
        self.shared.limit(send_bps, receive_bps);
    }

    /// Ends the session and tells the other end why; what is under way fails with that.
    pub fn end_because(&self, why: &str) {
        self.shared.end(Some(why));
    }

    /// Ends the session; what is under way fails.
    pub fn close(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.shared.end(None);
        self.shared.join();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end();
    }
}

impl Flow {
    /// Offers an object; it is sent as soon as the other end accepts it.
    ///
    /// # Errors
    /// If the session has ended, its object numbers are used up, or the object or its name is too long.
    pub fn send(&self, name: &str, source: Arc<dyn Source>) -> Result<Outgoing, SessionError> {
        let (now, length) = (self.shared.now(), source.length());
        if !may_be_object(name, length) {
            return Err(SessionError::Bounds(OBJECT_BOUNDS));
        }
        let mut out = self.shared.out();
        if self.shared.is_over() {
            return Err(self.shared.ended());
        }
        let object = out.sending.offer(self.flow, name, length, now).ok_or(SessionError::TooManyObjects)?;
        let outcome = Arc::new(Outcome::default());
        out.sources.insert(object, Outbound { source, outcome: Arc::clone(&outcome), digest: None });
        self.shared.pump_out(&mut out);
        if out.sending.outbox.is_presuming() {
            self.shared.wake_senders();
        }
        Ok(Outgoing { shared: Arc::clone(&self.shared), object, outcome })
    }

    /// Waits until the receiver is through with all objects that were offered so far.
    ///
    /// # Errors
    /// Why the first that failed was not delivered. This is told once.
    pub fn wait(&self) -> Result<(), ObjectError> {
        let outcomes: Vec<_> = {
            let out = self.shared.out();
            let live = out.sending.live_of(self.flow).filter_map(|object| out.sources.get(&object));
            live.map(|sent| Arc::clone(&sent.outcome)).collect()
        };
        let ended = outcomes.iter().map(|outcome| outcome.wait().map(drop)).fold(Ok(()), Result::and);
        self.shared.out().sending.take_failure(self.flow).map_or(ended, |why| Err(ObjectError { why }))
    }

    /// Bytes that are known to have arrived, and bytes of all objects that were offered.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        self.shared.out().sending.progress(self.flow)
    }

    /// Bytes of objects that were offered and may still arrive: neither known to be there nor lost for good.
    #[must_use]
    pub fn expected(&self) -> u64 {
        self.shared.out().sending.expected(self.flow)
    }

    /// Takes all objects back that are under way; more may be offered.
    pub fn cancel(&self) {
        let mut out = self.shared.out();
        let live: Vec<u32> = out.sending.live_of(self.flow).collect();
        live.into_iter().for_each(|object| out.sending.cancel(object, "cancelled by the sender"));
        self.shared.pump_out(&mut out);
    }
}

/// The controller of a lane that has all of what is asked for, until that is divided.
fn controller(options: &Options, rtt: Duration, sizes: Sizes) -> Controller {
    match options.rate {
        Rate::Fixed(bps) => Controller::Fixed(Fixed::new(bps)),
        Rate::Auto { most_bps } => {
            let auto = Auto::new(Auto::first_bps(sizes, rtt), most_bps);
            Controller::Auto(Box::new(if options.dedicated { auto.dedicated() } else { auto }))
        }
    }
}
