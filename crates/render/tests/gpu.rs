//! What a graphics processor makes against what the processor makes. Mesa's lavapipe stands in for one; without it, all of this is skipped.

use std::collections::BTreeMap;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use visapult_render::{
    Camera, Gpu, GpuError, GpuKind, GpuVolume, Image, KeyView, PlaneEncoder, Quality, ScalarStack, SegmentKey,
    SegmentStack, SlabKeyframe, SlabStack, SlabTile, TileError, TransferFunction, Up, Volume, make_scalar_slabs,
    make_segments, make_slabs, render_exact,
};
use visapult_volume::{Centering, Grid};

#[path = "../src/testing/scenes.rs"]
mod scenes;

use scenes::{FIELDS, blobs, cameras, ripples, shells, soft, split, values_of};

type Outcome = Result<(), Failed>;
type Test = fn(&Gpu) -> Outcome;

const TESTS: &[(&str, Test)] = &[
    ("images_of_three_fields_are_those_of_the_processor_over_any_number_of_pes", fields_over_pes),
    ("images_from_every_side_are_those_of_the_processor", sides),
    ("grids_of_any_shape_give_the_images_of_the_processor", shapes),
    ("chunks_of_a_block_give_the_image_of_the_block", chunks),
    ("missing_values_are_transparent", missing),
    ("a_constant_field_and_one_without_values_give_the_images_of_the_processor", plain),
    ("an_eye_far_away_sees_as_exactly", far),
    ("what_is_empty_is_left_out", empty),
    ("slabs_are_those_of_the_processor", slabs),
    ("scalar_slabs_are_those_of_the_processor", scalar_slabs),
    ("segments_are_those_of_the_processor", segments),
    ("a_field_that_does_not_fit_is_refused", too_large),
];

fn main() -> ExitCode {
    let gpu = Gpu::open(GpuKind::Hardware).or_else(|_| Gpu::open(GpuKind::Software));
    match &gpu {
        Ok(gpu) => println!("on {}", gpu.name()),
        Err(cause) => println!("all skipped: {cause}"),
    }
    let is_missing = gpu.is_err();
    let trial = |(name, test): &(&str, Test)| {
        let (gpu, test) = (gpu.clone(), *test);
        Trial::test(*name, move || test(&gpu?)).with_ignored_flag(is_missing)
    };
    let trials = TESTS.iter().map(trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// The least PSNR of what the device makes, in dB.
const FLOOR_DB: f64 = 50.0;
const PIXELS: [usize; 2] = [75, 50];

fn check(what: &str, made: &Image, expected: &Image) -> Outcome {
    let quality = Quality::of(made, expected)?;
    println!("{what}: {:.1} dB", quality.psnr_db);
    if quality.psnr_db >= FLOOR_DB { Ok(()) } else { Err(format!("{what}: {quality:?}").into()) }
}

fn compare(what: &str, device: &GpuVolume, volume: &Volume, camera: &Camera, function: &TransferFunction) -> Outcome {
    for step in [1.0, 0.4] {
        let made = device.render_exact(camera, function, PIXELS[0], PIXELS[1], step)?;
        let expected = render_exact(volume, camera, function, PIXELS[0], PIXELS[1], step);
        check(&format!("{what}, step {step}, {camera:?}"), &made.image, &expected.image)?;
    }
    Ok(())
}

fn fields_over_pes(gpu: &Gpu) -> Outcome {
    let size = [40, 33, 47];
    for (number, field) in FIELDS.into_iter().enumerate() {
        for pes in [1, 2, 8] {
            let volume = split(&values_of(size, field), size, pes);
            let device = gpu.upload(&volume)?;
            for (name, function) in [("soft", soft()), ("shells", shells())] {
                let what = format!("field {number}, {pes} PEs, {name}");
                compare(&what, &device, &volume, &Camera::default(), &function)?;
            }
        }
    }
    Ok(())
}

fn sides(gpu: &Gpu) -> Outcome {
    let size = [40, 33, 47];
    for pes in [1, 8] {
        let volume = split(&values_of(size, ripples), size, pes);
        let device = gpu.upload(&volume)?;
        cameras().iter().try_for_each(|camera| compare("ripples", &device, &volume, camera, &soft()))?;
    }
    Ok(())
}

fn shapes(gpu: &Gpu) -> Outcome {
    let thin = [[1, 1, 1], [2, 1, 1], [1, 9, 9], [9, 1, 9], [9, 9, 1], [3, 50, 2]].map(Grid::of_size);
    let spaced = |centering| Grid { spacing: [0.5, 1.0, 2.5], centering, ..Grid::of_size([30, 21, 12]) };
    for grid in thin.into_iter().chain([spaced(Centering::Point), spaced(Centering::Cell)]) {
        let what = format!("{:?} {:?}", grid.size, grid.centering);
        let volume = Volume::whole(grid.clone(), values_of(grid.size, |[x, y, z]| x + 2.0 * y + 3.0 * z))?;
        let device = gpu.upload(&volume)?;
        cameras().iter().try_for_each(|camera| compare(&what, &device, &volume, camera, &soft()))?;
    }
    Ok(())
}

fn chunks(gpu: &Gpu) -> Outcome {
    let size = [20, 18, 41];
    for pes in [1, 2] {
        let volume = split(&values_of(size, ripples), size, pes);
        let device = gpu.upload_in_pieces(&volume, 12 * 4 * 20 * 18)?;
        for camera in cameras() {
            compare("chunks", &device, &volume, &camera, &soft())?;
            compare("chunks", &device, &volume, &camera, &shells())?;
        }
    }
    Ok(())
}

fn missing(gpu: &Gpu) -> Outcome {
    let size = [37, 30, 26];
    let mut values = values_of(size, ripples);
    values.iter_mut().step_by(97).for_each(|value| *value = f32::NAN);
    values.iter_mut().skip(5000).take(800).for_each(|value| *value = f32::INFINITY);
    for pes in [1, 2] {
        let volume = split(&values, size, pes);
        let device = gpu.upload(&volume)?;
        cameras().iter().try_for_each(|camera| compare("missing", &device, &volume, camera, &soft()))?;
    }
    Ok(())
}

fn plain(gpu: &Gpu) -> Outcome {
    for value in [7.5, f32::NAN] {
        let volume = Volume::whole(Grid::of_size([9; 3]), vec![value; 729])?;
        let device = gpu.upload(&volume)?;
        compare("plain", &device, &volume, &Camera::default(), &soft())?;
    }
    let clear = TransferFunction { range: None, points: vec![[0.0, 1.0, 1.0, 1.0, 0.0]] };
    let volume = split(&values_of([12; 3], ripples), [12; 3], 1);
    let made = gpu.upload(&volume)?.render_exact(&Camera::default(), &clear, 20, 10, 1.0)?;
    assert_eq!((made.image, made.samples), (Image::transparent(20, 10), 0));
    Ok(())
}

fn far(gpu: &Gpu) -> Outcome {
    let size = [40, 33, 47];
    let volume = split(&values_of(size, ripples), size, 2);
    let device = gpu.upload(&volume)?;
    for distance in [100.0, 1e4, 1e6] {
        let fov_deg = (2.0 * (0.5_f64 / distance).atan().to_degrees()).max(Camera::LEAST_FOV_DEG);
        compare("far", &device, &volume, &Camera { distance, fov_deg, ..Camera::default() }, &shells())?;
    }
    Ok(())
}

fn empty(gpu: &Gpu) -> Outcome {
    let size = [70, 64, 90];
    let volume = split(&values_of(size, |p| f32::from(u8::from(blobs(p) > 0.8))), size, 1);
    let device = gpu.upload(&volume)?;
    let points = vec![[0.05, 1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0, 0.8]];
    let [sparse, all] =
        [points, vec![[0.0, 1.0, 1.0, 1.0, 1e-3]]].map(|points| TransferFunction { range: None, points });
    for camera in cameras() {
        compare("sparse", &device, &volume, &camera, &sparse)?;
        let samples = |function| Ok::<_, GpuError>(device.render_exact(&camera, function, 64, 64, 1.0)?.samples);
        let (skipped, full) = (samples(&sparse)?, samples(&all)?);
        assert!(skipped * 4 < full, "{skipped} of {full}");
    }
    Ok(())
}

const SIZE: [usize; 3] = [40, 33, 47];

/// Looks at three fields with holes, whole, in chunks, and over several PEs, from one side each.
fn keyframes(look: impl Fn(&str, &[f32], usize, u64, Camera) -> Outcome) -> Outcome {
    for (number, field) in FIELDS.into_iter().enumerate() {
        let mut values = values_of(SIZE, field);
        values.iter_mut().skip(5000).take(800).for_each(|value| *value = f32::NAN);
        let in_pieces = 12 * 4 * 40 * 33;
        let splits =
            [(1, 1 << 30), (1, in_pieces), (2, 1 << 30), (8, 1 << 30), (1, 1 << 30), (1, 1 << 30), (2, in_pieces)];
        for ((pes, most_bytes), camera) in splits.into_iter().zip(cameras()) {
            let what = format!("field {number}, {pes} PEs, {most_bytes} bytes, {camera:?}");
            look(&what, &values, pes, most_bytes, camera)?;
        }
    }
    Ok(())
}

fn slabs(gpu: &Gpu) -> Outcome {
    keyframes(|what, values, pes, most_bytes, camera| {
        let volume = split(values, SIZE, pes);
        let device = gpu.upload_in_pieces(&volume, most_bytes)?;
        let key = KeyView { width: 150, height: 90, slabs: 24, ..KeyView::new(camera) };
        for function in [soft(), shells()] {
            let made = device.make_slabs(&volume, &key, &function, 1.0)?;
            let expected = make_slabs(&volume, &key, &function, 1.0);
            assert_eq!(made.geometry, expected.geometry);
            let draw = |keyframe| SlabStack::from_keyframe(keyframe).map(|stack| stack.render(&camera, 150, 90));
            check(what, &draw(&made)?, &draw(&expected)?)?;
            made.tiles.iter().try_for_each(encoded_as_ever)?;
            alike(&made, &expected)?;
        }
        Ok(())
    })
}

/// Fails unless the processor makes the same bytes of a tile's texels.
fn encoded_as_ever(tile: &SlabTile) -> Outcome {
    let planes = tile.decode()?;
    let first = planes.alpha.iter().position(|&alpha| alpha > 0).ok_or("a tile of nothing")?;
    let mut encoder = PlaneEncoder::new();
    for plane in &planes.rgb {
        let mut last = plane[first];
        for (&color, &alpha) in plane.iter().zip(&planes.alpha) {
            last = if alpha > 0 { color } else { last };
            assert_eq!(color, last, "colours go on into texels without any");
        }
        encoder.push_image_8(plane, usize::from(tile.size[0]));
    }
    encoder.push_image_16(&planes.alpha, usize::from(tile.size[0]));
    assert_eq!(encoder.finish(), tile.payload);
    Ok(())
}

/// Fails where codes of one texel in fifty, and of five besides, are farther from those of the processor than rounding takes them, or one opacity
/// in twenty has another.
fn alike(made: &SlabKeyframe, expected: &SlabKeyframe) -> Outcome {
    let texels_of = |keyframe: &SlabKeyframe| {
        let texels = keyframe.tiles.iter().map(|tile| Ok(((tile.lo, tile.slab), tile.decode()?)));
        texels.collect::<Result<BTreeMap<_, _>, TileError>>()
    };
    let (made, expected) = (texels_of(made)?, texels_of(expected)?);
    let (mut texels, mut far, mut others) = (0_i32, 0, 0);
    for (place, expected) in &expected {
        let made = made.get(place).ok_or_else(|| format!("no tile at {place:?}"))?;
        for i in (0..expected.alpha.len()).filter(|i| expected.alpha[*i] > 0) {
            let apart = made.alpha[i].abs_diff(expected.alpha[i]);
            let is_near = |c: usize| made.rgb[c][i].abs_diff(expected.rgb[c][i]) <= 1;
            texels += 1;
            others += i32::from(apart > 0);
            far += i32::from(apart > 2 || !(0..3).all(is_near));
        }
    }
    println!("of {texels} texels, {others} have another opacity, and {far} are farther off");
    let are_few = 50 * (far - 5) <= texels && 20 * others <= texels;
    if are_few { Ok(()) } else { Err(format!("{far} and {others} of {texels} texels").into()) }
}

fn scalar_slabs(gpu: &Gpu) -> Outcome {
    keyframes(|what, values, pes, most_bytes, camera| {
        let volume = split(values, SIZE, pes);
        let device = gpu.upload_in_pieces(&volume, most_bytes)?;
        let range = volume.range().ok_or("no values")?;
        let key = KeyView { width: 100, height: 90, slabs: 24, ..KeyView::new(camera) };
        let [made, expected] =
            [device.make_scalar_slabs(&volume, &key, range)?, make_scalar_slabs(&volume, &key, range)];
        assert_eq!(made.geometry, expected.geometry);
        for function in [soft(), shells()] {
            let draw = |keyframe| {
                ScalarStack::from_keyframe(keyframe).map(|stack| stack.render(&camera, &function, PIXELS[0], PIXELS[1]))
            };
            check(what, &draw(&made)?, &draw(&expected)?)?;
        }
        Ok(())
    })
}

fn segments(gpu: &Gpu) -> Outcome {
    keyframes(|what, values, pes, most_bytes, camera| {
        let volume = split(values, SIZE, pes);
        let device = gpu.upload_in_pieces(&volume, most_bytes)?;
        let range = volume.range().ok_or("no values")?;
        let key = SegmentKey { width: 100, height: 90, ..SegmentKey::new(&volume, camera) };
        for function in [soft(), shells()] {
            let made = device.make_segments(&volume, &key, &function, range)?;
            let expected = make_segments(&volume, &key, &function, range);
            assert_eq!((made.geometry, made.samples), (expected.geometry, expected.samples));
            let draw = |keyframe| {
                SegmentStack::from_keyframe(keyframe)
                    .map(|stack| stack.render(&camera, PIXELS[0], PIXELS[1], &function))
            };
            check(what, &draw(&made)?, &draw(&expected)?)?;
        }
        Ok(())
    })
}

fn too_large(gpu: &Gpu) -> Outcome {
    let volume = split(&values_of([16; 3], ripples), [16; 3], 1);
    let Err(refusal) = gpu.upload_in_pieces(&volume, 4 * 4 * 16 * 16) else { return Err("it fits".into()) };
    assert!(refusal.to_string().contains("larger than a buffer"), "{refusal}");
    assert!(!gpu.is_lost());
    Ok(())
}
