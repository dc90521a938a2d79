//! Flows that are refused, with the reason: ranks that do not fit each other, and calls out of turn.

use std::thread;
use std::time::{Duration, Instant};

use visapult_pipeline::flow::{FlowOptions, FlowSource};
use visapult_publish::{Publisher, PublisherOptions};
use visapult_ripp_net::{Options, Session, Trust};
use visapult_volume::Box3;
use visapult_volume_io::Source as _;

use super::{PATIENCE, SIZE, declared, listen, put};

#[test]
fn ranks_that_do_not_tile_the_grid_are_refused() {
    let [nx, ny, nz] = SIZE;
    let overlapping = [Box3::of_size([nx, ny, nz - 1]), Box3::new([0, 0, 1], SIZE)];
    let publishers: Vec<Publisher> = (0..2).map(|rank| listen(declared(rank, &overlapping))).collect();
    let urls: Vec<String> = publishers.iter().map(|publisher| publisher.url().unwrap().to_string()).collect();
    let refused = FlowSource::dial(&urls.join(" "), FlowOptions::default()).err().unwrap().to_string();
    assert!(refused.contains("overlaps"), "{refused}");
}

#[test]
fn what_makes_no_sense_is_refused_though_nobody_looks() {
    let whole = [Box3::of_size(SIZE)];
    let refused = |options| Publisher::check(options).unwrap_err().to_string();
    let long = |number: usize| super::field(&format!("{number:0200}"));
    let fields = (0..256).map(long).collect();
    let said = refused(PublisherOptions { fields, ..declared(0, &whole) });
    assert!(said.contains("256 fields and 1 parameters take 51"), "{said}");
    let said = refused(PublisherOptions { ranks: 2, ..declared(0, &whole) });
    assert!(said.contains("one of 2 ranks owns the whole grid"), "{said}");
    assert!(Publisher::check(declared(0, &whole)).is_ok());
}

#[test]
fn a_program_that_was_refused_may_come_again_with_another_grid() {
    let at = "127.0.0.1:0".parse().unwrap();
    let door = FlowSource::listen(at, "127.0.0.1", None, FlowOptions::default()).unwrap();
    let declare = |rank: usize, block: [[usize; 3]; 2]| {
        let options = Options { request: "visapult-publish".to_owned(), ..Options::default() };
        let session = Session::dial(door.url(), &Trust::InsecureLoopback, None, &options).unwrap();
        let field = r#"{"name":"a","unit":"","scalar_type":"f32","range":null}"#;
        let grid = r#"{"size":[8,4,2],"spacing":[1,1,1],"origin":[0,0,0],"unit":"","centering":"point"}"#;
        let note = format!(
            r#"{{"type":"declare","name":"hole","format":"a test","rank":{rank},"ranks":2,"grid":{grid},"fields":[{field}],"block":{block:?},"live":true,"steps":null,"times":[],"time_unit":""}}"#
        );
        session.note(&note).unwrap();
        session
    };
    let both = [declare(0, [[0, 0, 0], [4, 4, 2]]), declare(1, [[5, 0, 0], [8, 4, 2]])];
    let deadline = Instant::now() + PATIENCE;
    let refused = loop {
        let ended = both.iter().find_map(|session| session.next_arrival(Duration::from_millis(5)).err());
        if let Some(why) = ended {
            break why.to_string();
        }
        assert!(Instant::now() < deadline, "neither is refused");
    };
    assert!(refused.contains("56 of the grid's 64 samples") && refused.contains("[4, 0, 0]"), "{refused}");
    drop(both);
    let _mended = Publisher::dial(door.url(), declared(0, &[Box3::of_size(SIZE)])).unwrap();
    let source = door.wait(PATIENCE).unwrap().ok().expect("the program is taken");
    assert_eq!(source.info().levels[0].size, SIZE);
}

#[test]
fn a_program_with_another_grid_is_told_of_where_the_one_that_was_there_has_gone() {
    let at = "127.0.0.1:0".parse().unwrap();
    let door = FlowSource::listen(at, "127.0.0.1", None, FlowOptions::default()).unwrap();
    let url = door.url().clone();
    let whole = [Box3::of_size(SIZE)];
    let mut publisher = Publisher::dial(&url, declared(0, &whole)).unwrap();
    let source = door.wait(PATIENCE).unwrap().ok().expect("the program is taken");
    put(&mut publisher, 0, &whole[0]);
    let handle = source.handle();
    let refused = |is_due: &dyn Fn(Option<&str>) -> bool| {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let told = handle.freshness(source.steps().last).and_then(|freshness| freshness.refused);
            if is_due(told.as_deref()) {
                return;
            }
            assert!(Instant::now() < deadline, "it is told {told:?}");
            thread::park_timeout(Duration::from_millis(5));
        }
    };
    assert!(handle.has_steps_within(PATIENCE));
    let mut other = declared(0, &whole);
    other.grid.spacing = [3.0; 3];
    drop(publisher);
    let other = Publisher::dial(&url, other).unwrap();
    refused(&|told| told.is_some_and(|why| why.contains("another grid or other fields: spacing and origin")));
    drop(other);
    let mut again = Publisher::dial(&url, declared(0, &whole)).unwrap();
    put(&mut again, 0, &whole[0]);
    refused(&|told| told.is_none());
}

#[test]
fn urls_are_those_of_all_ranks_each_given_once() {
    let halves = [Box3::new([0; 3], [SIZE[0], SIZE[1], SIZE[2] / 2]), Box3::new([0, 0, SIZE[2] / 2], SIZE)];
    let publishers = [0, 1].map(|rank| listen(declared(rank, &halves)));
    let [first, second] = publishers.each_ref().map(|publisher| publisher.url().unwrap().to_string());
    let refused = |urls: String| FlowSource::dial(&urls, FlowOptions::default()).err().unwrap().to_string();
    let said = refused(first.clone());
    assert!(said.contains("it has 2 ranks: give the URLs of all, not of 1 alone"), "{said}");
    let said = refused(format!("{first} {second} {first}"));
    assert!(said.contains("is given twice"), "{said}");
}

#[test]
fn calls_out_of_turn_are_refused() {
    let mut publisher = listen(declared(0, &[Box3::of_size(SIZE)]));
    assert!(publisher.end().is_err());
    assert!(publisher.put(0, |_| Ok::<(), ()>(())).is_err());
    publisher.begin(0.0).unwrap();
    assert_eq!(publisher.begin(1.0).unwrap(), 1, "the one before is left out");
    assert!(publisher.put(2, |_| Ok::<(), ()>(())).is_err());
}
