//! Things that are made once for all who ask for them.

use std::sync::{Arc, Mutex, OnceLock};

use crate::step_store::lock;

/// The latest of what was made, by what it depends on.
///
/// Whoever asks for what another is making waits for it.
pub(crate) struct Shelf<K, V> {
    most: usize,
    /// The newest first.
    kept: Mutex<Vec<(K, Arc<OnceLock<V>>)>>,
}

impl<K: PartialEq, V: Clone> Shelf<K, V> {
    /// A shelf for `most` things.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, kept: Mutex::default() }
    }

    /// What is kept under `key`, or what `make` makes. That is kept, too, if it `is_whole` when it is made.
    pub(crate) fn get(&self, key: K, is_whole: impl FnOnce() -> bool, make: impl FnOnce() -> V) -> V {
        let place = self.place(key);
        let made = place.get_or_init(make).clone();
        if !is_whole() {
            lock(&self.kept).retain(|(_, other)| !Arc::ptr_eq(other, &place));
        }
        made
    }

    fn place(&self, key: K) -> Arc<OnceLock<V>> {
        let mut kept = lock(&self.kept);
        if let Some((_, found)) = kept.iter().find(|(other, _)| *other == key) {
            return Arc::clone(found);
        }
        let place = Arc::default();
        kept.truncate(self.most - 1);
        kept.insert(0, (key, Arc::clone(&place)));
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_is_kept_until_others_take_its_place() {
        let shelf = Shelf::new(2);
        let get = |key: u32, value: u32| shelf.get(key, || true, || value);
        assert_eq!([get(1, 10), get(2, 20), get(1, 11)], [10, 20, 10]);
        assert_eq!([get(3, 30), get(1, 12)], [30, 12]);
    }

    #[test]
    fn what_has_holes_is_given_to_who_asked_and_made_anew_for_the_next() {
        let shelf = Shelf::new(2);
        assert_eq!(shelf.get(1, || false, || "holes"), "holes");
        assert_eq!(shelf.get(1, || true, || "whole"), "whole");
        assert_eq!(shelf.get(1, || true, || "again"), "whole");
    }
}
