//! The command line of `visapult serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::listen::{ListenOptions, parse_address};
use crate::output_file::growing_file;

/// Options of `visapult serve`.
#[derive(Debug, Args)]
#[command(after_help = format!("{}\n\nExamples:\n  where the data is:   visapult serve run.h5:/density --host login.example.org\n  \
                                where you are:       visapult view 'ripp://...'", super::FILES))]
pub(crate) struct ServeOptions {
    /// What to publish.
    #[arg(value_parser = super::source())]
    pub(crate) source: String,
    /// Address and port to listen on; everything is encrypted and needs the URL's token.
    #[arg(long, value_name = "ADDR:PORT", default_value = "0.0.0.0:7430", value_parser = parse_address)]
    pub(crate) bind: SocketAddr,
    #[command(flatten)]
    pub(crate) listen: ListenOptions,
    /// Record when each step was put and its pieces sent, for `visapult trace`.
    #[arg(long, value_name = "FILE", value_parser = growing_file())]
    pub(crate) trace: Option<PathBuf>,
}
