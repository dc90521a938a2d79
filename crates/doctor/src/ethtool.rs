//! What a network interface's driver is asked: rings and offloads, by the calls that the program `ethtool` makes.

use std::collections::BTreeMap;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::{mem, ptr};

use serde::{Deserialize, Serialize};

use crate::roots::Roots;

const SIOCETHTOOL: u64 = 0x8946;
const GET_RINGS: u32 = 0x10;
const SET_RINGS: u32 = 0x11;

/// Receive descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rings {
    pub(crate) rx: u32,
    pub(crate) most_rx: u32,
}

/// What an interface can do in place of the processor, or for several packets at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feature {
    /// Checksums of what is sent.
    Tx,
    /// Cutting large packets last.
    Gso,
    /// Putting small ones together first.
    Gro,
}

/// A driver in a picture of a host.
#[derive(Debug, Serialize, Deserialize)]
struct Pictured {
    rx: u32,
    rx_max: u32,
    offloads: BTreeMap<Feature, bool>,
}

/// `struct ethtool_ringparam`: what is asked, four greatest numbers (rx, mini, jumbo, tx), and the four that are.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RingParam {
    command: u32,
    most: [u32; 4],
    now: [u32; 4],
}

/// `struct ethtool_value`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Value {
    command: u32,
    value: u32,
}

impl Feature {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Tx => "tx",
            Self::Gso => "gso",
            Self::Gro => "gro",
        }
    }

    /// To get; to set is the next.
    const fn command(self) -> u32 {
        match self {
            Self::Tx => 0x16,
            Self::Gso => 0x23,
            Self::Gro => 0x2b,
        }
    }
}

pub(crate) fn rings(roots: &Roots, interface: &str) -> io::Result<Rings> {
    if !roots.is_live() {
        let pictured = picture(roots, interface)?;
        return Ok(Rings { rx: pictured.rx, most_rx: pictured.rx_max });
    }
    let told = ask(interface, RingParam { command: GET_RINGS, ..RingParam::default() })?;
    Ok(Rings { rx: told.now[0], most_rx: told.most[0] })
}

pub(crate) fn set_rx_ring(roots: &Roots, interface: &str, rx: u32) -> io::Result<()> {
    if !roots.is_live() {
        let pictured = picture(roots, interface)?;
        return draw(roots, interface, &Pictured { rx, ..pictured });
    }
    let mut told = ask(interface, RingParam { command: GET_RINGS, ..RingParam::default() })?;
    told.command = SET_RINGS;
    told.now[0] = rx;
    ask(interface, told).map(drop)
}

pub(crate) fn offload(roots: &Roots, interface: &str, feature: Feature) -> io::Result<bool> {
    if !roots.is_live() {
        return Ok(picture(roots, interface)?.offloads.get(&feature).copied().unwrap_or(false));
    }
    Ok(ask(interface, Value { command: feature.command(), value: 0 })?.value != 0)
}

pub(crate) fn set_offload(roots: &Roots, interface: &str, feature: Feature, on: bool) -> io::Result<()> {
    if !roots.is_live() {
        let mut pictured = picture(roots, interface)?;
        pictured.offloads.insert(feature, on);
        return draw(roots, interface, &pictured);
    }
    ask(interface, Value { command: feature.command() + 1, value: u32::from(on) }).map(drop)
}

fn picture(roots: &Roots, interface: &str) -> io::Result<Pictured> {
    Ok(serde_json::from_str(&roots.read(&pictured_at(interface)?)?)?)
}

fn draw(roots: &Roots, interface: &str, pictured: &Pictured) -> io::Result<()> {
    roots.draw(&pictured_at(interface)?, &serde_json::to_string(pictured)?)
}

/// Names of interfaces have no stroke (`dev_valid_name` of Linux).
fn pictured_at(interface: &str) -> io::Result<String> {
    if interface.contains('/') {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(format!("/ethtool/{interface}.json"))
}

/// Hands `question`, which begins with a command's number, to the driver, which writes its answer over it.
fn ask<T: Copy>(interface: &str, mut question: T) -> io::Result<T> {
    let socket = UdpSocket::bind("127.0.0.1:0").or_else(|_| UdpSocket::bind("[::1]:0"))?;
    #[expect(unsafe_code, reason = "ifreq is integers, pointers and unions of them")]
    // SAFETY: zero is a value of all of them.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    if interface.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = ptr::from_mut(&mut question).cast();
    #[expect(unsafe_code, reason = "no safe wrapper of this call")]
    // SAFETY: `request` names `question`, which lives through the call and has the layout and size that its command asks for.
    let rc = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
    if rc < 0 { Err(io::Error::last_os_error()) } else { Ok(question) }
}
