//! The fast path against the reference, over fields, cameras, blocks and instruction sets.

use visapult_volume::{Centering, Grid};

use super::Caster;
use super::dispatch::InstructionSet;
use super::front_to_back;
use super::layers::{LayerCaster, LayerPlanes, LayerTile, TileRect};
use crate::camera::dot;
use crate::reference::render_reference;
use crate::testing::Random;
use crate::testing::scenes::{cameras, ripples, shells, soft, split, values_of};
use crate::{Camera, Image, TransferFunction, View, Volume};

/// PSNR in dB over all four channels, values in 0..=1.
fn psnr(a: &Image, b: &Image) -> f64 {
    let errors = a.rgba.as_flattened().iter().zip(b.rgba.as_flattened()).map(|(a, b)| f64::from(a - b).powi(2));
    -10.0 * (errors.sum::<f64>() / (4 * a.rgba.len()) as f64).max(1e-30).log10()
}

fn assert_like_reference(volume: &Volume, camera: &Camera, function: &TransferFunction, step: f64, floor: f64) {
    let expected = render_reference(volume, camera, function, 75, 50, step);
    for instruction_set in InstructionSet::available() {
        let caster = Caster::new(volume, camera, function, step).on(instruction_set);
        let rendering = caster.render(75, 50);
        let psnr = psnr(&rendering.image, &expected.image);
        assert!(psnr >= floor, "{psnr:.1} dB with {instruction_set:?}, {camera:?}");
    }
}

#[test]
fn agrees_with_the_reference_from_every_side() {
    let size = [40, 33, 47];
    let volume = Volume::whole(Grid::of_size(size), values_of(size, ripples)).unwrap();
    for camera in cameras() {
        assert_like_reference(&volume, &camera, &soft(), 1.0, 65.0);
        assert_like_reference(&volume, &camera, &soft(), 0.3, 65.0);
        assert_like_reference(&volume, &camera, &shells(), 1.0, 50.0);
    }
}

#[test]
fn agrees_with_the_reference_on_uneven_spacing_and_cells() {
    let size = [30, 21, 12];
    let spacing = [0.5, 1.0, 2.5];
    for centering in [Centering::Point, Centering::Cell] {
        let grid = Grid { spacing, centering, ..Grid::of_size(size) };
        let volume = Volume::whole(grid, values_of(size, ripples)).unwrap();
        for camera in cameras() {
            assert_like_reference(&volume, &camera, &soft(), 1.0, 65.0);
        }
    }
}

#[test]
fn agrees_with_the_reference_on_thin_grids() {
    for size in [[1, 1, 1], [2, 1, 1], [1, 9, 9], [9, 1, 9], [9, 9, 1], [1, 1, 30], [2, 2, 2], [3, 50, 2]] {
        let volume = Volume::whole(Grid::of_size(size), values_of(size, |[x, y, z]| x + 2.0 * y + 3.0 * z)).unwrap();
        for camera in cameras() {
            assert_like_reference(&volume, &camera, &soft(), 1.0, 60.0);
        }
    }
}

#[test]
fn a_sheet_seen_from_its_edge_takes_a_bounded_number_of_samples() {
    let (size, spacing) = ([60, 60, 50], [90_000.0, 90_000.0, 0.02]);
    let volume = Volume::whole(Grid { spacing, ..Grid::of_size(size) }, values_of(size, ripples)).unwrap();
    let camera = Camera { azimuth_deg: 90.0, elevation_deg: 0.0, ..Camera::default() };
    let rendering = Caster::new(&volume, &camera, &soft(), 1.0).render(5, 5);
    assert!((1..=2 * 5 * Grid::MOST_STEPS as u64).contains(&rendering.samples), "{} samples", rendering.samples);
    let psnr = psnr(&rendering.image, &render_reference(&volume, &camera, &soft(), 5, 5, 1.0).image);
    assert!(psnr >= 50.0, "{psnr:.1} dB");
}

#[test]
fn rays_end_that_have_more_samples_than_single_precision_counts() {
    let size = [65, 3, 3];
    let behind = |[x, _, _]: [f32; 3]| if x < 0.5 / 64.0 { 1.0 } else { 0.0 };
    let volume = Volume::whole(Grid::of_size(size), values_of(size, behind)).unwrap();
    let points = vec![[0.5, 1.0, 1.0, 1.0, 0.0], [0.5, 1.0, 1.0, 1.0, 1.0]];
    let function = TransferFunction { range: Some([0.0, 1.0]), points };
    let camera = Camera { azimuth_deg: 90.0, elevation_deg: 0.0, ..Camera::default() };
    let rendering = Caster::new(&volume, &camera, &function, 0.5_f64.powi(21)).render(1, 1);
    assert!(rendering.image.rgba[0][3] > 0.99, "{:?}", rendering.image.rgba);
}

#[test]
fn agrees_with_the_reference_on_noise_with_missing_values() {
    let size = [37, 30, 26];
    let mut random = Random::new(4);
    let values = values_of(size, ripples).into_iter();
    let values: Vec<f32> = values.map(|v| if random.unit() < 0.01 { f32::NAN } else { v + random.unit() }).collect();
    let volume = Volume::whole(Grid::of_size(size), values).unwrap();
    for camera in cameras() {
        assert_like_reference(&volume, &camera, &soft(), 1.0, 55.0);
    }
}

#[test]
fn sparse_fields_lose_nothing_to_skipping() {
    let size = [70, 64, 90];
    let spots = [[0.2, 0.3, -0.4], [-0.41, 0.0, 0.1], [0.0, -0.49, 0.0_f32]];
    let field = |p: [f32; 3]| {
        let near = |s: &[f32; 3]| (0..3).map(|a| (p[a] - s[a]).powi(2)).sum::<f32>().sqrt() < 0.03;
        f32::from(u8::from(spots.iter().any(near)))
    };
    let volume = Volume::whole(Grid::of_size(size), values_of(size, field)).unwrap();
    let points = vec![[0.05, 1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0, 0.8]];
    let function = TransferFunction { range: None, points };
    for camera in cameras() {
        assert_like_reference(&volume, &camera, &function, 1.0, 55.0);
        let full = render_reference(&volume, &camera, &function, 64, 64, 1.0);
        let skipped = Caster::new(&volume, &camera, &function, 1.0).render(64, 64);
        assert!(skipped.samples * 4 < full.samples, "{} of {}", skipped.samples, full.samples);
    }
}

#[test]
fn nothing_visible_gives_a_transparent_image() {
    let size = [8, 8, 8];
    let clear = TransferFunction { range: None, points: vec![[0.0, 1.0, 1.0, 1.0, 0.0]] };
    let ripples = Volume::whole(Grid::of_size(size), values_of(size, ripples)).unwrap();
    let missing = Volume::whole(Grid::of_size(size), vec![f32::INFINITY; 512]).unwrap();
    for (volume, function) in [(&ripples, &clear), (&missing, &soft())] {
        let rendering = Caster::new(volume, &Camera::default(), function, 1.0).render(20, 10);
        assert_eq!(rendering.image, Image::transparent(20, 10));
        assert_eq!(rendering.samples, 0);
    }
}

#[test]
fn a_constant_field_shows_the_middle_of_the_transfer_function() {
    let volume = Volume::whole(Grid::of_size([9, 9, 9]), vec![7.5; 729]).unwrap();
    for camera in cameras() {
        assert_like_reference(&volume, &camera, &soft(), 1.0, 70.0);
    }
}

#[test]
fn any_number_of_blocks_gives_the_image_of_one() {
    let size = [45, 38, 51];
    let values = values_of(size, ripples);
    let whole = split(&values, size, 1);
    for camera in cameras() {
        for function in [soft(), shells()] {
            let expected = Caster::new(&whole, &camera, &function, 1.0).render(90, 70);
            for count in [2, 8, 27] {
                let parts = split(&values, size, count);
                let rendering = Caster::new(&parts, &camera, &function, 1.0).render(90, 70);
                let psnr = psnr(&rendering.image, &expected.image);
                assert!(psnr >= 60.0, "{psnr:.1} dB with {count} blocks, {camera:?}");
            }
        }
    }
}

/// Casts all layers, and composites them with their opacity corrected for the length of each pixel's ray.
fn flatten(caster: &LayerCaster<'_>, run: &[usize], view: &View, planes: &LayerPlanes) -> Image {
    let (width, height) = (view.width, view.height);
    let mut image = Image::transparent(width, height);
    let mut tile = LayerTile::default();
    for y in (0..height).step_by(33) {
        for x in (0..width).step_by(33) {
            let rect = TileRect { x, y, width: 33.min(width - x), height: 33.min(height - y) };
            caster.march(run, &rect, &mut tile);
            for layer in (0..planes.count).filter_map(|slab| tile.layer(slab)) {
                for (i, &[r, g, b, a]) in layer.iter().enumerate() {
                    let (column, row) = (x + i % rect.width, y + i / rect.width);
                    let cosine = dot(view.direction(column as f64 + 0.5, row as f64 + 0.5), planes.normal) as f32;
                    let alpha = 1.0 - (1.0 - a).powf(1.0 / cosine);
                    let scale = if a > 0.0 { alpha / a } else { 0.0 };
                    let front = &mut image.rgba[row * width + column];
                    let through = 1.0 - front[3];
                    let behind = [r * scale, g * scale, b * scale, alpha];
                    front.iter_mut().zip(behind).for_each(|(f, b)| *f += through * b);
                }
            }
        }
    }
    image
}

#[test]
fn layers_composite_to_the_image_however_the_volume_is_split() {
    let size = [40, 33, 47];
    let values = values_of(size, ripples);
    let function = soft();
    let camera = Camera::default();
    let view = camera.view(80, 60);
    let expected = render_reference(&split(&values, size, 1), &camera, &function, 80, 60, 0.25);
    for normal in [view.forward, [0.0, 0.0, -1.0]] {
        let planes = LayerPlanes { normal, near: 1.5, far: 4.0, count: 50, samples: 10 };
        for instruction_set in InstructionSet::available() {
            let images = [1, 8].map(|count| {
                let volume = split(&values, size, count);
                let caster = LayerCaster::new(&volume, &function, view, planes).on(instruction_set);
                flatten(&caster, &front_to_back(&volume, &view), &view, &planes)
            });
            let (to_reference, to_split) = (psnr(&images[0], &expected.image), psnr(&images[0], &images[1]));
            assert!(to_reference >= 48.0, "{to_reference:.1} dB with {instruction_set:?}, normal {normal:?}");
            assert!(to_split >= 80.0, "{to_split:.1} dB with {instruction_set:?}, normal {normal:?}");
        }
    }
}

#[test]
fn layers_of_thin_slabs_and_of_nothing_are_empty_where_nothing_is_visible() {
    let volume = Volume::whole(Grid::of_size([8, 8, 8]), vec![f32::NAN; 512]).unwrap();
    let view = Camera::default().view(40, 40);
    let planes = LayerPlanes { normal: view.forward, near: 2.0, far: 4.0, count: 9, samples: 1 };
    let mut tile = LayerTile::default();
    let rect = TileRect { x: 0, y: 0, width: 40, height: 40 };
    assert_eq!(LayerCaster::new(&volume, &soft(), view, planes).march(&[0], &rect, &mut tile), 0);
    assert!((0..9).all(|slab| tile.layer(slab).is_none()));
}
