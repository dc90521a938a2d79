//! The sessions that are open, by the name data connections call them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use visapult_pipeline::Session;

/// Most sessions at a time: each costs a thread.
const MOST_SESSIONS: usize = 256;

/// The open sessions.
#[derive(Default)]
pub(crate) struct Registry {
    sessions: Mutex<HashMap<String, Arc<Session>>>,
}

impl Registry {
    /// Adds a session; false if there are too many.
    pub(crate) fn add(&self, id: String, session: Arc<Session>) -> bool {
        let mut sessions = self.lock();
        if sessions.len() >= MOST_SESSIONS {
            return false;
        }
        sessions.insert(id, session);
        true
    }

    /// The session of that name.
    pub(crate) fn get(&self, id: &str) -> Option<Arc<Session>> {
        self.lock().get(id).cloned()
    }

    /// Forgets a session.
    pub(crate) fn remove(&self, id: &str) {
        self.lock().remove(id);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
