//! One direction of a path: a rate with a queue before it, a delay, and what may befall a datagram.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use fastrand::Rng;

use crate::draw::chance;

/// Bytes of IPv4 and UDP headers.
pub const HEADERS: u16 = 28;

/// What one direction of a path does.
#[derive(Clone, Debug, Default)]
pub struct PathPlan {
    /// Bits of IP packets per second, from a moment on (nanoseconds); ascending, the first at 0.
    pub rates: Vec<(u64, u64)>,
    /// Propagation, in nanoseconds.
    pub delay: u64,
    /// Bytes that may wait; what does not fit is dropped.
    pub queue: u64,
    /// Share of datagrams lost at random.
    pub loss: f64,
    /// Bad times (Gilbert 1960, Elliott 1963).
    pub bursts: Option<Bursts>,
    /// Share of datagrams that are late, and by how many nanoseconds at most.
    pub reorder: (f64, u64),
    /// Share of datagrams that come twice.
    pub duplicate: f64,
    /// Share of datagrams that come damaged.
    pub corrupt: f64,
    /// Times of more delay: from, to, by how much.
    pub spikes: Vec<(u64, u64, u64)>,
    /// Times at which nothing gets through.
    pub blackouts: Vec<(u64, u64)>,
    /// Bytes in the queue above which a datagram is marked congestion-experienced instead of waiting unnoticed.
    pub mark: Option<u64>,
    /// UDP payloads longer than this vanish.
    pub hole: Option<usize>,
    /// Others that send over the same link.
    pub others: Option<Others>,
}

/// Others who keep so much under way, whatever happens: a packet leaves when one has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Others {
    /// When they begin.
    pub from: u64,
    /// Their packets under way, each of 1500 bytes.
    pub packets: usize,
    /// Their round trip without a queue.
    pub rtt: u64,
}

/// A two-state channel: chance to fall into the bad state and to leave it, by datagram, and the loss while in it.
#[derive(Clone, Copy, Debug)]
pub struct Bursts {
    /// Chance to turn bad.
    pub enter: f64,
    /// Chance to turn good again.
    pub leave: f64,
    /// Loss while bad.
    pub loss: f64,
}

/// A copy of a datagram that comes out of the path.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When.
    pub at: u64,
    /// It was damaged on the way.
    pub damaged: bool,
    /// It was marked congestion-experienced.
    pub marked: bool,
}

/// What a path did to datagrams so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct PathCounts {
    /// Bytes of IP packets that came out.
    pub carried: u64,
    /// Datagrams that were marked and not lost.
    pub marked: u64,
    /// Datagrams that the queue had no room for.
    pub overflowed: u64,
    /// Nanoseconds that datagrams waited in the queue, in all, and how many those were.
    pub waited: (u64, u64),
}

/// One direction of a path.
#[derive(Debug)]
pub struct Path {
    plan: PathPlan,
    rng: Rng,
    bad: bool,
    /// When the link is through with each datagram in the queue, and its bytes.
    queue: VecDeque<(u64, u64)>,
    queued: u64,
    last_arrival: u64,
    /// When others' packets leave.
    others: BinaryHeap<Reverse<u64>>,
    counts: PathCounts,
}

impl Path {
    /// A path that follows a plan.
    #[must_use]
    pub fn new(plan: PathPlan, rng: Rng) -> Self {
        let others = plan.others.iter().flat_map(|others| vec![Reverse(others.from); others.packets]).collect();
        Self {
            plan,
            others,
            rng,
            bad: false,
            queue: VecDeque::new(),
            queued: 0,
            last_arrival: 0,
            counts: PathCounts::default(),
        }
    }

    /// What it follows.
    #[must_use]
    pub fn plan(&self) -> &PathPlan {
        &self.plan
    }

    /// What it did so far.
    #[must_use]
    pub const fn counts(&self) -> PathCounts {
        self.counts
    }

    /// When a stream's bytes written at `now` arrive: streams repeat what is lost, so that they only wait.
    #[must_use]
    pub fn stream_arrival(&self, now: u64) -> u64 {
        let blackout = self.plan.blackouts.iter().find(|&&(from, to)| (from..to).contains(&now));
        blackout.map_or(now, |&(_, to)| to) + self.plan.delay + self.extra_delay(now)
    }

    /// Sends a UDP payload of `length` bytes; calls `arrive` for each copy that gets through.
    pub fn send(&mut self, now: u64, length: usize, mut arrive: impl FnMut(Arrival)) {
        self.pass_others(now);
        let Some((start, through)) = self.pass_link(now, length as u64 + u64::from(HEADERS)) else {
            self.counts.overflowed += 1;
            return;
        };
        self.counts.waited.0 += start - now;
        self.counts.waited.1 += 1;
        let marked = self.plan.mark.is_some_and(|mark| self.queued > mark);
        if self.is_lost(now, length) {
            return;
        }
        let copies = 1 + usize::from(chance(&mut self.rng, self.plan.duplicate));
        for _ in 0..copies {
            let mut at = (through + self.plan.delay + self.extra_delay(now)).max(self.last_arrival);
            if chance(&mut self.rng, self.plan.reorder.0) {
                at += self.rng.u64(0..=self.plan.reorder.1);
            } else {
                self.last_arrival = at;
            }
            arrive(Arrival { at, damaged: chance(&mut self.rng, self.plan.corrupt), marked });
        }
        self.counts.marked += u64::from(marked);
        self.counts.carried += length as u64 + u64::from(HEADERS);
    }

    /// Sends what others have sent until now.
    fn pass_others(&mut self, now: u64) {
        let Some(Others { rtt, .. }) = self.plan.others else { return };
        while let Some(&Reverse(at)) = self.others.peek()
            && at <= now
        {
            self.others.pop();
            let through = self.pass_link(at, 1500).map_or(at, |(_, through)| through);
            self.others.push(Reverse(through + rtt));
        }
    }

    /// When the first bit enters the link and the last has left it; none if the queue is full.
    fn pass_link(&mut self, now: u64, bytes: u64) -> Option<(u64, u64)> {
        while let Some(&(through, gone)) = self.queue.front()
            && through <= now
        {
            self.queue.pop_front();
            self.queued -= gone;
        }
        // One datagram is always being sent; it is the others that wait.
        if !self.queue.is_empty() && self.queued + bytes > self.plan.queue.max(bytes) {
            return None;
        }
        let start = self.queue.back().map_or(now, |&(through, _)| through.max(now));
        let through = start + bytes * 8 * 1_000_000_000 / self.rate(now);
        self.queue.push_back((through, bytes));
        self.queued += bytes;
        Some((start, through))
    }

    /// Bits of IP packets per second at a moment.
    #[must_use]
    pub fn rate(&self, now: u64) -> u64 {
        self.plan.rates.iter().rev().find(|&&(from, _)| from <= now).map_or(1_000_000_000, |&(_, rate)| rate)
    }

    fn extra_delay(&self, now: u64) -> u64 {
        self.plan.spikes.iter().filter(|&&(from, to, _)| (from..to).contains(&now)).map(|&(_, _, by)| by).sum()
    }

    fn is_lost(&mut self, now: u64, length: usize) -> bool {
        if let Some(bursts) = self.plan.bursts {
            let turn = if self.bad { bursts.leave } else { bursts.enter };
            self.bad ^= chance(&mut self.rng, turn);
            if self.bad && chance(&mut self.rng, bursts.loss) {
                return true;
            }
        }
        chance(&mut self.rng, self.plan.loss)
            || self.plan.hole.is_some_and(|hole| length > hole)
            || self.plan.blackouts.iter().any(|&(from, to)| (from..to).contains(&now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_carries_its_rate_and_drops_what_its_queue_cannot_hold() {
        let plan = PathPlan { rates: vec![(0, 8_000_000)], queue: 10_000, delay: 5_000_000, ..PathPlan::default() };
        let mut path = Path::new(plan, Rng::with_seed(1));
        let mut arrivals = Vec::new();
        for _ in 0..20 {
            path.send(0, 972, |arrival| arrivals.push(arrival.at));
        }
        let expected: Vec<u64> = (1..=10).map(|count| count * 1_000_000 + 5_000_000).collect();
        assert_eq!(arrivals, expected);
        assert_eq!(path.counts().overflowed, 10);
    }
}
