//! The receiving side's objects: what of each has come, and where a datagram's bytes may be written.

use std::collections::HashMap;

use thiserror::Error;

use crate::memory::Limits;
use crate::spans::Spans;

/// Why a region is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The object is not known yet: it may be announced later, and the region sent again.
    #[error("object is not known")]
    Unknown,
    /// The object is complete or was given up; the region is of no use.
    #[error("object is closed")]
    Closed,
    /// The region reaches beyond the object: the peer is in error.
    #[error("region beyond the end of its object")]
    Beyond,
    /// There are too many runs of bytes with holes between, of the object or of all; the region may be sent again later.
    #[error("there are too many holes to keep in mind: more `memory` has room for more")]
    TooManyHoles,
}

#[derive(Debug)]
struct ObjectIn {
    length: u64,
    claimed: Spans,
    written: u64,
}

/// Objects being received.
#[derive(Debug)]
pub struct Inbox {
    objects: HashMap<u32, ObjectIn>,
    /// Runs of all objects, and how many there may be, of one object and of all, beside one at the beginning of each: what a peer can make the
    /// receiver remember.
    spans: usize,
    most_spans: (usize, usize),
}

impl Inbox {
    /// One that keeps within these limits.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        let most_spans = (limits.object_spans, limits.spans.saturating_sub(limits.objects));
        Self { objects: HashMap::new(), spans: 0, most_spans }
    }

    /// Runs of bytes that are kept of all objects.
    #[must_use]
    pub const fn spans(&self) -> usize {
        self.spans
    }

    /// Expects an object of `length` bytes.
    pub fn expect(&mut self, object: u32, length: u64) {
        self.close(object);
        self.objects.insert(object, ObjectIn { length, claimed: Spans::default(), written: 0 });
    }

    /// Claims the bytes of a region that nobody claimed before: `fresh` is called with each run of them, as offsets in the object. Whoever
    /// claims bytes writes them and then calls [`Inbox::written`].
    ///
    /// # Errors
    /// If the region has no place; nothing is claimed then.
    pub fn claim(&mut self, object: u32, offset: u64, length: u64, fresh: impl FnMut(u64, u64)) -> Result<(), Refusal> {
        let found = self.objects.get_mut(&object).ok_or(Refusal::Unknown)?;
        let end = offset.checked_add(length).filter(|&end| end <= found.length).ok_or(Refusal::Beyond)?;
        // What shortens a hole from either side is always welcome, and so is the beginning: a sender repairs its lowest hole first.
        let before = found.claimed.count();
        let full = before >= self.most_spans.0 || self.spans >= self.most_spans.1;
        if full && offset > 0 && !found.claimed.touches(offset, end) {
            return Err(Refusal::TooManyHoles);
        }
        found.claimed.insert(offset, end, fresh);
        self.spans = self.spans + found.claimed.count() - before;
        Ok(())
    }

    /// `bytes` claimed bytes of an object have been written; true if it is whole now.
    pub fn written(&mut self, object: u32, bytes: u64) -> bool {
        let Some(found) = self.objects.get_mut(&object) else { return false };
        found.written += bytes;
        found.written == found.length
    }

    /// Everything that was claimed has been written.
    #[must_use]
    pub fn is_settled(&self, object: u32) -> bool {
        self.objects.get(&object).is_none_or(|found| found.written == found.claimed.covered())
    }

    /// Bytes of an object that have been written, and its length.
    #[must_use]
    pub fn progress(&self, object: u32) -> Option<(u64, u64)> {
        self.objects.get(&object).map(|found| (found.written, found.length))
    }

    /// The parts of an object that have not come, as `(start, end)`.
    #[must_use]
    pub fn holes(&self, object: u32) -> Vec<(u64, u64)> {
        let Some(found) = self.objects.get(&object) else { return Vec::new() };
        let mut at = 0;
        let mut holes = Vec::new();
        for (start, end) in found.claimed.iter().chain([(found.length, found.length)]) {
            if at < start {
                holes.push((at, start));
            }
            at = end;
        }
        holes
    }

    /// Forgets an object.
    pub fn close(&mut self, object: u32) {
        if let Some(found) = self.objects.remove(&object) {
            self.spans -= found.claimed.count();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One in which an object may have three runs, and all may have five, and each of three objects one at its beginning.
    fn small() -> Inbox {
        Inbox::new(&Limits { object_spans: 3, spans: 8, objects: 3, ..Limits::default() })
    }

    fn claimed(inbox: &mut Inbox, offset: u64, length: u64) -> Vec<(u64, u64)> {
        let mut runs = Vec::new();
        inbox.claim(1, offset, length, |from, to| runs.push((from, to))).unwrap();
        runs
    }

    #[test]
    fn bytes_are_claimed_once_and_counted_once() {
        let mut inbox = small();
        inbox.expect(1, 100);
        assert_eq!(claimed(&mut inbox, 40, 20), [(40, 60)]);
        assert_eq!(claimed(&mut inbox, 30, 50), [(30, 40), (60, 80)]);
        assert_eq!(inbox.holes(1), [(0, 30), (80, 100)]);
        assert!(!inbox.written(1, 50));
        claimed(&mut inbox, 0, 100);
        assert!(inbox.written(1, 50));
    }

    #[test]
    fn an_object_full_of_holes_still_takes_what_closes_them() {
        let mut inbox = small();
        let runs = 3;
        inbox.expect(1, 2 * runs + 4);
        (0..runs).for_each(|run| inbox.claim(1, 2 * run + 2, 1, |_, _| ()).unwrap());
        assert_eq!(inbox.claim(1, 2 * runs + 2, 1, |_, _| ()), Err(Refusal::TooManyHoles));
        assert_eq!(claimed(&mut inbox, 3, 1), [(3, 4)]);
        assert_eq!(claimed(&mut inbox, 2 * runs + 2, 1), [(2 * runs + 2, 2 * runs + 3)]);
        inbox.close(1);
        assert_eq!(inbox.spans, 0);
    }

    #[test]
    fn many_objects_have_no_more_runs_than_all_may_have_and_each_can_be_filled() {
        let mut inbox = small();
        (1..=3).for_each(|object| inbox.expect(object, 7));
        let taken = |inbox: &mut Inbox, object, offset| inbox.claim(object, offset, 1, |_, _| ());
        for (object, offset) in [(1, 1), (1, 3), (1, 5), (2, 1), (2, 3)] {
            taken(&mut inbox, object, offset).unwrap();
        }
        assert_eq!(taken(&mut inbox, 2, 5), Err(Refusal::TooManyHoles));
        assert_eq!(taken(&mut inbox, 3, 1), Err(Refusal::TooManyHoles));
        for object in 1..=3 {
            taken(&mut inbox, object, 0).unwrap();
        }
        // The first run of two objects has grown: only the third has one more.
        assert_eq!(inbox.spans(), 6);
        taken(&mut inbox, 1, 2).unwrap();
        (1..7).for_each(|offset| taken(&mut inbox, 3, offset).unwrap());
        assert_eq!(inbox.holes(3), []);
    }

    #[test]
    fn an_object_full_of_holes_is_filled_from_its_beginning() {
        let mut inbox = small();
        inbox.expect(1, 100);
        [50, 52, 54].iter().for_each(|&offset| inbox.claim(1, offset, 1, |_, _| ()).unwrap());
        assert_eq!(inbox.claim(1, 40, 1, |_, _| ()), Err(Refusal::TooManyHoles));
        (0..50).for_each(|offset| inbox.claim(1, offset, 1, |_, _| ()).unwrap());
        assert_eq!(inbox.holes(1), [(51, 52), (53, 54), (55, 100)]);
    }

    #[test]
    fn regions_without_a_place_are_refused() {
        let mut inbox = small();
        inbox.expect(1, 100);
        let mut claim = |object, offset, length| inbox.claim(object, offset, length, |_, _| panic!("claimed"));
        assert_eq!(claim(2, 0, 1), Err(Refusal::Unknown));
        assert_eq!(claim(1, 90, 11), Err(Refusal::Beyond));
        assert_eq!(claim(1, u64::MAX, 2), Err(Refusal::Beyond));
        inbox.close(1);
        assert_eq!(inbox.claim(1, 0, 1, |_, _| ()), Err(Refusal::Unknown));
    }
}
