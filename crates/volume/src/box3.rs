//! Half-open integer boxes in a grid.

use std::fmt;

/// A half-open box of samples: `lo` is inside, `hi` is not. Axes are `[x, y, z]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Box3 {
    /// First sample inside, per axis.
    pub lo: [usize; 3],
    /// First sample past the end, per axis.
    pub hi: [usize; 3],
}

impl Box3 {
    /// The box from `lo` up to, not including, `hi`.
    pub const fn new(lo: [usize; 3], hi: [usize; 3]) -> Self {
        Self { lo, hi }
    }

    /// The box of a whole grid of `size` samples.
    pub const fn of_size(size: [usize; 3]) -> Self {
        Self { lo: [0; 3], hi: size }
    }

    /// Samples along each axis; zero where `hi <= lo`.
    pub fn size(&self) -> [usize; 3] {
        std::array::from_fn(|axis| self.hi[axis].saturating_sub(self.lo[axis]))
    }

    /// Number of samples inside.
    pub fn volume(&self) -> usize {
        self.size().iter().product()
    }

    /// Whether no sample is inside.
    pub fn is_empty(&self) -> bool {
        self.size().contains(&0)
    }

    /// Whether every sample of `other` is inside.
    pub fn contains(&self, other: &Self) -> bool {
        (0..3).all(|axis| self.lo[axis] <= other.lo[axis] && other.hi[axis] <= self.hi[axis])
    }

    /// Whether this sample is inside.
    pub fn has(&self, sample: [usize; 3]) -> bool {
        (0..3).all(|axis| self.lo[axis] <= sample[axis] && sample[axis] < self.hi[axis])
    }

    /// The samples in both, or `None` where they share none.
    pub fn intersection(&self, other: &Self) -> Option<Self> {
        let shared = Self {
            lo: std::array::from_fn(|axis| self.lo[axis].max(other.lo[axis])),
            hi: std::array::from_fn(|axis| self.hi[axis].min(other.hi[axis])),
        };
        (!shared.is_empty()).then_some(shared)
    }

    /// Grown by `layers` samples on every side, clipped to `limit`.
    pub fn grown(&self, layers: usize, limit: &Self) -> Self {
        Self {
            lo: std::array::from_fn(|axis| self.lo[axis].saturating_sub(layers).max(limit.lo[axis])),
            hi: std::array::from_fn(|axis| (self.hi[axis] + layers).min(limit.hi[axis])),
        }
    }

    /// Cuts the box into boxes of at most `size` samples, x fastest.
    pub fn bricks(&self, size: [usize; 3]) -> impl Iterator<Item = Self> + use<> {
        let whole = *self;
        let counts: [usize; 3] = std::array::from_fn(|axis| whole.size()[axis].div_ceil(size[axis]));
        (0..counts.iter().product()).map(move |index: usize| {
            let cell = [index % counts[0], index / counts[0] % counts[1], index / (counts[0] * counts[1])];
            let lo: [usize; 3] = std::array::from_fn(|axis| whole.lo[axis] + cell[axis] * size[axis]);
            Self { lo, hi: std::array::from_fn(|axis| (lo[axis] + size[axis]).min(whole.hi[axis])) }
        })
    }
}

impl fmt::Display for Box3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x0, y0, z0] = self.lo;
        let [x1, y1, z1] = self.hi;
        write!(f, "[{x0},{x1}) x [{y0},{y1}) x [{z0},{z1})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bricks_tile_the_box_without_overlap() {
        let whole = Box3::new([3, 0, 5], [40, 33, 6]);
        let bricks: Vec<_> = whole.bricks([16, 8, 32]).collect();
        assert_eq!(bricks.iter().map(Box3::volume).sum::<usize>(), whole.volume());
        for (i, a) in bricks.iter().enumerate() {
            assert!(whole.contains(a));
            assert!(bricks[i + 1..].iter().all(|b| a.intersection(b).is_none()));
        }
    }

    #[test]
    fn an_empty_box_has_no_bricks() {
        assert_eq!(Box3::of_size([0, 4, 4]).bricks([8; 3]).count(), 0);
    }

    #[test]
    fn growth_stops_at_the_limit() {
        let limit = Box3::of_size([10, 10, 10]);
        let grown = Box3::new([0, 4, 9], [2, 6, 10]).grown(1, &limit);
        assert_eq!(grown, Box3::new([0, 3, 8], [3, 7, 10]));
    }
}
