//! The recorder of a process, from the stamps to the file.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use visapult_trace::{
    Event, Recording, Stage, StartError, Tap, Timeline, Trace, begin, begin_run, is_on, now_ns, parse, record,
    set_offset,
};

/// The recorder is the process's: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for `condition`.
fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "{what} did not happen");
        thread::yield_now();
    }
}

#[derive(Clone, Default)]
struct Memory {
    bytes: Arc<Mutex<Vec<u8>>>,
    room: Option<usize>,
}

impl Write for Memory {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        let mut bytes = self.bytes.lock().unwrap();
        if self.room.is_some_and(|room| bytes.len() + more.len() > room) {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        bytes.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Memory {
    fn trace(&self) -> Trace {
        parse(&self.bytes.lock().unwrap(), "memory").unwrap()
    }
}

#[test]
fn what_several_threads_stamp_is_written_with_its_times() {
    let _alone = alone();
    let memory = Memory::default();
    let recording = Recording::start(memory.clone(), "memory", "test").unwrap();
    let before = now_ns();
    thread::scope(|scope| {
        for pe in 0..4 {
            scope.spawn(move || {
                for step in 0..100 {
                    begin(Stage::Render, pe, step).end(step * 10);
                }
            });
        }
    });
    let after = now_ns();
    let finished = recording.finish();
    assert_eq!((finished.written, finished.lost), (400, 0));
    let trace = memory.trace();
    assert!(trace.complete);
    assert_eq!(trace.processes[0].role, "test");
    assert!(!trace.processes[0].host.is_empty());
    for pe in 0..4 {
        let of_pe = trace.events.iter().map(|placed| placed.event).filter(|event| event.member == pe);
        for (step, event) in (0..100).zip(of_pe) {
            assert_eq!((event.step, event.bytes, event.stage), (step, step * 10, Stage::Render));
            assert!(before <= event.start_ns && event.start_ns <= event.end_ns && event.end_ns <= after);
        }
    }
}

#[test]
fn nothing_is_stamped_without_a_recording_and_what_has_begun_before_is_not_lost_on_the_way() {
    let _alone = alone();
    assert!(!is_on());
    let early = begin(Stage::Load, 0, 1);
    let memory = Memory::default();
    let recording = Recording::start(memory.clone(), "memory", "test").unwrap();
    assert!(is_on());
    early.end(1);
    begin(Stage::Load, 0, 2).end(2);
    let late = begin(Stage::Load, 0, 3);
    assert_eq!(recording.finish().written, 1);
    assert!(!is_on());
    late.end(3);
    assert_eq!(memory.trace().events[0].event.step, 2);
}

#[test]
fn one_recording_at_a_time_and_another_afterwards() {
    let _alone = alone();
    for _ in 0..3 {
        let memory = Memory::default();
        let recording = Recording::start(memory.clone(), "memory", "test").unwrap();
        assert!(matches!(Recording::start(io::sink(), "sink", "test"), Err(StartError::Already)));
        begin(Stage::Send, 1, 1).end(0);
        drop(recording);
        assert_eq!(memory.trace().events.len(), 1);
    }
}

#[test]
fn events_that_come_too_fast_are_dropped_and_counted() {
    let _alone = alone();
    let memory = Memory::default();
    let recording = Recording::start(memory.clone(), "memory", "test").unwrap();
    const EVENTS: u64 = 100_000;
    for step in 0..EVENTS {
        begin(Stage::Encode, 0, step).end(0);
    }
    let finished = recording.finish();
    assert_eq!(finished.written + finished.lost, EVENTS);
    assert_eq!(memory.trace().events.len() as u64, finished.written);
    assert_eq!(memory.trace().lost, finished.lost);
}

#[test]
fn a_full_disk_ends_the_recording_and_nothing_else() {
    let _alone = alone();
    let memory = Memory { room: Some(2000), ..Memory::default() };
    let recording = Recording::start(memory.clone(), "memory", "test").unwrap();
    let mut step = 0;
    eventually("the end of the recording", || {
        begin(Stage::Render, 0, step).end(0);
        step += 1;
        !is_on()
    });
    begin(Stage::Render, 0, step).end(0);
    let finished = recording.finish();
    assert_eq!(finished.trouble.unwrap().kind(), io::ErrorKind::StorageFull);
    assert!(!memory.trace().complete);
    Recording::start(io::sink(), "sink", "test").unwrap();
}

#[test]
fn the_file_of_a_recording_is_left_alone_by_another() {
    let _alone = alone();
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("left-alone.json");
    let recording = Recording::to_file(&file, "test").unwrap();
    begin(Stage::Send, 1, 1).end(0);
    assert!(matches!(Recording::to_file(&file, "test"), Err(StartError::Already)));
    begin(Stage::Send, 2, 1).end(0);
    assert_eq!(recording.finish().written, 2);
    assert_eq!(visapult_trace::read(&file).unwrap().events.len(), 2);
}

#[test]
fn a_file_that_cannot_be_made_is_named() {
    let _alone = alone();
    let problem = Recording::to_file("/no/such/folder/trace.json".as_ref(), "test").unwrap_err();
    assert!(problem.to_string().contains("/no/such/folder/trace.json"), "{problem}");
    assert!(!is_on());
}

#[test]
fn times_are_written_in_the_sessions_clock_once_that_is_known() {
    let _alone = alone();
    let memory = Memory::default();
    let recording = Recording::start(memory.clone(), "memory", "test").unwrap();
    let event = Event { stage: Stage::Load, member: 0, step: 1, bytes: 0, start_ns: 1_000, end_ns: 3_000 };
    record(event);
    eventually("a trace that can be read", || parse(&memory.bytes.lock().unwrap(), "memory").is_ok());
    let before = memory.trace().processes.remove(0);
    assert!(!before.aligned);
    // What was written before it was known is read in the session's clock all the same.
    set_offset(5_000);
    record(Event { step: 2, ..event });
    drop(recording);
    let timeline = Timeline::of([memory.trace()]);
    assert!(timeline.processes[0].aligned);
    let times: Vec<_> = timeline.events.iter().map(|placed| (placed.event.start_ns, placed.event.end_ns)).collect();
    assert_eq!(times, [(6_000, 8_000); 2]);
    // The zero of that clock was as much earlier.
    assert_eq!(timeline.processes[0].epoch_ns, before.epoch_ns.map(|epoch_ns| epoch_ns - 5_000));
    set_offset(0);
}

#[test]
fn who_looks_on_gets_the_latest_events_with_a_recording_and_without() {
    let _alone = alone();
    let tap = Tap::open();
    assert!(is_on());
    begin(Stage::Render, 3, 7).end(5);
    let memory = Memory::default();
    let recording = Recording::start(memory.clone(), "memory", "test").unwrap();
    begin(Stage::Render, 3, 8).end(5);
    drop(recording);
    assert!(is_on());
    assert_eq!(memory.trace().events.len(), 1);
    assert_eq!(tap.take().iter().map(|event| event.step).collect::<Vec<_>>(), [7, 8]);
    for step in 0..10_000 {
        begin(Stage::Render, 3, step).end(0);
    }
    let kept = tap.take();
    assert!(kept.len() <= 4096 && kept.last().unwrap().step == 9_999);
    drop(tap);
    assert!(!is_on());
}

#[test]
fn where_another_run_begins_is_in_the_file() {
    let _alone = alone();
    let memory = Memory::default();
    begin_run();
    let recording = Recording::start(memory.clone(), "memory", "test").unwrap();
    begin(Stage::Receive, 0, 7).end(1);
    begin_run();
    begin(Stage::Receive, 0, 0).end(1);
    drop(recording);
    let (last, number, count) = Timeline::of([memory.trace()]).of_one_run();
    assert_eq!((last.steps(), number, count), (vec![0], 2, 2));
}
