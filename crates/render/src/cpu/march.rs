//! The kernel: marches a packet of rays through one block, front to back.

use super::lanes::{Cells, LANES, Lanes};
use super::occupancy::{Occupancy, Sweep};
use super::rays::Lines;
use super::table::Table;

/// Samples between two looks at what lies ahead.
pub(crate) const STRIDE: usize = 4;

/// A block as the kernel sees it.
#[derive(Clone, Copy)]
pub(crate) struct BlockScene<'a> {
    pub(crate) cells: Cells<'a>,
    pub(crate) occupancy: &'a Occupancy,
}

/// Composites the samples of `lines` behind `colors`; gives the number of samples taken.
///
/// Ends early where the opacity of every ray has reached `opaque`.
#[inline(always)]
pub(crate) fn march<L: Lanes>(
    lanes: L,
    block: &BlockScene<'_>,
    table: &Table,
    lines: &Lines,
    colors: &mut [[f32; 4]; LANES],
    opaque: f32,
) -> u64 {
    let sweep = sweep_of(lines);
    let first = [0, 1, 2].map(|axis| lanes.load(&lines.first[axis]));
    let step = [0, 1, 2].map(|axis| lanes.load(&lines.step[axis]));
    let count = lanes.load(&lines.count);
    let (one, opaque) = (lanes.splat(1.0), lanes.splat(opaque));
    let mut front = lanes.load_colors(colors);
    let mut taken = lanes.splat(0.0);
    let longest = lines.count.into_iter().fold(0.0, f32::max);
    let mut at = 0.0_f32;
    while at < longest {
        let empty = block.occupancy.empty_samples(&sweep, at);
        if empty > 0.0 {
            at += empty;
            continue;
        }
        let stretch = lanes.splat((longest - at).min(STRIDE as f32));
        let mut number = lanes.splat(at);
        taken = lanes.add(taken, lanes.max(lanes.splat(0.0), lanes.min(stretch, lanes.sub(count, number))));
        for _ in 0..STRIDE {
            let position = [0, 1, 2].map(|axis| lanes.mul_add(number, step[axis], first[axis]));
            let value = lanes.interpolate(block.cells, position);
            front = lanes.composite(front, table, value, number, count);
            number = lanes.add(number, one);
        }
        at += STRIDE as f32;
        if !lanes.any_less(lanes.alphas(front), opaque, number, count) {
            break;
        }
    }
    *colors = lanes.store_colors(front);
    lanes.store(taken).iter().map(|&taken| f64::from(taken)).sum::<f64>() as u64
}

/// The box around the positions of all rays that have samples.
#[inline(always)]
pub(crate) fn sweep_of(lines: &Lines) -> Sweep {
    let mut sweep = Sweep { lo: [0.0; 3], hi: [0.0; 3], lo_step: [0.0; 3], hi_step: [0.0; 3] };
    for axis in 0..3 {
        let (mut lo, mut hi, mut lo_step, mut hi_step) = (f32::MAX, f32::MIN, f32::MAX, f32::MIN);
        for lane in 0..LANES {
            let (first, step) = (lines.first[axis][lane], lines.step[axis][lane]);
            let has_samples = lines.count[lane] > 0.0;
            lo = if has_samples && first < lo { first } else { lo };
            hi = if has_samples && first > hi { first } else { hi };
            lo_step = if has_samples && step < lo_step { step } else { lo_step };
            hi_step = if has_samples && step > hi_step { step } else { hi_step };
        }
        (sweep.lo[axis], sweep.hi[axis]) = (lo, hi);
        (sweep.lo_step[axis], sweep.hi_step[axis]) = (lo_step, hi_step);
    }
    sweep
}
