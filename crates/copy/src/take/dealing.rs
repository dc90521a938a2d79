//! Who gives what, where several give the same: each is asked for about as much as it gives in a second, and for no more than its share of what is
//! left; what one leaves the others give.
//!
//! Knows no session and no clock. Nothing that is wanted is lost: it is in the queue, or was asked of somebody who is there.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use crate::bundle::{FULL_BYTES, FULL_FILES};
use crate::ranges::RANGE;

/// One that gives; the first is the one that was dialled, which can give all that is listed.
pub(super) type NodeId = u32;
pub(super) const FIRST: NodeId = 0;

/// Asked of one at a time, at least and at most.
const LEAST: u64 = 2 * RANGE;
const MOST: u64 = 512 << 20;
/// What a small file costs beside its bytes.
const FILE_COST: u64 = 4096;
/// Time over which it is seen how fast one gives.
const SEEN: Duration = Duration::from_secs(4);
/// One is behind that needs so many times as long for the last of it as another would, and this long more.
const BEHIND: f64 = 2.0;
const BEHIND_BY_S: f64 = 2.0;

/// Something that one of them gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Piece {
    /// A small file.
    File(u64),
    /// A range of a file.
    Range(u64, u64),
}

impl Piece {
    const fn entry(self) -> u64 {
        match self {
            Self::File(entry) | Self::Range(entry, _) => entry,
        }
    }
}

/// What is not asked of anybody.
#[derive(Debug)]
enum Waiting {
    /// A small file, and what it costs.
    File(u64, u64),
    /// Ranges of a file, from the first to before the second.
    Ranges(u64, u64, u64),
}

impl Waiting {
    const fn bytes(&self) -> u64 {
        match self {
            Self::File(_, bytes) => *bytes,
            Self::Ranges(_, first, end) => (*end - *first).saturating_mul(RANGE),
        }
    }
}

/// What was asked of one, and how fast it gives.
#[derive(Debug)]
struct Load {
    pieces: BTreeMap<Piece, u64>,
    bytes: u64,
    /// Bytes given, in the time since then; time in which nothing was asked is left out.
    given: u64,
    since: Instant,
    idle_since: Option<Instant>,
}

impl Load {
    const fn new(now: Instant) -> Self {
        Self { pieces: BTreeMap::new(), bytes: 0, given: 0, since: now, idle_since: Some(now) }
    }

    fn ask(&mut self, now: Instant, piece: Piece, bytes: u64) {
        if let Some(idle_since) = self.idle_since.take() {
            self.since += now.duration_since(idle_since);
        }
        self.bytes += bytes;
        self.pieces.insert(piece, bytes);
    }

    /// True if it was asked for this.
    fn is_given(&mut self, now: Instant, piece: Piece) -> bool {
        let Some(bytes) = self.take(now, piece) else { return false };
        self.given += bytes;
        let elapsed = now.duration_since(self.since);
        if elapsed > SEEN {
            self.given /= 2;
            self.since += elapsed / 2;
        }
        true
    }

    fn take(&mut self, now: Instant, piece: Piece) -> Option<u64> {
        let bytes = self.pieces.remove(&piece)?;
        self.bytes -= bytes;
        if self.pieces.is_empty() {
            self.idle_since = Some(now);
        }
        Some(bytes)
    }

    /// Bytes a second; 0 if it has given nothing yet.
    fn rate(&self, now: Instant) -> f64 {
        let until = self.idle_since.unwrap_or(now);
        self.given as f64 / until.saturating_duration_since(self.since).as_secs_f64().max(0.01)
    }

    /// Part of what may be asked of it that is, where `share` is its share of what is left.
    fn fullness(&self, now: Instant, share: u64) -> f64 {
        self.bytes as f64 / (self.rate(now) as u64).min(share).clamp(LEAST, MOST) as f64
    }

    /// How long the rest of it takes, in seconds; while it has given nothing, how long that has been so.
    fn time_s(&self, now: Instant) -> f64 {
        if self.given > 0 {
            self.bytes as f64 / self.rate(now).max(1.0)
        } else {
            now.saturating_duration_since(self.since).as_secs_f64()
        }
    }
}

/// Who gives what.
#[derive(Debug)]
pub(super) struct Dealing {
    waiting: VecDeque<Waiting>,
    waiting_bytes: u64,
    loads: BTreeMap<NodeId, Load>,
}

impl Dealing {
    pub(super) fn new(now: Instant) -> Self {
        Self { waiting: VecDeque::new(), waiting_bytes: 0, loads: BTreeMap::from([(FIRST, Load::new(now))]) }
    }

    /// One more gives.
    pub(super) fn enter(&mut self, node: NodeId, now: Instant) {
        self.loads.insert(node, Load::new(now));
    }

    /// One gives no more: others give what it was to.
    pub(super) fn leave(&mut self, node: NodeId) {
        let pieces = self.loads.remove(&node).map(|load| load.pieces).unwrap_or_default();
        for (piece, bytes) in pieces.into_iter().rev() {
            self.waiting_bytes += bytes;
            self.waiting.push_front(match piece {
                Piece::File(entry) => Waiting::File(entry, bytes),
                Piece::Range(entry, range) => Waiting::Ranges(entry, range, range + 1),
            });
        }
    }

    /// A small file is wanted.
    pub(super) fn want_file(&mut self, entry: u64, size: u64) {
        self.add(Waiting::File(entry, size + FILE_COST));
    }

    /// Ranges of a file are wanted, as first and end each.
    pub(super) fn want_ranges(&mut self, entry: u64, ranges: &[(u64, u64)]) {
        ranges.iter().for_each(|&(first, end)| self.add(Waiting::Ranges(entry, first, end)));
    }

    fn add(&mut self, waiting: Waiting) {
        self.waiting_bytes = self.waiting_bytes.saturating_add(waiting.bytes());
        self.waiting.push_back(waiting);
    }

    /// All ranges of a file, so many, are asked of the one that was dialled.
    pub(super) fn ask_first(&mut self, entry: u64, ranges: u64, now: Instant) {
        if let Some(load) = self.loads.get_mut(&FIRST) {
            (0..ranges).for_each(|range| load.ask(now, Piece::Range(entry, range), RANGE));
        }
    }

    /// One was asked for this.
    pub(super) fn is_asked(&self, node: NodeId, piece: Piece) -> bool {
        self.loads.get(&node).is_some_and(|load| load.pieces.contains_key(&piece))
    }

    /// It is there.
    pub(super) fn given(&mut self, piece: Piece, now: Instant) {
        let _ = self.loads.values_mut().any(|load| load.is_given(now, piece));
    }

    /// Nothing of this file is wanted any more.
    pub(super) fn forget(&mut self, entry: u64, now: Instant) {
        self.waiting.retain(|one| match one {
            Waiting::File(of, _) | Waiting::Ranges(of, ..) => *of != entry,
        });
        self.waiting_bytes = self.waiting.iter().map(Waiting::bytes).fold(0, u64::saturating_add);
        for load in self.loads.values_mut() {
            let pieces: Vec<Piece> = load.pieces.keys().copied().filter(|piece| piece.entry() == entry).collect();
            for piece in pieces {
                load.take(now, piece);
            }
        }
    }

    /// What is to be asked of each now; `known` tells how many entries one has told of.
    pub(super) fn deal(&mut self, now: Instant, known: impl Fn(NodeId) -> u64) -> BTreeMap<NodeId, Vec<Piece>> {
        let mut asked: BTreeMap<NodeId, Vec<Piece>> = BTreeMap::new();
        let left = self.loads.values().map(|load| load.bytes).fold(self.waiting_bytes, u64::saturating_add);
        let share = left / self.loads.len().max(1) as u64;
        while let Some(Waiting::File(entry, _) | Waiting::Ranges(entry, ..)) = self.waiting.front() {
            let able = self.loads.iter_mut().filter(|(node, _)| known(**node) > *entry);
            let least = able.map(|(node, load)| (load.fullness(now, share), *node, load));
            let Some((fullness, node, load)) = least.min_by(|(a, ..), (b, ..)| a.total_cmp(b)) else { break };
            if fullness >= 1.0 {
                break;
            }
            let known = known(node);
            let mut dealt = (0, 0);
            while let Some((piece, bytes)) = next(&mut self.waiting, known, &mut dealt) {
                load.ask(now, piece, bytes);
                self.waiting_bytes = self.waiting_bytes.saturating_sub(bytes);
                asked.entry(node).or_default().push(piece);
            }
        }
        asked
    }

    /// With nothing left to be asked for: one that is far behind, when another could give the rest of it sooner.
    pub(super) fn straggler(&self, now: Instant) -> Option<NodeId> {
        let idle = self.loads.values().filter(|load| load.pieces.is_empty()).map(|load| load.rate(now));
        let fastest = idle.max_by(f64::total_cmp).filter(|_| self.waiting.is_empty())?;
        let others = self.loads.iter().filter(|(node, load)| **node != FIRST && !load.pieces.is_empty());
        let is_behind = |load: &Load| load.time_s(now) > BEHIND * load.bytes as f64 / fastest.max(1.0) + BEHIND_BY_S;
        let mut behind = others.filter(|(_, load)| is_behind(load));
        behind.next().map(|(node, _)| *node)
    }
}

/// The next piece of a portion of which `dealt` tells the files and bytes: a range alone, or small files together.
fn next(waiting: &mut VecDeque<Waiting>, known: u64, dealt: &mut (usize, u64)) -> Option<(Piece, u64)> {
    match waiting.front_mut()? {
        Waiting::File(entry, cost) if dealt.0 < FULL_FILES && dealt.1 < FULL_BYTES && *entry < known => {
            let next = (Piece::File(*entry), *cost);
            *dealt = (dealt.0 + 1, dealt.1 + *cost);
            waiting.pop_front();
            Some(next)
        }
        Waiting::Ranges(entry, first, end) if *dealt == (0, 0) && *entry < known => {
            let next = (Piece::Range(*entry, *first), RANGE);
            *dealt = (FULL_FILES, RANGE);
            *first += 1;
            if first == end {
                waiting.pop_front();
            }
            Some(next)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(began: Instant, ms: u64) -> Instant {
        began + Duration::from_millis(ms)
    }

    /// Gives at so many ranges a second each, until all is there; returns what each gave.
    fn give(dealing: &mut Dealing, began: Instant, rates: &[u64], wanted: u64) -> Vec<u64> {
        let mut given = vec![0; rates.len()];
        let mut asked: Vec<VecDeque<Piece>> = vec![VecDeque::new(); rates.len()];
        for ms in 0..600_000 {
            let now = at(began, ms);
            for (node, pieces) in dealing.deal(now, |_| u64::MAX) {
                asked[node as usize].extend(pieces);
            }
            for (node, rate) in rates.iter().enumerate().filter(|(_, rate)| ms % (1000 / **rate) == 0) {
                assert!(*rate <= 1000);
                if let Some(piece) = asked[node].pop_front() {
                    dealing.given(piece, now);
                    given[node] += 1;
                }
            }
            if given.iter().sum::<u64>() == wanted {
                return given;
            }
        }
        panic!("{given:?} of {wanted}");
    }

    #[test]
    fn each_gives_as_much_as_it_can() {
        let began = Instant::now();
        let mut dealing = Dealing::new(began);
        dealing.enter(1, began);
        dealing.enter(2, began);
        dealing.want_ranges(7, &[(0, 900), (950, 1050)]);
        let given = give(&mut dealing, began, &[20, 10, 1], 1000);
        assert!((600..680).contains(&given[0]) && (300..340).contains(&given[1]), "{given:?}");
        assert!((25..40).contains(&given[2]), "{given:?}");
    }

    #[test]
    fn those_that_are_alike_give_alike_even_if_that_is_soon_over() {
        let began = Instant::now();
        let mut dealing = Dealing::new(began);
        dealing.want_ranges(7, &[(0, 24)]);
        let first = dealing.deal(began, |_| u64::MAX);
        assert_eq!(first[&FIRST].len(), 2);
        dealing.enter(1, at(began, 50));
        dealing.enter(2, at(began, 50));
        first[&FIRST].iter().for_each(|piece| dealing.given(*piece, at(began, 60)));
        let given = give(&mut dealing, at(began, 61), &[20, 20, 20], 22);
        assert!(given.iter().all(|given| (6..=9).contains(given)), "{given:?}");
    }

    #[test]
    fn what_one_leaves_the_others_give() {
        let began = Instant::now();
        let mut dealing = Dealing::new(began);
        dealing.enter(1, began);
        (0..5000).for_each(|entry| dealing.want_file(entry, 100));
        dealing.want_ranges(9000, &[(0, 3)]);
        // One that has told of less is asked for no more than that.
        let known = |node| if node == 1 { 1500 } else { u64::MAX };
        let asked = dealing.deal(began, known);
        assert!(asked[&1].iter().all(|piece| piece.entry() < 1500) && asked[&1].len() > 100);
        let gone = asked[&1].len();
        dealing.leave(1);
        let mut all = asked[&FIRST].clone();
        for _ in 0..100 {
            all.iter().for_each(|piece| dealing.given(*piece, at(began, 1)));
            let more = dealing.deal(at(began, 1), known).remove(&FIRST).unwrap_or_default();
            all.extend(more);
        }
        all.sort_unstable();
        all.dedup();
        assert!(gone > 0 && all.len() == 5003);
    }

    #[test]
    fn nobody_waits_for_one_that_is_far_behind() {
        let began = Instant::now();
        let mut dealing = Dealing::new(began);
        dealing.enter(1, began);
        dealing.want_ranges(1, &[(0, 4)]);
        let asked = dealing.deal(began, |_| u64::MAX);
        assert_eq!((asked[&FIRST].len(), asked[&1].len()), (2, 2));
        asked[&FIRST].iter().for_each(|piece| dealing.given(*piece, at(began, 500)));
        assert_eq!(dealing.straggler(at(began, 600)), None);
        assert_eq!(dealing.straggler(at(began, 4000)), Some(1), "it has given nothing");
        dealing.given(asked[&1][0], at(began, 600));
        assert_eq!(dealing.straggler(at(began, 600)), None);
        assert_eq!(dealing.straggler(at(began, 30_000)), Some(1));
        dealing.forget(1, at(began, 30_000));
        assert_eq!(dealing.straggler(at(began, 60_000)), None);
    }
}
