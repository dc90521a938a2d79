//! Files of which the other end says later whether it wants them.
//!
//! Invariant: the hash of each is asked for once.

use std::collections::{BTreeSet, HashMap};

use super::lister::Listed;

#[derive(Debug, Default)]
pub(super) struct Held {
    all: HashMap<u64, Listed>,
    /// Those of them whose hash was not asked for.
    unhashed: BTreeSet<u64>,
}

impl Held {
    /// It says so later.
    pub(super) fn add(&mut self, files: impl IntoIterator<Item = (u64, Listed)>) {
        for (entry, listed) in files {
            self.unhashed.insert(entry);
            self.all.insert(entry, listed);
        }
    }

    /// Those from `first` on, before `end`, whose hashes are asked for now: of those that are held, and of these `others`, which are from here on.
    pub(super) fn ask_hashes(&mut self, first: u64, end: u64, others: Vec<(u64, Listed)>) -> Vec<(u64, Listed)> {
        let asked: Vec<u64> = self.unhashed.range(first.min(end)..end).copied().collect();
        for entry in &asked {
            self.unhashed.remove(entry);
        }
        let held = asked.iter().filter_map(|entry| Some((*entry, self.all.get(entry)?.clone())));
        let files = held.chain(others.iter().cloned()).collect();
        self.all.extend(others);
        files
    }

    /// It has said so.
    pub(super) fn remove(&mut self, entry: u64) -> Option<Listed> {
        self.unhashed.remove(&entry);
        self.all.remove(&entry)
    }

    pub(super) fn holds(&self, entry: u64) -> bool {
        self.all.contains_key(&entry)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::listing::Mtime;
    use crate::root::Root;

    fn files(numbers: std::ops::Range<u64>) -> Vec<(u64, Listed)> {
        let root = Arc::new(Root::here(&std::env::temp_dir()).unwrap());
        let file = |entry: u64| {
            let (root, path) = (Arc::clone(&root), entry.to_string().into());
            (entry, Listed { root, path, size: 10, mtime: Mtime { s: 0, ns: 0 }, is_ranged: false })
        };
        numbers.map(file).collect()
    }

    #[test]
    fn a_hash_is_asked_for_once_however_often_that_is_said() {
        let mut held = Held::default();
        held.add(files(0..10));
        let mut asked = Vec::new();
        for (first, end) in [(2, 4), (0, 6), (0, u64::MAX), (9, 3)].repeat(100) {
            let others = if asked.is_empty() { files(20..23) } else { Vec::new() };
            asked.extend(held.ask_hashes(first, end, others).into_iter().map(|(entry, _)| entry));
        }
        asked.sort_unstable();
        assert_eq!(asked, (0..10).chain(20..23).collect::<Vec<_>>());
        assert!(held.holds(3) && held.holds(21));
        (0..10).chain(20..23).for_each(|entry| assert!(held.remove(entry).is_some()));
        assert!(held.is_empty() && held.remove(3).is_none());
    }
}
