//! Loads steps: every PE reads its box, and the last few steps are kept for all sessions.
//!
//! Invariant: a step is read at most once while it is kept, however many sessions ask for it at the same time.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

use rayon::ThreadPool;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use visapult_render::{Pyramid, TransferFunction, Volume};
use visapult_trace::Stage;
use visapult_volume::{
    Block, Box3, COARSEST_EDGE, Decomposition, StepIndex, ValueRange, Values, fitting_split, level_count, split,
};
use visapult_volume_io::{ReadRequest, Source, with_derived};

use crate::crew::{Crew, CrewStep, counts_of, in_words, range_of};
use crate::defaults::{Defaults, over_all};
use crate::device::{Device, SharedGpu, StepDevice};
use crate::error::PipelineError;
use crate::glance::Glance;
use crate::keyframes::Keyframes;
use crate::lock::lock;
use crate::memory;
use crate::stages::at_pe;
use crate::statistics::{Counts, FieldStatistics, count, union};

/// Steps kept besides those in use, where there is memory for so many.
const MOST_STEPS_KEPT: usize = 3;

/// Names a step of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    /// The values, block by block: those of the PEs of this process.
    pub volume: Volume,
    /// Coarser levels of the same values, one pyramid for each of these PEs.
    pub pyramids: Vec<Pyramid>,
    /// Range and histogram.
    pub statistics: FieldStatistics,
    /// What a viewer starts with.
    pub(crate) defaults: Defaults,
    /// What has been encoded of this step.
    pub keyframes: Keyframes,
    /// What makes pictures of it.
    pub(crate) device: StepDevice,
    /// The processes that have the other PEs.
    pub(crate) crew: Option<CrewStep>,
}

impl LoadedStep {
    /// Whether all processes have given what was asked of them.
    pub(crate) fn has_all_parts(&self) -> bool {
        self.crew.as_ref().is_none_or(|crew| crew.whole().is_ok())
    }

    /// The transfer function a viewer starts with.
    pub fn default_transfer_function(&self) -> TransferFunction {
        self.defaults.transfer_function.clone()
    }

    /// The transfer function of a picture that nobody will adjust: over all values.
    pub(crate) fn plain_transfer_function(&self) -> TransferFunction {
        over_all(self.defaults.data_range, self.defaults.scale)
    }
}

type Slot = Arc<OnceLock<Result<Arc<LoadedStep>, PipelineError>>>;
type Look = Arc<OnceLock<Option<Arc<Glance>>>>;

/// Reads steps of a source and keeps the latest.
pub struct StepStore {
    source: Box<dyn Source>,
    decomposition: Decomposition,
    /// Other processes that have PEs.
    crew: Option<Arc<Crew>>,
    /// What makes pictures of steps besides the processor.
    gpu: SharedGpu,
    levels: u32,
    steps_kept: usize,
    kept: Mutex<Kept>,
    /// The last first look.
    looked: Mutex<Option<(StepKey, Look)>>,
    /// Of fields of a simulation, over the steps that have been read.
    live_ranges: Mutex<HashMap<usize, ValueRange>>,
    spare_buffers: Mutex<Vec<Vec<f32>>>,
}

#[derive(Default)]
struct Kept {
    /// Of the processes that the steps are split over.
    epoch: u64,
    slots: HashMap<StepKey, Slot>,
    oldest_first: Vec<StepKey>,
}

impl StepStore {
    /// Splits the source's grid over `pes` PEs.
    ///
    /// # Errors
    /// [`PipelineError`] if the grid has too few samples for so many, or a step does not fit in memory.
    pub(crate) fn new(source: Box<dyn Source>, pes: usize, crew: Option<Arc<Crew>>) -> Result<Self, PipelineError> {
        let decomposition = split(source.info().grid().size, pes)?;
        Self::over(source, decomposition, crew)
    }

    /// Splits the source's grid over at most `pes` PEs.
    ///
    /// # Errors
    /// [`PipelineError`] if the grid cannot be used at all, or a step does not fit in memory.
    pub(crate) fn fitting(source: Box<dyn Source>, pes: usize, crew: Option<Arc<Crew>>) -> Result<Self, PipelineError> {
        let decomposition = fitting_split(source.info().grid().size, pes)?;
        Self::over(source, decomposition, crew)
    }

    fn over(
        source: Box<dyn Source>,
        decomposition: Decomposition,
        crew: Option<Arc<Crew>>,
    ) -> Result<Self, PipelineError> {
        let source = with_derived(source);
        let levels = level_count(source.info().grid().size, COARSEST_EDGE);
        let boxes = decomposition.boxes();
        let own = crew.as_ref().map_or(0..boxes.len(), |crew| crew.membership().share(crew.rank(), boxes.len()));
        let bounds = source.info().grid().bounds();
        let samples = boxes[own].iter().map(|owned| Block::stored_for(owned, &bounds).volume()).sum();
        let processes = crew.as_ref().map_or(1, |crew| crew.processes_here());
        let [needed, free] = memory::check(source.info(), samples, processes)?;
        let steps_kept = usize::try_from(free / needed.max(1)).unwrap_or(usize::MAX).clamp(1, MOST_STEPS_KEPT);
        Ok(Self {
            source,
            decomposition,
            crew,
            gpu: SharedGpu::processor(),
            levels,
            steps_kept,
            kept: Mutex::default(),
            looked: Mutex::default(),
            live_ranges: Mutex::default(),
            spare_buffers: Mutex::default(),
        })
    }

    /// From now on, `device` makes pictures of the steps that are loaded.
    ///
    /// # Errors
    /// [`PipelineError`] if it was asked for by name and cannot be had.
    pub(crate) fn use_device(&mut self, device: Device) -> Result<(), PipelineError> {
        self.gpu = SharedGpu::of(device)?;
        Ok(())
    }

    /// The source that is read; behind its fields, what is made of them.
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
        let loaded = slot.get_or_init(|| self.read(key, pool).map(Arc::new)).clone();
        if loaded.is_err() {
            let mut kept = lock(&self.kept);
            kept.slots.remove(&key);
            kept.oldest_first.retain(|other| *other != key);
        }
        loaded
    }

    /// A first look at a step that is not there yet and takes long to read, where one is to be had sooner: made now unless it was the last that was asked for.
    pub(crate) fn glance(&self, key: StepKey) -> Option<Arc<Glance>> {
        let is_loaded = lock(&self.kept).slots.get(&key).is_some_and(|slot| slot.get().is_some());
        if is_loaded || self.crew.is_some() {
            return None;
        }
        let look = self.look(key);
        look.get_or_init(|| Glance::of(self.source(), key, self.levels).map(Arc::new)).clone()
    }

    fn look(&self, key: StepKey) -> Look {
        let mut looked = lock(&self.looked);
        let same = looked.as_ref().filter(|(of, _)| *of == key).map(|(_, look)| Arc::clone(look));
        same.unwrap_or_else(|| Arc::clone(&looked.insert((key, Look::default())).1))
    }

    /// Lets go of every step: the source counts from the beginning again.
    pub(crate) fn forget(&self) {
        *lock(&self.kept) = Kept::default();
        lock(&self.live_ranges).clear();
    }

    fn slot(&self, key: StepKey) -> Slot {
        let mut kept = lock(&self.kept);
        let epoch = self.crew.as_ref().map_or(0, |crew| crew.membership().epoch);
        if kept.epoch != epoch {
            *kept = Kept { epoch, ..Kept::default() };
        }
        kept.oldest_first.retain(|other| *other != key);
        kept.oldest_first.push(key);
        let slot = kept.slots.entry(key).or_default().clone();
        while kept.oldest_first.len() > self.steps_kept {
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
        spare.extend(step.volume.into_blocks().into_iter().filter_map(|block| block.values.into_own()));
    }

    fn buffer(&self, len: usize) -> Result<Vec<f32>, PipelineError> {
        let mut spare = lock(&self.spare_buffers);
        let fitting = spare.iter().position(|buffer| buffer.len() == len);
        fitting.map_or_else(|| memory::values(self.source.info(), len), |place| Ok(spare.swap_remove(place)))
    }

    /// Whether a step was split over processes of which one is gone, and can be had of the others by now.
    pub(crate) fn is_outdated(&self, step: &LoadedStep) -> bool {
        let settled = self.crew.as_ref().map_or(0, |crew| crew.settled());
        step.crew.as_ref().is_some_and(|crew| crew.epoch() < settled)
    }

    fn read(&self, key: StepKey, pool: &ThreadPool) -> Result<LoadedStep, PipelineError> {
        let membership = self.crew.as_ref().map(|crew| (crew, crew.membership()));
        let pes = self.decomposition.boxes().len();
        let own = membership.as_ref().map_or(0..pes, |(crew, members)| members.share(crew.rank(), pes));
        let shown = || in_words(self.source.info(), key.field).unwrap_or_default();
        let crew = membership
            .filter(|(crew, _)| crew.is_head())
            .map(|(crew, members)| CrewStep::new(crew, members, key, shown(), pes));
        if crew.is_some() && self.source.info().live {
            // What is asked of a simulation only now has come to the hands, too, once this process has it.
            let bounds = self.source.info().grid().bounds();
            let whole = ReadRequest { field: key.field, step: key.step, level: 0, bounds };
            self.source.shared(&whole).map_err(PipelineError::source)?;
        }
        let loading = crew.as_ref().map(CrewStep::load);
        let (volume, pyramids) = pool.install(|| self.read_own(key, own))?;
        let range = loading.map_or_else(|| volume.range(), |asked| range_of(volume.range(), asked));
        let count = |over| {
            let asked = crew.as_ref().map(|crew| crew.count(over));
            let own = pool.install(|| count(volume.blocks(), over));
            Ok::<_, PipelineError>(asked.map_or_else(Vec::new, counts_of).into_iter().fold(own, Counts::merged))
        };
        let info = self.source.info();
        let declared = info.fields[key.field].declared_range;
        let scale = self.source.scale(key.field);
        let (defaults, counts) = if info.live {
            Defaults::of_simulation(scale, declared.or_else(|| self.widened(key.field, range)), count)?
        } else {
            Defaults::of_file(scale, declared, range, count)?
        };
        let statistics = counts.of_step(range);
        let time = self.source.time_of(key.step).unwrap_or(f64::NAN);
        let device = StepDevice::new(self.gpu.clone());
        Ok(LoadedStep {
            key,
            time,
            volume,
            pyramids,
            statistics,
            defaults,
            keyframes: Keyframes::default(),
            device,
            crew,
        })
    }

    /// What the PEs of this process have of a step.
    fn read_own(&self, key: StepKey, own: Range<usize>) -> Result<(Volume, Vec<Pyramid>), PipelineError> {
        let grid = self.source.info().grid().clone();
        let bounds = grid.bounds();
        let read = |(pe, owned): (usize, Box3)| {
            let bytes = |block: &Result<Block, _>| block.as_ref().map_or(0, |block| size_of_val(&block.values[..]));
            at_pe(Stage::Load, pe, key.step, || self.read_block(key, owned, &bounds), bytes)
        };
        let boxes = self.decomposition.boxes().into_par_iter().enumerate().skip(own.start).take(own.len());
        let blocks: Result<Vec<Block>, PipelineError> = boxes.map(read).collect();
        let volume = Volume::part(grid, self.decomposition.clone(), own.start, blocks?)?;
        let coarsen =
            |(i, block)| at_pe(Stage::Render, own.start + i, key.step, || Pyramid::of(block, self.levels), |_| 0);
        let pyramids = volume.blocks().par_iter().enumerate().map(coarsen).collect();
        Ok((volume, pyramids))
    }

    fn read_block(&self, key: StepKey, owned: Box3, bounds: &Box3) -> Result<Block, PipelineError> {
        let stored = Block::stored_for(&owned, bounds);
        let request = ReadRequest { field: key.field, step: key.step, level: 0, bounds: stored };
        if let Some(shared) = self.source.shared(&request).map_err(PipelineError::source)? {
            return Ok(Block { owned, stored, values: Values::Shared(shared) });
        }
        let mut values = self.buffer(stored.volume())?;
        self.source.read(&request, &mut values).map_err(PipelineError::source)?;
        Ok(Block { owned, stored, values: values.into() })
    }

    /// The range of a simulation's field, which grows with its steps: they come in one order for all who look, and the first may be constant.
    fn widened(&self, field: usize, step_range: Option<ValueRange>) -> Option<ValueRange> {
        let mut known = lock(&self.live_ranges);
        let widened = union(known.get(&field).copied(), step_range);
        known.extend(widened.map(|range| (field, range)));
        widened
    }
}
