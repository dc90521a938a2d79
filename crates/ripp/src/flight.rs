//! What is under way on a lane: which packet numbers carry which regions, until they are known to have arrived or to be lost.
//!
//! Datagrams that follow each other in packet numbers and in their object share one entry, so that the state grows with losses and changes of
//! object, not with the bytes under way.

use std::collections::BTreeMap;

/// A region of an object, as it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The object.
    pub object: u32,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// Some of it was sent before and lost.
    pub resent: bool,
}

/// Consecutive datagrams with consecutive bytes, all full but perhaps the last.
#[derive(Clone, Copy, Debug)]
struct Run {
    region: Region,
    /// Payload bytes of a full datagram.
    payload: u64,
}

impl Run {
    fn count(&self) -> u64 {
        self.region.length.div_ceil(self.payload)
    }

    /// The part of the run in datagrams `from..to`, counted from its first.
    fn part(&self, from: u64, to: u64) -> Self {
        let start = (from * self.payload).min(self.region.length);
        let end = (to * self.payload).min(self.region.length);
        let region = Region { offset: self.region.offset + start, length: end - start, ..self.region };
        Self { region, payload: self.payload }
    }

    fn continues(&self, next: &Self) -> bool {
        let same = (self.region.object, self.region.resent, self.payload)
            == (next.region.object, next.region.resent, next.payload);
        same && self.region.length.is_multiple_of(self.payload)
            && self.region.offset + self.region.length == next.region.offset
    }
}

/// The datagrams of a lane that are not settled yet.
#[derive(Debug, Default)]
pub struct Flight {
    /// first packet number -> run
    runs: BTreeMap<u64, Run>,
    bytes: u64,
}

impl Flight {
    /// Payload bytes under way.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Entries held: what the flight costs.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.runs.len()
    }

    /// Nothing is under way.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The lowest packet number that is not settled.
    #[must_use]
    pub fn first(&self) -> Option<u64> {
        self.runs.first_key_value().map(|(&first, _)| first)
    }

    /// Notes that `region` leaves in datagrams of `payload` bytes from packet number `first` on; returns how many those are.
    pub fn add(&mut self, first: u64, region: Region, payload: u64) -> u64 {
        let run = Run { region, payload };
        self.bytes += region.length;
        if let Some(mut last) = self.runs.last_entry()
            && last.key() + last.get().count() == first
            && last.get().continues(&run)
        {
            last.get_mut().region.length += region.length;
        } else {
            self.runs.insert(first, run);
        }
        run.count()
    }

    /// Settles packet numbers `from..to`: those of `missing` (ascending) are lost, the others have arrived. Packet numbers settled before are
    /// passed over.
    pub fn settle(
        &mut self,
        from: u64,
        to: u64,
        missing: &[(u64, u64)],
        mut arrived: impl FnMut(Region),
        mut lost: impl FnMut(Region),
    ) {
        let mut gaps = missing.iter().copied().peekable();
        while let Some((first, run)) = self.next_run(from, to) {
            let start = first.max(from);
            let end = (first + run.count()).min(to);
            self.cut(first, run, start, end);
            let mut at = start;
            while at < end {
                while gaps.next_if(|&(gap, count)| gap + count <= at).is_some() {}
                let (gap_start, gap_end) =
                    gaps.peek().map_or((end, end), |&(gap, count)| (gap.clamp(at, end), (gap + count).min(end)));
                if at < gap_start {
                    arrived(run.part(at - first, gap_start - first).region);
                }
                if gap_start < gap_end {
                    lost(run.part(gap_start - first, gap_end - first).region);
                }
                at = gap_end.max(gap_start);
            }
        }
    }

    /// Empties the flight: everything under way goes to `lost`.
    pub fn abandon(&mut self, mut lost: impl FnMut(Region)) {
        std::mem::take(&mut self.runs).into_values().for_each(|run| lost(run.region));
        self.bytes = 0;
    }

    fn next_run(&self, from: u64, to: u64) -> Option<(u64, Run)> {
        let before = self.runs.range(..from).next_back().filter(|(first, run)| *first + run.count() > from);
        let (&first, &run) = before.or_else(|| self.runs.range(from..to).next())?;
        Some((first, run))
    }

    /// Takes datagrams `start..end` out of the run that begins at `first`.
    fn cut(&mut self, first: u64, run: Run, start: u64, end: u64) {
        self.runs.remove(&first);
        self.bytes -= run.part(start - first, end - first).region.length;
        if first < start {
            self.runs.insert(first, run.part(0, start - first));
        }
        if end < first + run.count() {
            self.runs.insert(end, run.part(end - first, run.count()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(offset: u64, length: u64) -> Region {
        Region { object: 1, offset, length, resent: false }
    }

    type Parts = Vec<(u64, u64)>;

    fn settle(flight: &mut Flight, from: u64, to: u64, missing: &[(u64, u64)]) -> (Parts, Parts) {
        let (mut arrived, mut lost) = (Vec::new(), Vec::new());
        let pair = |region: Region| (region.offset, region.length);
        flight.settle(from, to, missing, |region| arrived.push(pair(region)), |region| lost.push(pair(region)));
        (arrived, lost)
    }

    #[test]
    fn bursts_of_one_object_share_an_entry() {
        let mut flight = Flight::default();
        assert_eq!(flight.add(0, region(0, 400), 100), 4);
        assert_eq!(flight.add(4, region(400, 250), 100), 3);
        assert_eq!((flight.entries(), flight.bytes()), (1, 650));
        flight.add(7, region(650, 100), 100);
        assert_eq!(flight.entries(), 2, "a short datagram ends a run");
    }

    #[test]
    fn a_page_settles_once() {
        let mut flight = Flight::default();
        flight.add(10, region(0, 950), 100);
        assert_eq!(settle(&mut flight, 0, 16, &[(12, 2)]), (vec![(0, 200), (400, 200)], vec![(200, 200)]));
        assert_eq!(settle(&mut flight, 0, 16, &[(12, 2)]), (vec![], vec![]));
        assert_eq!((flight.first(), flight.bytes()), (Some(16), 350));
        assert_eq!(settle(&mut flight, 18, 30, &[(19, 1)]), (vec![(800, 100)], vec![(900, 50)]));
        assert_eq!((flight.first(), flight.bytes()), (Some(16), 200));
        assert_eq!(settle(&mut flight, 0, 30, &[]), (vec![(600, 200)], vec![]));
        assert!(flight.is_empty());
    }

    #[test]
    fn missing_ranges_may_span_runs_and_numbers_of_others() {
        let mut flight = Flight::default();
        flight.add(0, region(0, 300), 100);
        flight.add(5, region(300, 300), 100);
        assert_eq!(settle(&mut flight, 0, 8, &[(2, 4)]), (vec![(0, 200), (400, 200)], vec![(200, 100), (300, 100)]));
        assert!(flight.is_empty() && flight.bytes() == 0);
    }

    #[test]
    fn datagrams_of_another_size_begin_an_entry() {
        let mut flight = Flight::default();
        flight.add(0, region(0, 200), 100);
        flight.add(2, region(200, 200), 50);
        let (arrived, lost) = settle(&mut flight, 0, 6, &[(3, 1)]);
        assert_eq!((arrived, lost), (vec![(0, 200), (200, 50), (300, 100)], vec![(250, 50)]));
    }
}
