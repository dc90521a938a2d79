//! Things that are made once for all who ask for them.

use std::sync::{Arc, Mutex, OnceLock};

use crate::lock::lock;

/// The latest of what was made, by what it depends on. What is being made stays, however much else is asked for meanwhile.
///
/// Whoever asks for what another is making waits for it.
pub(crate) struct Memo<K, V> {
    most: usize,
    /// The newest first.
    kept: Mutex<Vec<(K, Place<V>)>>,
}

/// Held by the shelf, and by those who make what belongs there or wait for it.
type Place<V> = Arc<OnceLock<V>>;

impl<K, V: Clone> Memo<K, V> {
    /// A shelf for `most` things.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, kept: Mutex::default() }
    }

    /// What is kept under `key`, or what `make` makes. That is kept, too, if it `is_whole` when it is made.
    pub(crate) fn get(&self, key: K, is_whole: impl FnOnce() -> bool, make: impl FnOnce() -> V) -> V
    where
        K: PartialEq,
    {
        let place = self.place(key, PartialEq::eq);
        let made = place.get_or_init(make).clone();
        if !is_whole() {
            lock(&self.kept).retain(|(_, other)| !Arc::ptr_eq(other, &place));
        }
        made
    }

    /// The newest that is kept, or being made, under a key that `suffices` for this one, or what `make` makes.
    pub(crate) fn get_like(&self, key: K, suffices: impl Fn(&K, &K) -> bool, make: impl FnOnce() -> V) -> V {
        self.place(key, suffices).get_or_init(make).clone()
    }

    /// What is kept, the newest first.
    pub(crate) fn made(&self) -> Vec<V> {
        lock(&self.kept).iter().filter_map(|(_, place)| place.get().cloned()).collect()
    }

    /// Keeps nothing any more.
    pub(crate) fn clear(&self) {
        lock(&self.kept).clear();
    }

    fn place(&self, key: K, suffices: impl Fn(&K, &K) -> bool) -> Place<V> {
        let mut kept = lock(&self.kept);
        if let Some((_, found)) = kept.iter().find(|(other, _)| suffices(other, &key)) {
            return Arc::clone(found);
        }
        let mut left = self.most - 1;
        kept.retain(|(_, place)| {
            let stays = left > 0 || Arc::strong_count(place) > 1;
            left = left.saturating_sub(1);
            stays
        });
        let place = Place::default();
        kept.insert(0, (key, Arc::clone(&place)));
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_is_kept_until_others_take_its_place() {
        let memo = Memo::new(2);
        let get = |key: u32, value: u32| memo.get(key, || true, || value);
        assert_eq!([get(1, 10), get(2, 20), get(1, 11)], [10, 20, 10]);
        assert_eq!([get(3, 30), get(1, 12)], [30, 12]);
    }

    #[test]
    fn what_is_being_made_is_not_made_again_however_much_is_asked_for_meanwhile() {
        let memo = Memo::new(1);
        let get = |key: u32, value: u32| memo.get(key, || true, || value);
        let slowly = || {
            assert_eq!([get(2, 20), get(3, 30)], [20, 30]);
            10
        };
        assert_eq!(memo.get(1, || true, slowly), 10);
        assert_eq!([get(1, 11), get(2, 21), get(1, 12)], [10, 21, 12]);
    }

    #[test]
    fn what_has_holes_is_given_to_who_asked_and_made_anew_for_the_next() {
        let memo = Memo::new(2);
        assert_eq!(memo.get(1, || false, || "holes"), "holes");
        assert_eq!(memo.get(1, || true, || "whole"), "whole");
        assert_eq!(memo.get(1, || true, || "again"), "whole");
    }

    #[test]
    fn what_is_alike_serves_as_well() {
        let memo = Memo::new(3);
        let near = |a: &i32, b: &i32| (a - b).abs() < 5;
        let get = |key: i32| memo.get_like(key, near, || key);
        assert_eq!([get(0), get(4), get(6), get(3)], [0, 0, 6, 6]);
        assert_eq!(memo.made(), [6, 0]);
        memo.clear();
        assert_eq!(get(4), 4);
    }
}
