//! Packets of rays, and which samples of each ray belong to a block.
//!
//! Sample positions are those of the whole grid: sample k of a ray lies at `t_in + (k + 1/2) dt`, whoever takes it. Where
//! a plane cuts a ray is computed from the ray and the plane alone, so that the boxes on its two sides agree to the
//! sample: none is taken twice, none is lost.

use visapult_volume::{Box3, Grid};

use super::lanes::LANES;
use crate::camera::{View, dot, intersect_box};

/// Pixels along each edge of a packet.
pub(crate) const PACKET_EDGE: usize = 4;

/// Sixteen rays through 4 x 4 neighbouring pixels, in double precision, ray by ray within an axis.
pub(crate) struct Rays {
    /// Number of samples of each ray; 0 for rays that miss the box and for pixels outside the image.
    count: [f64; LANES],
    /// Sample coordinates of sample 0.
    first: [[f64; LANES]; 3],
    /// Change of the sample coordinates from one sample to the next.
    step: [[f64; LANES]; 3],
    /// Distance of sample 0 from the eye, and between samples.
    t_first: [f64; LANES],
    dt: f64,
    /// World directions.
    direction: [[f64; LANES]; 3],
}

/// Half-open ranges of sample numbers, one per ray; empty where `from >= to`.
#[derive(Clone, Copy)]
pub(crate) struct SampleRange {
    pub(crate) from: [f64; LANES],
    pub(crate) to: [f64; LANES],
}

/// What stays the same for all packets of a view.
pub(crate) struct RaySetup<'a> {
    pub(crate) view: &'a View,
    pub(crate) edges: [f64; 3],
    pub(crate) scale: [f64; 3],
    pub(crate) offset: [f64; 3],
    pub(crate) dt: f64,
}

impl<'a> RaySetup<'a> {
    pub(crate) fn new(view: &'a View, grid: &Grid, dt: f64) -> Self {
        let (scale, offset) = grid.sample_from_world();
        Self { view, edges: grid.world_edges(), scale, offset, dt }
    }

    /// The rays of the pixels from column `x` and row `y` on; those past `end` have no samples.
    #[inline(always)]
    pub(crate) fn packet(&self, x: usize, y: usize, end: [usize; 2]) -> Rays {
        let mut rays = Rays {
            count: [0.0; LANES],
            first: [[0.0; LANES]; 3],
            step: [[0.0; LANES]; 3],
            t_first: [0.0; LANES],
            dt: self.dt,
            direction: [[0.0; LANES]; 3],
        };
        for lane in 0..LANES {
            let (column, row) = (x + lane % PACKET_EDGE, y + lane / PACKET_EDGE);
            if column >= end[0] || row >= end[1] {
                continue;
            }
            let direction = self.view.direction(column as f64 + 0.5, row as f64 + 0.5);
            let Some((t_in, t_out)) = intersect_box(self.view.eye, direction, self.edges) else { continue };
            let t_first = t_in + 0.5 * self.dt;
            rays.count[lane] = ((t_out - t_first) / self.dt).ceil().max(0.0);
            rays.t_first[lane] = t_first;
            for (axis, &component) in direction.iter().enumerate() {
                rays.direction[axis][lane] = component;
                let world = self.view.eye[axis] + t_first * component;
                rays.first[axis][lane] = world * self.scale[axis] + self.offset[axis];
                rays.step[axis][lane] = component * self.dt * self.scale[axis];
            }
        }
        rays
    }
}

impl Rays {
    /// Whether no ray has a sample.
    pub(crate) fn is_empty(&self) -> bool {
        self.count.iter().all(|&count| count == 0.0)
    }

    /// All samples.
    pub(crate) fn all(&self) -> SampleRange {
        SampleRange { from: [0.0; LANES], to: self.count }
    }

    /// The samples of `range` in the owned box of a block; the grid's outer faces bound nothing.
    #[inline(always)]
    pub(crate) fn in_box(&self, mut range: SampleRange, owned: &Box3, bounds: &Box3) -> SampleRange {
        for axis in 0..3 {
            if owned.lo[axis] > bounds.lo[axis] {
                self.keep_above(&mut range, &self.first[axis], &self.step[axis], owned.lo[axis] as f64);
            }
            if owned.hi[axis] < bounds.hi[axis] {
                self.keep_below(&mut range, &self.first[axis], &self.step[axis], owned.hi[axis] as f64);
            }
        }
        range
    }

    /// Least and largest distance from the eye along `normal` of the samples of `range`; `None` where there are none.
    #[inline(always)]
    pub(crate) fn depths(&self, range: &SampleRange, normal: [f64; 3]) -> Option<[f64; 2]> {
        let (mut near, mut far) = (f64::INFINITY, f64::NEG_INFINITY);
        for lane in 0..LANES {
            if range.from[lane] < range.to[lane] {
                let cosine = dot(self.direction_of(lane), normal);
                for k in [range.from[lane], range.to[lane] - 1.0] {
                    let depth = (self.t_first[lane] + k * self.dt) * cosine;
                    (near, far) = (near.min(depth), far.max(depth));
                }
            }
        }
        (near <= far).then_some([near, far])
    }

    #[inline(always)]
    fn direction_of(&self, lane: usize) -> [f64; 3] {
        [self.direction[0][lane], self.direction[1][lane], self.direction[2][lane]]
    }

    /// The samples of `range` whose distance from the eye along `normal` is at least `near` and below `far`.
    #[inline(always)]
    pub(crate) fn between(&self, mut range: SampleRange, normal: [f64; 3], near: f64, far: f64) -> SampleRange {
        let (mut first, mut step) = ([0.0; LANES], [0.0; LANES]);
        for lane in 0..LANES {
            let cosine = dot(self.direction_of(lane), normal);
            first[lane] = self.t_first[lane] * cosine;
            step[lane] = self.dt * cosine;
        }
        self.keep_above(&mut range, &first, &step, near);
        self.keep_below(&mut range, &first, &step, far);
        range
    }

    /// Keeps the samples k with `first + k step >= plane`.
    #[inline(always)]
    fn keep_above(&self, range: &mut SampleRange, first: &[f64; LANES], step: &[f64; LANES], plane: f64) {
        for lane in 0..LANES {
            let crossing = (plane - first[lane]) / step[lane];
            if step[lane] > 0.0 {
                range.from[lane] = range.from[lane].max(crossing.ceil());
            } else if step[lane] < 0.0 {
                range.to[lane] = range.to[lane].min(crossing.floor() + 1.0);
            } else if first[lane] < plane {
                range.to[lane] = 0.0;
            }
        }
    }

    /// Keeps the samples k with `first + k step < plane`.
    #[inline(always)]
    fn keep_below(&self, range: &mut SampleRange, first: &[f64; LANES], step: &[f64; LANES], plane: f64) {
        for lane in 0..LANES {
            let crossing = (plane - first[lane]) / step[lane];
            if step[lane] > 0.0 {
                range.to[lane] = range.to[lane].min(crossing.ceil());
            } else if step[lane] < 0.0 {
                range.from[lane] = range.from[lane].max(crossing.floor() + 1.0);
            } else if first[lane] >= plane {
                range.to[lane] = 0.0;
            }
        }
    }

    /// The samples of `range` as single-precision lines through a block that starts at sample `origin`, or `None` where
    /// no ray has any.
    #[inline(always)]
    pub(crate) fn lines(&self, range: &SampleRange, origin: [usize; 3]) -> Option<Lines> {
        let mut lines = Lines {
            count: [0.0; LANES],
            first: [[0.0; LANES]; 3],
            step: [[0.0; LANES]; 3],
            longest: 0.0,
            samples: 0.0,
        };
        for lane in 0..LANES {
            let count = (range.to[lane] - range.from[lane]).max(0.0) as f32;
            lines.count[lane] = count;
            lines.longest = lines.longest.max(count);
            lines.samples += count;
        }
        if lines.longest == 0.0 {
            return None;
        }
        for (axis, &origin) in origin.iter().enumerate() {
            for lane in 0..LANES {
                let first = self.first[axis][lane] + range.from[lane] * self.step[axis][lane] - origin as f64;
                lines.first[axis][lane] = first as f32;
                lines.step[axis][lane] = self.step[axis][lane] as f32;
            }
        }
        Some(lines)
    }
}

/// The samples that sixteen rays take in a block: `first + j * step` for `0 <= j < count`, in the block's own sample
/// coordinates.
pub(crate) struct Lines {
    pub(crate) count: [f32; LANES],
    pub(crate) first: [[f32; LANES]; 3],
    pub(crate) step: [[f32; LANES]; 3],
    /// Largest count.
    pub(crate) longest: f32,
    /// Sum of the counts.
    pub(crate) samples: f32,
}
