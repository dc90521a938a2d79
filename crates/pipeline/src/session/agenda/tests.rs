//! Tests of what a session does next.

use visapult_render::CodeBits;

use super::*;
use crate::testing::view;
use crate::wire::ProxyKind;

struct Scene {
    view: View,
    plan: Plan,
    view_at: Instant,
    ahead: Option<Camera>,
    elapsed: Duration,
    stepping: bool,
    live: bool,
    steps: StepSpan,
    has_parts_elsewhere: bool,
    all_sent: bool,
    in_time: bool,
    knows_link: bool,
    form: Form,
    due_deg: [f64; 2],
    predict: Predict,
    kept: Option<ValueRange>,
}

impl Scene {
    fn new() -> Self {
        let plan =
            Plan { proxy: ProxyKind::Bricks, level: 0, bits: 8, reason: String::new(), throughput_bps: 0.0, bytes: 0 };
        let view_at = Instant::now();
        Self {
            view: view(),
            plan,
            view_at,
            ahead: None,
            elapsed: Duration::ZERO,
            stepping: false,
            live: false,
            steps: StepSpan { first: 0, last: 9 },
            has_parts_elsewhere: false,
            all_sent: true,
            in_time: true,
            knows_link: true,
            form: Form::Bricks { level: 0, bits: CodeBits::EIGHT },
            due_deg: [8.0, 0.5],
            predict: Predict::Never,
            kept: None,
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
            steps: self.steps,
            live: self.live,
            has_parts_elsewhere: self.has_parts_elsewhere,
            all_sent: self.all_sent,
            in_time: self.in_time,
            knows_link: self.knows_link,
            plan: &self.plan,
            stepping: self.stepping,
            quick_level: 2,
            levels: 4,
            kept: self.kept,
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
fn a_range_that_bricks_do_not_keep_brings_the_level_that_is_shown_once_more() {
    let mut scene = Scene { elapsed: REST_BEFORE_STILL, ..Scene::new() };
    assert_eq!(scene.next(&sent(0, 8)), Work::Still);
    scene.kept = Some(ValueRange { lo: 0.0, hi: 1.0 });
    assert_eq!(scene.next(&sent(0, 8)), Work::Bricks { level: 0, bits: 8 });
    assert_eq!(scene.next(&sent(1, 8)), Work::Bricks { level: 0, bits: 8 });
    scene.plan.level = 2;
    assert_eq!(scene.next(&sent(1, 8)), Work::Bricks { level: 1, bits: 8 });
    let kept = Progress { kept: scene.kept, ..sent(1, 8) };
    assert_eq!(scene.next(&kept), Work::Still);
    scene.kept = None;
    assert_eq!(scene.next(&kept), Work::Bricks { level: 1, bits: 8 });
}

#[test]
fn the_planned_level_comes_with_as_few_bits_as_planned_and_with_more_once_they_are() {
    let mut scene = Scene { elapsed: REST_BEFORE_STILL, ..Scene::new() };
    scene.plan.bits = 5;
    assert_eq!(scene.next(&sent(2, 8)), Work::Bricks { level: 1, bits: 8 });
    assert_eq!(scene.next(&sent(1, 8)), Work::Bricks { level: 0, bits: 5 });
    assert_eq!(scene.next(&sent(0, 5)), Work::Still);
    scene.plan.bits = 8;
    assert_eq!(scene.next(&Progress { still_of: Some(1), ..sent(0, 5) }), Work::Bricks { level: 0, bits: 8 });
}

#[test]
fn a_slow_viewer_of_a_running_simulation_skips_steps() {
    let scene = Scene { live: true, stepping: true, all_sent: false, ..Scene::new() };
    let behind = Progress { current: Some(StepKey { field: 0, step: 4 }), finest: Some((0, 8)), ..Progress::default() };
    assert_eq!(scene.next(&behind), Work::Wait(None));
    let scene = Scene { all_sent: true, in_time: false, ..scene };
    assert_eq!(scene.next(&behind), Work::Wait(None));
    let scene = Scene { in_time: true, ..scene };
    assert_eq!(scene.next(&behind), Work::Begin(AT_9));
}

#[test]
fn what_is_late_keeps_nothing_of_a_file_from_its_viewer() {
    let scene = Scene { in_time: false, ..Scene::new() };
    assert_eq!(scene.next(&sent(3, 8)), Work::Bricks { level: 2, bits: 8 });
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
fn a_step_that_is_looked_at_stays_when_the_simulation_keeps_it_no_longer() {
    let mut scene = Scene { live: true, steps: StepSpan { first: 5, last: 9 }, ..Scene::new() };
    scene.view.step = Some(0);
    // It is made finer as ever, up to a still.
    assert_eq!(scene.next(&sent(3, 8)), Work::Bricks { level: 2, bits: 8 });
    scene.elapsed = REST_BEFORE_STILL;
    assert_eq!(scene.next(&sent(0, 8)), Work::Still);
    // Other processes have let go of their parts.
    scene.has_parts_elsewhere = true;
    assert_eq!(scene.next(&sent(3, 8)), Work::Wait(None));
    scene.view.step = None;
    assert_eq!(scene.next(&sent(3, 8)), Work::Begin(AT_9));
}

#[test]
fn a_step_that_came_too_late_is_not_chased() {
    let mut scene = Scene { live: true, steps: StepSpan { first: 5, last: 9 }, ..Scene::new() };
    scene.view.step = Some(2);
    assert_eq!(scene.next(&Progress::default()), Work::Begin(AT_9));
    scene.steps = StepSpan { first: 15, last: 19 };
    let begun = Progress { current: Some(AT_9), ..Progress::default() };
    assert_eq!(scene.next(&begun), Work::Bricks { level: 3, bits: 8 });
    // Of another field there is nothing yet.
    scene.view.field = 1;
    assert_eq!(scene.next(&begun), Work::Begin(StepKey { field: 1, step: 19 }));
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
    Scene { form, elapsed: REST_BEFORE_STILL, plan: Plan { proxy: ProxyKind::Slabs, level: 1, ..scene.plan }, ..scene }
}

fn made(scene: &Scene, form: Form) -> Progress {
    Progress { keyframe_of: Some((scene.view.clone(), form)), ..sent(1, 8) }
}

#[test]
fn a_page_that_has_asked_for_bricks_is_sent_its_keyframe_anew() {
    let mut scene = of(SCALAR);
    let mut progress = made(&scene, SCALAR);
    progress.heed(&scene.view);
    assert_ne!(scene.next(&progress), Work::Keyframe(scene.ahead(), scene.form));
    scene.view.proxy = ProxyChoice::Bricks;
    progress.heed(&scene.view);
    scene.view.proxy = ProxyChoice::Slabs;
    assert_eq!(scene.next(&progress), Work::Keyframe(scene.ahead(), scene.form));
}

#[test]
fn keyframes_follow_the_camera_sparingly_while_it_moves() {
    let mut scene = of(SCALAR);
    assert_eq!(scene.next(&sent(1, 8)), Work::Keyframe(scene.ahead(), scene.form));
    let made = made(&scene, SCALAR);
    scene.view.camera.azimuth_deg += 4.0;
    scene.view.moving = true;
    assert_eq!(scene.next(&made), Work::Wait(None));
    scene.view.camera.azimuth_deg += 10.0;
    assert_eq!(scene.next(&made), Work::Keyframe(scene.ahead(), scene.form));
    scene.view.camera.azimuth_deg -= 13.0;
    scene.ahead = Some(Camera { azimuth_deg: scene.view.camera.azimuth_deg + 12.0, ..scene.view.camera });
    assert_eq!(scene.next(&made), Work::Keyframe(scene.ahead(), scene.form));
    scene.view.moving = false;
    scene.ahead = None;
    assert_eq!(scene.next(&made), Work::Keyframe(scene.view.camera, scene.form));
}

#[test]
fn axes_of_other_lengths_need_other_keyframes_of_every_kind() {
    for form in [Form::Slabs { slabs: 64 }, Form::ScalarSlabs { slabs: 64 }, Form::Segments { segments: 64 }] {
        let mut scene = of(form);
        let progress = made(&scene, form);
        assert_eq!(scene.next(&progress), Work::Still);
        scene.view.camera.stretch = [1.0, 1.0, 10.0];
        assert_eq!(scene.next(&progress), Work::Keyframe(scene.view.camera, form));
        scene.view.moving = true;
        assert_eq!(scene.next(&progress), Work::Keyframe(scene.view.camera, form));
    }
}

#[test]
fn colours_alone_are_made_anew_where_the_box_is_cropped_otherwise() {
    for form in [Form::Slabs { slabs: 64 }, SCALAR, Form::Segments { segments: 64 }] {
        let mut scene = of(form);
        let progress = made(&scene, form);
        scene.view.camera.crop = [[0.0, 1.0], [0.25, 1.0], [0.0, 1.0]];
        for moving in [false, true] {
            scene.view.moving = moving;
            let anew = scene.next(&progress) == Work::Keyframe(scene.view.camera, form);
            assert_eq!(anew, matches!(form, Form::Slabs { .. }), "{form:?}");
        }
    }
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
    assert_eq!(scene.next(&made), Work::Keyframe(scene.ahead(), scene.form));
}

#[test]
fn segments_that_do_not_see_all_of_the_box_are_asked_for_anew_after_small_turns() {
    let mut scene = Scene { due_deg: [30.0, 30.0], ..of(SEGMENTS) };
    for (distance, work) in [(1.5, None), (3.6, Some(Work::Still))] {
        scene.view.camera.distance = distance;
        let made = made(&scene, SEGMENTS);
        scene.view.camera.azimuth_deg += 1.0;
        assert_eq!(scene.next(&made), work.unwrap_or(Work::Keyframe(scene.ahead(), scene.form)));
    }
}

#[test]
fn another_kind_of_keyframe_takes_the_place_of_the_one_before() {
    let scene = of(SEGMENTS);
    assert_eq!(scene.next(&made(&scene, SCALAR)), Work::Keyframe(scene.ahead(), scene.form));
    assert_eq!(scene.next(&made(&scene, SEGMENTS)), Work::Still);
}

#[test]
fn another_transfer_function_needs_other_keyframes_but_for_scalar_ones_of_its_range() {
    for form in [SEGMENTS, COLOUR] {
        let mut scene = of(form);
        let made = made(&scene, form);
        scene.view.transfer_function.points.truncate(1);
        assert_eq!(scene.next(&made), Work::Keyframe(scene.ahead(), scene.form));
    }
    let mut scene = of(SCALAR);
    let made = made(&scene, SCALAR);
    scene.view.transfer_function.points.truncate(1);
    assert_eq!(scene.next(&made), Work::Still);
    scene.view.transfer_function.range = Some([0.0, 0.5]);
    assert_eq!(scene.next(&made), Work::Keyframe(scene.ahead(), scene.form));
}

#[test]
fn the_first_bricks_are_under_way_before_anything_is_predicted() {
    let scene = Scene { predict: Predict::Soon, ..of(SCALAR) };
    let begun = Progress { current: Some(AT_0), ..Progress::default() };
    assert_eq!(scene.next(&begun), Work::Bricks { level: 3, bits: 8 });
    assert_eq!(scene.next(&sent(3, 8)), Work::Predict { stepping: false });
}

#[test]
fn what_was_predicted_of_another_view_is_found_out_anew_last_of_all() {
    let scene = Scene { predict: Predict::Later, ..of(SCALAR) };
    let made = made(&scene, SCALAR);
    assert_eq!(scene.next(&made), Work::Still);
    assert_eq!(scene.next(&Progress { still_of: Some(1), ..made }), Work::Predict { stepping: false });
}

#[test]
fn the_first_picture_of_a_running_simulation_is_the_coarsest_and_later_ones_are_as_planned() {
    let scene = Scene { live: true, stepping: true, ..Scene::new() };
    let first = Progress { current: Some(AT_9), ..Progress::default() };
    assert_eq!(scene.next(&first), Work::Bricks { level: 3, bits: 8 });
    let sent = Progress { finest: Some((3, 8)), has_picture: true, ..first };
    assert_eq!(scene.next(&sent), Work::Bricks { level: 0, bits: 8 });
    let next = Progress { finest: None, ..sent };
    assert_eq!(scene.next(&next), Work::Bricks { level: 0, bits: 8 });
}

#[test]
fn what_takes_long_waits_until_the_link_is_known() {
    let unknown = Scene { knows_link: false, form: Form::Slabs { slabs: 64 }, ..Scene::new() };
    let begun = Progress { current: Some(AT_0), ..Progress::default() };
    assert_eq!(unknown.next(&begun), Work::Bricks { level: 3, bits: 8 });
    assert_eq!(unknown.next(&sent(3, 8)), Work::Bricks { level: 2, bits: 8 });
    let late = Scene { elapsed: Duration::from_secs(1), ..unknown };
    assert_eq!(late.next(&sent(2, 8)), Work::Wait(None));
    let predicting = Scene { predict: Predict::Soon, ..late };
    assert_eq!(predicting.next(&sent(2, 8)), Work::Predict { stepping: false });
    let known = Scene { knows_link: true, predict: Predict::Never, ..predicting };
    assert_eq!(known.next(&sent(2, 8)), Work::Bricks { level: 1, bits: 8 });
    // The next step of many, too.
    let later = Progress { has_picture: true, ..begun };
    let following = |knows_link| Scene { knows_link, stepping: true, ..Scene::new() }.next(&later);
    assert_eq!([false, true].map(following), [2, 0].map(|level| Work::Bricks { level, bits: 8 }));
}
