//! Packets of rays, and which samples of each ray belong to a block.
//!
//! Sample positions are those of the whole grid, whoever takes them. Where a plane cuts a ray is computed from the ray and
//! the plane alone, so that the boxes on its two sides agree to the sample: none is taken twice, none is lost.

use visapult_volume::Box3;

pub(crate) use super::lanes::LANES;
use crate::camera::{View, dot};
use crate::volume::{Frame, Placement};
use crate::world_box::WorldBox;

/// Pixels along each edge of a packet.
pub(crate) const PACKET_EDGE: usize = 4;

/// Sixteen rays through 4 x 4 neighbouring pixels, in double precision; sample k lies at `first + k * step`.
pub(crate) struct Rays {
    /// The samples in what is shown of the grid's box; none for rays that miss it and for pixels outside the image.
    pub(crate) range: SampleRange,
    /// Sample coordinates of sample 0, by axis.
    pub(crate) first: [[f64; LANES]; 3],
    /// Change of the sample coordinates from one sample to the next, by axis.
    pub(crate) step: [[f64; LANES]; 3],
}

/// Half-open ranges of sample numbers, one per ray; empty where `from >= to`.
#[derive(Clone, Copy)]
pub(crate) struct SampleRange {
    pub(crate) from: [f64; LANES],
    pub(crate) to: [f64; LANES],
}

/// What stays the same for all packets of a view.
pub(crate) struct RaySetup<'a> {
    view: &'a View,
    placement: Placement,
    /// What of the grid's box is shown.
    shown: WorldBox,
}

/// The part of one ray in what is shown of the grid's box.
pub(crate) struct Chord {
    pub(crate) direction: [f64; 3],
    pub(crate) t_in: f64,
    pub(crate) t_out: f64,
}

impl<'a> RaySetup<'a> {
    /// For samples in `frame`.
    pub(crate) fn new(view: &'a View, frame: &Frame) -> Self {
        let placement = frame.placement(view.stretch);
        Self { view, placement, shown: view.shown(placement.edges) }
    }

    /// Sample coordinates of the eye.
    pub(crate) fn eye(&self) -> [f64; 3] {
        self.sample_at([0.0; 3], 0.0)
    }

    /// The part of the ray of a lane in what is shown of the grid's box, for the packet from column `x` and row `y` on; `None` for pixels
    /// past `end`.
    #[inline(always)]
    pub(crate) fn chord(&self, lane: usize, [x, y]: [usize; 2], end: [usize; 2]) -> Option<Chord> {
        let (column, row) = (x + lane % PACKET_EDGE, y + lane / PACKET_EDGE);
        if column >= end[0] || row >= end[1] {
            return None;
        }
        let direction = self.view.direction(column as f64 + 0.5, row as f64 + 0.5);
        let (t_in, t_out) = self.shown.passed(self.view.eye, direction)?;
        Some(Chord { direction, t_in, t_out })
    }

    /// Sample coordinates at distance `t` from the eye.
    #[inline(always)]
    pub(crate) fn sample_at(&self, direction: [f64; 3], t: f64) -> [f64; 3] {
        let Placement { scale, offset, .. } = &self.placement;
        std::array::from_fn(|axis| (self.view.eye[axis] + t * direction[axis]) * scale[axis] + offset[axis])
    }

    /// Rays with a sample at `t_in + (k + 1/2) dt` for every `k` below `t_out`.
    #[inline(always)]
    pub(crate) fn exact(&self, corner: [usize; 2], end: [usize; 2], dt: f64) -> Rays {
        let mut rays = Rays::none();
        for lane in 0..LANES {
            let Some(chord) = self.chord(lane, corner, end) else { continue };
            let t_first = chord.t_in + 0.5 * dt;
            rays.range.to[lane] = ((chord.t_out - t_first) / dt).ceil().max(0.0);
            self.set(&mut rays, lane, chord.direction, t_first, dt);
        }
        rays
    }

    /// Gives a ray samples from distance `t_first` from the eye on, `dt` apart.
    #[inline(always)]
    pub(crate) fn set(&self, rays: &mut Rays, lane: usize, direction: [f64; 3], t_first: f64, dt: f64) {
        let first = self.sample_at(direction, t_first);
        for axis in 0..3 {
            rays.first[axis][lane] = first[axis];
            rays.step[axis][lane] = direction[axis] * dt * self.placement.scale[axis];
        }
    }

    /// Cosine of the angle between a direction and `normal`.
    pub(crate) fn cosine(direction: [f64; 3], normal: [f64; 3]) -> f64 {
        dot(direction, normal)
    }
}

impl SampleRange {
    /// Whether no ray has a sample.
    pub(crate) fn is_empty(&self) -> bool {
        (0..LANES).all(|lane| self.from[lane] >= self.to[lane])
    }
}

impl Rays {
    /// Rays without samples.
    pub(crate) fn none() -> Self {
        let range = SampleRange { from: [0.0; LANES], to: [0.0; LANES] };
        Self { range, first: [[0.0; LANES]; 3], step: [[0.0; LANES]; 3] }
    }

    /// The samples in the owned box of a block; the grid's outer faces bound nothing.
    #[inline(always)]
    pub(crate) fn in_box(&self, owned: &Box3, bounds: &Box3) -> SampleRange {
        let mut range = self.range;
        for axis in 0..3 {
            if owned.lo[axis] > bounds.lo[axis] {
                self.keep_above(&mut range, axis, owned.lo[axis] as f64);
            }
            if owned.hi[axis] < bounds.hi[axis] {
                self.keep_below(&mut range, axis, owned.hi[axis] as f64);
            }
        }
        range
    }

    /// Keeps the samples whose coordinate along `axis` is at least `plane`.
    #[inline(always)]
    fn keep_above(&self, range: &mut SampleRange, axis: usize, plane: f64) {
        for lane in 0..LANES {
            let (first, step) = (self.first[axis][lane], self.step[axis][lane]);
            let crossing = (plane - first) / step;
            if step > 0.0 {
                range.from[lane] = range.from[lane].max(crossing.ceil());
            } else if step < 0.0 {
                range.to[lane] = range.to[lane].min(crossing.floor() + 1.0);
            } else if first < plane {
                range.to[lane] = 0.0;
            }
        }
    }

    /// Keeps the samples whose coordinate along `axis` is below `plane`.
    #[inline(always)]
    fn keep_below(&self, range: &mut SampleRange, axis: usize, plane: f64) {
        for lane in 0..LANES {
            let (first, step) = (self.first[axis][lane], self.step[axis][lane]);
            let crossing = (plane - first) / step;
            if step > 0.0 {
                range.to[lane] = range.to[lane].min(crossing.ceil());
            } else if step < 0.0 {
                range.from[lane] = range.from[lane].max(crossing.floor() + 1.0);
            } else if first >= plane {
                range.to[lane] = 0.0;
            }
        }
    }

    /// Single-precision lines through a block that starts at sample `origin`, counted from the first sample of each ray
    /// in `range`.
    #[inline(always)]
    pub(crate) fn lines(&self, range: &SampleRange, origin: [usize; 3]) -> Lines {
        let mut lines = Lines { count: [0.0; LANES], first: [[0.0; LANES]; 3], step: [[0.0; LANES]; 3] };
        for lane in 0..LANES {
            lines.count[lane] = (range.to[lane] - range.from[lane]).max(0.0) as f32;
        }
        for (axis, &origin) in origin.iter().enumerate() {
            for lane in 0..LANES {
                let first = self.first[axis][lane] + range.from[lane] * self.step[axis][lane] - origin as f64;
                lines.first[axis][lane] = first as f32;
                lines.step[axis][lane] = self.step[axis][lane] as f32;
            }
        }
        lines
    }
}

/// The samples that sixteen rays take in a block: `first + j * step` for `0 <= j < count`, in the block's own sample
/// coordinates.
pub(crate) struct Lines {
    pub(crate) count: [f32; LANES],
    pub(crate) first: [[f32; LANES]; 3],
    pub(crate) step: [[f32; LANES]; 3],
}
