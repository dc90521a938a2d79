//! What a session knows of proxies: what was predicted of them, and how large those were that it was sent.

use std::sync::Arc;
use std::time::{Duration, Instant};

use visapult_render::{Camera, Form, Prediction};

use super::agenda::{Predict, angle_between_deg, is_recoloured};
use crate::step_store::StepKey;
use crate::wire::View;

/// How long predictions hold while steps follow one another.
const HOLDS_FOR: Duration = Duration::from_secs(2);
/// Turn of the camera up to which predictions hold, in degrees.
const HOLDS_WITHIN_DEG: f64 = 20.0;
/// The same as a relative change of distance and of field of view.
const HOLDS_WITHIN_ZOOM: f64 = 0.25;
/// The same for the target, as a share of the distance.
const HOLDS_WITHIN_SHIFT: f64 = 0.1;

/// What proxies were predicted to be worth, for which view of which step, and when.
pub(super) struct Predicted {
    pub(super) step: StepKey,
    pub(super) view: View,
    pub(super) at: Instant,
    pub(super) worths: Arc<[Prediction]>,
}

impl Predicted {
    /// When to predict anew for `view`, whose step is `current`.
    pub(super) fn renewal(&self, view: &View, current: Option<StepKey>, stepping: bool, now: Instant) -> Predict {
        let is_old = if stepping { self.age(now) > HOLDS_FOR } else { current.is_some_and(|step| step != self.step) };
        let is_other = self.view.transfer_function != view.transfer_function;
        let is_due = is_other || is_old || !are_alike(&self.view.camera, &view.camera);
        if is_due && !view.moving { Predict::Later } else { Predict::Never }
    }

    /// Whether bricks of step `current` have the bytes that were predicted.
    pub(super) fn tells_bytes(&self, current: Option<StepKey>, stepping: bool, now: Instant) -> bool {
        current == Some(self.step) || stepping && self.age(now) <= HOLDS_FOR
    }

    fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.at)
    }
}

/// Bytes of what was queued.
#[derive(Default)]
pub(super) struct Measured {
    /// Of 8-bit bricks of the current step, by level.
    pub(super) levels: Vec<Option<u64>>,
    /// Of the last level at all, with 8 bits.
    pub(super) per_sample: Option<f64>,
    keyframe: Option<(View, Form, u64)>,
}

impl Measured {
    /// Another step begins.
    pub(super) fn begin(&mut self) {
        self.levels.clear();
    }

    /// A level of `samples` samples was queued.
    pub(super) fn note_bricks(&mut self, level: u32, bits: u8, bytes: u64, samples: usize) {
        self.per_sample = Some(bytes as f64 / samples as f64 / f64::from(bits / 8));
        if bits == 8 {
            let place = level as usize;
            self.levels.resize(self.levels.len().max(place + 1), None);
            self.levels[place] = Some(bytes);
        }
    }

    /// A keyframe was queued.
    pub(super) fn note_keyframe(&mut self, view: &View, form: Form, bytes: u64) {
        self.keyframe = Some((view.clone(), form, bytes));
    }

    /// What the last keyframe of the field of `view` was.
    pub(super) fn form(&self, view: &View) -> Option<Form> {
        self.keyframe.as_ref().filter(|(then, ..)| then.field == view.field).map(|(_, form, _)| *form)
    }

    /// Bytes of the last keyframe, if it is one of what `view` shows.
    pub(super) fn keyframe_bytes(&self, view: &View) -> Option<u64> {
        let (then, form, bytes) = self.keyframe.as_ref()?;
        let is_like = then.field == view.field
            && are_alike(&then.camera, &view.camera)
            && !is_recoloured(*form, &then.transfer_function, &view.transfer_function);
        is_like.then_some(*bytes)
    }
}

/// Whether proxies are worth about the same to two cameras.
fn are_alike(a: &Camera, b: &Camera) -> bool {
    let changed = |a: f64, b: f64| (a / b - 1.0).abs() > HOLDS_WITHIN_ZOOM;
    let shift = (0..3).map(|axis| (a.target[axis] - b.target[axis]).powi(2)).sum::<f64>().sqrt();
    angle_between_deg(a, b) <= HOLDS_WITHIN_DEG
        && !changed(a.distance, b.distance)
        && !changed(a.fov_deg, b.fov_deg)
        && shift <= HOLDS_WITHIN_SHIFT * b.distance
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::testing::view;

    const STEP: StepKey = StepKey { field: 0, step: 3 };
    const COLOUR: Form = Form::Slabs { slabs: 64 };
    const SCALAR: Form = Form::ScalarSlabs { slabs: 64 };

    fn with(camera: Camera) -> View {
        View { camera, ..view() }
    }

    fn elsewhere() -> [View; 4] {
        let camera = Camera::default();
        [
            with(camera.turned(25.0)),
            with(Camera { distance: 2.0, ..camera }),
            with(Camera { target: [0.0, 0.4, 0.0], ..camera }),
            with(Camera { fov_deg: 15.0, ..camera }),
        ]
    }

    fn predicted(at: Instant) -> Predicted {
        Predicted { step: STEP, view: view(), at, worths: Arc::new([]) }
    }

    #[test]
    fn predictions_are_made_anew_for_quite_another_picture_of_a_camera_at_rest() {
        let now = Instant::now();
        let renewal = |view: &View| predicted(now).renewal(view, Some(STEP), false, now);
        assert_eq!(renewal(&with(Camera::default().turned(15.0))), Predict::Never);
        for view in elsewhere() {
            assert_eq!(renewal(&view), Predict::Later, "{:?}", view.camera);
            assert_eq!(renewal(&View { moving: true, ..view }), Predict::Never);
        }
    }

    #[test]
    fn bytes_are_those_predicted_in_the_same_step_or_of_late_while_steps_follow_one_another() {
        let at = Instant::now();
        let tells = |step, stepping, after| {
            predicted(at).tells_bytes(Some(StepKey { step, ..STEP }), stepping, at + Duration::from_secs(after))
        };
        assert!(tells(3, false, 60));
        assert!(!tells(4, false, 1));
        assert!(tells(4, true, 1) && !tells(4, true, 3));
    }

    #[test]
    fn bytes_of_a_keyframe_are_those_of_the_next_as_long_as_the_picture_is_alike() {
        let mut measured = Measured::default();
        measured.note_keyframe(&view(), COLOUR, 1000);
        assert_eq!(measured.keyframe_bytes(&with(Camera::default().turned(15.0))), Some(1000));
        let mut others = elsewhere().to_vec();
        others.push(View { field: 1, ..view() });
        let mut edited = view();
        edited.transfer_function.points.truncate(1);
        others.push(edited.clone());
        assert!(others.iter().all(|view| measured.keyframe_bytes(view).is_none()));
        assert_eq!((measured.form(&edited), measured.form(&View { field: 1, ..view() })), (Some(COLOUR), None));
        measured.note_keyframe(&view(), SCALAR, 1000);
        assert_eq!(measured.keyframe_bytes(&edited), Some(1000));
    }

    #[test]
    fn levels_of_the_step_before_are_forgotten_and_bytes_per_sample_kept() {
        let mut measured = Measured::default();
        measured.note_bricks(2, 8, 500, 1000);
        measured.note_bricks(2, 16, 1100, 1000);
        assert_eq!((&measured.levels[..], measured.per_sample), (&[None, None, Some(500)][..], Some(0.55)));
        measured.begin();
        assert_eq!((measured.levels.len(), measured.per_sample), (0, Some(0.55)));
    }
}
