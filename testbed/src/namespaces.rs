//! The two network namespaces of a testbed, and the devices in them.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::Command;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::tun::{self, Offload};

/// The device in each namespace.
pub const DEVICE: &str = "wan0";
/// Receive and send buffers of TCP: least, default, most. A long path needs large ones.
const TCP_BUFFERS: &str = "4096 1048576 268435456";
const DEVICE_QUEUE: &str = "20000";

/// An end of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Side {
    /// 10.7.0.1, fd07::1
    Left,
    /// 10.7.0.2, fd07::2
    Right,
}

/// What went wrong with a namespace.
#[derive(Debug, thiserror::Error)]
pub enum NamespaceError {
    /// A program failed.
    #[error("`{command}` failed: {message}")]
    Command {
        /// What was run.
        command: String,
        /// What it said.
        message: String,
    },
    /// A call failed.
    #[error("cannot {what}: {error}")]
    Call {
        /// What was tried.
        what: String,
        /// Why not.
        error: io::Error,
    },
}

impl Side {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Left, Self::Right];

    /// Its IPv4 address.
    #[must_use]
    pub fn address(self) -> &'static str {
        match self {
            Self::Left => "10.7.0.1",
            Self::Right => "10.7.0.2",
        }
    }

    fn address6(self) -> &'static str {
        match self {
            Self::Left => "fd07::1/64",
            Self::Right => "fd07::2/64",
        }
    }

    /// The name of its namespace, as `ip netns` knows it.
    #[must_use]
    pub fn namespace(self, testbed: &str) -> String {
        match self {
            Self::Left => format!("{testbed}-left"),
            Self::Right => format!("{testbed}-right"),
        }
    }
}

/// Makes a namespace with a device in it. The device, and with it the link, lives as long as the file.
///
/// # Errors
/// Without root, /dev/net/tun or iproute2, or if a namespace of that name exists.
pub fn create(testbed: &str, side: Side, mtu: u32, segmentation: bool) -> Result<(File, Offload), NamespaceError> {
    let name = side.namespace(testbed);
    ip(&["netns", "add", &name])?;
    // Only this thread moves into the namespace; it ends when the device is there.
    let inside = std::thread::spawn(move || {
        enter(&name)?;
        let opened = tun::open(DEVICE, segmentation)
            .map_err(|error| NamespaceError::Call { what: format!("make device {DEVICE} in {name}"), error })?;
        configure(side, mtu)?;
        Ok(opened)
    });
    inside.join().unwrap_or_else(|_| {
        Err(NamespaceError::Call { what: "set up a namespace".into(), error: io::Error::other("its thread panicked") })
    })
}

/// Moves the calling thread into a namespace.
///
/// # Errors
/// If there is none of that name, or without root.
pub fn enter(name: &str) -> Result<(), NamespaceError> {
    let path = path(name);
    let call = |error| NamespaceError::Call { what: format!("enter namespace {name} ({})", path.display()), error };
    let file = File::open(&path).map_err(call)?;
    move_into_link_name_space(std::os::fd::AsFd::as_fd(&file), Some(LinkNameSpaceType::Network))
        .map_err(|error| call(error.into()))
}

/// Whether a namespace of that name exists.
#[must_use]
pub fn exists(name: &str) -> bool {
    path(name).exists()
}

/// Removes both namespaces of a testbed, as far as they exist.
///
/// # Errors
/// If one cannot be removed.
pub fn remove(testbed: &str) -> Result<(), NamespaceError> {
    for side in Side::BOTH {
        let name = side.namespace(testbed);
        if exists(&name) {
            ip(&["netns", "delete", &name])?;
        }
    }
    Ok(())
}

/// Packets that the kernel dropped because nobody had read them in time, in both namespaces.
#[must_use]
pub fn unread(testbed: &str) -> u64 {
    Side::BOTH.iter().filter_map(|side| transmit_drops(&side.namespace(testbed))).sum()
}

fn transmit_drops(namespace: &str) -> Option<u64> {
    let text = ip(&["-n", namespace, "-s", "-j", "link", "show", DEVICE]).ok()?;
    let links: serde_json::Value = serde_json::from_str(&text).ok()?;
    links.pointer("/0/stats64/tx/dropped")?.as_u64()
}

fn path(name: &str) -> PathBuf {
    PathBuf::from("/run/netns").join(name)
}

fn configure(side: Side, mtu: u32) -> Result<(), NamespaceError> {
    for (key, value) in [
        ("ipv6/conf/default/accept_dad", "0"),
        ("ipv6/conf/all/accept_dad", "0"),
        ("ipv6/conf/default/router_solicitations", "0"),
        ("ipv6/conf/wan0/accept_dad", "0"),
        ("ipv6/conf/wan0/router_solicitations", "0"),
        ("ipv4/tcp_rmem", TCP_BUFFERS),
        ("ipv4/tcp_wmem", TCP_BUFFERS),
        // A run must not start with what the last one learnt about the path.
        ("ipv4/tcp_no_metrics_save", "1"),
    ] {
        // Kernels without IPv6, or without a setting, do without.
        let _ = fs::write(format!("/proc/sys/net/{key}"), value);
    }
    let mtu = mtu.to_string();
    ip(&["link", "set", "lo", "up"])?;
    ip(&["link", "set", DEVICE, "mtu", &mtu, "txqueuelen", DEVICE_QUEUE, "up"])?;
    ip(&["address", "add", &format!("{}/24", side.address()), "dev", DEVICE])?;
    // IPv6 may be switched off.
    let _ = ip(&["address", "add", side.address6(), "dev", DEVICE, "nodad"]);
    Ok(())
}

fn ip(arguments: &[&str]) -> Result<String, NamespaceError> {
    let command = format!("ip {}", arguments.join(" "));
    let output = Command::new("ip")
        .args(arguments)
        .output()
        .map_err(|error| NamespaceError::Call { what: format!("run `{command}` (package iproute2)"), error })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(NamespaceError::Command { command, message })
}
