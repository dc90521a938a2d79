//! What all PEs make of a step together, wherever they are: bricks, keyframes, exact images.

use rayon::ThreadPool;
use rayon::prelude::*;
use visapult_render::{
    Camera, EncodedBrick, KeyView, LevelCoding, Rendering, ScalarKeyframe, SegmentKey, SegmentKeyframe, SlabKeyframe,
    TransferFunction, encode_level, make_scalar_slabs, make_segments, make_slabs, render_exact,
};
use visapult_trace::Stage;

use crate::crew::all_bricks;
use crate::stages::at_pe;
use crate::step_store::LoadedStep;

/// A level of bricks of all PEs, by PE.
pub(crate) fn bricks_of(step: &LoadedStep, coding: LevelCoding, pool: &ThreadPool) -> Vec<(usize, Vec<EncodedBrick>)> {
    let asked = step.crew.as_ref().map(|crew| crew.bricks(coding));
    let own = pool.install(|| encode_own(step, coding));
    all_bricks(step.volume.first(), own, asked)
}

/// A level of bricks of the PEs of this process.
pub(crate) fn encode_own(step: &LoadedStep, coding: LevelCoding) -> Vec<Vec<EncodedBrick>> {
    let first = step.volume.first();
    let encode = |(i, (block, pyramid))| {
        let bytes = |bricks: &Vec<EncodedBrick>| bricks.iter().map(|brick| brick.payload.len()).sum();
        let make = || encode_level(block, pyramid, coding);
        at_pe(Stage::Encode, first + i, step.key.step, make, bytes)
    };
    step.volume.blocks().par_iter().zip(&step.pyramids).enumerate().map(encode).collect()
}

/// The slabs of all PEs.
pub(crate) fn slabs_of(
    step: &LoadedStep,
    key: &KeyView,
    transfer_function: &TransferFunction,
    sample_step: f64,
    pool: &ThreadPool,
) -> SlabKeyframe {
    match &step.crew {
        Some(crew) => crew.slabs(&step.volume, key, transfer_function, sample_step, pool),
        None => step.device.make(
            &step.volume,
            pool,
            |gpu| gpu.make_slabs(&step.volume, key, transfer_function, sample_step),
            || make_slabs(&step.volume, key, transfer_function, sample_step),
        ),
    }
}

/// The segments of all PEs.
pub(crate) fn segments_of(
    step: &LoadedStep,
    key: &SegmentKey,
    transfer_function: &TransferFunction,
    pool: &ThreadPool,
) -> SegmentKeyframe {
    let range = SegmentKeyframe::values_kept(step.statistics.range, transfer_function.range);
    match &step.crew {
        Some(crew) => crew.segments(&step.volume, key, transfer_function, range, pool),
        None => step.device.make(
            &step.volume,
            pool,
            |gpu| gpu.make_segments(&step.volume, key, transfer_function, range),
            || make_segments(&step.volume, key, transfer_function, range),
        ),
    }
}

/// The scalar slabs of all PEs. Values outside the `range` of a transfer function, which all look alike, are at its ends.
pub(crate) fn scalar_slabs_of(
    step: &LoadedStep,
    key: &KeyView,
    range: Option<[f32; 2]>,
    pool: &ThreadPool,
) -> ScalarKeyframe {
    let range = ScalarKeyframe::values_kept(step.statistics.range, range);
    match &step.crew {
        Some(crew) => crew.scalar_slabs(&step.volume, key, range, pool),
        None => step.device.make(
            &step.volume,
            pool,
            |gpu| gpu.make_scalar_slabs(&step.volume, key, range),
            || make_scalar_slabs(&step.volume, key, range),
        ),
    }
}

/// The exact image of all PEs.
pub(crate) fn image_of(
    step: &LoadedStep,
    camera: &Camera,
    transfer_function: &TransferFunction,
    size: [usize; 2],
    sample_step: f64,
    pool: &ThreadPool,
) -> Rendering {
    match &step.crew {
        Some(crew) => crew.image(&step.volume, camera, transfer_function, size, sample_step, pool),
        None => step.device.make(
            &step.volume,
            pool,
            |gpu| gpu.render_exact(camera, transfer_function, size[0], size[1], sample_step),
            || render_exact(&step.volume, camera, transfer_function, size[0], size[1], sample_step),
        ),
    }
}

/// The transfer function with its range filled in: that may be left to the data.
pub(crate) fn resolved(step: &LoadedStep, transfer_function: &TransferFunction) -> TransferFunction {
    let mut resolved = transfer_function.clone();
    resolved.range = resolved.range.or(step.defaults.data_range.map(|r| [r.lo, r.hi]));
    resolved
}
