//! A copy in the hands of a Python program.

use std::iter;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};
use visapult_copy::{
    Alike, CopyError as Ended, CopyOptions, Delete, Endpoint, Event, Headway, Pace, Patterns, Progress, Report, Span,
    Tally, Wish, copy as copy_now,
};
use visapult_ripp_net::units::{check_rate, parse_rate, parse_transport};
use visapult_ripp_net::{Lanes, MOST_LANES, Options, Rate, Undisturbed, with_kept_token};

use crate::failure::{CallError, CopyError, given};
use crate::part::Part;

/// A program that waits sees so often whether it is interrupted.
const WAIT_SLICE: Duration = Duration::from_millis(50);
/// The end of a copy that is interrupted is waited for so long.
const LAST_PATIENCE: Duration = Duration::from_secs(1);

/// Where something is, as a program says it: text may be a URL.
pub(crate) enum Place {
    Text(String),
    Path(PathBuf),
}

/// Bits per second, as a number or as people write them.
pub(crate) enum Speed {
    Bps(f64),
    Text(String),
}

/// A text, or else something of another type. An enum that derives this tells what is wrong in words alone, so that nobody can tell a number that is
/// too large from one that is none.
fn text_or<'py, Other, All>(
    object: Borrowed<'_, 'py, PyAny>,
    text: impl FnOnce(String) -> All,
    other: impl FnOnce(Other) -> All,
) -> PyResult<All>
where
    Other: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    if object.is_instance_of::<PyString>() { object.extract().map(text) } else { object.extract().map(other) }
}

impl<'py> FromPyObject<'_, 'py> for Place {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        text_or(object, Self::Text, Self::Path)
    }
}

impl<'py> FromPyObject<'_, 'py> for Speed {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<PyBool>() {
            return Err(CallError::new_err("rate: a bool is no rate: give bits per second"));
        }
        text_or(object, Self::Text, Self::Bps)
    }
}

impl Place {
    fn endpoint(self) -> PyResult<Endpoint> {
        match self {
            Self::Text(text) => {
                let whole = with_kept_token(text.as_ref()).map_err(|cause| CallError::new_err(cause.to_string()))?;
                Endpoint::try_from(whole).map_err(|cause| CallError::new_err(cause.to_string()))
            }
            Self::Path(path) => Ok(Endpoint::Here(path)),
        }
    }
}

impl Speed {
    pub(crate) fn bps(self) -> PyResult<u64> {
        match self {
            Self::Bps(bps) => check_rate(bps),
            Self::Text(text) => parse_rate(&text),
        }
        .map_err(|why| CallError::new_err(format!("rate: {why}")))
    }
}

/// How far a copy is; as text, one line that says so.
#[pyclass(module = "visapult", frozen)]
pub(crate) struct CopyProgress {
    /// Bytes that are there, of those that are to be copied.
    #[pyo3(get)]
    bytes: u64,
    /// Bytes that are to be copied, as far as is known.
    #[pyo3(get)]
    total_bytes: u64,
    /// Files that are whole, verified and in their place.
    #[pyo3(get)]
    files: u64,
    /// Files that are to be copied, as far as is known.
    #[pyo3(get)]
    total_files: u64,
    /// All is known of what is to be copied.
    #[pyo3(get)]
    is_total: bool,
    /// Bits per second, over the latest seconds.
    #[pyo3(get)]
    rate: f64,
    /// Seconds that it will take from now on, if that can be told.
    #[pyo3(get)]
    eta: Option<f64>,
    /// "network", "source disk", "sink disk", "rate", "sender", or None if that cannot be told.
    #[pyo3(get)]
    limited_by: Option<String>,
    /// Seconds since the copy began.
    #[pyo3(get)]
    seconds: f64,
    /// Something that one may want to know, if that is what is told: a lost connection, a file that could not be copied.
    #[pyo3(get)]
    notice: Option<String>,
    /// As text.
    line: String,
}

#[pymethods]
impl CopyProgress {
    fn __str__(&self) -> &str {
        &self.line
    }

    fn __repr__(&self) -> String {
        format!("<visapult.CopyProgress: {}>", self.line)
    }
}

/// What came of a copy; as text, one line that says so.
#[pyclass(module = "visapult", frozen)]
pub(crate) struct CopyResult {
    /// Files copied: whole, verified and in their place.
    #[pyo3(get)]
    files: u64,
    /// Bytes of those.
    #[pyo3(get)]
    bytes: u64,
    /// Files that were to be copied, or would be.
    #[pyo3(get)]
    wanted_files: u64,
    /// Bytes of those.
    #[pyo3(get)]
    wanted_bytes: u64,
    /// Files that were there already.
    #[pyo3(get)]
    same_files: u64,
    /// Bytes of those.
    #[pyo3(get)]
    same_bytes: u64,
    /// Bytes of what was copied that were there from an earlier attempt.
    #[pyo3(get)]
    resumed_bytes: u64,
    /// Bytes of content that travelled.
    #[pyo3(get)]
    sent_bytes: u64,
    /// Seconds that it took.
    #[pyo3(get)]
    seconds: f64,
    /// Bits of content per second that travelled.
    #[pyo3(get)]
    rate: f64,
    /// What was deleted, or would be.
    #[pyo3(get)]
    deleted: Vec<String>,
    /// What no copy has, such as sockets, and why.
    #[pyo3(get)]
    left_out: Vec<(String, String)>,
    /// What could not be copied, and why.
    #[pyo3(get)]
    failed: Vec<(String, String)>,
    /// As text.
    line: String,
}

#[pymethods]
impl CopyResult {
    fn __str__(&self) -> &str {
        &self.line
    }

    fn __repr__(&self) -> String {
        format!("<visapult.CopyResult: {}>", self.line)
    }
}

/// Copies until all is there, and calls `progress` while it goes on.
#[pyfunction]
#[pyo3(signature = (sources, destination, *, include, exclude, follow_links, checksum, delete, unmatched, range, part, dry_run, resume, sync, rate, weight, lanes, local, transport, retry, progress))]
#[expect(clippy::too_many_arguments, reason = "all have names in Python")]
pub(crate) fn copy(
    py: Python<'_>,
    #[pyo3(from_py_with = given)] sources: Vec<Place>,
    #[pyo3(from_py_with = given)] destination: Place,
    #[pyo3(from_py_with = given)] include: Vec<String>,
    #[pyo3(from_py_with = given)] exclude: Vec<String>,
    follow_links: bool,
    checksum: bool,
    delete: bool,
    unmatched: bool,
    range: Option<(u64, Option<u64>)>,
    #[pyo3(from_py_with = given)] part: Option<Part>,
    dry_run: bool,
    resume: bool,
    sync: bool,
    #[pyo3(from_py_with = given)] rate: Option<Speed>,
    weight: u32,
    lanes: Option<u16>,
    #[pyo3(from_py_with = given)] local: Vec<String>,
    #[pyo3(from_py_with = given)] transport: &str,
    #[pyo3(from_py_with = given)] retry: f64,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<CopyResult> {
    let sources = sources.into_iter().map(Place::endpoint).collect::<PyResult<Vec<_>>>()?;
    if sources.is_empty() {
        return Err(CallError::new_err("there are no sources: say what is to be copied"));
    }
    let options = CopyOptions {
        only: Patterns { include, exclude, follow: follow_links },
        span: range.map(span).transpose()?,
        part: part.map(|part| part.of_fields(dry_run)).transpose()?,
        wish: Wish {
            dry_run,
            anew: !resume,
            unsynced: !sync,
            alike: if checksum { Alike::All } else { Alike::SizeAndTime },
            delete: if delete { Delete::InFolders } else { Delete::Nothing },
            ..Wish::default()
        },
        unmatched,
        weight,
        session: session(rate, lanes, &local, transport)?,
        retry: Duration::try_from_secs_f64(retry)
            .map_err(|_| CallError::new_err(format!("retry: {retry} is no time: give seconds")))?,
        ..CopyOptions::new(sources, destination.endpoint()?)
    };
    let mut watching = Watching::new(progress);
    let mut copying = Copying::start(options);
    match copying.follow(py, &mut watching) {
        Ok(Ok(report)) => Ok(watching.result(&report, dry_run)),
        Ok(Err(cause @ (Ended::Source(_) | Ended::Misfit(_)))) => Err(CallError::new_err(cause.to_string())),
        Ok(Err(cause)) => Err(CopyError::new_err(cause.to_string())),
        Err(raised) => {
            py.detach(|| copying.stop());
            Err(raised)
        }
    }
}

fn span((start, end): (u64, Option<u64>)) -> PyResult<Span> {
    if end.is_some_and(|end| end <= start) {
        return Err(CallError::new_err(format!("range: it ends at {} before it begins at {start}", end.unwrap_or(0))));
    }
    Ok(Span { start, end })
}

fn session(rate: Option<Speed>, lanes: Option<u16>, local: &[String], transport: &str) -> PyResult<Options> {
    let local = local.iter().map(|text| {
        text.parse::<IpAddr>().map_err(|_| CallError::new_err(format!("local: {text:?} is no address of this machine")))
    });
    let local = local.collect::<PyResult<Vec<_>>>()?;
    if let Some(lanes) = lanes.filter(|lanes| !(1..=MOST_LANES).contains(lanes)) {
        return Err(CallError::new_err(format!("lanes: {lanes} is out of bounds: 1 to {MOST_LANES}")));
    }
    let lanes = lanes.map_or_else(|| Lanes::over(&local), Lanes::Exactly);
    let transport = parse_transport(transport).map_err(|why| CallError::new_err(format!("transport: {why}")))?;
    let mut options = Options { lanes, local, transport, ..Options::default() };
    if let Some(bps) = rate.map(Speed::bps).transpose()? {
        // Where the other end sends, it is the most that we let it send.
        (options.rate, options.most_receive_bps) = (Rate::Fixed(bps), bps);
    }
    Ok(options)
}

/// A copy that goes on in a thread of its own.
struct Copying {
    stop: Arc<AtomicBool>,
    /// Locked by the one who follows it.
    events: Mutex<Receiver<Event>>,
    outcome: Option<JoinHandle<Result<Report, Ended>>>,
}

impl Copying {
    fn start(options: CopyOptions) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (told, events) = channel();
        let its_stop = Arc::clone(&stop);
        let _undisturbed = Undisturbed::begin();
        let outcome = thread::spawn(move || {
            copy_now(&options, &its_stop, &mut |event| {
                // Who does not listen any more has stopped it.
                let _ = told.send(event);
            })
        });
        Self { stop, events: Mutex::new(events), outcome: Some(outcome) }
    }

    /// Until it has ended, or the program wants it to: then this is what the program raised.
    fn follow(&mut self, py: Python<'_>, watching: &mut Watching<'_>) -> PyResult<Result<Report, Ended>> {
        loop {
            let heard = py.detach(|| self.events().recv_timeout(WAIT_SLICE));
            match heard {
                Ok(event) => watching.hear(iter::once(event).chain(self.events().try_iter()))?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            py.check_signals()?;
        }
        let joined = self.outcome.take().map(|outcome| py.detach(|| outcome.join()));
        let lost = || CopyError::new_err("the copy has ended without a word: this is a fault of visapult");
        joined.and_then(Result::ok).ok_or_else(lost)
    }

    /// What has been copied is kept. One that is just dialling is not waited for: there is nothing to keep, and it ends by itself.
    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        let deadline = Instant::now() + LAST_PATIENCE;
        while self.outcome.as_ref().is_some_and(|outcome| !outcome.is_finished()) && Instant::now() < deadline {
            thread::sleep(WAIT_SLICE / 10);
        }
    }

    fn events(&self) -> MutexGuard<'_, Receiver<Event>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the program has been told, and is told.
struct Watching<'py> {
    progress: Option<Bound<'py, PyAny>>,
    began: Instant,
    pace: Pace,
    latest: Headway,
    deleted: Vec<String>,
    left_out: Vec<(String, String)>,
    failed: Vec<(String, String)>,
}

impl<'py> Watching<'py> {
    fn new(progress: Option<Bound<'py, PyAny>>) -> Self {
        let mut pace = Pace::default();
        let began = Instant::now();
        let latest = pace.note(began, &Progress::default());
        Self { progress, began, pace, latest, deleted: Vec::new(), left_out: Vec::new(), failed: Vec::new() }
    }

    /// Of several reports of progress only the last is told.
    fn hear(&mut self, events: impl Iterator<Item = Event>) -> PyResult<()> {
        let mut latest = None;
        for event in events {
            match event {
                Event::Progress(progress) => latest = Some(progress),
                Event::Failed { path, why } => {
                    self.tell(Some(format!("{path}: {why}")))?;
                    self.failed.push((path, why));
                }
                Event::LeftOut { path, why } => {
                    self.tell(Some(format!("{path} is left out: {why}")))?;
                    self.left_out.push((path, why));
                }
                Event::Deleted(path) => self.deleted.push(path),
                Event::Notice(text) => self.tell(Some(text))?,
                Event::Listed(_) | Event::Differs { .. } | Event::Detached(_) | Event::Anew | Event::Hash { .. } => {}
            }
        }
        let Some(latest) = latest else { return Ok(()) };
        self.latest = self.pace.note(Instant::now(), &latest);
        self.tell(None)
    }

    fn tell(&self, notice: Option<String>) -> PyResult<()> {
        let Some(progress) = &self.progress else { return Ok(()) };
        let Headway { progress: Progress { tally, is_listed, limit, .. }, bps, .. } = self.latest;
        progress.call1((CopyProgress {
            bytes: self.latest.bytes(),
            total_bytes: tally.wanted_bytes,
            files: tally.files,
            total_files: tally.wanted_files,
            is_total: is_listed,
            rate: bps,
            eta: self.latest.left_s(),
            limited_by: limit.map(|limit| limit.to_string()),
            seconds: self.began.elapsed().as_secs_f64(),
            notice,
            line: self.latest.to_string(),
        },))?;
        Ok(())
    }

    fn result(self, report: &Report, dry_run: bool) -> CopyResult {
        let Tally { files, bytes, same_files, same_bytes, resumed_bytes, wanted_files, wanted_bytes, .. } =
            report.tally;
        let seconds = report.elapsed.as_secs_f64();
        CopyResult {
            files,
            bytes,
            wanted_files,
            wanted_bytes,
            same_files,
            same_bytes,
            resumed_bytes,
            sent_bytes: report.arrived,
            seconds,
            rate: report.arrived as f64 * 8.0 / seconds.max(1e-3),
            deleted: self.deleted,
            left_out: self.left_out,
            failed: self.failed,
            line: if dry_run { report.tally.foreseen() } else { report.to_string() },
        }
    }
}
