//! What an event costs the thread that stamps it, in nanoseconds: off, on, and beside two readings of the clock alone.

use std::hint::black_box;
use std::time::{Duration, Instant};

use visapult_trace::{Recording, Stage, begin, now_ns};

const OFF: u64 = 200_000_000;
/// No more than the ring holds: the writer empties it between bursts.
const BURST: u64 = 4000;
const BURSTS: u32 = 40;

fn main() {
    println!("off:              {:6.2} ns an event", per_event(OFF, || stamp(OFF)));
    let clock = per_event(OFF / 100, read_clock_twice);
    println!("the clock, twice: {clock:6.2} ns");
    let Ok(recording) = Recording::start(std::io::sink(), "nowhere", "cost") else { return };
    stamp(1);
    let mut bursts: Vec<_> = (0..BURSTS)
        .map(|_| {
            std::thread::sleep(Duration::from_millis(120));
            per_event(BURST, || stamp(BURST))
        })
        .collect();
    bursts.sort_by(f64::total_cmp);
    let finished = recording.finish();
    let middle = bursts[bursts.len() / 2];
    println!(
        "on:               {middle:6.2} ns an event (median of {BURSTS} bursts of {BURST}; {} lost)",
        finished.lost
    );
}

fn read_clock_twice() {
    for _ in 0..OFF / 100 {
        black_box((now_ns(), now_ns()));
    }
}

fn stamp(events: u64) {
    for step in 0..events {
        begin(black_box(Stage::Render), 0, black_box(step)).end(step);
    }
}

fn per_event(events: u64, work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64() * 1e9 / events as f64
}
