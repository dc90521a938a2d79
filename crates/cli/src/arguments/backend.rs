//! The command line of `visapult backend`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use visapult_ripp_net::Mode;
use visapult_ripp_net::units::parse_rate;

use super::SplitOptions;
use super::perf::parse_mode;

/// Options of `visapult backend`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  here:   visapult backend                      (prints a ripp:// URL, then the page's URL once a simulation has come)\n  \
    there:  VISAPULT_URL='ripp://...' mpiexec -n 4 ./wave\n\nA simulation that listens itself is shown by `visapult view 'ripp://...'`."
)]
pub(crate) struct BackendOptions {
    /// Address and port where simulations dial; everything is encrypted and needs the URL's token.
    #[arg(long, value_name = "ADDR:PORT", default_value = "0.0.0.0:7430")]
    pub(crate) listen: SocketAddr,
    /// Host name or address to put in the URL [default: the first address of this machine that fits].
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
    /// What is asked for of every step: reliable (every value of it), lossy (what is lost keeps its last value), or deadline=200ms.
    #[arg(long, value_name = "MODE", default_value = "reliable", value_parser = parse_mode)]
    pub(crate) mode: Mode,
    /// Refuse to receive faster than this (950M, 10Gbit).
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub(crate) most_rate: Option<u64>,
    /// Port of the page; 0 takes any that is free [default: 7420, or the next that is free].
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Address of the page; loopback only, for the connection is not encrypted.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) bind: IpAddr,
    /// Stop by itself after this time (20s, 5m).
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) limit: Option<Duration>,
    /// Write what was received to this JSON file at the end.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Do not open a browser, even where there is a display.
    #[arg(long)]
    pub(crate) no_open: bool,
    #[command(flatten)]
    pub(crate) split: SplitOptions,
}
