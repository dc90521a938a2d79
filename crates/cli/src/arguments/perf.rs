//! The command line of `visapult perf`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use visapult_ripp_net::units::{parse_bytes, parse_memory, parse_mtu, parse_rate};
use visapult_ripp_net::{Fingerprint, Memory, Mode, Rate, RippUrl};

use super::listen::{parse_address, parse_host};
use super::path::{OrAuto, PathOptions, parse_choice, parse_mode};

const LEAST_TIME: Duration = Duration::from_millis(100);
const DAY: Duration = Duration::from_secs(86_400);

/// Options of `visapult perf`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  there:  visapult perf serve\n  here:   visapult perf send 'ripp://...' \
    --time 10s\n          visapult perf send 'ripp://...' --rate 950M --bytes 1GiB --json result.json\n\nWithout a secret in the URL:\n  \
    here:   visapult perf identity                     (prints a fingerprint)\n  \
    there:  visapult perf serve --trust FINGERPRINT    (prints a URL that admits only its owner)\n  \
    here:   visapult perf send 'ripp://...'")]
pub(crate) struct PerfOptions {
    #[command(subcommand)]
    pub(crate) side: PerfSide,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PerfSide {
    /// Wait for measurements, and print the URL that they need.
    Serve(PerfServeOptions),
    /// Measure to (or from) a waiting `perf serve`.
    Send(Box<PerfSendOptions>),
    /// Print the fingerprint of this user's certificate, for `perf serve --trust`.
    Identity,
}

/// Options of `visapult perf serve`.
#[derive(Debug, Args)]
pub(crate) struct PerfServeOptions {
    /// Address and port to listen on (127.0.0.1:7410 for this machine alone); everything is encrypted, and needs the URL's token or a known certificate.
    #[arg(long, value_name = "ADDR:PORT", default_value = "0.0.0.0:7410", value_parser = parse_address)]
    pub(crate) bind: SocketAddr,
    /// Host name or address to put in the URL [default: the first address of this machine that fits].
    #[arg(long, value_name = "HOST", value_parser = parse_host)]
    pub(crate) host: Option<String>,
    /// Refuse to receive faster than this.
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub(crate) most_rate: Option<u64>,
    /// Rate to send at when the other end asks for the reverse direction: bits of IP packets per second, or `auto`.
    #[arg(long, value_name = "RATE", default_value = "auto", value_parser = parse_choice)]
    pub(crate) rate: Rate,
    /// Admit who shows the certificate with this fingerprint (`visapult perf identity` prints one's own); may be repeated. The URL then has no
    /// token, and admits nobody else.
    #[arg(long, value_name = "FINGERPRINT", conflicts_with = "insecure")]
    pub(crate) trust: Vec<Fingerprint>,
    /// Admit whose certificate an authority of this PEM file has signed; the URL then has no token.
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub(crate) ca: Option<PathBuf>,
    /// PEM file with the certificate and key to show [default: this user's own, made when first needed].
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub(crate) identity: Option<PathBuf>,
    /// Addresses of this machine that lanes are spread over, such as 10.0.0.7,10.1.0.7.
    #[arg(long, value_name = "ADDR", value_delimiter = ',')]
    pub(crate) local: Vec<IpAddr>,
    /// The most memory that a session takes for what the other end makes it keep and for its own records, 32MiB at least [default: 384MiB].
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    pub(crate) memory: Option<Memory>,
    /// Serve one measurement, then stop.
    #[arg(long)]
    pub(crate) once: bool,
    /// No encryption and no token; loopback only.
    #[arg(long)]
    pub(crate) insecure: bool,
    /// Print a JSON line for the URL and for each measurement.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `visapult perf send`.
#[derive(Debug, Args)]
pub(crate) struct PerfSendOptions {
    /// What `perf serve` printed; without its token (ripp://host:port/perf) where all of it is a line of ~/.config/visapult/urls.
    pub(crate) url: RippUrl,
    #[command(flatten)]
    pub(crate) path: PathOptions,
    /// What is promised: reliable, lossy, or deadline=200ms.
    #[arg(long, value_name = "MODE", default_value = "reliable", value_parser = parse_mode)]
    pub(crate) mode: Mode,
    /// How much to send.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, conflicts_with = "time")]
    pub(crate) bytes: Option<u64>,
    /// How long to send [default: 10s].
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) time: Option<Duration>,
    /// PEM file with a certificate and key to show to the listener [default: this user's own where the URL has no token].
    #[arg(long, value_name = "FILE")]
    pub(crate) identity: Option<PathBuf>,
    /// Believe a listener whose certificate an authority of this PEM file has signed, where the URL has no fingerprint [default: the system's].
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// Largest IP packet in bytes, in either direction, or `auto`, which probes the path.
    #[arg(long, value_name = "MTU", default_value = "auto", value_parser = |text: &str| parse_mtu(text).map(OrAuto))]
    pub(crate) mtu: OrAuto<u16>,
    /// The most memory that the session takes for what the other end makes it keep and for its own records, 32MiB at least [default: 384MiB].
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    pub(crate) memory: Option<Memory>,
    /// Let the other end send.
    #[arg(long)]
    pub(crate) reverse: bool,
    /// Write the result to this JSON file; `-` prints it.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

fn parse_time(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|cause| format!("no time: {cause}; write 10s or 500ms"))?;
    if (LEAST_TIME..=DAY).contains(&time) { Ok(time) } else { Err("a time is 100ms to 1day".to_owned()) }
}
