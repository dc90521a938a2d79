//! The sending end of a session: flows and objects, from the offer to the receiver's word that it is done.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::control::{Message, reason};
use crate::outbox::{Mode, Outbox};
use crate::time::Time;
use crate::wire::OBJECT_BITS;

/// How an object ended at the sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendEvent {
    /// The receiver has a place for the object: it is being sent.
    Accepted {
        /// The object.
        object: u32,
    },
    /// The digest of the object, which is of a reliable flow, is to be [told](Sending::digest): it is being sent, or all of it has been ahead of that.
    Digest {
        /// The object.
        object: u32,
    },
    /// The receiver is through with the object and has this much of it.
    Done {
        /// The object.
        object: u32,
        /// Bytes that arrived.
        arrived: u64,
    },
    /// The object failed.
    Failed {
        /// The object.
        object: u32,
        /// Why.
        why: String,
    },
}

/// A message that the sending end did not expect: the session ends.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the receiver spoke of object {0}, which was not offered")]
pub struct NotOffered(pub u32);

#[derive(Debug)]
struct FlowSums {
    mode: Mode,
    /// Bytes of all its objects.
    offered: u64,
    /// Bytes that have arrived of those that have ended.
    arrived: u64,
    /// Why the first of them failed, until somebody has asked.
    failure: Option<String>,
}

#[derive(Debug)]
struct Live {
    flow: u16,
    /// Bytes that have arrived, once it has settled: the receiver's word is waited for.
    settled: Option<u64>,
    /// Its digest was asked for.
    digested: bool,
}

/// The sending end.
#[derive(Debug, Default)]
pub struct Sending {
    /// What lanes draw from.
    pub outbox: Outbox,
    flows: Vec<FlowSums>,
    next_object: u32,
    /// Objects offered and not ended.
    live: BTreeMap<u32, Live>,
    messages: Vec<Message>,
    events: Vec<SendEvent>,
}

impl Sending {
    /// Opens a flow and returns its number; `None` if there are 65,536 already.
    pub fn open_flow(&mut self, name: &str, mode: Mode, weight: u32) -> Option<u16> {
        let flow = u16::try_from(self.flows.len()).ok()?;
        self.flows.push(FlowSums { mode, offered: 0, arrived: 0, failure: None });
        self.outbox.open_flow(flow, mode, weight);
        self.messages.push(Message::Flow { flow, name: name.to_owned(), mode, weight });
        Some(flow)
    }

    /// Offers an object and returns its number; `None` if the flow does not exist or the numbers are used up: all of them, or all that
    /// data can tell from that of the oldest object in progress.
    pub fn offer(&mut self, flow: u16, name: &str, length: u64, now: Time) -> Option<u32> {
        let sums = self.flows.get_mut(usize::from(flow))?;
        let object = self.next_object;
        if self.live.first_key_value().is_some_and(|(oldest, _)| object - oldest >= 1 << OBJECT_BITS) {
            return None;
        }
        self.next_object = self.next_object.checked_add(1)?;
        sums.offered += length;
        self.live.insert(object, Live { flow, settled: None, digested: false });
        self.outbox.offer(object, flow, length, now);
        self.messages.push(Message::Offer { object, flow, name: name.to_owned(), length });
        Some(object)
    }

    /// Objects of a flow that were offered and have not ended.
    pub fn live_of(&self, flow: u16) -> impl Iterator<Item = u32> + '_ {
        self.live.iter().filter(move |(_, live)| live.flow == flow).map(|(&object, _)| object)
    }

    /// Bytes of a flow that are known to have arrived, and bytes of all objects that were offered in it.
    #[must_use]
    pub fn progress(&self, flow: u16) -> (u64, u64) {
        let Some(sums) = self.flows.get(usize::from(flow)) else { return (0, 0) };
        let under_way = self.live_of(flow).filter_map(|object| self.arrived(object));
        (sums.arrived + under_way.sum::<u64>(), sums.offered)
    }

    /// Bytes of an object that are known to have arrived, until it has ended.
    #[must_use]
    pub fn arrived(&self, object: u32) -> Option<u64> {
        self.live.get(&object)?.settled.or_else(|| Some(self.outbox.progress(object)?.0))
    }

    /// Bytes of a flow that may still arrive: neither there nor given up. What the receiver has to say of them is not waited for.
    #[must_use]
    pub fn expected(&self, flow: u16) -> u64 {
        self.live_of(flow).map(|object| self.outbox.expected(object)).sum()
    }

    /// Why the first object of a flow failed since this was asked last, if one did.
    pub fn take_failure(&mut self, flow: u16) -> Option<String> {
        self.flows.get_mut(usize::from(flow))?.failure.take()
    }

    fn sums_of(&mut self, object: u32) -> Option<&mut FlowSums> {
        self.flows.get_mut(usize::from(self.live.get(&object)?.flow))
    }

    fn note_failure(&mut self, object: u32, why: &str) {
        if let Some(sums) = self.sums_of(object) {
            sums.failure.get_or_insert_with(|| why.to_owned());
        }
    }

    /// The session has ended: none of the objects that are under way will be delivered.
    pub fn fail_all(&mut self, why: &str) {
        for live in self.live.values() {
            if let Some(sums) = self.flows.get_mut(usize::from(live.flow)) {
                sums.failure.get_or_insert_with(|| why.to_owned());
            }
        }
    }

    fn mode(&self, object: u32) -> Option<Mode> {
        self.flows.get(usize::from(self.live.get(&object)?.flow)).map(|sums| sums.mode)
    }

    /// All of a reliable object has been read, and this is its digest, in hexadecimal.
    pub fn digest(&mut self, object: u32, digest: String) {
        if self.live.contains_key(&object) {
            self.messages.push(Message::Digest { object, digest });
        }
    }

    /// Takes an object back.
    pub fn cancel(&mut self, object: u32, why: &str) {
        if self.live.contains_key(&object) {
            self.note_failure(object, why);
            self.end(object);
            self.messages.push(Message::Cancel { object, why: reason(why) });
            self.events.push(SendEvent::Failed { object, why: why.to_owned() });
        }
    }

    /// Takes a message of the receiving end; others are passed over.
    ///
    /// # Errors
    /// If it speaks of an object that was never offered.
    pub fn on_message(&mut self, message: &Message) -> Result<(), NotOffered> {
        match message {
            Message::Accept { object } => self.accepted(*object),
            Message::Refuse { object, why } | Message::Done { object, fault: Some(why), .. } => self.fail(*object, why),
            Message::Done { object, arrived, fault: None } => self.done(*object, *arrived),
            _ => Ok(()),
        }
    }

    fn accepted(&mut self, object: u32) -> Result<(), NotOffered> {
        if self.is_live(object)? && self.outbox.open(object) {
            self.events.push(SendEvent::Accepted { object });
            self.want_digest(object);
            // All of it may have come before.
            self.on_settled();
        }
        Ok(())
    }

    /// Once: it reads all of the object.
    fn want_digest(&mut self, object: u32) {
        let is_reliable = self.mode(object) == Some(Mode::Reliable);
        let live = self.live.get_mut(&object).filter(|live| is_reliable && !live.digested);
        if let Some(live) = live {
            live.digested = true;
            self.events.push(SendEvent::Digest { object });
        }
    }

    fn done(&mut self, object: u32, arrived: u64) -> Result<(), NotOffered> {
        if self.is_live(object)? {
            if let Some(sums) = self.sums_of(object) {
                // The receiver may say what it likes.
                sums.arrived = sums.arrived.saturating_add(arrived).min(sums.offered);
            }
            self.end(object);
            self.events.push(SendEvent::Done { object, arrived });
        }
        Ok(())
    }

    /// Tells the receiver of objects that were sent, or have settled without being whole; to be called after reports, and when lanes rest.
    pub fn on_settled(&mut self) {
        for object in self.outbox.take_sent_ahead() {
            self.want_digest(object);
        }
        for object in self.outbox.take_sent() {
            if self.live.contains_key(&object) {
                self.messages.push(Message::Sent { object });
            }
        }
        for settled in self.outbox.take_settled() {
            if let Some(live) = self.live.get_mut(&settled.object) {
                live.settled = Some(settled.arrived);
            }
            if self.mode(settled.object).is_some_and(|mode| mode != Mode::Reliable) {
                self.messages.push(Message::Ended { object: settled.object, arrived: settled.arrived });
            }
        }
    }

    /// Messages to be sent to the other end, in order.
    pub fn take_messages(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.messages)
    }

    /// What happened since the last call.
    pub fn take_events(&mut self) -> Vec<SendEvent> {
        std::mem::take(&mut self.events)
    }

    /// Objects offered and not ended.
    #[must_use]
    pub fn live(&self) -> usize {
        self.live.len()
    }

    fn is_live(&self, object: u32) -> Result<bool, NotOffered> {
        if object >= self.next_object {
            return Err(NotOffered(object));
        }
        Ok(self.live.contains_key(&object))
    }

    fn fail(&mut self, object: u32, why: &str) -> Result<(), NotOffered> {
        if self.is_live(object)? {
            self.note_failure(object, why);
            self.end(object);
            self.events.push(SendEvent::Failed { object, why: why.to_owned() });
        }
        Ok(())
    }

    fn end(&mut self, object: u32) {
        self.live.remove(&object);
        self.outbox.cancel(object);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_that_is_accepted_again_and_again_begins_once() {
        let mut sending = Sending::default();
        let flow = sending.open_flow("flow", Mode::Reliable, 1).unwrap();
        for length in [1 << 40, 0] {
            let object = sending.offer(flow, "object", length, Time::ZERO).unwrap();
            (0..1000).for_each(|_| sending.on_message(&Message::Accept { object }).unwrap());
            assert_eq!(sending.take_events(), [SendEvent::Accepted { object }, SendEvent::Digest { object }]);
        }
    }

    #[test]
    fn no_more_arrives_than_was_offered_whatever_the_receiver_says() {
        let mut sending = Sending::default();
        let flow = sending.open_flow("flow", Mode::Reliable, 1).unwrap();
        for _ in 0..2 {
            let object = sending.offer(flow, "object", 7, Time::ZERO).unwrap();
            sending.on_message(&Message::Done { object, arrived: u64::MAX, fault: None }).unwrap();
        }
        assert_eq!(sending.progress(flow), (14, 14));
    }

    #[test]
    fn what_has_arrived_of_an_object_is_known_until_the_receiver_is_through_with_it() {
        let mut sending = Sending::default();
        let flow = sending.open_flow("flow", Mode::Reliable, 1).unwrap();
        let object = sending.offer(flow, "object", 7, Time::ZERO).unwrap();
        sending.on_message(&Message::Accept { object }).unwrap();
        let region = sending.outbox.next(Time::ZERO, 7).unwrap();
        assert_eq!(sending.progress(flow), (0, 7));
        sending.outbox.arrived(region);
        sending.on_settled();
        assert_eq!((sending.progress(flow), sending.arrived(object)), ((7, 7), Some(7)));
        sending.on_message(&Message::Done { object, arrived: 7, fault: None }).unwrap();
        assert_eq!((sending.progress(flow), sending.arrived(object)), ((7, 7), None));
    }

    #[test]
    fn an_object_that_has_all_come_before_it_is_accepted_is_known_to_have_when_it_is() {
        let mut sending = Sending::default();
        let flow = sending.open_flow("flow", Mode::Reliable, 1).unwrap();
        sending.outbox.presume(100);
        let object = sending.offer(flow, "object", 7, Time::ZERO).unwrap();
        let region = sending.outbox.next(Time::ZERO, 7).unwrap();
        sending.outbox.arrived(region);
        assert_eq!((sending.progress(flow), sending.arrived(object)), ((7, 7), Some(7)));
        sending.on_message(&Message::Accept { object }).unwrap();
        assert_eq!((sending.progress(flow), sending.arrived(object)), ((7, 7), Some(7)));
    }

    #[test]
    fn the_digest_of_what_was_sent_ahead_does_not_wait_for_the_receiver() {
        let mut sending = Sending::default();
        let flow = sending.open_flow("flow", Mode::Reliable, 1).unwrap();
        sending.outbox.presume(10);
        let [whole, cut] = [7, 7].map(|length| sending.offer(flow, "object", length, Time::ZERO).unwrap());
        while sending.outbox.next(Time::ZERO, 7).is_some() {}
        sending.on_settled();
        assert_eq!(sending.take_events(), [SendEvent::Digest { object: whole }]);
        for object in [whole, cut] {
            sending.on_message(&Message::Accept { object }).unwrap();
        }
        let [accepted, and_cut] = [whole, cut].map(|object| SendEvent::Accepted { object });
        assert_eq!(sending.take_events(), [accepted, and_cut, SendEvent::Digest { object: cut }]);
    }

    #[test]
    fn a_reason_that_no_message_has_room_for_is_cut() {
        let mut sending = Sending::default();
        let flow = sending.open_flow("flow", Mode::Reliable, 1).unwrap();
        let object = sending.offer(flow, "object", 7, Time::ZERO).unwrap();
        sending.cancel(object, &"\u{7}ä".repeat(100_000));
        let said = sending.take_messages().pop().unwrap().to_bytes();
        assert!(said.len() <= crate::control::MOST_MESSAGE && Message::from_bytes(&said).is_ok());
    }

    #[test]
    fn no_object_is_offered_that_data_could_not_tell_from_one_in_progress() {
        let mut sending = Sending::default();
        let flow = sending.open_flow("flow", Mode::Reliable, 1).unwrap();
        sending.next_object = 7;
        assert_eq!(sending.offer(flow, "old", 1, Time::ZERO), Some(7));
        sending.next_object = 6 + (1 << OBJECT_BITS);
        let newest = sending.offer(flow, "new", 1, Time::ZERO).unwrap();
        assert_eq!(sending.offer(flow, "too new", 1, Time::ZERO), None);
        sending.cancel(7, "in the way");
        assert_eq!(sending.offer(flow, "new", 1, Time::ZERO), Some(newest + 1));
    }
}
