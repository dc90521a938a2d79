//! Prints how close proxies come to the exact image, and what they cost: a line of JSON for each.
//!
//! `proxy_quality NX,NY,NZ,DX,DY,DZ FIELD.raw TF.json OTHER.json`: samples and their distances along x, y and z, little-endian `f32` values with x fastest, the
//! transfer function that proxies are made for, and one that they are drawn through without being made anew. `bench/quality/run.py` runs this.

mod clocks;
mod inputs;

use std::error::Error;
use std::time::Instant;

use rayon::prelude::*;
use serde_json::json;
use visapult_render::{
    Camera, CodeBits, Image, KeyView, LevelCoding, Pyramid, Quality, ScalarKeyframe, ScalarStack, SegmentKey,
    SegmentKeyframe, SegmentStack, SlabStack, TransferFunction, Volume, encode_level, fitted_key, make_scalar_slabs,
    make_segments, make_slabs, render_exact, slab_counts, volume_of_bricks,
};

/// Pixels along the edges of images and layers.
const SIZE: usize = 512;
/// Turns of the view away from the key view.
const ANGLES_DEG: [f64; 9] = [0.0, 5.0, 10.0, 16.0, 20.0, 30.0, 45.0, 60.0, 90.0];
/// Distance of samples that stands for the truth.
const TRUE_STEP: f64 = 0.5;
/// Times that a proxy is made; the median counts.
const REPEATS: usize = 5;

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [grid, field, own, other] = &arguments[..] else {
        return Err("usage: proxy_quality NX,NY,NZ,DX,DY,DZ FIELD.raw TF.json OTHER.json".into());
    };
    let volume = inputs::volume(grid, field)?;
    let read = inputs::transfer_function;
    Subject { looks: [Look::new("own", &volume, read(own)?), Look::new("other", &volume, read(other)?)], volume }
        .report()
}

/// A transfer function, and what is true of it.
struct Look {
    name: &'static str,
    transfer_function: TransferFunction,
    truth: Vec<Image>,
}

impl Look {
    fn new(name: &'static str, volume: &Volume, transfer_function: TransferFunction) -> Self {
        let mut look = Self { name, transfer_function, truth: Vec::new() };
        look.truth = cameras().iter().map(|camera| look.exact(volume, camera, TRUE_STEP)).collect();
        look
    }

    fn exact(&self, volume: &Volume, camera: &Camera, step: f64) -> Image {
        render_exact(volume, camera, &self.transfer_function, SIZE, SIZE, step).image
    }
}

struct Subject {
    volume: Volume,
    /// The one that proxies are made for, and another one.
    looks: [Look; 2],
}

impl Subject {
    fn report(&self) -> Outcome {
        self.any_look("exact, step 1", Cost::default(), |look, camera| look.exact(&self.volume, camera, 1.0))?;
        (0..3).try_for_each(|level| self.bricks(level, CodeBits::EIGHT))?;
        CodeBits::COARSE.into_iter().try_for_each(|bits| self.bricks(0, bits))?;
        [64, 128, 192].into_iter().try_for_each(|slabs| self.slabs(slabs))?;
        let (fitted, mut counts) = (fitted_key(&self.volume, cameras()[0]), slab_counts(&self.volume, cameras()[0]));
        counts.sort_unstable();
        counts.into_iter().try_for_each(|slabs| self.scalar_slabs(KeyView { slabs, ..fitted }))?;
        let key = SegmentKey::new(&self.volume, cameras()[0]);
        self.segments(key)
    }

    fn bricks(&self, level: u32, bits: CodeBits) -> Outcome {
        let block = &self.volume.blocks()[0];
        let (bricks, cost) =
            timed(|| encode_level(block, &Pyramid::of(block, level + 1), LevelCoding::of_all(level, bits)));
        let cost = Cost { bytes: bricks.iter().map(|brick| brick.wire_bytes()).sum(), ..cost };
        let volume = volume_of_bricks(self.volume.grid(), level, bits, &bricks)?;
        let of_bits = if bits == CodeBits::EIGHT { String::new() } else { format!(", {} bits", bits.bits()) };
        self.any_look(&format!("bricks, level {level}{of_bits}"), cost, |look, camera| look.exact(&volume, camera, 1.0))
    }

    fn slabs(&self, slabs: u16) -> Outcome {
        let key = KeyView { slabs, ..KeyView::new(cameras()[0]) };
        let own = &self.looks[0];
        let (keyframe, cost) = timed(|| make_slabs(&self.volume, &key, &own.transfer_function, 1.0));
        let stack = SlabStack::from_keyframe(&keyframe)?;
        let cost = Cost { bytes: keyframe.wire_bytes(), ..cost };
        row(&format!("{slabs} slabs"), cost, own, |camera| stack.render(camera, SIZE, SIZE))
    }

    fn scalar_slabs(&self, key: KeyView) -> Outcome {
        let range = ScalarKeyframe::values_kept(self.volume.range(), self.looks[0].transfer_function.range);
        let (keyframe, cost) = timed(|| make_scalar_slabs(&self.volume, &key, range));
        let stack = ScalarStack::from_keyframe(&keyframe)?;
        let cost = Cost { bytes: keyframe.wire_bytes(), ..cost };
        let draw = |look: &Look, camera: &Camera| stack.render(camera, &look.transfer_function, SIZE, SIZE);
        self.any_look(&format!("{} scalar slabs", key.slabs), cost, draw)
    }

    fn segments(&self, key: SegmentKey) -> Outcome {
        let function = &self.looks[0].transfer_function;
        let range = SegmentKeyframe::values_kept(self.volume.range(), function.range);
        let (keyframe, cost) = timed(|| make_segments(&self.volume, &key, function, range));
        let stack = SegmentStack::from_keyframe(&keyframe)?;
        let cost = Cost { bytes: keyframe.wire_bytes(), ..cost };
        let draw = |look: &Look, camera: &Camera| stack.render(camera, SIZE, SIZE, &look.transfer_function);
        self.any_look(&format!("{} segments", key.segments), cost, draw)
    }

    /// A proxy that is drawn through any transfer function.
    fn any_look(&self, proxy: &str, cost: Cost, draw: impl Fn(&Look, &Camera) -> Image + Sync) -> Outcome {
        self.looks.iter().try_for_each(|look| row(proxy, cost, look, |camera| draw(look, camera)))
    }
}

fn row(proxy: &str, cost: Cost, look: &Look, draw: impl Fn(&Camera) -> Image + Sync) -> Outcome {
    let views: Vec<_> = cameras().into_iter().zip(&look.truth).collect();
    let qualities =
        views.par_iter().map(|(camera, truth)| Quality::of(&draw(camera), truth)).collect::<Result<Vec<_>, _>>()?;
    let rounded = |digits: i32, of: fn(&Quality) -> f64| -> Vec<f64> {
        let unit = 10_f64.powi(digits);
        qualities.iter().map(|quality| (of(quality) * unit).round() / unit).collect()
    };
    let told = json!({
        "proxy": proxy,
        "transfer_function": look.name,
        "bytes": cost.bytes,
        "seconds": cost.seconds,
        "cpu_seconds": cost.cpu_seconds,
        "size": [SIZE, SIZE],
        "angles_deg": ANGLES_DEG,
        "psnr_db": rounded(1, |quality| quality.foreground_psnr_db),
        "ssim": rounded(4, |quality| quality.ssim),
    });
    println!("{told}");
    Ok(())
}

fn cameras() -> [Camera; ANGLES_DEG.len()] {
    ANGLES_DEG.map(|angle| Camera { azimuth_deg: 30.0 + angle, elevation_deg: 20.0, ..Camera::default() })
}

/// What making a proxy costs.
#[derive(Clone, Copy, Default)]
struct Cost {
    bytes: usize,
    /// Median of the wall-clock seconds.
    seconds: f64,
    /// Mean of the processor seconds of all threads: what counts on a machine that does something else, too.
    cpu_seconds: f64,
}

/// What `make` makes, and what that costs; `bytes` are still to be filled in.
fn timed<T>(make: impl Fn() -> T) -> (T, Cost) {
    let mut made = make();
    let cpu_before = clocks::cpu_seconds();
    let mut seconds: Vec<f64> = (0..REPEATS)
        .map(|_| {
            let start = Instant::now();
            made = make();
            start.elapsed().as_secs_f64()
        })
        .collect();
    let cpu_seconds = (clocks::cpu_seconds() - cpu_before) / REPEATS as f64;
    seconds.sort_by(f64::total_cmp);
    (made, Cost { bytes: 0, seconds: seconds[REPEATS / 2], cpu_seconds })
}
