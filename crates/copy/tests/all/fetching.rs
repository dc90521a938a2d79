//! Shares that fetch from other shares, for somebody who watches or has left.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use visapult_copy::{Audit, CopyError, Deed, Endpoint, Event, FetchState, Remote, copy, fetches};

use crate::shares::{awaited, awkward, done, options, run, shared, told};

/// The fetch of this number, once it has ended.
fn ended(share: &Remote, number: u64) -> FetchState {
    awaited("the end of the fetch", || {
        let states = fetches(share, None).unwrap();
        states.into_iter().find(|state| state.number == number && state.result.is_some())
    })
}

#[test]
fn one_share_fetches_from_another() {
    let (source, there) = (awkward(), tempfile::tempdir().unwrap());
    let ((), audits) = shared(source.path(), false, |from| {
        let (outcome, audits) = shared(there.path(), true, |to| {
            let report = done(&[&format!("{from}/tree")], &format!("{to}/in/"));
            assert_eq!((report.tally.files, report.tally.failed), (311, 0));
            let again = done(&[&format!("{from}/tree")], &format!("{to}/in/"));
            assert_eq!((again.tally.same_files, again.arrived), (311, 0));
            let refused = |from: &str, to: &str| run(&options(&[from], to)).0.unwrap_err().to_string();
            // Either has to consent, and B dials only where its owner said.
            assert!(refused(to, &format!("{from}/x")).contains("read-only"));
            let token = from.split('@').next().unwrap();
            let forged = from.replacen(token, "ripp://AAAAAAAAAAAAAAAAAAAAAA", 1);
            let why = refused(&forged, to);
            assert!(why.contains("the token is wrong") && !why.contains("AAAAAAAAAA"), "{why}");
            assert!(refused(&from.replacen("127.0.0.1", "localhost", 1), to).contains("with fetch localhost"));
            assert!(refused(from.split('#').next().unwrap(), to).contains("whole URL"));
            assert!(refused(&format!("{from}/none"), to).contains("no such file"));
            // Who means to leave is told, too, what cannot be had at all.
            for (from, needle) in [(format!("{from}/none"), "no such file"), (forged, "the token is wrong")] {
                let mut hasty = options(&[&from], &format!("{to}/hasty"));
                hasty.detach = true;
                let (outcome, events) = run(&hasty);
                let why = outcome.unwrap_err().to_string();
                assert!(why.contains(needle) && events.is_empty(), "{why}: {events:?}");
            }
            // A share fetches from itself.
            let twin = done(&[&format!("{to}/in/tree")], &format!("{to}/twin/"));
            assert_eq!((twin.tally.files, twin.tally.failed), (311, 0));
            // It goes on alone, and tells how it stands.
            let mut alone = options(&[&format!("{from}/tree/large")], &format!("{to}/alone"));
            alone.detach = true;
            let (report, events) = run(&alone);
            let [Event::Detached(number)] = events[..] else { panic!("{events:?}") };
            report.unwrap();
            let Endpoint::There(share) = to.parse().unwrap() else { panic!() };
            let state = ended(&share, number);
            assert_eq!((state.result.as_deref(), state.tally.files), (Some("done"), 1));
            assert!(!state.from.contains('@') && state.to == "alone");
        });
        assert!(matches!(&audits[0].deed, Deed::Fetch { from } if from.starts_with("ripp://127.0.0.1:")));
        outcome
    });
    for copied in ["in/tree", "twin/tree"] {
        assert_eq!(told(&there.path().join(copied)), told(&source.path().join("tree")));
    }
    assert!(fs::read(there.path().join("alone")).unwrap() == fs::read(source.path().join("tree/large")).unwrap());
    assert_eq!((&audits[0].deed, audits[0].files), (&Deed::Get, 311));
}

#[test]
fn a_fetch_ends_when_it_is_stopped_or_whoever_asked_leaves() {
    let (source, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(source.path().join("large"), vec![7; 64 << 20]).unwrap();
    let (((), fetched), given) = shared(source.path(), false, |from| {
        shared(there.path(), true, |to| {
            let Endpoint::There(share) = to.parse().unwrap() else { panic!() };
            let mut slow = options(&[&format!("{from}/large")], &format!("{to}/a"));
            slow.session.most_receive_bps = 20_000_000;
            slow.detach = true;
            run(&slow).0.unwrap();
            fetches(&share, Some(1)).unwrap();
            assert!(ended(&share, 1).result.unwrap().contains("stopped"));
            // Whoever does not stay, and did not say that it goes on.
            slow.detach = false;
            slow.destination = format!("{to}/b").parse().unwrap();
            let stop = AtomicBool::new(false);
            let outcome = copy(&slow, &stop, &mut |event| {
                if let Event::Progress(progress) = event {
                    stop.fetch_or(progress.arrived > 0, Ordering::Relaxed);
                }
            });
            assert!(matches!(outcome, Err(CopyError::Stopped)));
            assert!(ended(&share, 2).result.unwrap().contains("stopped"));
        })
    });
    // Both ends say what had travelled by then.
    for audit in [fetched.last().unwrap(), given.last().unwrap()] {
        let Audit { bytes, fault, .. } = audit;
        assert!((1..64 << 20).contains(bytes) && fault.is_some(), "{audit:?}");
    }
    assert!(!there.path().join("a").exists() && !there.path().join("b").exists());
}
