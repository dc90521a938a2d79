//! Trace files: written, read, cut off, damaged, put together.

use std::path::PathBuf;

use visapult_trace::{Anew, Event, Placed, PlotOptions, Stage, Summary, Timeline, TraceError, lifelines, parse};

use crate::synthetic::{MS, event, process, run, timeline};

fn written(timeline: &Timeline) -> Vec<u8> {
    let mut bytes = Vec::new();
    timeline.write(&mut bytes).unwrap();
    bytes
}

#[test]
fn what_is_written_is_read() {
    let mut run = run(true, 3, 5);
    run.lost = 7;
    let trace = parse(&written(&run), "run.json").unwrap();
    assert!(trace.complete);
    assert_eq!(Timeline::of([trace]), run);
}

#[test]
fn nanoseconds_survive_a_year_after_boot_and_times_before_it() {
    const YEAR: i64 = 365 * 24 * 3_600_000;
    let mut late = event(Stage::Load, 1, u64::MAX, YEAR, YEAR);
    late.end_ns += 1001;
    let early = event(Stage::Load, 0, 0, -1500, -1499);
    let all = timeline([early, late]);
    assert_eq!(Timeline::of([parse(&written(&all), "a").unwrap()]), all);
}

#[test]
fn a_file_that_was_cut_off_is_read_up_to_there() {
    let bytes = written(&run(true, 2, 3));
    let whole = parse(&bytes, "whole").unwrap().events;
    let mut most = 0;
    for length in 0..bytes.len() - 2 {
        match parse(&bytes[..length], "cut") {
            Ok(trace) => {
                assert!(!trace.complete);
                assert_eq!(trace.events, whole[..trace.events.len()]);
                most = trace.events.len();
            }
            Err(problem) => {
                assert!(most == 0 && matches!(problem, TraceError::Empty { .. } | TraceError::Damaged { .. }))
            }
        }
    }
    assert_eq!(most, whole.len());
}

#[test]
fn of_other_programs_events_only_ours_are_taken() {
    let text = r#"[{"ph":"X","name":"render","cat":"gpu","ts":1,"dur":1,"args":{"stack":[1,{"a":null}]}},
        {"ph":"C","name":"memory","pid":3,"args":{"value":3}}, {"unknown":true},
        {"ph":"X","name":"render","cat":"visapult","ts":1.5,"dur":2,"pid":9,"tid":1,"args":{"step":4,"pe":2}}]"#;
    let trace = parse(text.as_bytes(), "mixed").unwrap();
    assert_eq!(trace.events.len(), 1);
    let event = trace.events[0].event;
    assert_eq!(
        (event.stage, event.member, event.step, event.start_ns, event.end_ns),
        (Stage::Render, 2, 4, 1500, 3500)
    );
}

#[test]
fn what_is_wrong_is_said_with_the_file_and_the_place() {
    let in_event = |fields: &str| format!(r#"[{{"ph":"X","name":"load","cat":"visapult",{fields}}}]"#);
    for (text, needle) in [
        (String::new(), "no array"),
        ("{\"traceEvents\":[]}".to_owned(), "no array"),
        ("[1]".to_owned(), "byte 1"),
        ("[{]".to_owned(), "byte 1"),
        ("[]".to_owned(), "no events of Visapult"),
        (in_event(r#""ts":1,"dur":1,"args":{"step":1}"#), "\"load\" without pe"),
        (in_event(r#""ts":1,"dur":1,"args":{"pe":1}"#), "\"load\" without step"),
        (in_event(r#""dur":1,"args":{"pe":1,"step":1}"#), "\"load\" without ts"),
        (in_event(r#""ts":1,"dur":-1,"args":{"pe":1,"step":1}"#), "impossible dur"),
        (in_event(r#""ts":1e300,"dur":1,"args":{"pe":1,"step":1}"#), "impossible ts"),
        (in_event(r#""ts":1,"dur":1,"args":{"pe":-1,"step":1}"#), "byte 1"),
    ] {
        let said = parse(text.as_bytes(), "a.json").unwrap_err().to_string();
        assert!(said.contains("a.json") && said.contains(needle), "{text}: {said}");
    }
}

#[test]
fn files_of_several_processes_become_one_timeline() {
    let whole = run(true, 2, 4);
    let part = |index: usize| {
        let events = whole.events.iter().filter(|placed| placed.process == index).map(|placed| placed.event);
        let mut one = timeline(events);
        one.processes = vec![whole.processes[index].clone()];
        parse(&written(&one), "part").unwrap()
    };
    assert_eq!(Timeline::of([part(0), part(1)]), whole);
}

#[test]
fn hosts_whose_clocks_were_never_compared_are_named() {
    let mut all = run(true, 1, 2);
    assert!(all.unaligned_hosts().is_empty());
    all.processes[0].aligned = false;
    assert!(all.unaligned_hosts().is_empty(), "one of them keeps the session's clock");
    all.processes[1].aligned = false;
    assert_eq!(all.unaligned_hosts(), ["cluster", "node1"]);
    all.processes = vec![process("node1", "a"), process("node1", "b")];
    all.processes.iter_mut().for_each(|process| process.aligned = false);
    assert!(all.unaligned_hosts().is_empty(), "processes of one host share its clock");
}

/// Whatever is read without an error can be summed up and drawn.
fn bear(bytes: &[u8]) {
    if let Ok(trace) = parse(bytes, "fuzzed") {
        let timeline = Timeline::of([trace]);
        let _ = Summary::of(&timeline);
        let svg = lifelines(&timeline, &PlotOptions { title: "fuzzed".to_owned(), steps: None });
        roxmltree::Document::parse(&svg).unwrap();
    }
}

#[test]
fn the_corpus_is_borne_as_it_is_and_damaged() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/trace");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    let mut rng = fastrand::Rng::with_seed(11);
    for bytes in files.iter().map(|file| std::fs::read(file).unwrap()) {
        bear(&bytes);
        for _ in 0..300 {
            let mut damaged = bytes.clone();
            for _ in 0..rng.usize(1..6) {
                let at = rng.usize(0..damaged.len());
                match rng.u8(0..3) {
                    0 => damaged[at] = rng.u8(..),
                    1 => damaged[at] = *rng.choice(b"0123456789-eE.[]{},:\"").unwrap(),
                    _ => drop(damaged.drain(at..(at + rng.usize(1..9)).min(damaged.len()))),
                }
                if damaged.is_empty() {
                    break;
                }
            }
            bear(&damaged);
        }
    }
}

/// What a back end has seen: three steps, and after ten seconds, from the beginning, five more.
fn two_runs() -> Timeline {
    let (mut all, second) = (run(true, 2, 3), run(true, 2, 5));
    let later = 10_000 * MS;
    // The ranks of the second run are other processes, and have begun to put before the back end has seen all of them.
    all.processes.push(process("cluster", "simulation again"));
    all.anew.push(Anew { at_ns: later + 5 * MS, process: 1 });
    let moved = second.events.into_iter().map(|Placed { process, event }| {
        let (start_ns, end_ns) = (event.start_ns + later, event.end_ns + later);
        Placed { process: if process == 0 { 2 } else { 1 }, event: Event { start_ns, end_ns, ..event } }
    });
    all.events.extend(moved);
    // Before anything of the second has come, what is there of the first is still shown.
    let shown = Event { start_ns: later + 10 * MS, end_ns: later + 11 * MS, ..event(Stage::Send, 0, 2, 0, 0) };
    all.events.push(Placed { process: 1, event: shown });
    all.events.sort_by_key(|placed| (placed.event.start_ns, placed.event.stage, placed.event.member));
    all
}

#[test]
fn runs_that_a_back_end_has_seen_are_told_apart() {
    let all = Timeline::of([parse(&written(&two_runs()), "two").unwrap()]);
    assert_eq!(all, two_runs());
    let (last, number, count) = all.of_one_run();
    assert_eq!((last.steps().len(), number, count), (5, 2, 2));
    let alone = Summary::of(&run(true, 2, 5));
    let told = Summary::of(&last);
    assert_eq!((told.receive_s, told.render_s, told.bytes), (alone.receive_s, alone.render_s, alone.bytes));
    assert_eq!(told.network, alone.network);
}

#[test]
fn of_several_runs_it_is_that_one_of_which_ranks_tell() {
    let mut all = two_runs();
    all.events.retain(|placed| placed.process != 2);
    let (first, number, count) = all.of_one_run();
    assert_eq!((first.steps().len(), number, count), (3, 1, 2));
    assert_eq!(Summary::of(&first).receive_s, Summary::of(&run(true, 2, 3)).receive_s);
    all.events.retain(|placed| placed.process != 0);
    assert_eq!(all.of_one_run().1, 2);
    all.anew.clear();
    assert_eq!(all.of_one_run(), (all.clone(), 1, 1));
}
