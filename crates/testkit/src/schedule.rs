//! What happens in one run of the simulator, all of it drawn from a seed.

use std::time::Duration;

use fastrand::Rng;
use visapult_ripp::cipher::Cipher;
use visapult_ripp::lane_in::Credit;
use visapult_ripp::memory::{Limits, Memory};
use visapult_ripp::outbox::Mode;
use visapult_ripp::record::EPOCH_BITS;
use visapult_ripp::wire::NUMBER_BITS;

use crate::clock::Clock;
use crate::draw::{MS, SECOND, chance, intervals, log_uniform};
use crate::path::{Bursts, PathPlan};

/// What `auto` never falls below, in bits per second. How well it does is for the table of rates to tell; here it must not stand still.
const AUTO_FLOOR: u64 = 100_000;

/// How much a schedule harms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Rate, delay, queue and loss: everything must arrive, and in time.
    Plain,
    /// Everything that may befall a path or a host, and an attacker without a key: everything must arrive.
    Rough,
    /// One end lies: the other must keep its bounds.
    Hostile,
}

/// How fast an end sends.
#[derive(Clone, Copy, Debug)]
pub enum Pace {
    /// At this rate, in bits per second.
    Fixed(u64),
    /// It finds out, beginning at this rate.
    Auto(u64),
}

/// An object that an end sends.
#[derive(Clone, Debug)]
pub struct ObjectPlan {
    /// Index of its flow.
    pub flow: usize,
    /// Its bytes.
    pub length: u64,
    /// When it is offered.
    pub at: u64,
    /// When it is taken back.
    pub cancel: Option<u64>,
}

/// What one end does.
#[derive(Clone, Debug)]
pub struct EndPlan {
    /// Its clock.
    pub clock: Clock,
    /// How fast it sends.
    pub pace: Pace,
    /// What it may send at most, in bits per second, whatever it finds or is fixed at.
    pub most_send_bps: Option<u64>,
    /// What it allows its peer.
    pub credit: Credit,
    /// What it keeps at most.
    pub limits: Limits,
    /// Bytes of datagrams that wait for it while it is stalled.
    pub receive_buffer: usize,
    /// Times at which it does nothing.
    pub stalls: Vec<(u64, u64)>,
    /// Its flows: mode and weight.
    pub flows: Vec<(Mode, u32)>,
    /// Its objects, by time.
    pub objects: Vec<ObjectPlan>,
    /// Most objects that it has on offer or in progress.
    pub ahead: usize,
    /// Chance that it refuses an object, and that it lets one wait.
    pub moods: (f64, f64),
}

/// An end's program dies, and another is started in its place.
#[derive(Clone, Copy, Debug)]
pub struct Restart {
    /// The end.
    pub end: usize,
    /// When.
    pub at: u64,
    /// The other end is told by the end of the control connection; else silence tells it.
    pub is_told: bool,
}

/// What happens in one run.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Where it all comes from.
    pub seed: u64,
    /// How much it harms.
    pub kind: Kind,
    /// Cipher of the lanes.
    pub cipher: Cipher,
    /// Lanes.
    pub lanes: u16,
    /// UDP payload of a full datagram.
    pub datagram: u16,
    /// Most datagrams of a burst.
    pub burst: u16,
    /// The path from each end to the other.
    pub paths: [PathPlan; 2],
    /// The ends.
    pub ends: [EndPlan; 2],
    /// Datagrams under one key, as a power of two.
    pub epoch_bits: u32,
    /// Packet number of every lane's first datagram.
    pub first_number: u64,
    /// An end whose program is restarted.
    pub restart: Option<Restart>,
    /// A lane that dies, and when.
    pub death: Option<(u16, u64)>,
    /// Datagrams that an attacker injects.
    pub injections: Vec<u64>,
    /// The end that lies, and when.
    pub lies: Option<(usize, Vec<u64>)>,
    /// Both ends send what they first offer before it is accepted.
    pub presumes: bool,
    /// By when everything must have ended.
    pub limit: u64,
    /// By when it would have ended if `auto` found a good rate.
    pub brisk: u64,
}

impl Schedule {
    /// What the seed says.
    #[must_use]
    pub fn draw(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let kind = match rng.u8(0..20) {
            0..8 => Kind::Plain,
            8..17 => Kind::Rough,
            _ => Kind::Hostile,
        };
        let rng = &mut rng;
        let paths = draw_paths(rng);
        let rate = paths[0].rates[0].1.min(paths[1].rates[0].1);
        let ends = [draw_end(rng, paths[0].rates[0].1, 0), draw_end(rng, paths[1].rates[0].1, 1)];
        let mut schedule = Self {
            seed,
            kind,
            cipher: [Cipher::Aes128Gcm, Cipher::Aes256Gcm, Cipher::Chacha20Poly1305][rng.usize(0..3)],
            lanes: rng.u16(1..=4),
            datagram: [1172, 1452, 1472, 8972][rng.usize(0..4)],
            burst: rng.u16(1..=64),
            paths,
            ends,
            epoch_bits: EPOCH_BITS,
            first_number: 0,
            restart: None,
            death: None,
            injections: Vec::new(),
            lies: None,
            presumes: false,
            limit: 0,
            brisk: 0,
        };
        let harm = if kind == Kind::Plain { 0 } else { schedule.roughen(rng) };
        if kind == Kind::Hostile {
            let acts = rng.usize(1..200);
            let mut times: Vec<u64> = (0..acts).map(|_| rng.u64(0..2 * SECOND)).collect();
            times.sort_unstable();
            schedule.lies = Some((rng.usize(0..2), times));
        }
        schedule.add_later_harm(seed);
        let is_scarce = schedule.bound_memory(seed);
        // Where few runs of bytes are kept of objects there may be no room for what came before one was accepted.
        schedule.presumes = !is_scarce && seed.is_multiple_of(3);
        // What a receiver has no room for is asked for again, round trip after round trip; who lies may ask for ever.
        let longer = if is_scarce && kind != Kind::Hostile { 10 } else { 1 };
        schedule.limit = longer * schedule.patience(rate, AUTO_FLOOR) + harm;
        schedule.brisk = schedule.patience(rate, rate / 8) + harm;
        schedule
    }

    /// Marks, changes of keys, packet numbers, restarts and rates that are allowed, drawn apart from the rest: they leave the schedule as it is.
    fn add_later_harm(&mut self, seed: u64) {
        let rng = &mut Rng::with_seed(seed ^ 0x6a09_e667_f3bc_c908);
        for path in &mut self.paths {
            path.mark = chance(rng, 0.3).then(|| rng.u64(0..path.queue));
        }
        // A receiver that heard nothing of an epoch and the next cannot follow; a real epoch is longer than any credit.
        if !self.falls_silent() {
            self.epoch_bits = rng.u32(8..=10);
        }
        if self.kind == Kind::Rough && chance(rng, 0.1) {
            let (end, at, is_told) = (rng.usize(0..2), rng.u64(0..2 * SECOND), chance(rng, 0.7));
            self.restart = Some(Restart { end, at, is_told });
        }
        if chance(rng, 0.5) {
            // The lower bits of packet numbers come round soon.
            self.first_number = (rng.u64(1..1 << 20) << NUMBER_BITS) - rng.u64(0..5_000);
        }
        for (end, path) in self.ends.iter_mut().zip(&self.paths) {
            let path_bps = path.rates[0].1;
            end.most_send_bps = chance(rng, 0.2).then(|| log_uniform(rng, path_bps / 20, 2 * path_bps));
        }
    }

    /// Some ends have the least memory that a session may have, and some much less, so that bounds are met; true if one has.
    fn bound_memory(&mut self, seed: u64) -> bool {
        let rng = &mut Rng::with_seed(seed ^ 0xbb67_ae85_84ca_a73b);
        let mut is_scarce = false;
        for end in &mut self.ends {
            end.limits = match rng.u8(0..10) {
                0..2 => Memory::LEAST.limits(self.lanes),
                2..5 => scarce(rng, Memory::LEAST.limits(self.lanes)),
                _ => Memory::DEFAULT.limits(self.lanes),
            };
            is_scarce |= end.limits.spans < Memory::LEAST.limits(self.lanes).spans;
        }
        if is_scarce {
            // What is refused moves no window: short epochs would pass unseen, as when a lane falls silent.
            self.epoch_bits = EPOCH_BITS;
        }
        is_scarce
    }

    /// For a time nothing of a lane gets through.
    fn falls_silent(&self) -> bool {
        self.kind == Kind::Hostile
            || self.death.is_some()
            || self.paths.iter().any(|path| path.hole.is_some() || !path.blackouts.is_empty())
            || self.ends.iter().any(|end| !end.stalls.is_empty())
    }

    /// How long an undisturbed transfer may take: several times what the slowest of rate and credit needs, and many round trips.
    fn patience(&self, path_bps: u64, auto_bps: u64) -> u64 {
        let bytes: u64 = self.ends.iter().flat_map(|end| &end.objects).map(|object| object.length).sum();
        let last = self.ends.iter().flat_map(|end| &end.objects).map(|object| object.at).max().unwrap_or(0);
        let slowest = |bps: u64, end: &EndPlan| match end.pace {
            Pace::Fixed(fixed) => bps.min(fixed),
            Pace::Auto(_) => bps.min(auto_bps),
        };
        let slowest = |bps: u64, end: &EndPlan| slowest(bps, end).min(end.most_send_bps.unwrap_or(bps));
        let bps = self.ends.iter().fold(path_bps, slowest);
        let round_trip = self.paths[0].delay + self.paths[1].delay;
        let by_rate = (bytes + 100_000) * 8 * SECOND / bps;
        let window = |end: &EndPlan| (end.credit.datagrams / u64::from(self.lanes)).min(end.limits.lane_records) * 500;
        let by_credit = bytes / self.ends.iter().map(window).min().unwrap_or(1).max(1) * round_trip;
        last + 6 * by_rate + 3 * by_credit + 60 * round_trip + 5 * SECOND
    }

    /// Adds each kind of harm with some probability; returns how much longer everything may take for it.
    fn roughen(&mut self, rng: &mut Rng) -> u64 {
        let odds = |rng: &mut Rng| chance(rng, 0.25);
        let mut longer = 10 * SECOND;
        for path in &mut self.paths {
            if odds(rng) {
                path.reorder = (rng.f64() * 0.2, log_uniform(rng, 10_000, 100 * MS));
            }
            if odds(rng) {
                path.duplicate = rng.f64() * 0.3;
            }
            if odds(rng) {
                path.corrupt = rng.f64() * 0.1;
            }
            if odds(rng) {
                path.spikes = intervals(rng, 3, 2 * SECOND, SECOND)
                    .into_iter()
                    .map(|(from, to)| (from, to, log_uniform(rng, MS, SECOND)))
                    .collect();
            }
            if odds(rng) {
                path.blackouts = intervals(rng, 2, 2 * SECOND, 3 * SECOND);
            }
            if odds(rng) {
                path.hole = Some(rng.usize(1172..9000));
            }
            if odds(rng) {
                let factor = 0.25 + 4.0 * rng.f64() * rng.f64();
                path.rates.push((rng.u64(0..2 * SECOND), (path.rates[0].1 as f64 * factor) as u64));
            }
            longer += 5 * path.blackouts.iter().chain(&spans_of(&path.spikes)).map(|(from, to)| to - from).sum::<u64>();
        }
        for end in &mut self.ends {
            if odds(rng) {
                end.stalls = intervals(rng, 2, 2 * SECOND, 5 * SECOND);
            }
            if odds(rng) {
                end.receive_buffer = rng.usize(20_000..400_000);
            }
            if odds(rng) {
                end.clock.steps = vec![(rng.u64(0..2 * SECOND), log_uniform(rng, MS, 3600 * SECOND))];
            }
            longer += 5 * end.stalls.iter().map(|(from, to)| to - from).sum::<u64>();
        }
        if self.lanes > 1 && odds(rng) {
            self.death = Some((rng.u16(0..self.lanes), rng.u64(0..2 * SECOND)));
        }
        if chance(rng, 0.5) {
            self.injections = (0..rng.usize(1..300)).map(|_| rng.u64(0..2 * SECOND)).collect();
        }
        4 * longer + 60 * SECOND
    }
}

/// A small part of these limits.
fn scarce(rng: &mut Rng, limits: Limits) -> Limits {
    let spans = log_uniform(rng, 4, 512) as usize;
    let objects = rng.usize(4..40);
    Limits {
        lane_records: log_uniform(rng, 200, 2_000),
        spans: spans + objects,
        object_spans: (spans / 4).max(2),
        objects,
        reasons: rng.usize(0..2_000),
        flow_names: rng.usize(500..8_000),
        ..limits
    }
}

fn spans_of(spikes: &[(u64, u64, u64)]) -> Vec<(u64, u64)> {
    spikes.iter().map(|&(from, to, by)| (from, to + by)).collect()
}

fn draw_paths(rng: &mut Rng) -> [PathPlan; 2] {
    let rate = log_uniform(rng, 2_000_000, 2_000_000_000);
    let delay = log_uniform(rng, 20_000, 150 * MS);
    let queue = (rate as f64 / 8.0 * (0.002 + 0.1 * rng.f64())) as u64 + 20_000;
    let loss = if chance(rng, 0.5) { 0.0 } else { rng.f64().powi(3) * 0.1 };
    let mut draw = || {
        let enter = rng.f64() * 0.01;
        let bursts =
            chance(rng, 0.25).then(|| Bursts { enter, leave: 0.05 + rng.f64() * 0.5, loss: 0.3 + 0.7 * rng.f64() });
        let rates = vec![(0, rate)];
        PathPlan { rates, delay, queue, loss, bursts, ..PathPlan::default() }
    };
    [draw(), draw()]
}

fn draw_end(rng: &mut Rng, path_bps: u64, side: usize) -> EndPlan {
    let pace = if chance(rng, 0.5) {
        Pace::Fixed((path_bps as f64 * (0.2 + 0.9 * rng.f64())) as u64)
    } else {
        Pace::Auto(log_uniform(rng, 1_000_000, 50_000_000))
    };
    let datagrams = if chance(rng, 0.3) { log_uniform(rng, 64, 1 << 18) } else { Credit::default().datagrams };
    let most_rate_bps = if chance(rng, 0.1) { path_bps / 2 } else { 0 };
    let lifetime = Duration::from_millis(rng.u64(200..3000));
    let origin = if chance(rng, 0.3) { (1 << 32) * 1000 - rng.u64(0..SECOND) } else { rng.u64(SECOND..1 << 50) };
    let flows: Vec<_> = (0..rng.usize(1..=3)).map(|_| (draw_mode(rng), rng.u32(1..10))).collect();
    // One side always sends; the other half of the time.
    let count = if side == 0 { rng.usize(1..=6) } else { rng.usize(0..=3) * rng.usize(0..2) };
    let mut objects: Vec<_> = (0..count).map(|_| draw_object(rng, flows.len(), path_bps)).collect();
    objects.sort_by_key(|object| object.at);
    EndPlan {
        clock: Clock { origin, ppm: rng.i64(-200..=200), steps: Vec::new() },
        pace,
        most_send_bps: None,
        credit: Credit { datagrams, most_rate_bps, lifetime },
        limits: Limits::default(),
        receive_buffer: 8 << 20,
        stalls: Vec::new(),
        flows,
        objects,
        ahead: if chance(rng, 0.3) { 1 } else { usize::MAX },
        moods: (0.03, 0.2),
    }
}

fn draw_mode(rng: &mut Rng) -> Mode {
    match rng.u8(0..10) {
        0..6 => Mode::Reliable,
        6..8 => Mode::Deadline(Duration::from_millis(log_uniform(rng, 5, 2000))),
        _ => Mode::Lossy,
    }
}

fn draw_object(rng: &mut Rng, flows: usize, path_bps: u64) -> ObjectPlan {
    // Large objects only where the path carries them in a few seconds.
    let most = (path_bps / 8 * 2).clamp(100_000, 3_000_000);
    let length = match rng.u8(0..40) {
        0 => 0,
        1 => rng.u64(1..100),
        2 => most,
        _ => log_uniform(rng, 10_000, most / 4),
    };
    let at = if chance(rng, 0.5) { 0 } else { rng.u64(0..SECOND) };
    let cancel = chance(rng, 0.05).then(|| at + rng.u64(0..SECOND));
    ObjectPlan { flow: rng.usize(0..flows), length, at, cancel }
}
