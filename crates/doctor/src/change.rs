//! A setting of the host that can be read, written and put back.

use std::io;

use serde::{Deserialize, Serialize};

use crate::ethtool::{self, Feature};
use crate::roots::Roots;

/// A setting, and the value it is to have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Change {
    /// A file below `/proc/sys` or `/sys`.
    File {
        /// Its path on a host.
        path: String,
        /// What is written.
        value: String,
    },
    /// Receive descriptors of a network interface.
    Ring {
        /// The interface.
        interface: String,
        /// How many.
        value: String,
    },
    /// An offload of a network interface.
    Offload {
        /// The interface.
        interface: String,
        /// Which.
        feature: Feature,
        /// `on` or `off`.
        value: String,
    },
}

impl Change {
    pub(crate) fn sysctl(name: &str, value: impl ToString) -> Self {
        Self::File { path: format!("/proc/sys/{}", name.replace('.', "/")), value: value.to_string() }
    }

    pub(crate) fn file(path: impl Into<String>, value: impl ToString) -> Self {
        Self::File { path: path.into(), value: value.to_string() }
    }

    /// What a person types to the same end.
    #[must_use]
    pub fn command(&self) -> String {
        match self {
            Self::File { path, value } => match path.strip_prefix("/proc/sys/") {
                Some(name) if value.contains(char::is_whitespace) => {
                    format!("sysctl -w {}='{value}'", name.replace('/', "."))
                }
                Some(name) => format!("sysctl -w {}={value}", name.replace('/', ".")),
                None => match path.strip_prefix("/sys/class/net/").and_then(|rest| rest.strip_suffix("/mtu")) {
                    Some(interface) => format!("ip link set {interface} mtu {value}"),
                    None => format!("echo {value} > {path}"),
                },
            },
            Self::Ring { interface, value } => format!("ethtool -G {interface} rx {value}"),
            Self::Offload { interface, feature, value } => format!("ethtool -K {interface} {} {value}", feature.word()),
        }
    }

    /// The value that the change asks for.
    #[must_use]
    pub fn value(&self) -> &str {
        match self {
            Self::File { value, .. } | Self::Ring { value, .. } | Self::Offload { value, .. } => value,
        }
    }

    /// The same setting with another value.
    #[must_use]
    pub fn with(&self, other: &str) -> Self {
        let mut change = self.clone();
        match &mut change {
            Self::File { value, .. } | Self::Ring { value, .. } | Self::Offload { value, .. } => {
                other.clone_into(value);
            }
        }
        change
    }

    /// What the setting is now.
    ///
    /// # Errors
    /// The system's.
    pub fn now(&self, roots: &Roots) -> io::Result<String> {
        match self {
            Self::File { path, .. } => roots.setting(path),
            Self::Ring { interface, .. } => Ok(ethtool::rings(roots, interface)?.rx.to_string()),
            Self::Offload { interface, feature, .. } => {
                Ok(if ethtool::offload(roots, interface, *feature)? { "on" } else { "off" }.to_owned())
            }
        }
    }

    /// Makes it so.
    ///
    /// # Errors
    /// The system's.
    pub fn make(&self, roots: &Roots) -> io::Result<()> {
        match self {
            Self::File { path, value } => roots.set(path, value),
            Self::Ring { interface, value } => {
                let rx = value.parse().map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
                ethtool::set_rx_ring(roots, interface, rx)
            }
            Self::Offload { interface, feature, value } => {
                ethtool::set_offload(roots, interface, *feature, value == "on")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_told_as_the_commands_that_people_know() {
        let told = |change: Change| change.command();
        assert_eq!(told(Change::sysctl("net.core.rmem_max", 16)), "sysctl -w net.core.rmem_max=16");
        assert_eq!(told(Change::sysctl("net.ipv4.udp_mem", "1 2 3")), "sysctl -w net.ipv4.udp_mem='1 2 3'");
        assert_eq!(told(Change::file("/sys/class/net/eth0/mtu", 1500)), "ip link set eth0 mtu 1500");
        assert_eq!(told(Change::file("/sys/x", "tsc")), "echo tsc > /sys/x");
        let ring = Change::Ring { interface: "eth0".into(), value: "4096".into() };
        assert_eq!(told(ring), "ethtool -G eth0 rx 4096");
        let offload = Change::Offload { interface: "eth0".into(), feature: Feature::Gro, value: "on".into() };
        assert_eq!(told(offload), "ethtool -K eth0 gro on");
    }
}
