//! A short measurement that every listener answers by itself, whatever it serves: what the path carries, both ways.
//!
//! Invariant: it is authenticated and obeys the rules for paths as every session does; one at a time, for a few seconds, into memory alone.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use visapult_ripp::outbox::Mode;

use super::{Amount, CHECK, Report, Request, receive, send};
use crate::identity::Identity;
use crate::session::{Options, Session, SessionError};
use crate::trust::Trust;
use crate::url::RippUrl;

/// What a dialler may ask for.
const MOST_TIME: Duration = Duration::from_secs(3);
/// After this it is over, however far it has come.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long a check that comes while another ends is kept waiting.
const TURN_PATIENCE: Duration = Duration::from_secs(1);
const BUSY: &str = "busy with another check; try again in some seconds";
/// Hours are the program's to know, and a rate is for all that a member does.
const NOT_FOR_MEMBERS: &str = "checks of the path are not for those who are let in by a policy";
const LOOK: Duration = Duration::from_millis(10);

/// What came of one direction.
#[derive(Debug)]
pub struct Checked {
    /// What was measured.
    pub report: Report,
    /// The other end, as it was reached.
    pub peer: SocketAddr,
}

/// A check that a listener has answered by itself, or refused.
#[derive(Clone, Debug)]
pub struct Answered {
    /// Who asked for it, of those that the listener knows by name.
    pub who: Option<String>,
    /// From where.
    pub peer: SocketAddr,
    /// Since when.
    pub began: SystemTime,
    /// How long.
    pub elapsed: Duration,
    /// Bytes of content, in either direction.
    pub bytes: u64,
    /// Why nothing, or not all, came of it.
    pub fault: Option<String>,
}

/// Has the listener of `url` measure with us for `time`; it sends if `reverse`. Where a rate is set, the sending end keeps below it.
///
/// # Errors
/// If there is no session, or it ends before that: of a listener that knows nothing of checks, with what it serves.
pub fn check(
    url: &RippUrl,
    trust: &Trust,
    identity: Option<&Identity>,
    options: &Options,
    time: Duration,
    reverse: bool,
) -> Result<Checked, SessionError> {
    let amount = Amount::Time(time.min(MOST_TIME));
    let request = Request { kind: CHECK.to_owned(), ..Request::new(amount, Mode::Reliable, reverse) };
    let options = Options { request: request.to_text(), ..options.clone() };
    let session = Session::begin(url, trust, identity, &options)?;
    let outcome = bounded(&session, || exchange(&session, amount, !reverse));
    // If it failed because there was no session, that is the reason to be told.
    session.admitted()?;
    Ok(Checked { report: outcome?, peer: session.peer() })
}

/// The check that a session asks for, if it asks for one.
pub(crate) fn asked(session: &Session) -> Option<Request> {
    Request::of_kind(session.request(), CHECK)
}

/// Serves a session that asks for this check.
pub(crate) fn serve(session: &Session, request: &Request, busy: &AtomicBool) -> Answered {
    let (began, since) = (SystemTime::now(), Instant::now());
    let outcome = answer(session, request, busy);
    let bytes = *outcome.as_ref().unwrap_or(&0);
    let who = session.member().map(ToOwned::to_owned);
    Answered { who, peer: session.peer(), began, elapsed: since.elapsed(), bytes, fault: outcome.err() }
}

/// The bytes of the check, or why there was none.
fn answer(session: &Session, request: &Request, busy: &AtomicBool) -> Result<u64, String> {
    let is_member = session.member().is_some();
    if is_member || !takes_its_turn(busy) {
        let why = if is_member { NOT_FOR_MEMBERS } else { BUSY };
        session.end_because(why);
        return Err(why.to_owned());
    }
    let amount = match request.amount {
        Amount::Time(time) => Amount::Time(time.min(MOST_TIME)),
        Amount::Bytes(_) => Amount::Time(Duration::ZERO),
    };
    let turn = Turn(busy);
    let checked = bounded(session, || {
        let outcome = exchange(session, amount, request.reverse);
        drop(turn);
        match outcome {
            Ok(report) => {
                // The dialler ends the session.
                session.wait_ended(PATIENCE);
                Ok(report.bytes)
            }
            Err(cause) => {
                tracing::info!("a check of the path by {} failed: {cause}", session.peer());
                Err(cause)
            }
        }
    });
    checked.map_err(|cause| cause.to_string())
}

/// Held by who checks.
struct Turn<'a>(&'a AtomicBool);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Waits for the end of a check that is nearly over.
fn takes_its_turn(busy: &AtomicBool) -> bool {
    let until = Instant::now() + TURN_PATIENCE;
    while busy.swap(true, Ordering::AcqRel) {
        if Instant::now() >= until {
            return false;
        }
        thread::sleep(LOOK);
    }
    true
}

fn exchange(session: &Session, amount: Amount, sends: bool) -> Result<Report, SessionError> {
    let stop = AtomicBool::new(false);
    if sends { send(session, amount, Mode::Reliable, &stop, |_| {}) } else { receive(session, &stop, |_| {}) }
}

/// Does `work`, and ends the session if that takes too long.
fn bounded<T>(session: &Session, work: impl FnOnce() -> Result<T, SessionError>) -> Result<T, SessionError> {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let watch = || {
            let until = Instant::now() + PATIENCE;
            while !done.load(Ordering::Acquire) {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return session.end_because("a check takes some seconds, and this one did not end");
                }
                thread::park_timeout(left);
            }
        };
        let watch = thread::Builder::new().spawn_scoped(scope, watch).map_err(SessionError::Thread)?;
        let outcome = work();
        done.store(true, Ordering::Release);
        watch.thread().unpark();
        outcome
    })
}
