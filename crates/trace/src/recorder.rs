//! Takes events from the threads that stamp them to the file, without making them wait.
//!
//! Each thread has a ring of its own, found without a lock; one writer empties all of them.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use rtrb::{Consumer, Producer, RingBuffer};
use thiserror::Error;

use crate::clock::{epoch_ns, now_ns, offset_ns};
use crate::event::{Event, Stage};
use crate::json::Writer;
use crate::tap;
use crate::timeline::Process;

/// Events that a thread can stamp between two rounds of the writer: some 80,000 a second.
const RING: usize = 4096;
const ROUND: Duration = Duration::from_millis(50);

/// How trace files begin: those that are written here, and those for OpenTelemetry.
pub const BEGINNINGS: &[&[u8]] = &[b"[", b"{\"resourceSpans\""];

const OFF: u32 = 0;
/// Somebody looks on: the lowest bit of `CURRENT`.
const TAPPED: u32 = 1;
/// Twice the number of the recording in force, none if that is 0; and whether somebody looks on.
static CURRENT: AtomicU32 = AtomicU32::new(OFF);
static LAST: AtomicU32 = AtomicU32::new(OFF);
static LOST: AtomicU64 = AtomicU64::new(0);
/// When a simulation was seen to begin anew.
static ANEW: Mutex<Vec<i64>> = Mutex::new(Vec::new());
static RINGS: Mutex<Vec<Consumer<Event>>> = Mutex::new(Vec::new());

thread_local! {
    static OWN: RefCell<(u32, Option<Producer<Event>>)> = const { RefCell::new((OFF, None)) };
}

/// Whether events are recorded, or somebody looks on.
#[inline]
#[must_use]
pub fn is_on() -> bool {
    CURRENT.load(Ordering::Relaxed) != OFF
}

/// Whether events go to a file.
#[must_use]
pub fn is_recording() -> bool {
    CURRENT.load(Ordering::Relaxed) & !TAPPED != OFF
}

/// A stage that has begun; forgotten unless it is ended.
#[derive(Debug)]
#[must_use = "a stage that is not ended leaves no event"]
pub struct Span(Option<Event>);

/// Stamps the start of a stage of `step` at a rank, PE or session.
#[inline]
pub fn begin(stage: Stage, member: u32, step: u64) -> Span {
    Span(is_on().then(|| {
        let start_ns = now_ns();
        Event { stage, member, step, bytes: 0, start_ns, end_ns: start_ns }
    }))
}

impl Span {
    /// Stamps the end, with the bytes that were moved.
    #[inline]
    pub fn end(self, bytes: u64) {
        if let Some(event) = self.0 {
            record(Event { bytes, end_ns: now_ns(), ..event });
        }
    }
}

/// Records an event whose times were taken elsewhere, with [`now_ns`].
#[inline]
pub fn record(event: Event) {
    let current = CURRENT.load(Ordering::Relaxed);
    if current != OFF {
        push(current, event);
    }
}

/// Stamps that the simulation that is received was started anew, and counts its steps from the beginning.
pub fn begin_run() {
    if is_recording() {
        anew().push(now_ns());
    }
}

fn anew() -> std::sync::MutexGuard<'static, Vec<i64>> {
    ANEW.lock().unwrap_or_else(PoisonError::into_inner)
}

fn push(current: u32, event: Event) {
    if current & TAPPED != 0 {
        tap::push(event);
    }
    if current & !TAPPED != 0 {
        keep(current & !TAPPED, event);
    }
}

fn keep(current: u32, event: Event) {
    // A thread that is just ending has no ring any more.
    let kept = OWN.try_with(|own| {
        let mut own = own.borrow_mut();
        if own.0 != current {
            let (producer, consumer) = RingBuffer::new(RING);
            rings().push(consumer);
            *own = (current, Some(producer));
        }
        own.1.as_mut().is_some_and(|ring| ring.push(event).is_ok())
    });
    if !kept.unwrap_or(false) {
        LOST.fetch_add(1, Ordering::Relaxed);
    }
}

pub(crate) fn begin_tapping() {
    CURRENT.fetch_or(TAPPED, Ordering::Relaxed);
}

pub(crate) fn end_tapping() {
    CURRENT.fetch_and(!TAPPED, Ordering::Relaxed);
}

fn rings() -> std::sync::MutexGuard<'static, Vec<Consumer<Event>>> {
    RINGS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why nothing is recorded.
#[derive(Debug, Error)]
pub enum StartError {
    /// One recording at a time.
    #[error("this process is already being traced")]
    Already,
    /// The file is something else.
    #[error("{0} is there, and is no trace made before: name another file, or remove it first")]
    Other(String),
    /// The file cannot be made.
    #[error("cannot write the trace to {file}: {cause}")]
    Io {
        /// The file.
        file: String,
        /// The system's words.
        cause: io::Error,
    },
}

/// Events of this process are recorded while it lives.
#[derive(Debug)]
pub struct Recording {
    stop: Option<Sender<()>>,
    writer: Option<JoinHandle<Finished>>,
}

/// How a recording went.
#[derive(Debug, Default)]
pub struct Finished {
    /// Events in the file.
    pub written: u64,
    /// Events that came faster than they could be written.
    pub lost: u64,
    /// Why the file ends early, if it does.
    pub trouble: Option<io::Error>,
}

impl Recording {
    /// Records into a file, in place of a trace that was made before; `role` says what this process is (`view`, `backend`).
    ///
    /// # Errors
    /// [`StartError`] if the file is something else, or cannot be made, or something is recorded already.
    pub fn to_file(file: &Path, role: &str) -> Result<Self, StartError> {
        let failed = |cause| StartError::Io { file: file.display().to_string(), cause };
        if file.is_file() && !is_trace_or_empty(file).map_err(failed)? {
            return Err(StartError::Other(file.display().to_string()));
        }
        Self::start_with(|| File::create(file).map(BufWriter::new), &file.display().to_string(), role)
    }

    /// Records into `out`, which is called `name` should it fail.
    ///
    /// # Errors
    /// [`StartError`] if it cannot be written to, or something is recorded already.
    pub fn start(out: impl Write + Send + 'static, name: &str, role: &str) -> Result<Self, StartError> {
        Self::start_with(|| Ok(out), name, role)
    }

    /// Opens only once nothing else is recorded: that may be into the same file.
    fn start_with<W: Write + Send + 'static>(
        open: impl FnOnce() -> io::Result<W>,
        name: &str,
        role: &str,
    ) -> Result<Self, StartError> {
        let failed = |cause| StartError::Io { file: name.to_owned(), cause };
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let process = Process { host, role: role.to_owned(), aligned: false, epoch_ns: epoch_ns() };
        let number = LAST.fetch_add(2, Ordering::Relaxed).wrapping_add(2).max(2);
        let begin = |current: u32| (current & !TAPPED == OFF).then_some(current | number);
        if CURRENT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, begin).is_err() {
            return Err(StartError::Already);
        }
        let nothing_more = |cause| {
            CURRENT.fetch_and(TAPPED, Ordering::Relaxed);
            failed(cause)
        };
        let out = open().map_err(nothing_more)?;
        LOST.store(0, Ordering::Relaxed);
        rings().clear();
        anew().clear();
        let (stop, stopped) = channel();
        let file = name.to_owned();
        let thread = Builder::new().name("trace".to_owned()).spawn(move || {
            let mut finished = Finished::default();
            if let Err(problem) = write_events(out, &process, &stopped, &mut finished) {
                tracing::error!("the trace ends here, the run goes on: cannot write to {file}: {problem}");
                finished.trouble = Some(problem);
            }
            CURRENT.fetch_and(TAPPED, Ordering::Relaxed);
            finished.lost = LOST.load(Ordering::Relaxed);
            finished
        });
        Ok(Self { stop: Some(stop), writer: Some(thread.map_err(nothing_more)?) })
    }

    /// Ends the recording, and says how it went.
    #[must_use]
    pub fn finish(mut self) -> Finished {
        self.end()
    }

    fn end(&mut self) -> Finished {
        drop(self.stop.take());
        self.writer.take().and_then(|writer| writer.join().ok()).unwrap_or_default()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.end();
    }
}

/// Whether a file begins as what takes its place.
fn is_trace_or_empty(file: &Path) -> io::Result<bool> {
    /// No beginning is longer.
    const MOST: u64 = 16;
    let mut found = Vec::new();
    File::open(file)?.take(MOST).read_to_end(&mut found)?;
    Ok(found.is_empty() || BEGINNINGS.iter().any(|beginning| found.starts_with(beginning)))
}

fn write_events(out: impl Write, process: &Process, stop: &Receiver<()>, finished: &mut Finished) -> io::Result<()> {
    let pid = std::process::id();
    let mut writer = Writer::new(out)?;
    writer.process(pid, process)?;
    let mut aligned = false;
    loop {
        writer.flush()?;
        let last = stop.recv_timeout(ROUND) != Err(RecvTimeoutError::Timeout);
        if last {
            CURRENT.fetch_and(TAPPED, Ordering::Relaxed);
        }
        let offset = offset_ns();
        if let Some(behind_ns) = offset.filter(|_| !aligned) {
            aligned = true;
            writer.clock(pid, behind_ns)?;
        }
        let begun = std::mem::take(&mut *anew());
        begun.iter().try_for_each(|at_ns| writer.anew(pid, at_ns.saturating_add(offset.unwrap_or(0))))?;
        finished.written += empty_rings(&mut writer, pid, offset.unwrap_or(0))?;
        if last {
            let lost = LOST.load(Ordering::Relaxed);
            if lost > 0 {
                writer.lost(pid, lost)?;
            }
            return writer.finish();
        }
    }
}

fn empty_rings<W: Write>(writer: &mut Writer<W>, pid: u32, offset_ns: i64) -> io::Result<u64> {
    let mut written = 0;
    let mut rings = std::mem::take(&mut *rings());
    for ring in &mut rings {
        while let Ok(event) = ring.pop() {
            let start_ns = event.start_ns.saturating_add(offset_ns);
            let end_ns = event.end_ns.saturating_add(offset_ns);
            writer.event(pid, &Event { start_ns, end_ns, ..event })?;
            written += 1;
        }
    }
    rings.retain(|ring| !ring.is_abandoned() || !ring.is_empty());
    self::rings().append(&mut rings);
    Ok(written)
}
