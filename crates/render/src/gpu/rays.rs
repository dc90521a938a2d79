//! The rays of a view as kernels see them.

use bytemuck::{Pod, Zeroable};

use crate::View;
use crate::volume::Placement;
use crate::world_box::WorldBox;

/// `Rays` of `scene.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct RaysTold {
    pub(super) origin: [f32; 3],
    pub(super) near: f32,
    pub(super) forward: [f32; 3],
    pub(super) distance: f32,
    pub(super) right: [f32; 3],
    pub(super) count: f32,
    pub(super) up: [f32; 3],
    pub(super) per_slab: u32,
    pub(super) box_lo: [f32; 3],
    pub(super) lowest: f32,
    pub(super) box_hi: [f32; 3],
    pub(super) unused: f32,
    pub(super) scale: [f32; 3],
    pub(super) per_value: f32,
    pub(super) offset: [f32; 3],
    pub(super) opaque: f32,
    pub(super) first: [u32; 2],
    pub(super) size: [u32; 2],
    pub(super) picture: [f32; 2],
    pub(super) distances: [u32; 2],
}

impl RaysTold {
    /// The rays of `view` from the plane `near` before the eye on, cut to the box `passed`, for the pixels of `size` from `first` on.
    ///
    /// What single precision cannot hold, the way from a distant eye to the box, is left out: places count from that plane.
    pub(super) fn new(
        view: &View,
        near: f64,
        passed: &WorldBox,
        placement: &Placement,
        first: [usize; 2],
        size: [usize; 2],
    ) -> Self {
        let single = |values: [f64; 3]| values.map(|value| value as f32);
        Self {
            origin: std::array::from_fn(|axis| (view.eye[axis] + near * view.forward[axis]) as f32),
            near: near as f32,
            forward: single(view.forward),
            right: single(view.right.map(|c| c * view.half_width)),
            up: single(view.up.map(|c| c * view.half_height)),
            box_lo: single(passed.lo),
            box_hi: single(passed.hi),
            scale: single(placement.scale),
            offset: single(placement.offset),
            first: first.map(|n| n as u32),
            size: size.map(|n| n as u32),
            picture: [view.width as f32, view.height as f32],
            ..Self::zeroed()
        }
    }
}
