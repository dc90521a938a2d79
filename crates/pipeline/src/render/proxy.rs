//! Makes proxies of a step, and draws them.

use std::time::Instant;

use rayon::ThreadPool;
use visapult_render::{
    Camera, CodeBits, EncodedBrick, KeyView, LevelCoding, MOST_ALONG_BRICKS, Pyramid, Rendering, ScalarStack,
    SegmentKey, SegmentStack, SlabStack, TransferFunction, Volume, bricks_keep, finest_brick_level, fitted_key,
    render_exact, volume_of_bricks,
};
use visapult_volume::coarsened_size;

use super::choice::{Choice, choose};
use crate::config::{RenderConfig, RenderProxy};
use crate::error::PipelineError;
use crate::making::{bricks_of, image_of, scalar_slabs_of, segments_of, slabs_of};
use crate::step_store::LoadedStep;

/// A step, and how it is to be shown.
pub(super) struct Maker<'a> {
    pub(super) step: &'a LoadedStep,
    pub(super) config: &'a RenderConfig,
    pub(super) transfer_function: &'a TransferFunction,
    pub(super) pool: &'a ThreadPool,
}

/// A proxy as a viewer has it, decoded.
pub(super) struct Made {
    pub(super) proxy: RenderProxy,
    pub(super) wire_bytes: u64,
    /// Samples taken to make it.
    pub(super) samples: u64,
    /// Seconds to make and to decode it.
    pub(super) seconds: f64,
    /// Why it was taken, where it was chosen among others.
    pub(super) choice: Option<Choice>,
    pub(super) picture: Picture,
}

/// What images are drawn from.
pub(super) enum Picture {
    Step,
    Bricks(Box<Volume>),
    Slabs(SlabStack),
    ScalarSlabs(ScalarStack),
    Segments(SegmentStack),
}

/// Bytes of a proxy, samples taken for it, and what is drawn.
pub(super) type Parts = (u64, u64, Picture);

impl Picture {
    /// The step itself, and the bytes of an image's 8-bit pixels.
    pub(super) fn exact(config: &RenderConfig) -> Parts {
        (4 * config.size.iter().product::<usize>() as u64, 0, Self::Step)
    }

    /// What the configured camera sees of it; of a step itself that is found elsewhere.
    pub(super) fn seen(
        &self,
        config: &RenderConfig,
        function: &TransferFunction,
        pool: &ThreadPool,
    ) -> Option<Rendering> {
        let (camera, [width, height]) = (&config.camera, config.size);
        let plain = |image| Some(Rendering { image, samples: 0 });
        pool.install(|| match self {
            Self::Step => None,
            Self::Bricks(volume) => Some(render_exact(volume, camera, function, width, height, config.sample_step)),
            Self::Slabs(stack) => plain(stack.render(camera, width, height)),
            Self::ScalarSlabs(stack) => plain(stack.render(camera, function, width, height)),
            Self::Segments(stack) => plain(stack.render(camera, width, height, function)),
        })
    }
}

/// Refuses bricks of a level that a grid of `size` samples has not, of its `levels`, or that is too long for them.
pub(super) fn check_brick_level(size: [usize; 3], level: u32, levels: u32) -> Result<(), PipelineError> {
    if level >= levels {
        let reason = format!("there is no level {level} of bricks: levels 0 to {} are", levels - 1);
        return Err(PipelineError::Option(reason));
    }
    let finest = finest_brick_level(size);
    if level < finest {
        let longest = coarsened_size(size, level).into_iter().max().unwrap_or(0);
        return Err(PipelineError::Option(format!(
            "bricks of level {level} cannot be made: it has {longest} samples along an axis, and bricks {MOST_ALONG_BRICKS} at most: \
             choose a coarser level (--bricks-level {finest})"
        )));
    }
    Ok(())
}

/// The configured view, from elsewhere.
pub(super) fn key_camera(config: &RenderConfig, [azimuth_deg, elevation_deg]: [f64; 2]) -> Camera {
    Camera { azimuth_deg, elevation_deg, ..config.camera }
}

impl Maker<'_> {
    /// Makes and decodes `proxy`.
    pub(super) fn make(&self, proxy: RenderProxy) -> Result<Made, PipelineError> {
        let started = Instant::now();
        let (wire_bytes, samples, picture) = match proxy {
            RenderProxy::Exact => Picture::exact(self.config),
            RenderProxy::Bricks { level, bits } => self.bricks(level, bits)?,
            RenderProxy::Slabs { key_deg, slabs } => self.slabs(key_deg, slabs)?,
            RenderProxy::ScalarSlabs { key_deg, slabs } => self.scalar_slabs(key_deg, slabs)?,
            RenderProxy::Segments { key_deg, segments } => self.segments(key_deg, segments)?,
            RenderProxy::Auto { key_deg, budget } => {
                let chosen = choose(self, key_deg, budget)?;
                return Ok(Made { seconds: started.elapsed().as_secs_f64(), ..chosen });
            }
        };
        Ok(Made { proxy, wire_bytes, samples, seconds: started.elapsed().as_secs_f64(), choice: None, picture })
    }

    /// The image that the configured camera sees of what was made.
    pub(super) fn draw(&self, made: &Made) -> Rendering {
        let exact = || {
            let RenderConfig { camera, size, sample_step, .. } = self.config;
            image_of(self.step, camera, self.transfer_function, *size, *sample_step, self.pool)
        };
        made.picture.seen(self.config, self.transfer_function, self.pool).unwrap_or_else(exact)
    }

    fn bricks(&self, level: u32, bits: CodeBits) -> Result<Parts, PipelineError> {
        let levels = self.step.pyramids.first().map_or(1, Pyramid::level_count);
        check_brick_level(self.step.volume.grid().size, level, levels)?;
        let kept = bricks_keep(self.step.statistics.range, self.transfer_function.range, None, bits);
        let of_pe = bricks_of(self.step, LevelCoding { level, bits, kept }, self.pool);
        let bricks: Vec<EncodedBrick> = of_pe.into_iter().flat_map(|(_, bricks)| bricks).collect();
        let wire_bytes = bricks.iter().map(|brick| brick.wire_bytes() as u64).sum();
        let decode = || volume_of_bricks(self.step.volume.grid(), level, bits, &bricks);
        let volume = self.pool.install(decode).map_err(|e| PipelineError::Option(e.to_string()))?;
        Ok((wire_bytes, 0, Picture::Bricks(Box::new(volume))))
    }

    fn slabs(&self, key_deg: [f64; 2], slabs: u16) -> Result<Parts, PipelineError> {
        let key = KeyView::of_slabs(&self.step.volume, key_camera(self.config, key_deg), slabs, self.config.aspect());
        let keyframe = slabs_of(self.step, &key, self.transfer_function, self.config.sample_step, self.pool);
        let stack = self.pool.install(|| SlabStack::from_keyframe(&keyframe));
        let stack = stack.map_err(|e| PipelineError::Option(e.to_string()))?;
        Ok((keyframe.wire_bytes() as u64, keyframe.samples, Picture::Slabs(stack)))
    }

    fn scalar_slabs(&self, key_deg: [f64; 2], slabs: Option<u16>) -> Result<Parts, PipelineError> {
        let (volume, camera) = (&self.step.volume, key_camera(self.config, key_deg));
        let slabs = slabs.unwrap_or_else(|| fitted_key(volume, camera).slabs);
        let key = KeyView::of_scalar_slabs(volume, camera, slabs, self.config.aspect());
        let keyframe = scalar_slabs_of(self.step, &key, self.transfer_function.range, self.pool);
        let stack = self.pool.install(|| ScalarStack::from_keyframe(&keyframe));
        let stack = stack.map_err(|e| PipelineError::Option(e.to_string()))?;
        Ok((keyframe.wire_bytes() as u64, 0, Picture::ScalarSlabs(stack)))
    }

    fn segments(&self, key_deg: [f64; 2], segments: u16) -> Result<Parts, PipelineError> {
        let volume = &self.step.volume;
        let key = SegmentKey::of_picture(volume, key_camera(self.config, key_deg), segments, self.config.aspect());
        let keyframe = segments_of(self.step, &key, self.transfer_function, self.pool);
        let stack = self.pool.install(|| SegmentStack::from_keyframe(&keyframe));
        let stack = stack.map_err(|e| PipelineError::Option(e.to_string()))?;
        Ok((keyframe.wire_bytes() as u64, keyframe.samples, Picture::Segments(stack)))
    }
}
