//! Bundles that are offered before the other end could ask for them: small files of a new folder are under way two round trips sooner.
//!
//! Each is of files of one listing, so that one answer tells which of them are wanted. Once one is refused no more are made: the other end has
//! such files, takes them from several, or is of a build that does not know of this.

use std::collections::{BTreeMap, VecDeque};

use super::Begin;
use super::lister::Listed;
use super::readers::THREADS;
use crate::bundle::{BUNDLE, FULL_BYTES, FULL_FILES, MOST_BUNDLE, MOST_UNASKED, MOST_UNASKED_BYTES, UnaskedName};

/// What a file takes in a bundle beside its content, about.
const FILE_COST: u64 = 64;

/// Files with their numbers.
type Files = Vec<(u64, Listed)>;

/// The bundles of which it is not known yet whether they are wanted, or what came of them.
#[derive(Debug)]
pub(super) struct Unasked {
    is_on: bool,
    /// Entries before this are in no further one.
    next: u64,
    /// By the first entry of each.
    bundles: BTreeMap<u64, Bundle>,
}

/// All files that are listed from its first entry on, before `end`, are in it.
#[derive(Debug)]
struct Bundle {
    end: u64,
    files: u64,
    bytes: u64,
    state: State,
    /// The other end has said which of the files it wants: these.
    is_answered: bool,
    wanted: Files,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Reading,
    Offered,
    Delivered,
}

impl Unasked {
    pub(super) const fn new(begin: Begin) -> Self {
        Self { is_on: matches!(begin, Begin::AtOnce), next: 0, bundles: BTreeMap::new() }
    }

    /// The files of the next, of those `listed` in listings that end at the numbers in `unanswered`; none if no more is to be read now.
    pub(super) fn next(&mut self, listed: &BTreeMap<u64, Listed>, unanswered: &VecDeque<u64>) -> Option<Files> {
        let open = || self.bundles.values().filter(|bundle| !bundle.is_answered);
        let reading = self.bundles.values().filter(|bundle| bundle.state == State::Reading).count();
        let bytes: u64 = open().map(|bundle| bundle.bytes).sum();
        let is_room = reading < THREADS && open().count() < MOST_UNASKED && bytes + MOST_BUNDLE <= MOST_UNASKED_BYTES;
        if !self.is_on || !is_room {
            return None;
        }
        let mut files = Files::new();
        let mut size = 0;
        for (&entry, file) in listed.range(self.next..) {
            let end_of_listing = unanswered.iter().find(|&&end| end > files.first().map_or(entry, |(first, _)| *first));
            let is_of_another = end_of_listing.is_none_or(|&end| entry >= end);
            let is_for_bundles = !file.is_ranged && file.is_at_hand();
            let is_full = files.len() == FULL_FILES || size >= FULL_BYTES;
            if !files.is_empty() && (is_of_another || !is_for_bundles || is_full) {
                break;
            }
            if is_for_bundles {
                size += file.size + FILE_COST;
                files.push((entry, file.clone()));
            }
        }
        let (Some(&(first, _)), Some(&(last, _))) = (files.first(), files.last()) else {
            self.next = listed.last_key_value().map_or(self.next, |(&last, _)| last + 1);
            return None;
        };
        self.next = last + 1;
        let count = files.len() as u64;
        let bundle = Bundle {
            end: last + 1,
            files: count,
            bytes: size,
            state: State::Reading,
            is_answered: false,
            wanted: Files::new(),
        };
        self.bundles.insert(first, bundle);
        Some(files)
    }

    /// What a bundle that was read is to be called, and whether it was asked for meanwhile; none if it is needless now.
    pub(super) fn name(&mut self, first: u64) -> Option<(String, bool)> {
        let is_on = self.is_on;
        let bundle = self.bundles.get_mut(&first)?;
        if bundle.is_answered {
            self.bundles.remove(&first);
            return Some((BUNDLE.to_owned(), true));
        }
        if !is_on {
            // What is wanted of it is asked for.
            self.bundles.remove(&first);
            return None;
        }
        bundle.state = State::Offered;
        Some((UnaskedName { first, end: bundle.end, files: bundle.files }.to_text(), false))
    }

    /// A file is wanted: it is returned unless one of the bundles has it.
    pub(super) fn want(&mut self, entry: u64, listed: Listed) -> Option<Listed> {
        let holder = self.bundles.range_mut(..=entry).next_back().map(|(_, bundle)| bundle);
        match holder.filter(|bundle| entry < bundle.end && !listed.is_ranged) {
            Some(bundle) => {
                bundle.wanted.push((entry, listed));
                None
            }
            None => Some(listed),
        }
    }

    /// The other end has said what it wants of entries before `upto`. Returns files that are to be sent otherwise.
    pub(super) fn answer(&mut self, upto: u64) -> Files {
        let mut others = Files::new();
        self.bundles.retain(|_, bundle| {
            if bundle.end > upto || bundle.is_answered {
                return true;
            }
            bundle.is_answered = true;
            let is_all_wanted = bundle.wanted.len() as u64 == bundle.files;
            match bundle.state {
                State::Offered => true,
                State::Delivered => false,
                State::Reading if is_all_wanted => true,
                State::Reading => {
                    others.append(&mut bundle.wanted);
                    false
                }
            }
        });
        others
    }

    /// A bundle was delivered, or refused. Returns files that are to be sent otherwise.
    pub(super) fn over(&mut self, first: u64, is_delivered: bool) -> Files {
        self.is_on &= is_delivered;
        match self.bundles.get_mut(&first) {
            Some(bundle) if is_delivered && !bundle.is_answered => {
                bundle.state = State::Delivered;
                return Files::new();
            }
            _ => {}
        }
        let bundle = self.bundles.remove(&first).filter(|_| !is_delivered);
        bundle.map(|bundle| bundle.wanted).unwrap_or_default()
    }

    /// It is not known yet whether this is wanted.
    pub(super) fn holds(&self, first: u64) -> bool {
        self.bundles.get(&first).is_some_and(|bundle| !bundle.is_answered)
    }

    pub(super) fn is_reading(&self) -> bool {
        self.bundles.values().any(|bundle| bundle.state == State::Reading)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use visapult_objects::{ObjectUrl, PATIENCE};

    use super::*;
    use crate::listing::Mtime;
    use crate::objects::Store;
    use crate::root::Root;

    /// Listed files by their numbers: small ones in a folder but for those that are `ranged` or `stored`.
    fn listed(numbers: impl Iterator<Item = u64>, ranged: &[u64], stored: &[u64]) -> BTreeMap<u64, Listed> {
        let folder = Arc::new(Root::here(&std::env::temp_dir()).unwrap());
        let url = ObjectUrl::parse("http://127.0.0.1/notes.txt").unwrap().unwrap();
        let store = Arc::new(Root::stored(Store::connect(&url, PATIENCE).unwrap()));
        let file = |entry: u64| Listed {
            root: Arc::clone(if stored.contains(&entry) { &store } else { &folder }),
            path: entry.to_string().into(),
            size: 10,
            mtime: Mtime { s: 0, ns: 0 },
            is_ranged: ranged.contains(&entry),
        };
        numbers.map(|entry| (entry, file(entry))).collect()
    }

    fn numbers(files: &Files) -> Vec<u64> {
        files.iter().map(|(entry, _)| *entry).collect()
    }

    /// Has these of the files wanted.
    fn want(unasked: &mut Unasked, files: &BTreeMap<u64, Listed>, wanted: &[u64]) -> Vec<u64> {
        let others = wanted.iter().filter(|&entry| unasked.want(*entry, files[entry].clone()).is_some());
        others.copied().collect()
    }

    #[test]
    fn a_bundle_is_of_small_files_that_follow_one_another_in_one_listing() {
        // Entry 0 is a folder.
        let (files, unanswered) = (listed(1..20, &[4, 19], &[7]), VecDeque::from([10, 20]));
        let mut unasked = Unasked::new(Begin::AtOnce);
        let all: Vec<_> = std::iter::from_fn(|| unasked.next(&files, &unanswered)).collect();
        let all: Vec<_> = all.iter().map(numbers).collect();
        assert_eq!(all, [vec![1, 2, 3], vec![5, 6], vec![8, 9], (10..19).collect()]);
        assert!(Unasked::new(Begin::WhenAsked).next(&files, &unanswered).is_none());
        let many = listed(0..100_000, &[], &[]);
        let mut unasked = Unasked::new(Begin::AtOnce);
        let (mut next, end) = (|| unasked.next(&many, &VecDeque::from([100_000])), THREADS);
        assert_eq!(next().map(|files| files.len()), Some(FULL_FILES));
        assert_eq!((1..).take_while(|_| next().is_some()).count() + 1, end, "no more than are read at one time");
    }

    #[test]
    fn what_lies_between_bundles_is_sent_otherwise() {
        let (files, unanswered) = (listed(0..10, &[], &[4]), VecDeque::from([10]));
        let mut unasked = Unasked::new(Begin::AtOnce);
        while let Some(bundle) = unasked.next(&files, &unanswered) {
            unasked.name(bundle[0].0).unwrap();
            assert!(unasked.over(bundle[0].0, true).is_empty());
        }
        assert_eq!(want(&mut unasked, &files, &(0..10).collect::<Vec<_>>()), [4]);
        assert!(unasked.answer(10).is_empty());
    }

    #[test]
    fn what_is_delivered_is_not_sent_again_and_what_is_refused_is() {
        let (files, unanswered) = (listed(0..30, &[], &[]), VecDeque::from([10, 20, 30]));
        for (wanted, is_delivered, otherwise) in
            [((0..10).collect::<Vec<_>>(), true, vec![]), (vec![2, 3], false, vec![2, 3]), (vec![], false, vec![])]
        {
            for is_answered_first in [true, false] {
                let mut unasked = Unasked::new(Begin::AtOnce);
                assert_eq!(unasked.next(&files, &unanswered).map(|files| numbers(&files)), Some((0..10).collect()));
                let (name, is_asked) = unasked.name(0).unwrap();
                assert!(unasked.holds(0) && !is_asked && name.starts_with("r 0 "), "{name}");
                let mut sent = Vec::new();
                if !is_answered_first {
                    sent.extend(numbers(&unasked.over(0, is_delivered)));
                }
                sent.extend(want(&mut unasked, &files, &wanted));
                sent.extend(numbers(&unasked.answer(10)));
                if is_answered_first {
                    sent.extend(numbers(&unasked.over(0, is_delivered)));
                }
                assert_eq!(sent, otherwise);
                assert_eq!(unasked.next(&files, &unanswered).is_some(), is_delivered, "a refusal is the end of it");
                assert_eq!(want(&mut unasked, &files, &[5]), [5], "the bundle is over");
            }
        }
    }

    #[test]
    fn what_is_asked_for_while_it_is_read_is_no_longer_unasked() {
        let (files, unanswered) = (listed(0..30, &[], &[]), VecDeque::from([10, 20, 30]));
        let mut unasked = Unasked::new(Begin::AtOnce);
        (0..2).for_each(|_| assert!(unasked.next(&files, &unanswered).is_some()));
        assert!(unasked.is_reading());
        assert!(want(&mut unasked, &files, &(0..10).collect::<Vec<_>>()).is_empty());
        assert!(unasked.answer(10).is_empty());
        assert_eq!(unasked.name(0), Some((BUNDLE.to_owned(), true)), "all of it is wanted");
        assert_eq!(want(&mut unasked, &files, &[11, 25]), [25], "nobody reads that yet");
        assert_eq!(numbers(&unasked.answer(20)), [11]);
        assert_eq!(unasked.name(10), None, "only some of it is");
        assert!(!unasked.is_reading());
    }
}
