//! What makes images and keyframes: a graphics processor where there is one, the processor where not, and wherever that one fails.
//!
//! Invariant: whatever becomes of a graphics processor, what was asked for is made.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rayon::ThreadPool;
use visapult_render::{Gpu, GpuError, GpuKind, GpuVolume, Volume};

use crate::error::PipelineError;

/// What is asked for to make images and keyframes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// A graphics processor where there is one.
    #[default]
    Auto,
    /// The processor.
    Cpu,
    /// A graphics processor.
    Gpu,
    /// A driver that stands in for one on the processor: to try out what needs one.
    Software,
}

/// A graphics processor that steps are given to, opened when the first is.
#[derive(Clone)]
pub(crate) struct SharedGpu(Arc<Shared>);

struct Shared {
    gpu: OnceLock<Option<Gpu>>,
    /// Whether it was said that it fails.
    told: AtomicBool,
}

impl SharedGpu {
    /// What `device` names.
    ///
    /// # Errors
    /// [`PipelineError::Option`] if that is a graphics processor, and there is none.
    pub(crate) fn of(device: Device) -> Result<Self, PipelineError> {
        match device {
            Device::Auto => Ok(Self::over(OnceLock::new())),
            Device::Cpu => Ok(Self::processor()),
            Device::Gpu => Ok(Self::over(OnceLock::from(Some(open(GpuKind::Hardware)?)))),
            Device::Software => Ok(Self::over(OnceLock::from(Some(open(GpuKind::Software)?)))),
        }
    }

    /// None: the processor does all.
    pub(crate) fn processor() -> Self {
        Self::over(OnceLock::from(None))
    }

    fn over(gpu: OnceLock<Option<Gpu>>) -> Self {
        Self(Arc::new(Shared { gpu, told: AtomicBool::new(false) }))
    }

    fn get(&self) -> Option<&Gpu> {
        let look = || match Gpu::open(GpuKind::Hardware) {
            Ok(gpu) => Some(gpu),
            Err(cause) => {
                if !matches!(cause, GpuError::Missing(_)) {
                    self.tell(&cause);
                }
                None
            }
        };
        self.0.gpu.get_or_init(look).as_ref().filter(|gpu| !gpu.is_lost())
    }

    fn tell(&self, cause: &GpuError) {
        if !self.0.told.swap(true, Ordering::Relaxed) {
            tracing::warn!("{cause}; the processor does it");
        }
    }
}

fn open(kind: GpuKind) -> Result<Gpu, PipelineError> {
    Gpu::open(kind).map_err(|cause| PipelineError::Option(cause.to_string()))
}

/// What makes pictures of one step.
pub(crate) struct StepDevice {
    gpu: SharedGpu,
    /// The step in the graphics processor's memory, and how long that took; none where it did not get there.
    uploaded: OnceLock<Option<(GpuVolume, Duration)>>,
    /// It has failed on this step.
    failed: AtomicBool,
}

impl StepDevice {
    pub(crate) fn new(gpu: SharedGpu) -> Self {
        Self { gpu, uploaded: OnceLock::new(), failed: AtomicBool::new(false) }
    }

    /// What `on_gpu` makes, or `on_cpu` where there is no graphics processor or it fails.
    pub(crate) fn make<T: Send>(
        &self,
        volume: &Volume,
        pool: &ThreadPool,
        on_gpu: impl FnOnce(&GpuVolume) -> Result<T, GpuError> + Send,
        on_cpu: impl FnOnce() -> T + Send,
    ) -> T {
        // Not on a thread of the pool: whoever comes second waits for the first.
        let uploaded = self.uploaded(volume);
        pool.install(|| {
            let made = uploaded.and_then(|there| on_gpu(there).map_err(|cause| self.fail(&cause)).ok());
            made.unwrap_or_else(on_cpu)
        })
    }

    /// Copies the step to the graphics processor, if any, unless it is there; gives the seconds that took.
    pub(crate) fn upload_s(&self, volume: &Volume) -> f64 {
        self.uploaded(volume);
        self.uploaded.get().and_then(Option::as_ref).map_or(0.0, |(_, took)| took.as_secs_f64())
    }

    /// The name of the graphics processor that has the step and has not failed.
    pub(crate) fn name(&self) -> Option<&str> {
        self.uploaded
            .get()?
            .as_ref()
            .filter(|_| !self.failed.load(Ordering::Relaxed))
            .map(|(there, _)| there.gpu().name())
    }

    fn uploaded(&self, volume: &Volume) -> Option<&GpuVolume> {
        let gpu = self.gpu.get()?;
        let upload = || {
            let started = Instant::now();
            let uploaded = gpu.upload(volume).map_err(|cause| self.gpu.tell(&cause)).ok()?;
            Some((uploaded, started.elapsed()))
        };
        let there = self.uploaded.get_or_init(upload).as_ref()?;
        (!self.failed.load(Ordering::Relaxed)).then_some(&there.0)
    }

    fn fail(&self, cause: &GpuError) {
        self.failed.store(true, Ordering::Relaxed);
        self.gpu.tell(cause);
    }
}
