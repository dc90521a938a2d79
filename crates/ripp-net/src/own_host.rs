//! Where others may reach this machine.

use std::net::{IpAddr, SocketAddr};

/// The address that others may reach this machine at: what it listens on, or the first address of its own that fits.
#[must_use]
pub fn own_host(local: SocketAddr) -> String {
    if !local.ip().is_unspecified() {
        return local.ip().to_string();
    }
    let fits = |ip: &IpAddr| !ip.is_loopback() && (local.is_ipv6() || ip.is_ipv4());
    let addresses = if_addrs::get_if_addrs().unwrap_or_default();
    let own = addresses.iter().filter(|found| !found.is_link_local()).map(if_addrs::Interface::ip).find(fits);
    own.map_or_else(|| "127.0.0.1".to_owned(), |ip| ip.to_string())
}
