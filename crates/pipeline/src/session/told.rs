//! What a page has been told besides what it is sent: steps, what there is to steer, freshness, the plan, lifelines, notices. News is told once.

use std::time::{Duration, Instant};

use visapult_render::Form;

use super::ControlSink;
use super::lifelines::Lifelines;
use super::series::Gathered;
use crate::back_end::BackEnd;
use crate::step_store::StepKey;
use crate::wire::{
    Answer, Field, Freshness, Notice, Plan, Planned, ProxyChoice, Severity, Steps, ToPage, View, Welcome,
};

/// How long to wait before a control message that found no room is tried again.
const RETRY: Duration = Duration::from_millis(50);
/// A throughput is news beyond these shares of the one that was told.
const SAME_THROUGHPUT: std::ops::Range<f64> = 0.8..1.25;

/// The control messages of a session, and what they have said.
pub(super) struct Told {
    control: ControlSink,
    steps: Option<Steps>,
    /// The revision that the page knows.
    steering: Option<u64>,
    /// With what was chosen by whom: the reason says so.
    plan: Option<(Plan, Form, ProxyChoice)>,
    freshness: Option<Freshness>,
    /// What the step that is shown is like, and why one cannot be shown, where that found no room.
    untold_field: Option<ToPage>,
    untold_failure: Option<ToPage>,
    /// The same of a value that was asked for.
    untold_value: Option<ToPage>,
    lifelines: Lifelines,
}

impl Told {
    pub(super) fn new(control: ControlSink) -> Self {
        Self {
            control,
            steps: None,
            steering: None,
            plan: None,
            freshness: None,
            untold_field: None,
            untold_failure: None,
            untold_value: None,
            lifelines: Lifelines::default(),
        }
    }

    pub(super) fn welcome(&mut self, welcome: Welcome) {
        self.steps = Some(welcome.steps);
        self.say(&ToPage::Welcome(Box::new(welcome)));
    }

    /// Whether there was room for it.
    pub(super) fn say(&self, message: &ToPage) -> bool {
        (self.control)(message.encode())
    }

    pub(super) fn notice(&self, severity: Severity, text: String) {
        self.say(&ToPage::Notice(Notice::new(severity, text)));
    }

    /// Why a step cannot be shown; as soon as there is room, for a page waits for it until then.
    pub(super) fn failed(&mut self, key: Option<StepKey>, text: String) {
        self.untold_failure = Some(ToPage::Notice(Notice { failed: key, ..Notice::new(Severity::Error, text) }));
        self.untold();
    }

    /// What a step of a field is like; as soon as there is room, for a page draws nothing without.
    pub(super) fn field(&mut self, field: Field) {
        self.untold_field = Some(ToPage::Field(field));
        // What failed before is of no interest any more.
        self.untold_failure = None;
        self.untold();
    }

    /// A value that was asked for; as soon as there is room, for a page asks for no other before.
    pub(super) fn picked(&mut self, answer: Answer) {
        self.untold_value = Some(ToPage::Picked(answer));
        self.untold();
    }

    /// Values over time that have been gathered; when to try again if they could not be told.
    pub(super) fn series(&mut self, gathered: &mut Option<Gathered>) -> Option<Instant> {
        let gathered = gathered.as_mut()?;
        if !self.say(&ToPage::Series(gathered.news()?.clone())) {
            return Some(Instant::now() + RETRY);
        }
        gathered.told();
        None
    }

    /// What found no room; when to try again if there still is none.
    fn untold(&mut self) -> Option<Instant> {
        for message in [&mut self.untold_field, &mut self.untold_failure, &mut self.untold_value] {
            message.take_if(|message| (self.control)(message.encode()));
        }
        let is_left = [&self.untold_field, &self.untold_failure, &self.untold_value].iter().any(|left| left.is_some());
        is_left.then(|| Instant::now() + RETRY)
    }

    /// What has changed at the back end, `step` being shown, and what has happened where `lifelines` are wanted; when to look again.
    pub(super) fn news(
        &mut self,
        back_end: &BackEnd,
        step: Option<u64>,
        lifelines: bool,
        session: u32,
    ) -> Option<Instant> {
        let lifelines = self.lifelines.tell(lifelines, session, &self.control);
        let untold = self.untold();
        let news = [untold, self.steps(back_end), self.steering(back_end), self.freshness(back_end, step), lifelines];
        news.into_iter().flatten().min()
    }

    /// Which steps there are; when to try again if it could not be told.
    fn steps(&mut self, back_end: &BackEnd) -> Option<Instant> {
        let steps = Steps::from(back_end.steps());
        if self.steps == Some(steps) {
            return None;
        }
        if !self.say(&ToPage::Steps(steps)) {
            return Some(Instant::now() + RETRY);
        }
        self.steps = Some(steps);
        None
    }

    /// What there is to steer; when to try again if it could not be told.
    fn steering(&mut self, back_end: &BackEnd) -> Option<Instant> {
        let (revision, view) = back_end.steering()?;
        if self.steering == Some(revision) {
            return None;
        }
        if !self.say(&ToPage::Steering(Box::new(view))) {
            return Some(Instant::now() + RETRY);
        }
        self.steering = Some(revision);
        None
    }

    /// How fresh the step is that is shown; when to try again if it could not be told.
    fn freshness(&mut self, back_end: &BackEnd, step: Option<u64>) -> Option<Instant> {
        let freshness = back_end.freshness(step?)?;
        if self.freshness.as_ref().is_some_and(|told| told.says_the_same(&freshness)) {
            return None;
        }
        if !self.say(&ToPage::Freshness(freshness.clone())) {
            return Some(Instant::now() + RETRY);
        }
        self.freshness = Some(freshness);
        None
    }

    /// What is sent for `view`, where that is news: another proxy, level or precision, one that was asked for or is not any more, or a quite different link.
    pub(super) fn plan(&mut self, plan: Plan, form: Form, view: &View) {
        let is_news = self.plan.as_ref().is_none_or(|(told, told_form, told_choice)| {
            let ratio = (plan.throughput_bps + 1.0) / (told.throughput_bps + 1.0);
            let is_other =
                (told.level, told.bits, *told_form, *told_choice) != (plan.level, plan.bits, form, view.proxy);
            is_other || !SAME_THROUGHPUT.contains(&ratio)
        });
        if is_news && self.say(&ToPage::Plan(Planned { view: view.sequence, plan: plan.clone() })) {
            self.plan = Some((plan, form, view.proxy));
        }
    }

    /// The next plan is news, whatever it says.
    pub(super) fn forget_plan(&mut self) {
        self.plan = None;
    }
}
