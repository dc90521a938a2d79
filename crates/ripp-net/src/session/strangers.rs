//! Links that have not shown yet whether they may come in, or have been refused and not gone yet: few at a time, and a flood of them pushes out its own.

use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex};

use crate::control::{ControlLink, oldest_of_the_most};
use crate::lock::lock;

/// Links that wait to say who they are, or to hear why they are refused, at most.
const MOST: usize = 64;

/// Links that have not shown the token yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Strangers(Arc<Mutex<Vec<Arc<TcpStream>>>>);

/// A link's place among the strangers, until it is dropped.
#[derive(Debug)]
pub(super) struct Stranger {
    all: Strangers,
    stream: Arc<TcpStream>,
}

impl Strangers {
    /// Takes a link in; if there are too many, another has to go.
    pub(super) fn admit(&self, link: &ControlLink) -> std::io::Result<Stranger> {
        let stream = Arc::new(link.stream()?);
        let mut waiting = lock(&self.0);
        if waiting.len() >= MOST {
            let there = waiting.iter().enumerate().filter_map(|(at, one)| Some((at, one.peer_addr().ok()?.ip())));
            let (places, peers): (Vec<_>, Vec<_>) = there.unzip();
            // One that has no address any more is gone, and leaves by itself.
            if peers.len() >= MOST {
                // Fails where the connection is gone already.
                let _ = waiting.remove(places[oldest_of_the_most(&peers)]).shutdown(Shutdown::Both);
            }
        }
        waiting.push(Arc::clone(&stream));
        drop(waiting);
        Ok(Stranger { all: self.clone(), stream })
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        lock(&self.all.0).retain(|one| !Arc::ptr_eq(one, &self.stream));
    }
}
