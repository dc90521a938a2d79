//! What a rank's threads share: what it publishes, its latest step, who is attached, and what they ask of it.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use visapult_volume::StepIndex;

use crate::aloud::say;
use crate::bell::{Bell, Heed};
use crate::building::Published;
use crate::door::Also;
use crate::error::FlowError;
use crate::lock::lock;
use crate::messages::{Declaration, DeclaredField};
use crate::publisher::{Delivery, PublisherOptions};
use crate::steering::{Change, Commit, Parameter, Steer, Steering};
use crate::steering_participant::{Answer, Applied, Participant};
use crate::subscriber::Subscriber;
use crate::troubles::Troubles;

/// How often a paused simulation looks whether somebody is left who could resume it, and lets in the signals that are not heeded.
const PAUSED_POLL: Duration = Duration::from_millis(200);

/// How often it is looked whether a step is taken.
const TAKEN_POLL: Duration = Duration::from_millis(1);
/// A program that waits for so long until its step is taken is told what for.
const HELD_PATIENCE: Duration = Duration::from_secs(3);
/// How long a program that ends waits for its last step to arrive, where it need not arrive.
const LAST_PATIENCE: Duration = Duration::from_secs(2);

/// What the publisher's threads share.
pub(crate) struct Shared {
    pub(crate) options: PublisherOptions,
    pub(crate) latest: Mutex<Option<Arc<Published>>>,
    pub(crate) steered: Mutex<Steered>,
    steered_changed: Bell,
    pub(crate) subscribers: Mutex<Vec<Arc<Subscriber>>>,
    /// None where back ends come to us.
    pub(crate) also: Option<Mutex<Also>>,
    pub(crate) troubles: Mutex<Troubles>,
    /// Back ends that were ever attached.
    pub(crate) numbers: AtomicUsize,
    pub(crate) sent: AtomicU64,
    pub(crate) missed: AtomicU64,
    pub(crate) steps: AtomicU64,
    pub(crate) over: AtomicBool,
    /// When it was first waited for the end.
    ending: OnceLock<Instant>,
    /// The step that waits to be taken, and since when.
    held: Mutex<Option<(StepIndex, Instant)>>,
}

/// What viewers have asked for.
pub(crate) struct Steered {
    pub(crate) participant: Participant,
    pub(crate) parameters: Vec<Parameter>,
    /// What has taken effect and the program has not been told.
    changes: Vec<Change>,
    signal: SignalSeen,
}

/// Whether there was a signal while the next step was waited for.
#[derive(PartialEq)]
enum SignalSeen {
    No,
    Yes,
    /// Back ends know.
    Told,
}

impl Shared {
    /// # Errors
    /// If the system has no more for it.
    pub(crate) fn new(options: PublisherOptions, dials: bool) -> Result<Self, FlowError> {
        let parameters = options.parameters.clone();
        let steered =
            Steered { participant: Participant::default(), parameters, changes: Vec::new(), signal: SignalSeen::No };
        let bell = Bell::new()
            .map_err(|cause| FlowError::Usage(format!("what steering waits with cannot be had: {}", cause.desc())))?;
        Ok(Self {
            options,
            steered: Mutex::new(steered),
            steered_changed: bell,
            latest: Mutex::default(),
            subscribers: Mutex::default(),
            also: dials.then(Mutex::default),
            troubles: Mutex::default(),
            numbers: AtomicUsize::new(0),
            sent: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            steps: AtomicU64::new(0),
            over: AtomicBool::new(false),
            ending: OnceLock::new(),
            held: Mutex::default(),
        })
    }

    /// Whether of the heads of back ends that are attached this one came first: its clock is the one that events are told in.
    pub(crate) fn leads(&self, subscriber: usize) -> bool {
        let subscribers = lock(&self.subscribers).clone();
        subscribers.iter().find(|one| one.is_head()).is_some_and(|first| first.number == subscriber)
    }

    /// Whether there are all of these fields, and no more of them.
    pub(crate) fn has_fields(&self, fields: &[usize]) -> bool {
        let there = self.options.fields.len();
        fields.len() <= there && fields.iter().all(|&field| field < there)
    }

    /// Says something of this rank.
    pub(crate) fn say(&self, what: &str) {
        let PublisherOptions { rank, ranks, .. } = self.options;
        let who = if ranks > 1 { format!("rank {rank}: ") } else { String::new() };
        say(&format!("{who}{what}"));
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    pub(crate) fn declaration(&self) -> Declaration {
        let options = &self.options;
        let newest = lock(&self.latest).as_ref().map(|latest| [latest.step; 2]);
        let declaration = Declaration {
            name: options.name.clone(),
            format: options.format.clone(),
            rank: options.rank,
            ranks: options.ranks,
            grid: (&options.grid).into(),
            fields: options.fields.iter().map(DeclaredField::from).collect(),
            block: [options.block.lo, options.block.hi],
            live: options.live,
            steps: options.steps.map(|span| [span.first, span.last]).or(newest),
            times: options.times.clone(),
            time_unit: options.time_unit.clone(),
            calendar: options.calendar.clone(),
            along: options.along.clone(),
            every: options.delivery != Delivery::Newest,
            parameters: lock(&self.steered).parameters.clone(),
        };
        declaration.cut_to_fit()
    }

    /// What viewers ask for before step `next`; none if that is not settled yet, or the simulation is paused.
    pub(crate) fn steer(&self, next: StepIndex) -> Option<Steering> {
        let mut steered = lock(&self.steered);
        let Steered { participant, parameters, changes, signal } = &mut *steered;
        let applied = participant.apply(next, parameters);
        changes.extend(applied.changes.iter().cloned());
        let may_go_on = participant.may_begin(next);
        let stop = participant.is_stopped();
        let changes = if may_go_on { std::mem::take(changes) } else { Vec::new() };
        let would_go_on = *signal == SignalSeen::Yes && !may_go_on && participant.is_paused();
        if would_go_on {
            *signal = SignalSeen::Told;
        } else if may_go_on {
            *signal = SignalSeen::No;
        }
        drop(steered);
        self.tell_changes(&applied);
        self.answer(applied.answers);
        if would_go_on {
            self.say("a signal has come while viewers have paused the program: it goes on");
            let subscribers = lock(&self.subscribers).clone();
            subscribers.iter().for_each(|subscriber| subscriber.tell_signal());
        }
        may_go_on.then_some(Steering { changes, stop })
    }

    /// Waits until more is known of what viewers ask for, or there is a signal, for a moment at most.
    pub(crate) fn wait_for_word(&self) {
        let is_alone = lock(&self.subscribers).is_empty();
        let mut steered = lock(&self.steered);
        if is_alone {
            steered.participant.release();
        }
        let heeds = steered.signal == SignalSeen::No;
        drop(steered);
        if Heed::begin().wait(&self.steered_changed, PAUSED_POLL, heeds) {
            lock(&self.steered).signal = SignalSeen::Yes;
        }
    }

    /// Where every step is to be taken: waits until the latest is under way to all back ends that are attached; false if it is not yet at `deadline`.
    pub(crate) fn wait_until_taken(&self, deadline: Instant) -> bool {
        let Some(latest) = lock(&self.latest).as_ref().map(|latest| latest.step) else { return true };
        let is_taken = self.wait_while(deadline, |attached| match self.options.delivery {
            Delivery::Newest => false,
            _ if self.awaits_any(attached) => true,
            Delivery::Every | Delivery::EveryFromFirst => attached.iter().any(|one| one.holds_back(latest)),
        });
        if self.is_held_long(latest, is_taken) {
            self.tell_held(latest);
        }
        is_taken
    }

    /// The first step is to be taken, and there is nobody to do so.
    fn awaits_any(&self, attached: &[Arc<Subscriber>]) -> bool {
        let is_first = self.steps.load(Ordering::Relaxed) <= 1;
        let waits = is_first && self.options.delivery == Delivery::EveryFromFirst;
        waits && !attached.iter().any(|one| one.is_subscribed())
    }

    /// Says what is waited for, each once.
    fn tell_held(&self, step: StepIndex) {
        let attached = lock(&self.subscribers).clone();
        let what = if self.awaits_any(&attached) {
            Some("its first step waits for a back end that takes it, as the program asks for".to_owned())
        } else {
            attached.iter().find_map(|one| one.why_it_holds_back(step, self.options.ranks))
        };
        if let Some(what) = what.filter(|what| lock(&self.troubles).is_new(what)) {
            self.say(&what);
        }
    }

    /// Whether the step has waited to be taken for long.
    fn is_held_long(&self, step: StepIndex, is_taken: bool) -> bool {
        let mut held = lock(&self.held);
        let since = held.filter(|(before, _)| *before == step).map_or_else(Instant::now, |(_, since)| since);
        *held = (!is_taken).then_some((step, since));
        !is_taken && since.elapsed() >= HELD_PATIENCE
    }

    /// Nothing more comes. Where every step is to be taken, waits until all that is under way has arrived; where only the newest of a running
    /// simulation is, for a moment, so that its last step is seen. False if there is more to wait for at `deadline`.
    pub(crate) fn wait_until_arrived(&self, deadline: Instant) -> bool {
        if self.options.delivery != Delivery::Newest {
            return self.wait_while(deadline, |attached| attached.iter().any(|one| one.is_busy()));
        }
        if !self.options.live {
            return true;
        }
        let end = *self.ending.get_or_init(Instant::now) + LAST_PATIENCE;
        let latest = lock(&self.latest).as_ref().map(|latest| latest.step);
        let lacks = |one: &Arc<Subscriber>| one.is_busy() || latest.is_some_and(|latest| one.is_about_to_take(latest));
        self.wait_while(deadline.min(end), |attached| attached.iter().any(lacks)) || end <= deadline
    }

    /// Whether what was pending was done before `deadline`.
    fn wait_while(&self, deadline: Instant, pending: impl Fn(&[Arc<Subscriber>]) -> bool) -> bool {
        loop {
            let attached = lock(&self.subscribers).clone();
            if !pending(&attached) {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            thread::sleep(TAKEN_POLL);
            attached.iter().for_each(|one| one.serve(self));
        }
    }

    /// A back end asks something of the simulation.
    pub(crate) fn on_steer(&self, from: usize, steer: Steer) {
        let mut steered = lock(&self.steered);
        let Steered { participant, parameters, .. } = &mut *steered;
        let answer = participant.take(from, steer, parameters);
        drop(steered);
        self.steered_changed.ring();
        self.answer([answer]);
    }

    /// A back end has heard all ranks.
    pub(crate) fn on_commit(&self, from: usize, commit: Commit) {
        let answer = lock(&self.steered).participant.commit(from, commit);
        self.steered_changed.ring();
        self.answer(answer);
    }

    /// A back end has left.
    pub(crate) fn on_leave(&self, from: usize) {
        lock(&self.steered).participant.let_go(from);
        self.steered_changed.ring();
    }

    /// Tells back ends which parameters others have changed.
    fn tell_changes(&self, applied: &Applied) {
        for (change, from) in applied.changes.iter().zip(&applied.from) {
            let subscribers = lock(&self.subscribers).clone();
            let others = subscribers.iter().filter(|subscriber| Some(subscriber.number) != *from);
            others.for_each(|subscriber| subscriber.tell_change(change));
        }
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
    pub(crate) fn serve_all(&self) {
        let subscribers = lock(&self.subscribers).clone();
        for subscriber in &subscribers {
            subscriber.tell_newest(self);
            subscriber.serve(self);
        }
    }
}
