//! How much of UDP's datagrams the kernel keeps while nobody reads or sends.

use super::Host;
use super::costs::{INTERRUPT_PAUSE_S, READER_PAUSE_S, SENDER_PAUSE_S};
use crate::change::Change;
use crate::finding::{Finding, Findings};
use crate::text::{rate, size, time};

const PAGE: f64 = 4096.0;
/// What a socket is granted is doubled by the kernel for its own overhead, which takes the other half: the setting is about what it holds.
const ROOM: f64 = 2.0;

pub(super) fn check(host: &Host, findings: &mut Findings) {
    receive_buffer(host, findings);
    send_buffer(host, findings);
    udp_memory(host, findings);
    backlog(host, findings);
}

fn receive_buffer(host: &Host, findings: &mut Findings) {
    let Some(bytes) = setting(host, "net.core.rmem_max", findings) else { return };
    let holds_s = bytes * 8.0 / host.wanted();
    let limit = bytes * 8.0 / READER_PAUSE_S;
    let wanted = power_of_two(ROOM * host.wanted() / 8.0 * READER_PAUSE_S);
    let finding = Finding::new("receive-buffer", "UDP's receive buffer", format!("net.core.rmem_max is {}", size(bytes)))
        .cost(format!(
            "it holds {} of {}: what arrives in a longer pause of the receiving program is lost; pauses of {} are common, which it outlasts up to {}",
            time(holds_s), rate(host.wanted()), time(READER_PAUSE_S), rate(limit)
        ))
        .better(format!("{} holds {}", size(wanted as f64), time(wanted as f64 * 8.0 / host.wanted())))
        .change(Change::sysctl("net.core.rmem_max", wanted))
        .limit(limit);
    findings.judge(host.wanted(), finding);
}

fn send_buffer(host: &Host, findings: &mut Findings) {
    let Some(bytes) = setting(host, "net.core.wmem_max", findings) else { return };
    let limit = bytes * 8.0 / SENDER_PAUSE_S;
    let wanted = power_of_two(ROOM * host.wanted() / 8.0 * SENDER_PAUSE_S);
    let finding = Finding::new("send-buffer", "UDP's send buffer", format!("net.core.wmem_max is {}", size(bytes)))
        .cost(format!(
            "it is sent empty in {} at {}, sooner than a sending program wakes again ({}): the line idles in between",
            time(bytes * 8.0 / host.wanted()),
            rate(host.wanted()),
            time(SENDER_PAUSE_S)
        ))
        .better(format!("{} lasts {}", size(wanted as f64), time(wanted as f64 * 8.0 / host.wanted())))
        .change(Change::sysctl("net.core.wmem_max", wanted))
        .limit(limit);
    findings.judge(host.wanted(), finding);
}

/// Pages for all UDP sockets together: least, where it gets tight, most.
fn udp_memory(host: &Host, findings: &mut Findings) {
    const NAME: &str = "net.ipv4.udp_mem";
    let told = host.roots.read(&file(NAME)).ok();
    let pages: Option<Vec<f64>> =
        told.map(|text| text.split_whitespace().filter_map(|word| word.parse().ok()).collect());
    let Some(&[least, tight, most]) = pages.as_deref() else {
        return findings.unseen(NAME, "not to be read");
    };
    let bytes = most * PAGE;
    // Kernel overhead, too, and two sockets at least.
    let limit = bytes * 8.0 / (2.0 * ROOM * READER_PAUSE_S);
    let pages = power_of_two(4.0 * ROOM * host.wanted() / 8.0 * READER_PAUSE_S / PAGE);
    let value = format!("{} {} {}", least.max(pages as f64 / 2.0), tight.max(pages as f64 * 0.75), pages);
    let finding = Finding::new(
        "udp-memory",
        "memory of all UDP sockets",
        format!("{NAME} ends at {most} pages ({})", size(bytes)),
    )
    .cost(format!(
        "all sockets together lose what exceeds it: two of them outlast a pause of {} up to {}",
        time(READER_PAUSE_S),
        rate(limit)
    ))
    .better(format!("{} for all of them", size(pages as f64 * PAGE)))
    .change(Change::sysctl(NAME, value))
    .limit(limit);
    findings.judge(host.wanted(), finding);
}

fn backlog(host: &Host, findings: &mut Findings) {
    const NAME: &str = "net.core.netdev_max_backlog";
    let Some(packets) = setting(host, NAME, findings) else { return };
    let limit = packets * host.mtu as f64 * 8.0 / INTERRUPT_PAUSE_S;
    let wanted = power_of_two(2.0 * INTERRUPT_PAUSE_S * host.wanted() / 8.0 / host.mtu as f64).max(1024);
    let finding = Finding::new("backlog", "packets waiting for a core", format!("{NAME} is {packets} packets"))
        .cost(format!(
            "where packets are handed to another core (RPS, tunnels, containers) it holds {} of {}; what comes before the core wakes is lost",
            time(packets * host.mtu as f64 * 8.0 / host.wanted()), rate(host.wanted())
        ))
        .better(format!("{wanted} packets"))
        .change(Change::sysctl(NAME, wanted))
        .limit(limit);
    findings.judge(host.wanted(), finding);
}

fn setting(host: &Host, name: &str, findings: &mut Findings) -> Option<f64> {
    let number = host.roots.number(&file(name));
    if number.is_none() {
        findings.unseen(name, "not to be read");
    }
    number.map(|number| number as f64)
}

pub(super) fn file(name: &str) -> String {
    format!("/proc/sys/{}", name.replace('.', "/"))
}

pub(super) fn power_of_two(least: f64) -> u64 {
    (least.clamp(1.0, 1e15) as u64).next_power_of_two()
}
