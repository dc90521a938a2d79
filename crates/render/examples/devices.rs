//! Prints how long pictures take on a graphics processor and on the processor, in turn, and how alike they are: a line of JSON for each kind.
//!
//! `devices EDGE gpu|software FRAMES`: samples along the edges of the field, what stands for the graphics processor, and pictures of each kind, every
//! one from another side. `bench/gpu.py` runs this.

use std::error::Error;
use std::time::Instant;

use rayon::prelude::*;
use serde_json::json;
use visapult_render::{
    Camera, Gpu, GpuError, GpuKind, GpuVolume, Image, KeyView, Quality, SegmentKey, SlabStages, TransferFunction,
    Volume, make_scalar_slabs, make_segments, make_slabs, render_exact,
};
use visapult_volume::{Grid, ValueRange};

/// Pixels along the edges of images.
const SIZE: usize = 1024;
const SLABS: u16 = 128;
/// Between one picture and the next.
const TURN_DEG: f64 = 7.0;
const WORK: [&str; 4] = ["exact", "slabs", "scalar slabs", "segments"];

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [edge, kind, frames] = &arguments[..] else { return Err("usage: devices EDGE gpu|software FRAMES".into()) };
    let kind = if kind == "software" { GpuKind::Software } else { GpuKind::Hardware };
    let frames: usize = frames.parse()?;
    let volume = waves(edge.parse()?)?;
    let gpu = Gpu::open(kind)?;
    let started = Instant::now();
    let device = gpu.upload(&volume)?;
    println!(
        "{}",
        json!({ "device": gpu.name(), "edge": volume.grid().size[0], "upload_s": started.elapsed().as_secs_f64() })
    );
    let range = volume.range().ok_or("a field without values")?;
    let subject = Subject { device, function: TransferFunction::default_for(range), volume, range };
    for work in WORK {
        println!("{}", subject.measured(work, frames)?);
    }
    Ok(())
}

/// Standing waves that run through most of the box, and nothing in its corners.
fn waves(edge: usize) -> Outcome<Volume> {
    let unit = |n: usize| n as f32 / edge as f32 - 0.5;
    let value = |i: usize| {
        let [x, y, z] = [i % edge, i / edge % edge, i / (edge * edge)].map(unit);
        let r = (x * x + y * y + z * z).sqrt();
        (40.0 * r).sin() * (12.0 * x).cos() * (1.0 - 2.0 * r).max(0.0)
    };
    Ok(Volume::whole(Grid::of_size([edge; 3]), (0..edge.pow(3)).into_par_iter().map(value).collect())?)
}

struct Subject {
    volume: Volume,
    device: GpuVolume,
    function: TransferFunction,
    range: ValueRange,
}

/// What both make: bytes, and an image where there is one to compare.
struct Made {
    bytes: usize,
    image: Option<Image>,
    stages: Option<SlabStages>,
}

impl Subject {
    fn measured(&self, work: &str, frames: usize) -> Outcome<serde_json::Value> {
        let (mut on_gpu, mut on_cpu, mut least_db) = (Vec::new(), Vec::new(), f64::INFINITY);
        let (mut stages, mut bytes) = (Vec::new(), Vec::new());
        for frame in 0..=frames {
            let camera = Camera { azimuth_deg: TURN_DEG * frame as f64, ..Camera::default() };
            let started = Instant::now();
            let theirs = self.on_gpu(work, camera)?;
            let between = Instant::now();
            let ours = self.on_cpu(work, camera);
            // The first compiles kernels.
            if frame > 0 {
                on_gpu.push((between - started).as_secs_f64());
                on_cpu.push(between.elapsed().as_secs_f64());
                bytes.push(theirs.bytes);
                stages.extend(theirs.stages.map(|of| [of.looking, of.casting, of.fetching, of.compressing]));
            }
            if let (Some(theirs), Some(ours)) = (&theirs.image, &ours.image) {
                least_db = least_db.min(Quality::of(theirs, ours)?.psnr_db);
            }
            let apart = theirs.bytes as f64 / ours.bytes as f64 - 1.0;
            if apart.abs() > 0.01 {
                return Err(format!("{work}: {} bytes are not {}", theirs.bytes, ours.bytes).into());
            }
        }
        let psnr_db = least_db.is_finite().then_some(least_db);
        Ok(
            json!({ "work": work, "gpu_s": on_gpu, "cpu_s": on_cpu, "bytes": bytes, "stages_s": stages, "psnr_db": psnr_db }),
        )
    }

    fn key(camera: Camera) -> KeyView {
        KeyView { slabs: SLABS, ..KeyView::new(camera) }
    }

    fn on_gpu(&self, work: &str, camera: Camera) -> Result<Made, GpuError> {
        let Self { volume, device, function, range } = self;
        let of_bytes = |bytes| Made { bytes, image: None, stages: None };
        Ok(match work {
            "exact" => of_image(device.render_exact(&camera, function, SIZE, SIZE, 1.0)?.image),
            "slabs" => {
                let (keyframe, stages) = device.make_slabs_in_stages(volume, &Self::key(camera), function, 1.0)?;
                Made { stages: Some(stages), ..of_bytes(keyframe.wire_bytes()) }
            }
            "scalar slabs" => of_bytes(device.make_scalar_slabs(volume, &Self::key(camera), *range)?.wire_bytes()),
            _ => {
                of_bytes(device.make_segments(volume, &SegmentKey::new(volume, camera), function, *range)?.wire_bytes())
            }
        })
    }

    fn on_cpu(&self, work: &str, camera: Camera) -> Made {
        let Self { volume, function, range, .. } = self;
        let of_bytes = |bytes| Made { bytes, image: None, stages: None };
        match work {
            "exact" => of_image(render_exact(volume, &camera, function, SIZE, SIZE, 1.0).image),
            "slabs" => of_bytes(make_slabs(volume, &Self::key(camera), function, 1.0).wire_bytes()),
            "scalar slabs" => of_bytes(make_scalar_slabs(volume, &Self::key(camera), *range).wire_bytes()),
            _ => of_bytes(make_segments(volume, &SegmentKey::new(volume, camera), function, *range).wire_bytes()),
        }
    }
}

fn of_image(image: Image) -> Made {
    Made { bytes: 1, image: Some(image), stages: None }
}
