//! The values of a box of a grid, with the ghost layer that interpolation at its faces needs.

use crate::{Box3, Values};

/// A box of a grid that one PE owns, and the values it needs to render it.
#[derive(Clone, Debug)]
pub struct Block {
    /// The samples this block owns.
    pub owned: Box3,
    /// The samples that `values` holds: `owned` plus ghost samples where neighbours exist.
    pub stored: Box3,
    /// `stored`, as `[z, y, x]`, x fastest.
    pub values: Values,
}

impl Block {
    /// The box to store for `owned` in a grid with `bounds`: one ghost layer on every inner face.
    pub fn stored_for(owned: &Box3, bounds: &Box3) -> Box3 {
        owned.grown(1, bounds)
    }

    /// Index into `values` of the sample at grid position `at`, which must lie in `stored`.
    pub fn index_of(&self, at: [usize; 3]) -> usize {
        let [nx, ny, _] = self.stored.size();
        let [x, y, z]: [usize; 3] = std::array::from_fn(|axis| at[axis] - self.stored.lo[axis]);
        (z * ny + y) * nx + x
    }
}
