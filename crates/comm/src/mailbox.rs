//! What has arrived at one PE and was not taken yet, who waits for what, and who will send nothing more.
//!
//! Invariant: past [`ROOM`] bytes only messages that somebody waits for come in, so that memory is bounded and nobody starves.

use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::{CommError, WireTag};

/// Bytes that lie untaken before no more are let in.
pub(crate) const ROOM: usize = 1 << 30;

type Key = (usize, WireTag);

#[derive(Debug)]
pub(crate) struct Mailbox {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    messages: HashMap<Key, VecDeque<Vec<u8>>>,
    bytes: usize,
    wanted: Vec<Key>,
    gone: Vec<Option<CommError>>,
    /// Nothing comes any more, from nobody.
    failed: Option<CommError>,
}

impl Mailbox {
    pub(crate) fn new(size: usize) -> Self {
        let state =
            State { messages: HashMap::new(), bytes: 0, wanted: Vec::new(), gone: vec![None; size], failed: None };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Adds a message, whatever there is already.
    pub(crate) fn put(&self, from: usize, tag: WireTag, bytes: Vec<u8>) {
        self.lock().put((from, tag), bytes);
        self.changed.notify_all();
    }

    /// Adds a message to the mailbox of `owner`, if there is room for it or somebody waits for it.
    pub(crate) fn offer(&self, owner: usize, from: usize, tag: WireTag, bytes: Vec<u8>) -> Result<(), CommError> {
        let key = (from, tag);
        let mut state = self.lock();
        state.check(owner)?;
        if state.bytes >= ROOM && !state.wanted.contains(&key) {
            return Err(CommError::Full { rank: owner });
        }
        state.put(key, bytes);
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// Takes the oldest message of `from` about `tag`; waits for it until `deadline`, where there is one.
    pub(crate) fn take(
        &self,
        from: usize,
        tag: WireTag,
        deadline: Option<Instant>,
    ) -> Result<Option<Vec<u8>>, CommError> {
        let key = (from, tag);
        let mut state = self.lock();
        state.wanted.push(key);
        let outcome = loop {
            if let Some(bytes) = state.take(key) {
                break Ok(Some(bytes));
            }
            if let Err(problem) = state.check(from) {
                break Err(problem);
            }
            state = match deadline.map(|at| at.saturating_duration_since(Instant::now())) {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(left) if left.is_zero() => break Ok(None),
                Some(left) => self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
            };
        };
        if let Some(at) = state.wanted.iter().position(|wanted| *wanted == key) {
            state.wanted.swap_remove(at);
        }
        outcome
    }

    /// Whether anything may come in; if not, what somebody waits for.
    pub(crate) fn open_to(&self, under_way: usize) -> OpenTo {
        let state = self.lock();
        if state.bytes + under_way < ROOM { OpenTo::All } else { OpenTo::Only(state.wanted.clone()) }
    }

    /// Fails if nothing can be exchanged with `rank` any more.
    pub(crate) fn check(&self, rank: usize) -> Result<(), CommError> {
        self.lock().check(rank)
    }

    /// `rank` will send nothing more; what it has sent can still be taken. The first reason counts.
    pub(crate) fn mark_gone(&self, rank: usize, why: CommError) {
        self.lock().gone[rank].get_or_insert(why);
        self.changed.notify_all();
    }

    /// A PE that is lost, as opposed to one that has ended in order.
    pub(crate) fn lost(&self) -> Option<CommError> {
        self.lock().gone.iter().flatten().find(|why| matches!(why, CommError::Lost { .. })).cloned()
    }

    /// Nobody sends anything any more. The first reason counts.
    pub(crate) fn fail(&self, why: CommError) {
        self.lock().failed.get_or_insert(why);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a mailbox lets in.
pub(crate) enum OpenTo {
    All,
    Only(Vec<Key>),
}

impl State {
    fn put(&mut self, key: Key, bytes: Vec<u8>) {
        self.bytes += bytes.len();
        self.messages.entry(key).or_default().push_back(bytes);
    }

    fn take(&mut self, key: Key) -> Option<Vec<u8>> {
        let bytes = self.messages.get_mut(&key)?.pop_front()?;
        self.bytes -= bytes.len();
        Some(bytes)
    }

    fn check(&self, rank: usize) -> Result<(), CommError> {
        match self.failed.as_ref().or(self.gone[rank].as_ref()) {
            Some(why) => Err(why.clone()),
            None => Ok(()),
        }
    }
}
