//! Scalar slabs against the exact image.

use visapult_volume::Grid;

use super::*;
use crate::reference::render_reference;
use crate::testing::{half_wave, narrow, nothing, soft, wave_of};
use crate::{Image, Quality, TransferFunction};

const EDGE: usize = 40;
const SIZE: usize = 80;

fn volume() -> Volume {
    volume_of(1)
}

fn volume_of(pes: usize) -> Volume {
    wave_of(EDGE, pes)
}

/// Two nearly opaque shells, one behind the other, as thick as one of the grid's cells at most.
fn shells() -> TransferFunction {
    let shell = |s: f32, [r, g, b]: [f32; 3]| [[s - 0.03, r, g, b, 0.0], [s, r, g, b, 0.9], [s + 0.03, r, g, b, 0.0]];
    let points = [shell(0.3, [0.2, 0.5, 0.9]), shell(0.7, [0.9, 0.6, 0.2])].concat();
    TransferFunction { range: Some([-1.0, 1.0]), points }
}

fn key(slabs: u16) -> KeyView {
    KeyView { width: SIZE as u16, height: SIZE as u16, slabs, ..KeyView::new(Camera::default()) }
}

fn keyframe_of(volume: &Volume, key: &KeyView) -> ScalarKeyframe {
    make_scalar_slabs(volume, key, ValueRange { lo: -1.0, hi: 1.0 })
}

fn stack_of(volume: &Volume, key: &KeyView) -> ScalarStack {
    ScalarStack::from_keyframe(&keyframe_of(volume, key)).unwrap()
}

/// Foreground PSNR of what `stack` shows of `volume`.
fn psnr(stack: &ScalarStack, volume: &Volume, camera: &Camera, function: &TransferFunction) -> f64 {
    let truth = render_reference(volume, camera, function, SIZE, SIZE, 0.125).image;
    Quality::of(&stack.render(camera, function, SIZE, SIZE), &truth).unwrap().foreground_psnr_db
}

#[test]
fn one_keyframe_shows_any_transfer_function_from_turned_views() {
    let stack = stack_of(&volume(), &key(40));
    for (function, bars) in [(soft(), [53.0, 51.0, 50.0, 49.0]), (shells(), [33.0, 34.0, 36.0, 35.0])] {
        for (angle, bar) in [0.0, 16.0, 30.0, 45.0].into_iter().zip(bars) {
            let quality = psnr(&stack, &volume(), &Camera::default().turned(angle), &function);
            assert!(quality >= bar, "turned by {angle}: {quality:.1} dB of {bar}");
        }
    }
}

#[test]
fn what_shows_near_the_ends_of_a_narrow_range_is_where_it_belongs() {
    for width in [0.8, 0.4] {
        let function = narrow(width);
        let kept = ScalarKeyframe::values_kept(volume().range(), function.range);
        let narrow = ScalarStack::from_keyframe(&make_scalar_slabs(&volume(), &key(40), kept)).unwrap();
        for angle in [0.0, 30.0] {
            let quality = |stack| psnr(stack, &volume(), &Camera::default().turned(angle), &function);
            let [narrow, all] = [&narrow, &stack_of(&volume(), &key(40))].map(quality);
            assert!(
                narrow > all - 1.0,
                "a range of {width}, turned by {angle}: {narrow:.1} dB, of all values {all:.1}"
            );
        }
    }
}

#[test]
fn views_from_behind_and_from_above_hold() {
    let stack = stack_of(&volume(), &key(40));
    let above = Camera { elevation_deg: 50.0, ..Camera::default() };
    for camera in [Camera::default().turned(180.0), Camera::default().turned(-16.0), above] {
        let quality = psnr(&stack, &volume(), &camera, &soft());
        assert!(quality >= 42.0, "{camera:?}: {quality:.1} dB");
    }
}

#[test]
fn an_eye_inside_the_box_sees_only_what_lies_before_it() {
    let inside = Camera { distance: 0.3, ..Camera::default().turned(10.0) };
    let stack = stack_of(&volume(), &KeyView { camera: inside, ..key(40) });
    let quality = psnr(&stack, &volume(), &inside, &soft());
    assert!(quality >= 42.0, "{quality:.1} dB");
    let near = Camera { distance: 0.45, ..Camera::default() };
    let quality = psnr(&stack_of(&volume(), &key(40)), &volume(), &near, &soft());
    assert!(quality >= 36.0, "{quality:.1} dB");
}

#[test]
fn any_number_of_pes_makes_the_same_tiles() {
    let one = keyframe_of(&volume(), &key(24));
    assert!(one.tiles.len() > 24);
    for pes in [2, 8] {
        assert_eq!(keyframe_of(&volume_of(pes), &key(24)), one, "{pes} PEs");
    }
}

#[test]
fn faces_that_lie_on_the_cut_between_pes_are_sampled_as_any_others() {
    // Along an axis every ray meets face 16 of 49 where two of the PEs meet, and rounds that to either side.
    let camera = Camera { azimuth_deg: 0.0, elevation_deg: 0.0, ..Camera::default() };
    let of = |pes: usize| {
        let grid = Grid::of_size([9, 9, 246]);
        let values: Vec<f32> = (0..9 * 9 * 246).map(|i| (i / 81) as f32 / 245.0).collect();
        let split = visapult_volume::Decomposition::new(grid.size, pes, 4).unwrap();
        Volume::new(grid, split, crate::testing::blocks_of(&values, [9, 9, 246], pes, 4)).unwrap()
    };
    for (slabs, pes) in [(49, 3), (66, 5), (24, 2), (40, 8)] {
        let key = KeyView { camera, width: 40, height: 40, slabs };
        let range = ValueRange { lo: 0.0, hi: 1.0 };
        assert_eq!(make_scalar_slabs(&of(pes), &key, range), make_scalar_slabs(&of(1), &key, range), "{pes} PEs");
    }
}

#[test]
fn nothing_but_missing_values_makes_no_tiles() {
    let keyframe = keyframe_of(&nothing(), &key(8));
    assert!(keyframe.tiles.is_empty());
    let image = ScalarStack::from_keyframe(&keyframe).unwrap().render(&Camera::default().turned(5.0), &soft(), 8, 8);
    assert_eq!(image, Image::transparent(8, 8));
}

#[test]
fn missing_values_are_seen_through() {
    let half = half_wave(EDGE);
    let quality = psnr(&stack_of(&half, &key(40)), &half, &Camera::default().turned(10.0), &soft());
    assert!(quality >= 25.0, "{quality:.1} dB");
}

#[test]
fn a_lost_tile_harms_its_place_alone() {
    let whole = keyframe_of(&volume(), &KeyView { width: 160, height: 160, ..key(24) });
    let draw = |keyframe: &ScalarKeyframe| {
        ScalarStack::from_keyframe(keyframe).unwrap().render(&Camera::default(), &soft(), 160, 160)
    };
    let mut damaged = whole.clone();
    let lost = damaged.tiles.remove(whole.tiles.len() / 2);
    let (before, after) = (draw(&whole), draw(&damaged));
    let near = |pixel: usize, axis: usize| {
        (i64::from(lost.lo[axis]) - 1..=i64::from(lost.lo[axis]) + 64).contains(&(pixel as i64))
    };
    let changed = (0..160 * 160).filter(|&i| before.rgba[i] != after.rgba[i]).collect::<Vec<_>>();
    assert!(!changed.is_empty());
    assert!(changed.iter().all(|i| near(i % 160, 0) && near(i / 160, 1)));
}

#[test]
fn tiles_that_lie_where_none_can_are_refused() {
    let keyframe = keyframe_of(&volume(), &key(8));
    let refused = |change: &dyn Fn(&mut FaceTile)| {
        let mut damaged = keyframe.clone();
        change(&mut damaged.tiles[0]);
        matches!(ScalarStack::from_keyframe(&damaged), Err(ScalarStackError::Place { .. }))
    };
    assert!(refused(&|tile| tile.face = 9));
    assert!(refused(&|tile| tile.lo = [65_535, 65_535]));
    assert!(refused(&|tile| tile.lo[0] += 1));
    assert!(refused(&|tile| tile.size[1] -= 1));
}

#[test]
fn a_keyframe_of_impossibly_many_texels_is_refused() {
    let mut keyframe = keyframe_of(&volume(), &key(8));
    keyframe.geometry = SlabGeometry { width: 65_535, height: 65_535, slabs: 65_535, ..keyframe.geometry };
    assert!(matches!(ScalarStack::from_keyframe(&keyframe), Err(ScalarStackError::TooLarge { .. })));
}

#[test]
fn slabs_and_rays_are_as_dense_as_the_grid_within_limits() {
    let coarse = fitted_key(&volume(), Camera::default());
    assert!((25..=36).contains(&coarse.slabs) && (60..=66).contains(&coarse.width), "{coarse:?}");
    let fine = Grid::of_size([1025, 1, 1]);
    let fine = fitted_key(&Volume::whole(fine, vec![0.0; 1025]).unwrap(), Camera::default());
    assert_eq!((fine.slabs, fine.width, fine.height), (192, 512, 512));
}
