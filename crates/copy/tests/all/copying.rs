//! Trees of all kinds, there and back over loopback.

use std::ffi::OsStr;
use std::fs::{self, File, FileTimes, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use tempfile::TempDir;
use visapult_copy::{
    Access, Alike, Audit, CopyError, CopyOptions, Deed, Delete, Endpoint, Event, Patterns, Report, Share, ShareEvent,
    ShareOptions, Span, copy, fetches,
};
use visapult_ripp_net::{Identity, Options};

/// A share that is served as long as `work` lasts.
fn shared<T>(folder: &Path, write: bool, work: impl FnOnce(&str) -> T) -> (T, Vec<Audit>) {
    served(folder, Access::Url { write }, |urls, _| work(&urls[0]))
}

/// A share that is served as long as `work` lasts, which sees what has been logged so far.
fn served<T>(folder: &Path, access: Access, work: impl FnOnce(&[String], &Mutex<Vec<Audit>>) -> T) -> (T, Vec<Audit>) {
    let own = tempfile::tempdir().unwrap();
    let options = ShareOptions {
        folder: folder.to_owned(),
        access,
        fetch: vec!["127.0.0.*".to_owned()],
        bind: ([127, 0, 0, 1], 0).into(),
        identity: Some(Identity::load_or_create(own.path()).unwrap()),
        session: Options::default(),
    };
    let share = Share::open(options).unwrap();
    let urls: Vec<_> = share.urls("127.0.0.1").into_iter().map(|(_, url)| url.to_string()).collect();
    let (stop, audits) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let tell = |event| {
        if let ShareEvent::Done(audit) = event {
            audits.lock().unwrap().push(audit);
        }
    };
    let outcome = thread::scope(|scope| {
        scope.spawn(|| share.serve(&stop, &tell));
        let _stop = StopAtEnd(&stop);
        work(&urls, &audits)
    });
    (outcome, audits.into_inner().unwrap())
}

/// Stops the share, even if what it is for has failed.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn options(sources: &[&str], destination: &str) -> CopyOptions {
    let sources = sources.iter().map(|source| source.parse().unwrap()).collect();
    CopyOptions { retry: Duration::ZERO, ..CopyOptions::new(sources, destination.parse().unwrap()) }
}

fn run(options: &CopyOptions) -> (Result<Report, CopyError>, Vec<Event>) {
    let mut events = Vec::new();
    let outcome = copy(options, &AtomicBool::new(false), &mut |event| {
        if !matches!(event, Event::Progress(_)) {
            events.push(event);
        }
    });
    (outcome, events)
}

fn done(sources: &[&str], destination: &str) -> Report {
    let (report, events) = run(&options(sources, destination));
    assert_eq!(events, []);
    report.unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A tree with all that trees are awkward with.
fn awkward() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("tree");
    let name = |bytes: &[u8]| at.join(OsStr::from_bytes(bytes));
    fs::create_dir_all(at.join("folder/empty")).unwrap();
    fs::create_dir_all(at.join("many")).unwrap();
    fs::write(at.join("folder/nothing"), b"").unwrap();
    fs::write(name(b"\xff\xfe is no text"), b"bytes").unwrap();
    fs::write(name(&[b'n'; 255]), vec![7; 3000]).unwrap();
    fs::write(name("a b\n'\"*ä".as_bytes()), b"odd").unwrap();
    fs::write(name(b"Case"), b"upper").unwrap();
    fs::write(name(b"case"), b"lower").unwrap();
    for number in 0..300 {
        fs::write(at.join(format!("many/{number}")), vec![number as u8; number * 37]).unwrap();
    }
    let content: Vec<u8> = (0..(35 << 20) + 11_u64).map(|at| ((at * 2_654_435_761) >> 13) as u8).collect();
    fs::write(at.join("large"), content).unwrap();
    fs::write(at.join("middling"), vec![5; (1 << 20) + 1]).unwrap();
    let sparse = File::create(at.join("sparse")).unwrap();
    sparse.set_len(50 << 20).unwrap();
    sparse.write_all_at(b"island", 20 << 20).unwrap();
    File::create(at.join("hole")).unwrap().set_len(1 << 20).unwrap();
    symlink("../nowhere", at.join("link")).unwrap();
    symlink("/etc", at.join("folder/absolute")).unwrap();
    fs::write(at.join("program"), b"#!/bin/sh").unwrap();
    fs::set_permissions(at.join("program"), Permissions::from_mode(0o751)).unwrap();
    fs::set_permissions(at.join("folder/nothing"), Permissions::from_mode(0o400)).unwrap();
    fs::set_permissions(at.join("many"), Permissions::from_mode(0o555)).unwrap();
    let time = UNIX_EPOCH + Duration::new(1_000_000_007, 123_456_789);
    for old in ["program", "large", "folder"] {
        File::open(at.join(old)).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
    }
    dir
}

/// Everything that is to be the same about a tree.
fn told(at: &Path) -> Vec<String> {
    let mut all = Vec::new();
    let mut folders = vec![at.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let content = match metadata.file_type() {
                kind if kind.is_dir() => {
                    folders.push(path.clone());
                    "folder".to_owned()
                }
                kind if kind.is_symlink() => format!("-> {:?}", fs::read_link(&path).unwrap()),
                _ => blake3::hash(&fs::read(&path).unwrap()).to_string(),
            };
            let (mode, s, ns) = (metadata.mode(), metadata.mtime(), metadata.mtime_nsec());
            all.push(format!("{:?} {mode:o} {s}.{ns} {content}", path.strip_prefix(at).unwrap()));
        }
    }
    all.sort();
    all
}

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
        assert_eq!(report.unwrap().tally.failed, 2);
        assert!(
            matches!(&events[0], Event::Failed { path, why } if path == "out" && why.contains("no folder")),
            "{events:?}"
        );
    });
    assert_eq!(fs::read(outside.path().join("secret")).unwrap(), b"secret");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    assert_eq!(fs::read(there.path().join("file")).unwrap(), b"changed");
    assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0);
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
        assert!(none.unwrap_err().to_string().contains("no such file"));
        let (put, _) = run(&options(&[text(&tree)], url));
        assert!(put.unwrap_err().to_string().contains("read-only"));
        let token = url.split('@').next().unwrap();
        let forged = url.replacen(token, "ripp://AAAAAAAAAAAAAAAAAAAAAA", 1);
        let (wrong, _) = run(&options(&[&forged], text(target.path())));
        assert!(wrong.unwrap_err().to_string().contains("token is wrong"));
    });
    assert_eq!(audits.len(), 3);
    assert_eq!(fs::read(target.path().join("tree/good")).unwrap(), b"good");
}

#[test]
fn a_copy_out_of_a_share_ends_once_the_share_knows_how_it_ended() {
    let (source, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(source.path().join("file"), vec![7; 3_000_000]).unwrap();
    served(source.path(), Access::Url { write: false }, |urls, audits| {
        for number in 1..=20 {
            done(&[&format!("{}/file", urls[0])], text(&target.path().join(number.to_string())));
            assert_eq!(audits.lock().unwrap().len(), number);
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
    let only = Patterns { include: vec!["*.h5".to_owned()], exclude: vec!["tmp".to_owned()] };
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
        assert!(
            matches!(&kept[..], [Event::Differs { path, bytes: Some(4), .. }] if path == "run/sub/kept"),
            "{kept:?}"
        );
        let all = ["run/sub/old", "run/gone", "run/link"].map(|path| Event::Deleted(path.to_owned()));
        assert_eq!((dry.unwrap().tally.deleted, &events[..]), (3, &all[..]));
        assert!(at("run/gone").exists());
        mirror.wish.dry_run = false;
        let (report, events) = run(&mirror);
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
            let tally = run(&wanted).0.unwrap().tally;
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
}

#[test]
fn each_person_may_do_what_the_policy_says() {
    let (dir, target, source) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let share = dir.path().join("share");
    for folder in ["runs/12", "secret", "in"] {
        fs::create_dir_all(share.join(folder)).unwrap();
        fs::write(share.join(folder).join("file"), folder).unwrap();
    }
    // Links that stay in the share lead out of what is granted.
    symlink("../secret", share.join("runs/link")).unwrap();
    symlink("../secret/file", share.join("runs/stolen")).unwrap();
    symlink("../secret", share.join("in/link")).unwrap();
    fs::write(source.path().join("new"), b"new").unwrap();
    let policy = dir.path().join("people.toml");
    let people = "ask = \"Ada\"\n[[person]]\nname = \"grace\"\nread = [\"runs\"]\nwrite = [\"in\"]\nmost_rate = \"500M\"\n\
                [[person]]\nname = \"ada\"\nread = [\".\"]\nwrite = [\".\"]\n";
    fs::write(&policy, people).unwrap();
    let new = source.path().join("new");
    let (_, audits) = served(&share, Access::Policy(policy), |urls, _| {
        let [grace, ada] = urls else { panic!("{urls:?}") };
        let refused = |from: &str, to: &str| run(&options(&[from], to)).0.unwrap_err().to_string();
        assert_eq!(done(&[&format!("{grace}/runs")], text(target.path())).tally.files, 1);
        assert_eq!(done(&[&format!("{grace}/runs/12/file")], text(&target.path().join("one"))).tally.files, 1);
        assert_eq!(done(&[text(&new)], &format!("{grace}/in/sub/")).tally.files, 1);
        for path in ["", "/secret", "/secret/file", "/in", "/runs2"] {
            let why = refused(&format!("{grace}{path}"), text(target.path()));
            assert!(why.contains("grace may not read") && why.ends_with("only runs; ask Ada"), "{path}: {why}");
        }
        for path in ["/runs/link", "/runs/stolen", "/runs/link/file"] {
            let why = refused(&format!("{grace}{path}"), text(target.path()));
            assert!(why.contains("leads out"), "{path}: {why}");
        }
        for path in ["", "/runs", "/secret/x", "/new"] {
            let why = refused(text(&new), &format!("{grace}{path}"));
            assert!(why.contains("grace may not write") && why.ends_with("only in; ask Ada"), "{path}: {why}");
        }
        assert!(refused(text(&new), &format!("{grace}/in/link/new")).contains("leads out"));
        assert_eq!(done(&[&format!("{ada}/secret/file")], text(&target.path().join("two"))).tally.files, 1);
    });
    assert_eq!(fs::read_link(target.path().join("runs/link")).unwrap(), Path::new("../secret"));
    assert_eq!(fs::read(share.join("in/sub/new")).unwrap(), b"new");
    assert_eq!(fs::read_dir(share.join("secret")).unwrap().count(), 1);
    assert_eq!((audits[0].who.as_deref(), audits.last().unwrap().who.as_deref()), (Some("grace"), Some("ada")));
    assert!(audits[3].fault.as_deref().is_some_and(|fault| fault.contains("may not read")));
}

#[test]
fn a_policy_that_changes_holds_from_then_on() {
    let (dir, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (share, policy) = (dir.path().join("share"), dir.path().join("people.toml"));
    for folder in ["runs", "secret"] {
        fs::create_dir_all(share.join(folder)).unwrap();
        fs::write(share.join(folder).join("file"), vec![7; 16 << 20]).unwrap();
    }
    let person = |name: &str, folder: &str| format!("[[person]]\nname = \"{name}\"\nread = [\"{folder}\"]\n");
    let say = |people: &str| fs::write(&policy, format!("ask = \"Ada\"\n{people}")).unwrap();
    say(&(person("grace", "runs") + &person("ada", "runs")));
    served(&share, Access::Policy(policy.clone()), |urls, audits| {
        let [grace, ada] = urls else { panic!("{urls:?}") };
        let result = |url: &str, folder: &str| run(&options(&[&format!("{url}/{folder}/file")], text(target.path()))).0;
        let until = |url: &str, folder: &str, may: bool| {
            while result(url, folder).is_ok() != may {
                thread::sleep(Duration::from_millis(20));
            }
        };
        result(grace, "runs").unwrap();
        result(grace, "secret").unwrap_err();
        // What is under way ends where its person's rights are others now, and goes on where they are not.
        let slow = |url: &str, to: &str| {
            let mut slow = options(&[&format!("{url}/runs/file")], text(&target.path().join(to)));
            slow.session.most_receive_bps = 50_000_000;
            run(&slow).0
        };
        thread::scope(|scope| {
            let of_grace = scope.spawn(|| slow(grace, "one"));
            let of_ada = scope.spawn(|| slow(ada, "two"));
            let begun = |name: &str| target.path().join(format!("{name}.visapult-part")).exists();
            while !(begun("one") && begun("two")) {
                thread::sleep(Duration::from_millis(5));
            }
            say(&(person("grace", "secret") + &person("ada", "runs")));
            let why = of_grace.join().unwrap().unwrap_err().to_string();
            assert!(why.contains("has changed for you") || why.contains("only secret"), "{why}");
            of_ada.join().unwrap().unwrap();
        });
        until(grace, "secret", true);
        result(grace, "runs").unwrap_err();
        // A mistake changes nothing; that it was read is seen by what comes after it.
        say("mistake");
        thread::sleep(Duration::from_millis(500));
        result(grace, "secret").unwrap();
        assert!(audits.lock().unwrap().iter().any(|audit| audit.fault.is_some()));
        // Who is new has a token, and who is gone may do nothing.
        say(&(person("eve", "runs") + &person("ada", "runs")));
        until(grace, "secret", false);
        let token = fs::read_to_string(dir.path().join("eve.token")).unwrap();
        let (_, host) = ada.split_once('@').unwrap();
        result(&format!("ripp://{}@{host}", token.trim()), "runs").unwrap();
    });
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
            assert!(refused(&from.replacen("127.0.0.1", "localhost", 1), to).contains("--fetch localhost"));
            assert!(refused(from.split('#').next().unwrap(), to).contains("whole URL"));
            assert!(refused(&format!("{from}/none"), to).contains("no such file"));
            // It goes on alone, and tells how it stands.
            let mut alone = options(&[&format!("{from}/tree/large")], &format!("{to}/alone"));
            alone.detach = true;
            let (report, events) = run(&alone);
            let [Event::Detached(number)] = events[..] else { panic!("{events:?}") };
            report.unwrap();
            let Endpoint::There(share) = to.parse().unwrap() else { panic!() };
            let state = loop {
                let states = fetches(&share, None).unwrap();
                let state = states.into_iter().find(|state| state.number == number).unwrap();
                if state.result.is_some() {
                    break state;
                }
                thread::sleep(Duration::from_millis(20));
            };
            assert_eq!((state.result.as_deref(), state.tally.files), (Some("done"), 1));
            assert!(!state.from.contains('@') && state.to == "alone");
        });
        assert!(matches!(&audits[0].deed, Deed::Fetch { from } if from.starts_with("ripp://127.0.0.1:")));
        outcome
    });
    assert_eq!(told(&there.path().join("in/tree")), told(&source.path().join("tree")));
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
            let result = |number| loop {
                let states = fetches(&share, None).unwrap();
                let result = states.into_iter().find(|state| state.number == number).and_then(|state| state.result);
                match result {
                    Some(result) => break result,
                    None => thread::sleep(Duration::from_millis(20)),
                }
            };
            let mut slow = options(&[&format!("{from}/large")], &format!("{to}/a"));
            slow.session.most_receive_bps = 20_000_000;
            slow.detach = true;
            run(&slow).0.unwrap();
            fetches(&share, Some(1)).unwrap();
            assert!(result(1).contains("stopped"));
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
            assert!(result(2).contains("stopped"));
        })
    });
    // Both ends say what had travelled by then.
    for audit in [fetched.last().unwrap(), given.last().unwrap()] {
        let Audit { bytes, fault, .. } = audit;
        assert!((1..64 << 20).contains(bytes) && fault.is_some(), "{audit:?}");
    }
    assert!(!there.path().join("a").exists() && !there.path().join("b").exists());
}
