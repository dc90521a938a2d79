//! Opening streams: the dialler's part.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use visapult_ripp::control::{Hello, Message};

use super::Ack;
use crate::control::ControlLink;
use crate::identity::Identity;
use crate::session::SessionError;
use crate::session::shared::Shared;
use crate::text::printable;
use crate::trust::Trust;
use crate::url::RippUrl;

/// Streams that the fallback takes where the user did not ask for more than one lane.
pub(in crate::session) const FALLBACK_STREAMS: u16 = 4;
/// A stream opens within this time, or not at all.
const OPEN_PATIENCE: Duration = Duration::from_secs(4);

/// What it takes to open streams of a session, whenever they are needed.
#[derive(Debug)]
pub(in crate::session) struct Opener {
    pub(in crate::session) url: RippUrl,
    /// Where the listener was reached.
    pub(in crate::session) at: SocketAddr,
    pub(in crate::session) trust: Trust,
    pub(in crate::session) identity: Option<Identity>,
    /// What to say, with the session's number.
    pub(in crate::session) hello: Hello,
    pub(in crate::session) streams: u16,
}

/// Links that have been reached and have not joined the session.
pub(in crate::session) type Reached = Vec<Result<ControlLink, SessionError>>;

impl Opener {
    /// Opens all streams at the same time and adds them to the session; returns how many there are.
    ///
    /// # Errors
    /// Why there is none.
    pub(in crate::session) fn open(&self, shared: &Arc<Shared>) -> Result<usize, SessionError> {
        self.join(self.reach(), shared)
    }

    /// Reaches the listener with all links, which commits nobody to anything.
    pub(in crate::session) fn reach(&self) -> Reached {
        let dial = |()| {
            let identity = self.identity.as_ref();
            Ok(ControlLink::dial_again(&self.url, self.at, &self.trust, identity, OPEN_PATIENCE)?)
        };
        at_the_same_time(vec![(); usize::from(self.streams)], dial)
    }

    /// Makes the links streams of the session; returns how many there are.
    ///
    /// # Errors
    /// Why there is none.
    pub(in crate::session) fn join(&self, links: Reached, shared: &Arc<Shared>) -> Result<usize, SessionError> {
        let outcomes = at_the_same_time(links, |link| {
            let (link, ack) = self.join_one(link?)?;
            let place = shared.stream_place().map_err(|why| SessionError::protocol(&self.at, &why))?;
            place.fill(link, Some(ack))
        });
        let opened = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        match outcomes.into_iter().find_map(Result::err) {
            Some(cause) if opened == 0 => Err(cause),
            Some(cause) => {
                tracing::warn!("only {opened} of {} streams could be opened: {cause}", self.streams);
                Ok(opened)
            }
            None => Ok(opened),
        }
    }

    fn join_one(&self, mut link: ControlLink) -> Result<(ControlLink, Ack), SessionError> {
        let deadline = Instant::now() + OPEN_PATIENCE;
        link.send_first(&Message::Hello(self.hello.clone()).to_bytes(), deadline)?;
        let answer = link.first_message(deadline)?;
        if let Some(ack) = Ack::from_bytes(&answer) {
            return Ok((link, ack));
        }
        match Message::from_bytes(&answer) {
            Ok(Message::Rejected { why, .. }) => {
                Err(SessionError::Refused { peer: self.at.to_string(), why: printable(&why) })
            }
            _ => Err(SessionError::protocol(&self.at, &"it answers a stream with something else")),
        }
    }
}

/// Does the work on all items, each on a thread of its own.
fn at_the_same_time<I: Send, T: Send>(
    items: Vec<I>,
    work: impl Fn(I) -> Result<T, SessionError> + Sync,
) -> Vec<Result<T, SessionError>> {
    let work = &work;
    thread::scope(|scope| {
        let start = |item| thread::Builder::new().name("ripp-open".to_owned()).spawn_scoped(scope, move || work(item));
        let started: Vec<_> = items.into_iter().map(start).collect();
        let finish = |thread: std::io::Result<thread::ScopedJoinHandle<'_, _>>| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|_| Err(SessionError::Ended("a stream failed".to_owned()))),
            Err(cause) => Err(SessionError::Thread(cause)),
        };
        started.into_iter().map(finish).collect()
    })
}
