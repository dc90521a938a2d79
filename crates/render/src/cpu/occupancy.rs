//! How far from each place of a block the nearest visible value is: what lets rays skip empty space.

use super::cubes::{Cubes, Tally, bytes_of};
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
        let visible = Cubes::of(counts, |cube| table.any_visible(cells.ranges[cube]));
        // By subset of the axes: a set comes from that without its highest axis.
        let mut masks = vec![visible];
        for subset in 1..8_usize {
            let axis = subset.ilog2() as usize;
            let spread = masks[subset - (1 << axis)].before(axis);
            masks.push(spread);
        }
        let mut near = masks[7].clone();
        let mut empty_layers = Tally::new(counts);
        empty_layers.add_others(&near);
        for _ in 1..Self::MAX_LAYERS {
            near = near.beside(0).beside(1).beside(2);
            empty_layers.add_others(&near);
        }
        let longest = counts.into_iter().max().unwrap_or(1) * Macrocells::EDGE;
        let occupied = bytes_of(&std::array::from_fn(|subset| &masks[subset]));
        Self {
            counts,
            occupied,
            empty_layers: empty_layers.counts(),
            slack: 2e-3 + longest as f32 * 4.0 * f32::EPSILON,
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;
    use crate::{ColorMap, TransferFunction};

    /// The table of a function that shows values above one half.
    fn table() -> Table {
        let [r, g, b] = ColorMap::Viridis.color(0.5);
        let points = vec![[0.0, r, g, b, 0.0], [0.5, r, g, b, 0.0], [0.5, r, g, b, 0.5], [1.0, r, g, b, 0.5]];
        Table::new(&TransferFunction { range: Some([0.0, 1.0]), points }, [0.0, 1.0], 1.0)
    }

    #[test]
    fn what_is_empty_is_what_a_search_finds() {
        let mut random = Random::new(30);
        for (counts, share) in [([9, 7, 6], 0.02), ([70, 3, 5], 0.004), ([33, 20, 18], 0.000_2), ([4, 4, 4], 0.0)] {
            let all: usize = counts.iter().product();
            let shown: Vec<bool> = (0..all).map(|_| random.unit() < share).collect();
            let ranges = shown.iter().map(|shown| if *shown { [0.8, 0.9] } else { [0.1, 0.2] }).collect();
            let occupancy = Occupancy::new(&Macrocells { counts, ranges }, &table());
            let any = |lo: [isize; 3], hi: [isize; 3]| {
                let span =
                    |axis: usize| lo[axis].max(0) as usize..(hi[axis] + 1).clamp(0, counts[axis] as isize) as usize;
                span(2).any(|z| span(1).any(|y| span(0).any(|x| shown[(z * counts[1] + y) * counts[0] + x])))
            };
            for cube in 0..all {
                let at = [cube % counts[0], cube / counts[0] % counts[1], cube / (counts[0] * counts[1])];
                let at = at.map(|place| place as isize);
                let mask = (0..8).filter(|m| any(at, std::array::from_fn(|axis| at[axis] + (*m as isize >> axis & 1))));
                assert_eq!(occupancy.occupied[cube], mask.map(|m| 1 << m).sum::<u8>(), "{at:?} of {counts:?}");
                let is_free = |layers: &isize| !any(at.map(|place| place - layers), at.map(|place| place + 1 + layers));
                let layers = (0..Occupancy::MAX_LAYERS as isize).take_while(is_free).count();
                assert_eq!(usize::from(occupancy.empty_layers[cube]), layers, "{at:?} of {counts:?}");
            }
        }
    }
}
