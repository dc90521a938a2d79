//! What the time is read from.

use std::hint::black_box;
use std::time::Instant;

use super::Host;
use super::costs::CLOCK_SHARE;
use crate::change::Change;
use crate::finding::{Finding, Findings};
use crate::text::{rate, time};

const FOLDER: &str = "/sys/devices/system/clocksource/clocksource0";
const GOOD: [&str; 5] = ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "stp"];
const READS: u32 = 2_000;

pub(super) fn check(host: &Host, findings: &mut Findings) {
    let Ok(name) = host.roots.read(&format!("{FOLDER}/current_clocksource")) else {
        return findings.unseen("clock source", format!("{FOLDER} is not to be read"));
    };
    if GOOD.contains(&name.as_str()) {
        return findings.fine();
    }
    let read_s = cost_of_reading(host, &name);
    // The kernel stamps every packet; half of the host's own share is for that.
    let limit = CLOCK_SHARE / read_s * host.mtu as f64 * 8.0;
    let available = host.roots.read(&format!("{FOLDER}/available_clocksource")).unwrap_or_default();
    let better = GOOD.into_iter().find(|good| available.split_whitespace().any(|one| one == *good));
    let finding = Finding::new("clock-source", "the clock", format!("the time is read from {name}"))
        .cost(format!(
            "a reading takes about {}, and every packet is stamped with one: a tenth of a core at {}",
            time(read_s),
            rate(limit)
        ))
        .limit(limit);
    let finding = match better {
        Some(better) => finding.better(format!("{better}, which is read in some 30 ns")).change(Change::file(format!("{FOLDER}/current_clocksource"), better)),
        None => finding
            .better("tsc, which this kernel does not offer: it has found it unsteady (dmesg), or runs in a virtual machine that hides it")
            .by_hand("dmesg | grep -i -e tsc -e clocksource"),
    };
    findings.judge(host.wanted(), finding);
}

/// Measured on this host; of one in a picture, what is usual.
fn cost_of_reading(host: &Host, name: &str) -> f64 {
    if host.roots.is_live() {
        let began = Instant::now();
        for _ in 0..READS {
            black_box(Instant::now());
        }
        return began.elapsed().as_secs_f64() / f64::from(READS);
    }
    match name {
        "acpi_pm" => 3e-6,
        "hpet" => 1.2e-6,
        _ => 1e-6,
    }
}
