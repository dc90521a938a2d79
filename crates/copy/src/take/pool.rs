//! Threads that touch files at the taking end, so that whoever listens to the other end does not wait for a disk.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::Scope;

use cap_std::fs::Dir;

use super::storing::Storing;
use crate::bundle::{self, Item};
use crate::error::{is_full, reason};
use crate::hashing::hash;
use crate::landing::Ground;
use crate::lock::lock;
use crate::log::Origin;
use crate::memory::CountedMemory;
use crate::names::Name;
use crate::objects::{RangeBuffer, Upload};
use crate::partial::{Place, place_whole};
use crate::ranged::{Found, RangedFile, ReadBack};
use crate::ranges::RangeHash;

/// Threads: small files are made by several at once.
const THREADS: usize = 4;
/// Requests of a store take their time: so many ranges are put there at once.
const STORE_THREADS: usize = 12;

/// A file that is wanted.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    /// The folder that it goes into, below where the copy goes.
    pub(super) folder: PathBuf,
    pub(super) name: Name,
    pub(super) origin: Origin,
    pub(super) mode: u32,
    pub(super) replaces: bool,
    /// A folder has its name, and has it until all is copied.
    pub(super) waits: bool,
    /// Something is there of it under its partial name, and it matters of which version that is.
    pub(super) is_begun: bool,
}

impl Pending {
    /// Below where the copy goes.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.join(self.name.as_path())
    }

    /// In that folder, once it is open.
    pub(super) fn place(&self, folder: Arc<Dir>, is_synced: bool) -> Place {
        let Self { name, mode, replaces, waits, .. } = self;
        Place { folder, name: name.clone(), mode: *mode, replaces: *replaces, waits: *waits, is_synced }
    }
}

/// Something to do.
#[derive(Debug)]
pub(super) enum Job {
    /// Look what is there of a file that comes in ranges.
    Open { entry: u64, pending: Pending, anew: bool },
    /// Put the files of a bundle in their places, those that are wanted.
    Place { bundle: Arc<CountedMemory>, files: Vec<Option<(u64, Pending)>> },
    /// Have the disk write what is there of a file.
    Write { entry: u64, file: Arc<RangedFile> },
    /// Give a file its name.
    Keep { entry: u64, file: Arc<RangedFile> },
    /// Put a range into a store, and end it there if that was the last.
    Put { entry: u64, upload: Arc<Upload>, index: u64, hash: RangeHash, buffer: Arc<RangeBuffer> },
    /// Hash a file that looks the same.
    Hash { entry: u64, pending: Pending },
}

/// What came of it.
#[derive(Debug)]
pub(super) enum Done {
    Opened {
        entry: u64,
        found: Result<Found, Fault>,
    },
    /// A store takes the ranges of a file.
    Begun {
        entry: u64,
        upload: Result<Arc<Upload>, Fault>,
    },
    /// A range is in a store; with the hash of its file once that is whole.
    Put {
        entry: u64,
        whole: Result<Option<RangeHash>, Fault>,
    },
    /// Files of a bundle of so many bytes.
    Placed {
        bytes: u64,
        files: Vec<Placed>,
    },
    /// Nothing has to follow, unless the disk has failed.
    Written {
        entry: u64,
        outcome: Result<(), Fault>,
    },
    Kept {
        entry: u64,
        hash: Result<RangeHash, Fault>,
    },
    Hashed {
        entry: u64,
        pending: Pending,
        hash: Result<RangeHash, Fault>,
    },
}

/// A file of a bundle, with its bytes and hash if it is in its place.
pub(super) type Placed = (u64, Pending, Result<(u64, RangeHash), Fault>);

/// Why a file is not there.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) why: String,
    /// There is room for nothing else either.
    pub(super) is_full: bool,
}

impl Fault {
    pub(super) fn writing(cause: &io::Error) -> Self {
        Self { why: format!("cannot be written: {}", reason(cause)), is_full: is_full(cause) }
    }
}

/// The threads' end of jobs.
#[derive(Debug)]
pub(super) struct Pool {
    /// None once there are no more.
    jobs: Option<Sender<Job>>,
    done: Receiver<Done>,
    /// Jobs that are not done.
    waiting: usize,
    /// Nobody wants to know any more.
    over: Arc<AtomicBool>,
    read_back: Arc<ReadBack>,
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

impl Pool {
    /// Starts threads that end when the pool is dropped.
    pub(super) fn start<'scope>(scope: &'scope Scope<'scope, '_>, ground: Option<&Ground>, is_synced: bool) -> Self {
        let (jobs, jobs_out) = channel();
        let (done_in, done) = channel();
        let jobs_out = Arc::new(Mutex::new(jobs_out));
        let over = Arc::new(AtomicBool::new(false));
        let read_back = Arc::new(ReadBack { over: Arc::clone(&over), ..ReadBack::default() });
        let threads = match ground {
            None => 0,
            Some(Ground::Folder(_)) => THREADS,
            Some(Ground::Store(_)) => STORE_THREADS,
        };
        for _ in 0..threads {
            let (jobs, done, over) = (Arc::clone(&jobs_out), done_in.clone(), Arc::clone(&over));
            match ground.cloned() {
                None => {}
                Some(Ground::Folder(base)) => {
                    let (over_there, read_back) = (Arc::clone(&over), Arc::clone(&read_back));
                    let mut folders = Folders { base, latest: None, is_synced, over: over_there, read_back };
                    scope.spawn(move || work(&jobs, &done, &over, |job| folders.do_job(job)));
                }
                Some(Ground::Store(target)) => {
                    let storing = Storing { target, over: Arc::clone(&over) };
                    scope.spawn(move || work(&jobs, &done, &over, |job| storing.do_job(job)));
                }
            }
        }
        Self { jobs: Some(jobs), done, waiting: 0, over, read_back }
    }

    pub(super) fn give(&mut self, job: Job) {
        self.waiting += 1;
        // Threads end after the pool.
        let _ = self.jobs.as_ref().map(|jobs| jobs.send(job));
    }

    pub(super) fn take(&mut self) -> Option<Done> {
        let done = self.done.try_recv().ok()?;
        self.waiting -= 1;
        Some(done)
    }

    /// Has its threads end what they are at, and begin nothing more. Returns what was not taken of what they have done.
    pub(super) fn end(&mut self) -> Vec<Done> {
        self.over.store(true, Ordering::Relaxed);
        self.jobs = None;
        self.done.iter().collect()
    }

    /// Bytes from an earlier attempt that were found right so far.
    pub(super) fn verified_bytes(&self) -> u64 {
        self.read_back.bytes.load(Ordering::Relaxed)
    }

    pub(super) const fn is_idle(&self) -> bool {
        self.waiting == 0
    }
}

fn work(jobs: &Mutex<Receiver<Job>>, done: &Sender<Done>, over: &AtomicBool, mut do_job: impl FnMut(Job) -> Done) {
    while let Ok(job) = next(jobs) {
        if over.load(Ordering::Relaxed) {
            return;
        }
        if done.send(do_job(job)).is_err() {
            return;
        }
    }
}

fn next(jobs: &Mutex<Receiver<Job>>) -> Result<Job, RecvError> {
    lock(jobs).recv()
}

/// Opens folders; files that follow one another mostly lie in the same.
struct Folders {
    base: Arc<Dir>,
    latest: Option<(PathBuf, Arc<Dir>)>,
    is_synced: bool,
    over: Arc<AtomicBool>,
    read_back: Arc<ReadBack>,
}

impl Folders {
    fn do_job(&mut self, job: Job) -> Done {
        match job {
            Job::Open { entry, pending, anew } => {
                let place = self.place(&pending);
                let found = place.and_then(|place| RangedFile::open(&place, pending.origin, anew, &self.read_back));
                Done::Opened { entry, found: found.map_err(|cause| Fault::writing(&cause)) }
            }
            Job::Place { bundle, files } => {
                let bytes = bundle.bytes();
                let items = bundle::read(bytes).unwrap_or_default();
                let files = items.iter().zip(files).filter_map(|((_, item), file)| {
                    let (entry, mut pending) = file?;
                    let outcome = self.place_item(&pending, item);
                    if let Item::Here { mtime, content, .. } = item {
                        pending.origin = Origin { size: content.len() as u64, mtime: *mtime, ..pending.origin };
                    }
                    Some((entry, pending, outcome))
                });
                Done::Placed { bytes: bytes.len() as u64, files: files.collect() }
            }
            Job::Write { entry, file } => {
                Done::Written { entry, outcome: file.write().map_err(|cause| Fault::writing(&cause)) }
            }
            Job::Keep { entry, file } => {
                Done::Kept { entry, hash: file.keep().map_err(|cause| Fault::writing(&cause)) }
            }
            Job::Put { entry, .. } => {
                let why = "an object is no file of this machine".to_owned();
                Done::Put { entry, whole: Err(Fault { why, is_full: false }) }
            }
            Job::Hash { entry, pending } => {
                let hash = self.hash(&pending);
                let fault = |cause| Fault { why: format!("cannot be read back: {}", reason(&cause)), is_full: false };
                Done::Hashed { entry, pending, hash: hash.map_err(fault) }
            }
        }
    }

    fn place_item(&mut self, pending: &Pending, item: &Item<'_>) -> Result<(u64, RangeHash), Fault> {
        match item {
            Item::Not { why } => Err(Fault { why: why.clone(), is_full: false }),
            Item::Here { mtime, hash, content } => {
                let placed = self.place(pending).and_then(|place| place_whole(&place, content, hash, *mtime));
                placed.map(|()| (content.len() as u64, *hash)).map_err(|cause| Fault::writing(&cause))
            }
        }
    }

    fn hash(&mut self, pending: &Pending) -> io::Result<RangeHash> {
        let place = self.place(pending)?;
        let mut file = place.folder.open(place.name.as_path())?;
        let (hash, _) = hash(&self.over, |_, chunk| file.read(chunk))?;
        Ok(*hash.as_bytes())
    }

    fn place(&mut self, pending: &Pending) -> io::Result<Place> {
        let folder = self.open(&pending.folder)?;
        Ok(pending.place(folder, self.is_synced))
    }

    fn open(&mut self, path: &Path) -> io::Result<Arc<Dir>> {
        if path.as_os_str().is_empty() {
            return Ok(Arc::clone(&self.base));
        }
        if let Some((latest, folder)) = &self.latest
            && latest == path
        {
            return Ok(Arc::clone(folder));
        }
        let folder = Arc::new(self.base.open_dir(path)?);
        self.latest = Some((path.to_owned(), Arc::clone(&folder)));
        Ok(folder)
    }
}
