//! Slabs against the exact image.

use visapult_volume::{Decomposition, Grid};

use super::*;
use crate::reference::render_reference;
use crate::testing::blocks_of;
use crate::{Image, Quality};

const EDGE: usize = 40;
const SIZE: usize = 80;

/// A smooth wave, `[z, y, x]`.
fn wave() -> Vec<f32> {
    let at = |i: usize| [i % EDGE, i / EDGE % EDGE, i / (EDGE * EDGE)].map(|n| n as f32 / (EDGE - 1) as f32);
    let value = |[x, y, z]: [f32; 3]| {
        let r = ((x - 0.4).powi(2) + (y - 0.55).powi(2) + (z - 0.5).powi(2)).sqrt();
        (14.0 * r).sin() * (-1.5 * r).exp()
    };
    (0..EDGE * EDGE * EDGE).map(|i| value(at(i))).collect()
}

fn volume() -> Volume {
    Volume::whole(Grid::of_size([EDGE; 3]), wave()).unwrap()
}

fn volume_of(pes: usize) -> Volume {
    let grid = Grid::of_size([EDGE; 3]);
    let split = Decomposition::new(grid.size, pes, 4).unwrap();
    Volume::new(grid, split, blocks_of(&wave(), [EDGE; 3], pes, 4)).unwrap()
}

fn soft() -> TransferFunction {
    let points = vec![[0.0, 0.1, 0.3, 0.9, 0.1], [0.5, 0.9, 0.9, 0.9, 0.0], [1.0, 0.9, 0.3, 0.1, 0.1]];
    TransferFunction { range: Some([-1.0, 1.0]), points }
}

fn key(slabs: u16) -> KeyView {
    KeyView { width: SIZE as u16, height: SIZE as u16, slabs, ..KeyView::new(Camera::default()) }
}

fn turned(angle: f64) -> Camera {
    Camera { azimuth_deg: Camera::default().azimuth_deg + angle, ..Camera::default() }
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
    for alignment in [SlabAlignment::View, SlabAlignment::Axis] {
        let key = KeyView { alignment, ..key(64) };
        let quality = psnr_to_exact(&redrawn(&key, &key.camera), &key.camera);
        assert!(quality >= 45.0, "{alignment:?}: {quality:.1} dB");
    }
}

#[test]
fn a_turned_view_stays_close_to_the_exact_image() {
    for (alignment, angle, bar) in [
        (SlabAlignment::View, 20.0, 41.0),
        (SlabAlignment::View, -20.0, 35.0),
        (SlabAlignment::View, 45.0, 38.0),
        (SlabAlignment::View, 180.0, 39.0),
        (SlabAlignment::Axis, 20.0, 35.0),
    ] {
        let camera = turned(angle);
        let quality = psnr_to_exact(&redrawn(&KeyView { alignment, ..key(64) }, &camera), &camera);
        assert!(quality >= bar, "{alignment:?} turned by {angle}: {quality:.1} dB");
    }
}

#[test]
fn an_eye_inside_the_box_sees_only_what_lies_before_it() {
    let inside = Camera { distance: 0.3, ..turned(10.0) };
    let quality = psnr_to_exact(&redrawn(&KeyView { camera: inside, ..key(128) }, &inside), &inside);
    assert!(quality >= 40.0, "{quality:.1} dB");
    let quality = psnr_to_exact(
        &redrawn(&key(128), &Camera { distance: 0.45, ..turned(0.0) }),
        &Camera { distance: 0.45, ..turned(0.0) },
    );
    assert!(quality >= 30.0, "{quality:.1} dB");
}

#[test]
fn the_optical_depth_along_key_rays_is_kept() {
    let keyframe = make_slabs(&volume(), &key(32), &soft(), 0.25);
    let exact = render_reference(&volume(), &Camera::default(), &soft(), SIZE, SIZE, 0.0625).image;
    let drawn = SlabStack::from_keyframe(&keyframe).unwrap().render(&Camera::default(), SIZE, SIZE);
    let depths = drawn.rgba.iter().zip(&exact.rgba).map(|(a, b)| [a[3], b[3]].map(|alpha| -(1.0 - alpha).ln()));
    let counted: Vec<_> = depths.filter(|[_, exact]| (0.5..4.0).contains(exact)).collect();
    assert!(counted.len() > 1000);
    let errors = counted.iter().map(|[drawn, exact]| (drawn / exact - 1.0).abs());
    let mean = errors.sum::<f32>() / counted.len() as f32;
    assert!(mean < 1e-3, "{mean}");
}

#[test]
fn several_pes_make_the_keyframe_of_one() {
    let draw = |pes| {
        let keyframe = make_slabs(&volume_of(pes), &key(32), &soft(), 1.0);
        SlabStack::from_keyframe(&keyframe).unwrap().render(&turned(15.0), SIZE, SIZE)
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
    let missing = Volume::whole(Grid::of_size([4; 3]), vec![f32::NAN; 64]).unwrap();
    for keyframe in [make_slabs(&volume(), &key(8), &clear, 1.0), make_slabs(&missing, &key(8), &soft(), 1.0)] {
        assert!(keyframe.tiles.is_empty());
        let image = SlabStack::from_keyframe(&keyframe).unwrap().render(&turned(5.0), 8, 8);
        assert_eq!(image, Image::transparent(8, 8));
    }
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
    let mut values = wave();
    values.iter_mut().skip(EDGE.pow(3) / 2).for_each(|value| *value = f32::NAN);
    let half = Volume::whole(Grid::of_size([EDGE; 3]), values).unwrap();
    let camera = turned(10.0);
    let image =
        SlabStack::from_keyframe(&make_slabs(&half, &key(64), &soft(), 1.0)).unwrap().render(&camera, SIZE, SIZE);
    let truth = render_reference(&half, &camera, &soft(), SIZE, SIZE, 0.5).image;
    let quality = Quality::of(&image, &truth).unwrap().foreground_psnr_db;
    assert!(quality >= 33.0, "{quality:.1} dB");
}
