//! A step that has been received: one buffer per field and PE.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use visapult_publish::piece::Rows;
use visapult_ripp_net::{MemorySink, Sink};
use visapult_volume::{Box3, SharedValues, StepIndex};

use crate::wire::{Freshness, MOST_PARTS, MissingPart};

/// The values of a PE's box with its ghost layer.
#[derive(Clone, Debug)]
pub(super) struct PeBuffer {
    pub(super) stored: Box3,
    pub(super) memory: Arc<MemorySink>,
}

/// A step that has been received.
#[derive(Debug)]
pub(super) struct ReceivedStep {
    pub(super) step: StepIndex,
    pub(super) time: Option<f64>,
    pub(super) fields: BTreeMap<usize, Vec<PeBuffer>>,
    /// Bytes of its pieces, those that other processes have included, and how many of them are of this step.
    pub(super) bytes: u64,
    pub(super) fresh_bytes: u64,
    /// Ranks of which nothing is in it.
    pub(super) missing: Vec<MissingPart>,
    /// When all of it had come.
    pub(super) at: Instant,
}

impl ReceivedStep {
    pub(super) fn has(&self, field: usize) -> bool {
        self.fields.contains_key(&field)
    }

    /// Share of its values that are of this step; the others are of the last.
    pub(super) fn fresh(&self) -> f64 {
        if self.bytes == 0 { 1.0 } else { self.fresh_bytes as f64 / self.bytes as f64 }
    }

    /// Bytes of memory.
    pub(super) fn held(&self) -> usize {
        self.fields.values().flatten().map(|buffer| buffer.memory.length()).sum()
    }

    /// How fresh it is, where the ranks that `are_there` are the ones that publish now.
    pub(super) fn freshness(&self, are_there: &[bool]) -> Freshness {
        let missing: Vec<MissingPart> = (0..are_there.len())
            .filter_map(|rank| {
                let absent = self.missing.iter().find(|part| part.rank == rank).copied();
                absent.or_else(|| (!are_there[rank]).then_some(MissingPart { rank, step: Some(self.step) }))
            })
            .collect();
        Freshness {
            step: self.step,
            fresh: self.fresh(),
            age_ms: (self.at.elapsed().as_secs_f64() * 1e4).round() / 10.0,
            ranks: are_there.len(),
            missing: missing.len(),
            parts: missing.into_iter().take(MOST_PARTS).collect(),
            refused: None,
        }
    }

    /// What a PE has of a field, where it lies: a box that is a PE's own.
    pub(super) fn shared(&self, field: usize, bounds: &Box3) -> Option<SharedValues> {
        let own = self.fields.get(&field)?.iter().find(|buffer| buffer.stored == *bounds)?;
        let values = PeValues(Arc::clone(&own.memory));
        (values.as_ref().len() == bounds.volume()).then(|| Arc::new(values) as SharedValues)
    }

    /// Reads a box of a field that the step [has](Self::has): a PE's own as it is, others put together; missing where another process
    /// has the values.
    pub(super) fn read(&self, field: usize, bounds: &Box3, out: &mut [f32]) -> io::Result<()> {
        let buffers = self.fields.get(&field).ok_or(io::ErrorKind::NotFound)?;
        if let Some(own) = buffers.iter().find(|buffer| buffer.stored == *bounds) {
            return own.memory.read_at(0, bytemuck::cast_slice_mut(out));
        }
        out.fill(f32::NAN);
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(out);
        for buffer in buffers {
            let Some(part) = buffer.stored.intersection(bounds) else { continue };
            copy_part(&part, buffer, bounds, bytes)?;
        }
        Ok(())
    }
}

/// What has been received for a PE: nobody writes it any more.
struct PeValues(Arc<MemorySink>);

impl AsRef<[f32]> for PeValues {
    /// Nothing where the memory does not lie as values must.
    fn as_ref(&self) -> &[f32] {
        self.0.memory_at(0).and_then(|bytes| bytemuck::try_cast_slice(bytes).ok()).unwrap_or_default()
    }
}

fn copy_part(part: &Box3, from: &PeBuffer, bounds: &Box3, into: &mut [u8]) -> io::Result<()> {
    let (source, target) = (Rows::new(part, &from.stored), Rows::new(part, bounds));
    let mut piece = vec![0; source.bytes()];
    source.each(0, piece.len(), |at, range| from.memory.read_at(at as u64, &mut piece[range]))?;
    target.each(0, piece.len(), |at, range| {
        let length = range.len();
        into[at..at + length].copy_from_slice(&piece[range]);
        Ok(())
    })
}
