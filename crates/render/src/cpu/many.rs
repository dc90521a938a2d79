//! Trilinear interpolation at sixteen places at a time: to the bit what [`interpolate`](crate::interpolation::interpolate) gives at each.

use visapult_volume::{Block, Box3};

use super::lanes::LANES;
use crate::interpolation::trilinear;

/// Values at sixteen places, and whether the block owns the sample before each; where it does not the value says nothing.
pub(crate) type Owned = ([f32; LANES], [bool; LANES]);

/// Those of `block` at places in sample coordinates of the grid of `bounds`, by axis. Inlined, it is compiled with the vector instructions of its caller.
#[inline(always)]
pub(crate) fn owned_values(block: &Block, bounds: &Box3, at: &[[f64; LANES]; 3]) -> Owned {
    let size = block.stored.size();
    let mut owned = [true; LANES];
    let (mut starts, mut weights) = ([0_i64; LANES], [[0.0_f32; LANES]; 3]);
    let (mut stride, mut step) = (1, [0; 3]);
    for axis in 0..3 {
        let count = bounds.hi[axis];
        let (last, last_cell) = ((count - 1) as f64, count.saturating_sub(2) as i32);
        let [lo, hi] = [block.owned.lo[axis], block.owned.hi[axis]].map(|end| end as i32);
        let first = block.stored.lo[axis] as i32;
        for lane in 0..LANES {
            let held = at[axis][lane].max(0.0).min(last);
            let before = held as i32;
            let cell = before.min(last_cell);
            weights[axis][lane] = (held - f64::from(cell)) as f32;
            owned[lane] &= before >= lo && before < hi;
            starts[lane] += i64::from(cell - first) * stride as i64;
        }
        step[axis] = if count > 1 { stride } else { 0 };
        stride *= size[axis];
    }
    let [x, y, z] = step;
    let mut corners = [[0.0; LANES]; 8];
    for lane in 0..LANES {
        if owned[lane] {
            let v = &block.values[starts[lane] as usize..][..=x + y + z];
            let values = [v[0], v[x], v[y], v[x + y], v[z], v[x + z], v[y + z], v[x + y + z]];
            for (corner, value) in corners.iter_mut().zip(values) {
                corner[lane] = value;
            }
        }
    }
    let mut values = [0.0; LANES];
    for lane in 0..LANES {
        let [a, b, c, d, e, f, g, h] = &corners;
        let around = [a[lane], b[lane], c[lane], d[lane], e[lane], f[lane], g[lane], h[lane]];
        values[lane] = trilinear(around, [weights[0][lane], weights[1][lane], weights[2][lane]]);
    }
    (values, owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::dispatch::{InstructionSet, Task};
    use crate::cpu::lanes::Lanes;
    use crate::interpolation::interpolate;
    use crate::testing::{Random, blocks_of};

    struct Places<'a>(&'a Block, &'a Box3, &'a [[f64; LANES]; 3]);

    impl Task for Places<'_> {
        type Output = Owned;

        #[inline(always)]
        fn run<L: Lanes>(self, _: L) -> Owned {
            owned_values(self.0, self.1, self.2)
        }
    }

    #[test]
    fn sixteen_places_have_the_values_that_each_has_alone_on_every_instruction_set() {
        let mut random = Random::new(7);
        for (size, pes) in [([20, 12, 9], 1), ([20, 12, 9], 6), ([1, 7, 1], 1), ([2, 1, 30], 2)] {
            let values: Vec<f32> = (0..size.iter().product()).map(|_| random.unit() - 0.5).collect();
            let bounds = Box3::of_size(size);
            for block in blocks_of(&values, size, pes, 1) {
                for _ in 0..50 {
                    let mut place = |axis: usize| f64::from(random.unit()) * (size[axis] + 2) as f64 - 1.5;
                    let at: [[f64; LANES]; 3] = std::array::from_fn(|axis| std::array::from_fn(|_| place(axis)));
                    for set in InstructionSet::available() {
                        let (found, owned) = set.run(Places(&block, &bounds, &at));
                        for lane in 0..LANES {
                            let at = [0, 1, 2].map(|axis: usize| at[axis][lane]);
                            let before = [0, 1, 2].map(|a: usize| at[a].clamp(0.0, (size[a] - 1) as f64) as usize);
                            assert_eq!(owned[lane], block.owned.has(before));
                            if owned[lane] {
                                let expected = interpolate(&block, &bounds, at);
                                assert_eq!(found[lane].to_bits(), expected.to_bits(), "{at:?}, {set:?}");
                            }
                        }
                    }
                }
            }
        }
    }
}
