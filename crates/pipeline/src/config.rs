//! The configuration: one structure per part, the same however the part is deployed.

use std::sync::Arc;

use visapult_render::{Camera, CodeBits, TransferFunction};

use crate::crew::Crew;
use crate::device::Device;

/// Longest edge of an image, in pixels.
pub const MOST_EDGE: usize = 16_384;

/// How a source is split, loaded and rendered.
#[derive(Clone, Debug)]
pub struct BackEndConfig {
    /// What to open: see `visapult_volume_io::open`.
    pub source: String,
    /// Number of PEs the grid is split over.
    pub pes: usize,
    /// Rendering threads; 0 takes every core.
    pub threads: usize,
    /// What makes images and keyframes. Where there are other processes, that is the processor.
    pub device: Device,
    /// The other processes, where there are any.
    pub crew: Option<Arc<Crew>>,
}

/// Which proxy `render` goes through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RenderProxy {
    /// The exact image.
    Exact,
    /// Bricks of a level, 0 being the full resolution.
    Bricks {
        /// Level of detail.
        level: u32,
        /// Width of their codes.
        bits: CodeBits,
    },
    /// Slabs of a key view.
    Slabs {
        /// Azimuth and elevation of the key view, in degrees.
        key_deg: [f64; 2],
        /// Number of slabs.
        slabs: u16,
    },
    /// Scalar slabs of a key view.
    ScalarSlabs {
        /// Azimuth and elevation of the key view, in degrees.
        key_deg: [f64; 2],
        /// Number of slabs; as the grid needs where none is given.
        slabs: Option<u16>,
    },
    /// Segments of a key view.
    Segments {
        /// Azimuth and elevation of the key view, in degrees.
        key_deg: [f64; 2],
        /// Most segments of a ray.
        segments: u16,
    },
    /// Whichever comes closest to the exact image among those that fit.
    Auto {
        /// Azimuth and elevation of the key view, in degrees.
        key_deg: [f64; 2],
        /// Most bytes on the wire.
        budget: u64,
    },
}

/// What `visapult render` does.
#[derive(Clone, Debug)]
pub struct RenderConfig {
    /// The source and its PEs.
    pub back_end: BackEndConfig,
    /// Field by name; the first where none is given.
    pub field: Option<String>,
    /// Step; the first where none is given.
    pub step: Option<u64>,
    /// Pixels across and down.
    pub size: [usize; 2],
    /// Where the eye is.
    pub camera: Camera,
    /// Colours and opacities; the field's default where none is given.
    pub transfer_function: Option<TransferFunction>,
    /// Sampling step in units of the smallest sample spacing.
    pub sample_step: f64,
    /// Exact, or through which proxy.
    pub proxy: RenderProxy,
    /// Most bytes of the field that are held: a step that takes more is read block by block. As many as there are where none is given.
    pub memory: Option<u64>,
}

impl RenderConfig {
    /// Width over height of the image.
    pub(crate) fn aspect(&self) -> f64 {
        let [width, height] = self.size;
        width as f64 / height as f64
    }
}
