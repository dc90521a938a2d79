//! The command line of `visapult backend`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use visapult_ripp_net::Mode;
use visapult_ripp_net::units::parse_rate;

use super::listen::{parse_address, parse_host};
use super::path::parse_mode;
use super::{PageOptions, SplitOptions};
use crate::output_file::growing_file;

/// Options of `visapult backend`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  here:   visapult backend                      (prints a ripp:// URL for the ranks, then the page's, which waits for them)\n  \
    there:  VISAPULT_URL='ripp://...' mpiexec -n 4 ./wave\n\n  mpiexec -n 3 visapult backend --pes 6         (three processes, each with PEs of its own)\n  \
    mpiexec -n 3 visapult backend 'ripp://...'    (the same, of a simulation that listens)"
)]
pub(crate) struct BackendOptions {
    /// What to receive: the URLs of all ranks of a simulation that listens, or of `visapult serve` [default: wait for ranks that dial].
    #[arg(value_name = "RIPP-URL", conflicts_with_all = ["listen", "host"])]
    pub(crate) urls: Option<String>,
    /// Address and port where simulations dial; everything is encrypted and needs the URL's token.
    #[arg(long, value_name = "ADDR:PORT", default_value = "0.0.0.0:7430", value_parser = parse_address)]
    pub(crate) listen: SocketAddr,
    /// Host name or address to put in the URL [default: the first address of this machine that fits].
    #[arg(long, value_name = "HOST", value_parser = parse_host)]
    pub(crate) host: Option<String>,
    /// What is asked for of every step: reliable (every value of it), lossy (what is lost keeps its last value), or deadline=200ms.
    #[arg(long, value_name = "MODE", default_value = "reliable", value_parser = parse_mode)]
    pub(crate) mode: Mode,
    /// Refuse to receive faster than this (950M, 10Gbit).
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub(crate) most_rate: Option<u64>,
    /// Steps asked for ahead at most: fewer are shown sooner after they were asked for, more hide a longer path [default: what the path holds].
    /// With 0 one is asked for when the last has gone to the pages.
    #[arg(long, value_name = "STEPS")]
    pub(crate) ahead: Option<usize>,
    /// Receive all the time, whether a page is open or not, and write what came to this JSON file at the end; `-` prints it.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Record what each stage of each step takes, for `visapult trace`.
    #[arg(long, value_name = "FILE", value_parser = growing_file())]
    pub(crate) trace: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) page: PageOptions,
    #[command(flatten)]
    pub(crate) split: SplitOptions,
}
