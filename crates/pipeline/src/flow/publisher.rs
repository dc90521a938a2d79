//! The publishing end: a rank declares what it owns, puts its values step by step, and goes on. It never waits for who looks.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use visapult_ripp_net::{Clients, Identity, Listener, ListenerOptions, Options, RippUrl, Session, Token, Trust};
use visapult_volume::{Box3, FieldInfo, Grid, StepIndex, StepSpan};

use super::helm::{Answer, Helm};
use super::messages::{Declaration, DeclaredField, FlowError, MOST_TIMES};
use super::steering::{Commit, Parameter, Steer, Steering};
use super::subscriber::Subscriber;
use crate::step_store::lock;

/// Steps whose memory is kept to be used again.
const SPARE_STEPS: usize = 4;
/// How often a paused simulation looks whether somebody is left who could resume it.
const PAUSED_POLL: Duration = Duration::from_millis(200);
const POLL: Duration = Duration::from_millis(100);
/// From one attempt to reach the back end to the next.
const DIAL_AGAIN: Duration = Duration::from_secs(2);
/// What the session is for, as its request says.
pub(super) const PUBLISH: &str = "visapult-publish";

/// What a rank publishes.
#[derive(Clone, Debug)]
pub struct PublisherOptions {
    /// Name to show.
    pub name: String,
    /// Where it comes from, in a few words.
    pub format: String,
    /// This rank, and how many there are.
    pub rank: u32,
    /// See `rank`.
    pub ranks: u32,
    /// The whole grid.
    pub grid: Grid,
    /// Fields on it.
    pub fields: Vec<FieldInfo>,
    /// The box of the grid that this rank owns. The ranks' boxes tile the grid.
    pub block: Box3,
    /// More steps come by themselves; otherwise any step of `steps` is put when it is asked for.
    pub live: bool,
    /// Steps there are, where they are known beforehand.
    pub steps: Option<StepSpan>,
    /// Times of those.
    pub times: Vec<f64>,
    /// Unit of times.
    pub time_unit: String,
    /// What viewers may change while it runs.
    pub parameters: Vec<Parameter>,
    /// How the transport sends.
    pub session: Options,
}

/// A step that has been put.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) step: StepIndex,
    pub(super) time: f64,
    /// By field; none where it was not put.
    pub(super) fields: Vec<Option<Arc<Vec<f32>>>>,
}

/// What a publisher has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PublisherStatistics {
    /// Steps put.
    pub steps: u64,
    /// Steps sent, counted once for every back end.
    pub sent: u64,
    /// Steps that a back end asked for and that could not be sent in time.
    pub missed: u64,
    /// Back ends attached now.
    pub attached: usize,
}

/// A step that a back end would like of a source that does not run on by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The step.
    pub step: StepIndex,
    /// Its fields.
    pub fields: Vec<usize>,
}

/// What the publisher's threads share.
pub(super) struct Shared {
    pub(super) options: PublisherOptions,
    pub(super) latest: Mutex<Option<Arc<Published>>>,
    pub(super) steered: Mutex<Steered>,
    steered_changed: Condvar,
    pub(super) subscribers: Mutex<Vec<Arc<Subscriber>>>,
    /// Back ends that were ever attached.
    pub(super) numbers: AtomicUsize,
    pub(super) sent: AtomicU64,
    pub(super) missed: AtomicU64,
    steps: AtomicU64,
    over: AtomicBool,
}

/// What viewers have asked for.
pub(super) struct Steered {
    pub(super) helm: Helm,
    pub(super) parameters: Vec<Parameter>,
}

/// A rank that publishes. Dropping it ends its sessions.
pub struct Publisher {
    shared: Arc<Shared>,
    url: Option<RippUrl>,
    building: Option<Published>,
    next: StepIndex,
    spare: Vec<Arc<Vec<f32>>>,
    door: Option<JoinHandle<()>>,
}

impl Publisher {
    /// Publishes to whoever dials `at` and knows the [URL](Self::url), in which this machine is called `host`. Without `identity` nothing is
    /// encrypted and no token is asked for, which is possible on loopback only.
    ///
    /// # Errors
    /// If what is declared makes no sense, or the address cannot be had.
    pub fn listen(
        at: SocketAddr,
        host: &str,
        identity: Option<Identity>,
        options: PublisherOptions,
    ) -> Result<Self, FlowError> {
        let mut publisher = Self::new(options)?;
        let token = identity.as_ref().map(|_| Token::fresh()).transpose();
        let token = token.map_err(|cause| FlowError::Usage(cause.to_string()))?;
        let session = publisher.shared.options.session.clone();
        let protection = ListenerOptions { identity, token, clients: Clients::default(), session };
        let listener = Listener::bind(at, protection)?;
        publisher.url = Some(listener.url(host, &url_name(&publisher.shared.options.name)));
        publisher.spawn(move |shared| {
            while !shared.is_over() {
                match listener.accept(POLL) {
                    Ok(Some(session)) => Subscriber::attach(&shared, session),
                    Ok(None) => {}
                    Err(cause) => {
                        tracing::warn!("nobody can attach any more: {cause}");
                        return;
                    }
                }
            }
        })?;
        Ok(publisher)
    }

    /// Publishes to the back end at `url`, now or when it is there, and again when it comes back.
    ///
    /// # Errors
    /// If what is declared makes no sense, or the URL cannot be believed.
    pub fn dial(url: &RippUrl, options: PublisherOptions) -> Result<Self, FlowError> {
        let mut publisher = Self::new(options)?;
        let trust = trust_of(url)?;
        let url = url.clone();
        publisher.spawn(move |shared| keep_dialling(&shared, &url, &trust))?;
        Ok(publisher)
    }

    /// Whether what is declared makes sense, where nothing is published.
    ///
    /// # Errors
    /// If it does not.
    pub fn check(options: PublisherOptions) -> Result<(), FlowError> {
        Self::new(options).map(drop)
    }

    fn new(options: PublisherOptions) -> Result<Self, FlowError> {
        let steered = Steered { helm: Helm::default(), parameters: options.parameters.clone() };
        let shared = Arc::new(Shared {
            options,
            steered: Mutex::new(steered),
            steered_changed: Condvar::new(),
            latest: Mutex::default(),
            subscribers: Mutex::default(),
            numbers: AtomicUsize::new(0),
            sent: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            steps: AtomicU64::new(0),
            over: AtomicBool::new(false),
        });
        let declared = shared.declaration().check();
        declared.map_err(|problem| FlowError::Declaration { who: "this program".to_owned(), problem })?;
        Ok(Self { shared, url: None, building: None, next: 0, spare: Vec::new(), door: None })
    }

    fn spawn(&mut self, work: impl FnOnce(Arc<Shared>) + Send + 'static) -> Result<(), FlowError> {
        let shared = Arc::clone(&self.shared);
        let door = thread::Builder::new().name("flow-door".to_owned()).spawn(move || work(shared));
        self.door = Some(door.map_err(|cause| FlowError::Usage(format!("a thread cannot be had: {cause}")))?);
        Ok(())
    }

    /// What a back end has to dial; none where we dial.
    #[must_use]
    pub fn url(&self) -> Option<&RippUrl> {
        self.url.as_ref()
    }

    /// Begins the next step, at `time` in the declared unit (NaN where unknown). Returns its number.
    ///
    /// # Errors
    /// If a step has begun already.
    pub fn begin(&mut self, time: f64) -> Result<StepIndex, FlowError> {
        self.begin_at(self.next, time)
    }

    /// Begins step `step`.
    ///
    /// # Errors
    /// If a step has begun already.
    pub fn begin_at(&mut self, step: StepIndex, time: f64) -> Result<StepIndex, FlowError> {
        if let Some(begun) = &self.building {
            return Err(FlowError::Usage(format!("step {} has begun and must end first", begun.step)));
        }
        let fields = vec![None; self.shared.options.fields.len()];
        self.building = Some(Published { step, time, fields });
        Ok(step)
    }

    /// Puts the values of a field of the step that has begun: `write` fills the block's values, `[z, y, x]` with x fastest.
    ///
    /// # Errors
    /// If no step has begun, or there is no such field, or `write` says so.
    pub fn put<E>(
        &mut self,
        field: usize,
        write: impl FnOnce(&mut [f32]) -> Result<(), E>,
    ) -> Result<Result<(), E>, FlowError> {
        let fields = self.shared.options.fields.len();
        let Some(building) = &mut self.building else {
            return Err(FlowError::Usage("no step has begun: begin one before putting values".to_owned()));
        };
        if field >= fields {
            return Err(FlowError::Usage(format!("there is no field {field}: {fields} are declared")));
        }
        let mut memory = take_spare(&mut self.spare, self.shared.options.block.volume());
        #[expect(clippy::expect_used, reason = "just found to be nobody else's")]
        let outcome = write(Arc::get_mut(&mut memory).expect("ours alone"));
        if outcome.is_ok() {
            building.fields[field] = Some(memory);
        }
        Ok(outcome)
    }

    /// Ends the step: whoever wants it is sent it from here on, while the program goes on. A field that a running simulation has not put keeps
    /// its last values; NaN where it has none.
    ///
    /// # Errors
    /// If no step has begun.
    pub fn end(&mut self) -> Result<(), FlowError> {
        let Some(mut built) = self.building.take() else {
            return Err(FlowError::Usage("no step has begun: begin one before ending it".to_owned()));
        };
        if self.shared.options.live {
            self.keep_last(&mut built);
        }
        self.next = built.step + 1;
        self.shared.steps.fetch_add(1, Ordering::Relaxed);
        let built = Arc::new(built);
        let before = lock(&self.shared.latest).replace(Arc::clone(&built));
        if let Some(before) = before {
            let is_kept = |values: &Arc<Vec<f32>>| built.fields.iter().flatten().any(|kept| Arc::ptr_eq(kept, values));
            self.spare.extend(before.fields.iter().flatten().filter(|values| !is_kept(values)).cloned());
            let most = SPARE_STEPS * self.shared.options.fields.len();
            let excess = self.spare.len().saturating_sub(most);
            self.spare.drain(..excess);
        }
        self.shared.serve_all();
        Ok(())
    }

    fn keep_last(&self, built: &mut Published) {
        let last = lock(&self.shared.latest).clone();
        for (field, values) in built.fields.iter_mut().enumerate().filter(|(_, values)| values.is_none()) {
            let before = last.as_ref().and_then(|last| last.fields[field].clone());
            *values = before.or_else(|| Some(Arc::new(vec![f32::NAN; self.shared.options.block.volume()])));
        }
    }

    /// What viewers ask for before the next step: called between steps by a program that declares parameters. Waits while the simulation is
    /// paused. What is asked of several ranks takes effect before the same step on all.
    pub fn steer(&mut self) -> Steering {
        let mut changes = Vec::new();
        let mut steered = lock(&self.shared.steered);
        loop {
            let Steered { helm, parameters } = &mut *steered;
            let (changed, answers) = helm.apply(self.next, parameters);
            changes.extend(changed);
            let may_go_on = helm.may_begin(self.next);
            let stop = helm.is_stopped();
            drop(steered);
            self.shared.answer(answers);
            if may_go_on {
                return Steering { changes, stop };
            }
            steered = lock(&self.shared.steered);
            if lock(&self.shared.subscribers).is_empty() {
                steered.helm.release();
            }
            let waited = self.shared.steered_changed.wait_timeout(steered, PAUSED_POLL);
            steered = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until a back end wants a step that is not the latest; `None` if none does before `limit`. For what does not run on by itself.
    pub fn next_wanted(&self, limit: Duration) -> Option<Wanted> {
        let deadline = Instant::now() + limit;
        loop {
            let latest = lock(&self.shared.latest).clone();
            let wanted =
                lock(&self.shared.subscribers).iter().find_map(|subscriber| subscriber.wants_other(latest.as_deref()));
            if wanted.is_some() || Instant::now() >= deadline {
                return wanted;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Lets go of the latest step: who attaches gets the next one.
    pub fn forget(&mut self) {
        let latest = lock(&self.shared.latest).take();
        self.spare.extend(latest.iter().flat_map(|latest| latest.fields.iter().flatten().cloned()));
    }

    /// Tells whoever wants `step` that it will not come, and why.
    pub fn refuse(&self, step: StepIndex, why: &str) {
        lock(&self.shared.subscribers).iter().for_each(|subscriber| subscriber.refuse(step, why));
    }

    /// What has been done so far.
    #[must_use]
    pub fn statistics(&self) -> PublisherStatistics {
        PublisherStatistics {
            steps: self.shared.steps.load(Ordering::Relaxed),
            sent: self.shared.sent.load(Ordering::Relaxed),
            missed: self.shared.missed.load(Ordering::Relaxed),
            attached: lock(&self.shared.subscribers).len(),
        }
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        // A listener ends at once. An attempt to reach a machine that does not answer takes its time, and not the program's.
        if let Some(door) = self.door.take().filter(|_| self.url.is_some()) {
            let _ = door.join();
        }
        // Their threads hold what we share, and end now.
        lock(&self.shared.subscribers).drain(..).for_each(|subscriber| subscriber.end());
    }
}

impl Shared {
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    pub(super) fn declaration(&self) -> Declaration {
        let options = &self.options;
        let newest = lock(&self.latest).as_ref().map(|latest| [latest.step; 2]);
        let times = if options.times.len() <= MOST_TIMES { options.times.clone() } else { Vec::new() };
        Declaration {
            name: options.name.clone(),
            format: options.format.clone(),
            rank: options.rank,
            ranks: options.ranks,
            grid: (&options.grid).into(),
            fields: options.fields.iter().map(DeclaredField::from).collect(),
            block: [options.block.lo, options.block.hi],
            live: options.live,
            steps: options.steps.map(|span| [span.first, span.last]).or(newest),
            times,
            time_unit: options.time_unit.clone(),
            parameters: lock(&self.steered).parameters.clone(),
        }
    }

    /// A back end asks something of the simulation.
    pub(super) fn on_steer(&self, from: usize, steer: Steer) {
        let mut steered = lock(&self.steered);
        let Steered { helm, parameters } = &mut *steered;
        let answer = helm.take(from, steer, parameters);
        drop(steered);
        self.steered_changed.notify_all();
        self.answer([answer]);
    }

    /// A back end has heard all ranks.
    pub(super) fn on_commit(&self, from: usize, commit: Commit) {
        lock(&self.steered).helm.commit(from, commit);
        self.steered_changed.notify_all();
    }

    fn answer(&self, answers: impl IntoIterator<Item = Answer>) {
        for answer in answers {
            let subscribers = lock(&self.subscribers).clone();
            if let Some(subscriber) = subscribers.iter().find(|subscriber| subscriber.number == answer.to) {
                subscriber.answer(&answer);
            }
        }
    }

    /// Sends the latest step to whoever wants it.
    fn serve_all(&self) {
        let subscribers = lock(&self.subscribers).clone();
        for subscriber in &subscribers {
            subscriber.tell_newest(self);
            subscriber.serve(self);
        }
    }
}

fn take_spare(spare: &mut Vec<Arc<Vec<f32>>>, values: usize) -> Arc<Vec<f32>> {
    let free = spare.iter().position(|memory| Arc::strong_count(memory) == 1 && memory.len() == values);
    free.map(|place| spare.swap_remove(place)).unwrap_or_else(|| Arc::new(vec![0.0; values]))
}

fn keep_dialling(shared: &Arc<Shared>, url: &RippUrl, trust: &Trust) {
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
