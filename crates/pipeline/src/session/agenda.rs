//! What a session does next: a pure decision from the view, the steps, the plan and what has been sent.

use std::time::{Duration, Instant};

use visapult_render::{Camera, Form, TransferFunction};
use visapult_volume::StepSpan;

use crate::step_store::StepKey;
use crate::wire::{Plan, View};

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
    /// View whose keyframe of the current step was queued last, and what that is made of.
    pub(crate) keyframe_of: Option<(View, Form)>,
    /// View whose still was queued last.
    pub(crate) still_of: Option<u32>,
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
    /// Queue a keyframe of the current view, from this camera.
    Keyframe(Camera),
    /// Find out what proxies of the current step and view are worth.
    Predict,
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
    /// Whether all that was queued is on its way.
    pub(crate) all_sent: bool,
    /// What is to be sent.
    pub(crate) plan: &'a Plan,
    /// Whether steps follow each other.
    pub(crate) stepping: bool,
    /// Finest level that can be sent in a blink.
    pub(crate) quick_level: u32,
    /// Number of levels.
    pub(crate) levels: u32,
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
    /// The step the user wants.
    pub(crate) fn wanted(&self) -> StepKey {
        let unasked = if self.live { self.steps.last } else { self.steps.first };
        let step = self.view.step.map_or(unasked, |step| self.steps.clamp(step));
        StepKey { field: self.view.field, step }
    }

    fn follows(&self) -> bool {
        self.live && self.view.step.is_none()
    }
}

/// Decides what a session does next.
pub(crate) fn next(outlook: &Outlook<'_>, progress: &Progress) -> Work {
    let wanted = outlook.wanted();
    if progress.failed == Some(wanted) {
        return Work::Wait(None);
    }
    let Some(current) = progress.current else { return Work::Begin(wanted) };
    if current != wanted {
        let overtakes = outlook.view.step.is_some() || current.field != wanted.field;
        if overtakes || outlook.all_sent {
            return Work::Begin(wanted);
        }
    }
    if !outlook.all_sent {
        return Work::Wait(None);
    }
    // Something to look at goes first.
    if outlook.predict == Predict::Soon && progress.finest.is_some() {
        return Work::Predict;
    }
    next_bricks(outlook, progress)
        .or_else(|| keyframe_is_due(outlook, progress).then_some(Work::Keyframe(outlook.ahead)))
        .or_else(|| next_still(outlook, progress))
        .or_else(|| (outlook.predict == Predict::Later).then_some(Work::Predict))
        .or_else(|| finer_codes(outlook, progress))
        .unwrap_or(Work::Wait(None))
}

/// The next level of bricks on the way from coarse to what is planned.
fn next_bricks(outlook: &Outlook<'_>, progress: &Progress) -> Option<Work> {
    let target = outlook.plan.level;
    let level = match progress.finest {
        Some((sent, _)) if sent <= target => return None,
        _ if outlook.stepping => target,
        Some((sent, _)) => outlook.quick_level.min(sent.saturating_sub(1)).max(target),
        None => outlook.levels - 1,
    };
    Some(Work::Bricks { level, bits: 8 })
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

/// Angle between the view directions of two cameras, in degrees.
pub(super) fn angle_between_deg(a: &Camera, b: &Camera) -> f64 {
    let direction = |camera: &Camera| {
        let (azimuth, elevation) = (camera.azimuth_deg.to_radians(), camera.elevation_deg.to_radians());
        [elevation.cos() * azimuth.sin(), elevation.sin(), elevation.cos() * azimuth.cos()]
    };
    let (a, b) = (direction(a), direction(b));
    let cosine: f64 = (0..3).map(|axis| a[axis] * b[axis]).sum();
    cosine.clamp(-1.0, 1.0).acos().to_degrees()
}

/// The still that is due now, or the wait until it is.
fn next_still(outlook: &Outlook<'_>, progress: &Progress) -> Option<Work> {
    let due = !outlook.view.moving && !outlook.follows() && progress.still_of != Some(outlook.view.sequence);
    let at = outlook.view_at + REST_BEFORE_STILL;
    due.then(|| if outlook.now >= at { Work::Still } else { Work::Wait(Some(at)) })
}

#[cfg(test)]
mod tests {
    use visapult_volume::ValueRange;

    use super::*;
    use crate::wire::{ProxyChoice, ProxyKind};

    struct Scene {
        view: View,
        plan: Plan,
        view_at: Instant,
        ahead: Option<Camera>,
        elapsed: Duration,
        stepping: bool,
        live: bool,
        all_sent: bool,
        form: Form,
        due_deg: [f64; 2],
        predict: Predict,
    }

    impl Scene {
        fn new() -> Self {
            let range = ValueRange { lo: 0.0, hi: 1.0 };
            let view = View {
                sequence: 1,
                camera: Camera::default(),
                viewport: [640, 480],
                field: 0,
                step: None,
                moving: false,
                proxy: ProxyChoice::Auto,
                transfer_function: TransferFunction::default_for(range),
            };
            let plan = Plan {
                proxy: ProxyKind::Bricks,
                level: 0,
                bits: 8,
                reason: String::new(),
                throughput_bps: 0.0,
                bytes: 0,
            };
            let view_at = Instant::now();
            Self {
                view,
                plan,
                view_at,
                ahead: None,
                elapsed: Duration::ZERO,
                stepping: false,
                live: false,
                all_sent: true,
                form: Form::Bricks { level: 0 },
                due_deg: [8.0, 0.5],
                predict: Predict::Never,
            }
        }

        fn ahead(&self) -> Camera {
            self.ahead.unwrap_or(self.view.camera)
        }

        fn next(&self, progress: &Progress) -> Work {
            let outlook = Outlook {
                view: &self.view,
                view_at: self.view_at,
                ahead: self.ahead(),
                steps: StepSpan { first: 0, last: 9 },
                live: self.live,
                all_sent: self.all_sent,
                plan: &self.plan,
                stepping: self.stepping,
                quick_level: 2,
                levels: 4,
                form: self.form,
                due_deg: self.due_deg,
                predict: self.predict,
                now: self.view_at + self.elapsed,
            };
            next(&outlook, progress)
        }
    }

    const AT_0: StepKey = StepKey { field: 0, step: 0 };
    const AT_9: StepKey = StepKey { field: 0, step: 9 };

    fn sent(level: u32, bits: u8) -> Progress {
        Progress { current: Some(AT_0), finest: Some((level, bits)), ..Progress::default() }
    }

    #[test]
    fn a_file_goes_from_coarse_to_fine_and_ends_in_a_still() {
        let mut scene = Scene::new();
        assert_eq!(scene.next(&Progress::default()), Work::Begin(AT_0));
        let begun = Progress { current: Some(AT_0), ..Progress::default() };
        assert_eq!(scene.next(&begun), Work::Bricks { level: 3, bits: 8 });
        assert_eq!(scene.next(&sent(3, 8)), Work::Bricks { level: 2, bits: 8 });
        assert_eq!(scene.next(&sent(2, 8)), Work::Bricks { level: 1, bits: 8 });
        assert_eq!(scene.next(&sent(0, 8)), Work::Wait(Some(scene.view_at + REST_BEFORE_STILL)));
        scene.elapsed = REST_BEFORE_STILL;
        assert_eq!(scene.next(&sent(0, 8)), Work::Still);
        assert_eq!(scene.next(&Progress { still_of: Some(1), ..sent(0, 8) }), Work::Wait(None));
        scene.plan.bits = 16;
        assert_eq!(scene.next(&Progress { still_of: Some(1), ..sent(0, 8) }), Work::Bricks { level: 0, bits: 16 });
        assert_eq!(scene.next(&Progress { still_of: Some(1), ..sent(0, 16) }), Work::Wait(None));
    }

    #[test]
    fn a_slow_viewer_of_a_running_simulation_skips_steps() {
        let scene = Scene { live: true, stepping: true, all_sent: false, ..Scene::new() };
        let behind =
            Progress { current: Some(StepKey { field: 0, step: 4 }), finest: Some((0, 8)), ..Progress::default() };
        assert_eq!(scene.next(&behind), Work::Wait(None));
        let scene = Scene { all_sent: true, ..scene };
        assert_eq!(scene.next(&behind), Work::Begin(AT_9));
    }

    #[test]
    fn a_step_chosen_by_hand_overtakes_what_is_being_sent() {
        let mut scene = Scene { live: true, all_sent: false, ..Scene::new() };
        scene.view.step = Some(2);
        assert_eq!(scene.next(&sent(0, 8)), Work::Begin(StepKey { field: 0, step: 2 }));
        scene.view.step = Some(4000);
        assert_eq!(scene.next(&Progress::default()), Work::Begin(AT_9));
    }

    #[test]
    fn a_step_that_failed_is_not_tried_for_ever() {
        let failed = Progress { failed: Some(AT_0), ..Progress::default() };
        assert_eq!(Scene::new().next(&failed), Work::Wait(None));
    }

    const SCALAR: Form = Form::ScalarSlabs { slabs: 128 };
    const COLOUR: Form = Form::Slabs { slabs: 64 };
    const SEGMENTS: Form = Form::Segments { segments: 64 };

    fn of(form: Form) -> Scene {
        let scene = Scene::new();
        Scene {
            form,
            elapsed: REST_BEFORE_STILL,
            plan: Plan { proxy: ProxyKind::Slabs, level: 1, ..scene.plan },
            ..scene
        }
    }

    fn made(scene: &Scene, form: Form) -> Progress {
        Progress { keyframe_of: Some((scene.view.clone(), form)), ..sent(1, 8) }
    }

    #[test]
    fn keyframes_follow_the_camera_sparingly_while_it_moves() {
        let mut scene = of(SCALAR);
        assert_eq!(scene.next(&sent(1, 8)), Work::Keyframe(scene.ahead()));
        let made = made(&scene, SCALAR);
        scene.view.camera.azimuth_deg += 4.0;
        scene.view.moving = true;
        assert_eq!(scene.next(&made), Work::Wait(None));
        scene.view.camera.azimuth_deg += 10.0;
        assert_eq!(scene.next(&made), Work::Keyframe(scene.ahead()));
        scene.view.camera.azimuth_deg -= 13.0;
        scene.ahead = Some(Camera { azimuth_deg: scene.view.camera.azimuth_deg + 12.0, ..scene.view.camera });
        assert_eq!(scene.next(&made), Work::Keyframe(scene.ahead()));
        scene.view.moving = false;
        scene.ahead = None;
        assert_eq!(scene.next(&made), Work::Keyframe(scene.view.camera));
    }

    #[test]
    fn a_keyframe_that_holds_for_wide_turns_is_not_made_anew_within_them() {
        let mut scene = Scene { due_deg: [40.0, 25.0], ..of(SCALAR) };
        let made = made(&scene, SCALAR);
        scene.view.camera.azimuth_deg += 25.0;
        assert_eq!(scene.next(&made), Work::Still);
        scene.view.moving = true;
        scene.view.camera.azimuth_deg += 10.0;
        assert_eq!(scene.next(&made), Work::Wait(None));
        scene.view.moving = false;
        assert_eq!(scene.next(&made), Work::Keyframe(scene.ahead()));
    }

    #[test]
    fn segments_that_do_not_see_all_of_the_box_are_asked_for_anew_after_small_turns() {
        let mut scene = Scene { due_deg: [30.0, 30.0], ..of(SEGMENTS) };
        for (distance, work) in [(1.5, None), (3.6, Some(Work::Still))] {
            scene.view.camera.distance = distance;
            let made = made(&scene, SEGMENTS);
            scene.view.camera.azimuth_deg += 1.0;
            assert_eq!(scene.next(&made), work.unwrap_or(Work::Keyframe(scene.ahead())));
        }
    }

    #[test]
    fn another_kind_of_keyframe_takes_the_place_of_the_one_before() {
        let scene = of(SEGMENTS);
        assert_eq!(scene.next(&made(&scene, SCALAR)), Work::Keyframe(scene.ahead()));
        assert_eq!(scene.next(&made(&scene, SEGMENTS)), Work::Still);
    }

    #[test]
    fn another_transfer_function_needs_other_keyframes_but_for_scalar_ones_of_its_range() {
        for form in [SEGMENTS, COLOUR] {
            let mut scene = of(form);
            let made = made(&scene, form);
            scene.view.transfer_function.points.truncate(1);
            assert_eq!(scene.next(&made), Work::Keyframe(scene.ahead()));
        }
        let mut scene = of(SCALAR);
        let made = made(&scene, SCALAR);
        scene.view.transfer_function.points.truncate(1);
        assert_eq!(scene.next(&made), Work::Still);
        scene.view.transfer_function.range = Some([0.0, 0.5]);
        assert_eq!(scene.next(&made), Work::Keyframe(scene.ahead()));
    }

    #[test]
    fn the_first_bricks_are_under_way_before_anything_is_predicted() {
        let scene = Scene { predict: Predict::Soon, ..of(SCALAR) };
        let begun = Progress { current: Some(AT_0), ..Progress::default() };
        assert_eq!(scene.next(&begun), Work::Bricks { level: 3, bits: 8 });
        assert_eq!(scene.next(&sent(3, 8)), Work::Predict);
    }

    #[test]
    fn what_was_predicted_of_another_view_is_found_out_anew_last_of_all() {
        let scene = Scene { predict: Predict::Later, ..of(SCALAR) };
        let made = made(&scene, SCALAR);
        assert_eq!(scene.next(&made), Work::Still);
        assert_eq!(scene.next(&Progress { still_of: Some(1), ..made }), Work::Predict);
    }
}
