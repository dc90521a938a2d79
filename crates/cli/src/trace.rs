//! `visapult trace`: what a run's events say, drawn, in numbers, and as one file.

use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use visapult_trace::{PlotOptions, Summary, Timeline, lifelines, read};

use crate::arguments::{TraceCommand, TraceMergeOptions, TracePlotOptions};
use crate::output_file::{Output, check_writable, write_whole};
use crate::say::tell;

pub(crate) fn run(command: &TraceCommand) -> Result<()> {
    match command {
        TraceCommand::Plot(options) => plot(options),
        TraceCommand::Merge(options) => merge(options),
    }
}

fn plot(options: &TracePlotOptions) -> Result<()> {
    check_writable(&options.out, &options.files, Output::Svg)?;
    options.json.iter().try_for_each(|json| check_writable(json, &options.files, Output::Report))?;
    if options.json.as_ref() == Some(&options.out) {
        bail!("{} cannot be the picture and the report: name another file after --json", options.out.display());
    }
    let (whole, run, runs) = timeline(&options.files)?.of_one_run();
    if runs > 1 {
        tell(&format!("the simulation was started anew while this was recorded: this is run {run} of {runs}"));
    }
    let timeline = options.steps.map_or_else(|| whole.clone(), |steps| whole.of_steps(steps.first, steps.last));
    if timeline.events.is_empty() {
        let known = whole.steps();
        let [first, last] = [known.first(), known.last()].map(|step| step.copied().unwrap_or_default());
        bail!("none of these steps is there: the files have steps {first} to {last}");
    }
    let title = options.title.clone().unwrap_or_else(|| name(&options.files));
    let steps = options.steps.map(|steps| (steps.first, steps.last));
    let svg = lifelines(&whole, &PlotOptions { title, steps });
    write_whole(&options.out, |out| out.write_all(svg.as_bytes()))?;
    let Some(json) = &options.json else { return Ok(()) };
    let summary = serde_json::to_string_pretty(&Summary::of(&timeline))?;
    write_whole(json, |out| writeln!(out, "{summary}"))
}

fn merge(options: &TraceMergeOptions) -> Result<()> {
    check_writable(&options.out, &options.files, Output::Trace)?;
    let timeline = timeline(&options.files)?;
    write_whole(&options.out, |out| {
        let out = BufWriter::new(out);
        if options.otlp { timeline.write_otlp(out) } else { timeline.write(out) }
    })
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
