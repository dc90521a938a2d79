//! A flow that several processes receive: the head asks for steps, and shows those that all processes have.
//!
//! Invariant: whatever was asked for before the processes changed is void, on all of them: nobody waits for it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use visapult_publish::messages::{FromBackEnd, note};
use visapult_ripp_net::Session;
use visapult_volume::{StepIndex, StepSpan};

use super::lag::{Arrivals, Lags, Relief};
use super::options::FlowOptions;
use super::received::ReceivedStep;
use super::receiver::Receiver;
use super::state::{Apart, State};
use crate::crew::{Crew, Membership, News, Order};
use crate::wire::MissingPart;

/// What the processes of a back end have of a flow.
#[derive(Default)]
pub(super) struct Convoy {
    membership: Option<Membership>,
    /// Hands that know all ranks.
    ready: BTreeSet<usize>,
    /// At the head: steps that were asked for.
    pending: BTreeMap<StepIndex, Pending>,
    /// Steps there were before the processes changed, until there are others.
    pub(super) span_before: Option<StepSpan>,
    lags: Lags,
    /// A process is to be relieved of a PE.
    relief: Option<Relief>,
    /// From which process to which the last PE went: it does not go back.
    relieved: Option<Relief>,
}

/// A step that is not known to be there as a whole.
struct Pending {
    /// What has come to the head.
    own: Option<ReceivedStep>,
    /// Hands that have not said what has come to them.
    waiting: BTreeSet<usize>,
    /// Bytes that have come to hands, and how many of them are of this step.
    bytes: u64,
    fresh: u64,
    /// Ranks of which nothing has come to them.
    missing: Vec<MissingPart>,
    arrivals: Arrivals,
}

impl Convoy {
    pub(super) fn new(crew: Option<&Crew>) -> Self {
        Self { membership: crew.map(Crew::membership), ..Self::default() }
    }

    pub(super) fn pending(&self) -> usize {
        self.pending.len()
    }

    pub(super) fn waits_for(&self, step: StepIndex) -> bool {
        self.pending.contains_key(&step)
    }

    fn epoch(&self) -> u64 {
        self.membership.as_ref().map_or(0, |membership| membership.epoch)
    }
}

impl State {
    pub(super) fn is_hand(&self) -> bool {
        self.crew.as_ref().is_some_and(|crew| !crew.is_head())
    }

    fn head(&self) -> Option<&Arc<Crew>> {
        self.crew.as_ref().filter(|crew| crew.is_head())
    }

    /// Number of PEs that the grid is split over; 0 while nothing is known of it.
    fn pes(&self) -> usize {
        self.declared.as_ref().map_or(0, |declared| declared.table.stored.len())
    }

    /// The PEs of this process, of `pes` in all.
    pub(super) fn own_share(&self, pes: usize) -> Range<usize> {
        match (&self.crew, &self.convoy.membership) {
            (Some(crew), Some(membership)) => membership.share(crew.rank(), pes),
            _ => 0..pes,
        }
    }

    pub(super) fn all_hands_ready(&self) -> bool {
        self.unready_hands().is_empty()
    }

    /// Hands that do not know all ranks.
    fn unready_hands(&self) -> Vec<usize> {
        let Some((crew, membership)) = self.head().zip(self.convoy.membership.as_ref()) else { return Vec::new() };
        let is_unready = |rank: &usize| *rank != crew.rank() && !self.convoy.ready.contains(rank);
        membership.members.iter().copied().filter(is_unready).collect()
    }

    /// Those, in words, if there are some.
    pub(super) fn apart(&self) -> Option<String> {
        let hands: Vec<String> = self.unready_hands().iter().map(usize::to_string).collect();
        let told = || format!("the ranks are not all reached by process {} of the back end", hands.join(", "));
        (!hands.is_empty()).then(told)
    }

    /// All ranks have declared what they publish.
    pub(super) fn report_ready(&self) {
        if let Some(crew) = self.crew.as_ref().filter(|crew| !crew.is_head()) {
            crew.report(&News::Ready);
        }
    }

    /// Says to a publisher how the back end is split, and where its other processes are.
    pub(super) fn subscribe(&self, session: &Session, options: &FlowOptions) {
        let own = self.own_share(self.pes());
        let only = self.crew.is_some().then_some([own.start, own.end]);
        // A session that has ended is noticed by its thread.
        let newest = if self.crew.is_none() && self.expects_first() { options.watch.known() } else { Vec::new() };
        let subscribe = FromBackEnd::Subscribe { pes: options.pes, mode: options.mode, only, newest };
        let _ = session.note(&note(&subscribe));
        if let Some(crew) = self.head() {
            let _ = session.note(&note(&FromBackEnd::Also { urls: crew.doors() }));
        }
    }

    /// Makes hands ask for a step that is asked for.
    pub(super) fn order_want(&mut self, step: StepIndex, fields: &[usize]) {
        let (Some(crew), Some(membership)) = (self.head().cloned(), &self.convoy.membership) else { return };
        let pes = self.pes();
        let hands = membership.members.iter().copied();
        let waiting = hands.filter(|rank| *rank != crew.rank() && !membership.share(*rank, pes).is_empty()).collect();
        self.convoy.pending.insert(
            step,
            Pending { own: None, waiting, bytes: 0, fresh: 0, missing: Vec::new(), arrivals: Arrivals::default() },
        );
        crew.order(&Order::Want { step, fields: fields.to_vec() });
    }

    /// Nobody waits for the step any more either, if it was asked for once more.
    pub(super) fn order_forget(&mut self, step: StepIndex) {
        self.convoy.pending.remove(&step);
        if let Some(crew) = self.head() {
            crew.order(&Order::Forget { step });
        }
    }

    /// Begins the steps that were asked for: ranks that are not there will not send their pieces.
    pub(super) fn begin_all_asked(&mut self) {
        for step in self.asked.keys().copied().collect::<Vec<_>>() {
            // Whoever waits for one that cannot be received is told so.
            let _ = self.assembly(step);
        }
    }

    /// A step has come to this process.
    pub(super) fn complete(&mut self, received: ReceivedStep, history_bytes: usize) {
        let step = received.step;
        let Some(crew) = self.crew.clone() else { return self.keep(received, history_bytes) };
        if crew.is_head() {
            if let Some(pending) = self.convoy.pending.get_mut(&step) {
                pending.own = Some(received);
                pending.arrivals.add(crew.rank(), Instant::now());
                self.show_if_whole(step, history_bytes);
            }
            return;
        }
        let (bytes, fresh, missing) = (received.bytes, received.fresh_bytes, received.missing.clone());
        self.kept.retain(|kept| kept.step != step);
        let place = self.kept.partition_point(|kept| kept.step < step);
        self.kept.insert(place, Arc::new(received));
        crew.report(&News::Got { epoch: self.convoy.epoch(), step, bytes, fresh, missing });
    }

    /// A step will not come to this process.
    pub(super) fn miss(&mut self, step: StepIndex) {
        let Some(crew) = &self.crew else { return };
        if crew.is_head() {
            self.drop_pending(step);
        } else {
            let newest = self.newest().unwrap_or(step);
            crew.report(&News::Missed { epoch: self.convoy.epoch(), step, newest });
        }
    }

    /// A step that was asked for does not come. What is shown of it stays, where it was asked for once more.
    fn drop_pending(&mut self, step: StepIndex) {
        if self.convoy.pending.remove(&step).is_some() && !self.keeps(step) {
            self.order_forget(step);
        }
    }

    fn show_if_whole(&mut self, step: StepIndex, history_bytes: usize) {
        let is_whole = |pending: &Pending| pending.own.is_some() && pending.waiting.is_empty();
        if !self.convoy.pending.get(&step).is_some_and(is_whole) {
            return;
        }
        let Some(pending) = self.convoy.pending.remove(&step) else { return };
        let Pending { own: Some(mut own), bytes, fresh, missing, arrivals, .. } = pending else { return };
        // What is under way when a PE changes process would have to come again: ranks that wait for every step have gone on by then.
        if self.is_live() && !self.takes_every() {
            self.convoy.relief = self.convoy.lags.on_whole(&arrivals);
        }
        own.bytes += bytes;
        own.fresh_bytes += fresh;
        own.missing.extend(missing);
        own.at = Instant::now();
        if own.fresh_bytes == 0 && own.bytes > 0 {
            if !self.keeps(step) {
                self.order_forget(step);
            }
            return;
        }
        self.keep(own, history_bytes);
        self.convoy.span_before = None;
        if let Some(crew) = self.head() {
            crew.settle(self.convoy.epoch());
        }
    }

    fn on_news(&mut self, hand: usize, news: News, history_bytes: usize) {
        match news {
            News::Ready => {
                self.convoy.ready.insert(hand);
            }
            News::Got { epoch, step, bytes, fresh, missing } if epoch == self.convoy.epoch() => {
                if let Some(pending) = self.convoy.pending.get_mut(&step)
                    && pending.waiting.remove(&hand)
                {
                    pending.bytes = pending.bytes.saturating_add(bytes);
                    pending.fresh = pending.fresh.saturating_add(fresh.min(bytes));
                    pending.missing.extend(missing);
                    pending.arrivals.add(hand, Instant::now());
                    self.show_if_whole(step, history_bytes);
                }
            }
            News::Missed { epoch, step, newest } if epoch == self.convoy.epoch() => {
                if self.convoy.pending.contains_key(&step) {
                    self.drop_pending(step);
                    // One that was to come once more was in time before.
                    if !self.keeps(step) {
                        self.pace.fall_behind(newest.saturating_sub(step));
                    }
                }
            }
            News::Got { .. } | News::Missed { .. } | News::Door { .. } | News::Leaves { .. } | News::Clock { .. } => {}
        }
    }

    /// Gives a PE of a process that keeps the others waiting to the quickest.
    fn relieve(&mut self, options: &FlowOptions) {
        let (Some(relief), Some(crew)) = (self.convoy.relief.take(), self.head().cloned()) else { return };
        let back = Relief { from: relief.to, to: relief.from };
        if self.convoy.relieved == Some(back) {
            return;
        }
        let lighter = crew.change(|members| members.relieved(relief.from, relief.to, self.pes()));
        let Some(lighter) = lighter else { return };
        tracing::info!("process {} of the back end is slow: process {} takes over a PE of it", relief.from, relief.to);
        self.convoy.relieved = Some(relief);
        self.start_again(lighter, options);
    }

    /// Other processes, or other shares, from now on: what was under way is void, and asked for again.
    fn start_again(&mut self, membership: Membership, options: &FlowOptions) {
        self.convoy.span_before = self.is_live().then(|| self.span());
        self.convoy.membership = Some(membership);
        self.convoy.pending.clear();
        self.forget_asked();
        self.kept.clear();
        let own = self.own_share(self.pes());
        if let Some(declared) = &mut self.declared {
            Arc::make_mut(&mut declared.table).own = own;
        }
        self.subscribe_all(options);
        self.ask_ahead();
    }
}

impl State {
    /// The simulation was started anew, and counts its steps from the beginning: what is known of the run before is void.
    pub(super) fn begin_run(&mut self, options: &FlowOptions) {
        // Hands show nothing, and are told by the head.
        self.run_begins = !self.is_hand();
        if self.run_begins {
            visapult_trace::begin_run();
        }
        self.pace.begin_run();
        self.apart = Apart::default();
        self.last_gone = None;
        self.refused.clear();
        self.open_wants.clear();
        self.links.iter_mut().for_each(|link| (link.is_anew, link.is_behind) = (false, false));
        self.declare_parameters();
        if let Some(crew) = self.head().cloned() {
            if let Some(membership) = crew.change(|members| Some(members.again())) {
                self.start_again(membership, options);
            }
            return;
        }
        if self.crew.is_none() {
            self.forget_asked();
        }
        // What ranks were asked for in place of the run before, they forget; a hand may have been told of steps of this one.
        self.subscribe_all(options);
        for (rank, link) in self.links.iter().enumerate() {
            link.session.iter().for_each(|session| self.ask_again(rank, session));
        }
    }
}

impl Receiver {
    /// At the head: what a hand says of its part.
    pub(crate) fn on_news(&self, hand: usize, news: News) {
        let mut state = self.lock();
        state.on_news(hand, news, self.options.history_bytes);
        state.keep_finished(self.options.history_bytes);
        state.relieve(&self.options);
        state.ask_ahead();
        drop(state);
        self.changed.notify_all();
    }

    /// At a hand: asks publishers for a step.
    pub(crate) fn on_want(&self, step: StepIndex, fields: Vec<usize>) {
        let mut state = self.lock();
        let known = state.declared.as_ref().map_or(0, |declared| declared.fields.len());
        state.ask(step, false, fields.into_iter().filter(|field| *field < known).collect());
        state.keep_finished(self.options.history_bytes);
    }

    /// At a hand: a step is not needed any more.
    pub(crate) fn forget(&self, step: StepIndex) {
        let mut state = self.lock();
        state.asked.remove(&step);
        state.assemblies.remove(&step);
        if let Some(place) = state.kept.iter().position(|kept| kept.step == step)
            && let Some(kept) = state.kept.remove(place)
        {
            state.spare.keep(&kept);
        }
    }

    /// Changes the processes by `change`, and starts again with those that it returns, if any.
    pub(crate) fn change_members(&self, change: impl FnOnce() -> Option<Membership>) {
        let mut state = self.lock();
        let Some(membership) = change() else { return };
        let epoch = membership.epoch;
        state.start_again(membership, &self.options);
        if let Some(crew) = self.options.crew.as_ref().filter(|_| !state.is_live()) {
            crew.settle(epoch);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// At the head: tells ranks that have dialled where else to dial.
    pub(crate) fn tell_doors(&self) {
        if let Some(crew) = &self.options.crew {
            self.lock().tell(&FromBackEnd::Also { urls: crew.doors() });
        }
    }
}
