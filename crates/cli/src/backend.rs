//! `visapult backend`: waits for a simulation, receives what it publishes, and shows it.

use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use visapult_pipeline::flow::{FlowOptions, FlowSource, FlowStatistics, own_host};
use visapult_pipeline::{BackEnd, BackEndConfig};
use visapult_ripp_net::{Identity, Options, user_folder};
use visapult_trace::Recording;

use crate::arguments::BackendOptions;
use crate::commands::{default_pes, serve_page};

const LOOK: Duration = Duration::from_millis(200);

pub(crate) fn run(options: &BackendOptions) -> Result<()> {
    let _recording = options.trace.as_ref().map(|file| Recording::to_file(file, "backend")).transpose()?;
    let pes = options.split.pes.map_or_else(default_pes, usize::from);
    let session = Options { most_receive_bps: options.most_rate.unwrap_or(0), ..Options::default() };
    let flow = FlowOptions { pes, mode: options.mode, ahead: options.ahead, session, ..FlowOptions::default() };
    let began = Instant::now();
    let source = wait_for_simulation(options, flow, began)?;
    let config = BackEndConfig { source: String::new(), pes, threads: options.split.threads };
    let helm = source.helm();
    // What is counted is received, whether a page is open or not.
    let _look = options.json.as_ref().filter(|_| !helm.is_serial()).map(|_| helm.look());
    let back_end = BackEnd::over(source, &config)?;
    let limit = options.page.limit.map(|limit| limit.saturating_sub(began.elapsed()));
    let (from, since) = (helm.statistics(), Instant::now());
    serve_page(back_end, &options.page, limit)?;
    if let Some(path) = &options.json {
        let report = report(from, helm.statistics(), since.elapsed());
        fs::write(path, report).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// What was received from the time on at which there was something to show.
fn report(from: FlowStatistics, to: FlowStatistics, time: Duration) -> String {
    let (steps, bytes) = (to.steps - from.steps, to.bytes - from.bytes);
    let seconds = time.as_secs_f64().max(1e-9);
    let fresh = if steps == 0 { 1.0 } else { (to.fresh - from.fresh) / steps as f64 };
    let report = serde_json::json!({
        "seconds": seconds,
        "steps_received": steps,
        "bytes": bytes,
        "sustained_bps": bytes as f64 * 8.0 / seconds,
        "fresh_share": fresh,
        "first_step_s": to.first_step_s,
    });
    format!("{report:#}\n")
}

fn wait_for_simulation(options: &BackendOptions, flow: FlowOptions, began: Instant) -> Result<FlowSource> {
    let identity = Identity::load_or_create(&user_folder()?)?;
    let host = options.host.clone().unwrap_or_else(|| own_host(options.listen));
    let mut door = FlowSource::listen(options.listen, &host, Some(identity), flow)?;
    println!("{}", door.url());
    std::io::stdout().flush()?;
    eprintln!("visapult: waiting for a simulation; give it the URL above, for instance as VISAPULT_URL");
    loop {
        match door.wait(LOOK)? {
            Ok(source) => return Ok(source),
            Err(waiting) => door = waiting,
        }
        if options.page.limit.is_some_and(|limit| began.elapsed() > limit) {
            bail!("no simulation has come within the time that was set");
        }
    }
}
