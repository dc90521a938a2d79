//! The copies of a share that are under way.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use visapult_ripp_net::Session;

use super::POLL;
use super::link::Portion;
use crate::lock::lock;
use crate::request::LAST_PATIENCE;

/// The session of a dialler that is back ends within this time.
const TURN_PATIENCE: Duration = Duration::from_secs(20);
const BACK: &str = "its dialler is back";
/// Copies at one time, beside one for each whom a policy names.
const MOST_COPIES: usize = 32;

/// A copy under way.
#[derive(Debug)]
pub(super) struct Copy {
    pub(super) session: Session,
    pub(super) portion: Portion,
    is_over: AtomicBool,
}

impl Copy {
    pub(super) const fn new(session: Session, portion: Portion) -> Self {
        Self { session, portion, is_over: AtomicBool::new(false) }
    }
}

/// Whose it is, where that is known, and what its dialler calls it.
type Job = (Option<String>, String);

/// Those under way, by their jobs.
#[derive(Debug, Default)]
pub(super) struct Copies(Mutex<HashMap<Job, Arc<Copy>>>);

impl Copies {
    /// None begins or ends while they are looked at.
    pub(super) fn look(&self) -> MutexGuard<'_, HashMap<Job, Arc<Copy>>> {
        lock(&self.0)
    }

    /// Takes a copy in; one that is `alone` only if none of the same person is under way. A dialler that is back takes the place of its earlier session.
    pub(super) fn enter(&self, copy: &Arc<Copy>, job: &str, alone: bool) -> Result<(), String> {
        let member = copy.session.member();
        let job = (member.map(ToOwned::to_owned), job.to_owned());
        let before = self.look().remove(&job);
        if let Some(before) = before {
            before.session.end_because(BACK);
            let deadline = Instant::now() + TURN_PATIENCE;
            while !before.is_over.load(Ordering::Relaxed) && Instant::now() < deadline {
                thread::sleep(POLL / 10);
            }
        }
        let alone = member.filter(|_| alone);
        let deadline = Instant::now() + LAST_PATIENCE;
        let mut copies = self.look();
        // What they have just done may not be quite over.
        while let Some(name) = alone
            && copies.values().any(|other| other.session.member() == Some(name))
        {
            drop(copies);
            if Instant::now() > deadline {
                return Err(format!("another copy of {name}'s has all of the rate that is allowed; wait for its end"));
            }
            thread::sleep(POLL / 10);
            copies = self.look();
        }
        // The copies of some keep nobody else from having one.
        let is_first = member.is_some() && copies.values().all(|other| other.session.member() != member);
        if copies.len() >= MOST_COPIES && !is_first {
            return Err(format!("busy with {MOST_COPIES} copies; try again later"));
        }
        // Two may have come back at once.
        if let Some(before) = copies.insert(job, Arc::clone(copy)) {
            before.session.end_because(BACK);
        }
        Ok(())
    }

    /// It is over.
    pub(super) fn leave(&self, copy: &Arc<Copy>) {
        copy.is_over.store(true, Ordering::Relaxed);
        self.look().retain(|_, other| !Arc::ptr_eq(other, copy));
    }
}
