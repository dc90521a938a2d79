//! Arguments of `visapult trace`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Options of `visapult trace`.
#[derive(Debug, Args)]
pub(crate) struct TraceOptions {
    #[command(subcommand)]
    pub(crate) what: TraceCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Draw the lifelines of a run: time across, stages up, a line for each step and PE.
    Plot(TracePlotOptions),
    /// Put the trace files of several processes into one, for Perfetto (ui.perfetto.dev) and others.
    Merge(TraceMergeOptions),
}

const EXAMPLES: &str = "Examples:
  visapult trace plot run.trace.json
  visapult trace plot source.json backend.json -o run.svg --steps 20..40 --json -";

/// Options of `visapult trace plot`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TracePlotOptions {
    /// Trace files of one run: one per process.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// SVG file to write; `-` is standard output.
    #[arg(short, long, value_name = "FILE", default_value = "lifelines.svg")]
    pub(crate) out: PathBuf,
    /// Steps to draw [default: all; the middle 40 of more].
    #[arg(long, value_name = "FIRST..LAST", value_parser = parse_steps)]
    pub(crate) steps: Option<Steps>,
    /// Heading [default: the file's name].
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Write periods, overlap and the network's idle times to this JSON file; `-` prints them.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

/// Options of `visapult trace merge`.
#[derive(Debug, Args)]
pub(crate) struct TraceMergeOptions {
    /// Trace files of one run: one per process.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// File to write; `-` is standard output.
    #[arg(short, long, value_name = "FILE", default_value = "merged.trace.json")]
    pub(crate) out: PathBuf,
    /// Write OTLP in JSON, for OpenTelemetry collectors, instead of the Chrome trace format.
    #[arg(long)]
    pub(crate) otlp: bool,
}

/// From the first step to the last, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Steps {
    pub(crate) first: u64,
    pub(crate) last: u64,
}

fn parse_steps(text: &str) -> Result<Steps, String> {
    let ends = text.split_once("..").and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
    match ends {
        Some((first, last)) if first <= last => Ok(Steps { first, last }),
        Some(_) => Err("the first step comes after the last".to_owned()),
        None => Err("expected FIRST..LAST, such as 20..40".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_as_people_write_them() {
        assert_eq!(parse_steps("3..7"), Ok(Steps { first: 3, last: 7 }));
        assert!(parse_steps("7..3").is_err());
        assert!(parse_steps("3").is_err());
    }
}
