//! The sending half of a lane: decides when the next datagrams leave and what they carry, within rate, credit and window.

mod burst;
mod counts;
mod credit;
mod rtt;
#[cfg(test)]
mod tests;
mod train;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub use burst::{Burst, Sizes};
pub use counts::SentCounts;
pub use rtt::RoundTrip;

use crate::flight::Flight;
use crate::memory::Limits;
use crate::outbox::Outbox;
use crate::pacer::Pacer;
use crate::rate::{Causes, Controller, Evidence, Round, RoundMeter, Seen};
use crate::time::{Time, wire_difference_us};
use crate::window::WINDOW;
use crate::wire::{CLEAR_HEADER, Ping, Pong, Report, TAG};
use credit::CreditLine;
use train::{TRAIN, Train};

/// The time of the rate that a burst may hold: every burst costs the sender a wake-up, and a queue has to bear it.
const BURST: Duration = Duration::from_micros(500);
/// Full bursts are due more often than this at high rates; then several leave at a time.
const LEAST_PAUSE: Duration = Duration::from_micros(200);
/// Of a rate, what is so near to it that a greater one would not be told from it.
const HARDLY_MORE: f64 = 1.03;
const PING_EVERY: std::ops::Range<Duration> = Duration::from_millis(5)..Duration::from_millis(100);
const IDLE_PING_EVERY: Duration = Duration::from_millis(200);
/// Pings take no more of a slow rate than this share, unless they are as rare as idle ones.
const MOST_OF_RATE: f64 = 0.05;
/// Bytes of a ping, without the headers below it.
const PING: usize = CLEAR_HEADER + Ping::LEAST + TAG;

/// What a lane does next.
#[derive(Debug, PartialEq, Eq)]
pub enum Turn {
    /// The burst has been filled and is to be sent now.
    Burst,
    /// This ping is to be sent now, under this packet number.
    Ping(u64, Ping),
    /// Nothing before this time, unless a report or new work comes.
    Wait(Time),
}

/// The sending half of a lane.
#[derive(Debug)]
pub struct LaneOut {
    numbers: Arc<AtomicU64>,
    sizes: Sizes,
    flight: Flight,
    pacer: Pacer,
    controller: Controller,
    meter: RoundMeter,
    evidence: Evidence,
    credit: CreditLine,
    /// What the program allows, beside the controller and the receiver.
    most_bps: u64,
    limits: Limits,
    rtt: RoundTrip,
    counts: SentCounts,
    train: Train,
    last_ping: Time,
    /// Send time that the last report echoed.
    last_echo_us: u32,
    last_heard: Time,
    /// When the first and the last burst left, and the bytes that had left before the last.
    span: Option<(Time, Time, u64)>,
    was_starved: bool,
    /// What was under way was given up: the lane only asks whether somebody is there, until it hears.
    given_up: bool,
    /// It is to be woken, when the rate of the path is known: until then it only asks whether somebody is there.
    asleep: bool,
    /// Somebody is.
    was_heard: bool,
    /// The last turn waited for the pacer, and for nothing that a report could bring.
    waits_for_pacer: bool,
}

impl LaneOut {
    /// A lane whose packet numbers are drawn from `numbers`, on a path with this round-trip time.
    #[must_use]
    pub fn new(numbers: Arc<AtomicU64>, sizes: Sizes, controller: Controller, rtt: Duration, now: Time) -> Self {
        let debt = match controller {
            Controller::Fixed(_) => Duration::from_millis(25),
            Controller::Auto(_) => Duration::from_millis(3),
        };
        let first = numbers.load(Ordering::Relaxed);
        let mut round_trip = RoundTrip::default();
        round_trip.note(now, rtt);
        Self {
            numbers,
            sizes,
            flight: Flight::default(),
            pacer: Pacer::new(controller.rate_bps(), debt, now),
            train: first_train(sizes, &controller),
            controller,
            meter: RoundMeter::default(),
            evidence: Evidence::default(),
            credit: CreditLine::first(now, first),
            most_bps: u64::MAX,
            limits: Limits::default(),
            rtt: round_trip,
            counts: SentCounts::default(),
            last_ping: now,
            last_echo_us: 0,
            last_heard: now,
            span: None,
            was_starved: true,
            given_up: false,
            asleep: false,
            was_heard: false,
            waits_for_pacer: false,
        }
    }

    /// The same that sends nothing until it is [woken](crate::path_sharing::wake).
    #[must_use]
    pub fn asleep(self) -> Self {
        Self { asleep: true, ..self }
    }

    /// It sends nothing until it is woken.
    #[must_use]
    pub const fn is_asleep(&self) -> bool {
        self.asleep
    }

    /// The same that keeps within these limits.
    #[must_use]
    pub fn within(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The same to a receiver that has said to take no more than `most_bps`, in bits of IP packets per second, which its reports may change; 0 sets no limit.
    #[must_use]
    pub const fn to_receiver_of(mut self, most_bps: u64) -> Self {
        self.credit.foresee(most_bps);
        self
    }

    /// Entries that are kept of what is under way.
    #[must_use]
    pub fn records(&self) -> usize {
        self.flight.entries()
    }

    /// Counts since the lane began.
    #[must_use]
    pub const fn counts(&self) -> &SentCounts {
        &self.counts
    }

    /// Time from the first burst to the last, and bytes of IP packets that left in it, the last burst not among them: their quotient is the rate
    /// that was kept.
    #[must_use]
    pub fn span(&self) -> Option<(Duration, u64)> {
        self.span.map(|(first, last, bytes)| (last.since(first), bytes))
    }

    /// Round-trip times seen.
    #[must_use]
    pub const fn rtt(&self) -> &RoundTrip {
        &self.rtt
    }

    /// The rate now, in bits of IP packets per second; none while it is asleep.
    #[must_use]
    pub const fn rate_bps(&self) -> u64 {
        if self.asleep { 0 } else { self.pacer.rate_bps() }
    }

    /// What limited its rounds.
    #[must_use]
    pub fn causes(&self) -> &Causes {
        self.controller.causes()
    }

    /// What its latest rounds showed.
    #[must_use]
    pub const fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// Queueing delay of the last report, in seconds.
    #[must_use]
    pub fn queue_s(&self) -> f64 {
        self.meter.last_queue_s()
    }

    /// When the other end was last heard of.
    #[must_use]
    pub const fn last_heard(&self) -> Time {
        self.last_heard
    }

    /// The lane waits for its pacer only: a report changes nothing before that.
    #[must_use]
    pub const fn waits_for_pacer(&self) -> bool {
        self.waits_for_pacer
    }

    /// Something is under way.
    #[must_use]
    pub fn is_under_way(&self) -> bool {
        !self.flight.is_empty()
    }

    /// Sizes of datagrams from here on.
    #[must_use]
    pub const fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// Changes the size of datagrams from here on.
    pub fn set_sizes(&mut self, sizes: Sizes) {
        let much_larger = sizes.datagram > 2 * self.sizes.datagram;
        self.sizes = sizes;
        if much_larger && self.controller.is_starting() {
            // Small datagrams tell how fast they are handled rather than how fast the path is.
            self.train = Train::of(sizes);
        }
    }

    /// Sends datagrams of these sizes from here on, and looks for the rate anew: what the path did with others says nothing of it.
    pub fn restart_rate_search(&mut self, now: Time, sizes: Sizes) {
        self.sizes = sizes;
        self.controller.begin_again(sizes, self.rtt.least());
        self.train = first_train(sizes, &self.controller);
        self.meter.begin_again();
        self.pacer.rest(now);
        self.set_pace(now);
    }

    /// Sends no faster than `most_bps` from here on, in bits of IP packets per second, whatever the path and the receiver allow.
    pub const fn set_most(&mut self, most_bps: u64) {
        self.most_bps = if most_bps == 0 { 1 } else { most_bps };
    }

    /// Looks for no greater rate than this from here on, or keeps this where a rate is fixed.
    pub fn set_asked(&mut self, asked_bps: u64) {
        self.controller.set_most(asked_bps);
    }

    /// It waits to be woken, and somebody is there.
    pub(crate) const fn may_wake(&self) -> bool {
        self.asleep && self.was_heard
    }

    /// It sends what there is, as far as is known: it was heard a moment ago.
    pub(crate) fn is_awake(&self, now: Time, a_moment: Duration) -> bool {
        !self.asleep && !self.given_up && now.since(self.last_heard) < a_moment
    }

    /// The rate is still being looked for.
    pub(crate) fn is_starting(&self) -> bool {
        self.controller.is_starting()
    }

    /// What the path is taken to carry of it, in bits per second.
    pub(crate) fn path_bps(&self) -> f64 {
        self.controller.path_bps()
    }

    /// Looks for the rate from here on.
    pub(crate) fn wake(&mut self, now: Time) {
        self.asleep = false;
        self.pacer.rest(now);
    }

    /// Goes on at `bps` from here on, and knows of the path what `from` does.
    pub(crate) fn wake_beside(&mut self, from: &Controller, bps: f64, now: Time) {
        self.wake(now);
        self.controller.learn(from, bps);
        self.train.stop();
        self.set_pace(now);
    }

    /// Goes on at `bps`, as others send beside it from here on.
    pub(crate) fn make_room(&mut self, bps: f64, now: Time) {
        self.controller.go_on_at(bps);
        // What arrives at present was sent at another rate.
        self.meter.begin_again();
        self.set_pace(now);
    }

    fn set_pace(&mut self, now: Time) {
        self.meter.set_pace(self.controller.rate_bps(), self.is_capped());
        let due = self.pacer.next();
        self.pacer.set_rate(now, self.allowed_bps(now));
        self.waits_for_pacer &= due.since(self.pacer.next()) < LEAST_PAUSE;
    }

    pub(crate) const fn controller(&self) -> &Controller {
        &self.controller
    }

    /// What it would make use of if it might go at `may_bps` and no faster, in bits per second, and `least_bps` at least.
    #[must_use]
    pub fn demand_bps(&self, may_bps: f64, least_bps: f64) -> f64 {
        if self.given_up || self.asleep { least_bps } else { self.controller.demand_bps(may_bps, least_bps) }
    }

    /// Decides what to do now; fills `burst` if that is to send one.
    pub fn turn(&mut self, now: Time, outbox: &mut Outbox, burst: &mut Burst) -> Turn {
        if let Some(ping) = self.due_ping(now, outbox) {
            return ping;
        }
        self.waits_for_pacer = false;
        let ping_at = self.next_ping(outbox);
        if self.given_up || self.asleep {
            return Turn::Wait(ping_at);
        }
        let Some(most) = self.most_datagrams(now) else {
            self.pacer.rest(now);
            return Turn::Wait(ping_at);
        };
        self.pacer.set_rate(now, self.allowed_bps(now));
        let due = self.pacer.next();
        if due > now {
            self.waits_for_pacer = true;
            return Turn::Wait(self.next_look(now, due).min(ping_at));
        }
        if self.was_starved {
            // Nothing is owed for the time in which there was nothing to send.
            self.pacer.rest(now);
        }
        self.fill(now, outbox, burst, most);
        if burst.regions.is_empty() {
            self.counts.starved += u64::from(!std::mem::replace(&mut self.was_starved, true));
            self.pacer.rest(now);
            return Turn::Wait(ping_at);
        }
        self.was_starved = false;
        Turn::Burst
    }

    /// When to look again, if the next burst is due then.
    fn next_look(&self, now: Time, due: Time) -> Time {
        let is_full = self.burst_datagrams(now) == u64::from(self.sizes.burst);
        if is_full { due.max(now.after(LEAST_PAUSE)) } else { due }
    }

    fn most_datagrams(&mut self, now: Time) -> Option<u64> {
        let next = self.numbers.load(Ordering::Relaxed);
        let settled = self.flight.first().unwrap_or(next);
        let window = self.limits.datagrams(self.sizes).min(WINDOW / 2).saturating_sub(next - settled);
        let credit = self.credit.datagrams(now, next);
        let most_bytes =
            self.controller.most_under_way(self.rtt.least().as_secs_f64()).max(TRAIN * self.sizes.payload());
        let path = most_bytes.saturating_sub(self.flight.bytes()) / self.sizes.payload();
        if credit == 0 {
            self.counts.without_credit += 1;
        }
        let train = if self.train.left() == 0 { u64::MAX } else { self.train.left() };
        let under_way = self.flight.bytes().div_ceil(self.sizes.payload());
        let untold = if self.controller.is_starting() { self.train.allows(under_way) } else { u64::MAX };
        let most = self.burst_datagrams(now).min(train).min(untold).min(window).min(credit).min(path);
        (most > 0).then_some(most)
    }

    fn burst_datagrams(&self, now: Time) -> u64 {
        let rate = self.burst_bps(now);
        let bytes = (u128::from(rate) * BURST.as_micros() / 8_000_000) as u64;
        (bytes / self.sizes.wire(self.sizes.payload())).clamp(1, u64::from(self.sizes.burst))
    }

    /// The rate the controller, the program, the receiver's limit and the age of its credit allow.
    fn allowed_bps(&self, now: Time) -> u64 {
        self.credit.limit(now, self.controller.rate_bps().min(self.most_bps))
    }

    /// The rate of the next burst: of a train it is all that the program and the receiver allow.
    fn burst_bps(&self, now: Time) -> u64 {
        if self.train.left() == 0 {
            return self.allowed_bps(now);
        }
        self.credit.limit(now, self.controller.most_bps().min(self.most_bps))
    }

    /// No more is allowed than it goes at, or hardly: who has come to what is allowed does not go on looking.
    fn is_capped(&self) -> bool {
        let rate_bps = (self.controller.rate_bps() as f64 * HARDLY_MORE) as u64;
        self.controller.is_capped() || self.most_bps < rate_bps || self.credit.is_below(rate_bps)
    }

    fn fill(&mut self, now: Time, outbox: &mut Outbox, burst: &mut Burst, most: u64) {
        let payload = self.sizes.payload();
        burst.regions.clear();
        burst.payload = payload;
        let mut datagrams = 0;
        let mut wire = 0;
        while datagrams < most {
            let Some(region) = outbox.next(now, (most - datagrams) * payload) else { break };
            let count = region.length.div_ceil(payload);
            datagrams += count;
            wire += region.length + count * self.sizes.wire(0);
            burst.regions.push(region);
            if !region.length.is_multiple_of(payload) {
                break;
            }
        }
        if datagrams == 0 {
            return;
        }
        burst.first = self.numbers.fetch_add(datagrams, Ordering::Relaxed);
        let mut number = burst.first;
        for &region in &burst.regions {
            number += self.flight.add(number, region, payload);
            self.counts.resent_bytes += if region.resent { region.length } else { 0 };
        }
        self.account(now, datagrams, wire);
    }

    fn account(&mut self, now: Time, datagrams: u64, wire: u64) {
        self.counts.datagrams += datagrams;
        self.counts.wire_bytes += wire;
        let before = self.counts.wire_bytes - wire;
        self.span = Some((self.span.map_or(now, |(first, ..)| first), now, before));
        self.train.sent(datagrams);
        // The train's sequel leaves at the first rate.
        self.pacer.set_rate(now, self.burst_bps(now));
        self.pacer.spend(now, wire);
        self.pacer.set_rate(now, self.allowed_bps(now));
    }

    fn next_ping(&self, outbox: &Outbox) -> Time {
        let busy = !(self.given_up || self.asleep) && (!self.flight.is_empty() || outbox.has_work());
        let every = if busy { self.busy_ping_every() } else { IDLE_PING_EVERY };
        // A peer that has fallen silent is asked ever more rarely.
        let silence = self.last_ping.since(self.last_heard) / 4;
        self.last_ping.after(every.max(silence.min(IDLE_PING_EVERY)))
    }

    fn busy_ping_every(&self) -> Duration {
        let bits = (PING + usize::from(self.sizes.headers)) as f64 * 8.0;
        let of_rate = bits / (MOST_OF_RATE * self.pacer.rate_bps().max(1) as f64);
        let of_rate = Duration::from_secs_f64(of_rate).min(IDLE_PING_EVERY);
        (self.rtt.smooth() / 2).clamp(PING_EVERY.start, PING_EVERY.end).max(of_rate)
    }

    fn due_ping(&mut self, now: Time, outbox: &Outbox) -> Option<Turn> {
        if self.next_ping(outbox) > now {
            return None;
        }
        self.last_ping = now;
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        Some(Turn::Ping(number, self.ping(now, number)))
    }

    /// The ping to be sent under packet number `number`.
    fn ping(&self, now: Time, number: u64) -> Ping {
        let report_every = (self.rtt.least() / 16).clamp(Duration::from_millis(1), Duration::from_millis(10));
        Ping {
            size: PING as u32,
            sent_us: now.wire_us(),
            challenge: number,
            settled: self.flight.first().unwrap_or(number),
            report_interval_us: report_every.as_micros() as u32,
        }
    }

    /// Takes a report of the receiving end.
    pub fn on_report(&mut self, now: Time, report: &Report, outbox: &mut Outbox) {
        self.note_heard(now);
        self.credit.renew(now, report);
        self.note_round_trip(now, report);
        self.settle(now, report, outbox);
        self.note_train(report);
        let seen = Seen {
            least_rtt: self.rtt.least(),
            next_number: self.numbers.load(Ordering::Relaxed),
            paced_bps: self.controller.rate_bps(),
            capped: self.is_capped(),
            sent_bytes: self.counts.wire_bytes,
            lost: self.counts.lost,
            arrived: self.counts.arrived,
            starved: self.counts.starved,
            starving: self.was_starved,
            starting: self.controller.is_starting(),
            packet_bytes: self.sizes.wire(self.sizes.payload()),
        };
        if let Some(round) = self.meter.on_report(now, report, seen) {
            let was_starting = self.controller.is_starting();
            let round_rtt = self.rtt.take_round().unwrap_or_default();
            let round = Round { rtt_s: round_rtt.as_secs_f64(), ..round };
            // What the program and the receiver allow less than the controller is no schedule that was not kept.
            let paced_bps = round.paced_bps.min(self.allowed_bps(now) as f64);
            self.evidence.note(Round { paced_bps, ..round });
            if self.controller.on_round(now, &round) {
                self.rtt.begin_again(now, round_rtt);
                self.meter.forget_base();
            }
            if was_starting && !self.controller.is_starting() {
                self.evidence.clear();
            }
        }
        self.set_pace(now);
    }

    /// Each send time counts once: a time held for long says more of how the two clocks differ than of the path.
    fn note_round_trip(&mut self, now: Time, report: &Report) {
        let elapsed = wire_difference_us(now.wire_us(), report.echo_us);
        let rtt = i64::from(elapsed) - i64::from(report.hold_us);
        let is_new = report.echo_us != std::mem::replace(&mut self.last_echo_us, report.echo_us);
        if is_new && report.echo_us != 0 && rtt >= 0 {
            self.rtt.note(now, Duration::from_micros(rtt.cast_unsigned()));
        }
    }

    fn settle(&mut self, now: Time, report: &Report, outbox: &mut Outbox) {
        let payload = self.sizes.payload();
        let counts = &mut self.counts;
        let (mut arrived, mut lost) = (Vec::new(), Vec::new());
        let page = &report.page;
        self.flight.settle(
            page.from,
            page.to,
            &page.missing,
            |region| arrived.push(region),
            |region| lost.push(region),
        );
        for region in arrived {
            counts.arrived += region.length.div_ceil(payload);
            counts.arrived_bytes += region.length;
            self.train.arrived(region.length.div_ceil(payload));
            outbox.arrived(region);
        }
        for region in lost {
            counts.lost += region.length.div_ceil(payload);
            counts.lost_bytes += region.length;
            outbox.lost(now, region);
        }
    }

    fn note_train(&mut self, report: &Report) {
        let Some(bps) = self.train.told_by(report) else { return };
        self.controller.on_train(bps);
        let round_trip_bytes = self.controller.rate_bps() as f64 / 8.0 * self.rtt.least().as_secs_f64();
        if self.controller.is_starting()
            && let Some(second) = self.train.second(self.sizes, round_trip_bytes)
        {
            self.train = second;
        }
    }

    /// Takes the answer to a ping.
    pub fn on_pong(&mut self, now: Time, pong: &Pong) {
        self.note_heard(now);
        let rtt = i64::from(wire_difference_us(now.wire_us(), pong.sent_us)) - i64::from(pong.hold_us);
        if rtt >= 0 {
            self.rtt.note(now, Duration::from_micros(rtt.cast_unsigned()));
        }
    }

    fn note_heard(&mut self, now: Time) {
        self.last_heard = now;
        (self.given_up, self.was_heard) = (false, true);
    }

    /// The other end is elsewhere than was said: what was sent went nowhere, and says nothing of the path.
    pub fn begin_again(&mut self, now: Time, outbox: &mut Outbox) {
        self.flight.abandon(|region| outbox.lost(now, region));
        self.train = first_train(self.sizes, &self.controller);
        self.meter = RoundMeter::default();
        self.credit.begin_again(now, self.numbers.load(Ordering::Relaxed));
    }

    /// Gives the lane up until it is heard again: what was under way on it is to be sent on others.
    pub fn abandon(&mut self, now: Time, outbox: &mut Outbox) {
        self.given_up = true;
        self.flight.abandon(|region| outbox.lost(now, region));
    }
}

fn first_train(sizes: Sizes, controller: &Controller) -> Train {
    if controller.is_starting() { Train::of(sizes) } else { Train::none(sizes) }
}
