//! Reaches a listener: name, TCP and TLS within one deadline.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::PollFd;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Connection};
use socket2::{Domain, Protocol, Socket, Type};

use super::handshake::Handshake;
use super::{ControlError, ControlLink, wait_until};
use crate::identity::Identity;
use crate::tls;
use crate::trust::Trust;
use crate::url::RippUrl;

/// Names that have very many addresses are not tried for ever.
const MAX_ADDRESSES: usize = 8;
/// The payload of a packet of 1280 bytes over IPv6, which every path lets pass.
const SMALL_SEGMENT: u32 = 1_220;

pub(super) fn dial(
    url: &RippUrl,
    at: Option<SocketAddr>,
    takes_greeting: bool,
    trust: &Trust,
    identity: Option<&Identity>,
    timeout: Duration,
) -> Result<ControlLink, ControlError> {
    let deadline = Instant::now() + timeout;
    let late = || ControlError::TimedOut { peer: url.authority(), after: timeout };
    // Only bulk is dialed at an address that answered before.
    let reach: Reach = if at.is_some() { reach_in_any_segments } else { reach_in_small_segments };
    let addresses = at.map_or_else(|| resolve(url, deadline, &late), |at| Ok(vec![at]))?;
    if let Trust::InsecureLoopback = trust {
        if let Some(elsewhere) = addresses.iter().find(|address| !address.ip().to_canonical().is_loopback()) {
            return Err(ControlError::Bare(*elsewhere));
        }
        let (stream, peer) = connect(url, &addresses, deadline, reach, &late)?;
        return ControlLink::plain(stream, peer);
    }
    let config = Arc::new(tls::client_config(trust, identity, takes_greeting)?);
    let name = server_name(url, trust)?;
    let (stream, peer) = connect(url, &addresses, deadline, reach, &late)?;
    let began = Instant::now();
    let connection = Connection::from(ClientConnection::new(config, name)?);
    let mut handshake = Handshake::new(stream, peer, url.authority(), connection, deadline)?;
    while !handshake.advance()? {
        let mut watched = [PollFd::new(&handshake.stream, handshake.interest())];
        if !wait_until(&mut watched, Some(deadline))? {
            return Err(late());
        }
    }
    let rtt = Some(began.elapsed());
    // TLS has verified it.
    Ok(ControlLink { rtt, ..handshake.finish(|_| true)? })
}

/// A resolver may take longer than we have, so it does so elsewhere.
fn resolve(url: &RippUrl, deadline: Instant, late: &dyn Fn() -> ControlError) -> Result<Vec<SocketAddr>, ControlError> {
    if let Ok(ip) = url.host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, url.port)]);
    }
    let (answer, answered) = mpsc::sync_channel(1);
    let (host, port) = (url.host.clone(), url.port);
    thread::Builder::new().name("ripp-resolve".to_owned()).spawn(move || {
        let found = (host.as_str(), port).to_socket_addrs().map(|found| found.take(MAX_ADDRESSES).collect());
        // Nobody listens any more when the deadline has passed.
        let _ = answer.send(found);
    })?;
    let found: Vec<_> =
        answered.recv_timeout(deadline.saturating_duration_since(Instant::now())).map_err(|_| late())?.map_err(
            |cause: std::io::Error| ControlError::Unresolved { peer: url.authority(), cause: cause.to_string() },
        )?;
    if found.is_empty() {
        return Err(ControlError::Unresolved { peer: url.authority(), cause: "it has no address".to_owned() });
    }
    Ok(found)
}

fn connect(
    url: &RippUrl,
    addresses: &[SocketAddr],
    deadline: Instant,
    reach: Reach,
    late: &dyn Fn() -> ControlError,
) -> Result<(TcpStream, SocketAddr), ControlError> {
    let mut last = None;
    for (tried, address) in addresses.iter().enumerate() {
        let left = deadline.saturating_duration_since(Instant::now());
        // What one address does not use, the next ones have.
        let share = left / (addresses.len() - tried) as u32;
        if share.is_zero() {
            return Err(late());
        }
        match reach(address, share) {
            Ok(stream) => return Ok((stream, *address)),
            Err(cause) => last = Some(cause),
        }
    }
    match last {
        Some(cause) if cause.kind() != std::io::ErrorKind::TimedOut => {
            Err(ControlError::Unreachable { peer: url.authority(), cause })
        }
        _ => Err(late()),
    }
}

type Reach = fn(&SocketAddr, Duration) -> io::Result<TcpStream>;

fn reach_in_any_segments(address: &SocketAddr, timeout: Duration) -> io::Result<TcpStream> {
    TcpStream::connect_timeout(address, timeout)
}

/// Where a path swallows larger packets without a word, TCP would send the same one again for ever.
fn reach_in_small_segments(address: &SocketAddr, timeout: Duration) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(*address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_tcp_mss(SMALL_SEGMENT)?;
    socket.connect_timeout(&(*address).into(), timeout)?;
    Ok(socket.into())
}

fn server_name(url: &RippUrl, trust: &Trust) -> Result<ServerName<'static>, ControlError> {
    match ServerName::try_from(url.host.clone()) {
        Ok(name) => Ok(name),
        // The name is not looked at, so one that certificates cannot bear does no harm.
        Err(_) if matches!(trust, Trust::Pinned(_)) => Ok(ServerName::from(IpAddr::from([0, 0, 0, 0]))),
        Err(cause) => Err(ControlError::Unresolved { peer: url.authority(), cause: cause.to_string() }),
    }
}
