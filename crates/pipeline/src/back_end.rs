//! A source, its PEs and the threads that render: what all sessions share.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rayon::{ThreadPool, ThreadPoolBuilder};
use visapult_volume::{StepIndex, StepSpan};
use visapult_volume_io::{Scale, Source, names_level};

use crate::config::BackEndConfig;
use crate::crew::{self, Crew};
use crate::error::PipelineError;
use crate::flow::{Action, FlowHelm, FlowOptions, FlowSource, Look, SteeringView, Watch};
use crate::memory::{self, ShownCoarser};
use crate::predictions::Predictions;
use crate::session::{ControlSink, Right, Session, SessionShared};
use crate::step_store::{LoadedStep, StepKey, StepStore, lock};
use crate::wire::{FieldName, Freshness, PROTOCOL_VERSION, SourceShape, Welcome};

/// Most data connections a page is asked to open.
const MOST_GROUPS: usize = 4;
/// How often the watcher looks whether it is still needed.
const WATCH_PERIOD: Duration = Duration::from_millis(250);

/// A source being shown.
pub struct BackEnd {
    store: StepStore,
    /// What can be asked of the simulation, where there is one.
    helm: Option<FlowHelm>,
    /// Where that is not the finest level there is.
    coarser: Option<ShownCoarser>,
    pool: ThreadPool,
    predictions: Predictions,
    groups: usize,
    sessions: Mutex<Vec<Weak<SessionShared>>>,
    next_set: AtomicU32,
    next_session: AtomicU32,
    step_interval: Mutex<Option<Duration>>,
    closing: AtomicBool,
    /// Watches for new steps of what is live.
    watcher: Mutex<Option<JoinHandle<()>>>,
}

impl BackEnd {
    /// Opens the source and starts the threads; nothing is loaded yet.
    ///
    /// # Errors
    /// [`PipelineError`] if the source cannot be opened or split as asked.
    pub fn open(config: &BackEndConfig) -> Result<Arc<Self>, PipelineError> {
        Self::open_for(Watch::First, config)
    }

    /// Like [`BackEnd::open`], for those who look once, and at these fields.
    ///
    /// # Errors
    /// [`PipelineError`] if the source cannot be opened or split as asked.
    pub fn open_for(watch: Watch, config: &BackEndConfig) -> Result<Arc<Self>, PipelineError> {
        let opened = open_source(watch, config)?;
        Self::start(
            StepStore::new(opened.source, config.pes, config.crew.clone())?,
            opened.helm,
            opened.coarser,
            config,
        )
    }

    /// Like [`BackEnd::open`], over fewer PEs than asked for where the grid is too small for so many.
    ///
    /// # Errors
    /// [`PipelineError`] if the source cannot be opened.
    pub fn open_fitting(config: &BackEndConfig) -> Result<Arc<Self>, PipelineError> {
        let opened = open_source(Watch::First, config)?;
        let store = StepStore::fitting(opened.source, config.pes, config.crew.clone())?;
        Self::start(store, opened.helm, opened.coarser, config)
    }

    /// Shows a flow that is received already, and asks for steps while pages are open, over at most so many PEs as asked for.
    ///
    /// # Errors
    /// [`PipelineError`] if its grid cannot be used, or the threads cannot be had.
    pub fn over(mut flow: FlowSource, config: &BackEndConfig) -> Result<Arc<Self>, PipelineError> {
        let helm = Some(flow.helm());
        flow.look_away();
        Self::start(StepStore::fitting(Box::new(flow), config.pes, config.crew.clone())?, helm, None, config)
    }

    /// Starts the threads.
    pub(crate) fn start(
        mut store: StepStore,
        helm: Option<FlowHelm>,
        coarser: Option<ShownCoarser>,
        config: &BackEndConfig,
    ) -> Result<Arc<Self>, PipelineError> {
        let groups = store.decomposition().boxes().len().min(MOST_GROUPS);
        let pool = rendering_threads(config.threads)?;
        if config.crew.is_none() {
            store.use_device(config.device)?;
        }
        let back_end = Arc::new(Self {
            store,
            helm,
            coarser,
            pool,
            predictions: Predictions::default(),
            groups,
            sessions: Mutex::default(),
            next_set: AtomicU32::new(1),
            next_session: AtomicU32::new(0),
            step_interval: Mutex::default(),
            closing: AtomicBool::new(false),
            watcher: Mutex::default(),
        });
        if back_end.store.source().info().live {
            let watched = Arc::downgrade(&back_end);
            *lock(&back_end.watcher) = Some(std::thread::spawn(move || watch_steps(&watched)));
        }
        if let Some(crew) = &config.crew {
            let woken = Arc::downgrade(&back_end);
            crew.when_settled(move || woken.upgrade().into_iter().for_each(|back_end| back_end.wake_sessions()));
        }
        Ok(back_end)
    }

    /// The steps and fields.
    pub fn store(&self) -> &StepStore {
        &self.store
    }

    /// Steps that can be read now.
    pub fn steps(&self) -> StepSpan {
        self.store.source().steps()
    }

    /// Whether there is a step to show, within `limit`.
    pub(crate) fn has_steps_within(&self, limit: Duration) -> bool {
        self.helm.as_ref().is_none_or(|helm| helm.has_steps_within(limit))
    }

    /// Number of data connections of a session.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// A step of a field, loaded by the rendering threads unless it is kept.
    ///
    /// # Errors
    /// [`PipelineError`] if the source cannot give it.
    pub fn load(&self, key: StepKey) -> Result<Arc<LoadedStep>, PipelineError> {
        self.store.load(key, &self.pool)
    }

    /// Begins to load a step that will probably be wanted next.
    pub fn prefetch(self: &Arc<Self>, key: StepKey) {
        let back_end = Arc::clone(self);
        std::thread::spawn(move || {
            // A failure is told to whoever asks for the step.
            let _ = back_end.load(key);
        });
    }

    /// Begins to load what a page will show first, while the page is still on its way. A running simulation has moved on
    /// by then, so this is for what does not move.
    pub fn prepare_first_view(self: &Arc<Self>) {
        if self.store.source().info().live {
            return;
        }
        let key = StepKey { field: 0, step: self.steps().first };
        let back_end = Arc::clone(self);
        std::thread::spawn(move || {
            // What is read for a first look would wait behind all of the step.
            back_end.store.glance(key);
            // A failure is told to whoever asks for the step.
            let _ = back_end.load(key);
        });
    }

    /// The rendering threads.
    pub(crate) fn pool(&self) -> &ThreadPool {
        &self.pool
    }

    /// What proxies were predicted to be worth, for all sessions.
    pub(crate) fn predictions(&self) -> &Predictions {
        &self.predictions
    }

    /// At which level the source is shown, where that is not the finest there is.
    pub(crate) fn coarser(&self) -> Option<&ShownCoarser> {
        self.coarser.as_ref()
    }

    /// Time between the steps of a running simulation, once two have come.
    pub fn step_interval(&self) -> Option<Duration> {
        *lock(&self.step_interval)
    }

    /// Begins a session that tells a page `control` messages through `sink`.
    pub fn begin_session(self: &Arc<Self>, id: String, right: Right, sink: ControlSink) -> Session {
        let session = Session::begin(Arc::clone(self), id, right, sink);
        let mut sessions = lock(&self.sessions);
        sessions.retain(|other| other.strong_count() > 0);
        sessions.push(session.shared_weak());
        session
    }

    /// Looks at the simulation, if there is one, for as long as the answer lives.
    pub(crate) fn look(&self) -> Option<Look> {
        self.helm.as_ref().map(FlowHelm::look)
    }

    /// Why nothing more comes of a simulation at present: nobody publishes it.
    pub(crate) fn why_deserted(&self) -> Option<String> {
        self.helm.as_ref()?.why_deserted()
    }

    /// Whether a step is asked for only when the last one has gone to the pages.
    pub(crate) fn is_serial(&self) -> bool {
        self.helm.as_ref().is_some_and(FlowHelm::is_serial)
    }

    /// Whether the simulation that is received goes on beyond `step`.
    pub(crate) fn goes_on_beyond(&self, step: StepIndex) -> bool {
        self.helm.as_ref().is_some_and(|helm| helm.has_passed(step))
    }

    /// How fresh a step is, where it was received.
    pub(crate) fn freshness(&self, step: StepIndex) -> Option<Freshness> {
        self.helm.as_ref()?.freshness(step)
    }

    /// What there is to steer, and a number that grows with every change of it.
    pub(crate) fn steering(&self) -> Option<(u64, SteeringView)> {
        self.helm.as_ref()?.view()
    }

    /// Whether there is a simulation that may declare what can be steered.
    pub fn shows_simulation(&self) -> bool {
        self.helm.is_some()
    }

    /// Writes what the simulation is asked for, and what came of it, to the file at `path`.
    ///
    /// # Errors
    /// [`PipelineError`] if there is no simulation, or the file cannot be written.
    pub fn log_steering(&self, path: &Path) -> Result<(), PipelineError> {
        let nothing = || PipelineError::Option("a steering log was asked for, but no simulation is shown".to_owned());
        self.helm.as_ref().ok_or_else(nothing)?.log_to(path).map_err(|cause| PipelineError::Flow(Arc::new(cause)))
    }

    /// Asks something of the simulation for session `who`.
    pub(crate) fn steer(&self, who: &str, action: Action) -> Result<(), String> {
        let helm = self.helm.as_ref().ok_or("there is no simulation to be steered here")?;
        helm.steer(who, action).map_err(|cause| cause.to_string())?;
        self.wake_sessions();
        Ok(())
    }

    fn wake_sessions(&self) {
        lock(&self.sessions).iter().filter_map(Weak::upgrade).for_each(|session| session.wake());
    }

    /// Ends every session. Nothing of our own holds a back end that is closed: whoever drops it ends what it receives, in order.
    pub fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
        for session in lock(&self.sessions).drain(..).filter_map(|weak| weak.upgrade()) {
            session.close();
        }
        if let Some(watcher) = lock(&self.watcher).take() {
            drop(watcher.join());
        }
    }

    pub(crate) fn next_set(&self) -> u32 {
        self.next_set.fetch_add(1, Ordering::Relaxed)
    }

    /// A number that no other session has.
    pub(crate) fn next_session(&self) -> u32 {
        self.next_session.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn welcome(&self, session: &str, right: Right) -> Welcome {
        let source = self.store.source();
        let info = source.info();
        // The page knows by itself that the logarithm of each is behind them.
        let own = info.fields.iter().enumerate().filter(|(field, _)| source.scale(*field) == Scale::Linear);
        let fields = own.map(|(_, f)| FieldName { name: f.name.clone(), unit: f.unit.clone() }).collect();
        Welcome {
            protocol: PROTOCOL_VERSION,
            server: concat!("visapult ", env!("CARGO_PKG_VERSION")).to_owned(),
            session: session.to_owned(),
            groups: self.groups,
            steers: right == Right::Steer,
            trace: visapult_trace::is_recording(),
            source: SourceShape {
                name: info.name.clone(),
                format: info.format.clone(),
                live: info.live,
                time_unit: info.time_unit.clone(),
                grid: info.grid().into(),
                fields,
            },
            steps: self.steps().into(),
        }
    }

    fn on_new_step(&self, interval: Option<Duration>) {
        if let Some(interval) = interval {
            let mut smoothed = lock(&self.step_interval);
            *smoothed = Some(smoothed.map_or(interval, |before| (before * 7 + interval) / 8));
        }
        self.wake_sessions();
    }
}

/// So many rendering threads; 0 takes every core.
pub(crate) fn rendering_threads(threads: usize) -> Result<ThreadPool, PipelineError> {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|n| format!("render-{n}"))
        .build()
        .map_err(|e| PipelineError::Threads { threads, cause: e.to_string() })
}

/// What this machine can read by itself.
///
/// # Errors
/// [`PipelineError`] says what could not be opened, and what to do.
pub fn open_local(source: &str) -> Result<Box<dyn Source>, PipelineError> {
    visapult_volume_io::open(source).map_err(PipelineError::source)
}

/// What this machine can read by itself and hold a step of: at the finest level that fits in memory.
///
/// # Errors
/// [`PipelineError`] says what could not be opened or does not fit, and what to do.
pub fn open_to_publish(source: &str) -> Result<Box<dyn Source>, PipelineError> {
    let source = open_fitting(source)?.0;
    memory::check(source.info(), source.info().grid().sample_count(), 1)?;
    Ok(source)
}

/// A source as it is shown.
pub(crate) struct Opened {
    pub(crate) source: Box<dyn Source>,
    /// What can be asked of the simulation, where it is one.
    pub(crate) helm: Option<FlowHelm>,
    /// At which level it is shown, where that is not the finest there is.
    coarser: Option<ShownCoarser>,
}

/// Lends a hand to the head of `crew`, with the source that it opens, too.
///
/// # Errors
/// If the source cannot be opened, or is a simulation that would run once in every process, or the head is gone.
pub fn lend_to(crew: &Arc<Crew>, config: &BackEndConfig) -> Result<(), PipelineError> {
    crew::lend(crew, config, || open_source(Watch::First, config).map(|opened| opened.source))
}

/// A flow that somebody publishes, or what this machine can read by itself, at the finest level that fits in memory. Processes that share the
/// work show the finest there is: each would choose by itself.
fn open_source(watch: Watch, config: &BackEndConfig) -> Result<Opened, PipelineError> {
    if !is_flow(&config.source) && config.crew.is_none() {
        let (source, coarser) = open_fitting(&config.source)?;
        return Ok(Opened { source, helm: None, coarser });
    }
    open_whole(watch, config)
}

fn open_fitting(source: &str) -> Result<(Box<dyn Source>, Option<ShownCoarser>), PipelineError> {
    if names_level(source) {
        return Ok((open_local(source)?, None));
    }
    let (source, coarser) = memory::fitting_level(open_local(source)?)?;
    coarser.iter().for_each(|coarser| tracing::warn!("{coarser}"));
    Ok((source, coarser))
}

/// Whether it is what somebody publishes.
pub(crate) fn is_flow(source: &str) -> bool {
    source.starts_with("ripp://")
}

/// A flow that somebody publishes, or what this machine can read by itself, with all levels that it stores.
pub(crate) fn open_whole(watch: Watch, config: &BackEndConfig) -> Result<Opened, PipelineError> {
    if !is_flow(&config.source) {
        let source = open_local(&config.source)?;
        if config.crew.is_some() && source.info().live {
            return Err(PipelineError::Option(format!(
                "{} would run once in every process: serve it, and give the processes the URL",
                config.source
            )));
        }
        return Ok(Opened { source, helm: None, coarser: None });
    }
    let options = FlowOptions { pes: config.pes, watch, crew: config.crew.clone(), ..FlowOptions::default() };
    let mut source = FlowSource::dial(&config.source, options).map_err(PipelineError::flow)?;
    let helm = source.helm();
    source.look_away();
    Ok(Opened { source: Box::new(source), helm: Some(helm), coarser: None })
}

/// Wakes the sessions whenever the simulation has a new step or has been steered, until the back end is gone.
fn watch_steps(back_end: &Weak<BackEnd>) {
    let mut seen = None;
    let mut heard = None;
    let mut runs = 0;
    let mut seen_at: Option<Instant> = None;
    while let Some(back_end) = back_end.upgrade() {
        if back_end.closing.load(Ordering::Relaxed) {
            return;
        }
        let newest = back_end.has_steps_within(WATCH_PERIOD).then(|| match seen {
            None => back_end.steps().last,
            Some(step) => back_end.store.source().wait_beyond(step, WATCH_PERIOD),
        });
        let helm = back_end.helm.as_ref();
        let runs_now = helm.map_or(0, FlowHelm::runs);
        if std::mem::replace(&mut runs, runs_now) != runs_now {
            back_end.store.forget();
            back_end.predictions.forget();
            (seen, seen_at) = (None, None);
            continue;
        }
        let news = helm.map(|helm| (helm.view().map(|(revision, _)| revision), helm.comings()));
        if std::mem::replace(&mut heard, news) != news {
            back_end.wake_sessions();
        }
        if let Some(newest) = newest.filter(|newest| seen.is_none_or(|step| *newest > step)) {
            let now = Instant::now();
            let steps_since = seen.map_or(1, |step| newest - step);
            back_end.on_new_step(seen_at.map(|at| interval(now - at, steps_since)));
            seen = Some(newest);
            seen_at = Some(now);
        }
    }
}

/// Time from one step to the next, of so many within `took`.
fn interval(took: Duration, steps: StepIndex) -> Duration {
    took / u32::try_from(steps).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_numbered_as_far_apart_as_their_program_likes() {
        let second = Duration::from_secs(1);
        assert_eq!([1, 4, 1 << 32].map(|steps| interval(second, steps).as_millis()), [1000, 250, 0]);
    }
}
