//! Who sees an axis stretched sees what there would be if its samples lay so far apart: in exact images and through every proxy.

use visapult_volume::{Decomposition, Grid};

use crate::reference::render_reference;
use crate::testing::scenes::{blocks_of, ripples, soft, values_of};
use crate::{
    Camera, CodeBits, Form, Image, KeyView, LevelCoding, Pyramid, ScalarKeyframe, ScalarStack, SegmentKey,
    SegmentKeyframe, SegmentStack, SlabStack, Subject, Volume, encode_level, make_scalar_slabs, make_segments,
    make_slabs, render_exact, volume_of_bricks,
};

const SIZE: [usize; 3] = [40, 33, 9];
const STRETCH: [f64; 3] = [1.0, 0.5, 4.0];
/// Pixels across and down.
const EDGE: usize = 60;
const ASPECT: f64 = 1.0;
const PES: usize = 4;

/// A layer in which values change along every axis, its samples so far apart.
fn layer(spacing: [f64; 3]) -> Volume {
    let values = values_of(SIZE, ripples);
    let split = Decomposition::new(SIZE, PES, 4).unwrap();
    Volume::new(Grid { spacing, ..Grid::of_size(SIZE) }, split, blocks_of(&values, SIZE, PES, 4)).unwrap()
}

fn key(stretch: [f64; 3]) -> Camera {
    Camera { distance: 2.0, stretch, ..Camera::default() }
}

/// What `draw` makes of the layer from two sides: the key view's, and that of who has turned.
fn seen(draw: &impl Fn(&Volume, &Camera, &Camera) -> Image, spacing: [f64; 3], stretch: [f64; 3]) -> [Image; 2] {
    let key = key(stretch);
    [key, key.turned(20.0)].map(|camera| draw(&layer(spacing), &key, &camera))
}

/// Holds what `draw` makes of the layer, for a key view and a camera, against what it makes of one whose samples do lie so far apart.
fn assert_alike(what: &str, draw: impl Fn(&Volume, &Camera, &Camera) -> Image) {
    let stretched = seen(&draw, [1.0; 3], STRETCH);
    assert!(stretched[0].rgba.iter().any(|pixel| pixel[3] > 0.1), "{what} show nothing");
    assert!(stretched == seen(&draw, STRETCH, [1.0; 3]), "{what} differ");
    assert!(stretched != seen(&draw, [1.0; 3], [1.0; 3]), "{what} do not tell");
}

#[test]
fn exact_images_are_those_of_the_longer_axes() {
    assert_alike("exact images", |volume, _, camera| render_exact(volume, camera, &soft(), EDGE, EDGE, 1.0).image);
    assert_alike("references", |volume, _, camera| render_reference(volume, camera, &soft(), EDGE, EDGE, 1.0).image);
}

#[test]
fn bricks_are_drawn_with_the_longer_axes() {
    for level in [0, 1] {
        assert_alike("bricks", |volume, _, camera| {
            let encode =
                |block| encode_level(block, &Pyramid::of(block, 2), LevelCoding::of_all(level, CodeBits::EIGHT));
            let bricks: Vec<_> = volume.blocks().iter().flat_map(encode).collect();
            let decoded = volume_of_bricks(volume.grid(), level, CodeBits::EIGHT, &bricks).unwrap();
            render_exact(&decoded, camera, &soft(), EDGE, EDGE, 1.0).image
        });
    }
}

#[test]
fn slabs_and_segments_are_made_and_drawn_with_the_longer_axes() {
    assert_alike("slabs", |volume, key, camera| {
        let keyframe = make_slabs(volume, &KeyView::of_slabs(volume, *key, 16, ASPECT), &soft(), 1.0);
        SlabStack::from_keyframe(&keyframe).unwrap().render(camera, EDGE, EDGE)
    });
    assert_alike("scalar slabs", |volume, key, camera| {
        let key = KeyView::of_scalar_slabs(volume, *key, 24, ASPECT);
        let keyframe = make_scalar_slabs(volume, &key, ScalarKeyframe::values_kept(volume.range(), None));
        ScalarStack::from_keyframe(&keyframe).unwrap().render(camera, &soft(), EDGE, EDGE)
    });
    assert_alike("segments", |volume, key, camera| {
        let key = SegmentKey::of_picture(volume, *key, SegmentKey::SEGMENTS, ASPECT);
        let keyframe = make_segments(volume, &key, &soft(), SegmentKeyframe::values_kept(volume.range(), None));
        SegmentStack::from_keyframe(&keyframe).unwrap().render(camera, EDGE, EDGE, &soft())
    });
}

#[test]
fn proxies_are_predicted_for_the_longer_axes() {
    let predicted = |spacing: [f64; 3], stretch: [f64; 3]| {
        let (volume, key) = (layer(spacing), key(stretch));
        let pyramids: Vec<Pyramid> = volume.blocks().iter().map(|block| Pyramid::of(block, 2)).collect();
        let subject = Subject { volume: &volume, pyramids: &pyramids, transfer_function: &soft(), key, aspect: ASPECT };
        let forms = [
            Form::Bricks { level: 1, bits: CodeBits::EIGHT },
            Form::Slabs { slabs: 64 },
            Form::ScalarSlabs { slabs: 24 },
            Form::Segments { segments: SegmentKey::SEGMENTS },
        ];
        subject.predict(&[key, key.turned(30.0)], &forms)
    };
    let stretched = predicted([1.0; 3], STRETCH);
    assert_eq!(stretched, predicted(STRETCH, [1.0; 3]));
    assert_ne!(stretched, predicted([1.0; 3], [1.0; 3]));
}
