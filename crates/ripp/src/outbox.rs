//! The sending side's objects: which region of which object goes next, and when an object is settled.
//!
//! Nothing of an object is kept but how far it got and what is to be sent again: lost bytes are read from their source anew.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::flight::Region;
use crate::spans::Spans;
use crate::time::Time;
use crate::wire::OBJECT_BITS;

/// What a flow promises of its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Every byte arrives, or an error says why.
    Reliable,
    /// Lost bytes are sent again until this long after the object was offered.
    Deadline(Duration),
    /// Lost bytes stay lost.
    Lossy,
}

/// An object of which every byte has arrived or been given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    /// The object.
    pub object: u32,
    /// Bytes that arrived.
    pub arrived: u64,
    /// Bytes given up.
    pub given_up: u64,
}

#[derive(Debug)]
struct ObjectOut {
    flow: u16,
    length: u64,
    /// First byte that was never sent.
    fresh: u64,
    repair: Spans,
    arrived: u64,
    given_up: u64,
    expires: Option<Time>,
    open: bool,
    /// It may be sent though it is not open.
    presumed: bool,
}

impl ObjectOut {
    fn is_late(&self, now: Time) -> bool {
        self.expires.is_some_and(|expires| now >= expires)
    }

    /// Bytes of it that were never sent may go, where `presumed` bytes may of objects that are not open.
    const fn may_go(&self, presumed: u64) -> bool {
        self.open || self.presumed && presumed > 0
    }

    fn give_up_rest(&mut self) {
        self.given_up += self.length - self.fresh + self.repair.covered();
        self.fresh = self.length;
        self.repair.clear();
    }

    fn settled(&self) -> bool {
        self.arrived + self.given_up == self.length
    }
}

#[derive(Debug)]
struct FlowOut {
    mode: Mode,
    weight: u128,
    /// Bytes served, divided by the weight.
    served: u128,
    /// Objects in the order they were offered.
    queue: VecDeque<u32>,
}

/// Objects to be sent, by flow.
#[derive(Debug, Default)]
pub struct Outbox {
    flows: BTreeMap<u16, FlowOut>,
    /// What the flow had been served that was served last: who had nothing to send until now is owed nothing from before.
    turn: u128,
    objects: HashMap<u32, ObjectOut>,
    /// Open objects with something to send again, oldest first.
    repairs: VecDeque<u32>,
    settled: Vec<Settled>,
    /// Objects of lossy flows of which the last byte has been handed out.
    sent: Vec<u32>,
    /// Objects that are not open, of which the last byte has been handed out.
    sent_ahead: Vec<u32>,
    /// Objects that are offered now are presumed to be accepted.
    presuming: bool,
    /// Bytes that may still be sent of objects that are not open, but presumed to be.
    presumed_left: u64,
}

/// More than any weight, so that each byte counts.
const WEIGHT_UNIT: u128 = 1 << u32::BITS;

impl Outbox {
    /// Opens a flow; among flows that have something to send, bytes are shared by weight (1 at least).
    pub fn open_flow(&mut self, flow: u16, mode: Mode, weight: u32) {
        let weight = u128::from(weight.max(1));
        self.flows.insert(flow, FlowOut { mode, weight, served: 0, queue: VecDeque::new() });
    }

    /// Adds an object of `length` bytes to a flow. Nothing of it is sent before [`Outbox::open`].
    pub fn offer(&mut self, object: u32, flow: u16, length: u64, now: Time) {
        let Some(home) = self.flows.get_mut(&flow) else { return };
        let expires = match home.mode {
            Mode::Deadline(limit) => Some(now.after(limit)),
            Mode::Reliable | Mode::Lossy => None,
        };
        home.queue.push_back(object);
        // Data of later ones could be taken for that of earlier ones before the offer has come.
        let presumed = self.presuming && home.mode == Mode::Reliable && object < 1 << OBJECT_BITS;
        let repair = Spans::default();
        self.objects.insert(
            object,
            ObjectOut { flow, length, fresh: 0, repair, arrived: 0, given_up: 0, expires, open: false, presumed },
        );
    }

    /// The receiver keeps `room` bytes in all of objects that it has not accepted when they come: those of reliable flows are sent as far as that goes, or until
    /// [`Outbox::presume_no_more`].
    pub fn presume(&mut self, room: u64) {
        (self.presuming, self.presumed_left) = (true, room);
        for found in self.objects.values_mut() {
            found.presumed = self.flows.get(&found.flow).is_some_and(|flow| flow.mode == Mode::Reliable);
        }
    }

    /// What is offered now may be sent before it is accepted.
    #[must_use]
    pub const fn is_presuming(&self) -> bool {
        self.presuming && self.presumed_left > 0
    }

    /// Objects that are not accepted yet wait for their receiver from here on.
    pub const fn presume_no_more(&mut self) {
        (self.presuming, self.presumed_left) = (false, 0);
    }

    /// The receiver is ready for the object; false if it was before.
    pub fn open(&mut self, object: u32) -> bool {
        let Some(found) = self.objects.get_mut(&object) else { return false };
        let was_open = std::mem::replace(&mut found.open, true);
        if !was_open && !found.repair.is_empty() {
            self.repairs.push_back(object);
        }
        if let Some(flow) = self.flows.get_mut(&found.flow) {
            flow.served = flow.served.max(self.turn);
        }
        self.settle_if_done(object);
        !was_open
    }

    /// Drops an object: nothing more of it is sent, and it never settles.
    pub fn cancel(&mut self, object: u32) {
        if let Some(found) = self.objects.remove(&object)
            && let Some(flow) = self.flows.get_mut(&found.flow)
        {
            flow.queue.retain(|&queued| queued != object);
        }
    }

    /// Objects that have settled since the last call.
    pub fn take_settled(&mut self) -> Vec<Settled> {
        std::mem::take(&mut self.settled)
    }

    /// Objects of lossy flows all of which has been sent since the last call.
    pub fn take_sent(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.sent)
    }

    /// Objects that the receiver has not accepted, all of which has been sent since the last call.
    pub fn take_sent_ahead(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.sent_ahead)
    }

    /// Something could be sent now.
    #[must_use]
    pub fn has_work(&self) -> bool {
        let may_go = |object: &u32| self.objects.get(object).is_some_and(|found| found.may_go(self.presumed_left));
        self.repairs.iter().any(|object| self.objects.contains_key(object))
            || self.flows.values().any(|flow| flow.queue.iter().any(may_go))
    }

    /// Entries that are kept of what is to be sent again.
    #[must_use]
    pub fn records(&self) -> usize {
        self.objects.values().map(|object| object.repair.count()).sum()
    }

    /// Objects that are not settled, open or not.
    #[must_use]
    pub fn unsettled(&self) -> usize {
        self.objects.len()
    }

    /// Bytes of an object that have arrived, and its length.
    #[must_use]
    pub fn progress(&self, object: u32) -> Option<(u64, u64)> {
        self.objects.get(&object).map(|found| (found.arrived, found.length))
    }

    /// Bytes of an object that may still arrive: not there, and not given up.
    #[must_use]
    pub fn expected(&self, object: u32) -> u64 {
        self.objects.get(&object).map_or(0, |found| found.length - found.arrived - found.given_up)
    }

    /// The next region to send, of at most `most` bytes: what was lost first, then the flow that is furthest behind its share.
    pub fn next(&mut self, now: Time, most: u64) -> Option<Region> {
        self.next_repair(now, most).or_else(|| self.next_fresh(now, most))
    }

    fn next_repair(&mut self, now: Time, most: u64) -> Option<Region> {
        while let Some(&object) = self.repairs.front() {
            if let Some(found) = self.objects.get_mut(&object) {
                if found.is_late(now) {
                    self.give_up(object);
                } else if let Some((start, end)) = found.repair.take(most) {
                    let region = Region { object, offset: start, length: end - start, resent: true };
                    if found.repair.is_empty() {
                        self.repairs.pop_front();
                    }
                    return Some(region);
                }
            }
            self.repairs.pop_front();
        }
        None
    }

    fn next_fresh(&mut self, now: Time, most: u64) -> Option<Region> {
        loop {
            let (objects, presumed) = (&self.objects, self.presumed_left);
            let first_open = |flow: &FlowOut| {
                flow.queue.iter().position(|object| objects.get(object).is_some_and(|found| found.may_go(presumed)))
            };
            let ready = self.flows.iter().filter_map(|(&id, flow)| Some((flow.served, id, first_open(flow)?)));
            let (served, flow_id, position) = ready.min()?;
            self.turn = served;
            let object = *self.flows.get(&flow_id)?.queue.get(position)?;
            let found = self.objects.get_mut(&object)?;
            let late = found.is_late(now);
            let mut length = most.min(found.length - found.fresh);
            if !found.open {
                length = length.min(presumed);
                self.presumed_left -= length;
            }
            let region = Region { object, offset: found.fresh, length, resent: false };
            found.fresh += length;
            let sent_all = found.fresh == found.length;
            if sent_all && !found.open {
                self.sent_ahead.push(object);
            }
            let flow = self.flows.get_mut(&flow_id)?;
            if late || sent_all {
                flow.queue.remove(position);
            }
            if sent_all && flow.mode == Mode::Lossy {
                self.sent.push(object);
            }
            if late {
                if let Some(found) = self.objects.get_mut(&object) {
                    found.fresh = region.offset;
                }
                self.give_up(object);
            } else if length > 0 {
                flow.served += u128::from(length) * WEIGHT_UNIT / flow.weight;
                return Some(region);
            }
        }
    }

    /// A region has arrived.
    pub fn arrived(&mut self, region: Region) {
        if let Some(found) = self.objects.get_mut(&region.object) {
            found.arrived += region.length;
            self.settle_if_done(region.object);
        }
    }

    /// A region was lost: it is sent again where the flow's mode asks for it.
    pub fn lost(&mut self, now: Time, region: Region) {
        let Some(found) = self.objects.get_mut(&region.object) else { return };
        let lossy = self.flows.get(&found.flow).is_some_and(|flow| flow.mode == Mode::Lossy);
        if lossy || found.is_late(now) {
            found.given_up += region.length;
            self.settle_if_done(region.object);
        } else {
            // Of one that is not accepted it waits until that is.
            if found.open && found.repair.is_empty() {
                self.repairs.push_back(region.object);
            }
            found.repair.insert(region.offset, region.offset + region.length, |_, _| {});
        }
    }

    fn give_up(&mut self, object: u32) {
        if let Some(found) = self.objects.get_mut(&object) {
            found.give_up_rest();
            self.settle_if_done(object);
        }
    }

    fn settle_if_done(&mut self, object: u32) {
        let Some(found) = self.objects.get(&object) else { return };
        if found.open && found.settled() {
            self.settled.push(Settled { object, arrived: found.arrived, given_up: found.given_up });
            self.cancel(object);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outbox(mode: Mode, lengths: &[u64]) -> Outbox {
        let mut outbox = Outbox::default();
        outbox.open_flow(0, mode, 1);
        for (object, &length) in lengths.iter().enumerate() {
            outbox.offer(object as u32, 0, length, Time::ZERO);
            outbox.open(object as u32);
        }
        outbox
    }

    #[test]
    fn lost_bytes_go_before_fresh_ones() {
        let mut outbox = outbox(Mode::Reliable, &[1000]);
        let first = outbox.next(Time::ZERO, 300).unwrap();
        outbox.lost(Time::ZERO, Region { offset: 100, length: 50, ..first });
        let again = outbox.next(Time::ZERO, 300).unwrap();
        assert_eq!((again.offset, again.length, again.resent), (100, 50, true));
        assert_eq!(outbox.next(Time::ZERO, 300).unwrap().offset, 300);
    }

    #[test]
    fn what_has_been_sent_again_is_no_work_any_more() {
        let mut outbox = outbox(Mode::Reliable, &[100]);
        for _ in 0..3 {
            let region = outbox.next(Time::ZERO, 1000).unwrap();
            assert!(!outbox.has_work() && outbox.repairs.is_empty());
            outbox.lost(Time::ZERO, region);
        }
    }

    #[test]
    fn an_object_settles_when_every_byte_has_arrived() {
        let mut outbox = outbox(Mode::Reliable, &[100, 0]);
        assert_eq!(outbox.take_settled(), [Settled { object: 1, arrived: 0, given_up: 0 }]);
        let region = outbox.next(Time::ZERO, 1000).unwrap();
        outbox.lost(Time::ZERO, region);
        assert!(outbox.take_settled().is_empty());
        let region = outbox.next(Time::ZERO, 1000).unwrap();
        outbox.arrived(region);
        assert_eq!(outbox.take_settled(), [Settled { object: 0, arrived: 100, given_up: 0 }]);
        assert!(!outbox.has_work() && outbox.unsettled() == 0);
    }

    #[test]
    fn late_and_lossy_objects_are_given_up() {
        let mut lossy = outbox(Mode::Lossy, &[100]);
        let region = lossy.next(Time::ZERO, 1000).unwrap();
        lossy.lost(Time::ZERO, Region { length: 60, ..region });
        assert_eq!(lossy.expected(0), 40);
        lossy.lost(Time::ZERO, Region { offset: 60, length: 40, ..region });
        assert_eq!(lossy.take_settled(), [Settled { object: 0, arrived: 0, given_up: 100 }]);
        assert_eq!(lossy.expected(0), 0);

        let mut late = outbox(Mode::Deadline(Duration::from_millis(5)), &[100, 80]);
        let region = late.next(Time::ZERO, 60).unwrap();
        late.arrived(Region { length: 10, ..region });
        late.lost(Time::ZERO, Region { offset: 10, length: 50, ..region });
        assert_eq!(late.next(Time::from_ns(5_000_000), 60), None);
        let settled =
            [Settled { object: 0, arrived: 10, given_up: 90 }, Settled { object: 1, arrived: 0, given_up: 80 }];
        assert_eq!(late.take_settled(), settled);
    }

    #[test]
    fn flows_share_by_weight() {
        let mut outbox = Outbox::default();
        for (flow, weight) in [(0, 1), (1, 3)] {
            outbox.open_flow(flow, Mode::Reliable, weight);
            outbox.offer(u32::from(flow), flow, 1_000_000, Time::ZERO);
            outbox.open(u32::from(flow));
        }
        let mut served = [0; 2];
        for _ in 0..400 {
            let region = outbox.next(Time::ZERO, 1000).unwrap();
            served[region.object as usize] += region.length;
        }
        assert_eq!(served, [100_000, 300_000]);
    }

    fn served(outbox: &mut Outbox, objects: [u32; 2]) -> [usize; 2] {
        let regions: Vec<_> = (0..400).map(|_| outbox.next(Time::ZERO, 1000).unwrap().object).collect();
        objects.map(|object| regions.iter().filter(|of| **of == object).count())
    }

    #[test]
    fn a_flow_gains_no_share_by_objects_that_it_opens() {
        let mut outbox = Outbox::default();
        (0..2).for_each(|flow| {
            outbox.open_flow(flow, Mode::Reliable, 1);
        });
        outbox.offer(0, 0, 1_000_000, Time::ZERO);
        outbox.open(0);
        let mut of_flow = [0; 2];
        for object in 1..=400 {
            // Small ones, each opened when the one before has gone.
            outbox.offer(object, 1, 1000, Time::ZERO);
            outbox.open(object);
            let region = outbox.next(Time::ZERO, 1000).unwrap();
            of_flow[usize::from(region.object > 0)] += region.length;
        }
        assert!(of_flow[0].abs_diff(of_flow[1]) <= 2000, "{of_flow:?}");
    }

    #[test]
    fn weights_are_kept_however_large_they_are() {
        let mut outbox = Outbox::default();
        for (flow, weight) in [(0, u32::MAX / 3), (1, u32::MAX)] {
            outbox.open_flow(flow, Mode::Reliable, weight);
            outbox.offer(u32::from(flow), flow, 1_000_000, Time::ZERO);
            outbox.open(u32::from(flow));
        }
        assert_eq!(served(&mut outbox, [0, 1]), [100, 300]);
    }

    #[test]
    fn a_flow_that_had_nothing_to_send_is_owed_nothing() {
        let mut outbox = outbox(Mode::Reliable, &[10_000_000]);
        outbox.open_flow(1, Mode::Reliable, 1);
        // On offer all the while, and not accepted.
        outbox.offer(1, 1, 10_000_000, Time::ZERO);
        assert_eq!(served(&mut outbox, [0, 1]), [400, 0]);
        outbox.open(1);
        assert_eq!(served(&mut outbox, [0, 1]), [200, 200]);
    }

    #[test]
    fn of_objects_that_are_presumed_to_be_accepted_no_more_goes_than_their_receiver_keeps() {
        let mut outbox = outbox(Mode::Reliable, &[]);
        outbox.open_flow(1, Mode::Lossy, 1);
        outbox.offer(0, 0, 100, Time::ZERO);
        outbox.offer(1, 1, 100, Time::ZERO);
        outbox.presume(130);
        outbox.offer(2, 0, 100, Time::ZERO);
        let mut next = || outbox.next(Time::ZERO, 80).map(|region| (region.object, region.offset, region.length));
        assert_eq!([next(), next(), next(), next()], [Some((0, 0, 80)), Some((0, 80, 20)), Some((2, 0, 30)), None]);
        assert!(!outbox.has_work());
        let region = |object, offset, length| Region { object, offset, length, resent: false };
        outbox.arrived(region(0, 0, 100));
        outbox.lost(Time::ZERO, region(2, 10, 20));
        assert!(outbox.take_settled().is_empty() && !outbox.has_work());
        assert_eq!(outbox.next(Time::ZERO, 80), None);
        assert!(outbox.open(0) && outbox.open(2));
        assert_eq!(outbox.take_settled(), [Settled { object: 0, arrived: 100, given_up: 0 }]);
        let mut rest = || outbox.next(Time::ZERO, 80).map(|region| (region.object, region.offset, region.length));
        assert_eq!([rest(), rest(), rest()], [Some((2, 10, 20)), Some((2, 30, 70)), None]);
    }

    /// Data says the lower bits of an object's number: before its offer has come an object could be taken for one of long ago.
    #[test]
    fn what_data_could_take_for_an_earlier_object_is_never_presumed() {
        let mut outbox = outbox(Mode::Reliable, &[]);
        outbox.presume(1000);
        outbox.offer(1 << OBJECT_BITS, 0, 100, Time::ZERO);
        assert_eq!(outbox.next(Time::ZERO, 80), None);
        outbox.offer((1 << OBJECT_BITS) - 1, 0, 100, Time::ZERO);
        assert!(outbox.next(Time::ZERO, 80).is_some());
    }

    #[test]
    fn once_nothing_is_presumed_any_more_what_is_not_accepted_waits() {
        let mut outbox = outbox(Mode::Reliable, &[]);
        outbox.presume(130);
        outbox.offer(0, 0, 100, Time::ZERO);
        assert!(outbox.next(Time::ZERO, 80).is_some());
        outbox.presume_no_more();
        outbox.offer(1, 0, 100, Time::ZERO);
        assert_eq!(outbox.next(Time::ZERO, 80), None);
        assert!(outbox.open(0));
        assert_eq!(outbox.next(Time::ZERO, 80).map(|region| (region.object, region.offset)), Some((0, 80)));
    }

    #[test]
    fn an_object_that_waits_for_its_receiver_does_not_hold_up_the_next() {
        let mut outbox = outbox(Mode::Reliable, &[]);
        outbox.offer(5, 0, 10, Time::ZERO);
        outbox.offer(6, 0, 10, Time::ZERO);
        outbox.open(6);
        assert_eq!(outbox.next(Time::ZERO, 10).unwrap().object, 6);
        assert_eq!(outbox.next(Time::ZERO, 10), None);
    }
}
