//! Which cores take packets off the interface, and how far they are from it.

use std::collections::BTreeSet;

use super::Host;
use super::costs::{FAR_NODE, INTERRUPT_BPS, PACKET};
use super::processor::cores_of;
use crate::change::Change;
use crate::finding::{Finding, Findings};
use crate::text::rate;

/// The interrupts of an interface.
struct Interrupts<'a> {
    host: &'a Host,
    name: &'a str,
    /// Those that are used, and the cores that take each.
    used: Vec<(&'a String, Vec<u32>)>,
    /// All of these cores.
    cores: BTreeSet<u32>,
    /// The cores near the interface; none where that is not told.
    local: Vec<u32>,
    /// What a core takes in, in bits per second.
    per_core: f64,
}

pub(super) fn check(host: &Host, name: &str, findings: &mut Findings) {
    let device = format!("/sys/class/net/{name}/device");
    if !host.roots.path(&device).exists() {
        // Tunnels, bridges and the like have no interrupts.
        return;
    }
    // A virtual device's are its parent's.
    let numbers = [format!("{device}/msi_irqs"), format!("{device}/../msi_irqs")]
        .iter()
        .map(|at| host.roots.names(at))
        .find(|it| !it.is_empty());
    let Some(numbers) = numbers else {
        return findings.unseen(&format!("interrupts of {name}"), "the device does not tell its own");
    };
    let used: Vec<_> = numbers.iter().filter_map(|irq| Some((irq, cores_of_irq(host, irq)?))).collect();
    if used.is_empty() {
        return findings.unseen(&format!("interrupts of {name}"), "/proc/irq is not to be read");
    }
    let cores: BTreeSet<u32> = used.iter().flat_map(|(_, cores)| cores.iter().copied()).collect();
    let local: Vec<u32> =
        host.roots.read(&format!("{device}/local_cpulist")).map(|list| cores_of(&list)).unwrap_or_default();
    let per_core = INTERRUPT_BPS * host.mtu as f64 / PACKET;
    let interrupts = Interrupts { host, name, used, cores, local, per_core };
    interrupts.one_core(findings);
    interrupts.far_node(findings);
}

fn cores_of_irq(host: &Host, irq: &str) -> Option<Vec<u32>> {
    let told = ["effective_affinity_list", "smp_affinity_list"];
    let list = told
        .iter()
        .find_map(|file| host.roots.read(&format!("/proc/irq/{irq}/{file}")).ok().filter(|list| !list.is_empty()));
    list.map(|list| cores_of(&list))
}

impl Interrupts<'_> {
    fn one_core(&self, findings: &mut Findings) {
        let Self { host, name, used, cores, local, per_core } = self;
        let (Some(core), 1) = (cores.first(), cores.len()) else { return findings.fine() };
        if used.len() < 2 || local.len() == 1 {
            return findings.fine();
        }
        let spread = if local.is_empty() { vec![0, 1] } else { local.to_vec() };
        let finding = Finding::new(
            "interrupts-on-one-core",
            "interrupts",
            format!("all {} interrupts of {name} go to core {core}", used.len()),
        )
        .cost(format!(
            "that core takes all packets in: about {} at {} bytes, less what else it does",
            rate(*per_core),
            host.mtu
        ))
        .better("a core for each, near the interface")
        .limit(*per_core);
        findings.judge(host.wanted(), spread_over(finding, used, &spread));
    }

    fn far_node(&self, findings: &mut Findings) {
        let Self { host, name, used, cores, local, per_core } = self;
        let node = host.roots.number(&format!("/sys/class/net/{name}/device/numa_node")).filter(|node| *node >= 0);
        let (Some(node), false) = (node, local.is_empty()) else { return };
        if cores.iter().any(|core| local.contains(core)) {
            return findings.fine();
        }
        let limit = *per_core * FAR_NODE;
        let finding = Finding::new(
            "interrupts-far-away",
            "interrupts",
            format!("{name} is at memory node {node}, and no core of that node takes its interrupts"),
        )
        .cost(format!(
            "each packet crosses between the nodes twice: about {} a lane in place of {}",
            rate(limit),
            rate(*per_core)
        ))
        .better(format!("cores of node {node}"))
        .by_hand(format!("numactl --cpunodebind={node} --membind={node} visapult ..."))
        .limit(limit);
        findings.judge(host.wanted(), spread_over(finding, used, local));
    }
}

fn spread_over(finding: Finding, used: &[(&String, Vec<u32>)], cores: &[u32]) -> Finding {
    let pairs = used.iter().zip(cores.iter().cycle());
    pairs.fold(finding, |finding, ((irq, _), core)| {
        finding.change(Change::file(format!("/proc/irq/{irq}/smp_affinity_list"), core))
    })
}
