//! How far from each place of a block the nearest visible value is: what lets rays skip empty space.

use rayon::prelude::*;

use super::table::Table;
use crate::macrocells::Macrocells;

/// What of a block is visible, by cube.
#[derive(Clone, Debug)]
pub(crate) struct Occupancy {
    counts: [usize; 3],
    /// Per cube c, bit m: something is visible in the cubes from c to c + 1 along the axes in m (bit 0: x), c itself along
    /// the others.
    occupied: Vec<u8>,
    /// Per cube c: how many layers of cubes around the 2 x 2 x 2 cubes from c on hold nothing visible, those eight
    /// included; 0 where one of the eight is visible.
    empty_layers: Vec<u8>,
    /// How far, in samples, positions may be off from rounding.
    slack: f32,
}

/// Where a packet's box of positions is at sample 0, how it moves per sample, and how many samples it takes to move by
/// one: `f32::MAX` where it does not move outwards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sweep {
    pub(crate) lo: [f32; 3],
    pub(crate) hi: [f32; 3],
    pub(crate) lo_step: [f32; 3],
    pub(crate) hi_step: [f32; 3],
    pub(crate) samples_down: [f32; 3],
    pub(crate) samples_up: [f32; 3],
}

impl Occupancy {
    /// Layers beyond which distance is not told apart.
    const MAX_LAYERS: u8 = 15;

    /// What of `cells` is visible through `table`.
    pub(crate) fn new(cells: &Macrocells, table: &Table) -> Self {
        let counts = cells.counts;
        let visible: Vec<u8> = cells.ranges.par_iter().map(|&range| u8::from(table.any_visible(range))).collect();
        let mut masks = visible.clone();
        let mut spread = visible.clone();
        let mut occupied = visible;
        for subset in 1..8_usize {
            // Subsets in this order differ from one that is already there by their highest axis.
            let axis = subset.ilog2() as usize;
            let bit = subset - (1 << axis);
            let source: Vec<u8> = masks.par_iter().map(|mask| mask >> bit & 1).collect();
            spread_along(&source, &mut spread, counts, axis, &[1]);
            masks.par_iter_mut().zip(&spread).for_each(|(mask, &o)| *mask |= o << subset);
        }
        occupied.copy_from_slice(&spread);
        let mut empty_layers: Vec<u8> = occupied.par_iter().map(|&o| 1 - o).collect();
        for _ in 1..Self::MAX_LAYERS {
            for axis in 0..3 {
                spread_along(&occupied, &mut spread, counts, axis, &[-1, 1]);
                std::mem::swap(&mut occupied, &mut spread);
            }
            let more = empty_layers.par_iter_mut().zip(&occupied).map(|(layers, &o)| {
                *layers += 1 - o;
                usize::from(1 - o)
            });
            if more.sum::<usize>() == 0 {
                break;
            }
        }
        let longest = counts.into_iter().max().unwrap_or(1) * Macrocells::EDGE;
        Self { counts, occupied: masks, empty_layers, slack: 2e-3 + longest as f32 * 4.0 * f32::EPSILON }
    }

    /// How many samples from sample `at` on a packet may leave out; 0 where there may be something to see.
    #[inline(always)]
    pub(crate) fn empty_samples(&self, sweep: &Sweep, at: f32) -> f32 {
        const EDGE: f32 = Macrocells::EDGE as f32;
        let (mut lo, mut hi, mut cube) = ([0.0_f32; 3], [0.0_f32; 3], [0_usize; 3]);
        let mut subset = 0;
        for axis in 0..3 {
            lo[axis] = sweep.lo[axis] + at * sweep.lo_step[axis] - self.slack;
            hi[axis] = sweep.hi[axis] + at * sweep.hi_step[axis] + self.slack;
            cube[axis] = ((lo[axis] * (1.0 / EDGE)) as usize).min(self.counts[axis] - 1);
            subset |= usize::from(hi[axis] >= (cube[axis] + 1) as f32 * EDGE) << axis;
        }
        let index = (cube[2] * self.counts[1] + cube[1]) * self.counts[0] + cube[0];
        if self.occupied[index] >> subset & 1 != 0 {
            return 0.0;
        }
        let layers = f32::from(self.empty_layers[index]);
        let mut samples = f32::MAX;
        for axis in 0..3 {
            // The cubes known to be empty: those looked at, or all within the layers.
            let straddles = (subset >> axis & 1) as f32;
            let first = cube[axis] as f32 - (layers - 1.0).max(0.0);
            let past = cube[axis] as f32 + layers.max(straddles) + 1.0;
            let up = if past < self.counts[axis] as f32 { past * EDGE - hi[axis] } else { f32::MAX };
            let down = if first > 0.0 { (lo[axis] - first * EDGE).max(0.0) } else { f32::MAX };
            samples = samples.min(up * sweep.samples_up[axis]).min(down * sweep.samples_down[axis]);
        }
        // Negative: the packet's box is wider than the cubes known to be empty.
        if samples < 0.0 { 0.0 } else { samples.floor().max(1.0) }
    }
}

/// `to[c] = from[c] | from[c + o]` for each offset `o` along `axis`.
fn spread_along(from: &[u8], to: &mut [u8], counts: [usize; 3], axis: usize, offsets: &[isize]) {
    let plane = counts[0] * counts[1];
    to.par_chunks_mut(plane).zip(from.par_chunks(plane)).enumerate().for_each(|(z, (to, own))| {
        to.copy_from_slice(own);
        for &offset in offsets {
            if axis < 2 {
                spread_in_plane(own, to, [1, counts[0]][axis], counts[axis], offset);
            } else if let Some(z) = z.checked_add_signed(offset).filter(|z| *z < counts[2]) {
                to.iter_mut().zip(&from[z * plane..][..plane]).for_each(|(t, &s)| *t |= s);
            }
        }
    });
}

/// The same along an axis of a plane, of `count` cubes that lie `stride` apart.
fn spread_in_plane(from: &[u8], to: &mut [u8], stride: usize, count: usize, offset: isize) {
    let span = stride * count;
    for (to, from) in to.chunks_mut(span).zip(from.chunks(span)) {
        let (target, source) = if offset > 0 {
            (&mut to[..span - stride], &from[stride..])
        } else {
            (&mut to[stride..], &from[..span - stride])
        };
        target.iter_mut().zip(source).for_each(|(t, &s)| *t |= s);
    }
}
