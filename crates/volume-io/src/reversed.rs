//! Axes that run backwards in a file: their samples are handed out in the other order, so that coordinates grow along every axis.

use rayon::prelude::*;
use visapult_volume::{Box3, Grid};

use crate::coordinates::Along;

/// Which of x, y, z run backwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reversed([bool; 3]);

impl Reversed {
    /// Turns the axes of a grid of which the spacing is negative.
    pub(crate) fn of(grid: &mut Grid) -> Self {
        let backwards = grid.spacing.map(|spacing| spacing < 0.0);
        for axis in (0..3).filter(|axis| backwards[*axis]) {
            grid.origin[axis] += grid.size[axis].saturating_sub(1) as f64 * grid.spacing[axis];
            grid.spacing[axis] = -grid.spacing[axis];
        }
        Self(backwards)
    }

    /// Puts what is told of each axis into the order of the grid.
    pub(crate) fn turn_along(self, along: &mut [Along; 3]) {
        (0..3).filter(|axis| self.0[*axis]).for_each(|axis| along[axis].turn());
    }

    /// What is told of it.
    pub(crate) fn remark(self) -> Option<String> {
        let axes: Vec<_> = (0..3).filter(|axis| self.0[*axis]).map(|axis| ["x", "y", "z"][axis]).collect();
        (!axes.is_empty()).then(|| format!("{} turned, to grow with the coordinates", axes.join(" and ")))
    }

    /// Where in the file the samples of a box are, of a grid of `size`.
    pub(crate) fn in_file(self, bounds: &Box3, size: [usize; 3]) -> Box3 {
        let mut stored = *bounds;
        for axis in (0..3).filter(|axis| self.0[*axis]) {
            stored.lo[axis] = size[axis] - bounds.hi[axis];
            stored.hi[axis] = size[axis] - bounds.lo[axis];
        }
        stored
    }

    /// Puts samples of a box of `size`, in the order of the file, into that of the grid.
    pub(crate) fn turn(self, size: [usize; 3], samples: &mut [f32]) {
        let ([nx, ny, _], [x, y, z]) = (size, self.0);
        if self == Self::default() || samples.is_empty() {
            return;
        }
        if z {
            swap_ends(samples, nx * ny);
        }
        samples.par_chunks_mut(nx * ny).for_each(|plane| {
            if y {
                swap_ends(plane, nx);
            }
            if x {
                plane.chunks_exact_mut(nx).for_each(<[f32]>::reverse);
            }
        });
    }
}

/// Reverses the order of the pieces of `length` samples.
fn swap_ends(samples: &mut [f32], length: usize) {
    let (front, back) = samples.split_at_mut(samples.len() / length / 2 * length);
    front.chunks_exact_mut(length).zip(back.rchunks_exact_mut(length)).for_each(|(a, b)| a.swap_with_slice(b));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_box_of_a_turned_grid_is_that_of_the_turned_whole() {
        let size = [3, 4, 5];
        let at = |x: usize, y: usize, z: usize| ((z * 4 + y) * 3 + x) as f32;
        for bits in 0..8 {
            let backwards = std::array::from_fn(|axis| bits >> axis & 1 == 1);
            let reversed = Reversed(backwards);
            let bounds = Box3::new([0, 1, 2], [2, 4, 3]);
            let there = reversed.in_file(&bounds, size);
            let samples = |bounds: &Box3, value: &dyn Fn([usize; 3]) -> f32| {
                let mut samples = Vec::new();
                for z in bounds.lo[2]..bounds.hi[2] {
                    for y in bounds.lo[1]..bounds.hi[1] {
                        samples.extend((bounds.lo[0]..bounds.hi[0]).map(|x| value([x, y, z])));
                    }
                }
                samples
            };
            let mut read = samples(&there, &|[x, y, z]| at(x, y, z));
            reversed.turn(bounds.size(), &mut read);
            let turned = |at: [usize; 3]| -> [usize; 3] {
                std::array::from_fn(|axis| if backwards[axis] { size[axis] - 1 - at[axis] } else { at[axis] })
            };
            let wanted = samples(&bounds, &|sample| {
                let [x, y, z] = turned(sample);
                at(x, y, z)
            });
            assert_eq!(read, wanted, "{backwards:?}");
        }
    }

    #[test]
    fn the_first_sample_is_then_the_last_of_the_file() {
        let mut grid = Grid::of_size([5, 2, 2]);
        (grid.spacing[0], grid.origin[0]) = (-2.0, 10.0);
        let reversed = Reversed::of(&mut grid);
        assert_eq!((grid.spacing[0], grid.origin[0], reversed), (2.0, 2.0, Reversed([true, false, false])));
        assert_eq!(reversed.remark().as_deref(), Some("x turned, to grow with the coordinates"));
    }
}
