use super::*;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

fn facts(length: u32) -> Facts {
    Facts { length, ecn_capable: true, protocol: Protocol::Udp, ports: [7, 9] }
}

/// Sends packets of 1000 bytes every `every` nanoseconds for `time`, and collects what happens, with the time of arrival.
struct Run {
    link: Link<u64>,
    arrived: Vec<(u64, u64, bool)>,
    dropped: Vec<u64>,
}

impl Run {
    fn new(changes: &[&str]) -> Self {
        let mut settings = Settings::default();
        for change in changes {
            settings.apply(&change.parse().unwrap());
        }
        Self { link: Link::new(&settings, true, 11), arrived: Vec::new(), dropped: Vec::new() }
    }

    fn send(mut self, every: u64, from: u64, to: u64) -> Self {
        let mut now = from;
        while now < to {
            self.step(now, Some(facts(1000)));
            now += every;
        }
        self
    }

    fn step(&mut self, now: u64, offered: Option<Facts>) {
        let (arrived, dropped) = (&mut self.arrived, &mut self.dropped);
        let mut on = |event| match event {
            Event::Arrived { packet, due, marked } => arrived.push((packet, due, marked)),
            Event::Dropped(packet) => dropped.push(packet),
            Event::Copied(_) => {}
        };
        if let Some(facts) = offered {
            self.link.offer(now, facts, now, &mut on);
        }
        self.link.advance(now, &mut on);
    }

    fn finish(mut self) -> Self {
        while let Some(due) = self.link.next_due() {
            self.step(due, None);
        }
        self
    }

    fn change(mut self, now: u64, changes: &[&str]) -> Self {
        let mut settings = self.link.settings.clone();
        for change in changes {
            settings.apply(&change.parse().unwrap());
        }
        self.link.change(&settings, now, &mut |_| {});
        self
    }
}

#[test]
fn a_lone_packet_takes_its_serialisation_and_the_delay() {
    let run = Run::new(&["rate=8M", "rtt=80ms"]).send(SECOND, 0, 1).finish();
    assert_eq!(run.arrived, [(0, MS + 40 * MS, false)]);
}

#[test]
fn the_long_run_rate_is_exact_at_any_rate() {
    for rate in [1_000_003, 7_777_777, 999_999_937_u64] {
        let run = Run::new(&[&format!("rate={rate}"), "queue=1GB"]);
        let mut run = run;
        for _ in 0..10_000 {
            run.step(0, Some(facts(1000)));
        }
        let run = run.finish();
        let last = run.arrived.last().unwrap().1;
        let exact = (10_000_u128 * 8000 * 1_000_000_000 / u128::from(rate)) as u64;
        assert!(last.abs_diff(exact) <= 1, "{rate}: {last} instead of {exact}");
    }
}

#[test]
fn what_exceeds_the_rate_fills_the_queue_and_then_drops() {
    // 16 Mbit/s into 8 Mbit/s with a queue of 20 packets for one second.
    let run = Run::new(&["rate=8M", "queue=20000"]).send(500_000, 0, SECOND).finish();
    assert!((1015..=1022).contains(&run.arrived.len()), "{}", run.arrived.len());
    assert_eq!(run.arrived.len() + run.dropped.len(), 2000);
    let counters = run.link.counters();
    assert_eq!(counters.queue_max_bytes, 20_000);
    assert_eq!(counters.dropped.queue, run.dropped.len() as u64);
    assert!((18_000..=20_000).contains(&counters.queue_max_us), "{}", counters.queue_max_us);
}

#[test]
fn never_more_than_the_rate_and_one_packet_arrives_in_any_interval() {
    let run = Run::new(&["rate=8M", "rtt=10ms", "queue=100ms"]).send(300_000, 0, SECOND / 2).finish();
    for (i, (_, from, _)) in run.arrived.iter().enumerate() {
        for (j, (_, to, _)) in run.arrived.iter().enumerate().skip(i).take(50) {
            assert!((j - i) as u64 * MS <= to - from, "{i} to {j}");
        }
    }
}

#[test]
fn loss_takes_its_share_after_the_queue() {
    let run = Run::new(&["rate=100M", "loss=1%"]).send(100_000, 0, 20 * SECOND).finish();
    let lost = run.link.counters().dropped.loss;
    // Four standard deviations of a binomial with n = 200,000.
    assert!(lost.abs_diff(2000) < 178, "{lost}");
    assert_eq!(lost as usize, run.dropped.len());
}

#[test]
fn a_change_of_rate_applies_to_what_waits() {
    let mut run = Run::new(&["rate=8M", "queue=1GB"]);
    for _ in 0..20 {
        run.step(0, Some(facts(1000)));
    }
    let run = run.change(10 * MS, &["rate=80M"]).finish();
    assert_eq!(run.arrived.last().unwrap().1, 10 * MS + MS);
}

#[test]
fn a_shorter_path_lets_new_packets_overtake() {
    let run = Run::new(&["rate=8M", "rtt=80ms"]).send(2 * MS, 0, 10 * MS).change(10 * MS, &["rtt=10ms"]);
    let run = run.send(2 * MS, 10 * MS, 20 * MS).finish();
    let order: Vec<u64> = run.arrived.iter().map(|(packet, ..)| packet / MS).collect();
    assert_eq!(order, [10, 12, 14, 16, 18, 0, 2, 4, 6, 8]);
}

#[test]
fn jitter_keeps_the_order_and_reordering_does_not() {
    let steady = Run::new(&["rate=100M", "jitter=5ms"]).send(MS, 0, SECOND).finish();
    assert!(steady.arrived.is_sorted_by_key(|(packet, ..)| *packet));
    assert!(steady.arrived.is_sorted_by_key(|(_, due, _)| *due));
    let mixed = Run::new(&["rate=100M", "reorder=10%", "reorder-by=5ms"]).send(MS, 0, SECOND).finish();
    assert!(!mixed.arrived.is_sorted_by_key(|(packet, ..)| *packet));
    assert!(mixed.link.counters().reordered.abs_diff(100) < 40);
    assert_eq!(mixed.arrived.len(), 1000);
}

#[test]
fn duplicates_arrive_twice() {
    let run = Run::new(&["rate=100M", "duplicate=100%"]).send(MS, 0, 10 * MS).finish();
    assert_eq!(run.arrived.len(), 20);
}

#[test]
fn packets_that_waited_too_long_are_marked() {
    let run = Run::new(&["rate=8M", "queue=100ms", "ce-above=5ms"]);
    let mut run = run;
    for _ in 0..10 {
        run.step(0, Some(facts(1000)));
    }
    let run = run.finish();
    let marked: Vec<bool> = run.arrived.iter().map(|(_, _, marked)| *marked).collect();
    assert_eq!(marked, [false, false, false, false, false, false, true, true, true, true]);
}

#[test]
fn blocked_and_oversized_packets_vanish() {
    let blocked = Run::new(&["block=udp"]).send(MS, 0, 5 * MS).finish();
    assert_eq!((blocked.arrived.len(), blocked.link.counters().dropped.blocked), (0, 5));
    for (port, arrived) in [("block=udp:9", 0), ("block=udp:8", 5)] {
        assert_eq!(Run::new(&[port]).send(MS, 0, 5 * MS).finish().arrived.len(), arrived, "{port}");
    }
    let hole = Run::new(&["mtu-hole=999"]).send(MS, 0, 5 * MS).finish();
    assert_eq!((hole.arrived.len(), hole.link.counters().dropped.mtu_hole), (0, 5));
}

#[test]
fn the_policer_drops_without_delaying() {
    let run = Run::new(&["rate=100M", "policer=8M/10000"]).send(500_000, 0, SECOND).finish();
    assert!((1005..=1012).contains(&run.arrived.len()), "{}", run.arrived.len());
    assert!(run.arrived.iter().all(|(sent, due, _)| due - sent == 80_000));
}

#[test]
fn the_same_seed_makes_the_same_choices() {
    let run = || Run::new(&["loss=5%", "reorder=5%", "duplicate=5%"]).send(MS / 10, 0, SECOND).finish().arrived;
    assert_eq!(run(), run());
}
