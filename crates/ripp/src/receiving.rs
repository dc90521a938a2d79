//! The receiving end of a session: objects offered, accepted, filled, verified and done.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use thiserror::Error;

use crate::control::{Message, reason};
use crate::early_data::{Held, Piece};
use crate::inbox::{Inbox, Refusal};
use crate::memory::Limits;
use crate::outbox::Mode;
use crate::time::Time;
use crate::wire::OBJECT_BITS;

/// Most flows that a peer may open.
pub const MOST_FLOWS: usize = 1024;
/// What a flow takes beside its name.
const FLOW: usize = 128;
/// What a text takes beside its bytes.
const TEXT: usize = 32;
/// Why an object is no longer on offer, where there was no room for what the sender said.
const TAKEN_BACK: &str = "the sender took the object back";

/// What the receiving end is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceiveEvent {
    /// An object is on offer: it waits for [`Receiving::accept`] or [`Receiving::refuse`].
    Offered {
        /// Its number.
        object: u32,
        /// Name of its flow.
        flow: String,
        /// Its name.
        name: String,
        /// Its bytes.
        length: u64,
        /// What its flow promises.
        mode: Mode,
    },
    /// Every byte is written, and this is what the sender says they are: to be verified, then [`Receiving::finish`].
    Whole {
        /// The object.
        object: u32,
        /// The digest that the sender computed, in hexadecimal; none for flows that may lose bytes.
        digest: Option<String>,
    },
    /// Nothing more will come of an object that is not whole; then [`Receiving::finish`].
    Ended {
        /// The object.
        object: u32,
        /// Where bytes are missing, as `(start, end)`.
        holes: Vec<(u64, u64)>,
    },
    /// The sender took the object back.
    Cancelled {
        /// The object.
        object: u32,
        /// Why.
        why: String,
    },
}

/// The peer broke the protocol: the session ends.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Breach {
    /// A flow's number again, or too many flows.
    #[error("the sender opened flow {0} twice, or more than {MOST_FLOWS}")]
    FlowAgain(u16),
    /// Names of flows that take more than is left for them.
    #[error("the sender opened flow {0}, for whose name there is no room: more `memory` has room for more")]
    FlowNames(u16),
    /// An object in a flow that does not exist.
    #[error("the sender offered an object in flow {0}, which it has not opened")]
    NoFlow(u16),
    /// An object's number again.
    #[error("the sender offered object {0} twice or out of order")]
    ObjectAgain(u32),
    /// A digest that is none.
    #[error("the sender gave object {0} a digest that is not 64 hexadecimal digits")]
    Digest(u32),
}

#[derive(Debug)]
struct Expected {
    length: u64,
    mode: Mode,
    accepted: bool,
    whole: bool,
    ended: bool,
    told: bool,
    digest: Option<String>,
    /// Why the sender took it back before it was accepted or refused; nothing where there was no room for that.
    taken_back: Option<String>,
}

impl Expected {
    /// What is kept of why it was taken back.
    fn reason(&self) -> usize {
        self.taken_back.as_ref().filter(|why| !why.is_empty()).map_or(0, |why| TEXT + why.len())
    }
}

/// What became of a piece that had no place when it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// It is kept, and counts as arrived.
    Kept,
    /// There is no room for it.
    NoRoom,
    /// It has a place by now.
    HasPlace,
}

/// An object all of which has been sent.
#[derive(Debug, Default)]
struct Ending {
    /// When it ends, if no more comes until then; none before [`Receiving::tick`] has seen it.
    due: Option<Time>,
    /// Bytes that had come by the last look.
    written: u64,
    /// A look came so late that this end must have been stopped: what came meanwhile was given the time to be read.
    was_late: bool,
}

/// The receiving end.
#[derive(Debug)]
pub struct Receiving {
    limits: Limits,
    inbox: Inbox,
    held: Held,
    /// Bytes of what is known of flows, and of why objects were taken back.
    flow_names: usize,
    reasons: usize,
    flows: HashMap<u16, (String, Mode)>,
    objects: HashMap<u32, Expected>,
    /// Numbers below were offered once: objects are offered in ascending order.
    next_object: u64,
    /// Live objects all of which has been sent.
    ending: BTreeMap<u32, Ending>,
    messages: Vec<Message>,
    events: Vec<ReceiveEvent>,
}

impl Default for Receiving {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl Receiving {
    /// One that keeps within these limits.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            inbox: Inbox::new(&limits),
            held: Held::default(),
            flow_names: 0,
            reasons: 0,
            flows: HashMap::new(),
            objects: HashMap::new(),
            next_object: 0,
            ending: BTreeMap::new(),
            messages: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Keeps what comes before its object is accepted, as far as the limits go.
    pub fn hold(&mut self) {
        self.held = Held::within(self.limits.held);
    }

    /// What is kept is of no more use.
    pub fn let_go(&mut self) {
        self.held = Held::default();
    }

    /// A piece has come for which [`Receiving::claim`] knows no place.
    pub fn hold_piece(&mut self, object_low: u32, offset: u64, bytes: &[u8]) -> Hold {
        let object = self.object_of(object_low);
        let is_offered = |object| self.objects.get(&object).is_some_and(|found| !found.accepted);
        match object {
            Some(object) if !is_offered(object) => Hold::HasPlace,
            _ if self.held.keep(object_low, offset, bytes) => Hold::Kept,
            _ => Hold::NoRoom,
        }
    }

    /// What came of an object before it was accepted: to be put in its place.
    pub fn take_held(&mut self, object: u32) -> Vec<Piece> {
        self.held.take(low(object))
    }

    /// Takes a message of the sending end; others are passed over.
    ///
    /// # Errors
    /// If the peer breaks the protocol.
    pub fn on_message(&mut self, message: Message) -> Result<(), Breach> {
        match message {
            Message::Flow { flow, name, mode, .. } => self.on_flow(flow, name, mode),
            Message::Offer { object, flow, name, length } => self.on_offer(object, flow, name, length),
            Message::Digest { object, digest } => self.on_digest(object, digest),
            Message::Sent { object } => {
                self.on_sent(object);
                Ok(())
            }
            Message::Ended { object, .. } => {
                self.on_ended(object);
                Ok(())
            }
            Message::Cancel { object, why } => {
                self.on_cancel(object, why);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn on_sent(&mut self, object: u32) {
        let may_end = self.objects.get(&object).is_some_and(|found| found.mode == Mode::Lossy && found.accepted);
        if may_end {
            self.ending.entry(object).or_default();
        }
    }

    fn on_ended(&mut self, object: u32) {
        if let Some(found) = self.objects.get_mut(&object) {
            found.ended = true;
            self.tell_if_over(object);
        }
    }

    /// Whether there are objects that [`Receiving::tick`] may end.
    pub fn is_ending(&self) -> bool {
        !self.ending.is_empty()
    }

    /// Ends objects all of which has been sent, once nothing of them has come for `grace`; when to call again, if nothing happens before. Without
    /// it they end when the sender knows what was lost, more than a round trip later.
    pub fn tick(&mut self, now: Time, grace: Duration) -> Option<Time> {
        let inbox = &self.inbox;
        let look = |(object, ending): (&u32, &mut Ending)| {
            let written = inbox.progress(*object).map_or(0, |(written, _)| written);
            let is_late = ending.due.is_some_and(|due| due.after(grace) <= now) && !ending.was_late;
            ending.was_late |= is_late;
            if ending.due.is_none() || written > ending.written || is_late {
                (ending.due, ending.written) = (Some(now.after(grace)), written);
            }
            ending.due.is_some_and(|due| due <= now).then_some(*object)
        };
        let over: Vec<u32> = self.ending.iter_mut().filter_map(look).collect();
        for object in over {
            self.ending.remove(&object);
            self.on_ended(object);
        }
        self.ending.values().filter_map(|ending| ending.due).min()
    }

    /// Nothing more is expected of an object.
    fn forget(&mut self, object: u32) {
        self.ending.remove(&object);
        self.inbox.close(object);
    }

    fn on_cancel(&mut self, object: u32, why: String) {
        match self.objects.get_mut(&object) {
            // Whoever looks at the offer is told.
            Some(found) if !found.accepted => {
                self.reasons -= found.reason();
                let fits = self.reasons + TEXT + why.len() <= self.limits.reasons;
                found.taken_back = Some(if fits { why.into_boxed_str().into_string() } else { String::new() });
                self.reasons += found.reason();
            }
            Some(_) => {
                self.objects.remove(&object);
                self.forget(object);
                self.events.push(ReceiveEvent::Cancelled { object, why });
            }
            None => {}
        }
    }

    fn on_flow(&mut self, flow: u16, name: String, mode: Mode) -> Result<(), Breach> {
        let room = FLOW + name.len();
        if self.flow_names + room > self.limits.flow_names {
            return Err(Breach::FlowNames(flow));
        }
        if self.flows.len() >= MOST_FLOWS || self.flows.insert(flow, (name, mode)).is_some() {
            return Err(Breach::FlowAgain(flow));
        }
        self.flow_names += room;
        Ok(())
    }

    fn on_offer(&mut self, object: u32, flow: u16, name: String, length: u64) -> Result<(), Breach> {
        let (flow, mode) = self.flows.get(&flow).cloned().ok_or(Breach::NoFlow(flow))?;
        if u64::from(object) < self.next_object {
            return Err(Breach::ObjectAgain(object));
        }
        self.next_object = u64::from(object) + 1;
        let most = self.limits.objects;
        if self.objects.len() >= most {
            let why = format!("{most} objects are in progress already: more `memory` has room for more");
            self.messages.push(Message::Refuse { object, why });
            self.held.take(low(object));
            return Ok(());
        }
        let expected = Expected {
            length,
            mode,
            accepted: false,
            whole: false,
            ended: false,
            told: false,
            digest: None,
            taken_back: None,
        };
        self.objects.insert(object, expected);
        self.events.push(ReceiveEvent::Offered { object, flow, name, length, mode });
        Ok(())
    }

    fn on_digest(&mut self, object: u32, digest: String) -> Result<(), Breach> {
        if digest.len() != 64 || !digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(Breach::Digest(object));
        }
        if let Some(found) = self.objects.get_mut(&object) {
            found.digest = Some(digest);
            self.tell_if_over(object);
        }
        Ok(())
    }

    /// The caller has a place for the object.
    ///
    /// # Errors
    /// Why it is no longer on offer.
    pub fn accept(&mut self, object: u32) -> Result<(), String> {
        let found = self.objects.get_mut(&object).filter(|found| !found.accepted);
        let Some(found) = found else { return Err("the object is not on offer".to_owned()) };
        if found.taken_back.is_some() {
            let why = self.remove(object).and_then(|found| found.taken_back);
            return Err(why.filter(|why| !why.is_empty()).unwrap_or_else(|| TAKEN_BACK.to_owned()));
        }
        found.accepted = true;
        found.whole = found.length == 0;
        self.inbox.expect(object, found.length);
        self.messages.push(Message::Accept { object });
        self.tell_if_over(object);
        Ok(())
    }

    /// The caller does not want the object, or can no longer take it.
    pub fn refuse(&mut self, object: u32, why: &str) {
        if self.remove(object).is_some_and(|found| found.taken_back.is_none()) {
            self.forget(object);
            self.messages.push(Message::Refuse { object, why: reason(why) });
        }
    }

    fn remove(&mut self, object: u32) -> Option<Expected> {
        let found = self.objects.remove(&object)?;
        self.held.take(low(object));
        self.reasons -= found.reason();
        Some(found)
    }

    /// The newest object on offer until now whose number ends in `object_low`, its lower [`OBJECT_BITS`] bits: a sender offers none while one as
    /// old as that number allows is in progress.
    #[must_use]
    pub fn object_of(&self, object_low: u32) -> Option<u32> {
        let newest = self.next_object.checked_sub(1)?;
        let behind = newest.wrapping_sub(u64::from(object_low)) % (1 << OBJECT_BITS);
        newest.checked_sub(behind).map(|object| object as u32)
    }

    /// Claims what is new of a region; see [`Inbox::claim`].
    ///
    /// # Errors
    /// If the region has no place.
    pub fn claim(&mut self, object: u32, offset: u64, length: u64, fresh: impl FnMut(u64, u64)) -> Result<(), Refusal> {
        if !self.objects.contains_key(&object) && u64::from(object) < self.next_object {
            return Err(Refusal::Closed);
        }
        self.inbox.claim(object, offset, length, fresh)
    }

    /// `bytes` claimed bytes have been written.
    pub fn written(&mut self, object: u32, bytes: u64) {
        let is_whole = self.inbox.written(object, bytes);
        if let Some(found) = self.objects.get_mut(&object).filter(|found| is_whole || found.ended) {
            found.whole |= is_whole;
            self.tell_if_over(object);
        }
    }

    /// The caller is through with an object: it has `arrived` bytes of it, or found a fault.
    pub fn finish(&mut self, object: u32, arrived: u64, fault: Option<String>) {
        if self.objects.remove(&object).is_some() {
            self.forget(object);
            self.messages.push(Message::Done { object, arrived, fault: fault.as_deref().map(reason) });
        }
    }

    /// Bytes of an object that have been written, and its length.
    #[must_use]
    pub fn progress(&self, object: u32) -> Option<(u64, u64)> {
        self.inbox.progress(object)
    }

    /// The most that a session may keep.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Runs of bytes that are kept of objects which are not whole.
    #[must_use]
    pub const fn spans(&self) -> usize {
        self.inbox.spans()
    }

    /// What is kept of data that has no place yet takes so many bytes.
    #[must_use]
    pub const fn held(&self) -> usize {
        self.held.bytes()
    }

    /// Bytes that are kept of flows, and of why objects were taken back.
    #[must_use]
    pub const fn texts(&self) -> (usize, usize) {
        (self.flow_names, self.reasons)
    }

    /// Objects on offer or in progress.
    #[must_use]
    pub fn live(&self) -> usize {
        self.objects.len()
    }

    /// Messages to be sent to the other end, in order.
    pub fn take_messages(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.messages)
    }

    /// What happened since the last call.
    pub fn take_events(&mut self) -> Vec<ReceiveEvent> {
        std::mem::take(&mut self.events)
    }

    /// Something is waiting to be taken.
    #[must_use]
    pub fn has_news(&self) -> bool {
        !self.messages.is_empty() || !self.events.is_empty()
    }

    fn tell_if_over(&mut self, object: u32) {
        let Some(found) = self.objects.get_mut(&object).filter(|found| found.accepted && !found.told) else { return };
        let reliable = found.mode == Mode::Reliable;
        let whole = found.whole && (!reliable || found.digest.is_some());
        if whole {
            found.told = true;
            self.events.push(ReceiveEvent::Whole { object, digest: found.digest.clone() });
        } else if found.ended && !reliable && self.inbox.is_settled(object) {
            found.told = true;
            let holes = self.inbox.holes(object);
            self.events.push(ReceiveEvent::Ended { object, holes });
        }
    }
}

/// What data says of an object's number.
const fn low(object: u32) -> u32 {
    object & ((1 << OBJECT_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_a_flow(mode: Mode) -> Receiving {
        let mut receiving = Receiving::default();
        receiving.on_message(Message::Flow { flow: 0, name: "flow".to_owned(), mode, weight: 1 }).unwrap();
        receiving
    }

    fn offer(receiving: &mut Receiving, object: u32) {
        receiving.on_message(Message::Offer { object, flow: 0, name: "object".to_owned(), length: 9 }).unwrap();
    }

    fn with_an_offer() -> Receiving {
        let mut receiving = with_a_flow(Mode::Reliable);
        offer(&mut receiving, 0);
        receiving
    }

    /// All of a lossy object has been sent, and nothing of it has come yet.
    fn all_sent(receiving: &mut Receiving, object: u32) {
        offer(receiving, object);
        receiving.accept(object).unwrap();
        receiving.on_message(Message::Sent { object }).unwrap();
    }

    #[test]
    fn what_comes_before_its_object_is_accepted_is_kept_until_that_is_known() {
        let mut receiving = with_a_flow(Mode::Reliable);
        assert_eq!(receiving.hold_piece(0, 0, b"four"), Hold::NoRoom);
        receiving.hold();
        // Before it is even offered.
        assert_eq!(receiving.hold_piece(1, 5, b"four"), Hold::Kept);
        (0..3).for_each(|object| offer(&mut receiving, object));
        (0..3).for_each(|object| assert_eq!(receiving.hold_piece(object, 0, b"first"), Hold::Kept));
        receiving.accept(1).unwrap();
        let piece = |offset, bytes: &[u8]| (offset, bytes.into());
        assert_eq!(receiving.take_held(1), [piece(5, b"four"), piece(0, b"first")]);
        assert_eq!(receiving.hold_piece(1, 0, b"again"), Hold::HasPlace);
        receiving.refuse(0, "not wanted");
        receiving.on_message(Message::Cancel { object: 2, why: String::new() }).unwrap();
        receiving.accept(2).unwrap_err();
        assert_eq!(receiving.held(), 0);
        assert_eq!(receiving.hold_piece(2, 0, b"late"), Hold::HasPlace);
    }

    #[test]
    fn reasons_for_which_there_is_no_room_are_not_kept_and_the_room_comes_back() {
        let mut receiving = Receiving::new(Limits { reasons: 2 * TEXT + 10, ..Limits::default() });
        receiving.on_message(Message::Flow { flow: 0, name: String::new(), mode: Mode::Lossy, weight: 1 }).unwrap();
        let take_back = |receiving: &mut Receiving, object, why: &str| {
            receiving.on_message(Message::Cancel { object, why: why.to_owned() }).unwrap();
        };
        (0..3).for_each(|object| offer(&mut receiving, object));
        (0..3).for_each(|object| take_back(&mut receiving, object, "short"));
        take_back(&mut receiving, 1, "other");
        assert_eq!(receiving.texts().1, 2 * (TEXT + 5));
        let told = [0, 1, 2].map(|object| receiving.accept(object).unwrap_err());
        assert_eq!(told, ["short", "other", TAKEN_BACK]);
        assert_eq!((receiving.texts().1, receiving.live()), (0, 0));
    }

    #[test]
    fn flows_whose_names_have_no_room_end_the_session_with_what_to_do() {
        let mut receiving = Receiving::new(Limits { flow_names: 2 * FLOW + 10, ..Limits::default() });
        let open = |receiving: &mut Receiving, flow, bytes| {
            let name = "n".repeat(bytes);
            receiving.on_message(Message::Flow { flow, name, mode: Mode::Lossy, weight: 1 })
        };
        assert_eq!((open(&mut receiving, 0, 4), open(&mut receiving, 1, 6)), (Ok(()), Ok(())));
        assert_eq!(receiving.texts().0, 2 * FLOW + 10);
        let why = open(&mut receiving, 2, 0).unwrap_err().to_string();
        assert!(why.contains("flow 2") && why.contains("memory"), "{why}");
    }

    #[test]
    fn more_objects_than_there_is_room_for_are_refused_with_what_to_do() {
        let mut receiving = Receiving::new(Limits { objects: 1, ..Limits::default() });
        receiving.on_message(Message::Flow { flow: 0, name: String::new(), mode: Mode::Lossy, weight: 1 }).unwrap();
        (0..2).for_each(|object| offer(&mut receiving, object));
        let said = receiving.take_messages();
        assert!(matches!(&said[..], [Message::Refuse { object: 1, why }] if why.contains("memory")), "{said:?}");
        receiving.refuse(0, "no room");
        offer(&mut receiving, 2);
        assert_eq!(receiving.live(), 1);
    }

    #[test]
    fn an_object_taken_back_before_it_was_looked_at_cannot_be_accepted_and_says_why() {
        let mut receiving = with_an_offer();
        receiving.on_message(Message::Cancel { object: 0, why: "no time".to_owned() }).unwrap();
        assert_eq!(receiving.accept(0), Err("no time".to_owned()));
        assert_eq!((receiving.live(), receiving.take_messages()), (0, Vec::new()));
    }

    #[test]
    fn an_object_of_which_all_was_sent_ends_when_nothing_more_comes() {
        let mut receiving = with_a_flow(Mode::Lossy);
        all_sent(&mut receiving, 0);
        let grace = Duration::from_millis(10);
        let at = |ms| Time::ZERO.after(Duration::from_millis(ms));
        receiving.take_events();
        assert_eq!(receiving.tick(at(0), grace), Some(at(10)));
        receiving.claim(0, 2, 3, |_, _| {}).unwrap();
        receiving.written(0, 3);
        assert_eq!(receiving.tick(at(9), grace), Some(at(19)));
        assert_eq!(receiving.tick(at(18), grace), Some(at(19)));
        assert_eq!(receiving.take_events(), []);
        assert_eq!(receiving.tick(at(19), grace), None);
        assert_eq!(receiving.take_events(), [ReceiveEvent::Ended { object: 0, holes: vec![(0, 2), (5, 9)] }]);
        receiving.on_message(Message::Ended { object: 0, arrived: 3 }).unwrap();
        assert_eq!(receiving.take_events(), []);
    }

    #[test]
    fn an_object_is_known_by_the_lower_bits_of_its_number_while_newer_ones_come() {
        const LAP: u32 = 1 << OBJECT_BITS;
        let mut receiving = with_a_flow(Mode::Lossy);
        assert_eq!(receiving.object_of(0), None);
        offer(&mut receiving, 3);
        assert_eq!((receiving.object_of(3), receiving.object_of(2), receiving.object_of(4)), (Some(3), Some(2), None));
        offer(&mut receiving, LAP + 2);
        assert_eq!(receiving.object_of(3), Some(3));
        assert_eq!(receiving.object_of(2), Some(LAP + 2));
        offer(&mut receiving, u32::MAX);
        assert_eq!(receiving.object_of(LAP - 1), Some(u32::MAX));
        assert_eq!(receiving.object_of(0), Some(u32::MAX - LAP + 1));
    }

    #[test]
    fn nothing_is_kept_of_objects_that_are_done() {
        let mut receiving = with_a_flow(Mode::Lossy);
        (0..3).for_each(|object| all_sent(&mut receiving, object));
        receiving.finish(0, 9, None);
        receiving.refuse(1, "no room");
        receiving.on_message(Message::Cancel { object: 2, why: "no time".to_owned() }).unwrap();
        assert!(receiving.ending.is_empty() && receiving.live() == 0);
    }

    #[test]
    fn what_came_while_this_end_was_stopped_is_read_before_the_object_ends() {
        let mut receiving = with_a_flow(Mode::Lossy);
        all_sent(&mut receiving, 0);
        let grace = Duration::from_millis(10);
        let at = |ms| Time::ZERO.after(Duration::from_millis(ms));
        receiving.take_events();
        receiving.tick(at(0), grace);
        assert_eq!(receiving.tick(at(900), grace), Some(at(910)));
        assert_eq!(receiving.take_events(), []);
        // Once is enough: an end that is always late still ends it.
        assert_eq!(receiving.tick(at(2000), grace), None);
        assert_eq!(receiving.take_events(), [ReceiveEvent::Ended { object: 0, holes: vec![(0, 9)] }]);
    }

    #[test]
    fn an_object_taken_back_need_not_be_refused() {
        let mut receiving = with_an_offer();
        receiving.on_message(Message::Cancel { object: 0, why: "no time".to_owned() }).unwrap();
        receiving.refuse(0, "no room");
        assert_eq!((receiving.live(), receiving.take_messages()), (0, Vec::new()));
    }
}
