//! What streams would do, where no datagrams come through.

use super::Host;
use crate::change::Change;
use crate::finding::{Finding, Findings};

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
