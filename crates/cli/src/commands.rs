//! What each subcommand does: fill the configuration, run the pipeline, report.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, available_parallelism};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use visapult_pipeline::{
    BackEnd, BackEndConfig, Camera, ChoiceReport, CodeBits, Device, RenderConfig, RenderProxy, RenderStatistics,
    SourceReport, TransferFunction, lend_to,
};
use visapult_portal::{Portal, PortalConfig, Stage, Tokens, stage};
use visapult_ripp_net::user_folder;

use crate::arguments::{DeviceName, InfoOptions, PageOptions, ProxyName, RenderOptions, SplitOptions, ViewOptions};
use crate::browser;
use crate::output_file::{Output, check_writable, write_whole};
use crate::processes::Processes;
use crate::say::{say, tell};
use crate::stop::{on_signal, once_input_ends};

/// PEs of a view where none are asked for: one data connection each.
const MOST_DEFAULT_PES: usize = 4;
/// Largest transfer function file read.
const MOST_TF_BYTES: u64 = 1 << 20;

pub(crate) fn view(options: &ViewOptions) -> Result<()> {
    let processes = Processes::meet(&options.split, default_pes())?;
    let config = back_end_config(&options.source, &options.split, &processes);
    let _recording = processes.record(options.trace.as_deref(), &options.source, "view")?;
    if let Some(crew) = processes.crew_of_another()? {
        return Ok(lend_to(crew, &config)?);
    }
    heed_input(&options.page);
    let back_end = open_for_view(options, &config)?;
    log_steering(&back_end, &options.page)?;
    serve_page(&options.page, options.page.limit, back_end.shows_simulation(), |stage| {
        show(&stage, back_end);
        Ok(())
    })
}

/// Opens the source over as many PEs as asked for, or as fit.
fn open_for_view(options: &ViewOptions, config: &BackEndConfig) -> Result<Arc<BackEnd>> {
    let open = if options.split.pes.is_some() { BackEnd::open } else { BackEnd::open_fitting };
    Ok(open(config)?)
}

pub(crate) fn back_end_config(source: &str, split: &SplitOptions, processes: &Processes) -> BackEndConfig {
    let crew = processes.crew.clone();
    BackEndConfig {
        source: source.to_owned(),
        pes: processes.pes,
        threads: split.threads,
        device: device(split.device),
        crew,
    }
}

fn device(name: DeviceName) -> Device {
    match name {
        DeviceName::Auto => Device::Auto,
        DeviceName::Cpu => Device::Cpu,
        DeviceName::Gpu => Device::Gpu,
        DeviceName::Software => Device::Software,
    }
}

/// PEs where none are asked for.
pub(crate) fn default_pes() -> usize {
    available_parallelism().map_or(1, usize::from).min(MOST_DEFAULT_PES)
}

/// What pages are told while there is none.
pub(crate) const NO_SIMULATION: &str = "No simulation has come yet. Give it the ripp:// URL that the back end printed.";

/// Prints the page's URL and serves it until it is stopped, or for as long as `limit` says. The page shows what `open` opens, once it is
/// there; `open` is given up when [`Stage::is_deserted`].
pub(crate) fn serve_page(
    page: &PageOptions,
    limit: Option<Duration>,
    is_simulation: bool,
    open: impl FnOnce(Stage) -> Result<()> + Send,
) -> Result<()> {
    let portal = Portal::bind(PortalConfig {
        address: page.bind,
        port: page.port,
        ..PortalConfig::with_tokens(tokens_for(page)?)
    })?;
    // From the moment on at which the URL is known. A terminal that goes may be told of twice, by the system and by a shell: the end is as orderly.
    on_signal(portal.stopper())?;
    let url = portal.url();
    say(&url);
    if is_simulation {
        tell(&format!("who may watch and not steer opens {}", portal.watch_url()));
    }
    let _lead = if page.no_open { None } else { browser::open(&url) };
    let (stage, shown) = stage(if is_simulation { NO_SIMULATION } else { "What is to be shown is being opened." });
    thread::scope(|scope| {
        let opening = scope.spawn(|| open(stage));
        let served = portal.serve(shown, limit);
        opening.join().map_err(|_| anyhow!("the source could not be opened: please report it"))??;
        Ok(served?)
    })
}

/// To be called before anything that may take long, by the one process of several that has an input: launchers give the others none.
pub(crate) fn heed_input(page: &PageOptions) {
    if page.until_input_ends {
        once_input_ends();
    }
}

/// Puts a back end on stage.
pub(crate) fn show(stage: &Stage, back_end: Arc<BackEnd>) {
    back_end.prepare_first_view();
    stage.show(back_end);
}

/// Logs what is steered, where the user asks for that.
pub(crate) fn log_steering(back_end: &BackEnd, page: &PageOptions) -> Result<()> {
    page.steering_log.as_ref().map_or(Ok(()), |file| Ok(back_end.log_steering(file)?))
}

/// The user's, who comes back to the page, or such as are of no use once whoever started this has ended.
fn tokens_for(page: &PageOptions) -> Result<Tokens> {
    if page.until_input_ends {
        return Ok(Tokens::fresh()?);
    }
    let kept = user_folder().and_then(|folder| Ok(Tokens::kept_in(&folder)?));
    kept.or_else(|problem| {
        tell(&format!("{problem}; pages will not survive a restart of this server"));
        Ok(Tokens::fresh()?)
    })
}

pub(crate) fn render(options: &RenderOptions) -> Result<()> {
    let processes = Processes::meet(&options.split, 1)?;
    let config = render_config(options, &processes)?;
    if let Some(crew) = processes.crew_of_another()? {
        return Ok(lend_to(crew, &config.back_end)?);
    }
    check_format(&options.out)?;
    let read = [&options.source];
    check_writable(&options.out, &read, Output::Png)?;
    options.json.iter().try_for_each(|path| check_writable(path, &read, Output::Report))?;
    if options.json.as_ref() == Some(&options.out) {
        bail!(
            "{} cannot be the image and the report of what it cost: name another file after --json",
            options.out.display()
        );
    }
    let started = Instant::now();
    let rendered = visapult_pipeline::render(&config)?;
    let encoding = Instant::now();
    let png = rendered.image.to_png_over([0.0; 3])?;
    write_whole(&options.out, |out| out.write_all(&png))?;
    let mut statistics = rendered.statistics;
    statistics.seconds.encode = encoding.elapsed().as_secs_f64();
    statistics.seconds.total = started.elapsed().as_secs_f64();
    if let Some(path) = &options.json {
        let json = serde_json::to_string_pretty(&statistics)? + "\n";
        write_whole(path, |out| out.write_all(json.as_bytes()))?;
    }
    say(&summary(options, &statistics));
    if let Some(unfit) = statistics.unfit() {
        tell(&format!(
            "this picture may be wrong: the values of {} are {unfit} (visapult info SOURCE tells their range)",
            statistics.field
        ));
    }
    rendered.empty.iter().for_each(|why| tell(&format!("the picture is empty{why}")));
    Ok(())
}

/// An image is PNG, whatever its name: one that says otherwise is a mistake.
fn check_format(path: &Path) -> Result<()> {
    const OTHERS: [&str; 9] = ["jpg", "jpeg", "tif", "tiff", "webp", "bmp", "gif", "exr", "pdf"];
    match path.extension().and_then(OsStr::to_str) {
        Some(ending) if OTHERS.contains(&ending.to_ascii_lowercase().as_str()) => {
            bail!("{} would hold a PNG image: name it .png", path.display())
        }
        _ => Ok(()),
    }
}

/// Where nothing else is asked for: slabs of colour, segments of a ray, bytes of the proxy.
const COLOR_SLABS: u16 = 64;
const SEGMENTS: u16 = 64;
const BUDGET: u64 = 8_000_000;

fn render_config(options: &RenderOptions, processes: &Processes) -> Result<RenderConfig> {
    let camera = Camera {
        azimuth_deg: options.az,
        elevation_deg: options.el,
        distance: options.distance,
        fov_deg: options.fov,
        target: options.at.0,
        stretch: options.stretch.0,
        up: options.up,
        crop: options.crop.0,
    };
    camera.validate().context("the view makes no sense")?;
    let key = Camera { azimuth_deg: options.key_az, elevation_deg: options.key_el, ..camera };
    key.validate().context("the key view (--key-az, --key-el) makes no sense")?;
    if !(0.01..=100.0).contains(&options.sample_step) {
        bail!("--sample-step {} must lie between 0.01 and 100", options.sample_step);
    }
    let proxy = proxy_of(options)?;
    Ok(RenderConfig {
        back_end: back_end_config(&options.source, &options.split, processes),
        field: options.field.clone(),
        step: options.time_step,
        size: [options.size.width, options.size.height],
        camera,
        transfer_function: options.tf.as_deref().map(read_transfer_function).transpose()?,
        sample_step: options.sample_step,
        proxy,
        memory: options.memory,
    })
}

fn proxy_of(options: &RenderOptions) -> Result<RenderProxy> {
    let key_deg = [options.key_az, options.key_el];
    Ok(match options.proxy {
        ProxyName::Exact => {
            refuse_options_of_proxies(options)?;
            RenderProxy::Exact
        }
        ProxyName::Bricks => RenderProxy::Bricks {
            level: options.bricks_level.unwrap_or(0),
            bits: options.bricks_bits.unwrap_or(CodeBits::EIGHT),
        },
        ProxyName::Slabs => RenderProxy::Slabs { key_deg, slabs: options.slabs.unwrap_or(COLOR_SLABS) },
        ProxyName::ScalarSlabs => RenderProxy::ScalarSlabs { key_deg, slabs: options.slabs },
        ProxyName::Segments => RenderProxy::Segments { key_deg, segments: options.segments.unwrap_or(SEGMENTS) },
        ProxyName::Auto => RenderProxy::Auto { key_deg, budget: options.budget.unwrap_or(BUDGET) },
    })
}

/// Who says how fine a proxy shall be wants one; a key view is asked for beside exact images, too, by who compares.
fn refuse_options_of_proxies(options: &RenderOptions) -> Result<()> {
    let given = [
        ("--slabs", options.slabs.is_some()),
        ("--segments", options.segments.is_some()),
        ("--budget", options.budget.is_some()),
        ("--bricks-level", options.bricks_level.is_some()),
        ("--bricks-bits", options.bricks_bits.is_some()),
    ];
    if let Some((option, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
        bail!(
            "{option} says how fine a proxy is, and an exact image goes through none: name one with --proxy, or leave it out"
        );
    }
    Ok(())
}

fn read_transfer_function(path: &Path) -> Result<TransferFunction> {
    let shown = path.display();
    let bytes = fs::metadata(path).with_context(|| format!("cannot read transfer function {shown}"))?.len();
    if bytes > MOST_TF_BYTES {
        bail!("{shown} is {bytes} bytes long: a transfer function has at most {MOST_TF_BYTES}");
    }
    let bytes = fs::read(path).with_context(|| format!("cannot read transfer function {shown}"))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| anyhow!("{shown} is no transfer function: it is not text in UTF-8; save it as JSON"))?;
    TransferFunction::from_json(&text).with_context(|| format!("{shown} is no transfer function"))
}

fn summary(options: &RenderOptions, statistics: &RenderStatistics) -> String {
    let seconds = &statistics.seconds;
    let [width, height] = statistics.size;
    format!(
        "{}: {width} x {height}, {} of step {} through {}, load {:.2} s, render {:.2} s",
        options.out.display(),
        statistics.field,
        statistics.step,
        statistics.proxy,
        seconds.load,
        seconds.proxy + seconds.render,
    )
}

pub(crate) fn info(options: &InfoOptions) -> Result<()> {
    let told = match SourceReport::of(&options.source) {
        Ok(report) if options.json => serde_json::to_string_pretty(&report)?,
        Ok(report) => report.to_string(),
        // What can be chosen is all that is to be told.
        Err(cause) => match cause.choice().map(ChoiceReport::of) {
            Some(report) if options.json => serde_json::to_string_pretty(&report)?,
            Some(report) => report.to_string(),
            None => return Err(cause.into()),
        },
    };
    say(&told);
    Ok(())
}
