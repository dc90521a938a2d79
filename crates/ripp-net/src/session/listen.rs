//! Listening for sessions.

use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, RwLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::door::Door;
use super::failures::Failures;
use super::greeting::Greeter;
use super::refused::{Refusals, Refused};
use super::strangers::Strangers;
use super::{Options, Session, SessionError};
use crate::control::{ControlListener, Greet, Security};
use crate::identity::Identity;
use crate::lock::{lock, unpoisoned};
use crate::perf::Answered;
use crate::socket::{LaneSocket, Waker};
use crate::token::Token;
use crate::trust::{Clients, Member};
use crate::url::RippUrl;

/// Sessions that wait to be taken.
const MOST_WAITING: usize = 16;

/// How a listener is protected, and what it offers.
#[derive(Debug)]
pub struct ListenerOptions {
    /// TLS and who we are; `None` is plaintext, on loopback only.
    pub identity: Option<Identity>,
    /// The secret that diallers show; without one only known clients are admitted, and on loopback whoever comes where nobody is known.
    pub token: Option<Token>,
    /// Who needs no token.
    pub clients: Clients,
    /// Options of the sessions.
    pub session: Options,
}

/// Listens for sessions. Dropping it stops it; sessions already taken go on.
#[derive(Debug)]
pub struct Listener {
    local: SocketAddr,
    token: Option<Token>,
    identity: Option<crate::fingerprint::Fingerprint>,
    members: Arc<RwLock<Vec<Member>>>,
    sessions: Mutex<Receiver<Session>>,
    answered: Mutex<Receiver<Answered>>,
    refusals: Arc<Mutex<Refusals>>,
    stop: Waker,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Listens at `at` (port 0: any).
    ///
    /// # Errors
    /// If the address, or one that lanes are to have, cannot be had, or it would be served unprotected off loopback.
    pub fn bind(at: SocketAddr, options: ListenerOptions) -> Result<Self, SessionError> {
        let security = match &options.identity {
            Some(identity) => Security::Tls { identity: identity.clone(), clients: options.clients.clone() },
            None => Security::InsecureLoopback,
        };
        if options.token.is_none() && options.clients.is_empty() && !at.ip().to_canonical().is_loopback() {
            return Err(crate::control::ControlError::NotLoopback(at).into());
        }
        options.session.local.iter().try_for_each(|&local| can_be_had(local))?;
        let policy = Arc::new(options.session.policy.load()?);
        let (token, identity) = (options.token.clone(), options.identity.as_ref().map(Identity::fingerprint));
        let members = Arc::new(RwLock::new(options.clients.members.clone()));
        let options = Arc::new(options);
        let greeter = Arc::new(Greeter::new(&options, &policy));
        let greeting = Arc::clone(&greeter);
        let greet: Greet = Arc::new(move |local, peer| greeting.greet(local, peer));
        let control = ControlListener::bind_greeting(at, &security, Some(greet))?;
        let local = control.local_addr();
        let stop = control.stopper();
        let (queue, sessions) = sync_channel(MOST_WAITING);
        let (answered_in, answered) = sync_channel(MOST_WAITING);
        let refusals = Arc::new(Mutex::new(Refusals::new(Instant::now())));
        let (strangers, sessions_by_number, checking) = (Strangers::default(), Arc::default(), Arc::default());
        let door = Door {
            options,
            members: Arc::clone(&members),
            policy,
            greeter,
            queue,
            answered: answered_in,
            refusals: Arc::clone(&refusals),
            failures: Arc::new(Failures::new(Instant::now())),
            strangers,
            sessions: sessions_by_number,
            checking,
        };
        let thread = thread::Builder::new()
            .name("ripp-door".to_owned())
            .spawn(move || door.run(&control))
            .map_err(SessionError::Thread)?;
        let (sessions, answered) = (Mutex::new(sessions), Mutex::new(answered));
        Ok(Self { local, token, identity, members, sessions, answered, refusals, stop, thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// The URL that a dialler needs to reach this listener under the name `host`.
    #[must_use]
    pub fn url(&self, host: &str, name: &str) -> RippUrl {
        RippUrl {
            token: self.token.clone(),
            host: host.to_owned(),
            port: self.local.port(),
            name: name.to_owned(),
            fingerprint: self.identity,
        }
    }

    /// From now on these are known by tokens of their own, and nobody else. Sessions that are there go on.
    pub fn admit(&self, members: Vec<Member>) {
        *unpoisoned(self.members.write()) = members;
    }

    /// Waits for the next session; `None` when `timeout` has passed.
    ///
    /// # Errors
    /// If the listener has stopped.
    pub fn accept(&self, timeout: Duration) -> Result<Option<Session>, SessionError> {
        match lock(&self.sessions).recv_timeout(timeout) {
            Ok(session) => Ok(Some(session)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(SessionError::Ended("the listener stopped".to_owned())),
        }
    }

    /// A check of the path that was answered, and has not been told of here. Where nobody asks, only the first few are kept.
    #[must_use]
    pub fn answered_check(&self) -> Option<Answered> {
        lock(&self.answered).try_recv().ok()
    }

    /// A session that was refused, and has not been told of here. Of many only a few are told, with the number of the others.
    #[must_use]
    pub fn refused(&self) -> Option<Refused> {
        lock(&self.refusals).take()
    }
}

/// Tries what each session will ask for: said now, it is said to whoever can mend it.
fn can_be_had(local: IpAddr) -> Result<(), SessionError> {
    LaneSocket::bind(SocketAddr::new(local, 0)).map(drop).map_err(|cause| SessionError::Local { local, cause })
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
