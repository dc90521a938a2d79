//! `visapult doctor`: what slows this host and a path down, and what mends it.

mod mend;

use std::net::{IpAddr, ToSocketAddrs};
use std::process::ExitCode;

use anyhow::{Context, Result};
use visapult_doctor::{
    Compared, Findings, Host, Path, Report, Roots, disk_speed, interface_is_there, judge_disk, judge_no_path,
    judge_path,
};
use visapult_ripp_net::{Identity, RippUrl, Trust, user_folder};

use crate::arguments::DoctorOptions;
use crate::say::{say, tell, with_causes};

const FOUND: u8 = 1;
const CANNOT_LOOK: u8 = 2;

pub(crate) fn run(options: &DoctorOptions) -> ExitCode {
    look(options).unwrap_or_else(|problem| {
        tell(&with_causes(&problem));
        CANNOT_LOOK.into()
    })
}

fn look(options: &DoctorOptions) -> Result<ExitCode> {
    if options.undo {
        return mend::undo(options).map(|()| ExitCode::SUCCESS);
    }
    let report = examine(options, options.rate)?;
    if options.fix {
        report.commands().iter().for_each(|command| say(command));
    } else if options.json {
        say(&report.to_json());
    } else {
        say(report.to_string().trim_end());
    }
    let failed = if options.apply { mend::apply(options, &report)? } else { None };
    let Some(failed) = failed else { return Ok(code(&report, 0)) };
    let after = examine(options, Some(report.asked_bps))?;
    say(&format!("\n{}", Compared { before: &report, after: &after }.to_string().trim_end()));
    Ok(code(&after, failed))
}

/// What is told to scripts, where so many commands have failed: a path that nothing is known of is no good one.
fn code(report: &Report, failed: usize) -> ExitCode {
    match report {
        Report { no_path: Some(_), .. } => CANNOT_LOOK.into(),
        Report { findings, .. } if failed == 0 && findings.is_empty() => ExitCode::SUCCESS,
        _ => FOUND.into(),
    }
}

/// Looks at the host, and along the path if there is one, at this rate or what those are good for.
fn examine(options: &DoctorOptions, asked_bps: Option<u64>) -> Result<Report> {
    let roots = Roots::at(&options.root);
    if let Some(name) = &options.interface {
        interface_is_there(&roots, name)?;
    }
    let mut findings = Findings::default();
    let path = options.url.as_ref().map(|url| measure(url, asked_bps, &mut findings)).transpose()?.flatten();
    let peer = path.as_ref().map(|path| path.peer.ip()).or_else(|| options.url.as_ref().and_then(address));
    // A host is good enough for a path if it can do what that carries.
    let asked_bps = asked_bps.or(path.as_ref().and_then(Path::carries_bps));
    let host = Host::new(roots, options.interface.clone(), peer, asked_bps);
    findings.merge(host.examine());
    if let Some(path) = &path {
        host.judge_streams(path, &mut findings);
    }
    if let Some(folder) = &options.disk {
        let speed = disk_speed(folder).with_context(|| format!("cannot measure the disk of {}", folder.display()))?;
        judge_disk(folder, speed, host.asked_bps(), &mut findings);
    }
    Ok(Report::new(host.asked_bps(), host.interface(), path.as_ref(), findings))
}

fn measure(url: &RippUrl, asked_bps: Option<u64>, findings: &mut Findings) -> Result<Option<Path>> {
    let is_plain = url.token.is_none() && url.fingerprint.is_none();
    let trust = if is_plain { Trust::InsecureLoopback } else { Trust::for_url(url)? };
    let shows = url.token.is_none() && !is_plain;
    let identity = shows.then(|| Identity::load_or_create(&user_folder()?)).transpose()?;
    Ok(match Path::measure(url, &trust, identity.as_ref()) {
        Ok(path) => {
            judge_path(&path, asked_bps, findings);
            Some(path)
        }
        Err(no_path) => {
            judge_no_path(&no_path, url, findings);
            None
        }
    })
}

fn address(url: &RippUrl) -> Option<IpAddr> {
    (url.host.as_str(), url.port).to_socket_addrs().ok()?.next().map(|at| at.ip())
}
