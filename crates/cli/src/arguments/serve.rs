//! The command line of `visapult serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use visapult_ripp_net::Rate;

use super::perf::parse_choice;

/// Options of `visapult serve`.
#[derive(Debug, Args)]
#[command(after_help = format!("{}\n\nExamples:\n  where the data is:   visapult serve run.h5:/density --host login.example.org\n  \
                                where you are:       visapult view 'ripp://...'", super::SOURCES))]
pub(crate) struct ServeOptions {
    /// What to publish.
    pub(crate) source: String,
    /// Address and port to listen on; everything is encrypted and needs the URL's token.
    #[arg(long, value_name = "ADDR:PORT", default_value = "0.0.0.0:7430")]
    pub(crate) bind: SocketAddr,
    /// Host name or address to put in the URL [default: the first address of this machine that fits].
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
    /// Bits of IP packets per second on a path of your own (950M, 10Gbit), or `auto`, which finds and shares it.
    #[arg(long, value_name = "RATE", default_value = "auto", value_parser = parse_choice)]
    pub(crate) rate: Rate,
    /// Record when each step was put and its pieces sent, for `visapult trace`.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Stop by itself after this time (20s, 5m).
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) limit: Option<Duration>,
}
