//! A flow as a source: reached by dialling its publishers, or waited for.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use visapult_publish::FlowError;
use visapult_publish::dialling::{BACK_END, DIAL_AGAIN, FIELDS, PUBLISH, trust_of, url_name};
use visapult_ripp_net::{Clients, Identity, Listener, ListenerOptions, Options, RippUrl, Session, Token};
use visapult_volume::{SharedValues, StepIndex, StepSpan};
use visapult_volume_io::{ReadRequest, Source, SourceError, SourceInfo};

use super::handle::FlowHandle;
use super::look::Look;
use super::options::FlowOptions;
use super::receiver::Receiver;
use super::state::State;
use crate::crew::News;
use crate::lock::unpoisoned;

const POLL: Duration = Duration::from_millis(100);
/// Publishers that were dialled declare within this time.
const DECLARE_PATIENCE: Duration = Duration::from_secs(15);
/// How long whoever dials waits for a step to show.
const FIRST_STEP_PATIENCE: Duration = Duration::from_secs(5);
/// Whoever names nobody most often has a variable of a shell that is not set.
const NO_URL: &str = "the URL of what to receive is empty: give that which the simulation or visapult serve printed, or leave it out to wait for ranks that dial";
/// What the session is for, as its request says.
const SUBSCRIBE: &str = "visapult-subscribe";

/// A flow that is received: a source like any other.
pub struct FlowSource {
    info: SourceInfo,
    threads: Threads,
}

/// Waits for the ranks of a simulation to dial.
pub struct FlowDoor {
    url: RippUrl,
    threads: Threads,
}

/// What receives. Dropping it ends the sessions.
struct Threads {
    receiver: Arc<Receiver>,
    look: Option<Look>,
    threads: Vec<JoinHandle<()>>,
}

impl FlowSource {
    /// Receives what the publishers at `urls` publish together: one URL for each rank, with spaces between.
    ///
    /// # Errors
    /// If one cannot be reached, or they do not publish one usable flow.
    pub fn dial(urls: &str, options: FlowOptions) -> Result<Self, FlowError> {
        let urls: Result<Vec<RippUrl>, _> = urls.split_whitespace().map(str::parse).collect();
        let urls = urls.map_err(|cause| FlowError::Usage(cause.to_string()))?;
        if let Some(twice) = (1..urls.len()).find(|&later| urls[..later].contains(&urls[later])) {
            let twice = urls[twice].authority();
            return Err(FlowError::Usage(format!("the URL of {twice} is given twice: each rank has one of its own")));
        }
        if urls.is_empty() {
            return Err(FlowError::Usage(NO_URL.to_owned()));
        }
        let (dialled, mut threads) = (urls.len(), Threads::new(options));
        for url in urls {
            threads.dial(url)?;
        }
        threads.receiver.wait_for_ranks(dialled, DECLARE_PATIENCE)?;
        // Whoever dials wants to see something; but not to wait for a simulation whose steps take minutes.
        threads.receiver.has_steps_within(FIRST_STEP_PATIENCE);
        Ok(Self { info: threads.receiver.info()?, threads })
    }

    /// Listens at `at` for the ranks of a simulation that dial, and show the token. Without `protection` nothing is encrypted and no token is
    /// asked for, which is possible on loopback only.
    ///
    /// # Errors
    /// If the address cannot be had.
    pub fn listen(
        at: SocketAddr,
        host: &str,
        protection: Option<(Identity, Token)>,
        options: FlowOptions,
    ) -> Result<FlowDoor, FlowError> {
        let (identity, token) = protection.unzip();
        let session = Options { service: Some(BACK_END), ..options.session.clone() };
        let protection = ListenerOptions { identity, token, clients: Clients::default(), session };
        let listener = Listener::bind(at, protection)?;
        let url = listener.url(host, &url_name("publish"));
        if let Some(crew) = options.crew.as_ref().filter(|crew| !crew.is_head()) {
            crew.report(&News::Door { url: url.to_string() });
        }
        let mut threads = Threads::new(options);
        threads.spawn(move |receiver| take_publishers(receiver, &listener))?;
        Ok(FlowDoor { url, threads })
    }

    /// From here on steps of a running simulation are asked for only while somebody else [looks](FlowHandle::look).
    pub fn look_away(&mut self) {
        self.threads.look = None;
    }

    /// Share of a step's values that are its own; the others are of the step before, for they were lost on the way.
    #[must_use]
    pub fn fresh(&self, step: StepIndex) -> Option<f64> {
        self.threads.receiver.kept(step).map(|kept| kept.fresh())
    }

    /// What can be asked of the simulation.
    #[must_use]
    pub fn handle(&self) -> FlowHandle {
        FlowHandle::of(&self.threads.receiver)
    }
}

impl FlowDoor {
    /// What the ranks of a simulation have to dial.
    #[must_use]
    pub const fn url(&self) -> &RippUrl {
        &self.url
    }

    /// Which ranks have not come, where some have, and why as far as that is known: once they have been waited for.
    #[must_use]
    pub fn missing(&self) -> Option<String> {
        self.threads.receiver.lock().name_missing(Instant::now())
    }

    /// Waits until all ranks have declared what they publish, which is before their first step; gives itself back when `limit` has passed
    /// before that.
    ///
    /// # Errors
    /// If they do not publish one usable flow.
    pub fn wait(self, limit: Duration) -> Result<Result<FlowSource, Self>, FlowError> {
        if !self.threads.receiver.all_there_within(limit) {
            return Ok(Err(self));
        }
        Ok(Ok(FlowSource { info: self.threads.receiver.info()?, threads: self.threads }))
    }
}

impl Threads {
    fn new(options: FlowOptions) -> Self {
        let receiver = Arc::new(Receiver::new(options));
        if let Some(crew) = &receiver.options.crew {
            crew.set_flow(&receiver);
        }
        Self { look: Some(Look::at(&receiver)), receiver, threads: Vec::new() }
    }

    fn spawn(&mut self, work: impl FnOnce(&Arc<Receiver>) + Send + 'static) -> Result<(), FlowError> {
        let receiver = Arc::clone(&self.receiver);
        let thread = thread::Builder::new().name("flow-receive".to_owned()).spawn(move || work(&receiver));
        self.threads.push(thread.map_err(|cause| FlowError::Usage(format!("a thread cannot be had: {cause}")))?);
        Ok(())
    }

    /// Reaches a publisher now, and again whenever it comes back.
    fn dial(&mut self, url: RippUrl) -> Result<(), FlowError> {
        let trust = trust_of(&url)?;
        let session = self.receiver.options.session.clone();
        let options = Options { service: Some(FIELDS), request: SUBSCRIBE.to_owned(), ..session };
        let first = Session::begin(&url, &trust, None, &options)?;
        self.spawn(move |receiver| {
            // Whoever dials says what came of it.
            drop(receiver.receive(&Arc::new(first)));
            while !receiver.is_over() {
                receiver.pause(DIAL_AGAIN);
                match Session::begin(&url, &trust, None, &options) {
                    Ok(session) => {
                        if let Some(why) = receiver.receive(&Arc::new(session)) {
                            tracing::warn!("nothing is received from {}: {why}; it is tried again", url.authority());
                        }
                    }
                    Err(cause) => receiver.note_trouble(&cause.to_string()),
                }
            }
        })
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.receiver.end();
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// Receives who comes until all is over, and then from nobody: each is told that the session has ended.
fn take_publishers(receiver: &Arc<Receiver>, listener: &Listener) {
    thread::scope(|receiving| {
        while !receiver.is_over() {
            let session = match listener.accept(POLL) {
                Ok(Some(session)) => session,
                Ok(None) => continue,
                Err(cause) => return receiver.note_trouble(&cause.to_string()),
            };
            if session.request() != PUBLISH {
                session.end_because(&BACK_END.to_string());
                continue;
            }
            let work = move || {
                if let Some(why) = receiver.receive(&Arc::new(session)) {
                    tracing::warn!("a program that publishes is refused: {why}");
                }
            };
            if let Err(cause) = thread::Builder::new().name("flow-receive".to_owned()).spawn_scoped(receiving, work) {
                tracing::warn!("a rank cannot be received: no thread can be had: {cause}");
            }
        }
    });
}

impl Source for FlowSource {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn steps(&self) -> StepSpan {
        self.threads.receiver.lock().span()
    }

    fn wait_beyond(&self, step: StepIndex, limit: Duration) -> StepIndex {
        let receiver = &self.threads.receiver;
        let state = receiver.lock();
        let pending = |state: &mut State| state.span().last <= step && !receiver.is_over();
        let waited = receiver.changed.wait_timeout_while(state, limit, pending);
        unpoisoned(waited).0.span().last
    }

    fn time_of(&self, step: StepIndex) -> Option<f64> {
        let kept = self.threads.receiver.kept(step).and_then(|kept| kept.time);
        kept.or_else(|| self.info.times.get(usize::try_from(step).ok()?).copied())
    }

    fn shared(&self, request: &ReadRequest) -> Result<Option<SharedValues>, SourceError> {
        let step = self.threads.receiver.step(request, &self.info.name)?;
        Ok(step.shared(request.field, &request.bounds))
    }

    fn read(&self, request: &ReadRequest, out: &mut [f32]) -> Result<(), SourceError> {
        let step = self.threads.receiver.step(request, &self.info.name)?;
        step.read(request.field, &request.bounds, out).map_err(|cause| SourceError::io(&self.info.name, cause))
    }
}
