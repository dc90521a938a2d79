//! What is planned in which situation.

use super::*;

const SCALAR: Form = Form::ScalarSlabs { slabs: 128 };
const COLOUR_128: Form = Form::Slabs { slabs: 128 };

fn prediction(form: Form, bytes: u64, psnr_db: [f64; 4]) -> Prediction {
    Prediction { form, bytes, psnr_db: psnr_db.to_vec(), seen: 1.0 }
}

/// Of 256^3 smooth samples.
fn smooth() -> Vec<Prediction> {
    let bricks = |level, bytes, db| prediction(Form::Bricks { level, bits: CodeBits::EIGHT }, bytes, [db; 4]);
    vec![
        bricks(0, 10_000_000, 44.0),
        bricks(1, 1_300_000, 38.0),
        bricks(2, 180_000, 30.0),
        bricks(3, 20_000, 24.0),
        prediction(SCALAR, 2_400_000, [47.0, 47.0, 46.0, 44.0]),
    ]
}

/// Of as many that change from one to the next.
fn rough() -> Vec<Prediction> {
    let scalar = prediction(SCALAR, 2_400_000, [24.0, 24.0, 23.0, 21.0]);
    let colour = prediction(COLOUR_128, 6_000_000, [38.0, 37.0, 35.0, 32.0]);
    smooth().into_iter().filter(|worth| worth.form != SCALAR).chain([scalar, colour]).collect()
}

fn cube(edge: usize) -> Situation {
    of_size([edge; 3])
}

fn of_size(size: [usize; 3]) -> Situation {
    let sizes = (0..).map(|level| size.map(|edge| (edge >> level).max(1)));
    Situation {
        throughput_bytes_per_s: Some(100e6),
        level_sizes: sizes.take_while(|size| size.iter().any(|edge| *edge >= 32)).collect(),
        level_bytes: Vec::new(),
        bytes_per_sample: 0.6,
        predictions: Arc::new([]),
        predicts_bytes: true,
        sent: None,
        sent_bytes: None,
        step_interval: None,
        choice: ProxyChoice::Auto,
    }
}

fn with(predictions: Vec<Prediction>, bytes_per_s: f64) -> Situation {
    Situation { throughput_bytes_per_s: Some(bytes_per_s), predictions: predictions.into(), ..cube(256) }
}

#[test]
fn a_small_volume_on_a_fast_link_is_sent_whole_and_nothing_needs_to_be_predicted() {
    let decision = plan(&cube(256));
    assert_eq!((decision.form, decision.plan.bits), (Form::Bricks { level: 0, bits: CodeBits::EIGHT }, 16));
    assert!(!decision.wants_predictions);
}

#[test]
fn what_is_best_within_the_budget_is_sent_and_the_reason_says_how_good_it_is() {
    let decision = plan(&with(smooth(), 2e6));
    assert_eq!((decision.form, decision.plan.proxy), (SCALAR, ProxyKind::Slabs));
    assert!(decision.plan.level >= 1);
    assert!(decision.plan.reason.contains("47/47/46/44 dB at 0/16/30/45 degrees"), "{}", decision.plan.reason);
    assert!(decision.plan.reason.contains("bricks of level 1 (38 dB"), "{}", decision.plan.reason);
}

#[test]
fn data_that_change_from_sample_to_sample_are_not_sent_as_scalar_slabs() {
    assert_eq!(plan(&with(rough(), 2.5e6)).form, Form::Bricks { level: 1, bits: CodeBits::EIGHT });
    let is_coarse = |form: Form| matches!(form, Form::Bricks { level: 1.., .. });
    let worsened = |p: Prediction| if is_coarse(p.form) { prediction(p.form, p.bytes, [20.0; 4]) } else { p };
    let worse: Vec<Prediction> = rough().into_iter().map(worsened).collect();
    assert_eq!(plan(&with(worse, 2.5e6)).form, COLOUR_128);
}

#[test]
fn data_that_change_from_sample_to_sample_are_sent_with_fewer_bits() {
    let coarse =
        |bits: usize, bytes, db| prediction(Form::Bricks { level: 0, bits: CodeBits::COARSE[bits] }, bytes, [db; 4]);
    let few = [coarse(0, 7_000_000, 43.0), coarse(1, 5_000_000, 42.0), coarse(2, 3_000_000, 35.0)];
    let predictions: Vec<Prediction> = rough().into_iter().chain(few).collect();
    let planned = |bytes_per_s| plan(&with(predictions.clone(), bytes_per_s)).plan;
    let told = |plan: Plan| (plan.proxy, plan.level, plan.bits, plan.bytes);
    assert_eq!(told(planned(1.7e6)), (ProxyKind::Bricks, 0, 5, 5_000_000));
    assert_eq!(told(planned(2.4e6)), (ProxyKind::Bricks, 0, 6, 7_000_000));
    assert_eq!(planned(1e8).bits, 16);
    assert!(planned(1.7e6).reason.contains("bricks of level 0 with 5 bits"), "{}", planned(1.7e6).reason);
    // What was sent of another level tells how far predictions are off.
    let sent = vec![None, Some(2_600_000)];
    let larger = Situation { level_bytes: sent, ..with(predictions, 3.4e6) };
    assert_eq!(told(plan(&larger).plan), (ProxyKind::Bricks, 0, 5, 10_000_000));
}

#[test]
fn before_anything_is_predicted_bricks_are_sent_and_predictions_asked_for() {
    let decision = plan(&with(Vec::new(), 0.7e6));
    assert_eq!(decision.form, Form::Bricks { level: 1, bits: CodeBits::EIGHT });
    assert!(decision.wants_predictions);
}

#[test]
fn a_hopeless_link_still_gets_the_coarsest_bricks() {
    let decision = plan(&with(smooth(), 1e3));
    assert_eq!((decision.form, decision.plan.bits), (Form::Bricks { level: 3, bits: CodeBits::EIGHT }, 8));
}

#[test]
fn steps_that_follow_each_other_leave_less_time_and_prefer_bricks() {
    let live = Situation { step_interval: Some(Duration::from_secs(1)), ..with(smooth(), 4e6) };
    assert_eq!(plan(&live).form, Form::Bricks { level: 1, bits: CodeBits::EIGHT });
    let quick = plan(&Situation { step_interval: Some(Duration::from_millis(100)), ..live });
    assert_eq!((quick.form, quick.plan.bits), (Form::Bricks { level: 2, bits: CodeBits::EIGHT }, 8));
}

#[test]
fn a_link_that_wavers_does_not_change_the_keyframe() {
    let other = prediction(Form::Segments { segments: 64 }, 2_300_000, [47.0; 4]);
    let both: Vec<Prediction> = smooth().into_iter().chain([other]).collect();
    assert_eq!(plan(&with(both.clone(), 2e6)).form, Form::Segments { segments: 64 });
    let sent = Situation { sent: Some(SCALAR), sent_bytes: Some(2_400_000), ..with(both, 2e6) };
    assert_eq!(plan(&sent).form, SCALAR);
    assert_eq!(
        plan(&Situation { throughput_bytes_per_s: Some(0.3e6), ..sent }).form,
        Form::Bricks { level: 2, bits: CodeBits::EIGHT }
    );
}

#[test]
fn slabs_of_colour_that_were_sent_give_way_to_what_shows_any_transfer_function() {
    let colour = prediction(COLOUR_128, 2_000_000, [45.0, 43.0, 39.0, 34.0]);
    let both: Vec<Prediction> = smooth().into_iter().chain([colour]).collect();
    let sent = Situation { sent: Some(COLOUR_128), sent_bytes: Some(2_000_000), ..with(both, 2e6) };
    assert_eq!(plan(&sent).form, SCALAR);
}

#[test]
fn bricks_that_were_sent_count_for_more_than_what_was_predicted() {
    let whole = |situation: &Situation| plan(situation).form == Form::Bricks { level: 0, bits: CodeBits::EIGHT };
    let quick = with(smooth(), 4e6);
    assert!(whole(&quick));
    let measured = |level: usize, bytes| {
        let mut level_bytes = vec![None; 4];
        level_bytes[level] = Some(bytes);
        Situation { level_bytes, ..quick.clone() }
    };
    assert!(!whole(&measured(0, 15_000_000)));
    // Whatever misjudges one level misjudges the next.
    assert!(!whole(&measured(3, 30_000)));
    assert!(whole(&measured(3, 21_000)));
    // What was predicted of another step.
    let later = Situation { predicts_bytes: false, bytes_per_sample: 0.9, ..quick.clone() };
    assert!(!whole(&later) && plan(&later).wants_predictions);
}

#[test]
fn where_no_ray_sees_anything_the_finest_bricks_that_fit_are_sent() {
    let unseen = smooth().into_iter().map(|p| Prediction { psnr_db: Vec::new(), ..p }).collect();
    let decision = plan(&with(unseen, 2e6));
    assert_eq!(decision.form, Form::Bricks { level: 1, bits: CodeBits::EIGHT });
    assert!(decision.plan.reason.starts_with("bricks of level 1 fit: "), "{}", decision.plan.reason);
}

#[test]
fn where_nothing_fits_bricks_are_sent_however_small_a_keyframe_is() {
    let tiny = prediction(SCALAR, 10_000, [47.0; 4]);
    let with_tiny = smooth().into_iter().filter(|worth| worth.form != SCALAR).chain([tiny]).collect();
    assert_eq!(plan(&with(with_tiny, 1e3)).form, Form::Bricks { level: 3, bits: CodeBits::EIGHT });
}

#[test]
fn the_user_has_the_last_word() {
    for predictions in [rough(), Vec::new(), smooth().into_iter().filter(|p| p.form != SCALAR).collect()] {
        let slabs = plan(&Situation { choice: ProxyChoice::Slabs, ..with(predictions, 1e3) });
        assert_eq!(slabs.plan.proxy, ProxyKind::Slabs);
    }
    let bricks = plan(&Situation { choice: ProxyChoice::Bricks, ..with(smooth(), 1e6) });
    assert_eq!(bricks.plan.proxy, ProxyKind::Bricks);
    let segments = Situation { choice: ProxyChoice::Segments, ..cube(128) };
    assert_eq!(plan(&segments).plan.proxy, ProxyKind::Segments);
}

#[test]
fn who_asks_for_bricks_gets_the_finest_that_can_be_held_in_time_whatever_the_link() {
    let chosen = |edge| Situation { choice: ProxyChoice::Bricks, throughput_bytes_per_s: Some(1e3), ..cube(edge) };
    let decision = plan(&chosen(256));
    assert_eq!(
        (decision.form, decision.plan.level, decision.plan.bits),
        (Form::Bricks { level: 0, bits: CodeBits::EIGHT }, 0, 8)
    );
    assert!(decision.plan.reason.contains("which take 10066 s"), "{}", decision.plan.reason);
    assert_eq!(plan(&chosen(1024)).form, Form::Bricks { level: 1, bits: CodeBits::EIGHT });
    // While steps follow one another there is no time.
    let live = Situation { step_interval: Some(Duration::from_secs(1)), ..chosen(256) };
    assert_eq!(plan(&live).form, Form::Bricks { level: 3, bits: CodeBits::EIGHT });
}

#[test]
fn of_a_long_grid_those_levels_are_sent_that_a_page_can_hold() {
    let sent = |size| match plan(&of_size(size)).form {
        Form::Bricks { level, .. } => Some(level),
        _ => None,
    };
    assert_eq!([[2048, 8, 8], [4000, 4000, 8], [100_000, 64, 64]].map(sent), [Some(0), Some(1), Some(6)]);
}

#[test]
fn a_keyframe_is_good_for_as_far_as_its_quality_holds() {
    let tearing = prediction(COLOUR_128, 1, [45.0, 37.0, 33.0, 28.0]);
    assert!((turn_that_costs(&tearing, 4.0) - 8.0).abs() < 1e-9);
    let noisy = prediction(SCALAR, 1, [40.0, 41.0, 39.0, 31.0]);
    assert!((turn_that_costs(&noisy, 4.0) - 33.75).abs() < 1e-9);
    assert_eq!(turn_that_costs(&prediction(SCALAR, 1, [60.0, 59.0, 56.0, 52.0]), 1.0), 45.0);
}

#[test]
fn a_slow_link_is_told_with_its_digits() {
    let told = |rate| plan(&with(smooth(), rate)).plan.reason;
    assert!(told(36_000.0).ends_with("288 kbit/s measured"), "{}", told(36_000.0));
    assert!(told(300_000.0).ends_with("2.4 Mbit/s measured"));
}
