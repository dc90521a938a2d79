//! Who crops the box sees what there would be if the field ended there: in exact images and through every proxy.

use visapult_volume::{Grid, ValueRange};

use crate::reference::render_reference;
use crate::testing::scenes::{blobs, ripples, soft, split, values_of};
use crate::{
    Camera, Form, Image, KeyView, Quality, ScalarKeyframe, ScalarStack, SegmentKey, SegmentKeyframe, SegmentStack,
    SlabStack, Subject, TransferFunction, Volume, make_scalar_slabs, make_segments, make_slabs, render_exact,
};

const SIZE: [usize; 3] = [49, 33, 41];
/// The longest axis is whole, so that a field of the part is as large in the world; the others end at samples.
const CROP: [[f64; 2]; 3] = [[0.0, 1.0], [8.0 / 32.0, 24.0 / 32.0], [0.0, 30.0 / 40.0]];
const PART: [[usize; 2]; 3] = [[0, 48], [8, 24], [0, 30]];
const EDGE: usize = 90;
const PES: usize = 5;

fn function() -> TransferFunction {
    TransferFunction { range: Some([-1.3, 1.3]), ..soft() }
}

fn whole() -> Vec<f32> {
    values_of(SIZE, |at| ripples(at) - blobs(at))
}

/// The field that is cut where it is cropped.
fn part() -> Volume {
    let values = whole();
    let size = PART.map(|[from, to]| to - from + 1);
    let at = |i: usize| [i % size[0], i / size[0] % size[1], i / (size[0] * size[1])];
    let value = |i: usize| {
        let [x, y, z] = [0, 1, 2].map(|axis| PART[axis][0] + at(i)[axis]);
        values[(z * SIZE[1] + y) * SIZE[0] + x]
    };
    split(&(0..size.into_iter().product()).map(value).collect::<Vec<_>>(), size, PES)
}

/// What a camera sees of the cropped field, and one that looks at the same place of the part.
fn views(turned_deg: f64) -> [Camera; 2] {
    let cropped = Camera { distance: 2.5, crop: CROP, ..Camera::default() }.turned(turned_deg);
    let edges = Grid::of_size(SIZE).world_edges();
    let target = [0, 1, 2].map(|axis| -((CROP[axis][0] + CROP[axis][1]) / 2.0 - 0.5) * edges[axis]);
    [cropped, Camera { crop: Camera::default().crop, target, ..cropped }]
}

fn psnr_db(image: &Image, truth: &Image) -> f64 {
    Quality::of(image, truth).unwrap().foreground_psnr_db
}

#[test]
fn exact_images_are_those_of_a_field_that_ends_there() {
    let (whole, part) = (split(&whole(), SIZE, PES), part());
    for turned_deg in [0.0, 100.0] {
        let [cropped, of_part] = views(turned_deg);
        let exact = |volume: &Volume, camera: &Camera| render_exact(volume, camera, &function(), EDGE, EDGE, 1.0).image;
        let image = exact(&whole, &cropped);
        assert!(psnr_db(&image, &exact(&part, &of_part)) > 70.0);
        assert!(psnr_db(&image, &exact(&whole, &of_part)) < 30.0);
        let reference = render_reference(&whole, &cropped, &function(), EDGE, EDGE, 1.0).image;
        assert!(psnr_db(&image, &reference) > 60.0);
    }
}

#[test]
fn nothing_of_what_is_cut_away_is_seen() {
    let values = whole();
    let near = |axis: usize, at: usize| (PART[axis][0]..=PART[axis][1]).contains(&at);
    let kept = |i: usize| near(0, i % SIZE[0]) && near(1, i / SIZE[0] % SIZE[1]) && near(2, i / (SIZE[0] * SIZE[1]));
    let without = values.iter().enumerate().map(|(i, value)| if kept(i) { *value } else { f32::NAN });
    let [cropped, _] = views(0.0);
    let [one, other] = [values.clone(), without.collect()].map(|values| {
        let volume = split(&values, SIZE, PES);
        let key = KeyView::of_slabs(&volume, cropped, 24, 1.0);
        let slabs = make_slabs(&volume, &key, &function(), 1.0);
        let drawn = SlabStack::from_keyframe(&slabs).unwrap().render(&cropped, EDGE, EDGE);
        [render_exact(&volume, &cropped, &function(), EDGE, EDGE, 1.0).image, drawn]
    });
    for (one, other) in one.iter().zip(&other) {
        assert!(psnr_db(one, other) > 60.0);
    }
}

/// How well `draw` shows the field from a key view and turned: whole, and cropped.
fn assert_as_good(what: &str, draw: impl Fn(&Volume, &Camera, &Camera) -> Image) {
    let volume = split(&whole(), SIZE, PES);
    for turned_deg in [0.0, 20.0] {
        let [cropped, _] = views(0.0);
        let [whole_db, cropped_db] = [Camera { crop: Camera::default().crop, ..cropped }, cropped].map(|key| {
            let camera = key.turned(turned_deg);
            let truth = render_exact(&volume, &camera, &function(), EDGE, EDGE, 0.5).image;
            psnr_db(&draw(&volume, &key, &camera), &truth)
        });
        assert!(
            cropped_db > whole_db.min(40.0) - 3.0,
            "{what} at {turned_deg} degrees: {cropped_db} dB, whole {whole_db}"
        );
    }
}

#[test]
fn every_proxy_shows_a_part_as_well_as_all() {
    assert_as_good("slabs", |volume, key, camera| {
        let keyframe = make_slabs(volume, &KeyView::of_slabs(volume, *key, 48, 1.0), &function(), 1.0);
        SlabStack::from_keyframe(&keyframe).unwrap().render(camera, EDGE, EDGE)
    });
    assert_as_good("scalar slabs", |volume, key, camera| {
        let key = KeyView::of_scalar_slabs(volume, *key, 48, 1.0);
        let keyframe = make_scalar_slabs(volume, &key, ScalarKeyframe::values_kept(volume.range(), None));
        ScalarStack::from_keyframe(&keyframe).unwrap().render(camera, &function(), EDGE, EDGE)
    });
    assert_as_good("segments", |volume, key, camera| {
        let key = SegmentKey::of_picture(volume, *key, SegmentKey::SEGMENTS, 1.0);
        let keyframe = make_segments(volume, &key, &function(), SegmentKeyframe::values_kept(volume.range(), None));
        SegmentStack::from_keyframe(&keyframe).unwrap().render(camera, EDGE, EDGE, &function())
    });
}

#[test]
fn scalar_slabs_and_segments_are_the_same_whatever_is_cropped() {
    let volume = split(&whole(), SIZE, PES);
    let made = |crop: [[f64; 2]; 3]| {
        let camera = Camera { crop, ..Camera::default() };
        let slabs_key = KeyView::of_scalar_slabs(&volume, camera, 32, 1.0);
        let segments_key = SegmentKey::of_picture(&volume, camera, SegmentKey::SEGMENTS, 1.0);
        let range = ValueRange { lo: -1.3, hi: 1.3 };
        let slabs = make_scalar_slabs(&volume, &slabs_key, range);
        let segments = make_segments(&volume, &segments_key, &function(), range);
        (slabs.tiles, segments.tiles)
    };
    assert!(made(CROP) == made(Camera::default().crop));
}

#[test]
fn predictions_are_of_what_is_shown() {
    // One half changes from sample to sample, the other one hardly.
    let rough = |[x, y, z]: [f32; 3]| if x < 0.0 { (ripples([x, y, z]) * 917.3).sin() } else { 0.3 * x };
    let volume = split(&values_of(SIZE, rough), SIZE, 1);
    let of_half = |half: [f64; 2]| {
        let key = Camera { crop: [half, [0.0, 1.0], [0.0, 1.0]], ..Camera::default() };
        let subject = Subject { volume: &volume, pyramids: &[], transfer_function: &function(), key, aspect: 1.0 };
        let forms = [
            Form::Slabs { slabs: 64 },
            Form::ScalarSlabs { slabs: 24 },
            Form::Segments { segments: SegmentKey::SEGMENTS },
        ];
        subject.predict(&[key], &forms).into_iter().map(|prediction| prediction.psnr_db[0]).collect::<Vec<_>>()
    };
    let (rough, smooth) = (of_half([0.0, 0.45]), of_half([0.55, 1.0]));
    assert!(rough.iter().zip(&smooth).all(|(rough, smooth)| rough + 6.0 < *smooth), "{rough:?}, {smooth:?}");
}
