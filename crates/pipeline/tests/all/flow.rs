//! Flows over loopback: several ranks publish, a back end puts their blocks together over another number of PEs, bit for bit.

mod coming_back;
mod every_step;
mod refusals;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use visapult_pipeline::flow::{FlowOptions, FlowSource, RunState, Watch};
use visapult_publish::{Action, Parameter, ParameterKind, Publisher, PublisherOptions};
use visapult_ripp_net::{Arrival, MemorySink, Offer, Options, Rate, Session, Trust};
use visapult_volume::{Box3, FieldInfo, Grid, ScalarType, StepIndex};
use visapult_volume_io::{ReadRequest, Source};

const PATIENCE: Duration = Duration::from_secs(60);
const SIZE: [usize; 3] = [40, 24, 33];

/// Waits for `condition`.
fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "{what} did not happen");
        thread::yield_now();
    }
}

/// What a sample of a step is: no two alike within 2^24.
fn value(step: StepIndex, field: usize, [x, y, z]: [usize; 3]) -> f32 {
    ((x + SIZE[0] * (y + SIZE[1] * z)) as u64 * 7 + step * 1_001 + field as u64 * 13) as f32
}

fn values(step: StepIndex, field: usize, bounds: &Box3) -> Vec<f32> {
    let [nx, ny, _] = bounds.size();
    let place = |i: usize| [bounds.lo[0] + i % nx, bounds.lo[1] + i / nx % ny, bounds.lo[2] + i / (nx * ny)];
    (0..bounds.volume()).map(|i| value(step, field, place(i))).collect()
}

fn field(name: &str) -> FieldInfo {
    FieldInfo { name: name.to_owned(), unit: String::new(), scalar_type: ScalarType::F32, declared_range: None }
}

fn declared(rank: usize, blocks: &[Box3]) -> PublisherOptions {
    PublisherOptions {
        rank: rank as u32,
        ranks: blocks.len() as u32,
        block: blocks[rank],
        time_unit: "s".to_owned(),
        parameters: vec![Parameter {
            name: "strength".to_owned(),
            unit: "Pa".to_owned(),
            kind: ParameterKind::Number,
            least: 0.0,
            most: 5.0,
            value: 1.0,
        }],
        ..PublisherOptions::of_simulation("test".to_owned(), Grid::of_size(SIZE), vec![field("a"), field("b")])
    }
}

fn listen(options: PublisherOptions) -> Publisher {
    Publisher::listen("127.0.0.1:0".parse().unwrap(), "127.0.0.1", None, options).unwrap()
}

/// Slabs of uneven thickness along an axis.
fn slabs(count: usize, axis: usize) -> Vec<Box3> {
    let cut = |i: usize| (i * i + i) * SIZE[axis] / (count * count + count);
    let slab = |i: usize| {
        let mut slab = Box3::of_size(SIZE);
        (slab.lo[axis], slab.hi[axis]) = (cut(i), cut(i + 1));
        slab
    };
    (0..count).map(slab).collect()
}

fn put(publisher: &mut Publisher, step: StepIndex, block: &Box3) {
    publisher.begin_at(step, step as f64 * 0.5).unwrap();
    for field in 0..2 {
        let write = |out: &mut [f32]| -> Result<(), ()> {
            out.copy_from_slice(&values(step, field, block));
            Ok(())
        };
        publisher.put(field, write).unwrap().unwrap();
    }
    publisher.end().unwrap();
}

/// Ranks that publish until they are told to stop, each at a pace of its own.
struct Ranks {
    urls: String,
    stop: std::sync::Arc<AtomicBool>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Ranks {
    fn start(blocks: &[Box3]) -> Self {
        let stop = std::sync::Arc::new(AtomicBool::new(false));
        let mut urls = Vec::new();
        let mut threads = Vec::new();
        for (rank, &block) in blocks.iter().enumerate() {
            let mut publisher = listen(declared(rank, blocks));
            urls.push(publisher.url().unwrap().to_string());
            let stop = std::sync::Arc::clone(&stop);
            threads.push(thread::spawn(move || {
                let mut step = 0;
                while !stop.load(Ordering::Relaxed) {
                    put(&mut publisher, step, &block);
                    step += 1;
                    thread::park_timeout(Duration::from_millis(4 + rank as u64));
                }
            }));
        }
        Self { urls: urls.join(" "), stop, threads }
    }
}

impl Drop for Ranks {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| thread.join().unwrap());
    }
}

fn assert_right(source: &FlowSource, step: StepIndex, field: usize, bounds: Box3) {
    let mut out = vec![0.0; bounds.volume()];
    source.read(&ReadRequest { field, step, level: 0, bounds }, &mut out).unwrap();
    assert!(out == values(step, field, &bounds), "wrong values in step {step}, field {field}, box {bounds}");
}

/// Steps come from ranks that wait for nobody, and every one that is complete is right.
fn assert_flows(blocks: &[Box3], pes: usize, steps: usize) {
    let ranks = Ranks::start(blocks);
    let source = FlowSource::dial(&ranks.urls, FlowOptions { pes, ..FlowOptions::default() }).unwrap();
    assert_eq!((source.info().name.as_str(), source.info().fields.len()), ("test", 2));
    let mut last = source.steps().last;
    for _ in 0..steps {
        let began = Instant::now();
        let next = source.wait_beyond(last, PATIENCE);
        assert!(next > last, "no step after {last} came within {:?}", began.elapsed());
        last = next;
        assert_eq!(source.time_of(last), Some(last as f64 * 0.5));
        assert_eq!(source.fresh(last), Some(1.0));
        assert_right(&source, last, 0, Box3::of_size(SIZE));
        assert_right(&source, last, 0, Box3::new([3, 5, 7], [29, 6, 31]));
        let whole = ReadRequest { field: 0, step: last, level: 0, bounds: Box3::of_size(SIZE) };
        let shared = source.shared(&whole).unwrap();
        assert_eq!(shared.is_some(), pes == 1, "what a PE has lies as it is read, and nothing else does");
        assert!(shared.is_none_or(|shared| shared.as_ref().as_ref() == values(last, 0, &whole.bounds)));
    }
}

#[test]
fn one_rank_to_one_pe() {
    assert_flows(&[Box3::of_size(SIZE)], 1, 5);
}

#[test]
fn four_ranks_to_three_pes() {
    assert_flows(&slabs(4, 0), 3, 5);
}

#[test]
fn two_ranks_to_seven_pes() {
    assert_flows(&slabs(2, 2), 7, 5);
}

#[test]
fn a_field_that_is_looked_at_later_comes_from_then_on() {
    let ranks = Ranks::start(&slabs(2, 1));
    let source = FlowSource::dial(&ranks.urls, FlowOptions { pes: 2, ..FlowOptions::default() }).unwrap();
    let whole = Box3::of_size(SIZE);
    let mut out = vec![0.0; whole.volume()];
    let deadline = Instant::now() + PATIENCE;
    loop {
        let step = source.wait_beyond(source.steps().last, PATIENCE);
        if source.read(&ReadRequest { field: 1, step, level: 0, bounds: whole }, &mut out).is_ok() {
            assert!(out == values(step, 1, &whole));
            break;
        }
        assert!(Instant::now() < deadline, "field 1 never came");
    }
}

#[test]
fn a_field_that_is_looked_at_while_the_ranks_rest_comes_with_the_step_that_they_are_at() {
    for ranks in [1, 2] {
        let blocks = slabs(ranks, 1);
        let mut publishers: Vec<Publisher> = (0..ranks).map(|rank| listen(declared(rank, &blocks))).collect();
        publishers.iter_mut().zip(&blocks).for_each(|(publisher, block)| put(publisher, 0, block));
        let urls: Vec<String> = publishers.iter().map(|it| it.url().unwrap().to_string()).collect();
        let source = FlowSource::dial(&urls.join(" "), FlowOptions { pes: 2, ..FlowOptions::default() }).unwrap();
        for field in [1, 0] {
            assert_right(&source, 0, field, Box3::of_size(SIZE));
        }
    }
}

#[test]
fn of_a_step_that_came_without_a_field_and_that_the_ranks_have_passed_it_is_said_why_it_has_none() {
    let whole = Box3::of_size(SIZE);
    let mut publisher = listen(declared(0, &[whole]));
    put(&mut publisher, 0, &whole);
    let source = FlowSource::dial(&publisher.url().unwrap().to_string(), FlowOptions::default()).unwrap();
    put(&mut publisher, 1, &whole);
    assert_eq!(source.wait_beyond(0, PATIENCE), 1);
    let request = ReadRequest { field: 1, step: 0, level: 0, bounds: whole };
    let refused = source.read(&request, &mut vec![0.0; whole.volume()]).unwrap_err().to_string();
    assert!(refused.ends_with("step 0 was received without b: nobody looked at that then"), "{refused}");
}

#[test]
fn a_simulation_that_nobody_looks_at_sends_next_to_nothing_and_its_latest_step_at_once_to_who_looks_again() {
    const STEPS: StepIndex = 500;
    let blocks = slabs(1, 2);
    let mut publisher = listen(declared(0, &blocks));
    put(&mut publisher, 0, &blocks[0]);
    let url = publisher.url().unwrap().to_string();
    let mut source = FlowSource::dial(&url, FlowOptions { pes: 2, ..FlowOptions::default() }).unwrap();
    assert_eq!(source.steps().last, 0);
    source.look_away();
    for step in 1..STEPS {
        put(&mut publisher, step, &blocks[0]);
    }
    let sent = publisher.statistics().sent;
    assert!(sent < 40, "{sent} steps were sent to nobody");
    let _look = source.handle().look();
    while source.steps().last < STEPS - 1 {
        let before = source.steps().last;
        assert!(source.wait_beyond(before, PATIENCE) > before, "no step after {before} came");
    }
    assert_right(&source, STEPS - 1, 0, blocks[0]);
}

#[test]
fn without_steps_ahead_one_is_sent_for_each_time_that_somebody_looks() {
    let blocks = slabs(1, 2);
    let mut publisher = listen(declared(0, &blocks));
    put(&mut publisher, 0, &blocks[0]);
    let url = publisher.url().unwrap().to_string();
    let mut source = FlowSource::dial(&url, FlowOptions { ahead: Some(0), ..FlowOptions::default() }).unwrap();
    assert!(source.handle().is_serial());
    source.look_away();
    let mut step = 0;
    for _ in 0..5 {
        let before = source.steps().last;
        drop(source.handle().look());
        eventually("a step after the one before", || {
            let has_come = source.steps().last > before;
            if !has_come {
                step += 1;
                put(&mut publisher, step, &blocks[0]);
                source.wait_beyond(before, Duration::from_millis(1));
            }
            has_come
        });
        for _ in 0..20 {
            step += 1;
            put(&mut publisher, step, &blocks[0]);
        }
    }
    // One more was asked for before the first look ended.
    assert!((6..=7).contains(&publisher.statistics().sent), "{:?}", publisher.statistics());
}

#[test]
fn fields_that_are_watched_come_with_the_first_step() {
    let whole = Box3::of_size(SIZE);
    let mut publisher = listen(declared(0, &[whole]));
    put(&mut publisher, 0, &whole);
    let url = publisher.url().unwrap().to_string();
    for (watch, fields) in [
        (Watch::All, vec![0, 1]),
        (Watch::Named("b".to_owned()), vec![1]),
        (Watch::Named("log10(b)".to_owned()), vec![1]),
    ] {
        let source = FlowSource::dial(&url, FlowOptions { watch, ..FlowOptions::default() }).unwrap();
        for field in fields {
            assert_right(&source, 0, field, whole);
        }
    }
}

#[test]
fn a_field_that_is_not_put_keeps_its_last_values_and_keeps_nobody_waiting() {
    let whole = Box3::of_size(SIZE);
    let mut publisher = listen(declared(0, &[whole]));
    let url = publisher.url().unwrap().to_string();
    let stop = AtomicBool::new(false);
    put(&mut publisher, 0, &whole);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let step = publisher.begin(0.0).unwrap();
                let now = |out: &mut [f32]| -> Result<(), ()> {
                    out.copy_from_slice(&values(step, 0, &whole));
                    Ok(())
                };
                publisher.put(0, now).unwrap().unwrap();
                publisher.end().unwrap();
                thread::park_timeout(Duration::from_millis(4));
            }
        });
        let source = FlowSource::dial(&url, FlowOptions::default()).unwrap();
        let deadline = Instant::now() + PATIENCE;
        let mut out = vec![0.0; whole.volume()];
        let read = loop {
            let step = source.wait_beyond(source.steps().last, PATIENCE);
            if source.read(&ReadRequest { field: 1, step, level: 0, bounds: whole }, &mut out).is_ok() {
                break true;
            }
            if Instant::now() > deadline {
                break false;
            }
        };
        stop.store(true, Ordering::Relaxed);
        assert!(read, "field 1 never came");
        assert!(out == values(0, 1, &whole));
    });
}

#[test]
fn the_last_step_of_a_run_that_ends_arrives() {
    let whole = Box3::of_size(SIZE);
    let blocks = [whole];
    // A step of a field takes some 100 ms.
    let session = Options { rate: Rate::Fixed(10_000_000), ..Options::default() };
    let mut publisher = listen(PublisherOptions { session, ..declared(0, &blocks) });
    let url = publisher.url().unwrap().to_string();
    let publish = thread::spawn(move || {
        let mut step = 0;
        eventually("two steps on their way", || {
            put(&mut publisher, step, &whole);
            step += 1;
            thread::park_timeout(Duration::from_millis(3));
            publisher.statistics().sent >= 2
        });
        // What is under way now is not the last.
        (0..5).for_each(|more| put(&mut publisher, step + more, &whole));
        drop(publisher);
        step + 4
    });
    let source = FlowSource::dial(&url, FlowOptions::default()).unwrap();
    let mut newest = 0;
    while !publish.is_finished() {
        newest = source.wait_beyond(source.steps().last, Duration::from_millis(20));
    }
    let last = publish.join().unwrap();
    if newest < last {
        newest = source.wait_beyond(last - 1, Duration::from_secs(2));
    }
    assert_eq!(newest, last);
    assert_right(&source, last, 0, whole);
}

#[test]
fn four_ranks_are_steered_before_the_same_step() {
    let blocks = slabs(4, 1);
    let stop = std::sync::Arc::new(AtomicBool::new(false));
    let (told, changes) = std::sync::mpsc::channel();
    let mut urls = Vec::new();
    let mut threads = Vec::new();
    for (rank, &block) in blocks.iter().enumerate() {
        let mut publisher = listen(declared(rank, &blocks));
        urls.push(publisher.url().unwrap().to_string());
        let (stop, told) = (std::sync::Arc::clone(&stop), told.clone());
        threads.push(thread::spawn(move || {
            let mut step = 0;
            while !stop.load(Ordering::Relaxed) {
                let steering = publisher.steer();
                steering.changes.into_iter().for_each(|change| told.send((step, change.value)).unwrap());
                if steering.stop {
                    told.send((step, -1.0)).unwrap();
                    return;
                }
                put(&mut publisher, step, &block);
                step += 1;
                thread::park_timeout(Duration::from_millis(5));
            }
        }));
    }
    let source = FlowSource::dial(&urls.join(" "), FlowOptions::default()).unwrap();
    let handle = source.handle();
    let set = |value| Action::Set { name: "strength".to_owned(), value };
    assert!(handle.steer("ann", set(7.0)).unwrap_err().to_string().contains("0 to 5 Pa"));
    handle.steer("ann", set(2.5)).unwrap();
    let got: Vec<_> = (0..4).map(|_| changes.recv_timeout(PATIENCE).unwrap()).collect();
    assert!(got.iter().all(|one| *one == got[0]) && got[0].1 == 2.5, "{got:?}");
    eventually("the new strength", || handle.view().unwrap().1.parameters[0].value == 2.5);
    let (_, view) = handle.view().unwrap();
    assert_eq!((view.log[0].at, view.log[0].problem.clone()), (Some(got[0].0), None));
    handle.steer("bob", Action::Pause).unwrap();
    eventually("a pause", || handle.view().unwrap().1.state == RunState::Paused);
    handle.steer("bob", Action::Step).unwrap();
    handle.steer("bob", Action::Resume).unwrap();
    eventually("a run that goes on", || handle.view().unwrap().1.state == RunState::Running);
    handle.steer("bob", Action::Stop).unwrap();
    let ends: Vec<_> = (0..4).map(|_| changes.recv_timeout(PATIENCE).unwrap()).collect();
    assert!(ends.iter().all(|one| *one == ends[0]) && ends[0].1 == -1.0, "{ends:?}");
    stop.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// What a publisher offers next to whoever speaks to it by hand.
fn offered(session: &Session) -> Offer {
    loop {
        match session.next_arrival(PATIENCE).unwrap() {
            Some(Arrival::Offer(offer)) => return offer,
            Some(Arrival::Note(_)) => {}
            None => panic!("nothing is offered"),
        }
    }
}

#[test]
fn a_step_that_a_back_end_never_was_to_get_is_not_counted_as_missed() {
    let block = Box3::of_size(SIZE);
    let mut publisher = listen(declared(0, &[block]));
    put(&mut publisher, 7, &block);
    let session = Session::dial(publisher.url().unwrap(), &Trust::InsecureLoopback, None, &Options::default()).unwrap();
    session.note(r#"{"type":"subscribe","pes":1,"mode":"reliable"}"#).unwrap();
    let refused = |step: u64| {
        session.note(&format!(r#"{{"type":"want","step":{step},"or_newer":false,"fields":[0]}}"#)).unwrap();
        let gone = format!(r#""gone","step":{step}"#);
        while !matches!(session.next_arrival(PATIENCE).unwrap().unwrap(), Arrival::Note(note) if note.text.contains(&gone))
        {
        }
    };
    refused(3);
    assert_eq!(publisher.statistics().missed, 0);
    put(&mut publisher, 8, &block);
    refused(7);
    assert_eq!(publisher.statistics().missed, 1);
}

#[test]
fn while_a_step_is_under_way_for_long_the_next_is_not_chosen_yet() {
    let block = Box3::of_size(SIZE);
    let slow = Options { rate: Rate::Fixed(100_000), ..Options::default() };
    let mut publisher = listen(PublisherOptions { session: slow, ..declared(0, &[block]) });
    put(&mut publisher, 5, &block);
    let session = Session::dial(publisher.url().unwrap(), &Trust::InsecureLoopback, None, &Options::default()).unwrap();
    session.note(r#"{"type":"subscribe","pes":1,"mode":"reliable"}"#).unwrap();
    let want = |step: u64, or_newer: bool| {
        session.note(&format!(r#"{{"type":"want","step":{step},"or_newer":{or_newer},"fields":[0]}}"#)).unwrap();
    };
    let first = {
        want(0, true);
        offered(&session)
    };
    assert!(first.name.contains(r#""step":5"#), "{}", first.name);
    [0, 0].into_iter().for_each(|step| want(step, true));
    // It has heard all of this once it says that the last will not come.
    want(3, false);
    while !matches!(session.next_arrival(PATIENCE).unwrap().unwrap(), Arrival::Note(note) if note.text.contains("gone"))
    {
    }
    (6..9).for_each(|step| put(&mut publisher, step, &block));
    first.refuse("not this one");
    let next = offered(&session);
    assert!(next.name.contains(r#""step":8"#), "{}", next.name);
}

#[test]
fn the_newest_step_is_offered_before_it_is_wanted_and_again_only_where_it_was_refused() {
    let block = Box3::of_size(SIZE);
    let mut publisher = listen(declared(0, &[block]));
    put(&mut publisher, 7, &block);
    let dial = || {
        let session =
            Session::dial(publisher.url().unwrap(), &Trust::InsecureLoopback, None, &Options::default()).unwrap();
        session.note(r#"{"type":"subscribe","pes":1,"mode":"reliable","newest":[0]}"#).unwrap();
        session
    };
    let want = |session: &Session, step: u64| {
        session.note(&format!(r#"{{"type":"want","step":{step},"or_newer":false,"fields":[0]}}"#)).unwrap();
    };
    let takes = |session: &Session, offer: Offer| {
        let incoming = offer.accept(Arc::new(MemorySink::new(block.volume() * 4)));
        incoming.wait().unwrap();
        assert!(session.is_alive());
    };
    let [first, second] = [dial(), dial()];
    let [refused, taken] = [&first, &second].map(offered);
    assert!(refused.name.contains(r#""step":7"#) && taken.name == refused.name, "{}", taken.name);
    refused.refuse("not this one");
    want(&first, 7);
    let again = offered(&first);
    assert_eq!(again.name, taken.name);
    takes(&first, again);
    want(&second, 7);
    want(&second, 8);
    takes(&second, taken);
    put(&mut publisher, 8, &block);
    assert!(offered(&second).name.contains(r#""step":8"#));
}
