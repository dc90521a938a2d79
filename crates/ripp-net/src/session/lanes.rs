//! A session's lanes: what they are made of, and how there come to be more of them.
//!
//! Lanes are added and never taken away. The first sends as soon as it may; the others sleep until the rate of their path is known
//! ([`visapult_ripp::path_sharing`]).

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use visapult_ripp::cipher::Cipher;
use visapult_ripp::lane_out::LaneOut;
use visapult_ripp::path_sharing;
use visapult_ripp::record::{End, LaneSecret};

use super::lane::LaneLink;
use super::parts::divide_sending;
use super::path::Known;
use super::shared::{Out, Shared};
use super::{Options, Rate, SessionError, receive, send};
use crate::socket::{Ecn, LaneSocket};

/// What a session's lanes are made of.
pub(super) struct Material {
    pub(super) secret: [u8; 32],
    pub(super) cipher: Cipher,
    pub(super) end: End,
    pub(super) options: Options,
    /// The address that lanes leave from where the options name none.
    pub(super) local: SocketAddr,
}

impl Material {
    /// The sockets of lanes from number `first` on, one per local address in turn; `peers` is what is known of the other end's. The first of them has
    /// the socket `told`, if there is one.
    pub(super) fn links(
        &self,
        first: usize,
        peers: &[Known],
        mut told: Option<LaneSocket>,
    ) -> Result<Vec<Arc<LaneLink>>, SessionError> {
        let locals = self.locals()?;
        let link = |(lane, &peer): (usize, &Known)| {
            let local = locals[lane % locals.len()];
            let bind = || LaneSocket::bind(local).map_err(|cause| SessionError::Local { local: local.ip(), cause });
            let mut socket = told.take().map_or_else(bind, Ok)?;
            if !self.options.coalesce {
                socket.take_singly();
            }
            if matches!(self.options.rate, Rate::Auto { .. }) {
                // A fixed rate does not heed marks, and so must not ask for them instead of losses (RFC 3168).
                let _ = socket.set_ecn(Ecn::Capable0);
            }
            let secrets = [self.end, self.end.peer()];
            let [send, receive] = secrets.map(|from| LaneSecret::derive(&self.secret, self.cipher, lane as u16, from));
            Ok(Arc::new(LaneLink::new(socket, send, receive, peer, self.options.mtu)))
        };
        (first..).zip(peers).map(link).collect()
    }

    /// What the listening end tells of its lanes: their ports, and their addresses where those are not the control channel's.
    pub(super) fn told(&self, links: &[Arc<LaneLink>]) -> (Vec<u16>, Vec<IpAddr>) {
        let at = || links.iter().map(|link| link.socket.local_addr());
        let has_own = !self.options.local.is_empty();
        let addresses = at().filter(|_| has_own).map(|at| at.ip().to_canonical()).collect();
        (at().map(|at| at.port()).collect(), addresses)
    }

    /// Where lanes leave from, in turn.
    fn locals(&self) -> Result<Vec<SocketAddr>, SessionError> {
        let mut of_system = self.local;
        of_system.set_port(0);
        let is_v4 = self.local.ip().to_canonical().is_ipv4();
        let fitting = self.options.local.iter().filter(|local| local.is_ipv4() == is_v4);
        let locals: Vec<_> = fitting.map(|&local| SocketAddr::new(local, 0)).collect();
        match self.options.local.first() {
            Some(&local) if locals.is_empty() => {
                Err(SessionError::Local { local, cause: std::io::ErrorKind::AddrNotAvailable.into() })
            }
            None => Ok(vec![of_system]),
            Some(_) => Ok(locals),
        }
    }
}

/// Adds the lanes that a session begins with, and ends it where they cannot be had.
pub(super) fn begin(shared: &Arc<Shared>, links: Vec<Arc<LaneLink>>, options: &Options) -> Result<(), SessionError> {
    add(shared, links, options).inspect_err(|cause| shared.end(Some(&cause.to_string())))
}

/// Adds lanes to those that a session has, and starts their threads, which validate paths.
pub(super) fn add(shared: &Arc<Shared>, links: Vec<Arc<LaneLink>>, options: &Options) -> Result<(), SessionError> {
    let first = shared.add_links(&links);
    for (index, link) in (first..).zip(links) {
        let (receiving, options, heard) = (Arc::clone(shared), options.clone(), Arc::clone(&link));
        shared.try_spawn(format!("ripp-in-{index}"), move || receive::run(&receiving, &heard, index, &options))?;
        let sending = Arc::clone(shared);
        shared.try_spawn(format!("ripp-out-{index}"), move || send::run(&sending, &link, index))?;
    }
    Ok(())
}

/// Wakes lanes of paths whose rates are known by now; true if there were some.
pub(super) fn wake(shared: &Shared, out: &mut Out) -> bool {
    if !out.lanes.iter().flatten().any(LaneOut::is_asleep) {
        return false;
    }
    let now = shared.now();
    let paths: Vec<(IpAddr, Option<IpAddr>)> = shared.links().map(|link| link.ends()).collect();
    let mut seen: Vec<&(IpAddr, Option<IpAddr>)> = Vec::new();
    let mut any = false;
    for path in &paths {
        if seen.contains(&path) {
            continue;
        }
        seen.push(path);
        let of_path = out.lanes.iter_mut().zip(&paths).filter(|(_, of)| *of == path);
        let mut lanes: Vec<&mut LaneOut> = of_path.filter_map(|(lane, _)| lane.as_mut()).collect();
        any |= path_sharing::wake(&mut lanes, now);
    }
    if any {
        divide_sending(out);
    }
    any
}
