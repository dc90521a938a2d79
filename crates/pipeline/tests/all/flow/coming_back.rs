//! Ranks that go, and come back: as they were, or anew.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use visapult_pipeline::flow::{FlowDoor, FlowOptions, FlowSource};
use visapult_publish::{Delivery, Publisher, PublisherOptions};
use visapult_ripp_net::{Mode, RippUrl};
use visapult_volume::{Box3, StepIndex};
use visapult_volume_io::{ReadRequest, Source as _};

use super::{PATIENCE, SIZE, assert_right, declared, listen, put, slabs, values};

/// The flow, once all ranks are there.
fn opened(door: FlowDoor) -> FlowSource {
    let Ok(source) = door.wait(PATIENCE).unwrap() else { panic!("the ranks never came") };
    source
}

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
    let door = FlowSource::listen(at, "127.0.0.1", None, FlowOptions { pes: 2, ..FlowOptions::default() }).unwrap();
    let url = door.url().clone();
    let stop = Arc::new(AtomicBool::new(false));
    let run = |rank: usize, block: Box3, options: PublisherOptions, pace: Duration| {
        let (url, stop) = (url.clone(), Arc::clone(&stop));
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
    let source = opened(door);
    // The span of steps means nothing before the first.
    assert!(source.handle().has_steps_within(PATIENCE));
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

/// Ranks that dial, and wait for nobody.
struct Dialled {
    url: RippUrl,
    blocks: Vec<Box3>,
    ranks: Vec<Option<Publisher>>,
    /// The step that those do next which have gone on.
    next: StepIndex,
}

impl Dialled {
    fn new(ranks: usize, options: FlowOptions) -> (Self, FlowSource) {
        let door = FlowSource::listen("127.0.0.1:0".parse().unwrap(), "127.0.0.1", None, options).unwrap();
        let (url, blocks) = (door.url().clone(), slabs(ranks, 2));
        let mut dialled = Self { url, blocks, ranks: (0..ranks).map(|_| None).collect(), next: 0 };
        (0..ranks).for_each(|rank| dialled.start(rank));
        (dialled, opened(door))
    }

    /// A rank begins, and is at the back end before it does a step.
    fn start(&mut self, rank: usize) {
        let publisher = Publisher::dial(&self.url, declared(rank, &self.blocks)).unwrap();
        let deadline = Instant::now() + PATIENCE;
        while publisher.statistics().attached == 0 {
            assert!(Instant::now() < deadline, "rank {rank} is not let in");
            thread::yield_now();
        }
        self.ranks[rank] = Some(publisher);
    }

    /// Those that are there do their next step, but for one.
    fn go_on(&mut self, but: Option<usize>) {
        for (rank, publisher) in self.ranks.iter_mut().enumerate() {
            if let Some(publisher) = publisher.as_mut().filter(|_| Some(rank) != but) {
                put(publisher, self.next, &self.blocks[rank]);
            }
        }
        self.next += 1;
    }

    /// The next step that is shown while `go_on` is done again and again, and is as it is wanted.
    fn shown(
        &mut self,
        source: &FlowSource,
        wanted: &dyn Fn(f64) -> bool,
        go_on: &mut dyn FnMut(&mut Self),
    ) -> StepIndex {
        let deadline = Instant::now() + PATIENCE;
        let mut last = source.steps().last;
        loop {
            assert!(Instant::now() < deadline, "nothing after step {last} is shown as it should be");
            go_on(self);
            let step = source.wait_beyond(last, Duration::from_millis(10));
            if step > last && source.fresh(step).is_some_and(wanted) {
                return step;
            }
            last = step;
        }
    }
}

/// Does it, and waits until it is known at the back end.
fn until_one_comes_or_goes(source: &FlowSource, act: impl FnOnce()) {
    let comings = source.handle().comings();
    act();
    let deadline = Instant::now() + PATIENCE;
    while source.handle().comings() == comings {
        assert!(Instant::now() < deadline, "no rank has come or gone");
        thread::yield_now();
    }
}

fn is_whole(fresh: f64) -> bool {
    fresh == 1.0
}

fn has_hole(fresh: f64) -> bool {
    fresh < 1.0
}

#[test]
fn a_rank_that_begins_again_is_left_out_until_it_has_caught_up_and_the_others_are_shown() {
    let (mut ranks, source) = Dialled::new(3, FlowOptions { pes: 2, ..FlowOptions::default() });
    let whole = ranks.shown(&source, &is_whole, &mut |ranks| ranks.go_on(None));
    assert_right(&source, whole, 0, Box3::of_size(SIZE));
    ranks.ranks[1] = None;
    ranks.shown(&source, &has_hole, &mut |ranks| ranks.go_on(None));
    (0..100).for_each(|_| ranks.go_on(None));
    until_one_comes_or_goes(&source, || ranks.start(1));
    let mut behind = 0..50;
    for _ in 0..5 {
        let step = ranks.shown(&source, &has_hole, &mut |ranks| {
            if let (Some(publisher), Some(step)) = (&mut ranks.ranks[1], behind.next()) {
                put(publisher, step, &ranks.blocks[1]);
            }
            ranks.go_on(Some(1));
        });
        [0, 2].into_iter().for_each(|rank| assert_right(&source, step, 0, ranks.blocks[rank]));
        let missing = source.handle().freshness(step).unwrap().parts;
        let [part] = missing[..] else { panic!("{missing:?}") };
        assert_eq!(part.rank, 1);
        assert_right_of(&source, step, part.step.unwrap(), ranks.blocks[1]);
    }
    for step in behind.end..ranks.next {
        put(ranks.ranks[1].as_mut().unwrap(), step, &ranks.blocks[1]);
    }
    let again = ranks.shown(&source, &is_whole, &mut |ranks| ranks.go_on(None));
    assert_right(&source, again, 0, Box3::of_size(SIZE));
    assert_eq!(source.handle().freshness(again).unwrap().missing, 0);
}

/// What is shown in a step is of `before`.
fn assert_right_of(source: &FlowSource, step: StepIndex, before: StepIndex, bounds: Box3) {
    let mut out = vec![0.0; bounds.volume()];
    source.read(&ReadRequest { field: 0, step, level: 0, bounds }, &mut out).unwrap();
    assert!(out == values(before, 0, &bounds), "in step {step} is not step {before} of box {bounds}");
}

#[test]
fn ranks_that_begin_again_one_after_the_other_begin_a_run_once_all_have() {
    let (mut ranks, source) = Dialled::new(3, FlowOptions { pes: 2, ..FlowOptions::default() });
    (0..100).for_each(|_| ranks.go_on(None));
    let late = ranks.shown(&source, &is_whole, &mut |ranks| ranks.go_on(None));
    assert!(late > 20);
    for rank in [1, 2, 0] {
        until_one_comes_or_goes(&source, || ranks.ranks[rank] = None);
        until_one_comes_or_goes(&source, || ranks.start(rank));
    }
    ranks.next = 0;
    let deadline = Instant::now() + PATIENCE;
    while source.steps().last >= late {
        assert!(Instant::now() < deadline, "the second run is not shown");
        ranks.go_on(None);
        source.wait_beyond(StepIndex::MAX, Duration::from_millis(20));
    }
    let step = ranks.shown(&source, &is_whole, &mut |ranks| ranks.go_on(None));
    assert_right(&source, step, 0, Box3::of_size(SIZE));
}

#[test]
fn where_every_step_is_to_arrive_those_of_the_others_do_while_a_rank_that_begins_again_catches_up() {
    let options = FlowOptions { mode: Mode::Lossy, ..FlowOptions::default() };
    let door = FlowSource::listen("127.0.0.1:0".parse().unwrap(), "127.0.0.1", None, options).unwrap();
    let (url, blocks) = (door.url().clone(), slabs(3, 1));
    let run = |rank: usize, pace: Duration| {
        let options = PublisherOptions { delivery: Delivery::EveryFromFirst, ..declared(rank, &blocks) };
        let (url, block, stop) = (url.clone(), blocks[rank], Arc::new(AtomicBool::new(false)));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut publisher = Publisher::dial(&url, options).unwrap();
            for step in (0..).take_while(|_| !stopped.load(Ordering::Relaxed)) {
                put(&mut publisher, step, &block);
                thread::park_timeout(pace);
            }
        });
        move || {
            stop.store(true, Ordering::Relaxed);
            thread.join().unwrap();
        }
    };
    let pace = Duration::from_millis(4);
    let [first, second, third] = [0, 1, 2].map(|rank| run(rank, pace));
    let source = opened(door);
    let next = |wanted: &dyn Fn(StepIndex) -> bool| {
        let deadline = Instant::now() + PATIENCE;
        let mut step = source.steps().last;
        while !wanted(step) {
            assert!(Instant::now() < deadline, "step {step} is the last that is shown");
            step = source.wait_beyond(step, Duration::from_millis(50));
        }
        step
    };
    next(&|step| step > 100 && source.fresh(step) == Some(1.0));
    second();
    let alone = next(&|step| source.fresh(step).is_some_and(has_hole));
    let second = run(1, Duration::ZERO);
    let again = next(&|step| step > alone && source.fresh(step) == Some(1.0));
    // In step with the others from here on.
    let last = next(&|step| step >= again + 20);
    let mut compared = 0;
    for step in alone..=last {
        let freshness = source.handle().freshness(step).unwrap_or_else(|| panic!("step {step} is lost"));
        // What lacks more than the rank that catches up has lost datagrams, as a lossy flow may.
        let is_absent = freshness.parts.iter().any(|part| part.rank == 1 && part.step != Some(step));
        let absent = if is_absent { blocks[1].volume() } else { 0 };
        let most_fresh = 1.0 - absent as f64 / Box3::of_size(SIZE).volume() as f64;
        if freshness.fresh < most_fresh - 1e-6 {
            continue;
        }
        compared += 1;
        [0, 2].into_iter().for_each(|rank| assert_right(&source, step, 0, blocks[rank]));
        if step >= again {
            assert_right(&source, step, 0, Box3::of_size(SIZE));
        }
    }
    assert!(compared > 0, "datagrams of all steps were lost");
    first();
    second();
    third();
}
