//! Trees of all kinds, there and back over loopback.

use std::fs::{self, File, FileTimes, Permissions};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::time::UNIX_EPOCH;

use visapult_copy::{Access, Alike, CopyError, CopyOptions, Deed, Delete, Event, FieldPart, Patterns, Span};

use crate::shares::{awkward, done, options, run, served, shared, text, told};

#[test]
fn a_tree_arrives_as_it_was_both_ways() {
    let (source, there, back) = (awkward(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let tree = source.path().join("tree");
    let (reports, audits) = shared(there.path(), true, |url| {
        let pushed = done(&[text(&tree)], &format!("{url}/in/"));
        let pulled = done(&[&format!("{url}/in/tree/.")], text(&back.path().join("copy")));
        let again = done(&[&format!("{url}/in/tree/.")], text(&back.path().join("copy")));
        [pushed, pulled, again]
    });
    assert_eq!(told(&there.path().join("in/tree")), told(&tree));
    assert_eq!(told(&back.path().join("copy")), told(&tree));
    let [pushed, pulled, again] = reports;
    assert_eq!((pushed.tally.files, pushed.tally.failed), (311, 0));
    assert_eq!((pulled.tally.files, pulled.tally.bytes), (311, pushed.tally.bytes));
    assert_eq!((again.tally.files, again.tally.same_files, again.arrived), (0, 311, 0));
    // Holes are not sent, and are kept.
    assert!(pushed.arrived < 45 << 20, "{}", pushed.arrived);
    let sparse = fs::metadata(back.path().join("copy/sparse")).unwrap();
    assert!(sparse.blocks() * 512 <= fs::metadata(tree.join("sparse")).unwrap().blocks() * 512 + (1 << 20));
    assert_eq!(audits.len(), 3);
    assert!(
        audits.iter().all(|audit| audit.fault.is_none())
            && (&audits[0].deed, &audits[1].deed) == (&Deed::Put, &Deed::Get)
    );
    assert_eq!((audits[0].files, audits[1].bytes), (311, pulled.arrived));
}

#[test]
fn a_file_that_is_there_gets_the_mode_that_its_source_has_now() {
    let (source, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let tree = source.path().join("tree");
    fs::create_dir(&tree).unwrap();
    for (name, length) in [("key", 5), ("large", 3 << 20)] {
        fs::write(tree.join(name), vec![7; length]).unwrap();
    }
    let mode = |name: &str, mode| fs::set_permissions(tree.join(name), Permissions::from_mode(mode)).unwrap();
    shared(there.path(), true, |url| {
        done(&[text(&tree)], url);
        mode("key", 0o600);
        mode("large", 0o751);
        let mut dry = options(&[text(&tree)], url);
        dry.wish.dry_run = true;
        run(&dry).0.unwrap();
        assert_ne!(told(&there.path().join("tree")), told(&tree));
        let report = done(&[text(&tree)], url);
        assert_eq!((report.arrived, report.tally.same_files), (0, 2));
    });
    assert_eq!(told(&there.path().join("tree")), told(&tree));
}

#[test]
fn several_things_go_into_a_folder_and_one_may_get_a_name() {
    let (source, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for name in ["a", "b"] {
        fs::write(source.path().join(name), name).unwrap();
    }
    let (a, b) = (source.path().join("a"), source.path().join("b"));
    shared(there.path(), true, |url| {
        done(&[text(&a), text(&b)], &format!("{url}/both"));
        done(&[text(&a)], &format!("{url}/c"));
        done(&[&format!("{url}/both/a"), &format!("{url}/both/b")], text(&source.path().join("back")));
    });
    // On one machine, and what a folder holds rather than the folder.
    done(&[text(&there.path().join("both/."))], text(&there.path().join("content")));
    for path in ["both/a", "c", "content/a"] {
        assert_eq!(fs::read(there.path().join(path)).unwrap(), b"a", "{path}");
    }
    assert_eq!(fs::read(source.path().join("back/b")).unwrap(), b"b");
    let (itself, _) = run(&options(&[text(there.path())], text(&there.path().join("x/y"))));
    assert!(itself.unwrap_err().to_string().contains("into itself"));
}

#[test]
fn nothing_outside_a_share_is_given_or_touched() {
    let (outside, there, source) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(outside.path().join("secret"), b"secret").unwrap();
    symlink(outside.path(), there.path().join("out")).unwrap();
    symlink(outside.path().join("secret"), there.path().join("file")).unwrap();
    fs::create_dir(source.path().join("out")).unwrap();
    fs::write(source.path().join("out/secret"), b"changed").unwrap();
    fs::write(source.path().join("file"), b"changed").unwrap();
    let target = tempfile::tempdir().unwrap();
    shared(there.path(), true, |url| {
        for path in ["out", "out/secret", "file"] {
            let (outcome, _) = run(&options(&[&format!("{url}/{path}")], text(target.path())));
            let why = outcome.unwrap_err().to_string();
            assert!(why.contains("leads out"), "{why}");
        }
        let (outcome, _) = run(&options(&[text(&source.path().join("file"))], &format!("{url}/out/new")));
        assert!(outcome.unwrap_err().to_string().contains("leads out"));
        // A folder does not go where a link is; a file takes the place of the link itself.
        let (report, events) =
            run(&options(&[text(&source.path().join("out")), text(&source.path().join("file"))], &format!("{url}/")));
        // What is in it is not told beside it.
        assert_eq!(report.unwrap().tally.failed, 1);
        assert!(
            matches!(&events[..], [Event::Failed { path, why }] if path == "out" && why.contains("no folder")),
            "{events:?}"
        );
    });
    assert_eq!(fs::read(outside.path().join("secret")).unwrap(), b"secret");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    assert_eq!(fs::read(there.path().join("file")).unwrap(), b"changed");
    assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0);
}

#[test]
fn what_links_lead_to_is_copied_where_that_is_asked_for() {
    let (outside, there, target) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let run_dir = there.path().join("run");
    fs::create_dir_all(run_dir.join("sub")).unwrap();
    fs::create_dir_all(there.path().join("raw/deep")).unwrap();
    fs::write(outside.path().join("far"), b"far").unwrap();
    fs::write(run_dir.join("near"), b"near").unwrap();
    fs::write(there.path().join("raw/deep/data"), vec![7; 3 << 20]).unwrap();
    symlink("../near", run_dir.join("sub/near")).unwrap();
    symlink("../raw", run_dir.join("raw")).unwrap();
    symlink("deep/data", there.path().join("raw/latest")).unwrap();
    symlink("../../run", there.path().join("raw/deep/round")).unwrap();
    symlink(outside.path().join("far"), run_dir.join("far")).unwrap();
    symlink("nowhere", run_dir.join("lost")).unwrap();
    let followed = |source: &str, to: &str| {
        let mut wanted = options(&[source], to);
        wanted.only.follow = true;
        wanted.only.exclude = vec!["*.txt".to_owned()];
        let (report, events) = run(&wanted);
        let mut failed: Vec<_> = events
            .into_iter()
            .map(|event| match event {
                Event::Failed { path, why } => format!("{} {why}", path.rsplit("run/").next().unwrap()),
                other => panic!("{other:?}"),
            })
            .collect();
        failed.sort();
        (report.unwrap().tally, failed)
    };
    let at = |folder: &str, path: &str| fs::read(target.path().join(folder).join("run").join(path)).unwrap();
    let round = "raw/deep/round cannot be read: a link to a folder that it is in";
    let lost = "lost cannot be read: there is no such file or folder";
    // On this machine, out of a share, and into one.
    let here = followed(text(&run_dir), text(&target.path().join("here")));
    assert_eq!((here.0.files, here.0.links, &here.1[..]), (5, 0, &[lost.to_owned(), round.to_owned()][..]));
    shared(there.path(), true, |url| {
        let pulled = followed(&format!("{url}/run"), text(&target.path().join("pulled")));
        let far = "far cannot be read: leads out of the folder that is shared";
        assert_eq!((pulled.0.files, &pulled.1[..]), (4, &[far, lost, round].map(str::to_owned)[..]));
        assert_eq!(followed(&format!("{url}/run"), text(&target.path().join("pulled"))).0.same_files, 4);
    });
    shared(target.path(), true, |url| assert_eq!(followed(text(&run_dir), &format!("{url}/pushed/")).0.files, 5));
    for (folder, has_far) in [("here", true), ("pulled", false), ("pushed", true)] {
        assert_eq!((at(folder, "near"), at(folder, "sub/near")), (b"near".to_vec(), b"near".to_vec()));
        assert!(at(folder, "raw/latest") == vec![7; 3 << 20] && at(folder, "raw/deep/data") == vec![7; 3 << 20]);
        assert_eq!(target.path().join(folder).join("run/far").exists(), has_far);
    }
    assert!(target.path().join("pulled/run/raw/latest").symlink_metadata().unwrap().is_file());
}

#[test]
fn what_cannot_be_had_is_told_and_the_rest_is_copied() {
    let (there, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let tree = there.path().join("tree");
    fs::create_dir(&tree).unwrap();
    fs::write(tree.join("good"), b"good").unwrap();
    fs::write(tree.join("x.visapult-part"), b"ours").unwrap();
    fs::create_dir(target.path().join("taken")).unwrap();
    fs::write(there.path().join("taken"), b"file").unwrap();
    let _pipe = std::process::Command::new("mkfifo").arg(tree.join("pipe")).status().unwrap();
    let (_, audits) = shared(there.path(), false, |url| {
        let (report, events) = run(&options(&[&format!("{url}/tree"), &format!("{url}/taken")], text(target.path())));
        let tally = report.unwrap().tally;
        assert_eq!((tally.files, tally.failed, tally.left_out), (1, 1, 2), "{events:?}");
        for (left, cause) in [("tree/pipe", "neither file"), ("tree/x.visapult-part", "names that end in")] {
            let is_told =
                |event: &Event| matches!(event, Event::LeftOut { path, why } if path == left && why.starts_with(cause));
            assert!(events.iter().any(is_told), "{left}: {events:?}");
        }
        assert!(events.iter().any(|event| matches!(event, Event::Failed { path, why } if path == "taken" && why.contains("a folder has its name"))));
        let (none, _) = run(&options(&[&format!("{url}/none")], text(target.path())));
        assert!(none.unwrap_err().to_string().ends_with("none: there is no such file or folder"));
        let (pattern, _) = run(&options(&[&format!("{url}/tree/*.h5")], text(target.path())));
        assert!(pattern.unwrap_err().to_string().contains("; a pattern goes with include"));
        let (put, _) = run(&options(&[text(&tree)], url));
        assert!(put.unwrap_err().to_string().contains("read-only"));
        let token = url.split('@').next().unwrap();
        let forged = url.replacen(token, "ripp://AAAAAAAAAAAAAAAAAAAAAA", 1);
        let (wrong, _) = run(&options(&[&forged], text(target.path())));
        assert!(wrong.unwrap_err().to_string().contains("token is wrong"));
    });
    assert_eq!(audits.len(), 4);
    assert_eq!(fs::read(target.path().join("tree/good")).unwrap(), b"good");
}

#[test]
fn a_pipe_gives_way_to_nothing() {
    let (there, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let tree = there.path().join("tree");
    fs::create_dir(&tree).unwrap();
    fs::write(tree.join("file"), b"file").unwrap();
    std::os::unix::fs::symlink("file", tree.join("link")).unwrap();
    fs::create_dir(target.path().join("tree")).unwrap();
    for name in ["file", "link"] {
        std::process::Command::new("mkfifo").arg(target.path().join("tree").join(name)).status().unwrap();
    }
    let (report, events) = run(&options(&[text(&tree)], text(target.path())));
    assert_eq!(report.unwrap().tally.failed, 2, "{events:?}");
    for name in ["file", "link"] {
        let kind = target.path().join("tree").join(name).symlink_metadata().unwrap().file_type();
        assert!(std::os::unix::fs::FileTypeExt::is_fifo(&kind), "{name}");
    }
}

#[test]
fn what_is_copied_is_not_deleted_for_where_it_lies() {
    let dir = tempfile::tempdir().unwrap();
    let at = |path: &str| dir.path().join(path);
    fs::create_dir_all(at("data/run/keep")).unwrap();
    fs::create_dir_all(at("data/keep/run")).unwrap();
    fs::write(at("data/run/keep/a"), b"a").unwrap();
    fs::write(at("data/keep/run/b"), b"b").unwrap();
    let before = told(dir.path());
    let refused = |sources: &[&str], to: &str, needle: &str| {
        let mut wanted = options(sources, to);
        wanted.wish.delete = Delete::InFolders;
        let (outcome, events) = run(&wanted);
        let why = outcome.unwrap_err();
        assert!(matches!(why, CopyError::Misfit(_)) && why.to_string().contains(needle), "{why}");
        assert_eq!(events, []);
    };
    let data = at("data");
    refused(&[text(&at("data/run/."))], text(&data), "where delete would remove it");
    refused(&[text(&at("data/run/keep")), text(&at("data/keep/run"))], text(&data), "where delete would remove it");
    symlink(at("data/run"), at("link")).unwrap();
    refused(&[&format!("{}/.", text(&at("link")))], text(&data), "data/run lies in");
    fs::remove_file(at("link")).unwrap();
    shared(&data, true, |url| {
        refused(&[&format!("{url}/run/.")], &format!("{url}/"), "run lies in all of the share");
        refused(&[&format!("{url}/run")], &format!("{url}/run/keep/"), "run cannot be copied into itself, run/keep");
        // Beside each other they are in nobody's way.
        let mut wanted = options(&[&format!("{url}/run")], &format!("{url}/keep/"));
        wanted.wish.delete = Delete::InFolders;
        assert_eq!(run(&wanted).0.unwrap().tally.deleted, 1);
    });
    fs::remove_dir_all(at("data/keep/run/keep")).unwrap();
    fs::write(at("data/keep/run/b"), b"b").unwrap();
    let paths =
        |all: Vec<String>| all.into_iter().map(|one| one.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(paths(told(dir.path())), paths(before));
}

#[test]
fn a_folder_goes_onto_no_file_and_that_is_told_once() {
    let (source, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir_all(source.path().join("run/sub/deep")).unwrap();
    for name in ["a", "b", "sub/c", "sub/deep/d"] {
        fs::write(source.path().join("run").join(name), name).unwrap();
    }
    fs::write(target.path().join("notes"), b"notes").unwrap();
    let (run_dir, notes) = (source.path().join("run"), target.path().join("notes"));
    let refused = |from: &str, to: &str| {
        for dry_run in [true, false] {
            let mut wanted = options(&[from], to);
            wanted.wish.dry_run = dry_run;
            let (outcome, events) = run(&wanted);
            let why = outcome.unwrap_err().to_string();
            assert!(why.contains("notes is no folder") && events.is_empty(), "{why} {events:?}");
        }
    };
    refused(text(&run_dir), text(&notes));
    shared(target.path(), true, |url| refused(text(&run_dir), &format!("{url}/notes")));
    shared(source.path(), false, |url| refused(&format!("{url}/run"), text(&notes)));
    assert_eq!(fs::read(&notes).unwrap(), b"notes");
    // What is in a folder that has no place has none either, and the rest is copied.
    fs::create_dir(target.path().join("run")).unwrap();
    fs::write(target.path().join("run/sub"), b"no folder").unwrap();
    let (report, events) = run(&options(&[text(&run_dir)], text(target.path())));
    let tally = report.unwrap().tally;
    assert!(
        matches!(&events[..], [Event::Failed { path, why }] if path == "run/sub" && why.starts_with("cannot be written, nor what is in it: ")),
        "{events:?}"
    );
    assert_eq!((tally.files, tally.failed), (2, 1));
}

#[test]
fn what_fails_is_called_alike_whichever_end_it_fails_at() {
    let (source, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let run_dir = source.path().join("run");
    fs::create_dir(&run_dir).unwrap();
    fs::write(run_dir.join("taken"), b"taken").unwrap();
    // Nothing can be read where this leads to.
    symlink("/nowhere", run_dir.join("lost")).unwrap();
    fs::create_dir_all(target.path().join("there/run/taken")).unwrap();
    let fails = |from: &str, to: &str| {
        let mut wanted = options(&[from], to);
        wanted.only.follow = true;
        let (report, events) = run(&wanted);
        report.unwrap();
        let mut paths: Vec<String> = events
            .into_iter()
            .map(|event| if let Event::Failed { path, .. } = event { path } else { panic!("{event:?}") })
            .collect();
        paths.sort();
        paths
    };
    let (there, new) = (target.path().join("there"), target.path().join("new"));
    assert_eq!(fails(text(&run_dir), text(&there)), ["run/lost", "run/taken"]);
    assert_eq!(fails(text(&run_dir.join(".")), text(&there.join("run"))), ["lost", "taken"]);
    shared(source.path(), false, |url| {
        assert_eq!(fails(&format!("{url}/run"), text(&there)), ["run/lost", "run/taken"]);
    });
    shared(target.path(), true, |url| {
        assert_eq!(fails(text(&run_dir), &format!("{url}/there/")), ["run/lost", "run/taken"]);
    });
    // The same where the destination is made: the second time it is there.
    for _ in 0..2 {
        assert_eq!(fails(text(&run_dir), text(&new)), ["run/lost"]);
        fs::remove_file(new.join("run/taken")).unwrap();
        fs::create_dir(new.join("run/taken")).unwrap();
        assert_eq!(fails(text(&run_dir), text(&new)), ["run/lost", "run/taken"]);
        fs::remove_dir_all(&new).unwrap();
        fs::create_dir(&new).unwrap();
    }
}

#[test]
fn patterns_that_let_nothing_through_are_told() {
    let (source, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir(source.path().join("run")).unwrap();
    fs::write(source.path().join("run/a.h5"), b"a").unwrap();
    shared(source.path(), false, |url| {
        for (source, include, exclude, told) in [
            (text(&source.path().join("run")), "*.hdf", "", Some("no file of the sources matches include *.hdf")),
            (&format!("{url}/run"), "*.hdf", "", Some("no file of the sources matches include *.hdf")),
            (url, "*.h5", "run", Some("no file of the sources that exclude run leaves matches include *.h5")),
            (url, "", "*", Some("exclude * leaves no file of the sources")),
            (url, "*.h5", "", None),
            // What is there already matches, too.
            (url, "*.h5", "", None),
        ] {
            let mut wanted = options(&[source], text(target.path()));
            let patterns = |one: &str| Some(one.to_owned()).filter(|one| !one.is_empty()).into_iter().collect();
            (wanted.only.include, wanted.only.exclude) = (patterns(include), patterns(exclude));
            let (report, events) = run(&wanted);
            report.unwrap();
            assert_eq!(events, told.map(|told| Event::Notice(told.to_owned())).into_iter().collect::<Vec<_>>());
        }
    });
}

#[test]
fn a_copy_out_of_a_share_ends_once_the_share_knows_how_it_ended() {
    let (source, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(source.path().join("file"), vec![7; 3_000_000]).unwrap();
    served(source.path(), Access::Url { write: false }, |urls, heard| {
        for number in 1..=20 {
            done(&[&format!("{}/file", urls[0])], text(&target.path().join(number.to_string())));
            assert_eq!(heard.audits.lock().unwrap().len(), number);
        }
    });
}

#[test]
fn a_dry_run_touches_nothing_and_patterns_choose() {
    let (source, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let run_dir = source.path().join("run");
    fs::create_dir_all(run_dir.join("tmp")).unwrap();
    for name in ["a.h5", "b.txt", "tmp/c.h5"] {
        fs::write(run_dir.join(name), b"12345").unwrap();
    }
    let only = Patterns { include: vec!["*.h5".to_owned()], exclude: vec!["tmp".to_owned()], follow: false };
    let mut wanted = options(&[text(&run_dir)], text(&target.path().join("new")));
    wanted.only = only;
    // A folder goes into the destination, the first time and every other time.
    wanted.wish.dry_run = true;
    let dry = run(&wanted).0.unwrap().tally;
    assert_eq!((dry.wanted_files, dry.wanted_bytes, dry.files), (1, 5, 0));
    assert!(!target.path().join("new").exists());
    wanted.wish.dry_run = false;
    wanted.wish.hashes = true;
    let (_, events) = run(&wanted);
    let hash = blake3::hash(b"12345").to_string();
    assert_eq!(events, [Event::Hash { path: b"run/a.h5".to_vec(), hash }]);
    assert!(target.path().join("new/run/a.h5").exists() && !target.path().join("new/run/tmp").exists());
    assert_eq!(run(&wanted).0.unwrap().tally.same_files, 1);
}

#[test]
fn what_looks_the_same_is_compared_by_content_where_that_is_wished() {
    let (source, there) = (awkward(), tempfile::tempdir().unwrap());
    let tree = source.path().join("tree");
    let changed = ["middling", "large", "program", "many/7"];
    shared(there.path(), true, |url| {
        done(&[text(&tree)], url);
        for name in changed {
            let path = there.path().join("tree").join(name);
            let time = fs::metadata(&path).unwrap().modified().unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            file.write_all_at(b"\x01", 3).unwrap();
            file.set_times(FileTimes::new().set_modified(time)).unwrap();
        }
        assert_eq!(done(&[text(&tree)], url).tally.files, 0);
        let mut by_content = options(&[text(&tree)], url);
        by_content.wish.alike = Alike::All;
        by_content.wish.dry_run = true;
        let dry = run(&by_content).0.unwrap().tally;
        assert_eq!((dry.wanted_files, dry.files, dry.same_files), (4, 0, 307));
        // Of any time, and the other way.
        let mut verify = options(&[&format!("{url}/tree/.")], text(&tree));
        (verify.wish.alike, verify.wish.dry_run, verify.wish.delete) = (Alike::Content, true, Delete::InFolders);
        File::open(tree.join("case")).unwrap().set_times(FileTimes::new().set_modified(UNIX_EPOCH)).unwrap();
        fs::write(there.path().join("tree/Case"), b"other").unwrap();
        fs::remove_file(there.path().join("tree/folder/nothing")).unwrap();
        let differing: Vec<_> = run(&verify)
            .1
            .into_iter()
            .map(|event| match event {
                Event::Differs { path, .. } | Event::Deleted(path) => path,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(differing.len(), 6, "{differing:?}");
        for name in changed.into_iter().chain(["Case", "folder/nothing"]) {
            assert!(differing.iter().any(|path| path == name), "{name}");
        }
        done(&[text(&tree)], url);
        by_content.wish.dry_run = false;
        let report = run(&by_content).0.unwrap();
        assert_eq!((report.tally.files, report.tally.same_files, report.tally.failed), (4, 307, 0));
        // And the other way.
        let back = source.path().join("back");
        done(&[&format!("{url}/tree/.")], text(&back));
        let mut pull = options(&[&format!("{url}/tree/.")], text(&back));
        (pull.wish.alike, pull.wish.hashes) = (Alike::All, true);
        let (report, events) = run(&pull);
        assert_eq!((report.unwrap().tally.same_files, events.len()), (311, 311));
    });
    assert_eq!(told(&there.path().join("tree")), told(&tree));
}

#[test]
fn what_the_sources_do_not_have_is_deleted_where_that_is_wished_and_sure() {
    let (source, there, outside) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let at = |path: &str| there.path().join(path);
    fs::create_dir_all(source.path().join("run/sub")).unwrap();
    fs::write(source.path().join("run/sub/kept"), b"kept").unwrap();
    fs::write(outside.path().join("far"), b"far").unwrap();
    let fill = || {
        fs::create_dir_all(at("run/sub/old")).unwrap();
        fs::create_dir_all(at("beside")).unwrap();
        for path in ["run/gone", "run/sub/old/gone", "beside/stays", "run/half.visapult-part"] {
            fs::write(at(path), path).unwrap();
        }
        let _ = symlink(outside.path(), at("run/link"));
    };
    fill();
    shared(there.path(), true, |url| {
        let mut mirror = options(&[text(&source.path().join("run"))], url);
        mirror.wish.delete = Delete::InFolders;
        mirror.wish.dry_run = true;
        let (dry, mut events) = run(&mirror);
        let kept = events.extract_if(.., |event| matches!(event, Event::Differs { .. })).collect::<Vec<_>>();
        let ours = |events: &mut Vec<Event>| matches!(events.remove(0), Event::Notice(why) if why.starts_with("run/half.visapult-part is not deleted"));
        assert!(ours(&mut events));
        assert!(
            matches!(&kept[..], [Event::Differs { path, bytes: Some(4), .. }] if path == "run/sub/kept"),
            "{kept:?}"
        );
        let all = ["run/sub/old", "run/gone", "run/link"].map(|path| Event::Deleted(path.to_owned()));
        assert_eq!((dry.unwrap().tally.deleted, &events[..]), (3, &all[..]));
        assert!(at("run/gone").exists());
        mirror.wish.dry_run = false;
        let (report, mut events) = run(&mirror);
        assert!(ours(&mut events));
        assert_eq!((report.unwrap().tally.deleted, &events[..]), (3, &all[..]));
        // Not what is beside, not where a link leads to, not what another copy is gathering.
        assert!(
            at("beside/stays").exists() && outside.path().join("far").exists() && at("run/half.visapult-part").exists()
        );
        assert!(!at("run/gone").exists() && !at("run/sub/old").exists() && at("run/sub/kept").exists());
        // Not where the sources hold nothing, or cannot all be read.
        fs::create_dir(source.path().join("empty")).unwrap();
        let mut empty = options(&[text(&source.path().join("empty/."))], &format!("{url}/run"));
        empty.wish.delete = Delete::InFolders;
        let (report, events) = run(&empty);
        assert_eq!(report.unwrap().tally.deleted, 0);
        assert!(matches!(&events[..], [Event::Notice(why)] if why.contains("hold no file")), "{events:?}");
        // What is in a folder stands for the destination.
        let mut content = options(&[text(&source.path().join("run/."))], url);
        content.wish.delete = Delete::InFolders;
        assert_eq!(run(&content).0.unwrap().tally.deleted, 2);
        assert!(!at("beside").exists() && at("sub/kept").exists());
    });
}

#[test]
fn a_part_of_a_file_can_be_copied() {
    let (source, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let content: Vec<u8> = (0..40_u32 << 20).map(|at| (at.wrapping_mul(2_654_435_761) >> 11) as u8).collect();
    fs::write(source.path().join("large"), &content).unwrap();
    let part = target.path().join("part");
    let span = |start: u64, end| Some(Span { start, end });
    shared(source.path(), true, |url| {
        let mut wanted = options(&[&format!("{url}/large")], text(&part));
        // The second is as long as the first, and has the same time.
        for (start, end) in [(5, 20_000_005), (20_000_000, 40_000_000), (7, 9)] {
            wanted.span = span(start, Some(end));
            let mut tally = run(&wanted).0.unwrap().tally;
            if end == 9 {
                // What is there is not taken for such a part: it has another size.
                assert_eq!((tally.files, tally.failed, fs::metadata(&part).unwrap().len()), (0, 1, 20_000_000));
                fs::remove_file(&part).unwrap();
                tally = run(&wanted).0.unwrap().tally;
            }
            assert_eq!((tally.files, tally.bytes), (1, end - start));
            assert!(fs::read(&part).unwrap() == content[start as usize..end as usize], "{start}");
        }
        assert_eq!(run(&wanted).0.unwrap().tally.same_files, 1);
        wanted.span = span(content.len() as u64, None);
        assert!(run(&wanted).0.unwrap_err().to_string().contains("none or not all"));
        wanted.span = span(0, Some(5));
        wanted.sources = vec![url.parse().unwrap()];
        assert!(run(&wanted).0.unwrap_err().to_string().contains("is a folder"));
        for destination in [text(target.path()), &format!("{}/", text(target.path()))] {
            let mut into = options(&[&format!("{url}/large")], destination);
            into.span = span(0, Some(5));
            assert!(run(&into).0.unwrap_err().to_string().contains("a name of its own"), "{destination}");
        }
        // The other way, and where the folder there has the name.
        let mut put = options(&[text(&source.path().join("large"))], &format!("{url}/tail"));
        put.span = span(30 << 20, None);
        assert_eq!(run(&put).0.unwrap().tally.bytes, 10 << 20);
        put.destination = url.parse().unwrap();
        assert!(run(&put).0.unwrap_err().to_string().contains("a name of its own"));
    });
    assert!(fs::read(source.path().join("tail")).unwrap() == content[30 << 20..]);
    // Not in the place of the whole.
    let large = source.path().join("large");
    let mut itself = options(&[text(&large)], text(&source.path().join("./large")));
    itself.span = span(0, Some(5));
    assert!(run(&itself).0.unwrap_err().to_string().contains("a name of its own"));
    assert!(fs::read(large).unwrap() == content);
}

#[test]
fn no_source_takes_the_place_of_another() {
    let (source, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let [one, two] = ["one", "two"].map(|folder| source.path().join(folder));
    for folder in [&one, &two] {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join("notes"), text(folder)).unwrap();
    }
    let refused = |sources: &[&str], to: &str| run(&options(sources, to)).0.unwrap_err().to_string();
    shared(there.path(), true, |url| {
        for to in [text(there.path()), url] {
            let why = refused(&[text(&one.join("notes")), text(&two.join("notes"))], to);
            assert!(why.contains("two sources are called notes") && why.contains("a place of its own"), "{why}");
        }
    });
    assert_eq!(fs::read_dir(there.path()).unwrap().count(), 0);
}

#[test]
fn a_share_whose_folder_is_another_by_now_gives_and_takes_nothing() {
    let (dir, here) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (share, aside) = (dir.path().join("share"), dir.path().join("aside"));
    fs::create_dir(&share).unwrap();
    fs::write(share.join("old"), b"old").unwrap();
    fs::write(here.path().join("new"), b"new").unwrap();
    shared(&share, true, |url| {
        assert_eq!(done(&[&format!("{url}/old")], text(&here.path().join("got"))).tally.files, 1);
        // As where a disk is mounted there later.
        fs::rename(&share, &aside).unwrap();
        for made in [false, true] {
            for (from, to) in [(&format!("{url}/old")[..], text(here.path())), (text(&here.path().join("new")), url)] {
                let why = run(&options(&[from], to)).0.unwrap_err().to_string();
                assert!(why.contains("is not the one any more that was shared"), "{why}");
            }
            if !made {
                fs::create_dir(&share).unwrap();
            }
        }
    });
    assert_eq!((fs::read_dir(&share).unwrap().count(), fs::read_dir(&aside).unwrap().count()), (0, 1));
}

#[test]
fn what_does_not_go_together_is_refused_before_anything_is_looked_at() {
    type Ask = fn(&mut CopyOptions);
    let wrong: [(&str, Ask); 8] = [
        ("say so (--delete-unmatched", |it| (it.wish.delete, it.only.include) = (Delete::InFolders, some())),
        ("say so (--delete-unmatched", |it| (it.wish.delete, it.only.exclude) = (Delete::InFolders, some())),
        ("a range is of one file", |it| (it.span, it.only.include) = (Some(FROM_5), some())),
        ("a range is of one file", |it| (it.span, it.wish.delete) = (Some(FROM_5), Delete::InFolders)),
        ("a part of fields", |it| (it.part, it.span) = (Some(FieldPart::default()), Some(FROM_5))),
        ("a part of fields", |it| (it.part, it.only.exclude) = (Some(FieldPart::default()), some())),
        ("a part of fields", |it| (it.part, it.only.follow) = (Some(FieldPart::default()), true)),
        ("a part of fields", |it| {
            (it.part, it.wish.delete, it.unmatched) = (Some(FieldPart::default()), Delete::InFolders, true);
        }),
    ];
    for (needle, ask) in wrong {
        let mut wanted = options(&["/not/there"], "/nor/there.zarr");
        ask(&mut wanted);
        let why = run(&wanted).0.unwrap_err();
        assert!(matches!(why, CopyError::Misfit(_)) && why.to_string().contains(needle), "{why}");
    }
}

const FROM_5: Span = Span { start: 5, end: None };

fn some() -> Vec<String> {
    vec!["*.h5".to_owned()]
}
