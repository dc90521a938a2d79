//! Programs that ask that every step arrives.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use visapult_pipeline::flow::{FlowOptions, FlowSource};
use visapult_publish::{Delivery, PublisherOptions};
use visapult_ripp_net::Options;
use visapult_volume::{Box3, StepIndex};
use visapult_volume_io::Source as _;

use super::{PATIENCE, SIZE, assert_right, declared, listen, put, slabs};

/// Ranks whose every step is to arrive, each as fast as it is let.
fn every_step(blocks: &[Box3], delivery: Delivery, steps: StepIndex) -> (String, Vec<thread::JoinHandle<()>>) {
    let mut urls = Vec::new();
    let start = |(rank, &block): (usize, &Box3)| {
        let mut publisher = listen(PublisherOptions { delivery, ..declared(rank, blocks) });
        urls.push(publisher.url().unwrap().to_string());
        thread::spawn(move || (0..steps).for_each(|step| put(&mut publisher, step, &block)))
    };
    let threads = blocks.iter().enumerate().map(start).collect();
    (urls.join(" "), threads)
}

#[test]
fn where_every_step_is_to_arrive_it_does_at_a_slow_back_end_bit_for_bit() {
    const STEPS: StepIndex = 25;
    for blocks in [vec![Box3::of_size(SIZE)], slabs(3, 0)] {
        let (urls, ranks) = every_step(&blocks, Delivery::EveryFromFirst, STEPS);
        let session = Options { most_receive_bps: 60_000_000, ..Options::default() };
        let source = FlowSource::dial(&urls, FlowOptions { pes: 2, session, ..FlowOptions::default() }).unwrap();
        // Dropping a publisher waits until all has arrived.
        ranks.into_iter().for_each(|rank| rank.join().unwrap());
        let deadline = Instant::now() + PATIENCE;
        while source.steps().last < STEPS - 1 && Instant::now() < deadline {
            source.wait_beyond(source.steps().last, Duration::from_millis(50));
        }
        assert_eq!((source.steps().first, source.steps().last), (0, STEPS - 1));
        for step in 0..STEPS {
            assert_right(&source, step, 0, Box3::of_size(SIZE));
            assert_eq!(source.fresh(step), Some(1.0));
        }
    }
}

#[test]
fn where_every_step_is_to_arrive_nobody_is_waited_for_who_is_not_there() {
    let blocks = slabs(2, 2);
    let (urls, ranks) = every_step(&blocks, Delivery::Every, 400);
    let source = FlowSource::dial(&urls, FlowOptions::default()).unwrap();
    let first = source.steps().last;
    source.wait_beyond(first, PATIENCE);
    drop(source);
    ranks.into_iter().for_each(|rank| rank.join().unwrap());
}

#[test]
fn two_back_ends_get_every_step_though_one_comes_late() {
    const STEPS: StepIndex = 60;
    const LATE: StepIndex = 20;
    let whole = Box3::of_size(SIZE);
    let options = PublisherOptions { delivery: Delivery::EveryFromFirst, ..declared(0, &[whole]) };
    let mut publisher = listen(options);
    let url = publisher.url().unwrap().to_string();
    let (begun, late_comes) = mpsc::channel();
    let rank = thread::spawn(move || {
        for step in 0..STEPS {
            if step == LATE {
                late_comes.recv().unwrap();
            }
            put(&mut publisher, step, &whole);
        }
    });
    let early = FlowSource::dial(&url, FlowOptions::default()).unwrap();
    // It is shown the step before, while the rank waits.
    let come = |source: &FlowSource, last| {
        let deadline = Instant::now() + PATIENCE;
        while source.steps().last < last {
            assert!(Instant::now() < deadline, "no step after {} came", source.steps().last);
            source.wait_beyond(source.steps().last, Duration::from_millis(50));
        }
    };
    come(&early, LATE - 1);
    let late = FlowSource::dial(&url, FlowOptions::default()).unwrap();
    begun.send(()).unwrap();
    rank.join().unwrap();
    for (source, first) in [(&early, 0), (&late, LATE - 1)] {
        come(source, STEPS - 1);
        assert_eq!((source.steps().first, source.steps().last), (first, STEPS - 1));
        (first..STEPS).for_each(|step| assert_right(source, step, 0, whole));
    }
}
