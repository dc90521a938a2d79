//! One image of one step, exact or through a proxy, with what it cost.

use std::time::Instant;

use rayon::ThreadPool;
use serde::Serialize;
use visapult_render::{
    Camera, CodeBits, EncodedBrick, Image, KeyView, Pyramid, ScalarStack, SegmentKey, SegmentStack, SlabStack,
    SlabStackError, TransferFunction, fitted_key, make_segments, render_exact, volume_of_bricks,
};
use visapult_volume::StepIndex;

use crate::back_end::BackEnd;
use crate::config::{RenderConfig, RenderProxy};
use crate::crew::CrewStep;
use crate::error::PipelineError;
use crate::flow::Watch;
use crate::keyframes::{bricks_of, image_of, scalar_slabs_of, slabs_of};
use crate::step_store::{LoadedStep, StepKey};

/// An image and what it cost.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// The image, associated alpha.
    pub image: Image,
    /// What it cost.
    pub statistics: RenderStatistics,
}

/// What an image cost.
#[derive(Clone, Debug, Serialize)]
pub struct RenderStatistics {
    /// Wall-clock time per stage.
    pub seconds: Seconds,
    /// Samples taken along all rays, by all processes.
    pub samples: u64,
    /// Bytes of the proxy as they would cross the wire; of the image's 8-bit pixels for `exact`.
    pub wire_bytes: u64,
    /// Rendering threads.
    pub threads: usize,
    /// Most memory the process has held, in bytes.
    pub peak_bytes: u64,
    /// Pixels across and down.
    pub size: [usize; 2],
    /// Proxy the image went through.
    pub proxy: String,
    /// Field shown.
    pub field: String,
    /// Step shown.
    pub step: StepIndex,
    /// Transfer function used, its range filled in.
    pub transfer_function: TransferFunction,
}

/// Wall-clock seconds per stage.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Seconds {
    /// Opening, reading, finding the range.
    pub load: f64,
    /// Making the proxy, where there is one.
    pub proxy: f64,
    /// Casting rays.
    pub render: f64,
    /// Writing the PNG; filled in by whoever writes it.
    pub encode: f64,
    /// All of it.
    pub total: f64,
}

/// Renders what `config` asks for.
///
/// # Errors
/// [`PipelineError`] if the source cannot be had, an option does not fit it, or another process has not given its part.
pub fn render(config: &RenderConfig) -> Result<Rendered, PipelineError> {
    let started = Instant::now();
    let watch = config.field.clone().map_or(Watch::First, Watch::Named);
    let back_end = BackEnd::open_for(watch, &config.back_end)?;
    let step = back_end.load(key_of(&back_end, config)?)?;
    let load = started.elapsed().as_secs_f64();
    let mut transfer_function = config.transfer_function.clone().unwrap_or_else(|| step.default_transfer_function());
    transfer_function.range = transfer_function.range.or(step.known_range.map(|r| [r.lo, r.hi]));
    let cast = cast(&step, config, &transfer_function, back_end.pool())?;
    step.crew.iter().try_for_each(CrewStep::whole)?;
    let statistics = RenderStatistics {
        seconds: Seconds {
            load,
            proxy: cast.proxy_seconds,
            render: cast.render_seconds,
            encode: 0.0,
            total: started.elapsed().as_secs_f64(),
        },
        samples: cast.samples,
        wire_bytes: cast.wire_bytes,
        threads: back_end.pool().current_num_threads(),
        peak_bytes: peak_bytes(),
        size: config.size,
        proxy: proxy_name(config.proxy).to_owned(),
        field: back_end.store().source().info().fields[step.key.field].name.clone(),
        step: step.key.step,
        transfer_function,
    };
    Ok(Rendered { image: cast.image, statistics })
}

fn key_of(back_end: &BackEnd, config: &RenderConfig) -> Result<StepKey, PipelineError> {
    let info = back_end.store().source().info();
    let field = match &config.field {
        None => 0,
        Some(wanted) => info.fields.iter().position(|f| f.name == *wanted).ok_or_else(|| {
            let names: Vec<&str> = info.fields.iter().map(|f| f.name.as_str()).collect();
            PipelineError::NoField {
                source_name: info.name.clone(),
                wanted: wanted.clone(),
                available: names.join(", "),
            }
        })?,
    };
    let steps = back_end.steps();
    let step = config.step.unwrap_or(steps.first);
    if step < steps.first || (step > steps.last && !info.live) {
        return Err(PipelineError::Option(format!(
            "{} has no step {step}: it has steps {} to {}",
            info.name, steps.first, steps.last
        )));
    }
    Ok(StepKey { field, step: wait_for(back_end, step) })
}

/// Waits until a running simulation has come to `step`.
fn wait_for(back_end: &BackEnd, step: StepIndex) -> StepIndex {
    let mut newest = back_end.steps().last;
    while newest < step {
        newest = back_end.store().source().wait_beyond(newest, std::time::Duration::from_secs(1));
    }
    step
}

struct Cast {
    image: Image,
    samples: u64,
    wire_bytes: u64,
    proxy_seconds: f64,
    render_seconds: f64,
}

fn cast(
    step: &LoadedStep,
    config: &RenderConfig,
    transfer_function: &TransferFunction,
    pool: &ThreadPool,
) -> Result<Cast, PipelineError> {
    let [width, height] = config.size;
    let started = Instant::now();
    match config.proxy {
        RenderProxy::Exact => {
            let exact = image_of(step, &config.camera, transfer_function, config.size, config.sample_step, pool);
            Ok(Cast {
                wire_bytes: (4 * width * height) as u64,
                samples: exact.samples,
                image: exact.image,
                proxy_seconds: 0.0,
                render_seconds: started.elapsed().as_secs_f64(),
            })
        }
        RenderProxy::Bricks { level } => cast_bricks(step, config, transfer_function, level, pool),
        RenderProxy::Slabs { key_deg, slabs } => cast_slabs(step, config, transfer_function, key_deg, slabs, pool),
        RenderProxy::ScalarSlabs { key_deg, slabs } => {
            cast_scalar_slabs(step, config, transfer_function, key_deg, slabs, pool)
        }
        RenderProxy::Segments { key_deg, segments } => {
            cast_segments(step, config, transfer_function, key_deg, segments, pool)
        }
    }
}

fn key_camera(config: &RenderConfig, [azimuth_deg, elevation_deg]: [f64; 2]) -> Camera {
    Camera { azimuth_deg, elevation_deg, ..config.camera }
}

fn cast_scalar_slabs(
    step: &LoadedStep,
    config: &RenderConfig,
    transfer_function: &TransferFunction,
    key_deg: [f64; 2],
    slabs: Option<u16>,
    pool: &ThreadPool,
) -> Result<Cast, PipelineError> {
    if step.crew.is_some() {
        let reason = "scalar slabs are made by one process, not by several: start one, or ask for --proxy slabs";
        return Err(PipelineError::Option(reason.to_owned()));
    }
    let [width, height] = config.size;
    let started = Instant::now();
    let fitted = fitted_key(&step.volume, key_camera(config, key_deg));
    let key_view = KeyView { slabs: slabs.unwrap_or(fitted.slabs), ..fitted };
    let keyframe = scalar_slabs_of(step, &key_view, pool);
    let proxy_seconds = started.elapsed().as_secs_f64();
    let stack = pool.install(|| ScalarStack::from_keyframe(&keyframe));
    let stack = stack.map_err(|e| PipelineError::Option(e.to_string()))?;
    Ok(Cast {
        image: pool.install(|| stack.render(&config.camera, transfer_function, width, height)),
        samples: 0,
        wire_bytes: keyframe.wire_bytes() as u64,
        proxy_seconds,
        render_seconds: started.elapsed().as_secs_f64() - proxy_seconds,
    })
}

fn cast_segments(
    step: &LoadedStep,
    config: &RenderConfig,
    transfer_function: &TransferFunction,
    key_deg: [f64; 2],
    segments: u16,
    pool: &ThreadPool,
) -> Result<Cast, PipelineError> {
    if step.crew.is_some() {
        let reason = "segments are made by one process, not by several: start one, or ask for --proxy slabs";
        return Err(PipelineError::Option(reason.to_owned()));
    }
    let [width, height] = config.size;
    let started = Instant::now();
    let key = SegmentKey { segments, ..SegmentKey::new(&step.volume, key_camera(config, key_deg)) };
    let keyframe = pool.install(|| make_segments(&step.volume, &key, transfer_function));
    let proxy_seconds = started.elapsed().as_secs_f64();
    let stack = pool.install(|| SegmentStack::from_keyframe(&keyframe));
    let stack = stack.map_err(|e| PipelineError::Option(e.to_string()))?;
    Ok(Cast {
        image: pool.install(|| stack.render(&config.camera, width, height, transfer_function)),
        samples: keyframe.samples,
        wire_bytes: keyframe.wire_bytes() as u64,
        proxy_seconds,
        render_seconds: started.elapsed().as_secs_f64() - proxy_seconds,
    })
}

fn cast_slabs(
    step: &LoadedStep,
    config: &RenderConfig,
    transfer_function: &TransferFunction,
    key_deg: [f64; 2],
    slabs: u16,
    pool: &ThreadPool,
) -> Result<Cast, PipelineError> {
    let [width, height] = config.size;
    let started = Instant::now();
    let key_view = KeyView { slabs, ..KeyView::new(key_camera(config, key_deg)) };
    let keyframe = slabs_of(step, &key_view, transfer_function, config.sample_step, pool);
    let proxy_seconds = started.elapsed().as_secs_f64();
    let render = || Ok(SlabStack::from_keyframe(&keyframe)?.render(&config.camera, width, height));
    let image = pool.install(render).map_err(|e: SlabStackError| PipelineError::Option(e.to_string()))?;
    Ok(Cast {
        image,
        samples: keyframe.samples,
        wire_bytes: keyframe.wire_bytes() as u64,
        proxy_seconds,
        render_seconds: started.elapsed().as_secs_f64() - proxy_seconds,
    })
}

fn cast_bricks(
    step: &LoadedStep,
    config: &RenderConfig,
    transfer_function: &TransferFunction,
    level: u32,
    pool: &ThreadPool,
) -> Result<Cast, PipelineError> {
    let [width, height] = config.size;
    let levels = step.pyramids.first().map_or(1, Pyramid::level_count);
    if level >= levels {
        return Err(PipelineError::Option(format!(
            "there is no level {level} of bricks: levels 0 to {} are",
            levels - 1
        )));
    }
    let started = Instant::now();
    let of_pe = bricks_of(step, level, CodeBits::Eight, pool);
    let bricks: Vec<EncodedBrick> = of_pe.into_iter().flat_map(|(_, bricks)| bricks).collect();
    let proxy_seconds = started.elapsed().as_secs_f64();
    let rendering = pool.install(|| {
        let volume = volume_of_bricks(step.volume.grid(), level, CodeBits::Eight, &bricks)
            .map_err(|e| PipelineError::Option(e.to_string()))?;
        Ok::<_, PipelineError>(render_exact(
            &volume,
            &config.camera,
            transfer_function,
            width,
            height,
            config.sample_step,
        ))
    })?;
    Ok(Cast {
        image: rendering.image,
        samples: rendering.samples,
        wire_bytes: bricks.iter().map(|brick| brick.wire_bytes() as u64).sum(),
        proxy_seconds,
        render_seconds: started.elapsed().as_secs_f64() - proxy_seconds,
    })
}

fn proxy_name(proxy: RenderProxy) -> &'static str {
    match proxy {
        RenderProxy::Exact => "exact",
        RenderProxy::Bricks { .. } => "bricks",
        RenderProxy::Slabs { .. } => "slabs",
        RenderProxy::ScalarSlabs { .. } => "scalar-slabs",
        RenderProxy::Segments { .. } => "segments",
    }
}

/// Most memory the process has held, as the kernel counts it; 0 where it does not tell.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.map_or(0, |kib| kib * 1024)
}
