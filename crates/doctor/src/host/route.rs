//! Which interface packets leave by.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use thiserror::Error;

use crate::roots::Roots;

/// An interface was named that the host does not have.
#[derive(Debug, Error)]
#[error("there is no network interface {named:?} here; --interface takes one of {}", there.join(", "))]
pub struct NoInterface {
    named: String,
    there: Vec<String>,
}

/// The interface that is named is there, as far as one can see.
///
/// # Errors
/// If there are others, and not this one.
pub fn interface_is_there(roots: &Roots, name: &str) -> Result<(), NoInterface> {
    let is_ours = |name: &str| !roots.is_live() || index_of(name).is_some();
    let there: Vec<_> = roots.names("/sys/class/net").into_iter().filter(|name| is_ours(name)).collect();
    let is_there = there.iter().any(|found| found == name) || roots.is_live() && index_of(name).is_some();
    if is_there || there.is_empty() { Ok(()) } else { Err(NoInterface { named: name.to_owned(), there }) }
}

/// The interface on the way to `peer`, or to everywhere.
pub(super) fn interface_to(roots: &Roots, peer: Option<IpAddr>) -> Option<String> {
    match peer.map(|peer| peer.to_canonical()) {
        Some(peer) if peer.is_loopback() => Some("lo".to_owned()),
        Some(IpAddr::V4(to)) => best(&roots.read("/proc/net/route").ok()?, |line| match_v4(line, to)),
        Some(IpAddr::V6(to)) => best(&roots.read("/proc/net/ipv6_route").ok()?, |line| match_v6(line, to)),
        None => interface_to(roots, Some(Ipv4Addr::new(192, 0, 2, 1).into()))
            .or_else(|| interface_to(roots, Some(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into()))),
    }
}

/// The number by which this process's network namespace knows an interface.
pub(super) fn index_of(name: &str) -> Option<i64> {
    let name = std::ffi::CString::new(name).ok()?;
    #[expect(unsafe_code, reason = "no safe wrapper among the crates in use")]
    // SAFETY: `name` ends with a zero and lives through the call.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    (index > 0).then_some(i64::from(index))
}

/// The interface with the longest prefix that matches.
fn best(table: &str, matches: impl Fn(&str) -> Option<(u32, String)>) -> Option<String> {
    table.lines().filter_map(matches).max_by_key(|(prefix, _)| *prefix).map(|(_, name)| name)
}

/// `Iface Destination Gateway Flags RefCnt Use Metric Mask ...`, addresses as the machine has them in memory.
fn match_v4(line: &str, to: Ipv4Addr) -> Option<(u32, String)> {
    let words: Vec<_> = line.split_whitespace().collect();
    let number = |at: usize| u32::from_str_radix(words.get(at)?, 16).ok();
    let (destination, flags, mask) = (number(1)?, number(3)?, number(7)?);
    let fits = u32::from_ne_bytes(to.octets()) & mask == destination;
    (fits && flags & 1 == 1).then(|| (mask.count_ones(), words[0].to_owned()))
}

/// `destination prefix source prefix next metric references use flags interface`.
fn match_v6(line: &str, to: Ipv6Addr) -> Option<(u32, String)> {
    let words: Vec<_> = line.split_whitespace().collect();
    let destination = u128::from_str_radix(words.first()?, 16).ok()?;
    let prefix = u32::from_str_radix(words.get(1)?, 16).ok().filter(|prefix| *prefix <= 128)?;
    let flags = u32::from_str_radix(words.get(8)?, 16).ok()?;
    let mask = u128::MAX.checked_shl(128 - prefix).unwrap_or(0);
    // Up, and not one that rejects.
    let fits = u128::from(to) & mask == destination & mask && flags & 1 == 1 && flags & 0x200 == 0;
    fits.then(|| Some((prefix, (*words.get(9)?).to_owned())))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_wins() {
        const TABLE: &str = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n\
            eth0 00000000 010200C0 0003 0 0 0 00000000 0 0 0\neth1 0000000A 00000000 0001 0 0 0 000000FF 0 0 0\n\
            eth2 00000A0A 00000000 0000 0 0 0 0000FFFF 0 0 0\nbad";
        let to = |at: [u8; 4]| best(TABLE, |line| match_v4(line, at.into()));
        assert_eq!(to([10, 10, 0, 9]).as_deref(), Some("eth1"));
        assert_eq!(to([11, 0, 0, 9]).as_deref(), Some("eth0"));
    }

    #[test]
    fn routes_of_ipv6_are_read() {
        const TABLE: &str = "\
            fd070000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 0 0 00000001 wan0\n\
            00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 0 0 00000003 eth0\n\
            00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 0 0 00200200 lo";
        let to = |at: &str| best(TABLE, |line| match_v6(line, at.parse().unwrap()));
        assert_eq!(to("fd07::2").as_deref(), Some("wan0"));
        assert_eq!(to("2001:db8::1").as_deref(), Some("eth0"));
    }
}
