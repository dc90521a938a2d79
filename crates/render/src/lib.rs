//! From blocks of scalars to images and proxies: camera, transfer function, exact ray casting, bricks, slabs, scalar slabs, segments.
//!
//! Owns no file, no socket and no thread pool: rendering runs in the caller's rayon pool.
//! The equations are those of `docs/src/rendering.md`; [`mod@reference`] follows them literally.

mod bricks;
mod camera;
mod codec;
mod color_map;
mod cpu;
#[cfg(test)]
mod cropped;
mod estimate;
mod gpu;
mod image;
mod integrals;
mod interpolation;
mod kept_range;
mod key_rays;
mod macrocells;
#[cfg(test)]
mod optical_depth;
mod paraview;
mod parts;
mod pick;
mod quality;
pub mod reference;
mod scalar_slabs;
mod segments;
mod slabs;
mod still;
#[cfg(test)]
mod stretched;
#[cfg(test)]
mod testing;
mod transfer_function;
mod volume;
mod world_box;

pub use bricks::{
    BrickError, CodeBits, EncodedBrick, LevelCoding, MOST_ALONG_BRICKS, Pyramid, encode_level, finest_brick_level,
    volume_of_bricks,
};
pub use camera::{Camera, CameraError, Up, View};
pub use codec::{CodecError, PlaneDecoder, PlaneEncoder};
pub use color_map::ColorMap;
pub use cpu::TileRect;
pub use estimate::{Form, Prediction, Predictor, Subject};
pub use gpu::{Gpu, GpuError, GpuKind, GpuVolume, SlabStages};
pub use image::{Image, PngError};
pub use kept_range::bricks_keep;
pub use parts::{Patch, composite_places, image_of_patches, is_run, render_runs, runs};
pub use pick::{Picked, RayPart, ray_parts, samples_around};
pub use quality::{Quality, SizeMismatch};
pub use scalar_slabs::{
    FacePart, FaceTile, ScalarKeyframe, ScalarStack, ScalarStackError, fitted_key, join_scalar_slabs,
    make_scalar_slabs, scalar_slab_parts, slab_counts,
};
pub use segments::{
    Knot, SegmentGeometry, SegmentKey, SegmentKeyframe, SegmentStack, SegmentStackError, SegmentTile, SegmentTileError,
    join_segments, make_segments,
};
pub use slabs::{
    KeyView, SlabCaster, SlabGeometry, SlabKeyframe, SlabStack, SlabStackError, SlabTile, TILE_EDGE, TexelPlanes,
    TileError, composite_slabs, make_slabs, owners_by_place, visible_depths,
};
pub use still::{Still, StillTile};
pub use transfer_function::{TransferFunction, TransferFunctionError};
pub use volume::{Volume, VolumeError};

/// What rendering makes.
#[derive(Clone, Debug)]
pub struct Rendering {
    /// The image, associated alpha.
    pub image: Image,
    /// Samples taken along all rays.
    pub samples: u64,
}

/// Renders `volume` by casting one ray per pixel.
///
/// `sample_step` is in units of the smallest distance between neighbouring samples. The range of the transfer function,
/// where it has none, is that of the volume. A volume without finite values gives a transparent image.
pub fn render_exact(
    volume: &Volume,
    camera: &Camera,
    transfer_function: &TransferFunction,
    width: usize,
    height: usize,
    sample_step: f64,
) -> Rendering {
    cpu::Caster::new(volume, camera, transfer_function, sample_step).render(width, height)
}
