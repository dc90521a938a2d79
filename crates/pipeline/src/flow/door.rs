//! How back ends come to a rank: it waits for those that dial, or dials one and keeps trying.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use visapult_ripp_net::{Listener, Options, RippUrl, Session, Trust};

use super::messages::FlowError;
use super::shared::Shared;
use super::subscriber::Subscriber;

const POLL: Duration = Duration::from_millis(100);
/// From one attempt to reach the back end to the next.
const DIAL_AGAIN: Duration = Duration::from_secs(2);
/// What the session is for, as its request says.
pub(super) const PUBLISH: &str = "visapult-publish";

/// Lets in whoever dials, until the publisher is over.
pub(super) fn keep_listening(shared: &Arc<Shared>, listener: &Listener) {
    while !shared.is_over() {
        match listener.accept(POLL) {
            Ok(Some(session)) => Subscriber::attach(shared, session),
            Ok(None) => {}
            Err(cause) => {
                tracing::warn!("nobody can attach any more: {cause}");
                return;
            }
        }
    }
}

/// Dials the back end, again whenever it is gone, until the publisher is over.
pub(super) fn keep_dialling(shared: &Arc<Shared>, url: &RippUrl, trust: &Trust) {
    let options = Options { request: PUBLISH.to_owned(), ..shared.options.session.clone() };
    let mut told = false;
    while !shared.is_over() {
        match Session::dial(url, trust, None, &options) {
            Ok(session) => {
                told = false;
                // Returns when the session is over.
                Subscriber::attach_here(shared, session);
            }
            Err(cause) if !told => {
                told = true;
                tracing::warn!(
                    "{} is not there ({cause}); the program goes on, and it is tried again",
                    url.authority()
                );
            }
            Err(_) => {}
        }
        let until = Instant::now() + DIAL_AGAIN;
        while !shared.is_over() && Instant::now() < until {
            thread::sleep(POLL);
        }
    }
}

/// A URL that names nobody is one of a listener on loopback without protection.
pub(super) fn trust_of(url: &RippUrl) -> Result<Trust, FlowError> {
    if url.fingerprint.is_none() && url.token.is_none() {
        return Ok(Trust::InsecureLoopback);
    }
    Trust::for_url(url).map_err(|cause| FlowError::Usage(cause.to_string()))
}

/// A name as it may stand in a URL.
pub(super) fn url_name(name: &str) -> String {
    name.chars().map(|sign| if sign.is_ascii_alphanumeric() || "-_.".contains(sign) { sign } else { '-' }).collect()
}
