//! What proxies were predicted to be worth: found out once for all sessions that look at about the same, so that they choose alike.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rayon::ThreadPool;
use visapult_render::Prediction;

use crate::choice::{COLOUR_BELOW_DB, predicted};
use crate::making::resolved;
use crate::memo::Memo;
use crate::planner::TURNS_DEG;
use crate::step_store::{LoadedStep, StepKey};
use crate::views::{angle_between_deg, are_alike};
use crate::wire::View;

/// How long predictions hold while steps follow one another.
const HOLD_FOR: Duration = Duration::from_secs(2);
/// Predictions that are kept for others.
const KEPT: usize = 16;

/// The step and view that something is predicted for, and when.
#[derive(Clone)]
struct Occasion {
    step: StepKey,
    view: View,
    at: Instant,
}

impl Occasion {
    /// Whether what is predicted for it tells of `step`, too: it is the same one, or steps follow one another and it was of late.
    fn is_of(&self, step: StepKey, stepping: bool, now: Instant) -> bool {
        let is_late = || now.saturating_duration_since(self.at) <= HOLD_FOR;
        self.step == step || stepping && self.step.field == step.field && is_late()
    }

    /// Whether what is predicted for it holds for `view` of `step`.
    fn serves(&self, step: StepKey, view: &View, stepping: bool, now: Instant) -> bool {
        self.is_of(step, stepping, now)
            && self.view.transfer_function == view.transfer_function
            && are_alike(&self.view, view)
    }
}

/// What proxies were predicted to be worth, turned by each of [`TURNS_DEG`].
pub(crate) struct Predicted {
    occasion: Occasion,
    pub(crate) worths: Arc<[Prediction]>,
}

impl Predicted {
    /// The field that it was predicted for.
    pub(crate) fn field(&self) -> usize {
        self.occasion.step.field
    }

    /// Whether bricks of `step` have the bytes that were predicted.
    pub(crate) fn tells_bytes(&self, step: StepKey, stepping: bool, now: Instant) -> bool {
        self.occasion.is_of(step, stepping, now)
    }

    /// Whether it holds for `view` of `step`.
    pub(crate) fn serves(&self, step: StepKey, view: &View, stepping: bool, now: Instant) -> bool {
        self.occasion.serves(step, view, stepping, now)
    }
}

/// What was predicted of late for any session.
///
/// Nothing here may be asked for on a thread of the pool that predicts, as with [`Keyframes`](crate::keyframes::Keyframes).
pub(crate) struct Predictions(Memo<Occasion, Arc<Predicted>>);

impl Default for Predictions {
    fn default() -> Self {
        Self(Memo::new(KEPT))
    }
}

impl Predictions {
    /// What holds for `view` of `step`; of several, that for the nearest direction: whoever sees the same is told the same.
    pub(crate) fn held(&self, step: StepKey, view: &View, stepping: bool, now: Instant) -> Option<Arc<Predicted>> {
        let serving = self.0.made().into_iter().filter(|predicted| predicted.serves(step, view, stepping, now));
        let turn = |predicted: &Arc<Predicted>| angle_between_deg(&predicted.occasion.view.camera, &view.camera);
        serving.min_by(|a, b| turn(a).total_cmp(&turn(b)))
    }

    /// What holds for `view` of `step`: found now, unless somebody has or is about to.
    pub(crate) fn predict(&self, step: &LoadedStep, view: &View, stepping: bool, pool: &ThreadPool) -> Arc<Predicted> {
        let occasion = Occasion { step: step.key, view: view.clone(), at: Instant::now() };
        let make = || {
            let function = resolved(step, &view.transfer_function);
            let views = TURNS_DEG.map(|turn| view.camera.turned(turn));
            let worths = predicted(step, view.camera, view.aspect(), &function, &views, COLOUR_BELOW_DB, pool).into();
            Arc::new(Predicted { occasion: occasion.clone(), worths })
        };
        let suffices = |kept: &Occasion, asked: &Occasion| kept.serves(asked.step, &asked.view, stepping, asked.at);
        self.0.get_like(occasion.clone(), suffices, make)
    }

    /// Lets go of all: steps are counted from the beginning again.
    pub(crate) fn forget(&self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use visapult_render::Camera;

    use super::*;
    use crate::testing::{pool, step, view};

    const STEP: StepKey = StepKey { field: 0, step: 3 };

    fn occasion(at: Instant) -> Occasion {
        Occasion { step: STEP, view: view(), at }
    }

    fn of_others() -> Vec<View> {
        let mut edited = view();
        edited.transfer_function.points.truncate(1);
        crate::testing::elsewhere().into_iter().chain([edited]).collect()
    }

    #[test]
    fn predictions_hold_for_about_the_same_picture() {
        let now = Instant::now();
        let serves = |view: &View| occasion(now).serves(STEP, view, false, now);
        assert!(serves(&View { camera: Camera::default().turned(15.0), ..view() }));
        assert!(serves(&View { viewport: [320, 240], ..view() }));
        for view in of_others() {
            assert!(!serves(&view), "{view:?}");
        }
    }

    #[test]
    fn predictions_tell_of_the_same_step_or_of_others_for_a_while_as_steps_follow_one_another() {
        let at = Instant::now();
        let is_of = |step, stepping, after| {
            occasion(at).is_of(StepKey { step, ..STEP }, stepping, at + Duration::from_secs(after))
        };
        assert!(is_of(3, false, 60) && is_of(3, true, 60));
        assert!(!is_of(4, false, 1));
        assert!(is_of(4, true, 1) && !is_of(4, true, 3));
        assert!(!occasion(at).is_of(StepKey { field: 1, ..STEP }, true, at));
    }

    #[test]
    fn viewers_of_about_the_same_are_told_the_same() {
        let (step, pool, predictions) = (step(), pool(), Predictions::default());
        let turned = |turn| View { camera: Camera::default().turned(turn), ..view() };
        let predict = |view: &View| predictions.predict(&step, view, false, &pool);
        let first = predict(&view());
        assert!(first.worths.iter().all(|prediction| prediction.psnr_db.len() == TURNS_DEG.len()));
        assert!(Arc::ptr_eq(&first, &predict(&turned(15.0))));
        let second = predict(&turned(30.0));
        assert!(!Arc::ptr_eq(&first, &second));
        // Both hold for what lies between: it is the nearer one.
        let held = |turn| predictions.held(step.key, &turned(turn), false, Instant::now()).unwrap();
        assert!(Arc::ptr_eq(&first, &held(14.0)) && Arc::ptr_eq(&second, &held(16.0)));
        assert!(predictions.held(StepKey { step: 9, ..step.key }, &view(), false, Instant::now()).is_none());
        predictions.forget();
        assert!(predictions.held(step.key, &view(), false, Instant::now()).is_none());
    }

    #[test]
    fn many_sessions_that_ask_at_once_cost_one_prediction() {
        let (step, pool, predictions) = (step(), pool(), Predictions::default());
        let predict = || predictions.predict(&step, &view(), false, &pool);
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(predict)).collect();
            let all: Vec<_> = all.into_iter().map(|one| one.join().unwrap()).collect();
            assert!(all.iter().all(|one| Arc::ptr_eq(one, &all[0])));
        });
    }
}
