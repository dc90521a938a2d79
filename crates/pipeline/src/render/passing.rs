//! A step that does not fit in memory: its blocks are read, used and let go of, one after another.
//!
//! There are as many blocks as it takes; what each shows is put together as if it were the PE of a process of its own. While one is used, the
//! next is read.
//! Invariant: of the field, no more than two blocks are held at any time.

use std::ops::Range;
use std::sync::mpsc::sync_channel;
use std::thread;

use rayon::ThreadPool;
use visapult_render::{
    Camera, CodeBits, EncodedBrick, KeyView, LevelCoding, Pyramid, Rendering, ScalarKeyframe, ScalarStack, SegmentKey,
    SegmentKeyframe, SegmentStack, SlabCaster, SlabKeyframe, SlabStack, TransferFunction, Volume, bricks_keep,
    composite_places, composite_slabs, encode_level, fitted_key, image_of_patches, join_scalar_slabs, join_segments,
    make_segments, render_runs, runs, scalar_slab_parts, visible_depths, volume_of_bricks,
};
use visapult_ripp_net::units::bytes_for_people;
use visapult_volume::{Block, Box3, COARSEST_EDGE, Decomposition, ValueRange, coarsened_size, level_count, split};
use visapult_volume_io::{ReadRequest, Source, SourceInfo};

use super::FOR_FILES;
use super::proxy::{Parts, Picture, check_brick_level, key_camera};
use crate::config::{RenderConfig, RenderProxy};
use crate::error::PipelineError;
use crate::memory::{step_bytes, values};
use crate::step_store::StepKey;

/// Most blocks that a step is cut into.
const MOST_BLOCKS: usize = 4096;
/// Blocks that are held at a time.
const HELD: u64 = 2;

/// A step of a file that is read block by block.
pub(super) struct Passing<'a> {
    source: &'a dyn Source,
    key: StepKey,
    config: &'a RenderConfig,
    /// Most bytes of the field that are held.
    memory: u64,
    /// No block, of as many as there are: what tells where they lie.
    frame: Volume,
    /// Of each block.
    ranges: Vec<Option<ValueRange>>,
    pool: &'a ThreadPool,
}

impl<'a> Passing<'a> {
    /// Cuts a step into the fewest blocks of which two fit in `memory`, and reads all once for the ranges of their values.
    ///
    /// # Errors
    /// [`PipelineError`] if the source is no file, cannot be cut as finely as that, or cannot be read.
    pub(super) fn new(
        source: &'a dyn Source,
        key: StepKey,
        config: &'a RenderConfig,
        memory: u64,
        pool: &'a ThreadPool,
    ) -> Result<Self, PipelineError> {
        let info = source.info();
        let refuse = |reason: &str| Err(PipelineError::Option(format!("{}: {reason}", info.name)));
        if info.live || config.back_end.crew.is_some() {
            return refuse(FOR_FILES);
        }
        if matches!(config.proxy, RenderProxy::Auto { .. }) {
            return refuse(
                "which proxy is best is found out of a step that is in memory: with less than it takes, name one (--proxy)",
            );
        }
        let decomposition = blocks_within(info, memory)?;
        let frame = Volume::part(info.grid().clone(), decomposition, 0, Vec::new())?;
        let blocks = frame.decomposition().boxes().len();
        let mut passing = Self { source, key, config, memory, frame, ranges: Vec::new(), pool };
        let mut ranges = Vec::new();
        passing.for_each(0..blocks, |volume| {
            ranges.push(volume.range());
            Ok(())
        })?;
        passing.ranges = ranges;
        Ok(passing)
    }

    /// Blocks that the step is cut into.
    pub(super) fn blocks(&self) -> usize {
        self.ranges.len()
    }

    /// Range of all values.
    pub(super) fn range(&self) -> Option<ValueRange> {
        self.ranges.iter().flatten().copied().reduce(ValueRange::union)
    }

    /// Makes and decodes the configured proxy.
    pub(super) fn make(&self, function: &TransferFunction) -> Result<Parts, PipelineError> {
        match self.config.proxy {
            RenderProxy::Exact | RenderProxy::Auto { .. } => Ok(Picture::exact(self.config)),
            RenderProxy::Bricks { level, bits } => self.bricks(level, bits, function),
            RenderProxy::Slabs { key_deg, slabs } => self.slabs(key_deg, slabs, function),
            RenderProxy::ScalarSlabs { key_deg, slabs } => self.scalar_slabs(key_deg, slabs, function),
            RenderProxy::Segments { key_deg, segments } => self.segments(key_deg, segments, function),
        }
    }

    /// The exact image.
    pub(super) fn exact(&self, function: &TransferFunction) -> Result<Rendering, PipelineError> {
        let RenderConfig { camera, size, sample_step, .. } = self.config;
        let (mut patches, mut samples) = (Vec::new(), 0);
        self.for_each(self.front_to_back(camera), |volume| {
            let run = [vec![volume.first()]];
            let (behind, more) = render_runs(volume, camera, function, *size, *sample_step, &run);
            patches = composite_places(*size, &[std::mem::take(&mut patches), behind.concat()]);
            samples += more;
            Ok(())
        })?;
        Ok(Rendering { image: image_of_patches(*size, &patches), samples })
    }

    fn bricks(&self, level: u32, bits: CodeBits, function: &TransferFunction) -> Result<Parts, PipelineError> {
        let grid = self.frame.grid();
        let levels = level_count(grid.size, COARSEST_EDGE);
        check_brick_level(grid.size, level, levels)?;
        let needed = step_bytes(coarsened_size(grid.size, level).iter().product());
        if needed > self.memory {
            let (needed, memory) = (bytes_for_people(needed), bytes_for_people(self.memory));
            return Err(PipelineError::Option(format!(
                "bricks of level {level} take {needed} where they are drawn, and --memory allows {memory}: choose a coarser level (--bricks-level)"
            )));
        }
        let kept = bricks_keep(self.range(), function.range, None, bits);
        let mut bricks: Vec<EncodedBrick> = Vec::new();
        self.for_each(self.all(), |volume| {
            let of_block = |block| encode_level(block, &Pyramid::of(block, levels), LevelCoding { level, bits, kept });
            bricks.extend(volume.blocks().iter().flat_map(of_block));
            Ok(())
        })?;
        let wire_bytes = bricks.iter().map(|brick| brick.wire_bytes() as u64).sum();
        let decode = || volume_of_bricks(grid, level, bits, &bricks);
        let volume = self.pool.install(decode).map_err(unfit)?;
        Ok((wire_bytes, 0, Picture::Bricks(Box::new(volume))))
    }

    fn slabs(&self, key_deg: [f64; 2], slabs: u16, function: &TransferFunction) -> Result<Parts, PipelineError> {
        let key = KeyView::of_slabs(&self.frame, key_camera(self.config, key_deg), slabs, self.config.aspect());
        let mut depths: Option<[f64; 2]> = None;
        self.for_each(self.front_to_back(&key.camera), |volume| {
            let more = visible_depths(volume, &key, function);
            let union = |a: [f64; 2], b: [f64; 2]| [a[0].min(b[0]), a[1].max(b[1])];
            depths = depths.into_iter().chain(more).reduce(union);
            Ok(())
        })?;
        let (mut patches, mut samples) = (Vec::new(), 0);
        if let Some(depths) = depths {
            self.for_each(self.front_to_back(&key.camera), |volume| {
                let caster = SlabCaster::new(volume, &key, function, self.config.sample_step, depths);
                let places: Vec<usize> = (0..caster.place_count()).collect();
                let (more, taken) = caster.patches(&[volume.first()], &places);
                patches.push(more);
                samples += taken;
                Ok(())
            })?;
        }
        let tiles = self.pool.install(|| composite_slabs(&self.frame, &key, &patches));
        let keyframe = SlabKeyframe::of_tiles(&self.frame, &key, depths, tiles, samples);
        let stack = self.pool.install(|| SlabStack::from_keyframe(&keyframe)).map_err(unfit)?;
        Ok((keyframe.wire_bytes() as u64, samples, Picture::Slabs(stack)))
    }

    fn scalar_slabs(
        &self,
        key_deg: [f64; 2],
        slabs: Option<u16>,
        function: &TransferFunction,
    ) -> Result<Parts, PipelineError> {
        let camera = key_camera(self.config, key_deg);
        let slabs = slabs.unwrap_or_else(|| fitted_key(&self.frame, camera).slabs);
        let key = KeyView::of_scalar_slabs(&self.frame, camera, slabs, self.config.aspect());
        let range = ScalarKeyframe::values_kept(self.range(), function.range);
        let mut parts = Vec::new();
        self.for_each(self.all(), |volume| {
            parts.extend(scalar_slab_parts(volume, &key, range));
            Ok(())
        })?;
        let join = || join_scalar_slabs(&self.frame, &key, range, parts);
        let keyframe = self.pool.install(join).map_err(unfit)?;
        let stack = self.pool.install(|| ScalarStack::from_keyframe(&keyframe)).map_err(unfit)?;
        Ok((keyframe.wire_bytes() as u64, 0, Picture::ScalarSlabs(stack)))
    }

    fn segments(&self, key_deg: [f64; 2], segments: u16, function: &TransferFunction) -> Result<Parts, PipelineError> {
        let camera = key_camera(self.config, key_deg);
        let key = SegmentKey::of_picture(&self.frame, camera, segments, self.config.aspect());
        let range = SegmentKeyframe::values_kept(self.range(), function.range);
        let mut parts = Vec::new();
        self.for_each(self.all(), |volume| {
            parts.push(make_segments(volume, &key, function, range));
            Ok(())
        })?;
        let joined = self.pool.install(|| join_segments(&parts)).map_err(unfit)?;
        let keyframe = joined.ok_or_else(|| unfit("a step without blocks"))?;
        let stack = self.pool.install(|| SegmentStack::from_keyframe(&keyframe)).map_err(unfit)?;
        Ok((keyframe.wire_bytes() as u64, keyframe.samples, Picture::Segments(stack)))
    }

    fn all(&self) -> Range<usize> {
        0..self.blocks()
    }

    /// The blocks that have values and are not cut away, as `camera` sees them.
    fn front_to_back(&self, camera: &Camera) -> Vec<usize> {
        let (grid, boxes) = (self.frame.grid(), self.frame.decomposition().boxes());
        let is_seen = |pe: &usize| self.ranges[*pe].is_some() && camera.shows(grid, &boxes[*pe]);
        runs(&self.frame, camera, |pe| pe).into_iter().map(|(pe, _)| pe).filter(is_seen).collect()
    }

    /// Reads these blocks one after another, ahead of whoever uses them, which is done by the rendering threads.
    fn for_each(
        &self,
        blocks: impl IntoIterator<Item = usize> + Send,
        mut use_it: impl FnMut(&Volume) -> Result<(), PipelineError> + Send,
    ) -> Result<(), PipelineError> {
        // Of no capacity: whoever reads waits with one block until the one before it is let go of.
        let (give, take) = sync_channel(0);
        thread::scope(|scope| {
            scope.spawn(move || blocks.into_iter().try_for_each(|pe| give.send(self.read(pe)).ok()));
            for volume in take {
                let volume = volume?;
                self.pool.install(|| use_it(&volume))?;
            }
            Ok(())
        })
    }

    fn read(&self, pe: usize) -> Result<Volume, PipelineError> {
        let (grid, decomposition) = (self.frame.grid(), self.frame.decomposition());
        let owned = decomposition.boxes()[pe];
        let stored = Block::stored_for(&owned, &grid.bounds());
        let mut values = values(self.source.info(), stored.volume())?;
        let request = ReadRequest { field: self.key.field, step: self.key.step, level: 0, bounds: stored };
        self.source.read(&request, &mut values).map_err(PipelineError::source)?;
        let block = Block { owned, stored, values: values.into() };
        Ok(self.pool.install(|| Volume::part(grid.clone(), decomposition.clone(), pe, vec![block]))?)
    }
}

fn unfit(cause: impl ToString) -> PipelineError {
    PipelineError::Option(cause.to_string())
}

/// The fewest blocks of which two fit in `memory`.
fn blocks_within(info: &SourceInfo, memory: u64) -> Result<Decomposition, PipelineError> {
    let grid = info.grid();
    let largest = |split: &Decomposition| {
        let bytes = |owned: &Box3| step_bytes(Block::stored_for(owned, &grid.bounds()).volume());
        split.boxes().iter().map(bytes).max().unwrap_or(0)
    };
    let fewest = usize::try_from(step_bytes(grid.sample_count()) / (memory / HELD).max(1)).unwrap_or(MOST_BLOCKS);
    let splits = || (fewest.clamp(1, MOST_BLOCKS)..=MOST_BLOCKS).filter_map(|count| split(grid.size, count).ok());
    if let Some(split) = splits().find(|split| largest(split) <= memory / HELD) {
        return Ok(split);
    }
    let least = splits().map(|split| largest(&split)).min().unwrap_or_else(|| step_bytes(grid.sample_count()));
    Err(PipelineError::Option(format!(
        "{} cannot be passed through within {}: --memory {} is the least",
        info.name,
        bytes_for_people(memory),
        bytes_for_people(HELD * least)
    )))
}
