//! What a process may have: files and memory.

use super::Host;
use super::cgroup::least_limit;
use crate::finding::{Finding, Findings};
use crate::text::{rate, size};

/// Sockets of many lanes, and the files and folders of a copy under way.
const LEAST_FILES: i64 = 256;
/// Data that is held at one time, in seconds of the rate: buffers of sockets, and objects under way.
const HELD_S: f64 = 0.3;

pub(super) fn check(host: &Host, findings: &mut Findings) {
    open_files(host, findings);
    memory(host, findings);
}

fn open_files(host: &Host, findings: &mut Findings) {
    let limits = host.roots.read("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().next().map(|word| word.parse::<i64>().unwrap_or(i64::MAX)));
    let Some(soft) = soft else { return findings.unseen("limit of open files", "/proc/self/limits does not tell") };
    if soft >= LEAST_FILES {
        return findings.fine();
    }
    findings.add(
        Finding::new("open-files", "the limit of open files", format!("a process may open {soft} files (ulimit -n)"))
            .cost("lanes are sockets and copies hold files and folders open: beyond it sessions are refused and files are not copied")
            .better("1024 or more")
            .by_hand("ulimit -n 4096"),
    );
}

fn memory(host: &Host, findings: &mut Findings) {
    match memory_of_cgroup(host) {
        Err(why) => findings.unseen("memory limit of the container", why),
        Ok(None) => findings.fine(),
        Ok(Some(bytes)) => {
            let limit = bytes * 8.0 / HELD_S;
            let wanted = host.wanted() / 8.0 * HELD_S;
            let finding = Finding::new(
                "memory-limit",
                "the memory limit",
                format!("the control group may use {} (memory.max)", size(bytes)),
            )
            .cost(format!(
                "about {} is under way at {}; a process that needs more than its limit is killed, or swaps",
                size(wanted),
                rate(host.wanted())
            ))
            .better(format!("{} or more", size(2.0 * wanted)))
            .by_hand("docker update --memory SIZE CONTAINER, or systemctl set-property UNIT MemoryMax=SIZE")
            .limit(limit);
            findings.judge(host.wanted(), finding);
        }
    }
}

/// The least limit of all control groups of this process.
fn memory_of_cgroup(host: &Host) -> Result<Option<f64>, String> {
    least_limit(host, "memory", "memory.limit_in_bytes", |group, is_v2| {
        let file = if is_v2 { "memory.max" } else { "memory.limit_in_bytes" };
        // Version 1 writes a huge number where there is no limit.
        let limit = host.roots.number(&format!("{group}/{file}")).filter(|bytes| *bytes < 1 << 60);
        limit.map(|bytes| bytes as f64)
    })
}
