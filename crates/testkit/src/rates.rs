//! How `auto` does on typical paths: share of the link, time to get there, queues it makes, what it sends again.

use std::time::Duration;

use anyhow::anyhow;
use visapult_ripp::cipher::Cipher;
use visapult_ripp::lane_in::Credit;
use visapult_ripp::lane_out::Sizes;
use visapult_ripp::memory::Limits;
use visapult_ripp::outbox::Mode;
use visapult_ripp::rate::{Auto, Cause};

use crate::clock::Clock;
use crate::draw::{MS, SECOND};
use crate::path::{HEADERS, Others, PathPlan};
use crate::schedule::{EndPlan, Kind, ObjectPlan, Pace, Schedule};
use crate::world::World;

const LENGTH: u64 = 10 * SECOND;
const SAMPLE: u64 = 10 * MS;
const OBJECT: u64 = 4 << 20;
/// Of slow links, in bytes: less would not hold two packets.
const LEAST_QUEUE: u64 = 4 * 1500;
const SIZES: Sizes = Sizes { datagram: 1472, headers: HEADERS, burst: 64 };

/// A path on which `auto` is to find the rate.
#[derive(Clone, Debug)]
struct Scenario {
    name: String,
    link_bps: u64,
    rtt: u64,
    loss: f64,
    queue: u64,
    /// Bytes in the queue above which datagrams are marked.
    mark: Option<u64>,
    /// At half time the link's rate becomes this share of what it was.
    becomes: f64,
    /// At half time the round trip becomes this much longer, half of it each way.
    longer: u64,
    /// Others on the link from half time on, who fill so much time of its queue.
    others: Option<u64>,
    /// An end that is stalled at half time, and for how long.
    stall: Option<(usize, u64)>,
    /// Bytes that either end's socket holds while it is stalled.
    receive_buffer: usize,
    pace: Pace,
}

/// Prints a line for each path whose name contains `only`; with `trace` also what happens every tenth of a second.
///
/// # Errors
/// If a promise is broken.
pub fn print_table(only: &str, link_bps: u64, first_bps: Option<u64>, trace: bool) -> anyhow::Result<()> {
    println!(
        "share: of what the link can carry of objects, less loss; t90: from the first datagram sent until 90 % of that arrive, in ms and in round trips;
again: round trips from half time, when some links change, until 90 % of the new rate arrive"
    );
    println!(
        "{:<34} {:>6} {:>6} {:>6} {:>8} {:>6} {:>6} {:>8} {:>7} {:>7}  causes",
        "path", "share", "first", "second", "t90 ms", "RTTs", "again", "queue ms", "lost %", "resent"
    );
    for scenario in scenarios(link_bps, first_bps).iter().filter(|scenario| scenario.name.contains(only)) {
        let line = Measured::of(scenario, trace).map_err(|what| anyhow!("{}: {what}", scenario.name))?;
        println!("{:<34} {line}", scenario.name);
    }
    Ok(())
}

fn scenarios(link_bps: u64, first_bps: Option<u64>) -> Vec<Scenario> {
    let mbps = link_bps as f64 / 1e6;
    let path = |rtt_ms: u64, loss: f64, queue_ms: u64, becomes: f64| {
        let change = if becomes == 1.0 { String::new() } else { format!(" x{becomes}") };
        Scenario {
            name: format!("{mbps}M {rtt_ms}ms {}% queue {queue_ms}ms{change}", loss * 100.0),
            link_bps,
            rtt: rtt_ms * MS,
            loss,
            queue: (link_bps / 8 * queue_ms / 1000).max(LEAST_QUEUE),
            mark: None,
            becomes,
            longer: 0,
            others: None,
            stall: None,
            receive_buffer: usize::MAX,
            pace: Pace::Auto(first_bps.unwrap_or_else(|| Auto::first_bps(SIZES, Duration::from_millis(rtt_ms)))),
        }
    };
    let mut all = Vec::new();
    for queue_ms in [25, 80] {
        all.extend([0.0, 0.001, 0.01].map(|loss| path(80, loss, queue_ms, 1.0)));
    }
    all.extend([path(1, 0.0, 25, 1.0), path(300, 0.0, 25, 1.0), path(300, 0.0, 300, 1.0), path(80, 0.05, 25, 1.0)]);
    all.extend([path(80, 0.0, 5, 1.0), path(20, 0.0, 2, 1.0)]);
    for becomes in [0.5, 2.0] {
        all.extend([0.0, 0.01].map(|loss| path(80, loss, 80, becomes)));
    }
    let stalls = [(0, "sender stalls 300ms", usize::MAX), (1, "receiver stalls 300ms", usize::MAX)];
    all.extend(stalls.into_iter().chain([(1, "receiver stalls 300ms, buffer 60kB", 60_000)]).map(
        |(end, name, receive_buffer)| Scenario {
            name: format!("{mbps}M 80ms {name}"),
            stall: Some((end, 300 * MS)),
            receive_buffer,
            ..path(80, 0.0, 80, 1.0)
        },
    ));
    for (rtt_ms, longer_ms) in [(40, 40), (40, 260)] {
        let path = path(rtt_ms, 0.0, 40, 1.0);
        all.push(Scenario { name: format!("{} +{longer_ms}ms", path.name), longer: longer_ms * MS, ..path });
    }
    let fixed = Scenario {
        name: format!("{mbps}M 80ms 1% fixed at 99%"),
        pace: Pace::Fixed(link_bps / 100 * 99),
        ..path(80, 0.01, 25, 1.0)
    };
    all.push(fixed);
    all
}

impl Scenario {
    fn schedule(&self) -> Schedule {
        let rates = vec![(0, self.link_bps), (LENGTH / 2, (self.link_bps as f64 * self.becomes) as u64)];
        let others = self.others.map(|queue| Others {
            from: LENGTH / 2,
            packets: ((self.rtt + queue) as f64 * 1e-9 * self.link_bps as f64 / 12_000.0) as usize,
            rtt: self.rtt,
        });
        let path = PathPlan {
            rates,
            others,
            delay: self.rtt / 2,
            queue: self.queue,
            loss: self.loss,
            mark: self.mark,
            spikes: vec![(LENGTH / 2, u64::MAX, self.longer / 2)],
            ..PathPlan::default()
        };
        let back = PathPlan { loss: 0.0, mark: None, others: None, ..path.clone() };
        let bytes = self.link_bps / 8 * (LENGTH / SECOND) * 2;
        let object = ObjectPlan { flow: 0, length: OBJECT, at: 0, cancel: None };
        let sender = EndPlan {
            clock: Clock { origin: 77 * SECOND, ppm: 20, steps: Vec::new() },
            pace: self.pace,
            most_send_bps: None,
            credit: Credit::default(),
            limits: Limits::default(),
            receive_buffer: self.receive_buffer,
            stalls: Vec::new(),
            flows: vec![(Mode::Reliable, 1)],
            objects: vec![object; (bytes / OBJECT) as usize + 1],
            ahead: 8,
            moods: (0.0, 0.0),
        };
        let clock = Clock { origin: 5 * SECOND, ppm: -20, steps: Vec::new() };
        let receiver = EndPlan { clock, objects: Vec::new(), ..sender.clone() };
        let mut ends = [sender, receiver];
        if let Some((end, length)) = self.stall {
            ends[end].stalls.push((LENGTH / 2, LENGTH / 2 + length));
        }
        Schedule {
            seed: 1,
            kind: Kind::Plain,
            cipher: Cipher::Aes128Gcm,
            lanes: 1,
            datagram: SIZES.datagram,
            burst: SIZES.burst,
            paths: [path, back],
            ends,
            epoch_bits: visapult_ripp::record::EPOCH_BITS,
            first_number: 0,
            restart: None,
            death: None,
            injections: Vec::new(),
            lies: None,
            presumes: false,
            limit: LENGTH,
            brisk: LENGTH,
        }
    }

    /// Object bytes that the link can carry between two moments.
    fn capacity(&self, from: u64, to: u64) -> f64 {
        let at = |time: u64| {
            let (before, after) = (time.min(LENGTH / 2), time.saturating_sub(LENGTH / 2));
            (before as f64 + after as f64 * self.becomes) * self.link_bps as f64 / 8e9
        };
        let payload = SIZES.payload();
        (at(to) - at(from)) * payload as f64 / SIZES.wire(payload) as f64 * (1.0 - self.loss)
    }
}

/// What a run showed.
#[derive(Debug)]
struct Measured {
    share: [f64; 3],
    ramp: Option<Duration>,
    /// From when the link's rate changed until 90 % of it arrives again.
    again: Option<Duration>,
    rtt: u64,
    queue_ms: f64,
    lost: f64,
    resent: f64,
    causes: String,
}

impl Measured {
    fn of(scenario: &Scenario, trace: bool) -> Result<Self, String> {
        let mut world = World::new(scenario.schedule(), false);
        let samples = (LENGTH / SAMPLE) as usize;
        let mut written = vec![0; samples + 1];
        for at in 1..=samples {
            let until = at as u64 * SAMPLE;
            while world.step(until)? {}
            written[at] = world.ends[1].written();
            if trace && at.is_multiple_of(10) {
                print_moment(&world, written[at] - written[at - 10]);
            }
        }
        let share = |from: u64, to: u64| {
            let sample = |time: u64| written[(time / SAMPLE) as usize] as f64;
            (sample(to) - sample(from)) / scenario.capacity(from, to)
        };
        let shares = [share(0, LENGTH), share(0, LENGTH / 2), share(LENGTH / 2, LENGTH)];
        // Offer and acceptance take a round trip, before the first datagram is sent.
        let start = scenario.rtt.next_multiple_of(SAMPLE);
        // What may be under way of a longer round trip leaves within a part of it.
        let width = (scenario.rtt / 2 + scenario.longer).next_multiple_of(SAMPLE).max(4 * SAMPLE);
        let arrival = scenario.rtt / 2;
        let full_from = |start: u64| {
            (start..LENGTH - width).step_by(SAMPLE as usize).find(|&from| share(from, from + width) >= 0.9)
        };
        let ramp = full_from(start);
        // What arrives until then was sent before.
        let changed = LENGTH / 2 + arrival + scenario.longer / 2;
        let waited = world.paths[0].counts().waited;
        let counts = world.ends[0].lanes[0].sender.counts();
        let causes = world.ends[0].lanes[0].sender.causes();
        let causes = Cause::ALL.iter().filter(|&&cause| causes.rounds(cause) > 0);
        Ok(Self {
            share: shares,
            ramp: ramp.map(|at| Duration::from_nanos(at.saturating_sub(start + arrival))),
            again: full_from(changed.next_multiple_of(SAMPLE)).map(|at| Duration::from_nanos(at - LENGTH / 2)),
            rtt: scenario.rtt + scenario.longer,
            queue_ms: waited.0 as f64 / waited.1.max(1) as f64 * 1e-6,
            lost: counts.lost as f64 / counts.datagrams.max(1) as f64,
            resent: counts.resent_bytes as f64 / counts.lost_bytes.max(1) as f64,
            causes: causes
                .map(|&cause| format!("{cause} {} ", world.ends[0].lanes[0].sender.causes().rounds(cause)))
                .collect(),
        })
    }
}

impl Measured {
    /// Round trips from the change of the link's rate until 90 % of it arrives.
    fn again_rtts(&self) -> f64 {
        self.again.map_or(f64::INFINITY, |again| again.as_nanos() as f64 / self.rtt as f64)
    }
}

impl std::fmt::Display for Measured {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [all, first, second] = self.share.map(|share| share * 100.0);
        let ramp = self.ramp.map_or(f64::INFINITY, |ramp| ramp.as_secs_f64() * 1e3);
        let rtts = ramp * 1e6 / self.rtt as f64;
        write!(
            out,
            "{all:>6.1} {first:>6.1} {second:>6.1} {ramp:>8.0} {rtts:>6.1} {:>6.1} {:>8.1} {:>7.2} {:>7.3}  {}",
            self.again_rtts(),
            self.queue_ms,
            self.lost * 100.0,
            self.resent,
            self.causes
        )
    }
}

fn print_moment(world: &World, written: u64) {
    let lane = &world.ends[0].lanes[0].sender;
    println!(
        "  {:>6.2} s  rate {:>8.2} Mbit/s  arrived {:>8.2} Mbit/s  queue {:>6.1} ms  smooth rtt {:>6.1} ms  lost {:>6}",
        world.now as f64 * 1e-9,
        lane.rate_bps() as f64 * 1e-6,
        written as f64 * 8e-5,
        lane.queue_s() * 1e3,
        lane.rtt().smooth().as_secs_f64() * 1e3,
        lane.counts().lost
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> Scenario {
        let found = scenarios(20_000_000, Some(10_000_000)).into_iter().find(|path| path.name == name);
        found.expect("a path of the table")
    }

    #[test]
    fn a_rate_that_is_halved_or_doubled_midway_is_found_again_within_a_few_round_trips() {
        // A probe comes five rounds after another at the latest, and two of them, each of two rounds, find a rate that has doubled.
        for (name, round_trips) in [
            ("20M 80ms 0% queue 80ms x0.5", 3.0),
            ("20M 80ms 1% queue 80ms x0.5", 3.0),
            ("20M 80ms 0% queue 80ms x2", 10.0),
            ("20M 80ms 1% queue 80ms x2", 10.0),
        ] {
            let measured = Measured::of(&path(name), false).expect("no broken promise");
            assert!(measured.again_rtts() <= round_trips, "{name}: {measured}");
            assert!(measured.share[2] >= 0.8, "{name}: {measured}");
        }
    }

    #[test]
    fn a_slow_link_is_filled_and_not_flooded() {
        for (link_bps, name, least) in [
            (100_000, "0.1M 80ms 0% queue 80ms", 0.6),
            (500_000, "0.5M 80ms 0% queue 80ms", 0.8),
            (500_000, "0.5M 1ms 0% queue 25ms", 0.8),
            (2_000_000, "2M 80ms 0% queue 5ms", 0.9),
        ] {
            let path = scenarios(link_bps, None).into_iter().find(|path| path.name == name);
            let path = path.expect("a path of the table");
            let mut world = World::new(path.schedule(), false);
            let [half, whole] = [LENGTH / 2, LENGTH].map(|until| {
                while world.step(until).expect("no broken promise") {}
                let counts = world.ends[0].lanes[0].sender.counts();
                (counts.lost, counts.datagrams, world.ends[1].written())
            });
            assert!(half.0 < 200, "{name}: {} datagrams lost at the start", half.0);
            let lost = (whole.0 - half.0) as f64 / (whole.1 - half.1) as f64;
            assert!(lost < 0.05, "{name}: {lost} lost later");
            let share = (whole.2 - half.2) as f64 / path.capacity(LENGTH / 2, LENGTH);
            assert!(share > least, "{name}: {share} of the link");
        }
    }

    #[test]
    fn a_start_that_fills_the_queue_is_followed_by_what_the_link_carries() {
        let name = "20M 1ms 0% queue 25ms";
        let path = scenarios(20_000_000, Some(2_560_000)).into_iter().find(|path| path.name == name);
        let measured = Measured::of(&path.expect("a path of the table"), false).expect("no broken promise");
        assert!(measured.share[0] > 0.9, "{measured}");
    }

    #[test]
    fn a_round_trip_that_has_become_longer_is_made_use_of_within_a_few() {
        for (name, round_trips, share) in
            [("20M 40ms 0% queue 40ms +40ms", 2.0, 0.94), ("20M 40ms 0% queue 40ms +260ms", 8.0, 0.65)]
        {
            let measured = Measured::of(&path(name), false).expect("no broken promise");
            assert!(measured.again_rtts() <= round_trips && measured.share[2] >= share, "{name}: {measured}");
        }
    }

    #[test]
    fn a_queue_that_others_keep_full_is_no_longer_round_trip_and_most_of_the_link_is_theirs() {
        for (queue, becomes) in [(40, 1.0), (100, 1.0), (260, 1.0), (260, 0.3)] {
            let others = Some(queue * MS);
            let path = Scenario { queue: 1 << 40, others, becomes, longer: 0, ..path("20M 40ms 0% queue 40ms +40ms") };
            let mut world = World::new(path.schedule(), false);
            let mut moment = |at| {
                while world.step(at).expect("no broken promise") {}
                let lane = &world.ends[0].lanes[0].sender;
                assert!(lane.rtt().least() < Duration::from_millis(41), "{queue} ms: {:?}", lane.rtt().least());
                lane.counts().arrived_bytes
            };
            let [late, last] = [LENGTH - 2 * SECOND, LENGTH].map(&mut moment);
            let share = (last - late) as f64 * 8.0 / 2.0 / (path.link_bps as f64 * becomes);
            assert!(share < 0.5, "{queue} ms: {share}");
        }
    }

    #[test]
    fn what_is_allowed_is_kept_from_the_first_datagram_on_and_made_use_of() {
        for allowed_bps in [300_000, 3_000_000, 15_000_000] {
            let mut schedule = path("20M 80ms 0% queue 80ms").schedule();
            schedule.lanes = 2;
            schedule.ends[0].most_send_bps = Some(allowed_bps);
            let mut world = World::new(schedule, false);
            // The simulator itself holds what is sent against what is allowed.
            while world.step(LENGTH).expect("no broken promise") {}
            let share = world.ends[1].written() as f64 * 8e9 / (LENGTH as f64 * allowed_bps as f64);
            assert!(share > 0.85, "{allowed_bps}: {share}");
        }
    }

    /// The least rate within a second and a half of the stall's end, as a share of the link's.
    fn least_after(stalled: &Scenario) -> f64 {
        let mut world = World::new(stalled.schedule(), false);
        let (_, length) = stalled.stall.expect("a stall");
        (1..=75).fold(1.0, |least, look| {
            while world.step(LENGTH / 2 + length + look * 20 * MS).expect("no broken promise") {}
            f64::min(least, world.ends[0].lanes[0].sender.rate_bps() as f64 / stalled.link_bps as f64)
        })
    }

    #[test]
    fn a_rate_survives_one_stall_of_either_end_even_where_what_came_meanwhile_was_dropped() {
        for name in ["sender stalls 300ms", "receiver stalls 300ms", "receiver stalls 300ms, buffer 60kB"] {
            // A short path's queues are drained by more of the rate at a time.
            for (rtt, share) in [(5 * MS, 0.7), (80 * MS, 0.85)] {
                let least = least_after(&Scenario { rtt, ..path(&format!("20M 80ms {name}")) });
                assert!(least > share, "{name}, round trip {} ms: {least}", rtt / MS);
            }
        }
    }

    #[test]
    fn marks_shorten_the_queue_and_are_not_losses() {
        let path = path("20M 80ms 0% queue 80ms");
        // Room for all that there is: nothing is lost.
        let unmarked = Scenario { queue: 1 << 40, ..path.clone() };
        let marked = Scenario { mark: Some(path.queue / 40), ..unmarked.clone() };
        let [unmarked, marked] = [unmarked, marked].map(|path| Measured::of(&path, false).expect("no broken promise"));
        assert!(marked.queue_ms < unmarked.queue_ms, "{} and {} ms", marked.queue_ms, unmarked.queue_ms);
        assert!(marked.lost == 0.0 && marked.share[0] > 0.5, "{marked:?}");
    }
}
