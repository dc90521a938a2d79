//! What a session does next: a pure decision from the view, the steps, the plan and what has been sent.

use std::time::{Duration, Instant};

use visapult_render::{Camera, Form, TransferFunction};
use visapult_volume::{StepIndex, StepSpan, ValueRange};

use crate::step_store::StepKey;
use crate::views::angle_between_deg;
use crate::wire::{Plan, ProxyChoice, View};

/// How long the camera rests before a still is made.
const REST_BEFORE_STILL: Duration = Duration::from_millis(150);
/// Turning of the camera that makes other segments worth their bytes where the key view does not see all of the box: while the user
/// turns, and once the camera rests.
const DUE_OF_CLOSE_SEGMENTS_DEG: [f64; 2] = [8.0, 0.5];
/// No point of a box is farther from its middle: its longest edge is 1.
const REACH: f64 = 0.87;
/// Relative change of distance or shift of target that counts like turning at rest.
const SHIFT_AT_REST: f64 = 0.01;

/// What has been queued for the page so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    /// Step being shown or sent.
    pub(crate) current: Option<StepKey>,
    /// A step that could not be had: not to be tried again.
    pub(crate) failed: Option<StepKey>,
    /// Finest level queued of the current step, and its bits.
    pub(crate) finest: Option<(u32, u8)>,
    /// What of the step's values it keeps, if not all.
    pub(crate) kept: Option<ValueRange>,
    /// View whose keyframe of the current step was queued last, and what that is made of.
    pub(crate) keyframe_of: Option<(View, Form)>,
    /// View whose still was queued last.
    pub(crate) still_of: Option<u32>,
    /// Bricks were queued, of this step or one before.
    pub(crate) has_picture: bool,
}

impl Progress {
    /// Notes what the page lets go of: one that asks for bricks keeps no keyframe.
    pub(crate) fn heed(&mut self, view: &View) {
        if view.proxy == ProxyChoice::Bricks {
            self.keyframe_of = None;
        }
    }
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Work {
    /// Load another step and begin with it.
    Begin(StepKey),
    /// Queue a level of bricks of the current step.
    Bricks {
        /// Level to send.
        level: u32,
        /// Bits per sample.
        bits: u8,
    },
    /// Queue a keyframe of the current view, from this camera, made of this.
    Keyframe(Camera, Form),
    /// Find out what proxies of the current step and view are worth.
    Predict {
        /// Whether steps follow each other.
        stepping: bool,
    },
    /// Queue the exact image of the current view.
    Still,
    /// Nothing before this moment, unless something changes.
    Wait(Option<Instant>),
}

/// When it is to be found out what proxies are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Predict {
    /// Not at all: it is known, or makes no difference.
    Never,
    /// As soon as there is something to look at.
    Soon,
    /// When nothing else is to be done: what is known is of another view, step or transfer function.
    Later,
}

/// What the decision is made from.
pub(crate) struct Outlook<'a> {
    /// The newest view.
    pub(crate) view: &'a View,
    /// When it came.
    pub(crate) view_at: Instant,
    /// Where its camera will be when what is made now is there; its own where it rests.
    pub(crate) ahead: Camera,
    /// Steps that can be read.
    pub(crate) steps: StepSpan,
    /// Whether steps keep coming.
    pub(crate) live: bool,
    /// Other processes have parts of the current step, and let go of them with the source.
    pub(crate) has_parts_elsewhere: bool,
    /// Whether all that was queued is on its way.
    pub(crate) all_sent: bool,
    /// Whether what is on its way arrives in time: a page that is behind is sent no further step, but a newer one later.
    pub(crate) in_time: bool,
    /// Whether something has arrived that tells what the link carries.
    pub(crate) knows_link: bool,
    /// What is to be sent.
    pub(crate) plan: &'a Plan,
    /// Whether steps follow each other.
    pub(crate) stepping: bool,
    /// Finest level that can be sent in a blink.
    pub(crate) quick_level: u32,
    /// Number of levels.
    pub(crate) levels: u32,
    /// What of the step's values bricks are to keep for the view, if not all.
    pub(crate) kept: Option<ValueRange>,
    /// What is made for the plan.
    pub(crate) form: Form,
    /// Turning of the camera that makes a new keyframe worth its bytes while the user still turns, and once the camera rests, in degrees.
    pub(crate) due_deg: [f64; 2],
    /// Whether it is to be found out what proxies are worth.
    pub(crate) predict: Predict,
    /// The present.
    pub(crate) now: Instant,
}

impl Outlook<'_> {
    /// The step the user wants, `current` being shown or sent. In place of one that a running simulation does not keep that one stays, or the newest
    /// comes: the oldest would be gone before it is there, and the next.
    fn wanted(&self, current: Option<StepKey>) -> StepKey {
        let field = self.view.field;
        let unasked = if self.live { self.steps.last } else { self.steps.first };
        let step = match self.view.step {
            Some(step) if !self.live || self.keeps(step) => self.steps.clamp(step),
            Some(_) => current.filter(|current| current.field == field).map_or(unasked, |current| current.step),
            None => unasked,
        };
        StepKey { field, step }
    }

    fn keeps(&self, step: StepIndex) -> bool {
        self.steps.clamp(step) == step
    }

    fn follows(&self) -> bool {
        self.live && self.view.step.is_none()
    }
}

/// Decides what a session does next.
pub(crate) fn next(outlook: &Outlook<'_>, progress: &Progress) -> Work {
    let wanted = outlook.wanted(progress.current);
    if progress.failed == Some(wanted) {
        return Work::Wait(None);
    }
    let Some(current) = progress.current else { return Work::Begin(wanted) };
    if current != wanted {
        let overtakes = outlook.view.step.is_some() || current.field != wanted.field;
        if overtakes || (outlook.all_sent && outlook.in_time) {
            return Work::Begin(wanted);
        }
    }
    let is_let_go = outlook.has_parts_elsewhere && !outlook.keeps(current.step);
    if !outlook.all_sent || (outlook.follows() && !outlook.in_time) || is_let_go {
        return Work::Wait(None);
    }
    // Something to look at goes first.
    if outlook.predict == Predict::Soon && progress.finest.is_some() {
        return Work::Predict { stepping: outlook.stepping };
    }
    let work = next_bricks(outlook, progress);
    if work.is_none() && !outlook.knows_link {
        return Work::Wait(None);
    }
    work.or_else(|| keyframe_is_due(outlook, progress).then_some(Work::Keyframe(outlook.ahead, outlook.form)))
        .or_else(|| next_still(outlook, progress))
        .or_else(|| (outlook.predict == Predict::Later).then_some(Work::Predict { stepping: outlook.stepping }))
        .or_else(|| finer_codes(outlook, progress))
        .unwrap_or(Work::Wait(None))
}

/// The next level of bricks on the way from coarse to what is planned, or that once more where the page shows values that it does not tell apart; where steps follow each other, the coarsest only for the first picture of all.
/// What takes long over a slow link is not sent before it is known to be none.
fn next_bricks(outlook: &Outlook<'_>, progress: &Progress) -> Option<Work> {
    let target = outlook.plan.level.max(if outlook.knows_link { 0 } else { outlook.quick_level });
    let is_outgrown = progress.kept != outlook.kept;
    let level = match progress.finest {
        // In place of the one that the page shows.
        Some((sent, _)) if sent <= target && is_outgrown => sent,
        Some((sent, _)) if sent <= target => return None,
        _ if outlook.stepping && progress.has_picture => target,
        Some((sent, _)) => outlook.quick_level.min(sent.saturating_sub(1)).max(target),
        None => outlook.levels - 1,
    };
    let coarse = if level == outlook.plan.level { outlook.plan.bits.min(8) } else { 8 };
    Some(Work::Bricks { level, bits: coarse })
}

/// The planned level once more with more bits, where the plan has them: last of all, for it changes least.
fn finer_codes(outlook: &Outlook<'_>, progress: &Progress) -> Option<Work> {
    let plan = outlook.plan;
    let coarser = matches!(progress.finest, Some((level, bits)) if level == plan.level && bits < plan.bits);
    (coarser && !outlook.view.moving).then_some(Work::Bricks { level: plan.level, bits: plan.bits })
}

fn keyframe_is_due(outlook: &Outlook<'_>, progress: &Progress) -> bool {
    if matches!(outlook.form, Form::Bricks { .. }) {
        return false;
    }
    let Some((made_for, form)) = &progress.keyframe_of else { return true };
    if *form != outlook.form {
        return true;
    }
    let (was, is) = (&made_for.camera, &outlook.ahead);
    let is_close = matches!(form, Form::Segments { .. }) && !sees_all(made_for);
    if (was.stretch, was.up) != (is.stretch, is.up) {
        // Of a box that is stretched otherwise it shows nothing, and of one that stands otherwise other sides.
        return true;
    }
    if matches!(form, Form::Slabs { .. }) && was.crop != is.crop {
        // Layers of colour are made of what is shown; of values a page crops what it has.
        return true;
    }
    let turned_deg = angle_between_deg(was, is);
    let [while_moving, at_rest] = if is_close { DUE_OF_CLOSE_SEGMENTS_DEG } else { outlook.due_deg };
    if outlook.view.moving {
        return turned_deg > while_moving;
    }
    let shifted = (0..3).any(|axis| (was.target[axis] - is.target[axis]).abs() > SHIFT_AT_REST);
    let zoomed = (was.distance / is.distance - 1.0).abs() > SHIFT_AT_REST || was.fov_deg != is.fov_deg;
    let reshaped = (made_for.aspect() / outlook.view.aspect() - 1.0).abs() > SHIFT_AT_REST;
    let recoloured = is_recoloured(*form, &made_for.transfer_function, &outlook.view.transfer_function);
    turned_deg > at_rest || shifted || zoomed || reshaped || recoloured
}

/// Whether a keyframe made through `then` is another one through `now`.
pub(super) fn is_recoloured(form: Form, then: &TransferFunction, now: &TransferFunction) -> bool {
    match form {
        Form::Bricks { .. } => false,
        Form::ScalarSlabs { .. } => then.range != now.range,
        // The values that a transfer function tells apart are those that segments keep most exactly.
        Form::Slabs { .. } | Form::Segments { .. } => then != now,
    }
}

/// Whether the picture of `view` holds all of any box.
fn sees_all(view: &View) -> bool {
    let half = (view.camera.fov_deg.to_radians() / 2.0).tan() * view.aspect().min(1.0);
    let aside = view.camera.target.iter().map(|c| c * c).sum::<f64>().sqrt();
    view.camera.distance * half.atan().sin() >= REACH + aside
}

/// The still that is due now, or the wait until it is.
fn next_still(outlook: &Outlook<'_>, progress: &Progress) -> Option<Work> {
    let due = !outlook.view.moving && !outlook.follows() && progress.still_of != Some(outlook.view.sequence);
    let at = outlook.view_at + REST_BEFORE_STILL;
    due.then(|| if outlook.now >= at { Work::Still } else { Work::Wait(Some(at)) })
}

#[cfg(test)]
mod tests;
