//! The sessions that are open, by the name data connections call them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::ws::Message;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use visapult_pipeline::Session;

/// Most sessions at a time, those included that wait for a simulation: each costs a thread once that has come.
const MOST_SESSIONS: usize = 256;

/// Most connections for data at a time, of all sessions: pages have one for each group of PEs, and for a moment another that takes its place.
const MOST_DATA: usize = 2048;

/// A session, and what is told to its page.
#[derive(Clone)]
pub(crate) struct Open {
    pub(crate) session: Arc<Session>,
    pub(crate) control: mpsc::WeakSender<Message>,
}

/// The open sessions.
pub(crate) struct Registry {
    sessions: Mutex<HashMap<String, Open>>,
    places: Arc<Semaphore>,
    data_places: Arc<Semaphore>,
}

impl Default for Registry {
    fn default() -> Self {
        Self {
            sessions: Mutex::default(),
            places: Arc::new(Semaphore::new(MOST_SESSIONS)),
            data_places: Arc::new(Semaphore::new(MOST_DATA)),
        }
    }
}

impl Registry {
    /// A place for a session as long as it is held; none if there are too many.
    pub(crate) fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// A place for a connection for data as long as it is held; none if there are too many.
    pub(crate) fn data_place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.data_places).try_acquire_owned().ok()
    }

    /// Adds a session.
    pub(crate) fn add(&self, id: String, open: Open) {
        self.lock().insert(id, open);
    }

    /// The session of that name.
    pub(crate) fn get(&self, id: &str) -> Option<Open> {
        self.lock().get(id).cloned()
    }

    /// Forgets a session.
    pub(crate) fn remove(&self, id: &str) {
        self.lock().remove(id);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Open>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
