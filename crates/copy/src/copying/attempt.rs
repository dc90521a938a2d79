//! One attempt to bring a copy about.

use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, SystemTime};

use visapult_objects::escaped;
use visapult_ripp_net::{Clients, Listener, ListenerOptions, Session, Token, Trust};

use super::CopyOptions;
use super::near::Near;
use super::plan::Plan;
use crate::dialling::{begin, dial, reach, unless_stopped};
use crate::error::CopyError;
use crate::fields::Turn;
use crate::filter::Filter;
use crate::following::follow;
use crate::give::{Begin, Lister, give};
use crate::landing::Landing;
use crate::redial::Attempt;
use crate::report::{Event, Moved};
use crate::request::{LAST_PATIENCE, Verb};
use crate::root::Root;
use crate::spread::{Into, into_share};
use crate::stripes::Striped;
use crate::take::take;
use crate::walk::Walk;
use crate::wish::Wish;

impl Plan<'_> {
    pub(super) fn attempt(
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
                    let lister = Lister::start(walk(sources, options, one.moment, stop)?);
                    let verb =
                        Verb::Put { to: escaped(to.path.as_os_str().as_encoded_bytes()), into: *into, wish: one.wish };
                    let request = one.request(options, job, verb);
                    let session = reach(stop, begin, one.url, &one.session(options), &request)?;
                    let outcome = give(&session, lister, Begin::AtOnce, stop, &mut attempt.moved, watch);
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
                let session = striped.dial(stop)?;
                attempt.was_admitted = true;
                pull(&session, Some(striped), landing, wish, stop, &mut attempt.moved, watch)
            }
            Self::Between { from, paths, to, into, job } => {
                let verb = |one: &Into| Verb::Fetch {
                    from: (*from).clone(),
                    paths: paths.clone(),
                    only: options.only.clone(),
                    span: options.span,
                    part: options.part(),
                    to: escaped(to.path.as_os_str().as_encoded_bytes()),
                    into: *into,
                    wish: one.wish,
                    most_bps: options.session.most_receive_bps / one.of(),
                    detach: options.detach,
                };
                let fetch = |one: &Into, attempt: &mut Attempt, watch: &mut dyn FnMut(Event)| {
                    let request = one.request(options, job, verb(one));
                    let session = reach(stop, dial, one.url, &options.session, &request)?;
                    attempt.was_admitted = true;
                    follow(&session, stop, &mut attempt.moved, watch)
                };
                into_share(&to.url, options, stop, attempt, watch, fetch)
            }
            Self::Here { sources, to, into } => {
                let lister = Lister::start(walk(sources, options, SystemTime::now(), stop)?);
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
                    let outcome = give(&session, lister, Begin::AtOnce, stop, &mut attempt.moved, watch);
                    outcome.map_err(|cause| match cause {
                        CopyError::Refused(why) => CopyError::Here(why),
                        cause => cause,
                    })
                })
            }
        }
    }
}

pub(crate) fn pull(
    session: &Session,
    striped: Option<&Striped<'_>>,
    landing: Option<Landing>,
    wish: Wish,
    stop: &AtomicBool,
    taken: &mut Moved,
    watch: &mut dyn FnMut(Event),
) -> Result<(), CopyError> {
    let outcome = take(session, striped, landing, wish, stop, taken, watch);
    if outcome.is_ok() {
        // The other end ends once it has heard the last word: a program that is gone sends nothing again that was lost.
        session.wait_ended(LAST_PATIENCE);
    }
    outcome
}

/// The taking end of a copy on one machine: the giving end is told of all, and tells it.
fn take_here(listener: &Listener, landing: Option<Landing>, wish: Wish, stop: &AtomicBool) {
    const PATIENCE: Duration = Duration::from_secs(10);
    let Ok(Some(session)) = listener.accept(PATIENCE) else { return };
    if take(&session, None, landing, wish, stop, &mut Moved::default(), &mut |_| {}).is_ok() {
        session.wait_ended(LAST_PATIENCE);
    }
}

fn landing(to: Near<'_>, into: bool, options: &CopyOptions, stop: &AtomicBool) -> Result<Option<Landing>, CopyError> {
    let landing = match to {
        Near::Path(path) => Landing::here(path, into, options.wish.dry_run)?,
        Near::Stored(url) => Some(Landing::stored(url, into, options.wish(), stop)?),
    };
    landing.map(|landing| landing.for_span(options.span.is_some())).transpose()
}

fn walk(sources: &[Near<'_>], options: &CopyOptions, moment: SystemTime, stop: &AtomicBool) -> Result<Walk, CopyError> {
    let root = |source: &Near<'_>| match (options.span, options.part(), source) {
        (None, None, _) => source.root(moment, stop),
        (Some(span), ..) => source.root(moment, stop)?.cut(span),
        (None, Some(part), Near::Stored(url)) => {
            let url = (*url).clone();
            unless_stopped(stop, move || Root::stored_part(&url, &part))
        }
        (None, Some(part), Near::Path(_)) => source.root(moment, stop)?.part(&part, Turn::default()),
    };
    let roots = sources.iter().map(root).collect::<Result<_, _>>()?;
    Ok(Walk::new(roots, Filter::new(&options.only).map_err(CopyError::Here)?))
}
