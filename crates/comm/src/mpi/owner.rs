//! The loop of the thread that owns MPI: it sends, receives, and watches who is still there.
//!
//! Never blocks in MPI, which spins: it polls, and between polls sleeps for an eighth of the time since something last moved (at most
//! a millisecond), so that polling adds an eighth to a wait and costs an idle PE next to nothing.
//!
//! PE 0 watches all, all watch PE 0; when one is lost, PE 0 tells the others.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::{park_timeout, yield_now};
use std::time::{Duration, Instant};

use super::calls::{Announced, Mpi, Transfer};
use super::library::Handle;
use super::outbox::{Outbox, Parcel};
use crate::mailbox::{Mailbox, OpenTo};
use crate::{CommError, WireTag};

/// "I am alive."
const BEAT: WireTag = 300;
/// "I send nothing more."
const FAREWELL: WireTag = 301;
/// "This PE is lost": its rank, four bytes.
const LOST: WireTag = 302;
const OWN: [WireTag; 3] = [BEAT, FAREWELL, LOST];

const LONGEST_PAUSE: Duration = Duration::from_millis(1);
const SHORTEST_PAUSE: Duration = Duration::from_micros(20);
/// How long a transfer that does not come to its end is polled without sleeping: MPI moves bytes only while it is called.
const EAGER: Duration = Duration::from_millis(500);
const PROBES_IN_A_ROW: usize = 64;
const BEATS_IN_PATIENCE: u32 = 5;

pub(crate) struct Loop<H: Handle> {
    mpi: Mpi<H>,
    inbox: Arc<Mailbox>,
    outbox: Arc<Outbox>,
    patience: Duration,
    sending: Vec<(usize, WireTag, Transfer<H>)>,
    /// In the order of their probes, which is that of their sending for each sender.
    receiving: VecDeque<(Announced, Transfer<H>)>,
    peers: Vec<Peer>,
    moved: Instant,
    looked: Instant,
    next_beat: Instant,
    said_farewell: bool,
}

#[derive(Clone)]
struct Peer {
    heard: Instant,
    state: Presence,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Here,
    Left,
    Lost,
}

impl<H: Handle> Loop<H> {
    pub(crate) fn new(mpi: Mpi<H>, inbox: Arc<Mailbox>, outbox: Arc<Outbox>, patience: Duration) -> Self {
        let now = Instant::now();
        let mut peers = vec![Peer { heard: now, state: Presence::Here }; mpi.size];
        peers[mpi.rank].state = Presence::Left;
        Self {
            mpi,
            inbox,
            outbox,
            patience,
            sending: Vec::new(),
            receiving: VecDeque::new(),
            peers,
            moved: now,
            looked: now,
            next_beat: now,
            said_farewell: false,
        }
    }

    /// Runs until this PE has left, and all others have left or are lost.
    pub(crate) fn run(mut self) {
        loop {
            match self.turn() {
                Ok(false) => self.pause(),
                Ok(true) => break,
                Err(problem) => {
                    let is_given_up = problem == CommError::TakenForLost;
                    self.inbox.fail(problem);
                    return self.wait_to_leave(is_given_up);
                }
            }
        }
        // With a PE lost, or transfers that never ended, MPI would wait for ever: the end of the process has to do.
        if self.sending.is_empty() && self.peers.iter().all(|peer| peer.state == Presence::Left) {
            self.mpi.finalize();
        }
    }

    /// One look at everything; true when it is time to end.
    fn turn(&mut self) -> Result<bool, CommError> {
        let now = Instant::now();
        let wishes = self.outbox.take();
        if let Some(code) = wishes.abort {
            self.inbox.fail(CommError::Aborted);
            self.mpi.abort(code);
        }
        for Parcel { to, tag, bytes } in wishes.parcels {
            self.send(to, tag, bytes)?;
            self.moved = now;
        }
        self.finish_sending(now)?;
        self.probe(now)?;
        self.finish_receiving(now)?;
        self.watch(now)?;
        Ok(wishes.leave && self.leave()?)
    }

    fn pause(&self) {
        let still = self.moved.elapsed();
        let under_way = !self.receiving.is_empty() || self.sending.iter().any(|(_, tag, _)| !OWN.contains(tag));
        if still < SHORTEST_PAUSE || (under_way && still < EAGER) {
            yield_now();
        } else {
            park_timeout((still / 8).clamp(SHORTEST_PAUSE, LONGEST_PAUSE));
        }
    }

    fn send(&mut self, to: usize, tag: WireTag, bytes: Vec<u8>) -> Result<(), CommError> {
        let transfer = self.mpi.send(to, tag, bytes)?;
        self.sending.push((to, tag, transfer));
        Ok(())
    }

    fn finish_sending(&mut self, now: Instant) -> Result<(), CommError> {
        let mut at = 0;
        while at < self.sending.len() {
            if self.mpi.is_done(&mut self.sending[at].2)? {
                let (_, _, transfer) = self.sending.swap_remove(at);
                self.outbox.gone(transfer.len());
                self.moved = now;
            } else {
                at += 1;
            }
        }
        Ok(())
    }

    fn probe(&mut self, now: Instant) -> Result<(), CommError> {
        let under_way: usize = self.receiving.iter().map(|(_, transfer)| transfer.len()).sum();
        let keys: Vec<_> = match self.inbox.open_to(under_way) {
            OpenTo::All => vec![(None, None)],
            OpenTo::Only(wanted) => {
                let wanted = wanted.into_iter().map(|(from, tag)| (Some(from), Some(tag)));
                wanted.chain(OWN.map(|tag| (None, Some(tag)))).collect()
            }
        };
        for (from, tag) in keys {
            for _ in 0..PROBES_IN_A_ROW {
                let Some(found) = self.mpi.probe(from, tag)? else { break };
                let transfer = self.mpi.receive(&found)?;
                self.peers[found.from].heard = now;
                self.receiving.push_back((found, transfer));
            }
        }
        Ok(())
    }

    /// Delivers what is complete, unless something earlier of the same sender is not.
    fn finish_receiving(&mut self, now: Instant) -> Result<(), CommError> {
        let mut waiting = Vec::new();
        let mut left = VecDeque::with_capacity(self.receiving.len());
        for (found, mut transfer) in std::mem::take(&mut self.receiving) {
            if waiting.contains(&found.from) || !self.mpi.is_done(&mut transfer)? {
                waiting.push(found.from);
                left.push_back((found, transfer));
            } else {
                self.peers[found.from].heard = now;
                self.deliver(&found, transfer.into_bytes(), now)?;
            }
        }
        self.receiving = left;
        Ok(())
    }

    fn deliver(&mut self, found: &Announced, bytes: Vec<u8>, now: Instant) -> Result<(), CommError> {
        match found.tag {
            // One that is taken for lost and asks whether the run goes on.
            BEAT if self.peers[found.from].state == Presence::Lost => self.tell_lost(found.from, found.from)?,
            BEAT => {}
            FAREWELL => {
                self.peers[found.from].state = Presence::Left;
                self.inbox.mark_gone(found.from, CommError::Left { rank: found.from });
            }
            LOST => {
                let rank = bytes.try_into().map(u32::from_le_bytes).ok().and_then(|rank| usize::try_from(rank).ok());
                match rank.filter(|rank| *rank < self.peers.len()) {
                    Some(rank) if rank == self.mpi.rank => return Err(CommError::TakenForLost),
                    Some(rank) => self.lose(rank)?,
                    None => {}
                }
            }
            tag => {
                self.moved = now;
                self.inbox.put(found.from, tag, bytes);
            }
        }
        Ok(())
    }

    fn watch(&mut self, now: Instant) -> Result<(), CommError> {
        let beat = self.patience / BEATS_IN_PATIENCE;
        let watched = if self.mpi.rank == 0 { 1..self.mpi.size } else { 0..1 };
        let away = self.away(now);
        self.peers.iter_mut().for_each(|peer| peer.heard += away);
        for rank in watched.clone() {
            let peer = &self.peers[rank];
            if peer.state == Presence::Here && now.saturating_duration_since(peer.heard) > self.patience {
                self.lose(rank)?;
            }
        }
        if now < self.next_beat {
            return Ok(());
        }
        self.next_beat = now + beat;
        for rank in watched {
            let unread = self.sending.iter().any(|(to, tag, _)| *to == rank && *tag == BEAT);
            if self.peers[rank].state == Presence::Here && !unread {
                self.send(rank, BEAT, Vec::new())?;
            }
        }
        Ok(())
    }

    /// How long this process stood still, if it did: what the others have sent in the meantime is yet to be read.
    fn away(&mut self, now: Instant) -> Duration {
        let away = now - std::mem::replace(&mut self.looked, now);
        if away > self.patience / BEATS_IN_PATIENCE { away } else { Duration::ZERO }
    }

    fn lose(&mut self, lost: usize) -> Result<(), CommError> {
        self.peers[lost].state = Presence::Lost;
        self.inbox.mark_gone(lost, CommError::Lost { rank: lost, seconds: self.patience.as_secs() });
        if self.mpi.rank == 0 {
            for rank in 1..self.mpi.size {
                // The lost one too: should it come back, it is to know.
                self.tell_lost(rank, lost)?;
            }
        }
        Ok(())
    }

    fn tell_lost(&mut self, to: usize, lost: usize) -> Result<(), CommError> {
        let notice = u32::try_from(lost).unwrap_or(u32::MAX).to_le_bytes();
        self.send(to, LOST, notice.to_vec())
    }

    /// Says farewell once everything is sent; true when the others have done so, too.
    fn leave(&mut self) -> Result<bool, CommError> {
        if !self.said_farewell {
            let pending =
                |(to, tag, _): &(usize, WireTag, _)| !OWN.contains(tag) && self.peers[*to].state == Presence::Here;
            if self.sending.iter().any(pending) {
                return Ok(false);
            }
            self.said_farewell = true;
            let own = self.mpi.rank;
            for rank in (0..self.mpi.size).filter(|rank| *rank != own) {
                self.send(rank, FAREWELL, Vec::new())?;
            }
            self.moved = Instant::now();
        }
        let lost = |to: usize| self.peers[to].state == Presence::Lost;
        let sent = self.sending.iter().all(|(to, _, _)| lost(*to));
        Ok(sent && self.peers.iter().all(|peer| peer.state != Presence::Here))
    }

    /// MPI is of no use any more; only the wish to abort is still heard. Who is given up while the others go on stays until they have ended:
    /// launchers end a run of which a process ends by itself.
    fn wait_to_leave(mut self, is_given_up: bool) {
        let now = Instant::now();
        (self.peers[0].heard, self.looked) = (now, now);
        loop {
            let wishes = self.outbox.take();
            if let Some(code) = wishes.abort {
                self.mpi.abort(code);
            }
            // What MPI cannot tell is over.
            if wishes.leave && !(is_given_up && self.goes_on().unwrap_or(false)) {
                return;
            }
            park_timeout(Duration::from_millis(100));
        }
    }

    /// Asks PE 0 now and then, by a sign of life, whether the run goes on; that it does not if it says farewell, or nothing.
    fn goes_on(&mut self) -> Result<bool, CommError> {
        let now = Instant::now();
        let away = self.away(now);
        self.peers[0].heard += away;
        while let Some(found) = self.mpi.probe(Some(0), None)? {
            let transfer = self.mpi.receive(&found)?;
            self.receiving.push_back((found, transfer));
        }
        for (found, mut transfer) in std::mem::take(&mut self.receiving) {
            if !self.mpi.is_done(&mut transfer)? {
                self.receiving.push_back((found, transfer));
            } else if found.from == 0 {
                self.peers[0].heard = now;
                if found.tag == FAREWELL {
                    self.peers[0].state = Presence::Left;
                }
            }
        }
        self.finish_sending(now)?;
        let unread = self.sending.iter().any(|(to, tag, _)| (*to, *tag) == (0, BEAT));
        if now >= self.next_beat && !unread {
            self.next_beat = now + self.patience / BEATS_IN_PATIENCE;
            self.send(0, BEAT, Vec::new())?;
        }
        let Peer { heard, state } = self.peers[0];
        Ok(state != Presence::Left && now.saturating_duration_since(heard) <= self.patience)
    }
}
