//! `visapult perf`: what a path between two machines carries.

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use visapult_ripp_net::perf::{self, Amount, Progress, Report, Request};
use visapult_ripp_net::{
    Authorities, Clients, Identity, Listener, ListenerOptions, Mode, Options, Service, Session, Token, Transport,
    Trust, user_folder,
};

use crate::arguments::{PerfSendOptions, PerfServeOptions, PerfSide};
use crate::output_file::{Output, check_writable, is_output, write_whole};
use crate::say::{say, say_in_place, tell, with_causes};
use crate::stop::on_signal;

/// Measurements of a path.
const PERF: Service = Service { name: "perf", printed_by: "visapult perf serve", taken_by: "visapult perf send" };

const DEFAULT_TIME: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(100);

/// How long a measurement that comes while another ends is kept waiting.
const TURN_PATIENCE: Duration = Duration::from_secs(1);
const BUSY: &str = "busy with another measurement; try again when that is over";
const NO_THREAD: &str = "no thread for the measurement could be had";
/// What a program returns that was interrupted, as shells have it.
const INTERRUPTED: u8 = 130;

/// Set when the user wants to stop.
static STOP: AtomicBool = AtomicBool::new(false);
/// Set while somebody looks at [`STOP`].
static LOOKED_AT: AtomicBool = AtomicBool::new(false);

pub(crate) fn run(side: &PerfSide) -> Result<ExitCode> {
    on_signal(|| {
        // Asked twice, it does not wait.
        if STOP.swap(true, Ordering::Relaxed) || !LOOKED_AT.load(Ordering::Relaxed) {
            std::process::exit(INTERRUPTED.into());
        }
    })?;
    match side {
        PerfSide::Identity => {
            say(&own_identity(None)?.fingerprint().to_string());
            Ok(ExitCode::SUCCESS)
        }
        PerfSide::Serve(options) => serve(options),
        PerfSide::Send(options) => match send(options) {
            Err(cause) if is_stopped() => {
                tell(&with_causes(&cause));
                Ok(exit_code())
            }
            outcome => outcome.map(|()| exit_code()),
        },
    }
}

fn is_stopped() -> bool {
    STOP.load(Ordering::Relaxed)
}

fn exit_code() -> ExitCode {
    if is_stopped() { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS }
}

/// Serves until it is stopped, which is how it ends in order where no measurement is under way.
fn serve(options: &PerfServeOptions) -> Result<ExitCode> {
    let listener = listen(options)?;
    LOOKED_AT.store(true, Ordering::Relaxed);
    let host = options.host.clone().unwrap_or_else(|| visapult_ripp_net::own_host(listener.local_addr()));
    let url = listener.url(&host, "perf").to_string();
    if options.json {
        say(&serde_json::json!({ "url": url }).to_string());
    } else {
        say(&url);
    }
    let mut waiting = None;
    while !is_stopped() {
        let Some(session) = waiting.take().map_or_else(|| listener.accept(POLL), |session| Ok(Some(session)))? else {
            continue;
        };
        let (outcome, next) = thread::scope(|scope| {
            let measure = || {
                let outcome = serve_one(&session, options);
                linger(&session);
                outcome
            };
            let measurement = match thread::Builder::new().spawn_scoped(scope, measure) {
                Ok(measurement) => measurement,
                Err(cause) => {
                    session.end_because(NO_THREAD);
                    return (Ok(Err(anyhow!("{NO_THREAD}: {cause}"))), Ok(None));
                }
            };
            let next = turn_away_others(&listener, || measurement.is_finished());
            (measurement.join(), next)
        });
        let outcome = outcome.unwrap_or_else(|_| Err(anyhow!("the measurement failed in a way that is a bug")));
        waiting = next?;
        if let Err(cause) = outcome {
            tell(&format!("measurement failed: {}", with_causes(&cause)));
            if options.once || is_stopped() {
                return Ok(if is_stopped() { ExitCode::from(INTERRUPTED) } else { ExitCode::FAILURE });
            }
        } else if options.once {
            break;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn listen(options: &PerfServeOptions) -> Result<Listener> {
    let session = Options {
        rate: options.rate,
        most_receive_bps: options.most_rate.unwrap_or(0),
        local: options.local.clone(),
        memory: options.memory,
        service: Some(PERF),
        ..Options::default()
    };
    let authorities = options.ca.as_deref().map(Authorities::from_file).transpose()?;
    let clients = Clients { known: options.trust.clone(), authorities, ..Clients::default() };
    let (identity, token) = if options.insecure {
        (None, None)
    } else {
        let token = if clients.is_empty() { Some(Token::fresh()?) } else { None };
        (Some(own_identity(options.identity.as_deref())?), token)
    };
    Ok(Listener::bind(options.bind, ListenerOptions { identity, token, clients, session })?)
}

fn own_identity(file: Option<&Path>) -> Result<Identity> {
    Ok(file.map_or_else(|| Identity::load_or_create(&user_folder()?), Identity::from_file)?)
}

/// One measurement at a time: two would measure one another. Returns who came just before this one was over.
fn turn_away_others(listener: &Listener, is_over: impl Fn() -> bool) -> Result<Option<Session>> {
    while !is_over() {
        let Some(other) = listener.accept(POLL)? else { continue };
        let deadline = Instant::now() + TURN_PATIENCE;
        while !is_over() && Instant::now() < deadline {
            thread::sleep(POLL / 10);
        }
        if is_over() {
            return Ok(Some(other));
        }
        other.end_because(BUSY);
    }
    Ok(None)
}

fn serve_one(session: &Session, options: &PerfServeOptions) -> Result<()> {
    let Some(request) = Request::from_text(session.request()) else {
        session.end_because(&PERF.to_string());
        bail!("the dialler does not want a measurement");
    };
    let Request { amount, mode, .. } = request;
    let report = shown(|show| {
        if request.reverse {
            perf::send(session, amount, mode, &STOP, show)
        } else {
            perf::receive(session, &STOP, show)
        }
    })?;
    if options.json {
        let (bytes, verified) = (report.bytes, report.verified);
        say(&serde_json::json!({ "bytes": bytes, "reverse": request.reverse, "verified": verified }).to_string());
    } else if report.verified {
        say(&format!(
            "{} {} bytes, {}",
            if request.reverse { "sent" } else { "received" },
            report.bytes,
            content(&report)
        ));
    }
    verified(&report)
}

/// What is known of the content that arrived.
fn content(report: &Report) -> &'static str {
    match report {
        Report { verified: false, .. } => "WRONG",
        Report { bytes: 0, .. } => "nothing to verify",
        _ => "verified",
    }
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
        if is_stopped() || session.wait_ended(POLL / 10) {
            return;
        }
    }
}

fn send(options: &PerfSendOptions) -> Result<()> {
    let amount = options.bytes.map_or(Amount::Time(options.time.unwrap_or(DEFAULT_TIME)), Amount::Bytes);
    options.json.iter().try_for_each(|path| check_writable(path, &[""; 0], Output::Report))?;
    let session = dial(options, amount)?;
    LOOKED_AT.store(true, Ordering::Relaxed);
    let outcome = shown(|show| {
        if options.reverse {
            perf::receive(&session, &STOP, show)
        } else {
            perf::send(&session, amount, options.mode, &STOP, show)
        }
    });
    // If it failed because there was no session, that is the reason to be told.
    session.admitted()?;
    let report = outcome?;
    // What was measured is not lost with a file that takes no more.
    if !options.json.as_deref().is_some_and(is_output) {
        say(&summary(&report, options.reverse));
    }
    if let Some(path) = &options.json {
        let json = serde_json::to_string_pretty(&report)?;
        write_whole(path, |out| writeln!(out, "{json}"))?;
    }
    verified(&report)?;
    if report.bytes == 0 && !is_stopped() {
        bail!(why_nothing(&report, options.mode));
    }
    Ok(())
}

/// Why no object is told to have come.
fn why_nothing(report: &Report, mode: Mode) -> String {
    let trip = format!("(round trip {:.1} ms)", report.rtt_us.min as f64 * 1e-3);
    let some_came = report.bytes_per_100_ms.iter().any(|&bytes| bytes > 0);
    match mode {
        Mode::Deadline(_) => format!("nothing arrived in time: the deadline is too short for this path {trip}"),
        _ if some_came => format!(
            "no object arrived whole: the time was too short for one on this path {trip}; say --time 2s or more"
        ),
        _ => format!("nothing arrived: the time was too short for this path {trip}; say --time 2s or more"),
    }
}

fn dial(options: &PerfSendOptions, amount: Amount) -> Result<Session> {
    let session = Options {
        mtu: options.mtu.0,
        memory: options.memory,
        service: Some(PERF),
        request: Request::new(amount, options.mode, options.reverse).to_text(),
        ..options.path.session(options.reverse)
    };
    let trust = trust(options)?;
    let shows = options.identity.is_some() || options.url.token.is_none() && !matches!(trust, Trust::InsecureLoopback);
    let identity = if shows { Some(own_identity(options.identity.as_deref())?) } else { None };
    Ok(Session::begin(&options.url, &trust, identity.as_ref(), &session)?)
}

/// A URL that names nobody is one of `serve --insecure`, unless a certificate is to be shown or believed.
fn trust(options: &PerfSendOptions) -> Result<Trust> {
    Ok(match (&options.url.fingerprint, &options.ca) {
        (None, Some(file)) => Trust::Authorities(Authorities::from_file(file)?),
        (None, None) if options.url.token.is_none() && options.identity.is_none() => Trust::InsecureLoopback,
        _ => Trust::for_url(&options.url)?,
    })
}

/// Does `work`, and shows what it tells meanwhile where somebody looks.
fn shown<T>(work: impl FnOnce(&mut dyn FnMut(&Progress)) -> T) -> T {
    if !std::io::stderr().is_terminal() {
        return work(&mut |_| {});
    }
    let outcome = work(&mut |progress| say_in_place(&progress_line(progress)));
    say_in_place("");
    outcome
}

fn progress_line(progress: &Progress) -> String {
    let rtt = progress.rtt.map_or_else(|| "-".to_owned(), |rtt| format!("{:.1} ms", rtt.as_secs_f64() * 1e3));
    format!(
        "{:.0} s, {:.0} MB, rate {}, loss {:.3} %, RTT {rtt}, repaired {:.1} MB",
        progress.elapsed.as_secs_f64(),
        progress.arrived as f64 * 1e-6,
        bits(progress.rate_bps),
        100.0 * progress.loss,
        progress.repaired as f64 * 1e-6,
    )
}

fn summary(report: &Report, reverse: bool) -> String {
    let loss = 100.0 * report.datagrams_lost as f64 / report.datagrams.max(1) as f64;
    format!(
        "{}{} over {:.2} s ({:.1} MB, {}), {}, loss {loss:.3} %, repaired {:.1} MB, RTT {:.2} / {:.2} / {:.2} ms, 90 % after {:.2} s, \
         CPU {:.2} + {:.2} s, limited by {}",
        if reverse { "received " } else { "" },
        bits(report.goodput_bps),
        report.seconds,
        report.bytes as f64 * 1e-6,
        content(report),
        match report.transport {
            Transport::Udp => "UDP",
            Transport::Tcp => "TCP",
        },
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
    match bps {
        1e9.. => format!("{:.3} Gbit/s", bps * 1e-9),
        1e6.. => format!("{:.1} Mbit/s", bps * 1e-6),
        _ => format!("{:.1} kbit/s", bps * 1e-3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_blamed_only_where_there_was_one() {
        let report = |per_100_ms: &str| -> Report {
            let rest = r#""goodput_bps":1,"bytes":0,"wire_bytes":1,"datagrams":1,"datagrams_lost":0,"bytes_lost":0,"bytes_retransmitted":0,
                "rtt_us":{"min":80100,"median":1,"p99":1},"ramp_to_90_s":1,"seconds":1,"setup_s":1,"sender_cpu_s":1,"receiver_cpu_s":1,
                "rate_error_ppm":null,"limited_by":"link","limits":[],"transport":"udp","datagram":1472,"lanes":1"#;
            serde_json::from_str(&format!(
                r#"{{"verified":true,"faults":[],{rest},"bytes_per_100_ms":[{per_100_ms}]}}"#
            ))
            .unwrap()
        };
        let part = why_nothing(&report("90000"), Mode::Reliable);
        assert!(
            part.contains("no object arrived whole") && part.contains("80.1 ms") && !part.contains("deadline"),
            "{part}"
        );
        for mode in [Mode::Reliable, Mode::Lossy] {
            let nothing = why_nothing(&report(""), mode);
            assert!(nothing.starts_with("nothing arrived: the time") && !nothing.contains("deadline"), "{nothing}");
        }
        assert_eq!(content(&report("90000")), "nothing to verify");
        let late = why_nothing(&report("90000"), Mode::Deadline(Duration::from_millis(50)));
        assert!(late.contains("nothing arrived") && late.contains("deadline"), "{late}");
    }

    #[test]
    fn content_that_does_not_verify_is_a_failure() {
        let report = |faults: &str| -> Report {
            let rest = r#""goodput_bps":1,"bytes":1,"wire_bytes":1,"datagrams":1,"datagrams_lost":0,"bytes_lost":0,"bytes_retransmitted":0,
                "rtt_us":{"min":1,"median":1,"p99":1},"ramp_to_90_s":1,"seconds":1,"setup_s":1,"sender_cpu_s":1,"receiver_cpu_s":1,
                "rate_error_ppm":null,"limited_by":"link","limits":[],"transport":"udp","datagram":1472,"lanes":1,"bytes_per_100_ms":[]"#;
            serde_json::from_str(&format!(r#"{{"verified":{},"faults":[{faults}],{rest}}}"#, faults.is_empty()))
                .unwrap()
        };
        assert!(verified(&report("")).is_ok());
        assert_eq!([content(&report("")), content(&report(r#""late""#))], ["verified", "WRONG"]);
        let told = verified(&report(r#""object 0: wrong content""#)).unwrap_err().to_string();
        assert!(told.contains("did not verify: object 0"), "{told}");
    }
}
