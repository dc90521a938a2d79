//! The thread of a session: waits for something to do, does it, queues the result.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use visapult_render::{Camera, CodeBits, Form, LevelCoding, Prediction, bricks_keep};
use visapult_volume::{ValueRange, coarsened_size};

use super::agenda::{Outlook, Predict, Progress, Work, next};
use super::measured::Measured;
use super::told::Told;
use super::{ControlSink, Right, SessionShared, State};
use crate::back_end::BackEnd;
use crate::defaults::Defaults;
use crate::flow::Look;
use crate::keyframes::Encoded;
use crate::lock::{lock, unpoisoned};
use crate::picking::answer;
use crate::planner::{Decision, Situation, plan, turn_that_costs};
use crate::predictions::Predicted;
use crate::statistics::FieldStatistics;
use crate::step_store::{LoadedStep, StepKey};
use crate::wire::{BulkHeader, Field, Severity, View};

/// Sending within this time is as good as at once.
const QUICK: Duration = Duration::from_millis(400);
/// Bytes that are quick on any link.
const QUICK_BYTES: u64 = 250_000;
/// Steps of a file that follow each other within this time are being played.
const PLAYING_WITHIN: Duration = Duration::from_secs(2);
/// Time that messages may be on the way beyond what they need before steps are left out.
const MOST_BEHIND: Duration = Duration::from_millis(200);
/// Time a played step of a file may take to send.
const PLAYED_STEP_GOAL: Duration = Duration::from_millis(250);
/// Loss of quality, in dB, that makes a new keyframe worth its bytes while the user still turns, and once the camera rests.
const LOSS_DUE_DB: [f64; 2] = [3.0, 1.0];
/// Turns after which keyframes are made anew, in degrees, where nothing is predicted; and the widest, at which much of the scene lies
/// outside the key view's picture.
const DUE_DEG: [f64; 2] = [8.0, 0.5];
const WIDEST_DUE_DEG: f64 = 30.0;
/// Bytes per sample of 8-bit bricks before a level has been encoded.
const BYTES_PER_SAMPLE_GUESS: f64 = 0.6;

pub(super) struct Driver {
    look: Option<Look>,
    back_end: Arc<BackEnd>,
    shared: Arc<SessionShared>,
    told: Told,
    progress: Progress,
    step: Option<Arc<LoadedStep>>,
    begun_at: Option<Instant>,
    playing: bool,
    measured: Measured,
    predicted: Option<Arc<Predicted>>,
}

impl Driver {
    pub(super) fn new(back_end: Arc<BackEnd>, shared: Arc<SessionShared>, control: ControlSink) -> Self {
        Self {
            look: back_end.look(),
            back_end,
            shared,
            told: Told::new(control),
            progress: Progress::default(),
            step: None,
            begun_at: None,
            playing: false,
            measured: Measured::default(),
            predicted: None,
        }
    }

    pub(super) fn run(mut self, id: &str, right: Right) {
        self.told.welcome(self.back_end.welcome(id, right));
        if let Some(coarser) = self.back_end.coarser() {
            self.told.notice(Severity::Warning, coarser.to_string());
        }
        while let Some((work, view)) = self.wait_for_work() {
            match work {
                Work::Begin(key) => self.begin(key, &view),
                Work::Bricks { level, bits } => self.queue_bricks(&view, level, bits),
                Work::Keyframe(camera, form) => self.queue_keyframe(&view, camera, form),
                Work::Predict { stepping } => self.predict(&view, stepping),
                Work::Still => self.queue_still(&view),
                Work::Wait(_) => {}
            }
        }
    }

    /// Blocks until there is work; none when the session has ended.
    fn wait_for_work(&mut self) -> Option<(Work, View)> {
        let shared = Arc::clone(&self.shared);
        let mut state = lock(&shared.state);
        loop {
            if state.closed {
                return None;
            }
            let step = self.progress.current.map(|current| current.step);
            let news = self.told.news(&self.back_end, step, state.lifelines, shared.number);
            let series = self.told.series(&mut state.series);
            let mut until = [news, series].into_iter().flatten().min();
            if let Some((view, view_at)) = state.view.clone() {
                if let Some((step, pick)) = self.step.clone().and_then(|step| Some((step, state.pick.take()?))) {
                    drop(state);
                    self.told.picked(answer(&step, &view, pick));
                    state = lock(&shared.state);
                    continue;
                }
                let work = self.decide(&state, &view, view_at);
                let Work::Wait(at) = work else { return Some((work, view)) };
                until = [until, at].into_iter().flatten().min();
            }
            state = match until {
                None => unpoisoned(shared.changed.wait(state)),
                Some(at) => {
                    let limit = at.saturating_duration_since(Instant::now());
                    unpoisoned(shared.changed.wait_timeout(state, limit)).0
                }
            };
        }
    }

    fn decide(&mut self, state: &State, view: &View, view_at: Instant) -> Work {
        let now = Instant::now();
        if !self.back_end.has_steps_within(Duration::ZERO) {
            self.look = self.look.take().or_else(|| self.back_end.look());
            return Work::Wait(None);
        }
        if self.step.as_ref().is_some_and(|step| self.back_end.store().is_outdated(step)) {
            // What a process had that is gone can be shown again.
            self.step = None;
            self.progress = Progress::default();
        }
        let live = self.back_end.store().source().info().live;
        if self.begun_at.is_none_or(|at| now.duration_since(at) > PLAYING_WITHIN) {
            self.playing = false;
        }
        let step_interval = match (live && view.step.is_none(), self.playing) {
            (true, _) => Some(self.back_end.step_interval().unwrap_or(PLAYED_STEP_GOAL)),
            (false, true) => Some(PLAYED_STEP_GOAL),
            (false, false) => None,
        };
        let stepping = step_interval.is_some();
        self.adopt(view, stepping, now);
        self.progress.heed(view);
        let situation = self.situation(state, view, step_interval, now);
        let Decision { plan, form, wants_predictions } = plan(&situation);
        let outlook = Outlook {
            view,
            view_at,
            ahead: state.heading.camera(now).filter(|_| view.moving).unwrap_or(view.camera),
            steps: self.back_end.steps(),
            live,
            has_parts_elsewhere: self.step.as_ref().is_some_and(|step| step.crew.is_some()),
            all_sent: state.lanes.iter().all(|lane| lane.queue.is_empty()),
            in_time: state.link.behind(now) <= MOST_BEHIND,
            knows_link: state.link.is_known(),
            plan: &plan,
            stepping,
            quick_level: quick_level(&situation, state.link.present_bytes_per_s()),
            levels: self.back_end.store().levels(),
            kept: self.bricks_keep(view, self.finest_bits()),
            form,
            due_deg: due_deg(&situation.predictions, form),
            predict: if wants_predictions { self.due_prediction(view, stepping, now) } else { Predict::Never },
            now,
        };
        let work = next(&outlook, &self.progress);
        if self.look.is_none() && outlook.all_sent && matches!(work, Work::Wait(_)) {
            self.look = self.back_end.look();
        }
        self.told.plan(plan, form, view);
        match (work, self.begun_at) {
            (Work::Wait(None), Some(at)) if self.playing => Work::Wait(Some(at + PLAYING_WITHIN)),
            (work, _) => work,
        }
    }

    fn situation(&self, state: &State, view: &View, step_interval: Option<Duration>, now: Instant) -> Situation {
        let size = self.back_end.store().source().info().grid().size;
        let predicted = self.predicted_of(view);
        let tells_bytes = |step| predicted.is_some_and(|then| then.tells_bytes(step, step_interval.is_some(), now));
        Situation {
            throughput_bytes_per_s: state.link.throughput_bytes_per_s(),
            level_sizes: (0..self.back_end.store().levels()).map(|level| coarsened_size(size, level)).collect(),
            level_bytes: self.measured.levels.clone(),
            bytes_per_sample: self.measured.per_sample.unwrap_or(BYTES_PER_SAMPLE_GUESS),
            predictions: predicted.map_or_else(|| Arc::from([]), |predicted| Arc::clone(&predicted.worths)),
            predicts_bytes: self.progress.current.is_some_and(tells_bytes),
            sent: self.measured.form(view),
            sent_bytes: self.measured.keyframe_bytes(view),
            step_interval,
            choice: view.proxy,
        }
    }

    /// Begins with a step.
    fn begin(&mut self, key: StepKey, view: &View) {
        if self.back_end.is_serial() {
            self.look = None;
        }
        if !self.progress.has_picture {
            self.glance(key, view);
        }
        let loaded = self.back_end.load(key);
        let step = match loaded {
            Ok(step) => step,
            Err(problem) => {
                self.progress.failed = Some(key);
                // That it has gone meanwhile is no failure: the span of steps says so.
                let has_gone = key.step < self.back_end.steps().first;
                // Nor is a field that is new to who follows the simulation: it comes with a newer step.
                let is_to_come =
                    view.step.is_none() && problem.is_without_field() && self.back_end.goes_on_beyond(key.step);
                if !has_gone && !is_to_come {
                    self.told.failed(Some(key), problem.to_string());
                }
                return;
            }
        };
        self.shared.drop_queued();
        self.notice_playing(key);
        self.progress = Progress { current: Some(key), has_picture: self.progress.has_picture, ..Progress::default() };
        self.measured.begin();
        let whole = field_message(key, &step.defaults, &step.statistics);
        self.told.field(whole);
        self.step = Some(step);
    }

    /// Something to look at and to turn while a large step is read.
    fn glance(&mut self, key: StepKey, view: &View) {
        let Some(glance) = self.back_end.store().glance(key) else { return };
        let told = Field { provisional: true, ..field_message(key, &glance.defaults, &glance.statistics) };
        self.told.field(told);
        self.queue(key, glance.time, view, &glance.encoded(self.back_end.groups()), None);
    }

    fn notice_playing(&mut self, key: StepKey) {
        let before = self.progress.current;
        let follows = before.is_some_and(|b| b.field == key.field && b.step + 1 == key.step);
        let soon = self.begun_at.is_some_and(|at| at.elapsed() < PLAYING_WITHIN);
        self.playing = follows && soon;
        self.begun_at = Some(Instant::now());
        if follows && !self.back_end.store().source().info().live && key.step < self.back_end.steps().last {
            self.back_end.prefetch(StepKey { step: key.step + 1, ..key });
        }
    }

    /// What of the current step's values bricks of so many bits are to keep for `view`, if not all.
    fn bricks_keep(&self, view: &View, bits: CodeBits) -> Option<ValueRange> {
        let data = self.step.as_ref().and_then(|step| step.statistics.range);
        bricks_keep(data, view.transfer_function.range, self.progress.kept, bits)
    }

    /// Those of the finest level that was sent.
    fn finest_bits(&self) -> CodeBits {
        self.progress.finest.and_then(|(_, bits)| CodeBits::from_bits(bits)).unwrap_or(CodeBits::EIGHT)
    }

    fn queue_bricks(&mut self, view: &View, level: u32, bits: u8) {
        let (Some(step), Some(code)) = (self.step.clone(), CodeBits::from_bits(bits)) else { return };
        let groups = self.back_end.groups();
        let kept = self.bricks_keep(view, code);
        let encoded =
            step.keyframes.bricks(&step, LevelCoding { level, bits: code, kept }, groups, self.back_end.pool());
        let samples: usize = coarsened_size(step.volume.grid().size, level).iter().product();
        self.measured.note_bricks(level, bits, encoded.bytes, samples);
        self.progress.finest = Some((level, bits));
        self.progress.kept = kept;
        self.progress.has_picture = true;
        self.queue(step.key, step.time, view, &encoded, None);
    }

    fn queue_keyframe(&mut self, view: &View, camera: Camera, form: Form) {
        let Some(step) = self.step.clone() else { return };
        let asked = Instant::now();
        let view = &View { camera, ..view.clone() };
        let groups = self.back_end.groups();
        let encoded = step.keyframes.keyframe(&step, view, form, groups, self.back_end.pool());
        self.measured.note_keyframe(view, form, encoded.bytes);
        self.progress.keyframe_of = Some((view.clone(), form));
        self.queue(step.key, step.time, view, &encoded, Some(asked));
    }

    /// Predictions of the field that is shown: what they are worth changes little from step to step.
    fn predicted_of(&self, view: &View) -> Option<&Predicted> {
        self.predicted.as_deref().filter(|then| then.field() == view.field)
    }

    fn due_prediction(&self, view: &View, stepping: bool, now: Instant) -> Predict {
        match (self.predicted_of(view), self.progress.current) {
            (None, _) => Predict::Soon,
            (Some(then), Some(step)) if !view.moving && !then.serves(step, view, stepping, now) => Predict::Later,
            _ => Predict::Never,
        }
    }

    /// Takes over what any session has found out that holds for `view`.
    fn adopt(&mut self, view: &View, stepping: bool, now: Instant) {
        let Some(step) = self.progress.current else { return };
        self.back_end.predictions().held(step, view, stepping, now).into_iter().for_each(|held| self.hold(held));
    }

    fn predict(&mut self, view: &View, stepping: bool) {
        let Some(step) = self.step.clone() else { return };
        let predicted = self.back_end.predictions().predict(&step, view, stepping, self.back_end.pool());
        self.hold(predicted);
    }

    fn hold(&mut self, predicted: Arc<Predicted>) {
        if !self.predicted.as_ref().is_some_and(|before| Arc::ptr_eq(before, &predicted)) {
            self.predicted = Some(predicted);
            // Its reason says what is predicted.
            self.told.forget_plan();
        }
    }

    fn queue_still(&mut self, view: &View) {
        let Some(step) = self.step.clone() else { return };
        let groups = self.back_end.groups();
        let encoded = step.keyframes.still(&step, view, groups, self.back_end.pool());
        self.progress.still_of = Some(view.sequence);
        self.queue(step.key, step.time, view, &encoded, None);
    }

    fn queue(&self, key: StepKey, time: f64, view: &View, encoded: &Encoded, asked: Option<Instant>) {
        let (field, set) = (key.field as u16, self.back_end.next_set());
        let header = BulkHeader { field, set, step: key.step, time, view: view.sequence };
        self.shared.queue(header, &encoded.bodies, asked);
    }
}

/// A session never ends in silence: what broke here is told to its page, and to no other.
impl Drop for Driver {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let text = "the server failed to make this view: reload the page, and please report it".to_owned();
            self.told.failed(self.progress.current, text);
        }
        self.shared.close();
    }
}

/// Turns from a keyframe after which another one is due: while the user turns, and at rest.
fn due_deg(predictions: &[Prediction], form: Form) -> [f64; 2] {
    let predicted = predictions.iter().find(|prediction| prediction.form == form && !prediction.psnr_db.is_empty());
    predicted.map_or(DUE_DEG, |predicted| {
        LOSS_DUE_DB.map(|loss| turn_that_costs(predicted, loss).clamp(DUE_DEG[1], WIDEST_DUE_DEG))
    })
}

fn quick_level(situation: &Situation, present_bytes_per_s: Option<f64>) -> u32 {
    let quick = present_bytes_per_s.unwrap_or(0.0) * QUICK.as_secs_f64();
    let budget = (quick as u64).max(QUICK_BYTES);
    let levels = situation.level_sizes.len() as u32;
    (0..levels).find(|&level| situation.level_bytes(level) <= budget).unwrap_or(levels - 1)
}

fn field_message(key: StepKey, defaults: &Defaults, statistics: &FieldStatistics) -> Field {
    Field {
        field: key.field,
        step: key.step,
        provisional: false,
        range: defaults.range.map(|r| [r.lo, r.hi]),
        extent: statistics.range.map(|r| [r.lo, r.hi]),
        histogram: statistics.histogram.clone(),
        finite: statistics.finite,
        missing: statistics.missing,
        transfer_function: defaults.transfer_function.clone(),
    }
}
