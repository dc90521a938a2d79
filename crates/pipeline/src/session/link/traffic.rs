//! What is under way over the connections of a session, and what an acknowledgement tells of it.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Content,
    /// To find out how long the way is.
    Probe,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    purpose: Purpose,
    /// Bytes of its connection, it included.
    end: u64,
    at: Instant,
    /// Bytes delivered by all connections before, and since when those have come that will be by then.
    delivered_before: u64,
    delivering_since: Instant,
    /// Bytes sent at once by all connections, up to this.
    at_once: u64,
}

#[derive(Debug, Default)]
struct Connection {
    sent: u64,
    delivered: u64,
    under_way: VecDeque<Sent>,
}

/// What the newest message tells that an acknowledgement covers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) purpose: Purpose,
    /// From its sending to now.
    pub(super) took: Duration,
    /// Bytes that all connections have delivered since it was sent, and the time within which they came.
    pub(super) bytes: u64,
    pub(super) within: Duration,
    /// Bytes that were sent at once with it.
    pub(super) at_once: u64,
}

/// What is acknowledged was never sent, or less of it than before.
#[derive(Debug)]
pub(super) struct Impossible;

/// The bytes of all connections.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    connections: Vec<Connection>,
    under_way: u64,
    delivered: u64,
    /// When something was sent last, and how much at that moment.
    sent_at: Option<(Instant, u64)>,
    heard_at: Option<Instant>,
    /// When something was sent last while nothing was on the way.
    flowing_since: Option<Instant>,
}

impl Traffic {
    /// Of so many connections.
    pub(super) fn of(connections: usize) -> Self {
        Self { connections: (0..connections).map(|_| Connection::default()).collect(), ..Self::default() }
    }

    /// A connection begins, in place of one before.
    pub(super) fn attach(&mut self, which: usize) {
        let before = std::mem::take(&mut self.connections[which]);
        self.under_way -= before.sent - before.delivered;
    }

    pub(super) fn under_way(&self) -> u64 {
        self.under_way
    }

    /// Whether all that was sent has arrived.
    pub(super) fn is_idle(&self) -> bool {
        self.under_way == 0
    }

    /// Whether anything has arrived.
    pub(super) fn has_delivered(&self) -> bool {
        self.delivered > 0
    }

    /// Bytes of a connection that are on the way.
    pub(super) fn under_way_over(&self, which: usize) -> u64 {
        self.connections[which].sent - self.connections[which].delivered
    }

    /// Whether there is nothing to be heard, and has been nothing for longer than `limit`.
    pub(super) fn has_paused(&self, limit: Duration, now: Instant) -> bool {
        self.is_idle() && self.heard_at.is_some_and(|at| now.duration_since(at) > limit)
    }

    /// When the oldest of what is on the way was sent.
    pub(super) fn oldest(&self) -> Option<Instant> {
        self.connections.iter().filter_map(|connection| connection.under_way.front()).map(|sent| sent.at).min()
    }

    /// Notes a message put on the way; those of the same `now` are sent at once.
    pub(super) fn on_sent(&mut self, which: usize, bytes: u64, purpose: Purpose, now: Instant) {
        if self.is_idle() {
            self.flowing_since = Some(now);
        }
        let at_once = bytes + self.sent_at.filter(|(at, _)| *at == now).map_or(0, |(_, bytes)| bytes);
        self.sent_at = Some((now, at_once));
        self.under_way += bytes;
        let connection = &mut self.connections[which];
        connection.sent += bytes;
        connection.under_way.push_back(Sent {
            purpose,
            end: connection.sent,
            at: now,
            delivered_before: self.delivered,
            delivering_since: self.heard_at.max(self.flowing_since).unwrap_or(now),
            at_once,
        });
    }

    /// Notes that `received` bytes have arrived since the connection opened. Nothing is told before all of a message has.
    pub(super) fn on_ack(&mut self, which: usize, received: u64, now: Instant) -> Result<Option<Arrival>, Impossible> {
        let connection = &mut self.connections[which];
        if received > connection.sent || received < connection.delivered {
            return Err(Impossible);
        }
        let mut newest = None;
        while connection.under_way.front().is_some_and(|sent| sent.end <= received) {
            newest = connection.under_way.pop_front();
        }
        let arrived = received - connection.delivered;
        connection.delivered = received;
        self.delivered += arrived;
        self.under_way -= arrived;
        self.heard_at = Some(now);
        Ok(newest.map(|sent| Arrival {
            purpose: sent.purpose,
            took: now.duration_since(sent.at),
            bytes: self.delivered - sent.delivered_before,
            within: now.duration_since(sent.delivering_since),
            at_once: sent.at_once,
        }))
    }
}
