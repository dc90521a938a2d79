//! One direction of the link as a pure model: packets go in with the time, packets come out when they are due.
//!
//! Owns no socket, no clock and no bytes: the caller passes `now` in nanoseconds and a token for each packet.
//! A packet meets, in this order: block, MTU hole, policer, queue (drop at its tail, CE mark at its head), serialisation,
//! loss, duplication, delay with jitter, reordering.
//! Invariant: what leaves in any interval never exceeds the rate times that interval plus one packet (duplicates excepted).

mod line;
mod loss;
mod policer;

use std::collections::VecDeque;

use fastrand::Rng;

use crate::settings::{Block, Settings};
use crate::stats::{Counters, Dropped};
use line::Line;
use loss::Loss;
use policer::Policer;

/// What the link looks at in a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Bytes of the IP packet.
    pub length: u32,
    /// Whether a router may mark it instead of dropping it.
    pub ecn_capable: bool,
    /// What it carries.
    pub protocol: Protocol,
    /// Ports from which and to which it goes, where it carries UDP.
    pub ports: [u16; 2],
}

/// What a packet carries, as far as the link can block it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// Anything else.
    Other,
}

/// What became of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<T> {
    /// It arrives; it was due at `due`.
    Arrived {
        /// The packet.
        packet: T,
        /// Nanoseconds.
        due: u64,
        /// The link marked it Congestion Experienced.
        marked: bool,
    },
    /// It is gone.
    Dropped(T),
    /// There is one more of it: it will arrive twice.
    Copied(T),
}

#[derive(Debug)]
struct Waiting<T> {
    packet: T,
    facts: Facts,
    came: u64,
}

/// One direction of the link.
#[derive(Debug)]
pub struct Link<T> {
    settings: Settings,
    to_right: bool,
    random: Rng,
    loss: Loss,
    policer: Option<Policer>,
    queue: VecDeque<Waiting<T>>,
    queue_bytes: u64,
    queue_limit: u64,
    /// When the packet at the queue's head starts to be sent, and the part of a nanosecond beyond, in units of 1 / rate.
    head_starts: u64,
    remainder: u64,
    line: Line<T>,
    counters: Counters,
}

impl<T: Copy> Link<T> {
    /// An idle link.
    #[must_use]
    pub fn new(settings: &Settings, to_right: bool, seed: u64) -> Self {
        let mut link = Self {
            settings: settings.clone(),
            to_right,
            random: Rng::with_seed(seed),
            loss: Loss::new(0.0, 1.0),
            policer: None,
            queue: VecDeque::new(),
            queue_bytes: 0,
            queue_limit: 0,
            head_starts: 0,
            remainder: 0,
            line: Line::default(),
            counters: Counters::default(),
        };
        link.start(settings, 0, true);
        link
    }

    /// Changes the settings from `now` on: what waits is sent at the new rate, what is on the way keeps its delay.
    pub fn change(&mut self, settings: &Settings, now: u64, on: &mut impl FnMut(Event<T>)) {
        self.drain(now, on);
        self.start(settings, now, false);
    }

    fn start(&mut self, settings: &Settings, now: u64, fresh: bool) {
        let old = self.direction().clone();
        self.settings = settings.clone();
        let new = self.direction().clone();
        self.queue_limit = settings.queue_bytes(&new);
        if fresh || (old.loss, old.burst) != (new.loss, new.burst) {
            self.loss = Loss::new(new.loss.0, new.burst);
        }
        if fresh || old.policer != new.policer {
            self.policer = new.policer.map(|policer| Policer::new(policer, now));
        }
        self.remainder = 0;
    }

    fn direction(&self) -> &crate::settings::Direction {
        if self.to_right { &self.settings.to_right } else { &self.settings.to_left }
    }

    /// Takes a packet that came at `now`, or gives it back if it is dropped at once.
    pub fn offer(&mut self, now: u64, facts: Facts, packet: T, on: &mut impl FnMut(Event<T>)) {
        self.drain(now, on);
        self.counters.came(facts.length);
        if let Some(cause) = self.refuses(now, facts) {
            self.counters.dropped.count(cause);
            on(Event::Dropped(packet));
            return;
        }
        if self.queue.is_empty() && self.head_starts < now {
            (self.head_starts, self.remainder) = (now, 0);
        }
        self.queue.push_back(Waiting { packet, facts, came: now });
        self.queue_bytes += u64::from(facts.length);
        self.counters.queue_max_bytes = self.counters.queue_max_bytes.max(self.queue_bytes);
    }

    fn refuses(&mut self, now: u64, facts: Facts) -> Option<Dropped> {
        let direction = if self.to_right { &self.settings.to_right } else { &self.settings.to_left };
        let blocked = match direction.block {
            Block::None => false,
            Block::Udp => facts.protocol == Protocol::Udp,
            Block::Port(port) => facts.protocol == Protocol::Udp && facts.ports.contains(&port),
            Block::Tcp => facts.protocol == Protocol::Tcp,
            Block::All => true,
        };
        if blocked {
            return Some(Dropped::Blocked);
        }
        if direction.mtu_hole.is_some_and(|most| u64::from(facts.length) > most.0) {
            return Some(Dropped::MtuHole);
        }
        if self.policer.as_mut().is_some_and(|policer| !policer.admits(now, facts.length)) {
            return Some(Dropped::Policer);
        }
        // An idle link takes one packet, however small its queue.
        let fits = self.queue.is_empty() || self.queue_bytes + u64::from(facts.length) <= self.queue_limit;
        (!fits).then_some(Dropped::Queue)
    }

    /// Brings everything up to `now`, and hands out what is due.
    pub fn advance(&mut self, now: u64, on: &mut impl FnMut(Event<T>)) {
        self.drain(now, on);
        while let Some((packet, facts, marked, due)) = self.line.pop(now) {
            self.counters.went(facts.length);
            on(Event::Arrived { packet, due, marked });
        }
    }

    /// When the next packet is due, if one is on the way.
    #[must_use]
    pub fn next_due(&self) -> Option<u64> {
        let from_queue = self.queue.front().map(|head| {
            let (sent, _) = self.sent_at(head.facts.length);
            sent + nanoseconds(self.direction().delay)
        });
        [self.line.next_due(), from_queue].into_iter().flatten().min()
    }

    /// What was counted since the link came up or was asked last with `reset`.
    pub fn counters(&self) -> Counters {
        Counters { in_flight: self.queue.len() as u64 + self.line.len() as u64, ..self.counters.clone() }
    }

    /// Counts from zero.
    pub fn reset(&mut self) {
        self.counters = Counters::default();
    }

    /// Counts a packet that was dropped before it reached the link.
    pub fn count_drop(&mut self, length: u32, cause: Dropped) {
        self.counters.came(length);
        self.counters.dropped.count(cause);
    }

    /// When the head of the queue has been sent, with the remainder that the next one starts from.
    fn sent_at(&self, length: u32) -> (u64, u64) {
        let rate = self.direction().rate.0;
        let work = u128::from(length) * 8 * 1_000_000_000 + u128::from(self.remainder);
        (self.head_starts + (work / u128::from(rate)) as u64, (work % u128::from(rate)) as u64)
    }

    fn drain(&mut self, now: u64, on: &mut impl FnMut(Event<T>)) {
        while let Some(head) = self.queue.front() {
            let (sent, remainder) = self.sent_at(head.facts.length);
            if sent > now {
                return;
            }
            let waited = self.head_starts.saturating_sub(head.came);
            (self.head_starts, self.remainder) = (sent, remainder);
            if let Some(head) = self.queue.pop_front() {
                self.queue_bytes -= u64::from(head.facts.length);
                self.carry(&head, sent, waited, on);
            }
        }
    }

    /// Puts a packet that has left the queue on the wire.
    fn carry(&mut self, head: &Waiting<T>, sent: u64, waited: u64, on: &mut impl FnMut(Event<T>)) {
        let direction = if self.to_right { &self.settings.to_right } else { &self.settings.to_left };
        self.counters.queue_max_us = self.counters.queue_max_us.max(waited / 1000);
        let marked = head.facts.ecn_capable && direction.ce_above.is_some_and(|most| waited > nanoseconds(most));
        self.counters.ce_marked += u64::from(marked);
        if self.loss.next(&mut self.random) {
            self.counters.dropped.count(Dropped::Loss);
            on(Event::Dropped(head.packet));
            return;
        }
        let mut due = sent + nanoseconds(direction.delay);
        if !direction.jitter.is_zero() {
            due = self.line.in_order(due + self.random.u64(0..=nanoseconds(direction.jitter)));
        }
        if direction.duplicate.0 > 0.0 && self.random.f64() < direction.duplicate.0 {
            self.counters.duplicated += 1;
            on(Event::Copied(head.packet));
            self.line.push(due, head.packet, head.facts, marked);
        }
        if direction.reorder.0 > 0.0 && self.random.f64() < direction.reorder.0 {
            self.counters.reordered += 1;
            self.line.push_late(due + nanoseconds(direction.reorder_by), head.packet, head.facts, marked);
        } else {
            self.line.push(due, head.packet, head.facts, marked);
        }
    }
}

fn nanoseconds(time: std::time::Duration) -> u64 {
    time.as_nanos() as u64
}

#[cfg(test)]
mod tests;
