//! The kernel: marches a packet of rays through one block, front to back.

use super::lanes::{Cells, Indices, LANES, Lanes, STRIDE};
use super::occupancy::{Occupancy, Sweep};
use super::rays::Lines;
use super::table::Table;

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
    let [x, y, z] = &lines.first;
    let first = [lanes.load(x), lanes.load(y), lanes.load(z)];
    let [x, y, z] = &lines.step;
    let step = [lanes.load(x), lanes.load(y), lanes.load(z)];
    let count = lanes.load(&lines.count);
    let opaque = lanes.splat(opaque);
    let mut front = lanes.load_colors(colors);
    let none = lanes.splat(0.0);
    let mut taken = none;
    let longest = f64::from(lines.count.into_iter().fold(0.0, f32::max));
    // Beyond 2^24 single precision goes on by no single sample, and in time by none at all.
    let mut gone = 0.0_f64;
    while gone < longest {
        let at = gone as f32;
        let empty = block.occupancy.empty_samples(&sweep, at);
        if empty > 0.0 {
            gone += f64::from(empty);
            continue;
        }
        let stretch = lanes.splat((longest - gone).min(STRIDE as f64) as f32);
        taken = lanes.add(taken, lanes.max(none, lanes.min(stretch, lanes.sub(count, lanes.splat(at)))));
        // Loops, not closures: closures would be compiled without the caller's vector instructions.
        let mut number = [none; STRIDE];
        let mut positions = [[none; 3]; STRIDE];
        for i in 0..STRIDE {
            number[i] = lanes.splat(at + i as f32);
            for axis in 0..3 {
                positions[i][axis] = lanes.mul_add(number[i], step[axis], first[axis]);
            }
        }
        let values = lanes.interpolate(block.cells, positions);
        let mut entries = [Indices::default(); STRIDE];
        for i in 0..STRIDE {
            entries[i] = lanes.entries(table, values[i], number[i], count);
        }
        for entries in &entries {
            front = lanes.composite(front, table, entries);
        }
        gone += STRIDE as f64;
        if !lanes.any_less(lanes.alphas(front), opaque, lanes.splat(gone as f32), count) {
            break;
        }
    }
    *colors = lanes.store_colors(front);
    lanes.store(taken).iter().map(|&taken| f64::from(taken)).sum::<f64>() as u64
}

/// The box around the positions of all rays that have samples.
#[inline(always)]
pub(crate) fn sweep_of(lines: &Lines) -> Sweep {
    let zero = [0.0; 3];
    let mut sweep = Sweep { lo: zero, hi: zero, lo_step: zero, hi_step: zero, samples_down: zero, samples_up: zero };
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
        sweep.samples_down[axis] = if lo_step < 0.0 { -1.0 / lo_step } else { f32::MAX };
        sweep.samples_up[axis] = if hi_step > 0.0 { 1.0 / hi_step } else { f32::MAX };
    }
    sweep
}
