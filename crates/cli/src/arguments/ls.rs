//! The command line of `visapult ls`.

use clap::Args;
use visapult_copy::Endpoint;

use super::copy::place;

const HELP: &str = "\
Folders have a / in the end, with how many files are in them and how many bytes. Links are named with what they lead to. Times are those of this machine's clock. What is not copied either, such as a pipe, is told of beside it.

To know what is in its folders all of it is listed, and no file is opened. Where that takes longer than --within, they are listed without. From https:// one file is listed.

Exit codes: 0 it is listed; 1 not all of it could be, and what could not is named; 2 a command line that does not fit; 130 interrupted.

Examples:
  what is in a share:
    visapult ls 'ripp://...'
  a folder or file of it:
    visapult ls 'ripp://.../runs/day3'
  all that is below, for people and for programs:
    visapult ls 'ripp://...' -R
    visapult ls 'ripp://...' --json | jq .total.bytes
  in an object store, or here:
    visapult ls s3://bucket/run-12
    visapult ls /data/runs";

/// Options of `visapult ls`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct LsOptions {
    /// A share, or a path in it, as `copy` takes it; a folder or file here; or objects (s3://, https://).
    #[arg(value_name = "URL | PATH", value_parser = place())]
    pub(crate) place: Endpoint,
    /// List all that is below, each with its path.
    #[arg(short = 'R', long)]
    pub(crate) recursive: bool,
    /// Count what is in folders for so long at most, and list them without then; 0s counts nothing.
    #[arg(long, value_name = "TIME", default_value = "10s", conflicts_with = "recursive")]
    pub(crate) within: humantime::Duration,
    /// Print one JSON document: sizes in bytes, times in seconds since 1970.
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_is_wrapped_once() {
        assert!(HELP.lines().all(|line| !line.starts_with("  ") || line.chars().count() <= 80));
    }
}
