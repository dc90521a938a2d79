//! Slabs against the exact image.

use super::*;
use crate::reference::render_reference;
use crate::testing::{half_wave, nothing, soft, wave_of};
use crate::{Image, Quality};

const EDGE: usize = 40;
const SIZE: usize = 80;

fn volume() -> Volume {
    volume_of(1)
}

fn volume_of(pes: usize) -> Volume {
    wave_of(EDGE, pes)
}

fn key(slabs: u16) -> KeyView {
    KeyView { width: SIZE as u16, height: SIZE as u16, slabs, ..KeyView::new(Camera::default()) }
}

fn redrawn(key: &KeyView, camera: &Camera) -> Image {
    let keyframe = make_slabs(&volume(), key, &soft(), 1.0);
    SlabStack::from_keyframe(&keyframe).unwrap().render(camera, SIZE, SIZE)
}

fn psnr_to_exact(image: &Image, camera: &Camera) -> f64 {
    let truth = render_reference(&volume(), camera, &soft(), SIZE, SIZE, 0.5).image;
    Quality::of(image, &truth).unwrap().foreground_psnr_db
}

#[test]
fn the_key_view_is_the_exact_image() {
    let key = key(64);
    let quality = psnr_to_exact(&redrawn(&key, &key.camera), &key.camera);
    assert!(quality >= 45.0, "{quality:.1} dB");
}

#[test]
fn a_turned_view_stays_close_to_the_exact_image() {
    for (angle, bar) in [(20.0, 41.0), (-20.0, 35.0), (45.0, 38.0), (180.0, 39.0)] {
        let camera = Camera::default().turned(angle);
        let quality = psnr_to_exact(&redrawn(&key(64), &camera), &camera);
        assert!(quality >= bar, "turned by {angle}: {quality:.1} dB");
    }
}

#[test]
fn an_eye_inside_the_box_sees_only_what_lies_before_it() {
    let inside = Camera { distance: 0.3, ..Camera::default().turned(10.0) };
    let quality = psnr_to_exact(&redrawn(&KeyView { camera: inside, ..key(128) }, &inside), &inside);
    assert!(quality >= 40.0, "{quality:.1} dB");
    let quality = psnr_to_exact(
        &redrawn(&key(128), &Camera { distance: 0.45, ..Camera::default() }),
        &Camera { distance: 0.45, ..Camera::default() },
    );
    assert!(quality >= 30.0, "{quality:.1} dB");
}

#[test]
fn several_pes_make_the_keyframe_of_one() {
    let draw = |pes| {
        let keyframe = make_slabs(&volume_of(pes), &key(32), &soft(), 1.0);
        SlabStack::from_keyframe(&keyframe).unwrap().render(&Camera::default().turned(15.0), SIZE, SIZE)
    };
    let one = draw(1);
    for pes in [2, 8] {
        let quality = Quality::of(&draw(pes), &one).unwrap().foreground_psnr_db;
        assert!(quality >= 50.0, "{pes} PEs: {quality:.1} dB");
    }
}

#[test]
fn nothing_visible_makes_no_tiles() {
    let clear = TransferFunction { range: Some([-1.0, 1.0]), points: vec![[0.0, 1.0, 1.0, 1.0, 0.0]] };
    for keyframe in [make_slabs(&volume(), &key(8), &clear, 1.0), make_slabs(&nothing(), &key(8), &soft(), 1.0)] {
        assert!(keyframe.tiles.is_empty());
        let image = SlabStack::from_keyframe(&keyframe).unwrap().render(&Camera::default().turned(5.0), 8, 8);
        assert_eq!(image, Image::transparent(8, 8));
    }
}

#[test]
fn a_lost_tile_harms_its_place_alone() {
    let whole = make_slabs(&volume(), &KeyView { width: 160, height: 160, ..key(24) }, &soft(), 1.0);
    let draw =
        |keyframe: &SlabKeyframe| SlabStack::from_keyframe(keyframe).unwrap().render(&Camera::default(), 160, 160);
    let mut damaged = whole.clone();
    let lost = damaged.tiles.remove(whole.tiles.len() / 2);
    let (before, after) = (draw(&whole), draw(&damaged));
    let is_near = |pixel: usize, axis: usize| {
        let first = usize::from(lost.lo[axis]);
        (first..first + usize::from(lost.size[axis])).contains(&pixel)
    };
    let changed: Vec<usize> = (0..160 * 160).filter(|&i| before.rgba[i] != after.rgba[i]).collect();
    assert!(!changed.is_empty());
    assert!(changed.iter().all(|i| is_near(i % 160, 0) && is_near(i / 160, 1)));
}

#[test]
fn tiles_that_lie_where_none_can_are_refused() {
    let keyframe = make_slabs(&volume(), &key(8), &soft(), 1.0);
    let refused = |change: &dyn Fn(&mut SlabTile)| {
        let mut damaged = keyframe.clone();
        change(&mut damaged.tiles[0]);
        matches!(SlabStack::from_keyframe(&damaged), Err(SlabStackError::Place { .. }))
    };
    assert!(refused(&|tile| tile.slab = 8));
    assert!(refused(&|tile| tile.lo = [65_535, 65_535]));
    assert!(refused(&|tile| tile.lo[0] += 1));
    assert!(refused(&|tile| tile.size[1] -= 1));
}

#[test]
fn a_keyframe_of_impossibly_many_layers_is_refused() {
    let mut keyframe = make_slabs(&volume(), &key(8), &soft(), 1.0);
    keyframe.geometry = SlabGeometry { width: 65_535, height: 65_535, slabs: 65_535, ..keyframe.geometry };
    assert!(matches!(SlabStack::from_keyframe(&keyframe), Err(SlabStackError::TooLarge { .. })));
}

#[test]
fn missing_values_are_seen_through() {
    let half = half_wave(EDGE);
    let camera = Camera::default().turned(10.0);
    let image =
        SlabStack::from_keyframe(&make_slabs(&half, &key(64), &soft(), 1.0)).unwrap().render(&camera, SIZE, SIZE);
    let truth = render_reference(&half, &camera, &soft(), SIZE, SIZE, 0.5).image;
    let quality = Quality::of(&image, &truth).unwrap().foreground_psnr_db;
    assert!(quality >= 33.0, "{quality:.1} dB");
}
