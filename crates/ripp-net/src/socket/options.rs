//! What is asked of the kernel for each socket, and what it grants.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use rustix::net::sockopt::{self, Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery};

use super::sys;

/// Absorbs 100 ms at 5 Gbit/s; taken as far as the system allows.
pub(super) const BUFFER_BYTES: usize = 64 << 20;

pub(super) struct Granted {
    pub(super) segmenting: bool,
    pub(super) coalescing: bool,
    pub(super) recv_buffer: usize,
    pub(super) send_buffer: usize,
}

pub(super) fn prepare(socket: &UdpSocket, ipv6: bool) -> io::Result<Granted> {
    let recv_buffer = set_receive_buffer(socket, BUFFER_BYTES)?;
    if sockopt::set_socket_send_buffer_size_force(socket, BUFFER_BYTES).is_err() {
        sockopt::set_socket_send_buffer_size(socket, BUFFER_BYTES)?;
    }
    forbid_fragments(socket, ipv6)?;
    // Marks and counters are missed, not needed, where a kernel has none.
    let _ = sockopt::set_ip_recvtos(socket, true);
    if ipv6 {
        let _ = sockopt::set_ipv6_recvtclass(socket, true);
    }
    let _ = sys::set_option(socket, libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1);
    let _ = sys::set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1);
    Ok(Granted {
        // 0 is the kernel's default, "do not cut": accepted only by kernels that can.
        segmenting: sys::set_option(socket, libc::SOL_UDP, libc::UDP_SEGMENT, 0).is_ok(),
        coalescing: sys::set_option(socket, libc::SOL_UDP, libc::UDP_GRO, 1).is_ok(),
        recv_buffer,
        send_buffer: sockopt::socket_send_buffer_size(socket)?,
    })
}

/// Returns what was granted.
pub(super) fn set_receive_buffer(socket: &UdpSocket, bytes: usize) -> io::Result<usize> {
    // Only a process with CAP_NET_ADMIN may pass the system's limit; others get the limit.
    if sockopt::set_socket_recv_buffer_size_force(socket, bytes).is_err() {
        sockopt::set_socket_recv_buffer_size(socket, bytes)?;
    }
    Ok(sockopt::socket_recv_buffer_size(socket)?)
}

/// Whether that was granted.
pub(super) fn take_singly(socket: &UdpSocket) -> bool {
    sys::set_option(socket, libc::SOL_UDP, libc::UDP_GRO, 0).is_ok()
}

/// Sets "don't fragment" and sends what we ask even where the kernel believes the path is narrower: the core probes the path itself
/// (RFC 8899), and believes no unauthenticated ICMP.
fn forbid_fragments(socket: &UdpSocket, ipv6: bool) -> io::Result<()> {
    if ipv6 {
        sockopt::set_ipv6_mtu_discover(socket, Ipv6PathMtuDiscovery::PROBE)?;
        // For IPv4 addresses through this socket.
        let _ = sockopt::set_ip_mtu_discover(socket, Ipv4PathMtuDiscovery::PROBE);
        return Ok(());
    }
    Ok(sockopt::set_ip_mtu_discover(socket, Ipv4PathMtuDiscovery::PROBE)?)
}

pub(super) fn set_traffic_class(socket: &UdpSocket, ipv6: bool, class: u8) -> io::Result<()> {
    if ipv6 {
        sockopt::set_ipv6_tclass(socket, u32::from(class))?;
        let _ = sockopt::set_ip_tos(socket, class);
        return Ok(());
    }
    Ok(sockopt::set_ip_tos(socket, class)?)
}

pub(super) fn route_mtu(local: SocketAddr, to: SocketAddr) -> io::Result<usize> {
    let to = reachable_from(local, to);
    let mut from = local;
    from.set_port(0);
    let probe = UdpSocket::bind(from)?;
    probe.connect(to)?;
    let over_ipv4 = to.ip().to_canonical().is_ipv4();
    let mtu = if over_ipv4 { sockopt::ip_mtu(&probe)? } else { sockopt::ipv6_mtu(&probe)? };
    Ok(mtu as usize)
}

/// `to` in the form that a socket at `local` understands: IPv4 as a mapped address where the socket is IPv6.
pub(super) fn reachable_from(local: SocketAddr, to: SocketAddr) -> SocketAddr {
    match to {
        SocketAddr::V4(v4) if local.is_ipv6() => SocketAddr::new(v4.ip().to_ipv6_mapped().into(), v4.port()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::LaneSocket;

    #[test]
    fn datagrams_come_singly_where_that_is_asked_for() {
        let lane = || LaneSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let (left, together, mut singly) = (lane(), lane(), lane());
        singly.take_singly();
        assert!(!singly.gro());
        for (right, most) in
            [(&together, if together.gro() && left.gso_max_segments() > 1 { 400 } else { 100 }), (&singly, 100)]
        {
            left.send_burst(right.local_addr(), &[7; 400], 100).unwrap();
            right.socket.set_nonblocking(false).unwrap();
            right.socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            let first = right.socket.recv(&mut [0; 1000]).unwrap();
            assert_eq!(first, most);
        }
    }
}
