//! The network interface: packet size, offloads, rings, losses.

use visapult_ripp_net::LaneSocket;

use super::costs::{HEADERS, INTERRUPT_PAUSE_S, PACKET, UNCOALESCED_BPS, UNSEGMENTED_BPS};
use super::{ETHERNET_MTU, Host};
use crate::change::Change;
use crate::ethtool::{self, Feature};
use crate::finding::{Finding, Findings};
use crate::text::{rate, share, time};

/// What headers may cost more than they do in packets of Ethernet's size.
const LEAST_SHARE: f64 = 0.005;
/// Packets that an interface may lose.
const LEAST_LOSS: f64 = 1e-4;
const LEAST_PACKETS: i64 = 10_000;

pub(super) fn check(host: &Host, name: &str, findings: &mut Findings) {
    mtu(host, name, findings);
    kernel(host, findings);
    // Loopback has neither rings nor a driver to ask.
    if name != "lo" {
        offloads(host, name, findings);
        rings(host, name, findings);
        lost(host, name, findings);
    }
}

fn mtu(host: &Host, name: &str, findings: &mut Findings) {
    let payload = |mtu: f64| (mtu - HEADERS).max(1.0) / mtu;
    let lost = 1.0 - payload(host.mtu as f64) / payload(PACKET);
    if lost < LEAST_SHARE {
        return findings.fine();
    }
    findings.add(
        Finding::new("interface-mtu", "the interface's packet size", format!("{name} sends packets of {} bytes at most", host.mtu))
            .cost(format!(
                "headers take {} more of the line than in packets of {ETHERNET_MTU} bytes, and each byte costs {:.1} times the processor time",
                share(lost), PACKET / host.mtu as f64
            ))
            .better(format!("{ETHERNET_MTU} bytes, unless what it is connected to (a tunnel, a cloud's network) takes no more"))
            .change(Change::file(format!("/sys/class/net/{name}/mtu"), ETHERNET_MTU))
            .limit(host.wanted() * (1.0 - lost)),
    );
}

/// What the kernel grants a socket of ours.
fn kernel(host: &Host, findings: &mut Findings) {
    if !host.roots.is_live() {
        return;
    }
    let socket = match LaneSocket::bind(([127, 0, 0, 1], 0).into()) {
        Ok(socket) => socket,
        Err(cause) => return findings.unseen("offloads of the kernel", format!("no UDP socket can be had: {cause}")),
    };
    let scale = host.mtu as f64 / PACKET;
    if socket.gso_max_segments() > 1 {
        findings.fine();
    } else {
        findings.judge(
            host.wanted(),
            unsegmented("the kernel does not cut UDP bursts (UDP_SEGMENT is refused)", scale)
                .better("Linux 4.18 or newer"),
        );
    }
    if socket.gro() {
        findings.fine();
    } else {
        findings.judge(
            host.wanted(),
            uncoalesced("the kernel does not put datagrams together (UDP_GRO is refused)", scale)
                .better("Linux 5.0 or newer"),
        );
    }
}

fn offloads(host: &Host, name: &str, findings: &mut Findings) {
    let scale = host.mtu as f64 / PACKET;
    for feature in [Feature::Tx, Feature::Gso, Feature::Gro] {
        match ethtool::offload(&host.roots, name, feature) {
            Ok(true) => findings.fine(),
            Ok(false) => {
                let seen = format!("{name} has `{}` switched off", feature.word());
                let finding = match feature {
                    Feature::Tx => unsegmented(
                        format!("{seen}: the kernel cuts UDP bursts only where the interface makes checksums"),
                        scale,
                    ),
                    Feature::Gso => unsegmented(seen, scale),
                    Feature::Gro => uncoalesced(seen, scale),
                };
                let change = Change::Offload { interface: name.to_owned(), feature, value: "on".to_owned() };
                findings.judge(host.wanted(), finding.better("on").change(change));
            }
            Err(cause) => findings.unseen(&format!("offload `{}` of {name}", feature.word()), cause.to_string()),
        }
    }
}

fn unsegmented(seen: impl Into<String>, scale: f64) -> Finding {
    let limit = UNSEGMENTED_BPS * scale;
    Finding::new("segmentation", "segmentation offload", seen)
        .cost(format!(
            "every packet costs a pass through the kernel: a core sends about {}, a quarter of what it could",
            rate(limit)
        ))
        .limit(limit)
}

fn uncoalesced(seen: impl Into<String>, scale: f64) -> Finding {
    let limit = UNCOALESCED_BPS * scale;
    Finding::new("coalescing", "receive offload", seen)
        .cost(format!("every packet is handed over singly: a core receives about {}", rate(limit)))
        .limit(limit)
}

fn rings(host: &Host, name: &str, findings: &mut Findings) {
    let rings = match ethtool::rings(&host.roots, name) {
        Ok(rings) if rings.rx > 0 => rings,
        Ok(_) => return findings.unseen(&format!("rings of {name}"), "its driver tells none"),
        Err(cause) => return findings.unseen(&format!("rings of {name}"), cause.to_string()),
    };
    let bits = f64::from(rings.rx) * host.mtu as f64 * 8.0;
    let needed = (2.0 * INTERRUPT_PAUSE_S * host.wanted() / 8.0 / host.mtu as f64) as u32;
    let wanted = needed.next_power_of_two().min(rings.most_rx);
    let finding = Finding::new(
        "ring-size",
        "the receive ring",
        format!("{name} has room for {} packets (of {} that it could have)", rings.rx, rings.most_rx),
    )
    .cost(format!(
        "it is full after {} at {}; a core that is {} late costs packets, as it is not to be up to {}",
        time(bits / host.wanted()),
        rate(host.wanted()),
        time(INTERRUPT_PAUSE_S),
        rate(bits / INTERRUPT_PAUSE_S)
    ))
    .limit(bits / INTERRUPT_PAUSE_S);
    let finding = if wanted > rings.rx {
        finding
            .better(format!("{wanted} packets"))
            .change(Change::Ring { interface: name.to_owned(), value: wanted.to_string() })
    } else {
        finding.better("an interface with larger rings, or more queues")
    };
    findings.judge(host.wanted(), finding);
}

/// Packets that the interface itself has lost since it came up.
fn lost(host: &Host, name: &str, findings: &mut Findings) {
    let count = |what: &str| host.roots.number(&format!("/sys/class/net/{name}/statistics/{what}"));
    let (Some(received), Some(missed)) = (count("rx_packets"), count("rx_missed_errors")) else {
        return findings.unseen(&format!("packets lost by {name}"), "its statistics are not to be read");
    };
    let lost = (missed + count("rx_fifo_errors").unwrap_or(0)).max(0);
    let part = lost as f64 / (received + lost).max(1) as f64;
    if part < LEAST_LOSS || received < LEAST_PACKETS {
        return findings.fine();
    }
    findings.add(
        Finding::new(
            "interface-loss",
            "the interface",
            format!("{name} has lost {lost} of {} packets since it came up, for want of room", received + lost),
        )
        .cost(format!("{} of what arrives is to be sent again; to a stream of TCP that is congestion", share(part)))
        .better("none: larger rings, interrupts on more cores, or a lower rate")
        .by_hand(format!("ethtool -S {name} | grep -i -e miss -e drop -e fifo"))
        .limit(host.wanted() * (1.0 - part)),
    );
}
