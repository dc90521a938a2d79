//! Linear interpolation between samples along each axis, held beyond the outermost ones.

use visapult_volume::{Block, Box3};

/// Of `count` samples the one before `at` that has another one behind it, and how far `at` is on the way there.
#[inline]
pub(crate) fn cell(at: f64, count: usize) -> (usize, f32) {
    let held = at.clamp(0.0, (count - 1) as f64);
    let cell = (held as usize).min(count.saturating_sub(2));
    (cell, (held - cell as f64) as f32)
}

/// The texel to the upper left of a place in texels with their centres at whole numbers, and the weights of those to the right and below;
/// `None` beside all.
#[inline]
pub(crate) fn texel_cell(at: [f64; 2], size: [usize; 2]) -> Option<([usize; 2], [f32; 2])> {
    if !(0..2).all(|axis| at[axis] >= -0.5 && at[axis] <= size[axis] as f64 - 0.5) {
        return None;
    }
    let [(x, across), (y, down)] = [0, 1].map(|axis| cell(at[axis], size[axis]));
    Some(([x, y], [across, down]))
}

/// Between four values, x fastest.
#[inline]
pub(crate) fn bilinear([a, b, c, d]: [f32; 4], weight: [f32; 2]) -> f32 {
    lerp(lerp(a, b, weight[0]), lerp(c, d, weight[0]), weight[1])
}

/// Between eight values, x fastest.
#[inline]
pub(crate) fn trilinear([a, b, c, d, e, f, g, h]: [f32; 8], [x, y, z]: [f32; 3]) -> f32 {
    lerp(bilinear([a, b, c, d], [x, y]), bilinear([e, f, g, h], [x, y]), z)
}

#[inline]
fn lerp(a: f32, b: f32, share: f32) -> f32 {
    a + share * (b - a)
}

/// Trilinear interpolation at sample coordinates of the grid of `bounds`.
///
/// Weights come from the grid's coordinates, not the block's: blocks that share a place agree to the bit.
pub(crate) fn interpolate(block: &Block, bounds: &Box3, at: [f64; 3]) -> f32 {
    let size = block.stored.size();
    let (mut start, mut stride) = (0, 1);
    let (mut weight, mut step) = ([0.0_f32; 3], [0; 3]);
    for axis in 0..3 {
        let (cell, share) = cell(at[axis], bounds.hi[axis]);
        weight[axis] = share;
        step[axis] = if bounds.hi[axis] > 1 { stride } else { 0 };
        start += (cell - block.stored.lo[axis]) * stride;
        stride *= size[axis];
    }
    let [x, y, z] = step;
    let v = &block.values[start..];
    trilinear([v[0], v[x], v[y], v[x + y], v[z], v[x + z], v[y + z], v[x + y + z]], weight)
}
