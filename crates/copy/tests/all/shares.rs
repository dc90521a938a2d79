//! Shares that last as long as a test needs them, copies to and from them, and trees to copy.

use std::ffi::OsStr;
use std::fs::{self, File, FileTimes, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, UNIX_EPOCH};

use tempfile::TempDir;
use visapult_copy::{Access, Audit, CopyError, CopyOptions, Event, Report, Share, ShareEvent, ShareOptions, copy};
use visapult_ripp_net::{Identity, Options};

/// Long enough that only something broken runs into it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits for `condition`.
pub(crate) fn eventually(what: &str, condition: impl Fn() -> bool) {
    awaited(what, || condition().then_some(()));
}

/// What `look` finds, once it finds something.
pub(crate) fn awaited<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} did not happen");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A share that is served as long as `work` lasts.
pub(crate) fn shared<T>(folder: &Path, write: bool, work: impl FnOnce(&str) -> T) -> (T, Vec<Audit>) {
    served(folder, Access::Url { write }, |urls, _| work(&urls[0]))
}

/// What a share has told so far.
#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) audits: Mutex<Vec<Audit>>,
    /// Of its policy.
    pub(crate) mistakes: Mutex<Vec<String>>,
}

impl Heard {
    fn hear(&self, event: ShareEvent) {
        match event {
            ShareEvent::Done(audit) => self.audits.lock().unwrap().push(audit),
            ShareEvent::MistakenPolicy { why, .. } | ShareEvent::Withheld { why } => {
                self.mistakes.lock().unwrap().push(why)
            }
            ShareEvent::Policy { .. } => {}
        }
    }
}

/// A share that is served as long as `work` lasts, which sees what has been told so far.
pub(crate) fn served<T>(folder: &Path, access: Access, work: impl FnOnce(&[String], &Heard) -> T) -> (T, Vec<Audit>) {
    let own = tempfile::tempdir().unwrap();
    let options = ShareOptions {
        folder: folder.to_owned(),
        access,
        fetch: vec!["127.0.0.*".to_owned()],
        bind: ([127, 0, 0, 1], 0).into(),
        identity: Some(Identity::load_or_create(own.path()).unwrap()),
        secrets: None,
        session: Options::default(),
    };
    let share = Share::open(options).unwrap();
    let urls: Vec<_> = share.urls("127.0.0.1").into_iter().map(|(_, url)| url.to_string()).collect();
    let (stop, heard) = (AtomicBool::new(false), Heard::default());
    let tell = |event| heard.hear(event);
    let outcome = thread::scope(|scope| {
        scope.spawn(|| share.serve(&stop, &tell));
        let _stop = StopAtEnd(&stop);
        work(&urls, &heard)
    });
    (outcome, heard.audits.into_inner().unwrap())
}

/// Stops a share or a copy, even if what it is for has failed.
pub(crate) struct StopAtEnd<'a>(pub(crate) &'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

pub(crate) fn options(sources: &[&str], destination: &str) -> CopyOptions {
    let sources = sources.iter().map(|source| source.parse().unwrap()).collect();
    CopyOptions { retry: Duration::ZERO, ..CopyOptions::new(sources, destination.parse().unwrap()) }
}

pub(crate) fn run(options: &CopyOptions) -> (Result<Report, CopyError>, Vec<Event>) {
    let mut events = Vec::new();
    let outcome = copy(options, &AtomicBool::new(false), &mut |event| {
        if !matches!(event, Event::Progress(_)) {
            events.push(event);
        }
    });
    (outcome, events)
}

pub(crate) fn done(sources: &[&str], destination: &str) -> Report {
    let (report, events) = run(&options(sources, destination));
    assert_eq!(events, []);
    report.unwrap()
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A tree with all that trees are awkward with.
pub(crate) fn awkward() -> TempDir {
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
pub(crate) fn told(at: &Path) -> Vec<String> {
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
