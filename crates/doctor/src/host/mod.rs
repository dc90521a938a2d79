//! What the settings of a host allow.
//!
//! Each check asks up to which rate a setting is good, by the facts and by the figures in [`costs`]; only what is good for less than the rate
//! asked for is found.

mod buffers;
mod cgroup;
mod clock;
mod costs;
mod interface;
mod interrupts;
mod limits;
mod processor;
mod queue;
mod route;
mod tcp;

use std::net::IpAddr;

pub use route::{NoInterface, interface_is_there};

use crate::finding::Findings;
use crate::path::Path;
use crate::roots::Roots;

/// The rate that is asked for where nobody says, and the interface does not tell.
pub const DEFAULT_BPS: u64 = 1_000_000_000;
const ETHERNET_MTU: i64 = 1500;

/// A host, the interface that is used, and the rate that is asked of them.
#[derive(Clone, Debug)]
pub struct Host {
    roots: Roots,
    interface: Option<String>,
    mtu: i64,
    asked_bps: u64,
}

impl Host {
    /// The host in `roots`, with the interface named, or the one on the way to `peer`, or to everywhere. Where no rate is asked for, it is that of
    /// the interface.
    #[must_use]
    pub fn new(roots: Roots, interface: Option<String>, peer: Option<IpAddr>, asked_bps: Option<u64>) -> Self {
        let interface = interface.or_else(|| route::interface_to(&roots, peer));
        let at = |what: &str| interface.as_ref().map(|name| format!("/sys/class/net/{name}/{what}"));
        let mtu = at("mtu").and_then(|path| roots.number(&path)).unwrap_or(ETHERNET_MTU);
        // Those without a device tell a number that means nothing.
        let is_real = at("device").is_some_and(|path| roots.path(&path).exists());
        let speed = at("speed").filter(|_| is_real).and_then(|path| roots.number(&path)).filter(|mbps| *mbps > 0);
        let asked_bps = asked_bps.or(speed.map(|mbps| mbps as u64 * 1_000_000)).unwrap_or(DEFAULT_BPS);
        Self { roots, interface, mtu, asked_bps }
    }

    /// The rate that everything is judged at.
    #[must_use]
    pub const fn asked_bps(&self) -> u64 {
        self.asked_bps
    }

    /// The interface that is used.
    #[must_use]
    pub fn interface(&self) -> Option<&str> {
        self.interface.as_deref()
    }

    /// Bytes of its packets at most.
    #[must_use]
    pub const fn mtu(&self) -> i64 {
        self.mtu
    }

    /// Looks at everything.
    #[must_use]
    pub fn examine(&self) -> Findings {
        let mut findings = Findings::default();
        buffers::check(self, &mut findings);
        processor::check(self, &mut findings);
        limits::check(self, &mut findings);
        clock::check(self, &mut findings);
        tcp::check(self, &mut findings);
        match self.visible_interface() {
            Ok(name) => {
                interface::check(self, name, &mut findings);
                interrupts::check(self, name, &mut findings);
                queue::check(self, name, &mut findings);
            }
            Err(why) => findings.unseen("network interface, its queue and interrupts", why),
        }
        findings
    }

    /// Looks at what bounds the streams that data moves over along `path`, if it does.
    pub fn judge_streams(&self, path: &Path, findings: &mut Findings) {
        if let Some((streams, rtt_s)) = path.streams() {
            tcp::check_streams(self, rtt_s, streams, findings);
        }
    }

    fn wanted(&self) -> f64 {
        self.asked_bps as f64
    }

    /// The interface, if what is seen in /sys is of this network namespace.
    fn visible_interface(&self) -> Result<&str, String> {
        let name =
            self.interface().ok_or("there is no route, so it is not known which is used: name one with --interface")?;
        let folder = format!("/sys/class/net/{name}");
        let told = self.roots.number(&format!("{folder}/ifindex"));
        if !self.roots.path(&folder).exists() || self.roots.is_live() && told != route::index_of(name) {
            return Err(format!(
                "/sys shows no {name}, or that of another network namespace: run it where /sys is mounted anew"
            ));
        }
        Ok(name)
    }
}
