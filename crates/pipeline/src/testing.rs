//! What tests begin with: a step, a view of it, other views.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use rayon::ThreadPool;
use visapult_render::{Camera, Pyramid, TransferFunction, Volume};
use visapult_volume::{Box3, FieldInfo, Grid, ScalarType, StepSpan, ValueRange};
use visapult_volume_io::{ReadRequest, Scale, Source, SourceError, SourceInfo};

use crate::defaults::Defaults;
use crate::device::{SharedGpu, StepDevice};
use crate::keyframes::Keyframes;
use crate::lock::lock;
use crate::statistics::count;
use crate::step_store::{LoadedStep, StepKey};
use crate::wire::{ProxyChoice, View};

/// A small ramp.
pub(crate) fn step() -> LoadedStep {
    let values = (0..32 * 32 * 32).map(|i| (i % 32) as f32 / 31.0).collect();
    let volume = Volume::whole(Grid::of_size([32; 3]), values).unwrap();
    let range = ValueRange { lo: 0.0, hi: 1.0 };
    let counted = |over| Ok::<_, Infallible>(count(volume.blocks(), over));
    let (defaults, counts) = Defaults::of_file(Scale::Linear, None, Some(range), counted).unwrap();
    LoadedStep {
        key: StepKey { field: 0, step: 0 },
        time: f64::NAN,
        pyramids: vec![Pyramid::of(&volume.blocks()[0], 1)],
        statistics: counts.of_step(Some(range)),
        defaults,
        keyframes: Keyframes::default(),
        device: StepDevice::new(SharedGpu::processor()),
        crew: None,
        volume,
    }
}

/// One thread: whoever waits on it for another's work waits for ever.
pub(crate) fn pool() -> ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap()
}

/// A view at rest of the newest step's first field.
pub(crate) fn view() -> View {
    View {
        sequence: 1,
        camera: Camera::default(),
        viewport: [640, 480],
        field: 0,
        step: None,
        moving: false,
        proxy: ProxyChoice::Auto,
        transfer_function: TransferFunction::default_for(ValueRange { lo: 0.0, hi: 1.0 }),
    }
}

/// Views that show quite another picture.
pub(crate) fn elsewhere() -> [View; 7] {
    let camera = Camera::default();
    let with = |camera: Camera| View { camera, ..view() };
    [
        with(camera.turned(25.0)),
        with(Camera { distance: 2.0, ..camera }),
        with(Camera { target: [0.0, 0.4, 0.0], ..camera }),
        with(Camera { fov_deg: 15.0, ..camera }),
        with(Camera { stretch: [1.0, 1.0, 2.0], ..camera }),
        with(Camera { crop: [[0.0, 1.0], [0.12, 1.0], [0.0, 1.0]], ..camera }),
        View { viewport: [320, 480], ..view() },
    ]
}

/// A file whose value at a sample is the sum of its place along the axes, in samples of its finest level, and that tells how much of it was read.
pub(crate) struct Ramp {
    info: SourceInfo,
    grain: [usize; 3],
    read: AtomicUsize,
    steps: u64,
    /// Boxes of at least so many samples are given once this is opened.
    held: Option<(usize, Gate)>,
}

/// Lets nobody through until it is opened.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    pub(crate) fn open(&self) {
        *lock(&self.0.0) = true;
        self.0.1.notify_all();
    }

    fn pass(&self) {
        drop(self.0.1.wait_while(lock(&self.0.0), |open| !*open).unwrap());
    }
}

impl Ramp {
    /// Of levels of these sizes, stored in chunks of `grain`.
    pub(crate) fn of(levels: &[[usize; 3]], grain: [usize; 3]) -> Self {
        let field =
            FieldInfo { name: "f".to_owned(), unit: String::new(), scalar_type: ScalarType::F32, declared_range: None };
        let info = SourceInfo {
            name: "ramp".to_owned(),
            format: String::new(),
            levels: levels.iter().map(|size| Grid::of_size(*size)).collect(),
            fields: vec![field],
            times: Vec::new(),
            time_unit: String::new(),
            calendar: String::new(),
            along: Default::default(),
            live: false,
        };
        Self { info, grain, read: AtomicUsize::new(0), steps: 1, held: None }
    }

    /// Of so many steps; each is larger than the one before by a thousand.
    pub(crate) fn of_steps(self, steps: u64) -> Self {
        Self { steps, ..self }
    }

    /// That counts as large, and gives boxes of `least` samples and more only when `gate` is opened.
    pub(crate) fn held(self, least: usize, gate: &Gate) -> Self {
        Self { held: Some((least, gate.clone())), ..self }
    }

    pub(crate) fn read_samples(&self) -> usize {
        self.read.load(Ordering::Relaxed)
    }
}

impl Source for Ramp {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn steps(&self) -> StepSpan {
        StepSpan { first: 0, last: self.steps - 1 }
    }

    fn grain(&self, _field: usize, _level: usize) -> [usize; 3] {
        self.grain
    }

    fn samples_read(&self) -> usize {
        if self.held.is_some() { usize::MAX } else { self.info.grid().sample_count() }
    }

    fn read(&self, request: &ReadRequest, out: &mut [f32]) -> Result<(), SourceError> {
        if let Some((least, gate)) = &self.held
            && out.len() >= *least
        {
            gate.pass();
        }
        self.read.fetch_add(out.len(), Ordering::Relaxed);
        let [finest, level] = [0, request.level].map(|level| self.info.levels[level].size);
        let Box3 { lo, .. } = request.bounds;
        let [nx, ny, _] = request.bounds.size();
        for (i, out) in out.iter_mut().enumerate() {
            let at = [i % nx, i / nx % ny, i / (nx * ny)];
            let along = |axis: usize| {
                let larger = finest[axis] as f32 / level[axis] as f32;
                ((lo[axis] + at[axis]) as f32 + 0.5) * larger - 0.5
            };
            *out = (0..3).map(along).sum::<f32>() + 1000.0 * request.step as f32;
        }
        Ok(())
    }
}
