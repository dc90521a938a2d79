//! The publishing end: a rank declares what it owns, puts its values step by step, and goes on. It never waits for who looks, unless it asks to.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use visapult_ripp_net::{Clients, Identity, Listener, ListenerOptions, Options, RippUrl, Token, Undisturbed};
use visapult_trace::{Recording, Span, Stage, begin};
use visapult_volume::{Box3, FieldInfo, Grid, Reversed, StepIndex, StepSpan};

use crate::aloud::say;
use crate::building::Building;
use crate::dialling::{FIELDS, trust_of, url_name};
use crate::door::{keep_dialling, keep_listening};
use crate::error::FlowError;
use crate::lock::lock;
use crate::meeting::TRACE_VARIABLE;
use crate::messages::AlongAxis;
use crate::shared::Shared;
use crate::steering::{Parameter, Steering};
use crate::steering_log;
use crate::words::{check_calendar, check_name, check_unit};

/// How long a program that waits for back ends does at a time.
const WAIT_SLICE: Duration = Duration::from_secs(1);

/// Which steps of a running simulation back ends get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// The newest: what cannot be sent in time is skipped, and the program never waits, but two seconds at most in the end for its last step.
    #[default]
    Newest,
    /// Every step from the one on at which they attach: ending a step waits until it is under way to all of them, and dropping the publisher
    /// until all has arrived. Where none is attached nothing waits, and one that dies is not waited for.
    Every,
    /// Every step, the first included: ending the first step waits for a back end.
    EveryFromFirst,
}

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
    /// Calendar in which that counts, as netCDF calls it; empty where none is told.
    pub calendar: String,
    /// Where samples lie along x, y, z, unless the grid says as much.
    pub along: [Option<AlongAxis>; 3],
    /// Axes along which `block`, and what is put, run the other way than the program has its samples.
    pub reversed: Reversed,
    /// What viewers may change while it runs.
    pub parameters: Vec<Parameter>,
    /// Which steps back ends get.
    pub delivery: Delivery,
    /// How the transport sends.
    pub session: Options,
}

impl PublisherOptions {
    /// One rank of a running simulation that owns the whole grid; what differs is said beside it.
    #[must_use]
    pub fn of_simulation(name: String, grid: Grid, fields: Vec<FieldInfo>) -> Self {
        Self {
            name,
            format: "running simulation".to_owned(),
            rank: 0,
            ranks: 1,
            block: grid.bounds(),
            grid,
            fields,
            live: true,
            steps: None,
            times: Vec::new(),
            time_unit: String::new(),
            calendar: String::new(),
            along: Default::default(),
            reversed: Reversed::default(),
            parameters: Vec::new(),
            delivery: Delivery::Newest,
            session: Options::default(),
        }
    }
}

/// What a publisher has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PublisherStatistics {
    /// Steps put.
    pub steps: u64,
    /// Steps handed to the transport, counted once for every back end: the last of them may not have arrived.
    pub sent: u64,
    /// Steps that a back end asked for and that could not be sent in time, those from before it came left out.
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

/// A rank that publishes. Dropping it ends its sessions.
pub struct Publisher {
    shared: Arc<Shared>,
    url: Option<RippUrl>,
    building: Building,
    next: StepIndex,
    put: Option<Span>,
    /// It was said that a step was not ended.
    has_left_out: bool,
    /// What viewers ask for has been taken over since the last step was begun; nothing can be asked for before the first.
    has_steered: bool,
    /// It was said that it has not.
    has_said_unsteered: bool,
    /// What `VISAPULT_TRACE` asks for.
    pub(crate) recording: Option<Recording>,
    door: Option<JoinHandle<()>>,
    /// What is under way when it is dropped is not waited for.
    is_abandoned: bool,
}

impl Publisher {
    /// Publishes to whoever dials `at` and knows the [URL](Self::url), in which this machine is called `host`. Without `protection` nothing is
    /// encrypted and no token is asked for, which is possible on loopback only.
    ///
    /// # Errors
    /// If what is declared makes no sense, or the address cannot be had.
    pub fn listen(
        at: SocketAddr,
        host: &str,
        protection: Option<(Identity, Token)>,
        options: PublisherOptions,
    ) -> Result<Self, FlowError> {
        let mut publisher = Self::new(options, false)?;
        let (identity, token) = protection.unzip();
        let session = Options { service: Some(FIELDS), ..publisher.shared.options.session.clone() };
        let protection = ListenerOptions { identity, token, clients: Clients::default(), session };
        let _undisturbed = Undisturbed::begin();
        let listener = Listener::bind(at, protection)?;
        publisher.url = Some(listener.url(host, &url_name(&publisher.shared.options.name)));
        publisher.spawn(move |shared| keep_listening(&shared, &listener))?;
        Ok(publisher)
    }

    /// Publishes to the back end at `url`, now or when it is there, and again when it comes back.
    ///
    /// # Errors
    /// If what is declared makes no sense, or the URL cannot be believed.
    pub fn dial(url: &RippUrl, options: PublisherOptions) -> Result<Self, FlowError> {
        let mut publisher = Self::new(options, true)?;
        let trust = trust_of(url)?;
        let url = url.clone();
        let _undisturbed = Undisturbed::begin();
        publisher.spawn(move |shared| keep_dialling(&shared, &url, &trust))?;
        Ok(publisher)
    }

    /// Whether what is declared makes sense, where nothing is published.
    ///
    /// # Errors
    /// If it does not.
    pub fn check(options: PublisherOptions) -> Result<(), FlowError> {
        Self::new(options, false).map(drop)
    }

    fn new(options: PublisherOptions, dials: bool) -> Result<Self, FlowError> {
        let shared = Arc::new(Shared::new(options, dials)?);
        let declaration = shared.declaration();
        let declared = declaration.check().and_then(|_| check_words(&shared.options));
        let declared = declared.and_then(|()| declaration.check_length());
        declared.map_err(|problem| FlowError::Declaration { who: "this program".to_owned(), problem })?;
        let building = Building::new(shared.options.fields.len(), shared.options.block.volume());
        Ok(Self {
            shared,
            url: None,
            building,
            next: 0,
            put: None,
            has_left_out: false,
            has_steered: true,
            has_said_unsteered: false,
            recording: None,
            door: None,
            is_abandoned: false,
        })
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

    /// Begins the next step, at `time` in the declared unit (NaN where unknown). Returns its number. One that has begun and not ended, as after an
    /// exception, is left out, and has had its number.
    ///
    /// # Errors
    /// If pages cannot count so far.
    pub fn begin(&mut self, time: f64) -> Result<StepIndex, FlowError> {
        self.begin_step(None, time)
    }

    /// Begins step `step`, in place of one that has begun and not ended.
    ///
    /// # Errors
    /// If pages cannot count so far.
    pub fn begin_at(&mut self, step: StepIndex, time: f64) -> Result<StepIndex, FlowError> {
        self.begin_step(Some(step), time)
    }

    /// Begins a step, the next if none is named, in place of one that has begun and not ended.
    fn begin_step(&mut self, step: Option<StepIndex>, time: f64) -> Result<StepIndex, FlowError> {
        self.leave_out();
        let step = step.unwrap_or(self.next);
        self.building.begin(step, time)?;
        self.tell_unsteered(step);
        self.put = Some(begin(Stage::Put, self.shared.options.rank, step));
        Ok(step)
    }

    /// A program whose viewers may change something, and that does not ask what, is told so once.
    fn tell_unsteered(&mut self, step: StepIndex) {
        let has_steered = std::mem::replace(&mut self.has_steered, false);
        if has_steered || self.shared.options.parameters.is_empty() {
            return;
        }
        if !std::mem::replace(&mut self.has_said_unsteered, true) {
            self.say(&format!(
                "step {step} is begun, and steer (visapult_steer) was not called before it: a program that declares parameters calls it before \
                 every step, on every rank, or what viewers ask for does not happen, or not everywhere"
            ));
        }
    }

    /// Steps of a program that counts its own are not below this.
    #[must_use]
    pub const fn next(&self) -> StepIndex {
        self.next
    }

    /// Says something of this rank to whoever started the program: on the standard error where it writes no log of its own.
    pub fn say(&self, what: &str) {
        self.shared.say(what);
    }

    /// Lets go of a step that has begun and not ended.
    fn leave_out(&mut self) {
        let Some(step) = self.building.abandon() else { return };
        self.next = step + 1;
        if !std::mem::replace(&mut self.has_left_out, true) {
            self.shared.say(&format!("step {step} was begun and not ended: it is left out, as others like it will be"));
        }
    }

    /// Puts the values of a field of the step that has begun: `write` fills the block's values, `[z, y, x]` with x fastest.
    ///
    /// # Errors
    /// If no step has begun, or there is no such field, or memory for it cannot be had, or `write` says so.
    pub fn put<E>(
        &mut self,
        field: usize,
        write: impl FnOnce(&mut [f32]) -> Result<(), E>,
    ) -> Result<Result<(), E>, FlowError> {
        self.building.put(field, write)
    }

    /// Ends the step: whoever wants it is sent it from here on, while the program goes on. A field that a running simulation has not put keeps
    /// its last values; NaN where it has none. Where every step is to be taken it waits until this one is.
    ///
    /// # Errors
    /// If no step has begun, or memory for a field that was not put cannot be had: the step is left out.
    pub fn end(&mut self) -> Result<(), FlowError> {
        self.hand_over()?;
        while !self.taken_within(WAIT_SLICE) {}
        Ok(())
    }

    /// As [`end`](Self::end), without the waiting: [`taken_within`](Self::taken_within) does that, before the next step.
    ///
    /// # Errors
    /// If no step has begun.
    pub fn hand_over(&mut self) -> Result<(), FlowError> {
        let mut built = self.building.end()?;
        self.next = built.step + 1;
        let before = lock(&self.shared.latest).clone();
        if self.shared.options.live {
            self.building.keep_last(&mut built, before.as_deref())?;
        }
        self.shared.steps.fetch_add(1, Ordering::Relaxed);
        if let Some(put) = self.put.take() {
            put.end(built.fields.iter().flatten().map(|values| size_of_val(&values[..]) as u64).sum());
        }
        let built = Arc::new(built);
        *lock(&self.shared.latest) = Some(Arc::clone(&built));
        if let Some(before) = before {
            self.building.take_back(&before, Some(&built));
        }
        self.shared.serve_all();
        Ok(())
    }

    /// Where every step is to be taken: waits for `limit` at most until the latest is under way to all back ends that are attached; whether it is.
    pub fn taken_within(&self, limit: Duration) -> bool {
        self.shared.wait_until_taken(Instant::now() + limit)
    }

    /// Publishes to nobody: for a run that is only to be done again.
    ///
    /// # Errors
    /// If what is declared makes no sense.
    pub fn alone(options: PublisherOptions) -> Result<Self, FlowError> {
        Self::new(options, false)
    }

    /// Does what an earlier run was asked for, before the same steps: the changes and the end that the steering log at `path` holds. Every rank
    /// reads the same file, before its first step.
    ///
    /// # Errors
    /// If the log cannot be read, or does not fit the parameters.
    pub fn replay(&mut self, path: &Path) -> Result<(), FlowError> {
        let actions = steering_log::read(path, &self.shared.options.parameters)?;
        lock(&self.shared.steered).participant.replay(actions);
        Ok(())
    }

    /// What viewers ask for before the next step: called between steps by a program that declares parameters. Waits while the simulation is
    /// paused, until it is resumed or this thread has been given a signal that asks the program to end or warns it: then all ranks go on. What is
    /// asked of several ranks takes effect before the same step on all. A step that has begun and not ended is left out.
    pub fn steer(&mut self) -> Steering {
        loop {
            if let Some(steering) = self.steer_now() {
                return steering;
            }
            self.shared.wait_for_word();
        }
    }

    /// As [`steer`](Self::steer), without the waiting: none if it is to be called again, for the simulation is paused. [`Pause::wait`] does the waiting.
    pub fn steer_now(&mut self) -> Option<Steering> {
        self.leave_out();
        self.has_steered = true;
        self.shared.steer(self.next)
    }

    /// What a program that may be paused waits with, while others of its threads have the publisher.
    #[must_use]
    pub fn pause(&self) -> Pause {
        Pause(Arc::clone(&self.shared))
    }

    /// The value of parameter `number`, in the order of the declaration; it changes when the program steers.
    #[must_use]
    pub fn parameter(&self, number: usize) -> Option<f64> {
        lock(&self.shared.steered).parameters.get(number).map(|parameter| parameter.value)
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
        if let Some(latest) = lock(&self.shared.latest).take() {
            self.building.take_back(&latest, None);
        }
    }

    /// Tells whoever wants `step` that it will not come, and why.
    pub fn refuse(&self, step: StepIndex, why: &str) {
        lock(&self.shared.subscribers).iter().for_each(|subscriber| subscriber.refuse(step, why));
    }

    /// Nothing more comes: waits until all that was put has arrived, where every step is to; else a moment for the last.
    pub fn settle(&self) {
        while !self.settled_within(WAIT_SLICE) {}
    }

    /// As [`settle`](Self::settle), but waits for `limit` at most: whether there is nothing more to wait for.
    pub fn settled_within(&self, limit: Duration) -> bool {
        self.shared.wait_until_arrived(Instant::now() + limit)
    }

    /// Ends its sessions without waiting for what is under way.
    pub fn abandon(mut self) {
        self.is_abandoned = true;
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

/// Programs give their names and units themselves; files have those that they have.
fn check_words(options: &PublisherOptions) -> Result<(), String> {
    if !options.live {
        return Ok(());
    }
    check_name("the run", &options.name)?;
    check_unit("the grid", &options.grid.unit)?;
    check_unit("the time", &options.time_unit)?;
    check_calendar(&options.calendar)?;
    options.fields.iter().try_for_each(|field| {
        check_name("a field", &field.name)?;
        check_unit(&format!("field {}", field.name), &field.unit)
    })
}

/// Where a paused program waits.
pub struct Pause(Arc<Shared>);

impl Pause {
    /// Waits until more is known of what viewers ask for, or this thread has been given a signal, for a moment at most.
    pub fn wait(&self) {
        self.0.wait_for_word();
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        if !self.is_abandoned {
            self.settle();
        }
        self.shared.over.store(true, Ordering::Relaxed);
        // A listener ends at once. An attempt to reach a machine that does not answer takes its time, and not the program's.
        if let Some(door) = self.door.take().filter(|_| self.url.is_some()) {
            let _ = door.join();
        }
        // Their threads hold what we share, and end now.
        lock(&self.shared.subscribers).drain(..).for_each(|subscriber| subscriber.end());
        if let Some(cause) = self.recording.take().and_then(|recording| recording.finish().trouble) {
            say(&format!("{TRACE_VARIABLE}: the trace ends early: {cause}"));
        }
    }
}
