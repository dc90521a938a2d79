//! Segments against the exact image.

use visapult_volume::{Decomposition, Grid};

use super::*;
use crate::reference::render_reference;
use crate::testing::{blocks_of, errors_of_depth, half_wave, narrow, nothing, soft, wave, wave_of};
use crate::{Image, Quality};

const EDGE: usize = 64;
const SIZE: usize = 80;

fn volume() -> Volume {
    wave_of(EDGE, 1)
}

fn shells() -> TransferFunction {
    let at = |s: f32, a: f32| [s, 0.2 + 0.7 * s, 0.6, 0.9 - 0.7 * s, a];
    let points = vec![at(0.3, 0.0), at(0.34, 0.4), at(0.38, 0.0), at(0.7, 0.0), at(0.74, 0.8), at(0.78, 0.0)];
    TransferFunction { range: Some([-1.0, 1.0]), points }
}

fn key() -> SegmentKey {
    SegmentKey { camera: Camera::default(), width: SIZE as u16, height: SIZE as u16, segments: 64 }
}

fn made(volume: &Volume, key: &SegmentKey, function: &TransferFunction) -> SegmentKeyframe {
    make_segments(volume, key, function, SegmentKeyframe::values_kept(volume.range(), function.range))
}

fn drawn(keyframe: &SegmentKeyframe, camera: &Camera, function: &TransferFunction) -> Image {
    SegmentStack::from_keyframe(keyframe).unwrap().render(camera, SIZE, SIZE, function)
}

fn drawn_at_key(keyframe: &SegmentKeyframe) -> Image {
    drawn(keyframe, &Camera::default(), &soft())
}

fn psnr_to_exact(image: &Image, volume: &Volume, camera: &Camera, function: &TransferFunction) -> f64 {
    let truth = render_reference(volume, camera, function, SIZE, SIZE, 0.25).image;
    Quality::of(image, &truth).unwrap().foreground_psnr_db
}

#[test]
fn codes_divide_what_a_wide_transfer_function_tells_apart_of_the_data() {
    let wide = TransferFunction { range: Some([-100.0, 100.0]), ..soft() };
    let [lo, hi] = made(&volume(), &key(), &wide).geometry.range;
    let data = volume().range().unwrap();
    assert!(lo <= data.lo && hi >= data.hi && hi - lo < 1.001 * (data.hi - data.lo), "{lo} to {hi} of {data:?}");
}

#[test]
fn a_long_thin_box_has_no_more_planes_than_a_page_accepts() {
    let volume = Volume::whole(Grid::of_size([20_000, 4, 4]), vec![1.0; 320_000]).unwrap();
    let geometry = made(&volume, &SegmentKey { width: 1, height: 1, ..key() }, &soft()).geometry;
    let across = geometry.edges.map(f64::from).iter().map(|edge| edge * edge).sum::<f64>().sqrt();
    assert!(across <= 8192.0 * f64::from(geometry.spacing), "planes {} apart", geometry.spacing);
    assert!(geometry.planes <= 8192);
}

#[test]
fn every_view_is_close_to_the_exact_image() {
    for (function, bar) in [(soft(), 48.0), (shells(), 34.0)] {
        let keyframe = made(&volume(), &key(), &function);
        for angle in [0.0, 16.0, -45.0, 90.0, 180.0] {
            let camera = Camera::default().turned(angle);
            let quality = psnr_to_exact(&drawn(&keyframe, &camera, &function), &volume(), &camera, &function);
            assert!(quality >= bar, "turned by {angle}: {quality:.1} dB");
        }
    }
}

#[test]
fn what_shows_near_the_ends_of_a_narrow_range_is_where_it_belongs() {
    for width in [0.8, 0.4] {
        let (function, data) = (narrow(width), volume().range().unwrap());
        let kept = SegmentKeyframe::values_kept(Some(data), function.range);
        for angle in [0.0, 30.0] {
            let camera = Camera::default().turned(angle);
            let [narrow, all] = [kept, data].map(|range| {
                let keyframe = make_segments(&volume(), &key(), &function, range);
                psnr_to_exact(&drawn(&keyframe, &camera, &function), &volume(), &camera, &function)
            });
            assert!(
                narrow > all - 1.0,
                "a range of {width}, turned by {angle}: {narrow:.1} dB, of all values {all:.1}"
            );
        }
    }
}

#[test]
fn the_transfer_function_is_the_viewers() {
    let keyframe = made(&volume(), &key(), &shells());
    let camera = Camera::default().turned(16.0);
    let quality = psnr_to_exact(&drawn(&keyframe, &camera, &soft()), &volume(), &camera, &soft());
    assert!(quality >= 36.0, "{quality:.1} dB");
}

#[test]
fn any_number_of_pes_makes_the_same_segments() {
    let one = made(&volume(), &key(), &soft());
    for pes in [2, 7, 27] {
        assert_eq!(made(&wave_of(EDGE, pes), &key(), &soft()), one);
    }
}

#[test]
fn segments_of_parts_of_the_volume_concatenate() {
    let grid = Grid::of_size([EDGE; 3]);
    let split = Decomposition::new(grid.size, 8, 4).unwrap();
    let part = |(pe, block)| {
        let volume = Volume::part(grid.clone(), split.clone(), pe, vec![block]).unwrap();
        made(&volume, &key(), &soft())
    };
    let parts: Vec<_> = blocks_of(&wave(EDGE), [EDGE; 3], 8, 4).into_iter().enumerate().map(part).collect();
    let joined = join_segments(&parts).unwrap().unwrap();
    let [largest, mean] = errors_of_depth(&drawn_at_key(&joined), &volume());
    assert!(mean < 1e-3 && largest < 2e-2, "{mean}, at most {largest}");
    let one = made(&volume(), &key(), &soft());
    for camera in [Camera::default(), Camera::default().turned(30.0)] {
        let quality = Quality::of(&drawn(&joined, &camera, &soft()), &drawn(&one, &camera, &soft())).unwrap();
        assert!(quality.foreground_psnr_db >= 45.0, "{:.1} dB", quality.foreground_psnr_db);
    }
}

#[test]
fn tiles_of_few_rays_are_smaller() {
    let most_share = |rays: u16| {
        let key = SegmentKey { width: rays, height: rays, ..key() };
        let edge = SegmentGeometry::new(&volume(), &key, volume().range().unwrap()).tile_edge();
        (edge, (edge as f64 / f64::from(rays)).powi(2))
    };
    assert_eq!(most_share(100).0, 32);
    for rays in [277, 384, 385] {
        let (edge, share) = most_share(rays);
        assert!(share < 0.03, "{rays} rays in tiles of {edge}");
    }
    assert_eq!(most_share(385).0, 64);
}

#[test]
fn a_lost_tile_disturbs_no_other() {
    let key = SegmentKey { width: 100, height: 100, ..key() };
    let whole = made(&volume(), &key, &soft());
    let mut damaged = whole.clone();
    damaged.tiles.retain(|tile| tile.lo != [64, 64]);
    assert_eq!(damaged.tiles.len() + 1, whole.tiles.len());
    let [with, without] =
        [&whole, &damaged].map(|k| SegmentStack::from_keyframe(k).unwrap().render(&key.camera, 100, 100, &soft()));
    let differs = |i: usize| with.rgba[i] != without.rgba[i];
    let inside = |i: usize| [i % 100, i / 100].iter().all(|at| (64..96).contains(at));
    assert!((0..100 * 100).all(|i| inside(i) || !differs(i)));
    assert!((0..100 * 100).any(|i| inside(i) && differs(i)));
}

#[test]
fn missing_values_are_seen_through() {
    let half = half_wave(EDGE);
    let camera = Camera::default().turned(16.0);
    let keyframe = made(&half, &key(), &soft());
    let quality = psnr_to_exact(&drawn(&keyframe, &camera, &soft()), &half, &camera, &soft());
    assert!(quality >= 33.0, "{quality:.1} dB");
    let keyframe = made(&nothing(), &key(), &TransferFunction { range: None, ..soft() });
    assert!(keyframe.tiles.is_empty());
    assert_eq!(drawn(&keyframe, &camera, &soft()), Image::transparent(SIZE, SIZE));
}

#[test]
fn an_eye_inside_the_box_sees_what_lies_before_it() {
    let inside = Camera { distance: 0.3, ..Camera::default().turned(10.0) };
    let keyframe = made(&volume(), &SegmentKey { camera: inside, ..key() }, &soft());
    let quality = psnr_to_exact(&drawn(&keyframe, &inside, &soft()), &volume(), &inside, &soft());
    assert!(quality >= 38.0, "{quality:.1} dB");
    let near = Camera { distance: 0.45, ..Camera::default() };
    let keyframe = made(&volume(), &key(), &soft());
    let quality = psnr_to_exact(&drawn(&keyframe, &near, &soft()), &volume(), &near, &soft());
    assert!(quality >= 38.0, "{quality:.1} dB");
}

#[test]
fn skipping_what_does_not_show_changes_nothing() {
    let keyframe = made(&volume(), &key(), &shells());
    let faint = |point: &[f32; 5]| [point[0], point[1], point[2], point[3], point[4].max(1e-7)];
    let all = TransferFunction { points: shells().points.iter().map(faint).collect(), ..shells() };
    for angle in [0.0, 30.0, 130.0] {
        let [skipped, every] = [shells(), all.clone()].map(|f| drawn(&keyframe, &Camera::default().turned(angle), &f));
        let quality = Quality::of(&skipped, &every).unwrap();
        assert!(quality.psnr_db >= 70.0, "turned by {angle}: {:.1} dB", quality.psnr_db);
    }
}

#[test]
fn tiles_that_lie_where_none_can_are_refused() {
    let keyframe = made(&volume(), &key(), &soft());
    let refusal = |change: &dyn Fn(&mut SegmentKeyframe)| {
        let mut damaged = keyframe.clone();
        change(&mut damaged);
        SegmentStack::from_keyframe(&damaged).unwrap_err()
    };
    assert!(matches!(refusal(&|k| k.tiles[0].lo[0] += 1), SegmentStackError::Place { .. }));
    assert!(matches!(refusal(&|k| k.tiles[0].size = [1, 1]), SegmentStackError::Place { .. }));
    assert!(matches!(refusal(&|k| k.geometry.planes = 3), SegmentStackError::Plane { .. }));
    let huge = |k: &mut SegmentKeyframe| (k.geometry.width, k.geometry.height) = (65_535, 65_535);
    assert!(matches!(refusal(&huge), SegmentStackError::TooLarge { .. }));
    assert!(matches!(refusal(&|k| k.tiles[0].knots = u32::MAX), SegmentStackError::TooLarge { .. }));
}
