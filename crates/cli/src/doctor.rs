//! `visapult doctor`: what slows this host down, and what mends it.

use std::process::ExitCode;

use visapult_doctor::{Findings, Host, Report, Roots, disk_speed, judge_disk};

use crate::arguments::DoctorOptions;

const FOUND: u8 = 1;
const CANNOT_LOOK: u8 = 2;

pub(crate) fn run(options: &DoctorOptions) -> ExitCode {
    let host = Host::new(Roots::at(&options.root), options.interface.clone(), None, options.rate);
    let mut findings = host.examine();
    if let Some(folder) = &options.disk {
        match disk_speed(folder) {
            Ok(speed) => judge_disk(folder, speed, host.asked_bps(), &mut findings),
            Err(cause) => {
                eprintln!("visapult: cannot measure the disk of {}: {cause}", folder.display());
                return CANNOT_LOOK.into();
            }
        }
    }
    tell(options, &host, findings)
}

fn tell(options: &DoctorOptions, host: &Host, findings: Findings) -> ExitCode {
    let report = Report::new(host.asked_bps(), host.interface(), Vec::new(), findings);
    if options.fix {
        report.commands().iter().for_each(|command| println!("{command}"));
    } else if options.json {
        println!("{}", report.to_json());
    } else {
        print!("{report}");
    }
    if report.findings.is_empty() { ExitCode::SUCCESS } else { FOUND.into() }
}
