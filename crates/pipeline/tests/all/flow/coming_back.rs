//! Ranks that go, and come back: as they were, or anew.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use visapult_pipeline::flow::{FlowOptions, FlowSource, Publisher, PublisherOptions};
use visapult_ripp_net::Mode;
use visapult_volume::Box3;
use visapult_volume_io::{ReadRequest, Source as _};

use super::{PATIENCE, SIZE, assert_right, declared, listen, put, slabs, values};

#[test]
fn a_rank_that_dies_leaves_its_last_values_and_the_others_go_on() {
    let blocks = slabs(2, 0);
    let mut publishers: Vec<Publisher> = (0..2).map(|rank| listen(declared(rank, &blocks))).collect();
    let urls: Vec<String> = publishers.iter().map(|publisher| publisher.url().unwrap().to_string()).collect();
    for (publisher, block) in publishers.iter_mut().zip(&blocks) {
        put(publisher, 0, block);
    }
    let options = FlowOptions { pes: 2, mode: Mode::Lossy, ..FlowOptions::default() };
    let source = FlowSource::dial(&urls.join(" "), options).unwrap();
    assert_right(&source, 0, 0, Box3::of_size(SIZE));
    drop(publishers.pop());
    let mut step = 0;
    let deadline = Instant::now() + PATIENCE;
    while source.steps().last == 0 {
        assert!(Instant::now() < deadline, "nothing came of the rank that lives");
        step += 1;
        put(&mut publishers[0], step, &blocks[0]);
        source.wait_beyond(0, Duration::from_millis(20));
    }
    let newest = source.steps().last;
    assert!(source.fresh(newest).unwrap() < 1.0);
    assert_right(&source, newest, 0, blocks[0]);
    let mut kept = vec![0.0; blocks[1].volume()];
    source.read(&ReadRequest { field: 0, step: newest, level: 0, bounds: blocks[1] }, &mut kept).unwrap();
    assert!(kept == values(0, 0, &blocks[1]));
}

#[test]
fn ranks_may_dial_and_a_run_that_is_started_anew_is_shown_from_its_beginning() {
    let blocks = slabs(3, 2);
    let at = "127.0.0.1:0".parse().unwrap();
    let mut door = FlowSource::listen(at, "127.0.0.1", None, FlowOptions { pes: 2, ..FlowOptions::default() }).unwrap();
    let url = door.url().clone();
    let stop = std::sync::Arc::new(AtomicBool::new(false));
    let run = |rank: usize, block: Box3, options: PublisherOptions, pace: Duration| {
        let (url, stop) = (url.clone(), std::sync::Arc::clone(&stop));
        thread::spawn(move || {
            let mut publisher = Publisher::dial(&url, options).unwrap();
            let mut step = 0;
            while !stop.load(Ordering::Relaxed) {
                put(&mut publisher, step, &block);
                step += 1;
                thread::park_timeout(pace + Duration::from_millis(rank as u64));
            }
        })
    };
    let start = |pace| (0..3).map(|rank| run(rank, blocks[rank], declared(rank, &blocks), pace)).collect::<Vec<_>>();
    let ranks = start(Duration::from_millis(3));
    let source = loop {
        match door.wait(PATIENCE).unwrap() {
            Ok(source) => break source,
            Err(waiting) => door = waiting,
        }
    };
    // The span of steps means nothing before the first.
    assert!(source.helm().has_steps_within(PATIENCE));
    for _ in 0..3 {
        let step = source.wait_beyond(source.steps().last, PATIENCE);
        assert_right(&source, step, 0, Box3::of_size(SIZE));
    }
    let late = source.wait_beyond(source.steps().last + 100, PATIENCE);
    stop.store(true, Ordering::Relaxed);
    ranks.into_iter().for_each(|rank| rank.join().unwrap());
    stop.store(false, Ordering::Relaxed);
    // Slow enough that it is seen long before it gets as far as the first.
    let again = start(Duration::from_millis(50));
    let deadline = Instant::now() + PATIENCE;
    while source.steps().last >= late {
        assert!(Instant::now() < deadline, "the second run is not shown");
        thread::park_timeout(Duration::from_millis(5));
    }
    for _ in 0..3 {
        let step = source.wait_beyond(source.steps().last, PATIENCE);
        assert!(step < late);
        assert_right(&source, step, 0, Box3::of_size(SIZE));
    }
    stop.store(true, Ordering::Relaxed);
    again.into_iter().for_each(|rank| rank.join().unwrap());
}
