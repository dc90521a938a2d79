//! What is told beside a listing: how far it is, and what could not be listed.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use visapult_copy::{Event, Item};

use super::fold::Amount;
use crate::causes::Causes;
use crate::say::{say_in_place, tell};

/// What takes less is not told of while it goes on.
const PATIENCE: Duration = Duration::from_secs(1);
const EVERY: Duration = Duration::from_millis(200);
/// Things that could not be listed, in a document.
const MOST_FAILURES: usize = 1000;

/// What is told beside a listing.
#[derive(Debug)]
pub(super) struct Beside {
    causes: Causes,
    /// What could not be listed, and why; the first of them.
    failures: Vec<(String, String)>,
    failed: u64,
    /// When progress is told next; never where nobody sees it.
    due: Option<Instant>,
}

impl Default for Beside {
    fn default() -> Self {
        let due = io::stderr().is_terminal().then(|| Instant::now() + PATIENCE);
        Self { causes: Causes::default(), failures: Vec::new(), failed: 0, due }
    }
}

impl Beside {
    /// What is listed, if that is what has come.
    pub(super) fn take(&mut self, event: Event) -> Option<Item> {
        match event {
            Event::Listed(item) => return Some(item),
            Event::Failed { path, why } => {
                self.failed += 1;
                if self.failures.len() < MOST_FAILURES {
                    self.failures.push((path.clone(), why.clone()));
                }
                self.note(path, format!(": {why}"));
            }
            Event::LeftOut { path, why } => self.note(path, format!(" not listed: {why}")),
            Event::Notice(text) => tell(&text),
            _ => {}
        }
        None
    }

    fn note(&mut self, path: String, why: String) {
        self.causes.note(Instant::now(), path, why).iter().for_each(|line| tell(line));
    }

    /// Tells how much was listed by now, once it takes long.
    pub(super) fn progress(&mut self, seen: &Amount) {
        if let Some(due) = &mut self.due
            && *due <= Instant::now()
        {
            *due = Instant::now() + EVERY;
            say_in_place(&format!("{} so far", seen.files_and_bytes()));
        }
    }

    /// Tells what could not be listed, cause by cause.
    pub(super) fn finish(&mut self) {
        self.causes.rest().iter().for_each(|line| tell(line));
    }

    pub(super) const fn failed(&self) -> u64 {
        self.failed
    }

    pub(super) fn failures(&self) -> &[(String, String)] {
        &self.failures
    }
}
