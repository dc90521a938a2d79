//! A coarse grid over rays and planes: the values in each block, so that what does not show is leapt over.

use std::ops::RangeInclusive;

use rayon::prelude::*;

use super::line::Cubic;
use super::pieces::{Piece, Pieces};
use crate::integrals::Integrals;

/// Rays and planes along the edge of a block.
const EDGE: usize = 8;

/// Bounds of the values that may be read in each block, `[row][plane][column]`.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    counts: [usize; 3],
    /// Least and largest value; the wrong way round where nothing is known.
    bounds: Vec<[f32; 2]>,
}

const NOTHING: [f32; 2] = [f32::INFINITY, f32::NEG_INFINITY];

impl Blocks {
    pub(super) fn of(pieces: &Pieces, [width, height]: [usize; 2], planes: usize) -> Self {
        let counts = [width, height, planes + 1].map(|edge| edge.div_ceil(EDGE));
        let row = counts[0] * counts[2];
        let mut bounds = vec![NOTHING; row * counts[1]];
        bounds.par_chunks_mut(row.max(1)).enumerate().for_each(|(block_row, bounds)| {
            // A block's values are mixed with those of the next ray to each side.
            for y in block_row * EDGE..((block_row + 1) * EDGE + 1).min(height) {
                for x in 0..width {
                    let before = if x % EDGE == 0 { x.saturating_sub(1) / EDGE } else { x / EDGE };
                    include(bounds, counts, before..=x / EDGE, pieces.ray(y * width + x));
                }
            }
        });
        Self { counts, bounds }
    }

    /// Number of the block at rays and plane `at`, and its faces; `None` where there is none.
    #[inline(always)]
    pub(super) fn at(&self, at: [f32; 3]) -> Option<(usize, [f64; 3], [f64; 3])> {
        if at[2] < 0.0 {
            return None;
        }
        let block = at.map(|place| place as usize / EDGE);
        let inside = (0..3).all(|a| block[a] < self.counts[a]);
        let number = (block[1] * self.counts[2] + block[2]) * self.counts[0] + block[0];
        let lo = block.map(|b| (b * EDGE) as f64);
        inside.then(|| (number, lo, lo.map(|lo| lo + EDGE as f64)))
    }

    /// Of each block, whether anything in it shows.
    pub(super) fn visible(&self, integrals: &Integrals) -> Vec<bool> {
        self.bounds.iter().map(|bounds| integrals.shows(*bounds)).collect()
    }
}

/// Widens the bounds of the blocks of some columns by a ray's values.
fn include(bounds: &mut [[f32; 2]], counts: [usize; 3], columns: RangeInclusive<usize>, ray: &[Piece]) {
    let end = (counts[2] * EDGE) as f32;
    for (i, piece) in ray.iter().enumerate().filter(|(_, piece)| !piece.cubic[0].is_nan()) {
        let (from, to) = (piece.from.max(0.0), ray.get(i + 1).map_or(end, |next| next.from).min(end));
        let cubic = Cubic(piece.cubic.map(f64::from));
        let local = |plane: f32| f64::from((plane - piece.from) * piece.scale);
        for block in from as usize / EDGE..=(to as usize / EDGE).min(counts[2] - 1) {
            let [lo, hi] = [block, block + 1].map(|face| ((face * EDGE) as f32).clamp(from, to));
            let [least, largest] = cubic.bounds(local(lo), local(hi)).map(|bound| bound as f32);
            for column in columns.clone() {
                let bounds = &mut bounds[block * counts[0] + column];
                *bounds = [bounds[0].min(least), bounds[1].max(largest)];
            }
        }
    }
}
