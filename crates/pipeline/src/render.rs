//! One image of one step, exact or through a proxy, with what it cost.

mod choice;
mod emptiness;
mod passing;
mod proxy;

use std::time::{Duration, Instant};

use serde::Serialize;
use visapult_render::{Camera, Image, Rendering, TransferFunction};
use visapult_volume::{StepIndex, StepSpan, ValueRange};
use visapult_volume_io::{Scale, Source, SourceInfo, nearest, with_derived};

pub use choice::{Candidate, Choice};
use emptiness::{is_empty, why_empty};
use passing::Passing;
use proxy::{Made, Maker};

use crate::back_end::{BackEnd, rendering_threads};
use crate::config::{RenderConfig, RenderProxy};
use crate::crew::CrewStep;
use crate::defaults::{NOTHING, plain};
use crate::error::PipelineError;
use crate::flow::Watch;
use crate::info::{flattened, told_apart};
use crate::making::resolved;
use crate::memory::{peak_bytes, step_bytes};
use crate::opening::{is_flow, open_local};
use crate::step_store::StepKey;

/// An image and what it cost.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// The image, associated alpha.
    pub image: Image,
    /// Why nothing is to be seen in the image, and what to do, as what follows *the picture is empty*; `None` where something is.
    pub empty: Option<String>,
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
    /// The graphics processor that made the image or proxy, or `cpu`.
    pub device: String,
    /// Most memory the process has held, in bytes; 0 where the system does not tell.
    pub peak_bytes: u64,
    /// Pixels across and down.
    pub size: [usize; 2],
    /// From where it is seen, and how long axes are shown.
    pub camera: Camera,
    /// Proxy the image went through.
    pub proxy: String,
    /// Why it was that one, where it was left to choose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<Choice>,
    /// Blocks that were read one after another, where the step takes more memory than it may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks: Option<usize>,
    /// Field shown.
    pub field: String,
    /// Step shown.
    pub step: StepIndex,
    /// Transfer function used, its range filled in.
    pub transfer_function: TransferFunction,
    /// Values that single precision tells apart, at most, where they are few.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told_apart: Option<u32>,
}

impl RenderStatistics {
    /// Why the picture does not hold the values, where it does not.
    pub fn unfit(&self) -> Option<String> {
        let unfit = self.transfer_function.range.and_then(|[lo, hi]| ValueRange { lo, hi }.unfit());
        unfit.map(ToOwned::to_owned).or_else(|| self.told_apart.map(flattened))
    }
}

/// Wall-clock seconds per stage.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Seconds {
    /// Opening, reading, finding the range.
    pub load: f64,
    /// Copying the step to a graphics processor.
    pub upload: f64,
    /// Making the proxy and decoding it, where there is one; choosing it, too.
    pub proxy: f64,
    /// Casting rays.
    pub render: f64,
    /// Writing the PNG; filled in by whoever writes it.
    pub encode: f64,
    /// All of it.
    pub total: f64,
}

/// A simulation that has left may come back for so long.
const RETURN_WITHIN: Duration = Duration::from_secs(10);
/// How often it is looked whether it is still there.
const LOOK: Duration = Duration::from_secs(1);

/// What is said where memory is bounded and steps are not read by one process from files.
const FOR_FILES: &str =
    "--memory is for files that one process reads; a simulation's steps are received whole: leave it out";

/// Renders what `config` asks for.
///
/// # Errors
/// [`PipelineError`] if the source cannot be had, an option does not fit it, or another process has not given its part.
pub fn render(config: &RenderConfig) -> Result<Rendered, PipelineError> {
    let started = Instant::now();
    if let Some(memory) = config.memory {
        if is_flow(&config.back_end.source) {
            return Err(PipelineError::Option(FOR_FILES.to_owned()));
        }
        let source = open_local(&config.back_end.source)?;
        if step_bytes(source.info().grid().sample_count()) > memory {
            return pass_through(with_derived(source).as_ref(), config, memory, started);
        }
    }
    let watch = config.field.clone().map_or(Watch::First, Watch::Named);
    let back_end = BackEnd::open_for(watch, &config.back_end)?;
    let step = back_end.load(key_of(&back_end, config)?)?;
    let load = started.elapsed().as_secs_f64();
    let asked = config.transfer_function.clone().unwrap_or_else(|| step.plain_transfer_function());
    let transfer_function = resolved(&step, &asked);
    let pool = back_end.pool();
    let maker = Maker { step: &step, config, transfer_function: &transfer_function, pool };
    let upload =
        if matches!(config.proxy, RenderProxy::Bricks { .. }) { 0.0 } else { step.device.upload_s(&step.volume) };
    let made = maker.make(config.proxy)?;
    let drawing = Instant::now();
    let drawn = maker.draw(&made);
    step.crew.iter().try_for_each(CrewStep::whole)?;
    let seconds = Seconds { load, upload, render: drawing.elapsed().as_secs_f64(), ..Seconds::default() };
    let device = step.device.name().unwrap_or("cpu").to_owned();
    let info = back_end.store().source().info();
    let (range, threads) = (step.defaults.data_range, pool.current_num_threads());
    let shown = Shown { info, key: step.key, range, transfer_function, device, threads };
    Ok(rendered(config, made, drawn, shown, Seconds { total: started.elapsed().as_secs_f64(), ..seconds }))
}

/// Renders a step that takes more than `memory`, block by block.
fn pass_through(
    source: &dyn Source,
    config: &RenderConfig,
    memory: u64,
    started: Instant,
) -> Result<Rendered, PipelineError> {
    let info = source.info();
    let steps = source.steps();
    let key = StepKey { field: field_of(source, config)?, step: step_of(info, steps, config)? };
    let pool = rendering_threads(config.back_end.threads)?;
    let passing = Passing::new(source, key, config, memory, &pool)?;
    let load = started.elapsed().as_secs_f64();
    let known = info.fields[key.field].declared_range.or(passing.range());
    let range = known.unwrap_or(NOTHING);
    let asked = config.transfer_function.clone().unwrap_or_else(|| plain(range, source.scale(key.field)));
    let transfer_function = TransferFunction { range: asked.range.or(Some([range.lo, range.hi])), ..asked };
    let making = Instant::now();
    let (wire_bytes, samples, picture) = passing.make(&transfer_function)?;
    let made = Made {
        proxy: config.proxy,
        wire_bytes,
        samples,
        seconds: making.elapsed().as_secs_f64(),
        choice: None,
        picture,
    };
    let drawing = Instant::now();
    let drawn = match made.picture.seen(config, &transfer_function, &pool) {
        Some(drawn) => drawn,
        None => passing.exact(&transfer_function)?,
    };
    let seconds = Seconds { load, render: drawing.elapsed().as_secs_f64(), ..Seconds::default() };
    let (device, threads) = ("cpu".to_owned(), pool.current_num_threads());
    let shown = Shown { info, key, range: known, transfer_function, device, threads };
    let mut rendered =
        rendered(config, made, drawn, shown, Seconds { total: started.elapsed().as_secs_f64(), ..seconds });
    rendered.statistics.blocks = Some(passing.blocks());
    Ok(rendered)
}

/// What is shown, and with what.
struct Shown<'a> {
    info: &'a SourceInfo,
    key: StepKey,
    /// Of the values.
    range: Option<ValueRange>,
    transfer_function: TransferFunction,
    device: String,
    threads: usize,
}

fn rendered(config: &RenderConfig, made: Made, drawn: Rendering, shown: Shown<'_>, seconds: Seconds) -> Rendered {
    let field = &shown.info.fields[shown.key.field];
    let statistics = RenderStatistics {
        seconds: Seconds { proxy: made.seconds, ..seconds },
        samples: made.samples + drawn.samples,
        wire_bytes: made.wire_bytes,
        threads: shown.threads,
        device: shown.device,
        peak_bytes: peak_bytes().unwrap_or(0),
        size: config.size,
        camera: config.camera,
        proxy: proxy_name(made.proxy).to_owned(),
        choice: made.choice,
        blocks: None,
        field: field.name.clone(),
        step: shown.key.step,
        transfer_function: shown.transfer_function,
        told_apart: shown.range.and_then(|range| told_apart(field.scalar_type, range)),
    };
    let empty = is_empty(&drawn.image).then(|| {
        let meets = config.camera.meets(shown.info.grid(), config.size);
        why_empty(&field.name, shown.range, &statistics.transfer_function, meets, config.proxy)
    });
    Rendered { image: drawn.image, empty, statistics }
}

/// Names of fields in one message.
const MOST_NAMED: usize = 8;

fn key_of(back_end: &BackEnd, config: &RenderConfig) -> Result<StepKey, PipelineError> {
    let source = back_end.store().source();
    let key = StepKey { field: field_of(source, config)?, step: step_of(source.info(), back_end.steps(), config)? };
    wait_for(back_end, key.step)?;
    Ok(key)
}

fn field_of(source: &dyn Source, config: &RenderConfig) -> Result<usize, PipelineError> {
    let Some(wanted) = &config.field else { return Ok(0) };
    let info = source.info();
    info.fields.iter().position(|f| f.name == *wanted).ok_or_else(|| {
        let own = (0..info.fields.len()).filter(|field| source.scale(*field) == Scale::Linear);
        let names: Vec<&str> = own.map(|field| info.fields[field].name.as_str()).collect();
        PipelineError::NoField {
            source_name: info.name.clone(),
            wanted: wanted.clone(),
            available: some_of(wanted, &names),
        }
    })
}

/// Names of a message: all if they are few, else one that is nearly what is `wanted`, or the first.
fn some_of(wanted: &str, names: &[&str]) -> String {
    if names.len() <= MOST_NAMED {
        return names.join(", ");
    }
    let near = nearest(wanted, names.iter().copied()).map(|near| vec![near]);
    let shown = near.unwrap_or_else(|| names[..MOST_NAMED].to_vec());
    format!("{} and {} more", shown.join(", "), names.len() - shown.len())
}

fn step_of(info: &SourceInfo, steps: StepSpan, config: &RenderConfig) -> Result<StepIndex, PipelineError> {
    let step = config.step.unwrap_or(steps.first);
    if step < steps.first || (step > steps.last && !info.live) {
        return Err(PipelineError::Option(format!(
            "{} has no step {step}: it has steps {} to {}",
            info.name, steps.first, steps.last
        )));
    }
    Ok(step)
}

/// Waits until a running simulation has come to `step`.
///
/// # Errors
/// If it has left before that, and stays away.
fn wait_for(back_end: &BackEnd, step: StepIndex) -> Result<(), PipelineError> {
    // It is asked for steps while somebody looks.
    let _look = back_end.look();
    let mut there_at = Instant::now();
    loop {
        let steps = back_end.steps();
        if steps.last >= step {
            return Ok(());
        }
        match back_end.why_deserted() {
            None => there_at = Instant::now(),
            Some(why) if there_at.elapsed() > RETURN_WITHIN => {
                let name = &back_end.store().source().info().name;
                return Err(PipelineError::Option(format!(
                    "{name} has no step {step}: it went on to step {} and has left ({why})",
                    steps.last
                )));
            }
            Some(_) => {}
        }
        back_end.store().source().wait_beyond(steps.last, LOOK);
    }
}

fn proxy_name(proxy: RenderProxy) -> &'static str {
    match proxy {
        RenderProxy::Exact => "exact",
        RenderProxy::Bricks { .. } => "bricks",
        RenderProxy::Slabs { .. } => "slabs",
        RenderProxy::ScalarSlabs { .. } => "scalar-slabs",
        RenderProxy::Segments { .. } => "segments",
        RenderProxy::Auto { .. } => "auto",
    }
}
