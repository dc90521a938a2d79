//! Predictions against what proxies that are made come to.

use visapult_volume::Grid;

use super::*;
use crate::testing::scenes::values_of;
use crate::testing::{Random, soft, wave, wave_of};
use crate::{
    CodeBits, Image, LevelCoding, Quality, ScalarKeyframe, ScalarStack, SegmentKey, SegmentKeyframe, SegmentStack,
    SlabStack, encode_level, make_scalar_slabs, make_segments, make_slabs, render_exact, volume_of_bricks,
};

const EDGE: usize = 64;
/// No divisor of the rays of a layer: pixels lie between texels.
const SIZE: usize = 150;
const TURNS_DEG: [f64; 3] = [16.0, 30.0, 45.0];
/// Most that a prediction may be off.
const TOLERANCE_DB: f64 = 3.0;
/// The same where few rays, along outlines, carry the error.
const OUTLINES_TOLERANCE_DB: f64 = 4.0;
/// What errs less looks exact.
const EXACT_DB: f64 = 48.0;

/// Waves of all directions, of lengths down to 4.5 samples.
fn turbulence() -> Vec<f32> {
    let mut random = Random::new(7);
    let waves: Vec<[f32; 4]> = (0..40)
        .map(|_| {
            let direction: [f32; 3] = std::array::from_fn(|_| random.unit() - 0.5);
            let length = direction.iter().map(|d| d * d).sum::<f32>().sqrt();
            let number = 0.3 + 1.1 * random.unit();
            [
                number * direction[0] / length,
                number * direction[1] / length,
                number * direction[2] / length,
                random.unit(),
            ]
        })
        .collect();
    let value = |[x, y, z]: [f32; 3]| {
        let wave = |[a, b, c, phase]: &[f32; 4]| (a * x + b * y + c * z + 6.3 * phase).sin();
        (waves.iter().map(wave).sum::<f32>() / 9.0).clamp(-1.0, 1.0)
    };
    let at = |i: usize| [i % EDGE, i / EDGE % EDGE, i / (EDGE * EDGE)].map(|n| n as f32);
    (0..EDGE.pow(3)).map(|i| value(at(i))).collect()
}

/// Balls of dense matter in thin one, and noise in both, as a CT has them.
fn rough() -> Vec<f32> {
    let mut random = Random::new(8);
    let balls: Vec<[f32; 4]> =
        (0..12).map(|_| [random.unit(), random.unit(), random.unit(), 0.06 + 0.12 * random.unit()]).collect();
    let at = |i: usize| [i % EDGE, i / EDGE % EDGE, i / (EDGE * EDGE)].map(|n| n as f32 / (EDGE - 1) as f32);
    let mut value = |[x, y, z]: [f32; 3]| {
        let inside = |[a, b, c, r]: &[f32; 4]| (x - a).powi(2) + (y - b).powi(2) + (z - c).powi(2) < r * r;
        let base = if balls.iter().any(inside) { 0.6 } else { -0.9 };
        base + 0.3 * (random.unit() - 0.5)
    };
    (0..EDGE.pow(3)).map(|i| value(at(i))).collect()
}

/// A few smooth bumps, and ripples.
fn bumps() -> Vec<f32> {
    let mut random = Random::new(9);
    let bumps: Vec<[f32; 5]> = (0..6)
        .map(|_| {
            let [x, y, z] = std::array::from_fn(|_| 0.8 * (random.unit() - 0.5));
            [x, y, z, 0.1 + 0.15 * random.unit(), 0.4 + 0.6 * random.unit()]
        })
        .collect();
    values_of([EDGE; 3], |[x, y, z]| {
        let bump = |[a, b, c, width, height]: &[f32; 5]| {
            height * (-((x - a).powi(2) + (y - b).powi(2) + (z - c).powi(2)) / (2.0 * width * width)).exp()
        };
        let ripples = f32::sin(13.0 * x + 7.0 * y) * f32::cos(11.0 * z);
        bumps.iter().map(bump).sum::<f32>() + 0.05 * ripples
    })
}

/// A surface behind which all is nearly opaque: what errs is at its outlines.
fn edge() -> TransferFunction {
    let points = vec![
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [0.35, 1.0, 0.7, 0.5, 0.0],
        [0.37, 1.0, 0.7, 0.5, 0.9],
        [1.0, 1.0, 1.0, 1.0, 1.0],
    ];
    TransferFunction { range: None, points }
}

/// So opaque everywhere that the box's faces hide what is inside: what errs is at the box's outlines.
fn filled() -> TransferFunction {
    TransferFunction { range: None, points: vec![[0.0, 1.0, 1.0, 1.0, 0.5], [1.0, 1.0, 0.0, 1.0, 0.5]] }
}

/// Two nearly opaque shells.
fn shells() -> TransferFunction {
    let shell = |s: f32, [r, g, b]: [f32; 3]| [[s - 0.08, r, g, b, 0.0], [s, r, g, b, 0.9], [s + 0.08, r, g, b, 0.0]];
    let points = [shell(0.3, [0.2, 0.5, 0.9]), shell(0.7, [0.9, 0.6, 0.2])].concat();
    TransferFunction { range: Some([-1.0, 1.0]), points }
}

/// What a proxy shows from a camera.
type Drawing<'a> = Box<dyn Fn(&Camera) -> Image + 'a>;

fn subject_of<'a>(volume: &'a Volume, pyramids: &'a [Pyramid], transfer_function: &'a TransferFunction) -> Subject<'a> {
    Subject { volume, pyramids, transfer_function, key: Camera::default(), aspect: 1.0 }
}

struct Case {
    name: &'static str,
    volume: Volume,
    pyramids: Vec<Pyramid>,
    function: TransferFunction,
}

impl Case {
    fn new(name: &'static str, values: Vec<f32>, function: TransferFunction) -> Self {
        let volume = Volume::whole(Grid::of_size([EDGE; 3]), values).unwrap();
        let pyramids = volume.blocks().iter().map(|block| Pyramid::of(block, 3)).collect();
        Self { name, volume, pyramids, function }
    }

    fn subject(&self) -> Subject<'_> {
        subject_of(&self.volume, &self.pyramids, &self.function)
    }

    /// Bytes of a proxy, and what it shows from a camera.
    fn made(&self, subject: &Subject<'_>, form: Form) -> (usize, Drawing<'_>) {
        let (volume, function) = (&self.volume, &self.function);
        let key = subject.key_view(form);
        match form {
            Form::Bricks { level, bits } => {
                let bricks = encode_level(&volume.blocks()[0], &self.pyramids[0], LevelCoding::of_all(level, bits));
                let seen = volume_of_bricks(volume.grid(), level, bits, &bricks).unwrap();
                let draw = move |camera: &Camera| render_exact(&seen, camera, function, SIZE, SIZE, 1.0).image;
                (bricks.iter().map(|brick| brick.wire_bytes()).sum(), Box::new(draw))
            }
            Form::Slabs { .. } => {
                let keyframe = make_slabs(volume, &key.unwrap(), function, 1.0);
                let stack = SlabStack::from_keyframe(&keyframe).unwrap();
                (keyframe.wire_bytes(), Box::new(move |camera| stack.render(camera, SIZE, SIZE)))
            }
            Form::Segments { segments } => {
                let key = SegmentKey::of_picture(volume, subject.key, segments, subject.aspect);
                let keyframe =
                    make_segments(volume, &key, function, SegmentKeyframe::values_kept(volume.range(), function.range));
                let stack = SegmentStack::from_keyframe(&keyframe).unwrap();
                (keyframe.wire_bytes(), Box::new(move |camera| stack.render(camera, SIZE, SIZE, function)))
            }
            Form::ScalarSlabs { .. } => {
                let keyframe = make_scalar_slabs(
                    volume,
                    &key.unwrap(),
                    ScalarKeyframe::values_kept(volume.range(), function.range),
                );
                let stack = ScalarStack::from_keyframe(&keyframe).unwrap();
                (keyframe.wire_bytes(), Box::new(move |camera| stack.render(camera, function, SIZE, SIZE)))
            }
        }
    }

    /// Bytes, and PSNR by view, of proxies that are made.
    fn measured(&self, subject: &Subject<'_>, views: &[Camera], forms: &[Form]) -> Vec<(usize, Vec<f64>)> {
        let exact = |camera: &Camera| render_exact(&self.volume, camera, &self.function, SIZE, SIZE, TRUE_STEP).image;
        let truth: Vec<Image> = views.iter().map(exact).collect();
        let measure = |form: &Form| {
            let (bytes, draw) = self.made(subject, *form);
            let psnr = |(view, truth)| Quality::of(&draw(view), truth).unwrap().foreground_psnr_db;
            (bytes, views.iter().zip(&truth).map(psnr).collect())
        };
        forms.iter().map(measure).collect()
    }
}

fn cases() -> Vec<Case> {
    vec![
        Case::new("waves, soft", wave(EDGE), soft()),
        Case::new("waves, thin shells", wave(EDGE), shells()),
        Case::new("turbulence, soft", turbulence(), soft()),
        Case::new("turbulence, thin shells", turbulence(), shells()),
        Case::new("rough", rough(), soft()),
    ]
}

fn views() -> [Camera; 3] {
    TURNS_DEG.map(|turn| Camera::default().turned(turn))
}

fn forms() -> Vec<Form> {
    let bricks = (0..3).map(|level| Form::Bricks { level, bits: CodeBits::EIGHT });
    let bricks = bricks.chain(CodeBits::COARSE.map(|bits| Form::Bricks { level: 0, bits }));
    bricks
        .chain([16, 24, 48].map(|slabs| Form::Slabs { slabs }))
        .chain([48, 24, 16, 20].map(|slabs| Form::ScalarSlabs { slabs }))
        .chain([Form::Segments { segments: 64 }])
        .collect()
}

/// Predictions against proxies that are made.
fn hold(case: &Case, subject: &Subject<'_>, views: &[Camera], forms: &[Form]) {
    for (predicted, bytes) in hold_quality(case, subject, views, forms, TOLERANCE_DB) {
        let ratio = predicted.bytes as f64 / bytes as f64;
        let told = format!("{} {:?}: {} bytes of {bytes}", case.name, predicted.form, predicted.bytes);
        assert!((0.75..1.33).contains(&ratio), "{told}");
    }
}

/// The same of their quality alone; the bytes of what is made come back.
fn hold_quality(
    case: &Case,
    subject: &Subject<'_>,
    views: &[Camera],
    forms: &[Form],
    tolerance_db: f64,
) -> Vec<(Prediction, usize)> {
    let hold = |(prediction, (bytes, psnr_db)): (Prediction, (usize, Vec<f64>))| {
        let Prediction { form, psnr_db: of_model, .. } = &prediction;
        assert_eq!(of_model.len(), views.len());
        for (view, (predicted, measured)) in views.iter().zip(of_model.iter().zip(&psnr_db)) {
            let off = predicted.min(EXACT_DB) - measured.min(EXACT_DB);
            let told = format!("{} {form:?} at {}: {predicted:.1} dB of {measured:.1}", case.name, view.azimuth_deg);
            assert!(off.abs() <= tolerance_db, "{told}");
        }
        (prediction, bytes)
    };
    subject.predict(views, forms).into_iter().zip(case.measured(subject, views, forms)).map(hold).collect()
}

#[test]
fn rays_that_met_no_error_do_not_show_that_there_is_none() {
    let of = |errors: &[f64]| {
        let mut sum = Sum::default();
        errors.iter().for_each(|error| sum.add(*error, 1.0));
        sum
    };
    assert!(!of(&[0.0; BATCH]).is_known() && !of(&[0.1; BATCH]).is_known());
    assert!(of(&[10.0; BATCH]).is_known());
}

#[test]
fn quality_and_bytes_are_those_of_proxies_that_are_made() {
    for case in cases() {
        hold(&case, &case.subject(), &views(), &forms());
    }
}

#[test]
fn errors_that_few_rays_carry_are_met() {
    let filled = Case::new("bumps, filled", bumps(), filled());
    hold_quality(&filled, &filled.subject(), &views(), &forms(), OUTLINES_TOLERANCE_DB);
    // Where in a box's range its codes lie decides what few of them make of one edge: that is not predicted so well.
    let is_fine = |form: &Form| !matches!(form, Form::Bricks { bits, .. } if *bits != CodeBits::EIGHT);
    let fine: Vec<Form> = forms().into_iter().filter(is_fine).collect();
    let edge = Case::new("bumps, an edge", bumps(), edge());
    hold_quality(&edge, &edge.subject(), &views(), &fine, OUTLINES_TOLERANCE_DB);
}

#[test]
fn proxies_are_ranked_as_they_are_when_made() {
    for case in cases() {
        let predicted = case.subject().predict(&views(), &forms());
        let measured = case.measured(&case.subject(), &views(), &forms());
        let pairs = (0..predicted.len()).flat_map(|a| (0..predicted.len()).map(move |b| (a, b)));
        for (a, b) in pairs {
            for view in 0..TURNS_DEG.len() {
                let better = measured[a].1[view].min(EXACT_DB) - measured[b].1[view].min(EXACT_DB) > TOLERANCE_DB;
                let told = format!("{} {:?} and {:?}", case.name, predicted[a].form, predicted[b].form);
                assert!(!better || predicted[a].psnr_db[view] > predicted[b].psnr_db[view], "{told}");
            }
        }
    }
}

#[test]
fn any_number_of_pes_predicts_alike() {
    let function = shells();
    let predicted = |pes| {
        let volume = wave_of(40, pes);
        let pyramids: Vec<Pyramid> = volume.blocks().iter().map(|block| Pyramid::of(block, 2)).collect();
        let forms = [
            Form::Bricks { level: 1, bits: CodeBits::EIGHT },
            Form::Slabs { slabs: 32 },
            Form::ScalarSlabs { slabs: 32 },
        ];
        subject_of(&volume, &pyramids, &function).predict(&views(), &forms)
    };
    let (one, eight) = (predicted(1), predicted(8));
    for (one, eight) in one.iter().zip(&eight) {
        let off = one.psnr_db.iter().zip(&eight.psnr_db).map(|(a, b)| (a - b).abs());
        assert!(off.fold(0.0, f64::max) < TOLERANCE_DB, "{one:?} {eight:?}");
    }
}

#[test]
fn keyframes_of_a_close_view_are_predicted_as_they_are_made_for_it() {
    let case = Case::new("waves, near", wave(EDGE), soft());
    let key = Camera { distance: 1.2, fov_deg: 68.0, ..Camera::default() };
    let forms = [Form::Slabs { slabs: 48 }, Form::ScalarSlabs { slabs: 48 }, Form::Segments { segments: 64 }];
    hold(&case, &Subject { key, ..case.subject() }, &[key.turned(8.0)], &forms);
}

#[test]
fn nothing_is_said_about_what_no_ray_sees() {
    let clear = TransferFunction { range: None, points: vec![[0.0; 5]] };
    let cases = [("clear", wave(EDGE), clear), ("missing", vec![f32::NAN; EDGE.pow(3)], soft())];
    for (name, values, function) in cases {
        for predicted in Case::new(name, values, function).subject().predict(&views(), &forms()) {
            assert!(predicted.psnr_db.is_empty(), "{name} {predicted:?}");
        }
    }
}

#[test]
fn what_is_seen_from_afar_is_met_by_rays() {
    let case = Case::new("far", wave(EDGE), soft());
    let key = Camera { distance: 200.0, ..Camera::default() };
    let predicted = Subject { key, ..case.subject() }.predict(&[key], &forms());
    assert!(predicted.iter().all(|predicted| predicted.psnr_db.len() == 1));
}

#[test]
fn parts_count_by_what_is_seen_of_them_and_their_bytes_by_their_samples() {
    let part = |bytes, db: &[f64], seen| Prediction { form: forms()[0], bytes, psnr_db: db.to_vec(), seen };
    let joined = Prediction::of_parts(&[
        (0.25, part(800, &[30.0, 40.0], 0.5)),
        (0.75, part(400, &[40.0, 40.0], 0.25)),
        (0.0, part(9, &[], 0.0)),
    ]);
    let joined = joined.unwrap();
    assert_eq!((joined.form, joined.bytes, joined.seen), (forms()[0], 500, 0.75));
    let expected = -10.0 * ((2.0 * 1e-3 + 1e-4) / 3.0_f64).log10();
    assert!((joined.psnr_db[0] - expected).abs() < 1e-9 && (joined.psnr_db[1] - 40.0).abs() < 1e-9, "{joined:?}");
    let unseen = Prediction::of_parts(&[(1.0, part(7, &[], 0.0))]).unwrap();
    assert!(unseen.psnr_db.is_empty());
    assert_eq!(Prediction::of_parts(&[]), None);
}
