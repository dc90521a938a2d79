//! What stands between the kernel and the interface: the queueing discipline, as the program `tc` tells it.

use std::process::Command;

use serde_json::Value;

use super::Host;
use super::costs::BURST_S;
use crate::finding::{Finding, Findings};
use crate::text::{rate, share, time};

/// What an `fq` holds where nothing is said.
const FQ_PACKETS: u64 = 10_000;
/// Their rates are those of classes.
const CLASSFUL: [&str; 4] = ["htb", "hfsc", "cbq", "drr"];

pub(super) fn check(host: &Host, name: &str, findings: &mut Findings) {
    let told = match tell(host, name) {
        Ok(told) => told,
        Err(why) => return findings.unseen(&format!("queueing discipline of {name}"), why),
    };
    let found = findings.found.len();
    for queue in told.as_array().into_iter().flatten() {
        one(host, name, queue, findings);
    }
    if findings.found.len() == found {
        findings.fine();
    }
}

fn tell(host: &Host, name: &str) -> Result<Value, String> {
    let text = if host.roots.is_live() {
        let output = Command::new("tc").args(["-json", "qdisc", "show", "dev", name]).output();
        let output = output.map_err(|cause| format!("the program tc (package iproute2) cannot be run: {cause}"))?;
        if !output.status.success() {
            return Err(format!("tc: {}", String::from_utf8_lossy(&output.stderr).trim()));
        }
        String::from_utf8_lossy(&output.stdout).into_owned()
    } else {
        host.roots.read(&format!("/qdisc/{name}.json")).map_err(|cause| cause.to_string())?
    };
    serde_json::from_str(&text).map_err(|cause| format!("tc answers something else than JSON: {cause}"))
}

fn one(host: &Host, name: &str, queue: &Value, findings: &mut Findings) {
    let kind = queue["kind"].as_str().unwrap_or_default();
    let options = &queue["options"];
    if CLASSFUL.contains(&kind) {
        findings.unseen(&format!("rates of {name}'s {kind}"), format!("look with: tc class show dev {name}"));
    }
    shaped(host, name, kind, options, findings);
    if kind == "netem" {
        emulated(host, name, options, findings);
    }
    if ["pfifo", "pfifo_fast", "fq"].contains(&kind) {
        short(host, name, kind, options, findings);
    }
}

/// Something that lets only a rate pass.
fn shaped(host: &Host, name: &str, kind: &str, options: &Value, findings: &mut Findings) {
    let told = match kind {
        "tbf" => &options["rate"],
        "cake" => &options["bandwidth"],
        "fq" => &options["maxrate"],
        "netem" => &options["rate"]["rate"],
        _ => return,
    };
    let Some(bytes) = told.as_f64().filter(|bytes| *bytes > 0.0) else { return };
    let limit = bytes * 8.0;
    let finding = Finding::new(
        "queue-shaped",
        "the interface's queue",
        format!("{name} is held to {} by a `{kind}`", rate(limit)),
    )
    .cost(format!("{} passes, and nothing more", rate(limit)))
    .better("no shaping, unless somebody wants it: it was set up on purpose")
    .by_hand(format!("tc qdisc del dev {name} root"))
    .limit(limit);
    findings.judge(host.wanted(), finding);
}

/// A path that somebody plays, and may have forgotten.
fn emulated(host: &Host, name: &str, options: &Value, findings: &mut Findings) {
    let loss = options["loss-random"]["loss"].as_f64().unwrap_or(0.0);
    let delay = options["delay"]["delay"].as_f64().unwrap_or(0.0);
    let room = options["limit"].as_f64().unwrap_or(1000.0) * host.mtu as f64 * 8.0;
    let mut limit = host.wanted() * (1.0 - loss);
    let mut costs = Vec::new();
    if loss > 0.0 {
        costs.push(format!("it loses {} of all packets", share(loss)));
    }
    if delay > 0.0 {
        limit = limit.min(room / delay);
        costs.push(format!("it delays each by {}, and has room for {} of that delay", time(delay), rate(room / delay)));
    }
    if costs.is_empty() {
        return;
    }
    findings.add(
        Finding::new("queue-emulated", "the interface's queue", format!("{name} plays a bad path (`netem`)"))
            .cost(costs.join("; "))
            .better("nothing of that kind, unless this is a testbed")
            .by_hand(format!("tc qdisc del dev {name} root"))
            .limit(limit),
    );
}

/// A queue that a burst fills.
fn short(host: &Host, name: &str, kind: &str, options: &Value, findings: &mut Findings) {
    let length = format!("/sys/class/net/{name}/tx_queue_len");
    let told = if kind == "pfifo_fast" { None } else { options["limit"].as_f64() };
    let Some(packets) = told.or_else(|| host.roots.number(&length).map(|packets| packets as f64)) else { return };
    let limit = packets * host.mtu as f64 * 8.0 / BURST_S;
    let enough = enough(host);
    let finding =
        Finding::new("queue-short", "the interface's queue", format!("the `{kind}` of {name} holds {packets} packets"))
            .cost(format!(
                "bursts that leave this host at {} overflow it, and are lost before they reach the line",
                rate(host.wanted())
            ))
            .better(format!("{enough} packets or more"))
            .by_hand(if kind == "pfifo_fast" {
                format!("ip link set {name} txqueuelen {enough}")
            } else {
                format!("tc qdisc replace dev {name} root fq limit {}", enough.max(FQ_PACKETS))
            })
            .limit(limit);
    findings.judge(host.wanted(), finding);
}

/// More thousands of packets the system's tools do not take.
const MOST_THOUSANDS: f64 = 4_000_000.0;

/// Packets that a queue has to hold, in thousands.
fn enough(host: &Host) -> u64 {
    let burst = host.wanted() * BURST_S / (host.mtu.max(1) as f64 * 8.0);
    (burst / 1000.0).ceil().clamp(1.0, MOST_THOUSANDS) as u64 * 1000
}
