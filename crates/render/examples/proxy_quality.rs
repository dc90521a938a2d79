//! Prints how close proxies come to the exact image, and what they cost, as rows of a Markdown table.
//!
//! `proxy_quality EDGE NAME FIELD.raw TF.json [NAME FIELD.raw TF.json]...`: fields are little-endian `f32`, EDGE^3 of them.
//! `bench/proxies.py` makes the fields and runs this.

use std::error::Error;
use std::time::Instant;

use rayon::prelude::*;
use visapult_render::{
    Camera, CodeBits, Image, KeyView, Pyramid, Quality, ScalarStack, SlabAlignment, SlabStack, TransferFunction,
    Volume, encode_level, fitted_key, make_scalar_slabs, make_slabs, render_exact, volume_of_bricks,
};
use visapult_volume::Grid;

/// Pixels along the edges of images and layers.
const SIZE: usize = 512;
/// Turns of the view away from the key view.
const ANGLES_DEG: [f64; 7] = [0.0, 5.0, 10.0, 16.0, 20.0, 30.0, 45.0];
/// Times that a proxy is made; the median counts.
const REPEATS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (edge, subjects) = arguments.split_first().ok_or("usage: proxy_quality EDGE [NAME FIELD.raw TF.json]...")?;
    let edge: usize = edge.parse()?;
    let angles: String = ANGLES_DEG.iter().map(|angle| format!(" {angle} |")).collect();
    println!("| field | proxy | MB | s | CPU s |{angles}\n|---|---|--:|--:|--:|{}", "---|".repeat(ANGLES_DEG.len()));
    for subject in subjects.chunks_exact(3) {
        let bytes = std::fs::read(&subject[1])?;
        let values = bytes.as_chunks::<4>().0.iter().map(|value| f32::from_le_bytes(*value)).collect();
        let volume = Volume::whole(Grid::of_size([edge; 3]), values)?;
        let transfer_function = TransferFunction::from_json(&std::fs::read_to_string(&subject[2])?)?;
        Subject::new(&subject[0], volume, transfer_function).report()?;
    }
    Ok(())
}

struct Subject<'a> {
    name: &'a str,
    volume: Volume,
    transfer_function: TransferFunction,
    truth: Vec<Image>,
}

impl<'a> Subject<'a> {
    fn new(name: &'a str, volume: Volume, transfer_function: TransferFunction) -> Self {
        let mut subject = Self { name, volume, transfer_function, truth: Vec::new() };
        subject.truth = cameras().iter().map(|camera| subject.exact(&subject.volume, camera, 0.5)).collect();
        subject
    }

    fn report(&self) -> Result<(), Box<dyn Error>> {
        self.row("exact, step 1", None, |camera| self.exact(&self.volume, camera, 1.0))?;
        for level in [0, 1] {
            let block = &self.volume.blocks()[0];
            let (bricks, mut cost) =
                timed(|| encode_level(block, &Pyramid::of(block, level + 1), level, CodeBits::Eight));
            cost.bytes = bricks.iter().map(|brick| brick.wire_bytes()).sum();
            let volume = volume_of_bricks(self.volume.grid(), level, CodeBits::Eight, &bricks)?;
            let name = format!("bricks, level {level}, 8 bits");
            self.row(&name, Some(cost), |camera| self.exact(&volume, camera, 1.0))?;
        }
        for (slabs, alignment) in [(64, SlabAlignment::View), (128, SlabAlignment::View), (64, SlabAlignment::Axis)] {
            let key = KeyView { slabs, alignment, ..KeyView::new(cameras()[0]) };
            let (keyframe, mut cost) = timed(|| make_slabs(&self.volume, &key, &self.transfer_function, 1.0));
            cost.bytes = keyframe.wire_bytes();
            let stack = SlabStack::from_keyframe(&keyframe)?;
            let name = format!("{slabs} slabs, {}", if alignment == SlabAlignment::View { "view" } else { "axis" });
            self.row(&name, Some(cost), |camera| stack.render(camera, SIZE, SIZE))?;
        }
        let fitted = fitted_key(&self.volume, cameras()[0]);
        self.scalar_slabs(KeyView { slabs: fitted.slabs / 2, ..fitted })?;
        self.scalar_slabs(fitted)
    }

    fn scalar_slabs(&self, key: KeyView) -> Result<(), Box<dyn Error>> {
        let range = self.volume.range().ok_or("a field without values")?;
        let (keyframe, mut cost) = timed(|| make_scalar_slabs(&self.volume, &key, range));
        cost.bytes = keyframe.wire_bytes();
        let stack = ScalarStack::from_keyframe(&keyframe)?;
        let name = format!("{} scalar slabs", key.slabs);
        self.row(&name, Some(cost), |camera| stack.render(camera, &self.transfer_function, SIZE, SIZE))
    }

    fn row(
        &self,
        proxy: &str,
        cost: Option<Cost>,
        draw: impl Fn(&Camera) -> Image + Sync,
    ) -> Result<(), Box<dyn Error>> {
        let views: Vec<_> = cameras().into_iter().zip(&self.truth).collect();
        let qualities =
            views.par_iter().map(|(camera, truth)| Quality::of(&draw(camera), truth)).collect::<Result<Vec<_>, _>>()?;
        let cells: String =
            qualities.iter().map(|q| format!(" {:.1} / {:.3} |", q.foreground_psnr_db, q.ssim)).collect();
        let cost = cost.map_or(" | | ".into(), |cost| {
            format!("{:.2} | {:.3} | {:.3}", cost.bytes as f64 / 1e6, cost.seconds, cost.cpu_seconds)
        });
        println!("| {} | {proxy} | {cost} |{cells}", self.name);
        Ok(())
    }

    fn exact(&self, volume: &Volume, camera: &Camera, step: f64) -> Image {
        render_exact(volume, camera, &self.transfer_function, SIZE, SIZE, step).image
    }
}

fn cameras() -> [Camera; ANGLES_DEG.len()] {
    ANGLES_DEG.map(|angle| Camera { azimuth_deg: 30.0 + angle, elevation_deg: 20.0, ..Camera::default() })
}

/// What making a proxy costs.
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
    let cpu_before = cpu_seconds();
    let mut seconds: Vec<f64> = (0..REPEATS)
        .map(|_| {
            let start = Instant::now();
            made = make();
            start.elapsed().as_secs_f64()
        })
        .collect();
    let cpu_seconds = (cpu_seconds() - cpu_before) / REPEATS as f64;
    seconds.sort_by(f64::total_cmp);
    (made, Cost { bytes: 0, seconds: seconds[REPEATS / 2], cpu_seconds })
}

/// Processor time of this process; NaN where the system does not tell. Fields 14 and 15 of `proc_pid_stat(5)`, in 1/100 s.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|n| n.parse::<f64>().ok()).unwrap_or(f64::NAN);
    (ticks(11) + ticks(12)) / 100.0
}
