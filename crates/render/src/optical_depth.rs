//! How well proxies keep the optical depth along the rays of their key view: fields x transfer functions x numbers of PEs.

use visapult_volume::{Decomposition, Grid};

use crate::interpolation::interpolate;
use crate::testing::scenes::{FIELDS, values_of};
use crate::testing::{blocks_of, soft};
use crate::transfer_function::REFERENCE_LENGTH;
use crate::world_box::WorldBox;
use crate::{
    Camera, CodeBits, Image, KeyView, LevelCoding, Pyramid, ScalarKeyframe, ScalarStack, SegmentKey, SegmentKeyframe,
    SegmentStack, SlabStack, TransferFunction, Volume, bricks_keep, encode_level, make_scalar_slabs, make_segments,
    make_slabs, render_exact, volume_of_bricks,
};

const EDGE: usize = 48;
const SIZE: usize = 64;
/// Those of [`FIELDS`] that hardly change from one sample to the next.
const SMOOTH: usize = 2;
/// Rays through more are as good as opaque.
const MOST_DEPTH: f64 = 5.0;

/// Mean and largest error of optical depths, of those above 1 as a share.
type Errors = [f64; 2];

/// What a proxy may be off by.
struct Bars {
    /// Smooth fields in soft colours.
    smooth: Errors,
    /// Noise in soft colours.
    noise: Errors,
    /// Any through thin shells.
    shells: Errors,
}

fn volume_of(values: &[f32], pes: usize) -> Volume {
    let split = Decomposition::new([EDGE; 3], pes, 4).unwrap();
    Volume::new(Grid::of_size([EDGE; 3]), split, blocks_of(values, [EDGE; 3], pes, 4)).unwrap()
}

fn ramp() -> TransferFunction {
    TransferFunction { range: Some([-1.2, 1.2]), points: vec![[0.2, 0.2, 0.2, 0.9, 0.0], [1.0, 0.9, 0.4, 0.1, 0.06]] }
}

fn shells() -> TransferFunction {
    let shell = |s: f32, a: f32| [(s - 0.03, 0.0), (s, a), (s + 0.03, 0.0)].map(|(s, a)| [s, 0.9, 0.4, 0.1, a]);
    TransferFunction { range: Some([-1.2, 1.2]), points: [shell(0.35, 0.3), shell(0.7, 0.5)].concat() }
}

fn key(slabs: u16) -> KeyView {
    KeyView { width: SIZE as u16, height: SIZE as u16, slabs, ..KeyView::new(Camera::default()) }
}

/// The optical depth itself along the ray through each pixel of the key view.
fn depths_of(volume: &Volume, function: &TransferFunction) -> Vec<f64> {
    let (view, placement, bounds) =
        (Camera::default().view(SIZE, SIZE), volume.placement([1.0; 3]), volume.grid().bounds());
    let [lo, hi] = function.range.unwrap();
    let density = |value: f32| -(1.0 - f64::from(function.evaluate((value - lo) / (hi - lo))[3])).ln();
    let along = |i: usize| {
        let direction = view.direction((i % SIZE) as f64 + 0.5, (i / SIZE) as f64 + 0.5);
        let Some((enter, leave)) = WorldBox::centred(placement.edges).passed(view.eye, direction) else { return 0.0 };
        let count = ((leave - enter) / placement.step * 16.0).ceil();
        let dt = (leave - enter) / count;
        let value = |k: usize| {
            let t = enter + (k as f64 + 0.5) * dt;
            let sample = |a: usize| (view.eye[a] + t * direction[a]) * placement.scale[a] + placement.offset[a];
            let at = [0, 1, 2].map(|a| sample(a).clamp(0.0, (EDGE - 1) as f64));
            interpolate(&volume.blocks()[0], &bounds, at)
        };
        (0..count as usize).map(|k| density(value(k)) * dt / REFERENCE_LENGTH).sum()
    };
    (0..SIZE * SIZE).map(along).collect()
}

fn depths_in(drawn: &Image) -> Vec<f64> {
    drawn.rgba.iter().map(|pixel| -(1.0 - f64::from(pixel[3])).ln()).collect()
}

/// Holds what `shown` draws of every field through every transfer function, split over numbers of PEs, against the field itself.
fn assert_kept(bars: &Bars, pes: &[usize], shown: impl Fn(&Volume, &TransferFunction) -> Vec<f64>) {
    for (number, field) in FIELDS.into_iter().enumerate() {
        let values = values_of([EDGE; 3], field);
        for (name, function) in [("soft", soft()), ("ramp", ramp()), ("shells", shells())] {
            let exact = depths_of(&volume_of(&values, 1), &function);
            let most = match name {
                "shells" => bars.shells,
                _ if number < SMOOTH => bars.smooth,
                _ => bars.noise,
            };
            for &pes in pes {
                let shown = shown(&volume_of(&values, pes), &function);
                let counted = shown.iter().zip(&exact).filter(|(_, exact)| (1e-9..MOST_DEPTH).contains(*exact));
                let errors: Vec<f64> = counted.map(|(shown, exact)| (shown - exact).abs() / exact.max(1.0)).collect();
                assert!(errors.len() > 200);
                let mean = errors.iter().sum::<f64>() / errors.len() as f64;
                let largest = errors.iter().copied().fold(0.0, f64::max);
                let told = format!("field {number}, {name}, {pes} PEs: {mean:.1e}, at most {largest:.1e}");
                assert!(mean <= most[0] && largest <= most[1], "{told}");
            }
        }
    }
}

/// What proxies are held against in pictures.
#[test]
fn exact_images_keep_the_optical_depth_as_well_as_their_samples_do() {
    let steps = [
        (1.0, Bars { smooth: [2.5e-2, 1.5e-1], noise: [3e-2, 1.8e-1], shells: [3.5e-1, 2.8] }),
        (0.5, Bars { smooth: [1.3e-2, 7.5e-2], noise: [8e-3, 5.5e-2], shells: [1.7e-1, 1.6] }),
    ];
    for (step, bars) in steps {
        assert_kept(&bars, &[1], |volume, function| {
            depths_in(&render_exact(volume, &Camera::default(), function, SIZE, SIZE, step).image)
        });
    }
}

#[test]
fn slabs_of_colour_keep_the_optical_depth_along_key_rays() {
    let bars = Bars { smooth: [3e-4, 1e-3], noise: [1.3e-3, 7e-3], shells: [6e-2, 4e-1] };
    assert_kept(&bars, &[1, 2, 5, 8], |volume, function| {
        let keyframe = make_slabs(volume, &key(64), function, 0.25);
        depths_in(&SlabStack::from_keyframe(&keyframe).unwrap().render(&Camera::default(), SIZE, SIZE))
    });
}

#[test]
fn scalar_slabs_keep_the_optical_depth_along_key_rays() {
    let bars = Bars { smooth: [5e-4, 3.3e-3], noise: [2.5e-2, 1.1e-1], shells: [1.8e-1, 9e-1] };
    assert_kept(&bars, &[1, 8], |volume, function| {
        let keyframe =
            make_scalar_slabs(volume, &key(128), ScalarKeyframe::values_kept(volume.range(), function.range));
        depths_in(&ScalarStack::from_keyframe(&keyframe).unwrap().render(&Camera::default(), function, SIZE, SIZE))
    });
}

#[test]
fn segments_keep_the_optical_depth_along_key_rays() {
    let bars = Bars { smooth: [1.3e-3, 1.2e-2], noise: [7.5e-2, 2.5e-1], shells: [3.3e-1, 1.1] };
    assert_kept(&bars, &[1, 8], |volume, function| {
        let (camera, [width, height]) = (Camera::default(), [SIZE as u16; 2]);
        let key = SegmentKey { camera, width, height, segments: 64 };
        let keyframe =
            make_segments(volume, &key, function, SegmentKeyframe::values_kept(volume.range(), function.range));
        depths_in(&SegmentStack::from_keyframe(&keyframe).unwrap().render(&camera, SIZE, SIZE, function))
    });
}

#[test]
fn bricks_keep_the_optical_depth_along_any_ray() {
    let of_bits = [
        (CodeBits::EIGHT, Bars { smooth: [1e-3, 9e-3], noise: [9e-4, 8e-3], shells: [1.1e-2, 1.2e-1] }),
        (CodeBits::SIXTEEN, Bars { smooth: [1e-5, 1e-4], noise: [1e-5, 1e-4], shells: [1e-4, 1e-3] }),
    ];
    for (bits, bars) in of_bits {
        assert_kept(&bars, &[1, 5, 8], |volume, function| {
            let encode = |block| encode_level(block, &Pyramid::of(block, 1), LevelCoding::of_all(0, bits));
            let bricks: Vec<_> = volume.blocks().iter().flat_map(encode).collect();
            depths_of(&volume_of_bricks(volume.grid(), 0, bits, &bricks).unwrap(), function)
        });
    }
}

/// From one sample to the next the field changes by many times the range that is shown.
#[test]
fn bricks_of_sixteen_bits_keep_the_optical_depth_of_what_is_far_narrower_than_their_values() {
    let volume = volume_of(&values_of([EDGE; 3], FIELDS[0]), 1);
    for (width, most) in [(0.1, 1e-5), (0.03, 1.5e-2), (0.01, 2e-2)] {
        let function = TransferFunction { range: Some([0.4, 0.4 + width]), ..ramp() };
        let kept = bricks_keep(volume.range(), function.range, None, CodeBits::SIXTEEN);
        assert_eq!(kept.is_some(), width < 0.08, "{kept:?}");
        let coding = LevelCoding { level: 0, bits: CodeBits::SIXTEEN, kept };
        let bricks = encode_level(&volume.blocks()[0], &Pyramid::of(&volume.blocks()[0], 1), coding);
        let shown = depths_of(&volume_of_bricks(volume.grid(), 0, CodeBits::SIXTEEN, &bricks).unwrap(), &function);
        let exact = depths_of(&volume, &function);
        let off = shown.iter().zip(&exact).map(|(shown, exact)| (shown - exact).abs() / exact.max(1.0));
        let mean = off.sum::<f64>() / exact.len() as f64;
        assert!(mean < most, "{width}: {mean:.1e}");
    }
}
