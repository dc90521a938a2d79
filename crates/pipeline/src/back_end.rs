//! A source, its PEs and the threads that render: what all sessions share.

mod simulation;
mod watching;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use rayon::{ThreadPool, ThreadPoolBuilder};
use visapult_publish::along::told_along;
use visapult_volume::StepSpan;
use visapult_volume_io::{Scale, Source};

use crate::config::BackEndConfig;
use crate::crew::Crew;
use crate::error::PipelineError;
use crate::flow::{FlowHandle, FlowSource, Watch};
use crate::lock::lock;
use crate::memory::ShownCoarser;
use crate::opening::{Opened, open_fitting};
use crate::predictions::Predictions;
use crate::session::{ControlSink, Right, Session, SessionShared};
use crate::step_store::{LoadedStep, StepKey, StepStore};
use crate::wire::{FieldName, PROTOCOL_VERSION, SourceShape, Welcome};

/// Most data connections a page is asked to open.
const MOST_GROUPS: usize = 4;

/// How a source's grid is split over so many PEs, beside those of other processes.
type Split = fn(Box<dyn Source>, usize, Option<Arc<Crew>>) -> Result<StepStore, PipelineError>;

/// A source being shown.
pub struct BackEnd {
    store: StepStore,
    /// What can be asked of the simulation, where there is one.
    handle: Option<FlowHandle>,
    /// Where that is not the finest level there is.
    coarser: Option<ShownCoarser>,
    /// What the source has besides that is not shown.
    others: Option<String>,
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
        Self::start(open_fitting(watch, config)?, StepStore::new, config)
    }

    /// Like [`BackEnd::open`], over fewer PEs than asked for where the grid is too small for so many.
    ///
    /// # Errors
    /// [`PipelineError`] if the source cannot be opened.
    pub fn open_fitting(config: &BackEndConfig) -> Result<Arc<Self>, PipelineError> {
        Self::start(open_fitting(Watch::First, config)?, StepStore::fitting, config)
    }

    /// Shows a flow that is received already, and asks for steps while pages are open, over at most so many PEs as asked for.
    ///
    /// # Errors
    /// [`PipelineError`] if its grid cannot be used, or the threads cannot be had.
    pub fn over(flow: FlowSource, config: &BackEndConfig) -> Result<Arc<Self>, PipelineError> {
        Self::start(Opened::flow(flow), StepStore::fitting, config)
    }

    /// Splits what is opened by `split`, and starts the threads.
    pub(crate) fn start(opened: Opened, split: Split, config: &BackEndConfig) -> Result<Arc<Self>, PipelineError> {
        let Opened { source, handle, coarser, others } = opened;
        let mut store = split(source, config.pes, config.crew.clone())?;
        let groups = store.decomposition().boxes().len().min(MOST_GROUPS);
        let pool = rendering_threads(config.threads)?;
        if config.crew.is_none() {
            store.use_device(config.device)?;
        }
        let back_end = Arc::new(Self {
            store,
            handle,
            coarser,
            others,
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
            *lock(&back_end.watcher) = Some(std::thread::spawn(move || watching::watch_steps(&watched)));
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
                calendar: info.calendar.clone(),
                grid: info.grid().into(),
                along: told_along(info.grid(), &info.along),
                fields,
                others: self.others.clone(),
            },
            steps: self.steps().into(),
        }
    }
}

/// So many rendering threads; 0 takes every core.
pub(crate) fn rendering_threads(threads: usize) -> Result<ThreadPool, PipelineError> {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|n| format!("render-{n}"))
        .build()
        .map_err(|e| PipelineError::Threads { cause: e.to_string() })
}
