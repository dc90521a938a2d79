use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;
use visapult_volume::{Box3, StepSpan};
use visapult_volume_io::{ReadRequest, Source, SourceError, SourceInfo};

use crate::back_end::BackEnd;
use crate::config::BackEndConfig;
use crate::device::Device;
use crate::lock::lock;
use crate::opening::Opened;
use crate::session::Right;
use crate::step_store::StepStore;
use crate::testing::{Gate, Ramp, view};
use crate::wire::{AskSeries, Pick, ProxyChoice, Spot, View};

const KIND_FIELD: u8 = 3;
const KIND_PLAN: u8 = 4;
const KIND_NOTICE: u8 = 5;
const KIND_BRICKS: u8 = 16;
const KIND_PROBE: u8 = 22;
/// A message that has not come by then never will.
const PATIENCE: Duration = Duration::from_secs(20);
/// Where a message of bricks tells their level.
const LEVEL_AT: usize = 28;

/// The next message of this kind.
fn next(control: &Receiver<Vec<u8>>, kind: u8) -> Value {
    let message = control.iter().find(|message| message[0] == kind).unwrap();
    serde_json::from_slice(&message[1..]).unwrap()
}

fn of(source: impl Source + 'static) -> Arc<BackEnd> {
    let config = BackEndConfig { source: String::new(), pes: 1, threads: 1, device: Device::Cpu, crew: None };
    BackEnd::start(Opened::local(Box::new(source)), StepStore::fitting, &config).unwrap()
}

fn of_a_small_step() -> Arc<BackEnd> {
    of(Ramp::of(&[[24; 3]], [1; 3]))
}

/// What comes of a kind of message to a page that had no room for the first of that kind.
fn second_of(full: u8, back_end: &Arc<BackEnd>) -> Option<Vec<u8>> {
    let (say, control) = channel();
    let is_full = AtomicBool::new(true);
    let has_room = move |kind| kind != full || !is_full.swap(false, Ordering::Relaxed);
    let sink = move |message: Vec<u8>| has_room(message[0]) && say.send(message).is_ok();
    let session = back_end.begin_session("page".to_owned(), Right::Watch, Box::new(sink));
    session.attach(0, Box::new(|_| ())).unwrap();
    session.on_view(view()).unwrap();
    std::iter::from_fn(|| control.recv_timeout(PATIENCE).ok()).find(|message| message[0] == full)
}

#[test]
fn what_was_chosen_by_the_page_is_not_told_as_chosen_once_it_is_not() {
    let back_end = of_a_small_step();
    let (say, control) = channel();
    let session =
        back_end.begin_session("page".to_owned(), Right::Watch, Box::new(move |message| say.send(message).is_ok()));
    session.attach(0, Box::new(|_| ())).unwrap();
    let reason = || next(&control, KIND_PLAN)["reason"].as_str().unwrap().to_owned();
    session.on_view(View { proxy: ProxyChoice::Bricks, ..view() }).unwrap();
    assert!(reason().starts_with("bricks of level 0, as chosen: "));
    session.on_view(View { sequence: 2, proxy: ProxyChoice::Auto, ..view() }).unwrap();
    let told = reason();
    assert!(told.starts_with("all bricks fit: ") && told.contains(" kB "), "{told}");
}

#[test]
fn a_page_that_had_no_room_for_it_is_told_what_the_step_is_like_once_it_has() {
    assert!(second_of(KIND_FIELD, &of_a_small_step()).is_some());
}

#[test]
fn a_value_is_told_of_the_step_that_is_shown_once_there_is_one_and_there_is_room() {
    const KIND_PICKED: u8 = 10;
    let gate = Gate::default();
    let size = [24; 3];
    let back_end = of(Ramp::of(&[size], [1; 3]).held(size.iter().product(), &gate));
    let (say, control) = channel();
    let is_full = AtomicBool::new(true);
    let has_room = move |kind| kind != KIND_PICKED || !is_full.swap(false, Ordering::Relaxed);
    let sink = move |message: Vec<u8>| has_room(message[0]) && say.send(message).is_ok();
    let session = back_end.begin_session("page".to_owned(), Right::Watch, Box::new(sink));
    session.attach(0, Box::new(|_| ())).unwrap();
    // The last question counts.
    for (number, x) in [(1, 3.0), (2, 4.0)] {
        session.on_pick(Pick { number, spot: Spot::Place([x, 2.0, 1.0]) });
    }
    session.on_view(view()).unwrap();
    gate.open();
    let told = next(&control, KIND_PICKED);
    assert_eq!((&told["number"], &told["field"], &told["step"]), (&2.into(), &0.into(), &0.into()));
    assert_eq!((&told["picked"]["place"][0], &told["problem"]), (&4.0.into(), &Value::Null));
    let mut value = [0.0];
    let bounds = Box3::new([4, 2, 1], [5, 3, 2]);
    Ramp::of(&[size], [1; 3]).read(&ReadRequest { field: 0, step: 0, level: 0, bounds }, &mut value).unwrap();
    assert_eq!(told["picked"]["value"].as_f64(), Some(f64::from(value[0])));
}

/// All values that are told of a place.
fn series(back_end: &Arc<BackEnd>, places: &[[f64; 3]]) -> Vec<(u64, Option<f64>)> {
    const KIND_SERIES: u8 = 11;
    let (say, control) = channel();
    let is_full = AtomicBool::new(true);
    let has_room = move |kind| kind != KIND_SERIES || !is_full.swap(false, Ordering::Relaxed);
    let sink = move |message: Vec<u8>| has_room(message[0]) && say.send(message).is_ok();
    let session = back_end.begin_session("page".to_owned(), Right::Watch, Box::new(sink));
    session.on_view(view()).unwrap();
    for (number, place) in (0..).zip(places) {
        session.on_series(AskSeries { number, field: 0, place: Some(*place) }).unwrap();
    }
    let mut values = Vec::new();
    loop {
        let told = next(&control, KIND_SERIES);
        if told["number"] != places.len() - 1 {
            continue;
        }
        assert_eq!(told["of"], back_end.steps().last + 1);
        let new = told["values"].as_array().unwrap().iter();
        values.extend(new.map(|at| (at["step"].as_u64().unwrap(), at["value"].as_f64())));
        if told["is_over"] == true {
            break;
        }
    }
    values.sort_by_key(|(step, _)| *step);
    values
}

#[test]
fn the_values_of_a_place_are_told_of_all_steps_and_of_the_last_place_that_was_asked_for() {
    let back_end = of(Ramp::of(&[[24; 3]], [1; 3]).of_steps(300));
    let expected: Vec<_> = (0..300).map(|step| (step, Some(7.5 + 1000.0 * step as f64))).collect();
    assert_eq!(series(&back_end, &[[1.0; 3], [4.0, 2.5, 1.0]]), expected);
}

#[test]
fn values_over_time_are_asked_of_fields_that_there_are_and_not_told_once_they_are_not_wanted() {
    const KIND_SERIES: u8 = 11;
    let gate = Gate::default();
    let back_end = of(Ramp::of(&[[24; 3]], [1; 3]).of_steps(9).held(8, &gate));
    let (say, control) = channel();
    let sink = move |message: Vec<u8>| say.send(message).is_ok();
    let session = back_end.begin_session("page".to_owned(), Right::Watch, Box::new(sink));
    let asked = AskSeries { number: 1, field: 9, place: Some([0.0; 3]) };
    assert!(session.on_series(asked).unwrap_err().to_string().contains("no field 9"));
    session.on_series(AskSeries { field: 0, ..asked }).unwrap();
    // While the first value is read.
    session.on_series(AskSeries { field: 0, place: None, ..asked }).unwrap();
    gate.open();
    let until = Instant::now() + PATIENCE;
    while lock(&session.shared.state).is_reading {
        assert!(Instant::now() < until, "it goes on");
        std::thread::sleep(Duration::from_millis(1));
    }
    session.on_series(AskSeries { number: 2, field: 0, ..asked }).unwrap();
    assert_eq!(next(&control, KIND_SERIES)["number"], 2);
}

#[test]
fn of_steps_that_cannot_be_read_no_value_is_told() {
    let back_end = of(Damaged(Ramp::of(&[[24; 3]], [1; 3])));
    assert_eq!(series(&back_end, &[[1.0; 3]]), [(0, None)]);
}

/// What cannot be read.
struct Damaged(Ramp);

impl Source for Damaged {
    fn info(&self) -> &SourceInfo {
        self.0.info()
    }

    fn steps(&self) -> StepSpan {
        self.0.steps()
    }

    fn read(&self, _: &ReadRequest, _: &mut [f32]) -> Result<(), SourceError> {
        Err(SourceError::Format { path: "f".to_owned(), problem: "it is damaged".to_owned() })
    }
}

#[test]
fn a_page_that_had_no_room_for_it_is_told_what_cannot_be_shown_once_it_has() {
    let notice = second_of(KIND_NOTICE, &of(Damaged(Ramp::of(&[[24; 3]], [1; 3])))).unwrap();
    let notice: Value = serde_json::from_slice(&notice[1..]).unwrap();
    assert_eq!((&notice["text"], &notice["failed"]["step"]), (&"f is not usable: it is damaged".into(), &0.into()));
}

#[test]
fn a_large_step_is_looked_at_while_it_is_read() {
    // More than is read at once for a look.
    const SIZE: [usize; 3] = [192, 160, 144];
    let gate = Gate::default();
    let back_end = of(Ramp::of(&[SIZE], [1; 3]).held(SIZE.iter().product(), &gate));
    let (say, control) = channel();
    let (send, bulk) = channel();
    let session =
        back_end.begin_session("page".to_owned(), Right::Watch, Box::new(move |message| say.send(message).is_ok()));
    // What tells how long the way is goes first.
    let sink = move |message: Vec<u8>| {
        if message[0] != KIND_PROBE {
            send.send(message).unwrap_or_default()
        }
    };
    session.attach(0, Box::new(sink)).unwrap();
    session.on_view(view()).unwrap();
    let first = next(&control, KIND_FIELD);
    assert_eq!((&first["provisional"], &first["finite"]), (&true.into(), &(192 * 20 * 18).into()));
    let bricks: Vec<u8> = bulk.recv().unwrap();
    assert_eq!([bricks[0], bricks[LEVEL_AT]], [KIND_BRICKS, 3]);
    gate.open();
    let whole = next(&control, KIND_FIELD);
    assert_eq!((&whole["provisional"], &whole["finite"]), (&false.into(), &SIZE.iter().product::<usize>().into()));
    let bricks: Vec<u8> = bulk.recv().unwrap();
    assert_eq!([bricks[0], bricks[LEVEL_AT]], [KIND_BRICKS, 3]);
}
