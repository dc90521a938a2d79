//! `visapult perf`: what a path between two machines carries.

use std::io::{IsTerminal, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use visapult_ripp_net::perf::{self, Amount, Progress, Report, Request};
use visapult_ripp_net::{Identity, Listener, ListenerOptions, Options, Rate, Session, Token, Trust, user_folder};

use crate::arguments::{PerfSendOptions, PerfServeOptions, PerfSide};

const DEFAULT_TIME: Duration = Duration::from_secs(10);

/// Set when the user wants to stop.
static STOP: AtomicBool = AtomicBool::new(false);

pub(crate) fn run(side: &PerfSide) -> Result<()> {
    ctrlc::set_handler(|| {
        // Asked twice, it does not wait.
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })?;
    match side {
        PerfSide::Serve(options) => serve(options),
        PerfSide::Send(options) => send(options),
    }
}

fn serve(options: &PerfServeOptions) -> Result<()> {
    let session =
        Options { rate: options.rate, most_receive_bps: options.most_rate.unwrap_or(0), ..Options::default() };
    let (identity, token) = if options.insecure {
        (None, None)
    } else {
        (Some(Identity::load_or_create(&user_folder()?)?), Some(Token::fresh()?))
    };
    let listener = Listener::bind(options.bind, ListenerOptions { identity, token, session })?;
    let host = options.host.clone().unwrap_or_else(|| own_host(listener.local_addr()));
    let url = listener.url(&host, "perf").to_string();
    if options.json {
        println!("{}", serde_json::json!({ "url": url }));
    } else {
        println!("{url}");
    }
    std::io::stdout().flush()?;
    while !STOP.load(Ordering::Relaxed) {
        let Some(session) = listener.accept(Duration::from_millis(200))? else { continue };
        let outcome = serve_one(&session, options.rate, options.json);
        if let Err(cause) = &outcome {
            eprintln!("visapult: measurement failed: {cause:#}");
        }
        linger(&session);
        if options.once {
            return outcome;
        }
    }
    Ok(())
}

fn serve_one(session: &Session, rate: Rate, json: bool) -> Result<()> {
    let Some(request) = Request::from_text(session.request()) else {
        bail!("the dialler does not want a measurement");
    };
    let report = if request.reverse {
        perf::send(session, request.amount, request.mode, rate, &STOP, |_| {})?
    } else {
        perf::receive(session, &STOP)?
    };
    let bytes = report.bytes;
    if json {
        println!("{}", serde_json::json!({ "bytes": bytes, "reverse": request.reverse, "verified": report.verified }));
    } else if report.verified {
        println!("{} {bytes} bytes, verified", if request.reverse { "sent" } else { "received" });
    }
    verified(&report)
}

fn verified(report: &Report) -> Result<()> {
    if !report.verified {
        bail!("content did not verify: {}", report.faults.first().map_or("", String::as_str));
    }
    Ok(())
}

/// The dialler ends the session.
fn linger(session: &Session) {
    for _ in 0..100 {
        if !session.is_alive() || STOP.load(Ordering::Relaxed) {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The address that others may reach this machine at: what it listens on, or the first address of its own that fits.
fn own_host(local: SocketAddr) -> String {
    if !local.ip().is_unspecified() {
        return local.ip().to_string();
    }
    let fits = |ip: &IpAddr| !ip.is_loopback() && (local.is_ipv6() || ip.is_ipv4());
    let addresses = if_addrs::get_if_addrs().unwrap_or_default();
    let own = addresses.iter().filter(|found| !found.is_link_local()).map(if_addrs::Interface::ip).find(fits);
    own.map_or_else(|| "127.0.0.1".to_owned(), |ip| ip.to_string())
}

fn send(options: &PerfSendOptions) -> Result<()> {
    let amount = options.bytes.map_or(Amount::Time(options.time.unwrap_or(DEFAULT_TIME)), Amount::Bytes);
    let request = Request::new(amount, options.mode, options.reverse);
    let session_options = Options {
        rate: options.rate,
        lanes: options.lanes,
        // In reverse, the rate that is asked for is the most that is taken.
        most_receive_bps: match options.rate {
            Rate::Fixed(bps) if options.reverse => bps,
            _ => 0,
        },
        mtu: options.mtu.0,
        transport: options.transport.transport(),
        request: request.to_text(),
        ..Options::default()
    };
    let trust = if options.url.fingerprint.is_none() && options.url.token.is_none() {
        Trust::InsecureLoopback
    } else {
        Trust::for_url(&options.url)?
    };
    let session = Session::dial(&options.url, &trust, None, &session_options)?;
    if options.reverse {
        let report = perf::receive(&session, &STOP)?;
        return tell(options, &report);
    }
    let show = std::io::stderr().is_terminal();
    let report = perf::send(&session, amount, options.mode, options.rate, &STOP, |progress| {
        if show {
            eprint!("\r{}\x1b[K", progress_line(progress));
        }
    })?;
    if show {
        eprint!("\r\x1b[K");
    }
    tell(options, &report)
}

fn tell(options: &PerfSendOptions, report: &Report) -> Result<()> {
    if let Some(path) = &options.json {
        write_json(path, report)?;
    }
    if options.json.as_deref() != Some(Path::new("-")) {
        println!("{}", summary(report));
    }
    verified(report)
}

fn write_json(path: &Path, report: &Report) -> Result<()> {
    let json = serde_json::to_string_pretty(report)? + "\n";
    if path == Path::new("-") {
        print!("{json}");
        return Ok(());
    }
    std::fs::write(path, json).with_context(|| format!("cannot write {}", path.display()))
}

fn progress_line(progress: &Progress) -> String {
    let sent = progress.statistics.sent();
    let lane = progress.statistics.lanes.first().cloned().unwrap_or_default();
    let rate: u64 = progress.statistics.lanes.iter().map(|lane| lane.rate_bps).sum();
    format!(
        "{:5.1} s  {:8.1} MB  rate {}  loss {:.3} %  RTT {:.1} ms  repaired {:.1} MB",
        progress.elapsed.as_secs_f64(),
        progress.arrived as f64 * 1e-6,
        bits(rate as f64),
        100.0 * sent.lost as f64 / (sent.lost + sent.arrived).max(1) as f64,
        lane.rtt.smooth().as_secs_f64() * 1e3,
        sent.resent_bytes as f64 * 1e-6,
    )
}

fn summary(report: &Report) -> String {
    let loss = 100.0 * report.datagrams_lost as f64 / report.datagrams.max(1) as f64;
    format!(
        "{} over {:.2} s ({:.1} MB, {}), {:?}, loss {loss:.3} %, repaired {:.1} MB, RTT {:.2} / {:.2} / {:.2} ms, 90 % after {:.2} s, \
         CPU {:.2} + {:.2} s, limited by {}",
        bits(report.goodput_bps),
        report.seconds,
        report.bytes as f64 * 1e-6,
        if report.verified { "verified" } else { "WRONG" },
        report.transport,
        report.bytes_retransmitted as f64 * 1e-6,
        report.rtt_us.min as f64 * 1e-3,
        report.rtt_us.median as f64 * 1e-3,
        report.rtt_us.p99 as f64 * 1e-3,
        report.ramp_to_90_s,
        report.sender_cpu_s,
        report.receiver_cpu_s,
        report.limited_by,
    )
}

fn bits(bps: f64) -> String {
    if bps >= 1e9 { format!("{:.3} Gbit/s", bps * 1e-9) } else { format!("{:.1} Mbit/s", bps * 1e-6) }
}
