//! Loads steps: every PE reads its box, and the last few steps are kept for all sessions.
//!
//! Invariant: a step is read at most once while it is kept, however many sessions ask for it at the same time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rayon::ThreadPool;
use rayon::prelude::*;
use visapult_render::{Pyramid, TransferFunction, Volume};
use visapult_trace::Stage;
use visapult_volume::{Block, Box3, Decomposition, DecompositionError, StepIndex, ValueRange, level_count};
use visapult_volume_io::{ReadRequest, Source};

use crate::error::PipelineError;
use crate::keyframes::Keyframes;
use crate::stages::at_pe;
use crate::statistics::{FieldStatistics, statistics_of};

/// Edge of the coarsest level: the first picture a viewer gets.
pub(crate) const COARSEST_EDGE: usize = 32;
/// Steps kept besides those in use.
const STEPS_KEPT: usize = 3;

/// Names a step of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StepKey {
    /// Index of the field.
    pub field: usize,
    /// Number of the step.
    pub step: StepIndex,
}

/// One step of a field, split over the PEs.
pub struct LoadedStep {
    /// Which step of which field.
    pub key: StepKey,
    /// Time of the step; NaN where unknown.
    pub time: f64,
    /// The values, block by block.
    pub volume: Volume,
    /// Coarser levels of the same values, one pyramid per PE.
    pub pyramids: Vec<Pyramid>,
    /// Range and histogram.
    pub statistics: FieldStatistics,
    /// Range over the steps known when this one was loaded.
    pub known_range: Option<ValueRange>,
    /// What has been encoded of this step.
    pub keyframes: Keyframes,
}

impl LoadedStep {
    /// The transfer function a viewer starts with.
    pub fn default_transfer_function(&self) -> TransferFunction {
        TransferFunction::default_for(self.known_range.unwrap_or(ValueRange { lo: 0.0, hi: 1.0 }))
    }
}

type Slot = Arc<OnceLock<Result<Arc<LoadedStep>, PipelineError>>>;

/// Reads steps of a source and keeps the latest.
pub struct StepStore {
    source: Box<dyn Source>,
    decomposition: Decomposition,
    levels: u32,
    kept: Mutex<Kept>,
    known_ranges: Mutex<HashMap<usize, ValueRange>>,
    spare_buffers: Mutex<Vec<Vec<f32>>>,
}

#[derive(Default)]
struct Kept {
    slots: HashMap<StepKey, Slot>,
    oldest_first: Vec<StepKey>,
}

impl StepStore {
    /// Splits the source's grid over `pes` PEs.
    ///
    /// # Errors
    /// [`PipelineError`] if the grid has too few samples for so many.
    pub(crate) fn new(source: Box<dyn Source>, pes: usize) -> Result<Self, PipelineError> {
        let decomposition = split(source.info().grid().size, pes)?;
        Ok(Self::over(source, decomposition))
    }

    /// Splits the source's grid over at most `pes` PEs.
    ///
    /// # Errors
    /// [`PipelineError`] if the grid cannot be used at all.
    pub(crate) fn fitting(source: Box<dyn Source>, pes: usize) -> Result<Self, PipelineError> {
        let decomposition = fitting_split(source.info().grid().size, pes)?;
        Ok(Self::over(source, decomposition))
    }

    fn over(source: Box<dyn Source>, decomposition: Decomposition) -> Self {
        let levels = level_count(source.info().grid().size, COARSEST_EDGE);
        Self {
            source,
            decomposition,
            levels,
            kept: Mutex::default(),
            known_ranges: Mutex::default(),
            spare_buffers: Mutex::default(),
        }
    }

    /// The source that is read.
    pub fn source(&self) -> &dyn Source {
        self.source.as_ref()
    }

    /// Levels of detail, the finest included.
    pub fn levels(&self) -> u32 {
        self.levels
    }

    /// The boxes of the PEs.
    pub fn decomposition(&self) -> &Decomposition {
        &self.decomposition
    }

    /// A step of a field, read now by the threads of `pool` unless it is kept.
    ///
    /// Not to be called on a thread of `pool`: it waits for whoever reads the step already, and a pool's thread that waits
    /// may be the one that the reading needs.
    ///
    /// # Errors
    /// [`PipelineError`] if the source cannot give it.
    pub fn load(&self, key: StepKey, pool: &ThreadPool) -> Result<Arc<LoadedStep>, PipelineError> {
        let slot = self.slot(key);
        let loaded = slot.get_or_init(|| pool.install(|| self.read(key)).map(Arc::new)).clone();
        if loaded.is_err() {
            let mut kept = lock(&self.kept);
            kept.slots.remove(&key);
            kept.oldest_first.retain(|other| *other != key);
        }
        loaded
    }

    fn slot(&self, key: StepKey) -> Slot {
        let mut kept = lock(&self.kept);
        kept.oldest_first.retain(|other| *other != key);
        kept.oldest_first.push(key);
        let slot = kept.slots.entry(key).or_default().clone();
        while kept.oldest_first.len() > STEPS_KEPT {
            let oldest = kept.oldest_first.remove(0);
            if let Some(evicted) = kept.slots.remove(&oldest) {
                self.recycle(evicted);
            }
        }
        slot
    }

    /// Keeps the memory of a step nobody uses any more: fresh memory costs more to touch than to fill.
    fn recycle(&self, slot: Slot) {
        let Some(Ok(step)) = Arc::into_inner(slot).and_then(OnceLock::into_inner) else { return };
        let Some(step) = Arc::into_inner(step) else { return };
        let mut spare = lock(&self.spare_buffers);
        spare.clear();
        spare.extend(step.volume.into_blocks().into_iter().map(|block| block.values));
    }

    fn buffer(&self, len: usize) -> Vec<f32> {
        let mut spare = lock(&self.spare_buffers);
        let fitting = spare.iter().position(|buffer| buffer.len() == len);
        fitting.map(|place| spare.swap_remove(place)).unwrap_or_else(|| vec![0.0; len])
    }

    fn read(&self, key: StepKey) -> Result<LoadedStep, PipelineError> {
        let info = self.source.info();
        let grid = info.grid().clone();
        let bounds = grid.bounds();
        let owned_boxes = self.decomposition.boxes();
        let read = |(pe, owned)| {
            let bytes = |block: &Result<Block, _>| block.as_ref().map_or(0, |block| size_of_val(&block.values[..]));
            at_pe(Stage::Load, pe, key.step, || self.read_block(key, owned, &bounds), bytes)
        };
        let blocks: Result<Vec<Block>, PipelineError> = owned_boxes.into_par_iter().enumerate().map(read).collect();
        let volume = Volume::new(grid, self.decomposition.clone(), blocks?)?;
        let range = volume.range();
        let known_range = self.widen_known_range(key.field, range);
        let bins_over = known_range.unwrap_or(ValueRange { lo: 0.0, hi: 1.0 });
        let statistics = statistics_of(volume.blocks(), range, bins_over);
        let coarsen = |(pe, block)| at_pe(Stage::Render, pe, key.step, || Pyramid::of(block, self.levels), |_| 0);
        let pyramids = volume.blocks().par_iter().enumerate().map(coarsen).collect();
        let time = self.source.time_of(key.step).unwrap_or(f64::NAN);
        Ok(LoadedStep { key, time, volume, pyramids, statistics, known_range, keyframes: Keyframes::default() })
    }

    fn read_block(&self, key: StepKey, owned: Box3, bounds: &Box3) -> Result<Block, PipelineError> {
        let stored = Block::stored_for(&owned, bounds);
        let mut values = self.buffer(stored.volume());
        let request = ReadRequest { field: key.field, step: key.step, level: 0, bounds: stored };
        self.source.read(&request, &mut values).map_err(PipelineError::source)?;
        Ok(Block { owned, stored, values })
    }

    /// The range over all steps known: declared by the source, or grown with every step read.
    fn widen_known_range(&self, field: usize, step_range: Option<ValueRange>) -> Option<ValueRange> {
        if let Some(declared) = self.source.info().fields[field].declared_range {
            return Some(declared);
        }
        let mut known = lock(&self.known_ranges);
        let widened = match (known.get(&field).copied(), step_range) {
            (Some(known), Some(step)) => Some(known.union(step)),
            (known, step) => known.or(step),
        };
        if let Some(range) = widened {
            known.insert(field, range);
        }
        widened
    }
}

/// Cuts where every PE can coarsen its own box by itself.
fn split(size: [usize; 3], pes: usize) -> Result<Decomposition, DecompositionError> {
    let alignment = if pes == 1 { 1 } else { 1 << (level_count(size, COARSEST_EDGE) - 1) };
    Decomposition::new(size, pes, alignment)
}

/// Over at most `pes` PEs.
fn fitting_split(size: [usize; 3], pes: usize) -> Result<Decomposition, DecompositionError> {
    let fitting = (2..=pes).rev().find_map(|pes| split(size, pes).ok());
    fitting.map_or_else(|| split(size, 1), Ok)
}

/// The boxes that at most `pes` PEs own: the same wherever they are computed.
pub(crate) fn fitting_boxes(size: [usize; 3], pes: usize) -> Vec<Box3> {
    fitting_split(size, pes).map_or_else(|_| vec![Box3::of_size(size)], |split| split.boxes())
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
