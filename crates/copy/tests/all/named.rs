//! What a copy of a share is called, and how many files its log counts of one that was cut off.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use visapult_copy::{CopyError, Event, copy};
use visapult_ripp_net::Rate;

use crate::shares::{options, run, shared};

#[test]
fn the_copy_of_a_share_has_the_name_of_its_folder() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("to");
    for name in ["Müller 2024", "Möller 2024"] {
        let folder = dir.path().join(name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("notes"), name).unwrap();
        shared(&folder, false, |url| run(&options(&[url], &format!("{}/", to.display()))).0.unwrap());
        assert_eq!(fs::read_to_string(to.join(name).join("notes")).unwrap(), name);
    }
    assert_eq!(fs::read_dir(to).unwrap().count(), 2);
}

#[test]
fn what_was_whole_of_a_copy_that_was_stopped_is_counted_at_both_ends() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    fs::create_dir(&from).unwrap();
    (0..2000).for_each(|at| fs::write(from.join(at.to_string()), vec![at as u8; 10_000]).unwrap());
    let (_, audits) = shared(&from, false, |url| {
        let stop = AtomicBool::new(false);
        let mut slow = options(&[url], to.to_str().unwrap());
        slow.session.most_receive_bps = 40_000_000;
        slow.session.rate = Rate::Fixed(40_000_000);
        let outcome = copy(&slow, &stop, &mut |event| {
            if let Event::Progress(progress) = event {
                stop.store(progress.tally.files > 0, Ordering::Relaxed);
            }
        });
        assert!(matches!(outcome, Err(CopyError::Stopped)), "{outcome:?}");
    });
    let names = fs::read_dir(to.join("from")).unwrap().map(|found| found.unwrap().file_name().into_string().unwrap());
    let whole = names.filter(|name| !name.contains("visapult")).count() as u64;
    assert!(audits.len() == 1 && whole > 0 && audits[0].files == whole, "{whole} {audits:?}");
}
