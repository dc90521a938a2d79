//! Copies: dials the other end, and again when the connection is lost.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use visapult_objects::{ObjectUrl, escaped};
use visapult_ripp_net::{Clients, Listener, ListenerOptions, Options, RippUrl, Session, SessionError, Token, Trust};

use crate::apart::check_apart;
use crate::endpoint::{Endpoint, Remote};
use crate::error::CopyError;
use crate::fields::{FieldPart, NEEDS_GROUP, ONE_SOURCE, Turn};
use crate::filter::Filter;
use crate::following::{Followed, follow, hear_refusal};
use crate::give::{Begin, Given, Lister, give};
use crate::landing::{Landing, PART_NEEDS_NAME};
use crate::objects::Store;
use crate::report::{Event, Report, Tally};
use crate::request::{Request, Verb};
use crate::root::Root;
use crate::selection::{Patterns, Span};
use crate::share::{SHARE, linger};
use crate::spread::{Into, into_share};
use crate::stripes::Striped;
use crate::take::{Taken, take};
use crate::walk::Walk;
use crate::wish::{Alike, Delete, Wish};

const POLL: Duration = Duration::from_millis(100);
/// From one attempt to reach the other end to the next.
const DIAL_AGAIN: Duration = Duration::from_secs(2);

/// How long a lost connection is dialled again, unless something else is said.
const RETRY: Duration = Duration::from_secs(300);

/// What is copied, and how.
#[derive(Clone, Debug)]
pub struct CopyOptions {
    /// What is copied: all in one share, or all that this machine reads itself, from folders and object stores.
    pub sources: Vec<Endpoint>,
    /// Where to.
    pub destination: Endpoint,
    /// What of it is meant.
    pub only: Patterns,
    /// Which bytes of the one file that is copied; then the destination is a new name.
    pub span: Option<Span>,
    /// Which part of the fields in the one source; then the destination is a Zarr group.
    pub part: Option<FieldPart>,
    /// What the taking end is to do.
    pub wish: Wish,
    /// Options of the session.
    pub session: Options,
    /// From one share into another: it goes on without us.
    pub detach: bool,
    /// Where copies share the other end's link: as many times as much as one of weight 1.
    pub weight: u32,
    /// How long a lost connection is dialled again.
    pub retry: Duration,
}

impl CopyOptions {
    /// All of these, to there, at whatever rate the path carries.
    #[must_use]
    pub fn new(sources: Vec<Endpoint>, destination: Endpoint) -> Self {
        Self {
            sources,
            destination,
            only: Patterns::default(),
            span: None,
            part: None,
            wish: Wish::default(),
            session: Options::default(),
            detach: false,
            weight: 1,
            retry: RETRY,
        }
    }

    fn request(&self, job: &str, verb: Verb) -> Request {
        Request::new(job, verb).weighing(self.weight)
    }

    /// What the taking end is to do, for these sources.
    pub(crate) fn wish(&self) -> Wish {
        let is_content = self.sources.iter().any(|source| match source {
            Endpoint::Here(path) => is_content(path),
            Endpoint::There(remote) => remote.is_content,
            Endpoint::Stored(url) => url.is_content,
        });
        let mut wish = self.wish;
        if (is_content || self.part.is_some()) && wish.delete != Delete::Nothing {
            wish.delete = Delete::InDestination;
        }
        if let Some(span) = self.span {
            // Other bytes of the same file have the same time.
            wish.start = Some(span.start);
            if wish.alike == Alike::SizeAndTime {
                wish.alike = Alike::All;
            }
        }
        wish
    }
}

/// Copies until all is there. What was copied when it fails is kept, and the next copy goes on from there.
///
/// # Errors
/// Why it ended before that. Files that could not be copied do not end it: they are counted, and told to `watch`.
pub fn copy(options: &CopyOptions, stop: &AtomicBool, watch: &mut dyn FnMut(Event)) -> Result<Report, CopyError> {
    options.sources.iter().try_for_each(Endpoint::check_source)?;
    options.destination.check_destination()?;
    Filter::new(&options.only).map_err(CopyError::Misfit)?;
    let plan = Plan::of(options)?;
    if !options.wish.is_comparison() {
        check_apart(options)?;
    }
    let mut report = Report::default();
    redialled(options.retry, stop, &mut report, watch, |attempt, watch| plan.attempt(options, stop, attempt, watch))?;
    if !options.detach {
        unmatched(&options.only, &report.tally).into_iter().for_each(|notice| watch(Event::Notice(notice)));
    }
    Ok(report)
}

/// What is to be said where patterns let nothing through.
fn unmatched(only: &Patterns, tally: &Tally) -> Option<String> {
    let Tally { wanted_files, same_files, links, failed, .. } = tally;
    if wanted_files + same_files + links + failed > 0 {
        return None;
    }
    let (include, exclude) = (only.include.join(" "), only.exclude.join(" "));
    match (include.is_empty(), exclude.is_empty()) {
        (true, true) => None,
        (true, false) => Some(format!("--exclude {exclude} leaves no file of the sources")),
        (false, true) => Some(format!("no file of the sources matches --include {include}")),
        (false, false) => {
            Some(format!("no file of the sources that --exclude {exclude} leaves matches --include {include}"))
        }
    }
}

/// Makes attempts until one brings it about, or for so long as a lost connection may be dialled again.
///
/// # Errors
/// Why it ended before that; what was done by then is in `report`.
pub(crate) fn redialled(
    retry: Duration,
    stop: &AtomicBool,
    report: &mut Report,
    watch: &mut dyn FnMut(Event),
    mut make: impl FnMut(&mut Attempt, &mut dyn FnMut(Event)) -> Result<(), CopyError>,
) -> Result<(), CopyError> {
    let began = Instant::now();
    let mut lost_at: Option<Instant> = None;
    loop {
        let mut attempt = Attempt::default();
        if lost_at.is_some() {
            watch(Event::Anew);
        }
        let outcome = make(&mut attempt, watch);
        add(report, &attempt);
        report.elapsed = began.elapsed();
        if attempt.was_admitted && attempt.arrived > 0 {
            lost_at = None;
        }
        match outcome {
            Ok(()) => return Ok(()),
            // Only who was there once is waited for.
            Err(cause) if cause.may_pass() && (attempt.was_admitted || lost_at.is_some()) => {
                let since = *lost_at.get_or_insert_with(Instant::now);
                if since.elapsed() >= retry {
                    return Err(cause);
                }
                if since.elapsed() < POLL {
                    let left = retry.as_secs();
                    watch(Event::Notice(format!("the connection is lost ({cause}): dialling again for {left} s")));
                }
                let until = Instant::now() + DIAL_AGAIN;
                while Instant::now() < until {
                    if stop.load(Ordering::Relaxed) {
                        return Err(CopyError::Stopped);
                    }
                    thread::sleep(POLL);
                }
            }
            Err(cause) => return Err(cause),
        }
    }
}

/// What came of one attempt.
#[derive(Debug, Default)]
pub(crate) struct Attempt {
    pub(crate) was_admitted: bool,
    pub(crate) tally: Tally,
    pub(crate) arrived: u64,
}

/// Adds what an attempt has done; what earlier ones had copied is the same in it.
fn add(report: &mut Report, attempt: &Attempt) {
    report.arrived += attempt.arrived;
    if !attempt.was_admitted {
        return;
    }
    report.tally = report.tally.then(&attempt.tally);
}

/// Which way things go.
enum Plan<'a> {
    /// Into a share.
    Push { sources: Vec<Near<'a>>, to: &'a Remote, into: bool, job: String },
    /// Out of a share.
    Pull { striped: Box<Striped<'a>>, to: Near<'a>, into: bool },
    /// From one share into another.
    Between { from: &'a RippUrl, paths: Vec<String>, to: &'a Remote, into: bool, job: String },
    /// On this machine.
    Here { sources: Vec<Near<'a>>, to: Near<'a>, into: bool },
}

/// What this machine gives or takes by itself.
#[derive(Clone, Copy, Debug)]
enum Near<'a> {
    Path(&'a Path),
    Stored(&'a ObjectUrl),
}

impl Near<'_> {
    fn is_content(self) -> bool {
        match self {
            Self::Path(path) => is_content(path),
            Self::Stored(url) => url.is_content,
        }
    }

    fn root(self, stop: &AtomicBool) -> Result<Root, CopyError> {
        match self {
            Self::Path(path) => Root::here(path),
            Self::Stored(url) => Store::open(url, stop).map(Root::stored),
        }
    }
}

impl<'a> Plan<'a> {
    fn of(options: &'a CopyOptions) -> Result<Self, CopyError> {
        let CopyOptions { sources, destination, .. } = options;
        let mut here = Vec::new();
        let mut there: Vec<&Remote> = Vec::new();
        for source in sources {
            match source {
                Endpoint::Here(path) => here.push(Near::Path(path)),
                Endpoint::Stored(url) => here.push(Near::Stored(url)),
                Endpoint::There(remote) => there.push(remote),
            }
        }
        let into = sources.len() > 1
            || destination.is_folder()
            || options.part.is_some()
            || here.iter().any(|near| near.is_content())
            || there.iter().any(|remote| remote.is_content);
        if options.part.is_some() {
            if sources.len() > 1 {
                return Err(CopyError::Misfit(ONE_SOURCE.to_owned()));
            }
            if let Endpoint::Stored(to) = destination {
                let why = "a part of fields is made in a folder or a share; copy that into the store then";
                return Err(CopyError::Misfit(format!("{to}: {why}")));
            }
            if !destination.is_named_like(".zarr") {
                return Err(CopyError::Misfit(NEEDS_GROUP.to_owned()));
            }
        }
        if options.span.is_some() && into {
            return Err(CopyError::Misfit(PART_NEEDS_NAME.to_owned()));
        }
        if let Some(first) = there.first()
            && (!here.is_empty() || there.iter().any(|remote| remote.url != first.url))
        {
            return Err(CopyError::Misfit(
                "all sources must be in one share, or none in any: copy one after the other".to_owned(),
            ));
        }
        let path = |remote: &&Remote| {
            let path = escaped(remote.path.as_os_str().as_encoded_bytes());
            if remote.is_content { path + "/." } else { path }
        };
        let paths = there.iter().map(path).collect();
        if options.detach && !matches!((destination, there.first()), (Endpoint::There(_), Some(_))) {
            return Err(CopyError::Misfit("only a copy from one share into another can go on alone".to_owned()));
        }
        match (destination, there.first()) {
            (Endpoint::There(to), None) => Ok(Self::Push { sources: here, to, into, job: fresh_job()? }),
            (Endpoint::Here(to), None) => Ok(Self::Here { sources: here, to: Near::Path(to), into }),
            (Endpoint::Here(to), Some(first)) => Self::pull(options, first, paths, Near::Path(to), into),
            (Endpoint::Stored(to), Some(first)) => Self::pull(options, first, paths, Near::Stored(to), into),
            (Endpoint::Stored(to), None) => Ok(Self::Here { sources: here, to: Near::Stored(to), into }),
            (Endpoint::There(to), Some(first)) => {
                Ok(Self::Between { from: &first.url, paths, to, into, job: fresh_job()? })
            }
        }
    }

    fn pull(
        options: &CopyOptions,
        first: &'a Remote,
        paths: Vec<String>,
        to: Near<'a>,
        into: bool,
    ) -> Result<Self, CopyError> {
        static NO_LIMIT: AtomicU64 = AtomicU64::new(0);
        let (only, part) = (options.only.clone(), options.part.clone());
        let verb = Verb::Get { paths, only, span: options.span, part };
        let request = options.request(&fresh_job()?, verb);
        let striped = Striped::new(&first.url, request, options.session.clone(), &|_| true, &NO_LIMIT);
        Ok(Self::Pull { striped: Box::new(striped), to, into })
    }

    fn attempt(
        &self,
        options: &CopyOptions,
        stop: &AtomicBool,
        attempt: &mut Attempt,
        watch: &mut dyn FnMut(Event),
    ) -> Result<(), CopyError> {
        let wish = options.wish();
        match self {
            Self::Push { sources, to, into, job } => {
                let put = |one: &Into, attempt: &mut Attempt, watch: &mut dyn FnMut(Event)| {
                    // It is listed while the share is reached.
                    let lister = Lister::start(walk(sources, options, stop)?);
                    let verb =
                        Verb::Put { to: escaped(to.path.as_os_str().as_encoded_bytes()), into: *into, wish: one.wish };
                    let session = begin(one.url, &one.session(options), &one.request(options, job, verb))?;
                    let outcome = push(&session, lister, stop, attempt, watch);
                    if let Err(CopyError::Session(_)) = outcome {
                        // Why we were not admitted, if so.
                        session.admitted()?;
                    }
                    attempt.was_admitted = true;
                    outcome
                };
                into_share(&to.url, options, stop, attempt, watch, put)
            }
            Self::Pull { striped, to, into } => {
                let landing = landing(*to, *into, options, stop)?;
                let session = striped.dial()?;
                attempt.was_admitted = true;
                pull(&session, Some(striped), landing, wish, stop, attempt, watch)
            }
            Self::Between { from, paths, to, into, job } => {
                let verb = |one: &Into| Verb::Fetch {
                    from: (*from).clone(),
                    paths: paths.clone(),
                    only: options.only.clone(),
                    span: options.span,
                    part: options.part.clone(),
                    to: escaped(to.path.as_os_str().as_encoded_bytes()),
                    into: *into,
                    wish: one.wish,
                    most_bps: options.session.most_receive_bps / one.of(),
                    detach: options.detach,
                };
                let fetch = |one: &Into, attempt: &mut Attempt, watch: &mut dyn FnMut(Event)| {
                    let session = dial(one.url, &options.session, &one.request(options, job, verb(one)))?;
                    attempt.was_admitted = true;
                    let mut followed = Followed::default();
                    let outcome = follow(&session, stop, &mut followed, watch);
                    (attempt.tally, attempt.arrived) = (followed.tally, followed.arrived);
                    outcome.map(|()| followed.nodes)
                };
                into_share(&to.url, options, stop, attempt, watch, fetch)
            }
            Self::Here { sources, to, into } => {
                let lister = Lister::start(walk(sources, options, stop)?);
                let landing = landing(*to, *into, options, stop)?;
                let token = Token::fresh().map_err(|cause| CopyError::Here(cause.to_string()))?;
                let session = options.session.clone();
                let listening =
                    ListenerOptions { identity: None, token: Some(token), clients: Clients::default(), session };
                let listener = Listener::bind(([127, 0, 0, 1], 0).into(), listening)?;
                let url = listener.url("127.0.0.1", "here");
                thread::scope(|scope| {
                    scope.spawn(|| take_here(&listener, landing, wish, stop));
                    let session = Session::dial(&url, &Trust::InsecureLoopback, None, &options.session)?;
                    attempt.was_admitted = true;
                    // There is no other end.
                    push(&session, lister, stop, attempt, watch).map(drop).map_err(|cause| match cause {
                        CopyError::Refused(why) => CopyError::Here(why),
                        cause => cause,
                    })
                })
            }
        }
    }
}

/// Gives all; returns the nodes that the other end would have take it, if it took nothing for that reason. Fails with why the other end would not, if so.
fn push(
    session: &Session,
    lister: Lister,
    stop: &AtomicBool,
    attempt: &mut Attempt,
    watch: &mut dyn FnMut(Event),
) -> Result<Vec<String>, CopyError> {
    let mut given = Given::default();
    let outcome = give(session, lister, Begin::AtOnce, stop, &mut given, watch);
    (attempt.tally, attempt.arrived) = (given.tally, given.arrived);
    if let Err(CopyError::Session(_)) = outcome {
        hear_refusal(session)?;
    }
    outcome.map(|()| given.nodes)
}

pub(crate) fn pull(
    session: &Session,
    striped: Option<&Striped<'_>>,
    landing: Option<Landing>,
    wish: Wish,
    stop: &AtomicBool,
    attempt: &mut Attempt,
    watch: &mut dyn FnMut(Event),
) -> Result<(), CopyError> {
    let mut taken = Taken::default();
    let outcome = take(session, striped, landing, wish, stop, &mut taken, watch);
    (attempt.tally, attempt.arrived) = (taken.tally, taken.arrived);
    if outcome.is_ok() {
        // The other end ends once it has heard the last word: a program that is gone sends nothing again that was lost.
        linger(session);
    }
    outcome
}

/// The taking end of a copy on one machine: the giving end is told of all, and tells it.
fn take_here(listener: &Listener, landing: Option<Landing>, wish: Wish, stop: &AtomicBool) {
    const PATIENCE: Duration = Duration::from_secs(10);
    let Ok(Some(session)) = listener.accept(PATIENCE) else { return };
    if take(&session, None, landing, wish, stop, &mut Taken::default(), &mut |_| {}).is_ok() {
        linger(&session);
    }
}

fn landing(to: Near<'_>, into: bool, options: &CopyOptions, stop: &AtomicBool) -> Result<Option<Landing>, CopyError> {
    let landing = match to {
        Near::Path(path) => Landing::here(path, into, options.wish.dry_run)?,
        Near::Stored(url) => Some(Landing::stored(url, into, options.wish(), stop)?),
    };
    landing.map(|landing| if options.span.is_some() { landing.of_one_name() } else { Ok(landing) }).transpose()
}

fn walk(sources: &[Near<'_>], options: &CopyOptions, stop: &AtomicBool) -> Result<Walk, CopyError> {
    let root = |source: &Near<'_>| match (options.span, &options.part, source) {
        (None, None, _) => source.root(stop),
        (Some(span), ..) => source.root(stop)?.cut(span),
        (None, Some(part), Near::Stored(url)) => {
            let (url, part) = ((*url).clone(), part.clone());
            unless_stopped(stop, move || Root::stored_part(&url, &part))
        }
        (None, Some(part), Near::Path(_)) => source.root(stop)?.part(part, Turn::default()),
    };
    let roots = sources.iter().map(root).collect::<Result<_, _>>()?;
    Ok(Walk::new(roots, Filter::new(&options.only).map_err(CopyError::Here)?))
}

/// What `work` comes to. Where a store is silent, that takes minutes: once it is to stop, it is left to end by itself.
fn unless_stopped<T: Send + 'static>(
    stop: &AtomicBool,
    work: impl FnOnce() -> Result<T, CopyError> + Send + 'static,
) -> Result<T, CopyError> {
    let (done_in, done) = mpsc::channel();
    thread::spawn(move || done_in.send(work()));
    loop {
        match done.recv_timeout(POLL) {
            Ok(outcome) => return outcome,
            Err(RecvTimeoutError::Timeout) if !stop.load(Ordering::Relaxed) => {}
            Err(_) => return Err(CopyError::Stopped),
        }
    }
}

/// A name for a copy that no other has.
pub(crate) fn fresh_job() -> Result<String, CopyError> {
    Token::fresh().map(|token| token.encoded()).map_err(|cause| CopyError::Here(cause.to_string()))
}

pub(crate) fn dial(url: &RippUrl, options: &Options, request: &Request) -> Result<Session, CopyError> {
    let session = begin(url, options, request)?;
    session.admitted()?;
    Ok(session)
}

/// The same without waiting to be admitted: what is offered meanwhile is under way a round trip sooner.
fn begin(url: &RippUrl, options: &Options, request: &Request) -> Result<Session, CopyError> {
    let trust = if url.fingerprint.is_none() && url.token.is_none() {
        Trust::InsecureLoopback
    } else {
        Trust::for_url(url).map_err(SessionError::from)?
    };
    let session = Options { service: Some(SHARE), request: request.to_text(), ..options.clone() };
    Ok(Session::begin(url, &trust, None, &session)?)
}

fn is_content(path: &Path) -> bool {
    Root::here(path).is_ok_and(|root| root.is_content())
}
