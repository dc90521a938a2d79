//! What streams would do, where no datagrams come through.

use super::Host;
use super::buffers::{file, power_of_two};
use crate::change::Change;
use crate::finding::{Finding, Findings};
use crate::text::{rate, size, time};

const NAME: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
/// Made for other things than filling long paths, or long superseded there.
const SLOW: [&str; 8] = ["reno", "vegas", "veno", "westwood", "lp", "nv", "cdg", "hybla"];

pub(super) fn check(host: &Host, findings: &mut Findings) {
    let Ok(control) = host.roots.read(NAME) else {
        return findings.unseen("TCP's congestion control", format!("{NAME} is not to be read"));
    };
    if !SLOW.contains(&control.as_str()) {
        return findings.fine();
    }
    let available = host.roots.read("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    let better = ["bbr", "cubic"]
        .into_iter()
        .find(|good| available.split_whitespace().any(|one| one == *good))
        .unwrap_or("cubic");
    findings.add(
        Finding::new("congestion-control", "TCP's congestion control", format!("TCP is controlled by `{control}`"))
            .cost(format!(
                "no harm to datagrams; but where UDP is blocked data moves over TCP, and one lost packet then costs a stream of {control} half of its \
                 rate for many round trips: minutes at 1 Gbit/s and 80 ms"
            ))
            .better(format!("`{better}`"))
            .change(Change::file(NAME, better)),
    );
}

/// Of a connection's buffer the kernel keeps this part for its own overhead, round.
const OVERHEAD: f64 = 0.5;

/// Whether so many streams can have a path's round trip under way.
pub(super) fn check_streams(host: &Host, rtt_s: f64, streams: usize, findings: &mut Findings) {
    for (name, end) in [("net.ipv4.tcp_rmem", "receives"), ("net.ipv4.tcp_wmem", "sends")] {
        let told = host.roots.read(&file(name)).ok();
        let sizes: Option<Vec<u64>> =
            told.map(|text| text.split_whitespace().filter_map(|word| word.parse().ok()).collect());
        let Some(&[least, first, most]) = sizes.as_deref() else {
            findings.unseen(name, "not to be read");
            continue;
        };
        let held = |bytes: u64| streams as f64 * bytes as f64 * OVERHEAD * 8.0 / rtt_s;
        let wanted = power_of_two(most as f64 * host.wanted() / held(most)).max(most);
        let finding = Finding::new("stream-buffers", "TCP's buffers", format!("{name} ends at {}", size(most as f64)))
            .cost(format!(
                "data moves over {streams} TCP streams here, and what is under way in a round trip of {} has to fit: this machine {end} {} at most",
                time(rtt_s), rate(held(most))
            ))
            .better(format!("UDP let through, which has no such bound; or {} for {}", size(wanted as f64), rate(held(wanted))))
            .change(Change::sysctl(name, format!("{least} {first} {wanted}")))
            .limit(held(most));
        findings.judge(host.wanted(), finding);
    }
}
