//! The process in the background: makes the namespaces, carries packets, and removes the namespaces.

use std::fs;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::channel;
use std::thread;

use anyhow::{Context, Result};
use visapult_testbed::control::{self, Answer, Server};
use visapult_testbed::emulator::{Emulator, Ended, Start, bell};
use visapult_testbed::namespaces::{self, Side};
use visapult_testbed::settings::Settings;
use visapult_testbed::tun::{self, Offload};

use crate::arguments::UpOptions;

/// Carries packets until told to stop.
pub(crate) fn carry(options: &UpOptions) -> Result<()> {
    // Fails only for a leader of a process group, which has its own session anyway.
    let _ = rustix::process::setsid();
    let name = &options.named.name;
    let start = start(options)?;
    let result = joined(options, start);
    let removed = namespaces::remove(name);
    let _ = fs::remove_file(control::socket(name));
    let answer = result?;
    removed?;
    // Nobody misses a log without a line.
    let log = control::log(name);
    if fs::metadata(&log).is_ok_and(|log| log.len() == 0) {
        let _ = fs::remove_file(log);
    }
    if let Some((mut stream, answer)) = answer {
        control::send(&mut stream, &answer);
    }
    Ok(())
}

fn start(options: &UpOptions) -> Result<Start> {
    let mut settings = Settings::default();
    for change in options.link.changes()? {
        settings.apply(&change.parse()?);
    }
    settings.check()?;
    let scheduled = options.link.scheduled()?.iter().map(|entry| entry.parse()).collect::<Result<_, _>>()?;
    Ok(Start { name: options.named.name.clone(), settings, scheduled, seed: options.seed, limit: options.limit })
}

fn joined(options: &UpOptions, start: Start) -> Result<Option<(UnixStream, Answer)>> {
    let name = options.named.name.clone();
    let make = |side| namespaces::create(&name, side, options.mtu, !options.no_offload);
    let (left, offload) = make(Side::Left)?;
    let (right, _) = make(Side::Right)?;
    let listener = control::listen(&name).context("cannot listen for wan stats and wan down")?;
    let (orders, received) = channel();
    let bell = bell()?;
    let line = ready_line(&start, options, offload);
    let emulator = Emulator::new(start, [left, right], received, bell.clone());
    let server = Server { name, listener, orders, bell };
    let down = thread::spawn(move || server.run());
    if !tun::run_first() {
        eprintln!("wan: may not run before other programs; expect more lateness");
    }
    println!("{line}");
    std::io::stdout().flush()?;
    Ok(match emulator.run() {
        Ended::Told => down.join().ok().flatten(),
        // The server waits for the next request, and ends with the process.
        Ended::TimeOver => None,
    })
}

fn ready_line(start: &Start, options: &UpOptions, offload: Offload) -> String {
    let (direction, queue) = (&start.settings.to_right, start.settings.queue_bytes(&start.settings.to_right));
    let round_trip = start.settings.to_right.delay + start.settings.to_left.delay;
    format!(
        "{}: up. left {}, right {}, {} Mbit/s, RTT {:?}, loss {} %, queue {} bytes, MTU {}{}",
        start.name,
        Side::Left.address(),
        Side::Right.address(),
        direction.rate.0 as f64 / 1e6,
        round_trip,
        direction.loss.0 * 100.0,
        queue,
        options.mtu,
        match offload {
            Offload::Segmentation => "",
            Offload::TcpOnly => ", no offload for UDP",
            Offload::None => ", no offload",
        }
    )
}
