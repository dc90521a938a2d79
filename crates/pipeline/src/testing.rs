//! What tests begin with: a step, a view of it, other views.

use std::convert::Infallible;

use rayon::ThreadPool;
use visapult_render::{Camera, Pyramid, TransferFunction, Volume};
use visapult_volume::{Grid, ValueRange};

use crate::defaults::Defaults;
use crate::device::{SharedGpu, StepDevice};
use crate::keyframes::Keyframes;
use crate::statistics::count;
use crate::step_store::{LoadedStep, StepKey};
use crate::wire::{ProxyChoice, View};

/// A small ramp.
pub(crate) fn step() -> LoadedStep {
    let values = (0..32 * 32 * 32).map(|i| (i % 32) as f32 / 31.0).collect();
    let volume = Volume::whole(Grid::of_size([32; 3]), values).unwrap();
    let range = ValueRange { lo: 0.0, hi: 1.0 };
    let counted = |over| Ok::<_, Infallible>(count(volume.blocks(), over));
    let (defaults, counts) = Defaults::of_file(None, Some(range), counted).unwrap();
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
pub(crate) fn elsewhere() -> [View; 5] {
    let camera = Camera::default();
    let with = |camera: Camera| View { camera, ..view() };
    [
        with(camera.turned(25.0)),
        with(Camera { distance: 2.0, ..camera }),
        with(Camera { target: [0.0, 0.4, 0.0], ..camera }),
        with(Camera { fov_deg: 15.0, ..camera }),
        View { viewport: [320, 480], ..view() },
    ]
}
