//! Parts of fields that are copied over others: what lies there opens as a Zarr group only if it is one part, and all of it.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use visapult_copy::{Alike, CopyError, CopyOptions, Delete, Event, FieldPart, copy};
use visapult_ripp_net::Rate;

use crate::shares::{options, run, shared};

const EDGE: usize = 130;

/// A `.npy` file of floats that compress badly.
fn numpy(path: &Path, seed: u32) {
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({EDGE}, {EDGE}, {EDGE}), }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    let mut state = seed;
    for _ in 0..EDGE.pow(3) {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        bytes.extend((state as f32).to_le_bytes());
    }
    fs::write(path, bytes).unwrap();
}

fn part(source: &str, to: &Path) -> CopyOptions {
    CopyOptions { part: Some(FieldPart::default()), ..options(&[source], to.to_str().unwrap()) }
}

/// The values of an array, as they lie there.
fn chunks(group: &Path, array: &str) -> Vec<Vec<u8>> {
    let at = |z, y, x| fs::read(group.join(format!("{array}/c/{z}/{y}/{x}"))).unwrap();
    (0..27).map(|n| at(n / 9, n / 3 % 3, n % 3)).collect()
}

/// Copies at 40 Mbit/s until a chunk is there.
fn interrupt(options: &CopyOptions) {
    let stop = AtomicBool::new(false);
    let mut slow = options.clone();
    slow.session.rate = Rate::Fixed(40_000_000);
    slow.session.most_receive_bps = 40_000_000;
    let outcome = copy(&slow, &stop, &mut |event| {
        if let Event::Progress(progress) = event {
            stop.store(progress.tally.files > 0, Ordering::Relaxed);
        }
    });
    assert!(matches!(outcome, Err(CopyError::Stopped)), "{outcome:?}");
}

fn is_group(at: &Path) -> bool {
    at.join("zarr.json").exists()
}

#[test]
fn a_field_that_is_named_twice_is_made_once() {
    let dir = tempfile::tempdir().unwrap();
    let (source, group) = (dir.path().join("run.npy"), dir.path().join("part.zarr"));
    numpy(&source, 7);
    let mut twice = part(source.to_str().unwrap(), &group);
    twice.part = Some(FieldPart { fields: ["run", "/run", "run"].map(str::to_owned).to_vec(), ..FieldPart::default() });
    run(&twice).0.unwrap();
    let mut arrays: Vec<_> = fs::read_dir(&group).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    arrays.sort();
    assert_eq!(arrays, ["run", "x", "y", "z", "zarr.json"]);
}

#[test]
fn what_is_interrupted_over_another_opens_as_no_group_until_all_of_it_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let (to, whole) = (dir.path().join("small.zarr"), dir.path().join("whole.zarr"));
    let from = dir.path().join("from");
    fs::create_dir(&from).unwrap();
    let source = from.join("p.npy");
    numpy(&source, 1);
    run(&part(source.to_str().unwrap(), &to)).0.unwrap();
    let before = chunks(&to, "p");
    assert!(is_group(&to));
    for is_shared in [false, true] {
        numpy(&source, if is_shared { 2 } else { 3 });
        shared(&from, false, |url| {
            let there = format!("{url}/p.npy");
            let from = if is_shared { &there } else { source.to_str().unwrap() };
            interrupt(&part(from, &to));
            assert!(!is_group(&to));
            let now = chunks(&to, "p");
            assert!(now.iter().zip(&before).any(|(now, before)| now != before));
            run(&part(from, &to)).0.unwrap();
        });
        run(&part(source.to_str().unwrap(), &whole)).0.unwrap();
        assert!(is_group(&to) && chunks(&to, "p") == chunks(&whole, "p"));
        assert_eq!(fs::read(to.join("zarr.json")).unwrap(), fs::read(whole.join("zarr.json")).unwrap());
    }
}

#[test]
fn what_is_there_already_stays_and_is_compared_where_that_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let (source, to) = (dir.path().join("p.npy"), dir.path().join("small.zarr"));
    numpy(&source, 1);
    let mut again = part(source.to_str().unwrap(), &to);
    let first = run(&again).0.unwrap().tally;
    assert_eq!(first.files, 27 + 2 + 6);
    for alike in [Alike::SizeAndTime, Alike::All] {
        again.wish.alike = alike;
        let tally = run(&again).0.unwrap().tally;
        assert_eq!((tally.files, tally.same_files), (0, first.files), "{alike:?}");
        assert!(is_group(&to));
    }
    // Another length of the same time would be seen, too.
    let document = to.join("zarr.json");
    let (text, time) = (fs::read_to_string(&document).unwrap(), fs::metadata(&document).unwrap().modified().unwrap());
    fs::write(&document, text.replace("p.npy", "q.npy")).unwrap();
    fs::File::open(&document).unwrap().set_modified(time).unwrap();
    assert_eq!(run(&again).0.unwrap().tally.files, 1);
    assert_eq!(fs::read_to_string(&document).unwrap(), text);
}

#[test]
fn another_part_is_not_mixed_with_what_lies_there() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("small.zarr");
    for (name, seed) in [("p", 1), ("q", 2)] {
        numpy(&dir.path().join(format!("{name}.npy")), seed);
    }
    let source = |name: &str| dir.path().join(format!("{name}.npy")).to_str().unwrap().to_owned();
    run(&part(&source("p"), &to)).0.unwrap();
    let document = fs::read(to.join("zarr.json")).unwrap();
    fs::create_dir(to.join("notes")).unwrap();
    let mut other = part(&source("q"), &to);
    let refused = run(&other).0.unwrap_err().to_string();
    assert!(refused.starts_with("p is not of this part") && refused.contains("copy with delete"), "{refused}");
    assert!(fs::read(to.join("zarr.json")).unwrap() == document && !to.join("q").exists());
    other.wish.delete = Delete::InFolders;
    assert_eq!(run(&other).0.unwrap().tally.deleted, 2);
    assert!(is_group(&to) && to.join("q/zarr.json").exists() && !to.join("p").exists());
}

#[test]
fn a_group_of_which_something_failed_has_no_document() {
    let dir = tempfile::tempdir().unwrap();
    let (source, to) = (dir.path().join("p.npy"), dir.path().join("small.zarr"));
    numpy(&source, 1);
    run(&part(source.to_str().unwrap(), &to)).0.unwrap();
    fs::remove_dir_all(to.join("p/c/1")).unwrap();
    fs::write(to.join("p/c/1"), "in the way").unwrap();
    numpy(&source, 2);
    let tally = run(&part(source.to_str().unwrap(), &to)).0.unwrap().tally;
    assert!(tally.failed > 0 && !is_group(&to));
    fs::remove_file(to.join("p/c/1")).unwrap();
    assert_eq!(run(&part(source.to_str().unwrap(), &to)).0.unwrap().tally.failed, 0);
    assert!(is_group(&to));
}
