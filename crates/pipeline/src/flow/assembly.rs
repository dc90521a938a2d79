//! A step while it is received: which pieces are still to come, and what takes the place of those that do not.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use visapult_publish::Stamp;
use visapult_publish::messages::PieceName;
use visapult_publish::piece::PieceSink;
use visapult_ripp_net::{Delivery, MemorySink, NoMemory, ObjectError, Sink};
use visapult_trace::Stage;
use visapult_volume::{Box3, StepIndex};

use super::received::{PeBuffer, ReceivedStep};
use crate::wire::MissingPart;

/// Bytes at a time in which values are filled in.
const PART: usize = 64 << 10;

/// What each rank has for each PE.
#[derive(Clone, Debug, Default)]
pub(super) struct PieceTable {
    /// By rank.
    pub(super) blocks: Vec<Box3>,
    /// By PE: its box with the ghost layer.
    pub(super) stored: Vec<Box3>,
    /// The PEs of this process: only their pieces come.
    pub(super) own: Range<usize>,
}

impl PieceTable {
    pub(super) fn piece(&self, rank: usize, pe: usize) -> Option<Box3> {
        self.blocks.get(rank)?.intersection(self.stored.get(pe)?)
    }

    /// All pieces, as ranks and PEs.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let all = (0..self.blocks.len()).flat_map(|rank| self.own.clone().map(move |pe| (rank, pe)));
        all.filter(|&(rank, pe)| self.piece(rank, pe).is_some())
    }
}

/// Which piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    rank: usize,
    field: usize,
    pe: usize,
}

impl Key {
    const fn of(rank: usize, name: &PieceName) -> Self {
        Self { rank, field: name.field, pe: name.pe }
    }
}

#[derive(Debug)]
struct Stale {
    field: usize,
    /// Place among the buffers of the field.
    place: usize,
    piece: Box3,
    /// Bytes of the piece that are not of this step.
    holes: Vec<(u64, u64)>,
}

/// A step being received.
#[derive(Debug)]
pub(super) struct Assembly {
    step: StepIndex,
    time: Option<f64>,
    table: Arc<PieceTable>,
    fields: BTreeMap<usize, Vec<PeBuffer>>,
    /// Not offered yet.
    expected: HashSet<Key>,
    under_way: HashSet<Key>,
    stale: Vec<Stale>,
    /// All that is to come, and what has until now.
    whole: u64,
    arrived: Arc<AtomicU64>,
    bytes: u64,
    fresh: u64,
    /// Ranks of which something has come.
    present: BTreeSet<usize>,
    /// A rank cannot give its part: it will never be one step of the whole grid.
    is_abandoned: bool,
}

impl Assembly {
    /// A step of `fields`; `memory` gives a buffer of so many bytes.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub(super) fn new(
        step: StepIndex,
        fields: &[usize],
        table: &Arc<PieceTable>,
        mut memory: impl FnMut(usize) -> Result<Arc<MemorySink>, NoMemory>,
    ) -> Result<Self, NoMemory> {
        let mut buffers = |field: &usize| {
            let buffer = |stored: &Box3| Ok(PeBuffer { stored: *stored, memory: memory(stored.volume() * 4)? });
            let buffers: Result<Vec<_>, _> = table.stored[table.own.clone()].iter().map(buffer).collect();
            Ok((*field, buffers?))
        };
        let fields: BTreeMap<_, _> = fields.iter().map(&mut buffers).collect::<Result<_, NoMemory>>()?;
        let expected = fields.keys().flat_map(|&field| table.pairs().map(move |(rank, pe)| Key { rank, field, pe }));
        let expected: HashSet<Key> = expected.collect();
        let bytes_of_key = |key: &Key| table.piece(key.rank, key.pe).map_or(0, |piece| bytes_of(&piece));
        Ok(Self {
            step,
            time: None,
            table: Arc::clone(table),
            whole: expected.iter().map(bytes_of_key).sum(),
            arrived: Arc::default(),
            expected,
            fields,
            under_way: HashSet::new(),
            stale: Vec::new(),
            bytes: 0,
            fresh: 0,
            present: BTreeSet::new(),
            is_abandoned: false,
        })
    }

    /// `rank` cannot give its part of the step, which is not to be shown without it.
    pub(super) fn abandon(&mut self, rank: usize) {
        self.is_abandoned = true;
        self.give_up(rank);
    }

    /// Something of it is still to come from `rank`.
    pub(super) fn waits_for(&self, rank: usize) -> bool {
        self.expected.iter().chain(&self.under_way).any(|key| key.rank == rank)
    }

    /// A place for a piece that `rank` offers; the error says why there is none.
    pub(super) fn place(&mut self, rank: usize, name: &PieceName, length: u64) -> Result<Arc<dyn Sink>, String> {
        let key = Key::of(rank, name);
        let (Some(piece), true) = (self.table.piece(rank, name.pe), self.expected.contains(&key)) else {
            return Err(format!("rank {rank} has nothing of field {} for PE {} of this step", name.field, name.pe));
        };
        if length != bytes_of(&piece) {
            return Err(format!("piece {piece} has {} float32 values, not {length} bytes", piece.volume()));
        }
        self.expected.remove(&key);
        self.under_way.insert(key);
        self.time = self.time.or(name.time.filter(|time| time.is_finite()));
        let buffer = &self.fields[&name.field][name.pe - self.table.own.start];
        let sink = PieceSink::new(&piece, &buffer.stored, Arc::clone(&buffer.memory));
        let piece = sink.stamped(Stamp::of(Stage::Receive, name.pe, self.step));
        Ok(Arc::new(Counted { piece, arrived: Arc::clone(&self.arrived) }))
    }

    /// A piece has come, as far as it ever will. Returns how many bytes of it have.
    pub(super) fn finish(&mut self, rank: usize, name: &PieceName, delivery: Result<Delivery, ObjectError>) -> u64 {
        let key = Key::of(rank, name);
        if !self.under_way.remove(&key) {
            return 0;
        }
        let before = self.fresh;
        match delivery {
            Ok(delivery) => {
                let missing: u64 = delivery.holes.iter().map(|(start, end)| end - start).sum();
                self.count(key, missing, delivery.holes);
            }
            Err(_) => self.lose(key),
        }
        self.fresh - before
    }

    /// Nothing of this step will come from `rank` any more.
    pub(super) fn give_up(&mut self, rank: usize) {
        self.do_without(rank);
        let lost: Vec<Key> = self.under_way.extract_if(|key| key.rank == rank).collect();
        lost.into_iter().for_each(|key| self.lose(key));
    }

    /// What `rank` has not offered of this step will not come.
    pub(super) fn do_without(&mut self, rank: usize) {
        let lost: Vec<Key> = self.expected.extract_if(|key| key.rank == rank).collect();
        lost.into_iter().for_each(|key| self.lose(key));
    }

    fn lose(&mut self, key: Key) {
        let bytes = self.table.piece(key.rank, key.pe).map_or(0, |piece| bytes_of(&piece));
        self.count(key, bytes, vec![(0, bytes)]);
    }

    fn count(&mut self, Key { rank, field, pe }: Key, missing: u64, holes: Vec<(u64, u64)>) {
        let Some(piece) = self.table.piece(rank, pe) else { return };
        let bytes = bytes_of(&piece);
        self.bytes += bytes;
        self.fresh += bytes - missing.min(bytes);
        if missing < bytes {
            self.present.insert(rank);
        }
        if missing > 0 {
            self.stale.push(Stale { field, place: pe - self.table.own.start, piece, holes });
        }
    }

    /// Something of it is under way.
    pub(super) fn is_under_way(&self) -> bool {
        !self.under_way.is_empty()
    }

    /// Bytes that are still to come.
    pub(super) fn left(&self) -> u64 {
        self.whole - self.arrived.load(Ordering::Relaxed).max(self.bytes).min(self.whole)
    }

    /// All that will come has come.
    pub(super) fn is_over(&self) -> bool {
        self.expected.is_empty() && self.under_way.is_empty()
    }

    /// There is nothing to be shown of it.
    pub(super) fn is_vain(&self) -> bool {
        self.fresh == 0 || self.is_abandoned
    }

    /// It will never be one step of the whole grid.
    pub(super) fn is_abandoned(&self) -> bool {
        self.is_abandoned
    }

    /// The step, with the values of the first of `before` that has the field where none came; missing where none has. `before` is what was received
    /// before it, the latest first.
    pub(super) fn into_received(self, before: &[Arc<ReceivedStep>]) -> io::Result<ReceivedStep> {
        for stale in &self.stale {
            let buffer = &self.fields[&stale.field][stale.place];
            let of_field = before.iter().find_map(|step| step.fields.get(&stale.field)?.get(stale.place));
            fill(stale, buffer, of_field.filter(|before| before.stored == buffer.stored))?;
        }
        let missing = self.missing(before.iter().find(|before| before.step < self.step).map(Arc::as_ref));
        let (bytes, fresh_bytes, at) = (self.bytes, self.fresh, Instant::now());
        let Self { step, time, fields, .. } = self;
        Ok(ReceivedStep { step, time, fields, bytes, fresh_bytes, missing, at })
    }

    /// Ranks of which nothing has come, and the step that their values are of instead.
    fn missing(&self, last: Option<&ReceivedStep>) -> Vec<MissingPart> {
        let has_part = |rank: &usize| self.table.own.clone().any(|pe| self.table.piece(*rank, pe).is_some());
        let absent = (0..self.table.blocks.len()).filter(|rank| !self.present.contains(rank) && has_part(rank));
        let before = |rank| {
            let last = last?;
            let part = last.missing.iter().find(|part| part.rank == rank);
            part.map_or(Some(last.step), |part| part.step)
        };
        absent.map(|rank| MissingPart { rank, step: before(rank) }).collect()
    }
}

/// A piece being received, whose bytes are counted as they come.
struct Counted {
    piece: PieceSink,
    arrived: Arc<AtomicU64>,
}

impl Sink for Counted {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.arrived.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.piece.write_at(offset, bytes)
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.piece.read_at(offset, into)
    }
}

/// Bytes of the values in a box.
fn bytes_of(piece: &Box3) -> u64 {
    piece.volume() as u64 * size_of::<f32>() as u64
}

/// Holes may begin in the middle of a value: whole values are replaced, so that none is half of one step and half of another.
fn fill(stale: &Stale, buffer: &PeBuffer, before: Option<&PeBuffer>) -> io::Result<()> {
    let sink = |buffer: &PeBuffer| PieceSink::new(&stale.piece, &buffer.stored, Arc::clone(&buffer.memory));
    let (into, from) = (sink(buffer), before.map(sink));
    let mut part = f32::NAN.to_le_bytes().repeat(PART / 4);
    for &(start, end) in &stale.holes {
        let (mut at, end) = (start / 4 * 4, end.next_multiple_of(4));
        while at < end {
            let length = ((end - at) as usize).min(PART);
            if let Some(from) = &from {
                from.read_at(at, &mut part[..length])?;
            }
            into.write_at(at, &part[..length])?;
            at += length as u64;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Arc<PieceTable> {
        let blocks = vec![Box3::new([0, 0, 0], [2, 2, 4]), Box3::new([2, 0, 0], [4, 2, 4])];
        let stored = vec![Box3::new([0, 0, 0], [4, 2, 3]), Box3::new([0, 0, 2], [4, 2, 4])];
        Arc::new(PieceTable { blocks, stored, own: 0..2 })
    }

    fn name(pe: usize) -> PieceName {
        PieceName { field: 0, step: 7, pe, time: Some(0.5) }
    }

    fn whole() -> Result<Delivery, ObjectError> {
        Ok(Delivery { arrived: 0, holes: Vec::new(), digest: None })
    }

    fn filled(value: f32) -> ReceivedStep {
        let mut assembly =
            Assembly::new(6, &[0], &table(), |length| MemorySink::try_new(length).map(Arc::new)).unwrap();
        for (rank, pe) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let length = table().piece(rank, pe).unwrap().volume() * 4;
            let sink = assembly.place(rank, &name(pe), length as u64).unwrap();
            let left = assembly.left();
            sink.write_at(0, &value.to_le_bytes().repeat(length / 4)).unwrap();
            assert_eq!(assembly.left() + length as u64, left);
            assert_eq!(assembly.finish(rank, &name(pe), whole()), length as u64);
        }
        assert_eq!(assembly.left(), 0);
        assert!(assembly.is_over());
        assembly.into_received(&[]).unwrap()
    }

    #[test]
    fn a_step_is_over_when_every_piece_is_and_reads_as_one() {
        let step = filled(3.0);
        assert_eq!((step.fresh(), step.time), (1.0, Some(0.5)));
        let mut out = vec![0.0; 32];
        step.read(0, &Box3::of_size([4, 2, 4]), &mut out).unwrap();
        assert!(out.iter().all(|value| *value == 3.0));
    }

    #[test]
    fn what_is_missing_keeps_the_values_of_the_last_step() {
        let last = Arc::new(filled(3.0));
        let mut assembly =
            Assembly::new(7, &[0], &table(), |length| MemorySink::try_new(length).map(Arc::new)).unwrap();
        for (rank, pe) in [(0, 0), (0, 1)] {
            let length = table().piece(rank, pe).unwrap().volume() * 4;
            let sink = assembly.place(rank, &name(pe), length as u64).unwrap();
            sink.write_at(0, &5.0_f32.to_le_bytes().repeat(length / 4)).unwrap();
            // The hole begins and ends within values: both are the last step's as a whole.
            let holes = if pe == 0 { vec![(6, 9)] } else { Vec::new() };
            assembly.finish(rank, &name(pe), Ok(Delivery { arrived: 0, holes, digest: None }));
        }
        assert!(!assembly.is_over());
        assembly.give_up(1);
        assert!(assembly.is_over() && !assembly.is_vain());
        let step = Arc::new(assembly.into_received(std::slice::from_ref(&last)).unwrap());
        let mut out = vec![0.0; 24];
        step.read(0, &Box3::new([0, 0, 0], [4, 2, 3]), &mut out).unwrap();
        assert_eq!(out[..8], [5.0, 3.0, 3.0, 3.0, 3.0, 5.0, 3.0, 3.0]);
        assert!(step.fresh() > 0.4 && step.fresh() < 0.5);
        assert_eq!(step.missing, [MissingPart { rank: 1, step: Some(6) }]);
        let mut next = Assembly::new(8, &[0], &table(), |length| MemorySink::try_new(length).map(Arc::new)).unwrap();
        next.give_up(1);
        let next = next.into_received(std::slice::from_ref(&step)).unwrap();
        // Its values are as old as they were before; rank 0's are one step old.
        assert_eq!(next.missing, [MissingPart { rank: 0, step: Some(7) }, MissingPart { rank: 1, step: Some(6) }]);
        let told = next.freshness(&[true, true]);
        assert_eq!((told.ranks, told.missing, told.parts), (2, 2, next.missing));
        let there = filled(1.0).freshness(&[true, false]);
        assert_eq!(there.parts, [MissingPart { rank: 1, step: Some(6) }]);
    }

    #[test]
    fn a_step_that_was_asked_for_once_more_keeps_what_it_had() {
        let (last, kept) = (Arc::new(filled(3.0)), Arc::new(filled(4.0)));
        let mut again =
            Assembly::new(6, &[0, 1], &table(), |length| MemorySink::try_new(length).map(Arc::new)).unwrap();
        (0..2).for_each(|rank| again.give_up(rank));
        let step = again.into_received(&[kept, last]).unwrap();
        let read = |field| {
            let mut out = vec![0.0; 32];
            step.read(field, &Box3::of_size([4, 2, 4]), &mut out).unwrap();
            out
        };
        assert!(read(0).iter().all(|value| *value == 4.0) && read(1).iter().all(|value| value.is_nan()));
    }

    #[test]
    fn what_is_missing_and_never_was_there_is_missing() {
        let mut assembly =
            Assembly::new(7, &[0], &table(), |length| MemorySink::try_new(length).map(Arc::new)).unwrap();
        assembly.give_up(0);
        assembly.give_up(1);
        assert!(assembly.is_over() && assembly.is_vain());
        let step = assembly.into_received(&[]).unwrap();
        let mut out = vec![0.0; 32];
        step.read(0, &Box3::of_size([4, 2, 4]), &mut out).unwrap();
        assert!(out.iter().all(|value| value.is_nan()));
    }

    #[test]
    fn a_step_that_a_rank_cannot_give_its_part_of_is_not_shown_whatever_came_of_it() {
        let mut assembly =
            Assembly::new(7, &[0], &table(), |length| MemorySink::try_new(length).map(Arc::new)).unwrap();
        for pe in [0, 1] {
            let length = table().piece(0, pe).unwrap().volume() as u64 * 4;
            assembly.place(0, &name(pe), length).unwrap();
            assembly.finish(0, &name(pe), whole());
        }
        assembly.abandon(1);
        assert!(assembly.is_over() && assembly.is_vain());
    }

    #[test]
    fn what_was_offered_comes_though_nothing_more_is_expected_of_its_rank() {
        let mut assembly =
            Assembly::new(7, &[0], &table(), |length| MemorySink::try_new(length).map(Arc::new)).unwrap();
        assembly.place(1, &name(0), 48).unwrap();
        assembly.do_without(1);
        assert!(assembly.waits_for(1) && assembly.place(1, &name(1), 32).is_err());
        assembly.finish(1, &name(0), whole());
        assert!(!assembly.waits_for(1) && !assembly.is_vain());
    }

    #[test]
    fn a_piece_is_taken_once_and_at_its_size() {
        let mut assembly =
            Assembly::new(7, &[0], &table(), |length| MemorySink::try_new(length).map(Arc::new)).unwrap();
        assert!(assembly.place(0, &name(0), 5).is_err());
        assert!(assembly.place(0, &name(0), 48).is_ok());
        assert!(assembly.place(0, &name(0), 48).is_err());
        assert!(assembly.place(2, &name(0), 48).is_err());
        assert!(assembly.place(0, &PieceName { field: 1, ..name(0) }, 48).is_err());
    }

    #[test]
    fn a_step_that_no_memory_can_hold_is_not_begun() {
        let none = |length| Err(NoMemory { length });
        assert_eq!(Assembly::new(7, &[0], &table(), none).map(|_| ()), Err(NoMemory { length: 96 }));
    }
}
