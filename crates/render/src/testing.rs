//! What tests of this crate share.

use visapult_volume::{Block, Box3, Decomposition};

/// A small seeded generator (SplitMix64), so that property tests repeat exactly.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next_u32(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 32) as u32
    }

    /// Uniform in `[0, 1)`.
    pub(crate) fn unit(&mut self) -> f32 {
        (self.next_u32() >> 8) as f32 / (1 << 24) as f32
    }
}

/// Cuts `values` (`[z, y, x]` of `size`) into `count` blocks with ghosts, at multiples of `alignment`.
pub(crate) fn blocks_of(values: &[f32], size: [usize; 3], count: usize, alignment: usize) -> Vec<Block> {
    let whole = Block { owned: Box3::of_size(size), stored: Box3::of_size(size), values: values.to_vec() };
    let boxes = Decomposition::new(size, count, alignment).expect("the boxes fit").boxes();
    let cut = |owned: Box3| {
        let stored = Block::stored_for(&owned, &whole.stored);
        let [nx, ny, nz] = stored.size();
        let at = |i: usize| [i % nx, i / nx % ny, i / (nx * ny)];
        let value = |i: usize| whole.values[whole.index_of(std::array::from_fn(|a| stored.lo[a] + at(i)[a]))];
        Block { owned, stored, values: (0..nx * ny * nz).map(value).collect() }
    };
    boxes.into_iter().map(cut).collect()
}
