//! Folders that the requests of a person have open: nobody takes more than a part of the files that this process may have open, so that others can
//! still have a copy.

use std::collections::HashMap;
use std::sync::Mutex;

use rustix::process::{Resource, getrlimit};

use crate::lock::lock;

/// Part of the files that may be open, and of those that may where there is no limit.
const PART: u64 = 4;
const MOST: u64 = 1 << 16;

/// How many each has open.
#[derive(Debug)]
pub(super) struct Folders {
    most: u64,
    open: Mutex<HashMap<Option<String>, u64>>,
}

/// What one request has open, until it is over.
#[derive(Debug)]
pub(super) struct Holding<'a> {
    folders: &'a Folders,
    who: Option<String>,
    count: u64,
}

impl Folders {
    /// As many as the system lets this process have.
    pub(super) fn as_limited() -> Self {
        Self::of(getrlimit(Resource::Nofile).current.map_or(MOST, |most| most.min(MOST)))
    }

    fn of(files: u64) -> Self {
        Self { most: files / PART, open: Mutex::default() }
    }

    /// For a request of this person, where that is known.
    pub(super) fn hold(&self, who: Option<&str>) -> Holding<'_> {
        Holding { folders: self, who: who.map(str::to_owned), count: 0 }
    }
}

impl Holding<'_> {
    /// The request has so many open.
    ///
    /// # Errors
    /// If that is too many.
    pub(super) fn set(&mut self, count: u64) -> Result<(), String> {
        let most = self.folders.most;
        let mut open = lock(&self.folders.open);
        let all = open.entry(self.who.clone()).or_default();
        *all = *all - self.count + count;
        self.count = count;
        if *all > most {
            return Err(format!(
                "more than {most} folders would be open at one time for copies from here: name folders that hold what is wanted, or wait for the end of other copies"
            ));
        }
        Ok(())
    }
}

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        let mut open = lock(&self.folders.open);
        if let Some(all) = open.get_mut(&self.who) {
            *all -= self.count;
            if *all == 0 {
                open.remove(&self.who);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_person_takes_a_part_and_leaves_the_rest_to_others() {
        let folders = Folders::of(1024);
        let mut first = folders.hold(Some("mallory"));
        let mut second = folders.hold(Some("mallory"));
        (1..=200).for_each(|count| first.set(count).unwrap());
        second.set(56).unwrap();
        assert!(second.set(57).unwrap_err().starts_with("more than 256 folders"));
        folders.hold(Some("bob")).set(256).unwrap();
        drop(first);
        second.set(256).unwrap();
        drop(second);
        assert!(lock(&folders.open).is_empty());
    }
}
