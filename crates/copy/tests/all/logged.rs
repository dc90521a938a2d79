//! What a share tells of what was done: each copy that ended, however it did, and each that was refused.

use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use visapult_copy::{Access, Audit, CopyError, Deed, Event, copy};
use visapult_ripp_net::{Options, RippUrl, Session, Token, Trust};

use crate::shares::{eventually, options, run, served, shared, text};

/// Files below a folder that have their names.
fn named(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap());
    entries
        .map(|entry| {
            let is_ours = entry.file_name().to_string_lossy().contains(".visapult-");
            if entry.file_type().unwrap().is_dir() { named(&entry.path()) } else { u64::from(!is_ours) }
        })
        .sum()
}

#[test]
fn a_put_that_ends_midway_counts_the_files_that_have_their_names() {
    const FILES: u64 = 1000;
    let (source, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for number in 0..FILES {
        let folder = source.path().join(format!("run/{}", number / 100));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(number.to_string()), vec![number as u8; 4096]).unwrap();
    }
    // Nothing of it travels, but every byte is hashed: it ends when it is told to.
    let holes = source.path().join("holes");
    File::create(&holes).unwrap().set_len(1 << 40).unwrap();
    let (_, audits) = shared(there.path(), true, |url| {
        let stop = AtomicBool::new(false);
        let pushed = options(&[text(&source.path().join("run")), text(&holes)], url);
        let outcome = copy(&pushed, &stop, &mut |event| {
            if let Event::Progress(progress) = event {
                stop.fetch_or(progress.tally.files > 0, Ordering::Relaxed);
            }
        });
        assert!(matches!(outcome, Err(CopyError::Stopped)), "{outcome:?}");
    });
    let [Audit { deed: Deed::Put, files, paths, .. }] = &audits[..] else { panic!("{audits:?}") };
    assert!((1..=FILES).contains(files), "{files}");
    assert_eq!((*files, &paths[..]), (named(there.path()), &[String::new()][..]));
}

#[test]
fn each_copy_that_is_refused_leaves_a_line() {
    let (there, here) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(here.path().join("file"), b"file").unwrap();
    let (_, audits) = shared(there.path(), false, |url| {
        let refused = |from: &str, to: &str| drop(run(&options(&[from], to)).0.unwrap_err());
        refused(text(&here.path().join("file")), &format!("{url}/in/"));
        refused(&format!("{url}/none"), text(here.path()));
        refused(&url.replace('#', "x#"), text(here.path()));
        // Of somebody who asks for no copy, and for what no copy asks.
        let dial = |request: String| {
            let url: RippUrl = url.parse().unwrap();
            let asked = Options { request, ..Options::default() };
            let session = Session::dial(&url, &Trust::for_url(&url).unwrap(), None, &asked).unwrap();
            eventually("the end of the session", || !session.is_alive());
        };
        dial(String::new());
        dial(r#"{"kind":"copy","version":2,"job":"j","verb":"get","paths":["../etc/passwd"]}"#.to_owned());
    });
    let told: Vec<_> = audits.iter().map(|audit| (&audit.deed, &audit.paths[..], audit.fault.as_deref())).collect();
    assert_eq!(told.len(), 5, "{told:?}");
    let expected = [
        (&Deed::Put, Some("in"), "read-only"),
        (&Deed::Get, Some("none"), "no such file"),
        (&Deed::Get, Some(""), "no share of that name"),
        (&Deed::Dial, None, "this URL is of visapult share"),
        (&Deed::Get, Some("../etc/passwd"), "leads out"),
    ];
    for ((deed, paths, fault), (kind, path, why)) in told.iter().zip(expected) {
        assert_eq!((*deed, paths.first().map(String::as_str)), (kind, path), "{fault:?}");
        assert!(fault.is_some_and(|fault| fault.contains(why)), "{fault:?}");
    }
}

#[test]
fn who_has_not_the_token_leaves_a_line() {
    let there = tempfile::tempdir().unwrap();
    let (_, audits) = served(there.path(), Access::Url { write: true }, |urls, heard| {
        let url: RippUrl = urls[0].parse().unwrap();
        for token in [None, Some(Token::fresh().unwrap())] {
            let wrong = RippUrl { token, ..url.clone() };
            let trust = Trust::for_url(&wrong).unwrap();
            Session::dial(&wrong, &trust, None, &Options::default()).unwrap_err();
        }
        eventually("a line of each", || heard.audits.lock().unwrap().len() >= 2);
    });
    assert_eq!(audits.len(), 2);
    for Audit { who, peer, deed, paths, files, bytes, fault, .. } in &audits {
        assert_eq!((who, deed, paths.len(), *files, *bytes), (&None, &Deed::Dial, 0, 0, 0));
        assert!(
            peer.ip().is_loopback() && fault.as_deref().is_some_and(|why| why.contains("token is wrong")),
            "{fault:?}"
        );
    }
}
