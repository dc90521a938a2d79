//! What one round trip showed: the signals a controller decides on, gathered from reports.

use std::time::Duration;

use crate::time::{Time, wire_difference_us};
use crate::wire::Report;

/// A round lasts at least this long, shorter at the beginning: short ones say more of schedulers than of paths.
const LEAST_ROUND: Duration = Duration::from_millis(12);
const LEAST_FIRST_ROUND: Duration = Duration::from_millis(3);
/// And takes at least this many datagrams, or so many round trips: fewer say nothing of a rate.
const LEAST_DATAGRAMS: u64 = 24;
const LONGEST_ROUND: u32 = 4;
const LONGEST: Duration = Duration::from_millis(400);
/// On a slow path it takes the time of so many at least.
const LEAST_OF_SLOW: u64 = 6;
/// Standing delay above which a queue counts as one: a share of the round trip, but never less than schedulers make up, or than one packet takes.
const QUEUE_OF_ROUND_TRIP: f64 = 0.1;
const QUEUE_S: std::ops::Range<f64> = 0.004..0.015;
/// Delay below which a path is taken to have no queue at all: so much, or what a packet as small as reports takes on a slow path, as a share of a full one.
const QUIET_S: f64 = 0.0005;
const QUIET_OF_PACKET: f64 = 0.1;
/// The least one-way delay is that of this long at most, lest a route's change be taken for a queue for ever.
const BASE_MEMORY: Duration = Duration::from_secs(10);

/// Share of the time between two reports, of 255, above which the receiver counts as behind all the while: less is the time in which it gathers.
const BEHIND: u8 = 200;
/// Reports are asked for every 10 ms at the most; one after so long was kept from being made.
const STALLED_US: u32 = 50_000;

/// What one round trip showed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Round {
    /// How long it lasted.
    pub seconds: f64,
    /// Least round-trip time known.
    pub least_rtt_s: f64,
    /// Its own least round-trip time; 0 if none was measured.
    pub rtt_s: f64,
    /// Rate at which its datagrams were to be sent, in bits per second.
    pub paced_bps: f64,
    /// Rate at which they were sent.
    pub sent_bps: f64,
    /// Rate at which they arrived, by the receiver's clock.
    pub delivered_bps: f64,
    /// Least delay above the least known, in seconds: the queue that stood through the round.
    pub queue_s: f64,
    /// That of its last report.
    pub last_queue_s: f64,
    /// Share of its datagrams that were lost.
    pub loss: f64,
    /// Share that was marked congestion-experienced.
    pub marked: f64,
    /// Datagrams dropped by the receiver's kernel.
    pub kernel_drops: u32,
    /// Time in which datagrams waited for the receiver all the while, in seconds of its clock.
    pub behind_s: f64,
    /// That part of it in which the receiver did not even report.
    pub stalled_s: f64,
    /// Mean of the least delays of its reports above the least known, in seconds.
    pub mean_queue_s: f64,
    /// It was to be sent at the rate asked for, or at the receiver's limit.
    pub capped: bool,
    /// There was not enough to send.
    pub source_limited: bool,
    /// Bits of its largest IP packets.
    pub packet_bits: f64,
    /// Rate at which datagrams have arrived since the first report of all: what the path carries at least.
    pub mean_bps: f64,
}

impl Round {
    /// Standing delay above which a queue counts as one, in seconds.
    #[must_use]
    pub fn queue_threshold_s(&self) -> f64 {
        (self.least_rtt_s * QUEUE_OF_ROUND_TRIP).clamp(QUEUE_S.start, QUEUE_S.end).max(self.packet_s())
    }

    /// Delay below which there is no queue at all, in seconds.
    #[must_use]
    pub fn quiet_s(&self) -> f64 {
        QUIET_S.max(QUIET_OF_PACKET * self.packet_s())
    }

    /// Time from one packet to the next.
    fn packet_s(&self) -> f64 {
        if self.paced_bps > 0.0 { self.packet_bits / self.paced_bps } else { 0.0 }
    }
}

/// What the sending half of a lane knows when a report comes.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Least round-trip time.
    pub least_rtt: Duration,
    /// Next packet number.
    pub next_number: u64,
    /// The present rate.
    pub paced_bps: u64,
    /// It is the rate asked for, or the receiver's limit.
    pub capped: bool,
    /// Bytes of IP packets sent in all.
    pub sent_bytes: u64,
    /// Datagrams of data that were lost and that arrived, in all.
    pub lost: u64,
    /// See `lost`.
    pub arrived: u64,
    /// Times the source had nothing to send, in all.
    pub starved: u64,
    /// It has nothing to send now.
    pub starving: bool,
    /// The rate is still being looked for.
    pub starting: bool,
    /// Bytes of its largest IP packets.
    pub packet_bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    at: Time,
    /// The round ends when this packet number is reported.
    number: u64,
    seen: Seen,
    receiver_us: u32,
    bytes: u64,
    marked: u32,
    kernel_drops: u32,
}

impl Mark {
    fn is_full(&self, now: &Self) -> bool {
        let datagrams = now.seen.arrived + now.seen.lost - self.seen.arrived - self.seen.lost;
        let of_slow = self.seen.packet_bytes as f64 * 8.0 / self.seen.paced_bps.max(1) as f64 * LEAST_OF_SLOW as f64;
        let longest = (now.seen.least_rtt * LONGEST_ROUND).max(LONGEST).max(Duration::from_secs_f64(of_slow));
        datagrams >= LEAST_DATAGRAMS || now.at.since(self.at) >= longest
    }
}

/// Cuts the reports of a lane into rounds.
#[derive(Debug, Default)]
pub struct RoundMeter {
    start: Option<Mark>,
    /// When the first report came, and the receiver's bytes then.
    first: Option<(Time, u64)>,
    /// How the round before was sent: its datagrams are those that arrive in this one.
    sent: (f64, f64, bool, bool),
    base: Option<Base>,
    queue_us: Option<u32>,
    last_queue_us: u32,
    behind_us: u32,
    stalled_us: u32,
    /// Sum of the queueing delays of reports, and their number.
    queue_sum_us: (u64, u32),
}

/// Least `arrival - send time`, in two halves of the memory.
#[derive(Clone, Copy, Debug)]
struct Base {
    now: u32,
    before: u32,
    since: Time,
}

impl Base {
    fn least(&self) -> u32 {
        earlier(self.now, self.before)
    }

    fn note(&mut self, now: Time, delay: u32) {
        if now.since(self.since) > BASE_MEMORY / 2 {
            *self = Self { now: delay, before: self.now, since: now };
        }
        self.now = earlier(self.now, delay);
    }
}

fn earlier(a: u32, b: u32) -> u32 {
    if wire_difference_us(a, b) < 0 { a } else { b }
}

impl RoundMeter {
    /// Queueing delay of the last report, in seconds.
    #[must_use]
    pub fn last_queue_s(&self) -> f64 {
        f64::from(self.last_queue_us) * 1e-6
    }

    /// The route is another: what was the least delay is so no longer.
    pub(crate) const fn forget_base(&mut self) {
        self.base = None;
    }

    /// The next round is the first: what is under way was sent otherwise.
    pub(crate) fn begin_again(&mut self) {
        *self = Self { base: self.base, last_queue_us: self.last_queue_us, ..Self::default() };
    }

    /// The rate from here on, that of the round that has just begun, and whether it is the rate asked for or the receiver's limit.
    pub fn set_pace(&mut self, paced_bps: u64, capped: bool) {
        if let Some(start) = &mut self.start {
            start.seen.paced_bps = paced_bps;
            start.seen.capped = capped;
        }
    }

    /// Takes a report; gives the round that it ends, if it ends one.
    pub fn on_report(&mut self, now: Time, report: &Report, seen: Seen) -> Option<Round> {
        self.note_delay(now, report);
        let mark = Mark {
            at: now,
            number: seen.next_number,
            seen,
            receiver_us: report.now_us,
            bytes: report.bytes,
            marked: report.marked,
            kernel_drops: report.kernel_drops,
        };
        self.first.get_or_insert((now, mark.bytes));
        let Some(start) = self.start else {
            self.start = Some(mark);
            return None;
        };
        if start.seen.starving && !seen.starving {
            // A round begins when there is something to send.
            self.start = Some(mark);
            return None;
        }
        let least = if seen.starting { LEAST_FIRST_ROUND } else { LEAST_ROUND };
        if report.highest < start.number || now.since(start.at) < least || !start.is_full(&mark) {
            return None;
        }
        self.start = Some(mark);
        self.finish(&start, &mark)
    }

    fn note_delay(&mut self, now: Time, report: &Report) {
        self.note_wait(report);
        if (report.delay_least_us, report.delay_most_us) == (0, 0) {
            return;
        }
        let delay = report.delay_least_us;
        let base = self.base.get_or_insert(Base { now: delay, before: delay, since: now });
        base.note(now, delay);
        let queue = wire_difference_us(delay, base.least()).max(0).cast_unsigned();
        self.last_queue_us = queue;
        self.queue_sum_us = (self.queue_sum_us.0 + u64::from(queue), self.queue_sum_us.1 + 1);
        self.queue_us = Some(self.queue_us.map_or(queue, |least| least.min(queue)));
    }

    fn note_wait(&mut self, report: &Report) {
        if report.busy < BEHIND {
            return;
        }
        let waited_us = (u64::from(report.interval_us) * u64::from(report.busy) / 255) as u32;
        self.behind_us = self.behind_us.saturating_add(waited_us);
        if report.interval_us >= STALLED_US {
            self.stalled_us = self.stalled_us.saturating_add(waited_us);
        }
    }

    fn finish(&mut self, start: &Mark, end: &Mark) -> Option<Round> {
        let receiver_s = f64::from(wire_difference_us(end.receiver_us, start.receiver_us)) * 1e-6;
        let seconds = end.at.since(start.at).as_secs_f64();
        if receiver_s <= 0.0 {
            return None;
        }
        let bits = |bytes: u64| bytes as f64 * 8.0;
        let came = |before: u64| bits(end.bytes.wrapping_sub(before) & crate::wire::MOST_OFFSET);
        let mean_bps = self.first.map_or(0.0, |(at, before)| came(before) / end.at.since(at).as_secs_f64());
        let lost = end.seen.lost - start.seen.lost;
        let settled = (lost + end.seen.arrived - start.seen.arrived).max(1) as f64;
        let sent_bps = bits(end.seen.sent_bytes - start.seen.sent_bytes) / seconds;
        let starved = end.seen.starved > start.seen.starved || end.seen.starving;
        let sent = (start.seen.paced_bps as f64, sent_bps, starved, start.seen.capped);
        let (paced_bps, sent_bps, source_limited, capped) = std::mem::replace(&mut self.sent, sent);
        let (queue_sum, queues) = std::mem::take(&mut self.queue_sum_us);
        let round = Round {
            seconds,
            least_rtt_s: end.seen.least_rtt.as_secs_f64(),
            rtt_s: 0.0,
            paced_bps,
            sent_bps,
            delivered_bps: came(start.bytes) / receiver_s,
            queue_s: f64::from(self.queue_us.take().unwrap_or(self.last_queue_us)) * 1e-6,
            last_queue_s: self.last_queue_s(),
            loss: lost as f64 / settled,
            marked: f64::from(end.marked.wrapping_sub(start.marked)) / settled,
            kernel_drops: end.kernel_drops.wrapping_sub(start.kernel_drops),
            behind_s: f64::from(std::mem::take(&mut self.behind_us)) * 1e-6,
            stalled_s: f64::from(std::mem::take(&mut self.stalled_us)) * 1e-6,
            mean_queue_s: queue_sum as f64 / f64::from(queues.max(1)) * 1e-6,
            capped,
            source_limited,
            packet_bits: bits(end.seen.packet_bytes),
            mean_bps,
        };
        (paced_bps > 0.0).then_some(round)
    }
}
