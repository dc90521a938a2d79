//! Events for who looks on while they happen, beside the file or without one.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::event::Event;
use crate::recorder::{begin_tapping, end_tapping};

/// Events that are kept until they are taken; of more the oldest are dropped.
const MOST: usize = 4096;

type Queue = Arc<Mutex<VecDeque<Event>>>;

static TAPS: Mutex<Vec<Queue>> = Mutex::new(Vec::new());

/// Gets a copy of every event while it lives.
#[derive(Debug)]
pub struct Tap(Queue);

impl Tap {
    /// Begins to listen.
    #[must_use]
    pub fn open() -> Self {
        let queue = Queue::default();
        let mut taps = lock(&TAPS);
        taps.push(Arc::clone(&queue));
        begin_tapping();
        Self(queue)
    }

    /// The events since the last call, in no particular order.
    #[must_use]
    pub fn take(&self) -> Vec<Event> {
        lock(&self.0).drain(..).collect()
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        let mut taps = lock(&TAPS);
        taps.retain(|other| !Arc::ptr_eq(other, &self.0));
        if taps.is_empty() {
            end_tapping();
        }
    }
}

/// Hands an event to all taps. The thread that stamps it never waits: while somebody else is at a tap, the event is left out there.
pub(crate) fn push(event: Event) {
    let Ok(taps) = TAPS.try_lock() else { return };
    for queue in taps.iter() {
        let Ok(mut queue) = queue.try_lock() else { continue };
        if queue.len() == MOST {
            queue.pop_front();
        }
        queue.push_back(event);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
