//! The graphics processor: what the processor makes of a volume, made by kernels of the same equations.
//!
//! Blocks are cut into chunks that fit a buffer; each ray goes on through a chunk from what those before it have left. The table of the transfer
//! function is that of the processor; positions are single precision, from the near end of the box on.
//! Invariant: no failure of a device or driver is more than a [`GpuError`].

mod chunks;
mod device;
mod exact;
mod layers;
mod lines;
mod rays;
mod visible;

pub use chunks::GpuVolume;
pub use device::{Gpu, GpuError, GpuKind};
pub use layers::SlabStages;
