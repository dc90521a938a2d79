//! `visapult trace`: what a run's events say, drawn, in numbers, and as one file.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use visapult_trace::{PlotOptions, Summary, Timeline, lifelines, read};

use crate::arguments::{TraceCommand, TraceMergeOptions, TracePlotOptions};
use crate::say::{say, tell};

pub(crate) fn run(command: &TraceCommand) -> Result<()> {
    match command {
        TraceCommand::Plot(options) => plot(options),
        TraceCommand::Merge(options) => merge(options),
    }
}

fn plot(options: &TracePlotOptions) -> Result<()> {
    let whole = timeline(&options.files)?;
    let timeline = options.steps.map_or_else(|| whole.clone(), |steps| whole.of_steps(steps.first, steps.last));
    if timeline.events.is_empty() {
        let known = whole.steps();
        bail!("none of these steps is there: the files have steps {:?} to {:?}", known.first(), known.last());
    }
    let title = options.title.clone().unwrap_or_else(|| name(&options.files));
    let steps = options.steps.map(|steps| (steps.first, steps.last));
    let svg = lifelines(&whole, &PlotOptions { title, steps });
    std::fs::write(&options.out, svg).with_context(|| format!("cannot write {}", options.out.display()))?;
    let Some(json) = &options.json else { return Ok(()) };
    let summary = serde_json::to_string_pretty(&Summary::of(&timeline))?;
    if json.as_os_str() == "-" {
        say(&summary);
        return Ok(());
    }
    std::fs::write(json, summary + "\n").with_context(|| format!("cannot write {}", json.display()))
}

fn merge(options: &TraceMergeOptions) -> Result<()> {
    let timeline = timeline(&options.files)?;
    let failed = || format!("cannot write {}", options.out.display());
    let out = File::create(&options.out).with_context(failed)?;
    let out = BufWriter::new(out);
    if options.otlp { timeline.write_otlp(out) } else { timeline.write(out) }.with_context(failed)
}

fn timeline(files: &[PathBuf]) -> Result<Timeline> {
    let traces = files.iter().map(|file| read(file)).collect::<Result<Vec<_>, _>>()?;
    for (file, _) in files.iter().zip(&traces).filter(|(_, trace)| !trace.complete) {
        tell(&format!("{} was cut off: what is there is used", file.display()));
    }
    let timeline = Timeline::of(traces);
    if timeline.lost > 0 {
        tell(&format!("{} events are missing, as they came faster than they could be written", timeline.lost));
    }
    let loose = timeline.unaligned_hosts();
    if !loose.is_empty() {
        let hosts = loose.join(", ");
        tell(&format!(
            "the clocks of {hosts} were never compared: where their events stand to each other means nothing"
        ));
    }
    Ok(timeline)
}

fn name(files: &[PathBuf]) -> String {
    let first = files.first().and_then(|file| Path::new(file).file_name());
    let first = first.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    if files.len() > 1 { format!("{first} and {} more", files.len() - 1) } else { first }
}
