//! Splits a grid into the boxes that PEs own.
//!
//! Invariant: the boxes tile the grid; cuts are planes through the whole grid, at multiples of `alignment`, so that
//! every box can be coarsened by itself and boxes have a front-to-back order from any eye.

use thiserror::Error;

use crate::Box3;

/// A lattice of boxes that tiles a grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decomposition {
    /// Cut positions per axis, first 0 and last the grid's size.
    cuts: [Vec<usize>; 3],
}

/// Why a grid cannot be split as asked.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DecompositionError {
    /// More boxes than aligned places to cut.
    #[error("{count} PEs do not fit a grid of {size:?} samples: use fewer PEs")]
    TooMany {
        /// Boxes asked for.
        count: usize,
        /// Samples per axis.
        size: [usize; 3],
    },
}

impl Decomposition {
    /// Splits a grid of `size` samples into exactly `count` boxes with the least surface.
    ///
    /// # Errors
    /// [`DecompositionError::TooMany`] if no factoring of `count` leaves every box at least `alignment` samples wide.
    pub fn new(size: [usize; 3], count: usize, alignment: usize) -> Result<Self, DecompositionError> {
        let fits = |counts: &[usize; 3]| (0..3).all(|a| counts[a] == 1 || counts[a] * alignment <= size[a]);
        let surface = |counts: &[usize; 3]| {
            let edge: [f64; 3] = std::array::from_fn(|a| size[a] as f64 / counts[a] as f64);
            edge[0] * edge[1] + edge[1] * edge[2] + edge[2] * edge[0]
        };
        let best = factorings(count).filter(fits).min_by(|a, b| surface(a).total_cmp(&surface(b)));
        let counts = best.ok_or(DecompositionError::TooMany { count, size })?;
        Ok(Self { cuts: std::array::from_fn(|axis| cut_axis(size[axis], counts[axis], alignment)) })
    }

    /// Boxes along each axis.
    pub fn counts(&self) -> [usize; 3] {
        std::array::from_fn(|axis| self.cuts[axis].len() - 1)
    }

    /// All boxes, x fastest: the order of PE numbers.
    pub fn boxes(&self) -> Vec<Box3> {
        let counts = self.counts();
        (0..counts.iter().product()).map(|pe| self.box_of(self.cell_of(pe))).collect()
    }

    /// PE numbers in front-to-back order for an eye at `eye`, in sample coordinates.
    ///
    /// Layer by layer, in these row by row: PEs with consecutive numbers mostly stay together.
    pub fn front_to_back(&self, eye: [f64; 3]) -> Vec<usize> {
        let eye_cell: [isize; 3] = std::array::from_fn(|axis| {
            self.cuts[axis].iter().filter(|&&cut| cut as f64 <= eye[axis]).count() as isize - 1
        });
        let place = |pe: &usize| {
            let cell = self.cell_of(*pe);
            [2, 1, 0].map(|axis| ((cell[axis] as isize - eye_cell[axis]).abs(), cell[axis]))
        };
        let mut order: Vec<usize> = (0..self.counts().iter().product()).collect();
        order.sort_by_key(place);
        order
    }

    fn cell_of(&self, pe: usize) -> [usize; 3] {
        let counts = self.counts();
        [pe % counts[0], pe / counts[0] % counts[1], pe / (counts[0] * counts[1])]
    }

    fn box_of(&self, cell: [usize; 3]) -> Box3 {
        Box3 {
            lo: std::array::from_fn(|axis| self.cuts[axis][cell[axis]]),
            hi: std::array::from_fn(|axis| self.cuts[axis][cell[axis] + 1]),
        }
    }
}

fn factorings(count: usize) -> impl Iterator<Item = [usize; 3]> {
    let divisors = move |n: usize| (1..=n).filter(move |d| n.is_multiple_of(*d));
    divisors(count).flat_map(move |x| divisors(count / x).map(move |y| [x, y, count / x / y]))
}

fn cut_axis(size: usize, count: usize, alignment: usize) -> Vec<usize> {
    let units = size / alignment;
    let inner = (1..count).map(|i| i * units / count * alignment);
    std::iter::once(0).chain(inner).chain(std::iter::once(size)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_tile_the_grid_at_aligned_cuts() {
        for (size, count, alignment) in [([128, 128, 128], 27, 4), ([100, 37, 64], 8, 1), ([9, 9, 9], 2, 2)] {
            let boxes = Decomposition::new(size, count, alignment).unwrap().boxes();
            assert_eq!(boxes.len(), count);
            assert_eq!(boxes.iter().map(Box3::volume).sum::<usize>(), size.iter().product::<usize>());
            assert!(boxes.iter().all(|b| !b.is_empty() && b.lo.iter().all(|lo| lo % alignment == 0)));
            for (i, a) in boxes.iter().enumerate() {
                assert!(boxes[i + 1..].iter().all(|b| a.intersection(b).is_none()));
            }
        }
    }

    #[test]
    fn too_many_boxes_are_refused() {
        let refused = Decomposition::new([8, 8, 8], 1000, 4);
        assert_eq!(refused, Err(DecompositionError::TooMany { count: 1000, size: [8, 8, 8] }));
    }

    #[test]
    fn pes_get_shares_that_differ_by_a_tenth_at_most() {
        for size in [[256; 3], [128; 3]] {
            for count in [2, 3, 4, 7] {
                // As many cubes of the coarsest level as a back end's alignment leaves: 32 along each axis.
                let split = Decomposition::new(size, count, size[0] / 32).unwrap();
                let bytes = |owned: &Box3| 4 * crate::Block::stored_for(owned, &Box3::of_size(size)).volume();
                let shares: Vec<usize> = split.boxes().iter().map(bytes).collect();
                let mean = shares.iter().sum::<usize>() as f64 / count as f64;
                let largest = shares.iter().copied().max().unwrap() as f64;
                assert!(largest / mean <= 1.1, "{count} PEs of {size:?}: {shares:?}");
            }
        }
    }

    #[test]
    fn rows_of_pes_stay_together_from_front_to_back() {
        let split = Decomposition::new([8, 8, 8], 8, 1).unwrap();
        assert_eq!(split.front_to_back([20.0, 20.0, 20.0]), [7, 6, 5, 4, 3, 2, 1, 0]);
        assert_eq!(split.front_to_back([-9.0, 20.0, 1.0]), [2, 3, 0, 1, 6, 7, 4, 5]);
    }

    #[test]
    fn a_box_nearer_on_every_separating_plane_comes_first() {
        let split = Decomposition::new([12, 12, 12], 27, 1).unwrap();
        let boxes = split.boxes();
        for eye in [[-5.0, 6.0, 30.0], [5.0, 5.0, 5.0], [40.0, -3.0, 1.0]] {
            let order = split.front_to_back(eye);
            for (place, &front) in order.iter().enumerate() {
                for &back in &order[place + 1..] {
                    // `back` must not hide `front`: some axis must keep it off the way between the eye and `front`.
                    let hides = (0..3).all(|a| {
                        let (f, b) = (boxes[front], boxes[back]);
                        let beyond_hi = b.hi[a] <= f.lo[a] && eye[a] < b.hi[a] as f64;
                        let beyond_lo = f.hi[a] <= b.lo[a] && eye[a] > b.lo[a] as f64;
                        let overlaps = b.lo[a] < f.hi[a] && f.lo[a] < b.hi[a];
                        beyond_hi || beyond_lo || overlaps
                    });
                    let differ = boxes[front] != boxes[back];
                    assert!(!(hides && differ), "eye {eye:?}: {} before {}", boxes[front], boxes[back]);
                }
            }
        }
    }
}
