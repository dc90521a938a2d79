//! Dials a share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use visapult_ripp_net::{Options, RippUrl, Session, SessionError, Token, Trust};

use crate::error::CopyError;
use crate::request::{Request, SHARE};

const POLL: Duration = Duration::from_millis(100);

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
pub(crate) fn begin(url: &RippUrl, options: &Options, request: &Request) -> Result<Session, CopyError> {
    let trust = if url.fingerprint.is_none() && url.token.is_none() {
        Trust::InsecureLoopback
    } else {
        Trust::for_url(url).map_err(SessionError::from)?
    };
    let session = Options { service: Some(SHARE), request: request.to_text(), ..options.clone() };
    Ok(Session::begin(url, &trust, None, &session)?)
}

/// [`dial`] or [`begin`], which whoever is silent makes last for seconds, unless `stop` is set first.
pub(crate) fn reach(
    stop: &AtomicBool,
    way: fn(&RippUrl, &Options, &Request) -> Result<Session, CopyError>,
    url: &RippUrl,
    options: &Options,
    request: &Request,
) -> Result<Session, CopyError> {
    let (url, options, request) = (url.clone(), options.clone(), request.clone());
    unless_stopped(stop, move || way(&url, &options, &request))
}

/// What `work` comes to. Where a store or a share is silent, that takes its time: once it is to stop, it is left to end by itself.
pub(crate) fn unless_stopped<T: Send + 'static>(
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
