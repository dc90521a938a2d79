//! The chunks of an array, and the batches of them that are made at a time: neighbours that come from a bounded part of the source.

use std::ops::Range;

use visapult_volume::{Box3, StepIndex};

use super::cut::{Cut, MOST_SAMPLES};

/// Samples along an edge of a chunk, where there are so many: as 32-bit floats it takes a megabyte.
const EDGE: usize = 64;

/// Chunks are numbered step by step, then along z, y and x; x fastest.
#[derive(Clone, Debug)]
pub(super) struct Batches {
    size: [usize; 3],
    /// Samples of a chunk along x, y, z.
    pub(super) edge: [usize; 3],
    /// Chunks along x, y, z.
    pub(super) counts: [u64; 3],
    steps: Vec<StepIndex>,
    /// Chunks of a batch along y, and along x: all of these, or one row.
    rows: u64,
    columns: u64,
}

impl Batches {
    pub(super) fn new(cut: &Cut) -> Self {
        let edge = cut.size.map(|size| size.min(EDGE));
        let counts: [u64; 3] = std::array::from_fn(|axis| cut.size[axis].div_ceil(edge[axis]) as u64);
        let [nx, ny, _] = counts;
        let fitting =
            |width: usize| (MOST_SAMPLES / cut.samples(&Box3::of_size([width, edge[1], edge[2]])).max(1)) as u64;
        let rows = fitting(cut.size[0]).min(ny);
        let columns = if rows > 0 { nx } else { fitting(edge[0]).clamp(1, nx) };
        Self { size: cut.size, edge, counts, steps: cut.steps.clone(), rows: rows.max(1), columns }
    }

    /// All chunks.
    pub(super) fn count(&self) -> u64 {
        self.counts.iter().product::<u64>() * self.steps.len() as u64
    }

    /// The steps, and where a chunk is: number of its step, then z, y, x.
    pub(super) fn place(&self, chunk: u64) -> [u64; 4] {
        let [nx, ny, nz] = self.counts;
        [chunk / (nx * ny * nz), chunk / (nx * ny) % nz, chunk / nx % ny, chunk % nx]
    }

    /// The chunk at a place; none if there is none.
    pub(super) fn chunk(&self, [step, z, y, x]: [u64; 4]) -> Option<u64> {
        let [nx, ny, nz] = self.counts;
        let is_there = step < self.steps.len() as u64 && z < nz && y < ny && x < nx;
        is_there.then(|| ((step * nz + z) * ny + y) * nx + x)
    }

    /// The batch that a chunk belongs to.
    pub(super) fn of(&self, chunk: u64) -> u64 {
        let [nx, ny, nz] = self.counts;
        let [step, z, y, x] = self.place(chunk);
        let (high, wide) = (ny.div_ceil(self.rows), nx.div_ceil(self.columns));
        ((step * nz + z) * high + y / self.rows) * wide + x / self.columns
    }

    /// The chunks of a batch.
    pub(super) fn chunks(&self, batch: u64) -> Range<u64> {
        let [nx, ny, _] = self.counts;
        let (high, wide) = (ny.div_ceil(self.rows), nx.div_ceil(self.columns));
        let (plane, y, x) = (batch / (high * wide), batch / wide % high * self.rows, batch % wide * self.columns);
        let start = (plane * ny + y) * nx + x;
        let count = self.rows.min(ny - y) * self.columns.min(nx - x);
        start..start + count
    }

    /// The step of the source and the samples of a batch.
    pub(super) fn bounds(&self, batch: u64) -> (StepIndex, Box3) {
        let chunks = self.chunks(batch);
        let (first, last) = (self.place(chunks.start), self.place(chunks.end - 1));
        let (lo, hi) = (self.samples(chunks.start).lo, self.samples(chunks.end - 1).hi);
        debug_assert_eq!(first[..2], last[..2]);
        (self.steps[first[0] as usize], Box3 { lo, hi })
    }

    /// The samples of a chunk.
    fn samples(&self, chunk: u64) -> Box3 {
        let [_, z, y, x] = self.place(chunk);
        let lo: [usize; 3] = std::array::from_fn(|axis| [x, y, z][axis] as usize * self.edge[axis]);
        Box3 { lo, hi: std::array::from_fn(|axis| (lo[axis] + self.edge[axis]).min(self.size[axis])) }
    }

    /// The values of a whole chunk, of those of `bounds`; `fill` is beyond the last samples.
    pub(super) fn piece(&self, chunk: u64, bounds: &Box3, values: &[f32], fill: f32) -> Vec<f32> {
        let samples = self.samples(chunk);
        let [wide, high, _] = bounds.size();
        let [nx, ny, nz] = samples.size();
        let mut piece = vec![fill; self.edge.iter().product()];
        for z in 0..nz {
            for y in 0..ny {
                let from = ((samples.lo[2] - bounds.lo[2] + z) * high + samples.lo[1] - bounds.lo[1] + y) * wide
                    + samples.lo[0]
                    - bounds.lo[0];
                let to = (z * self.edge[1] + y) * self.edge[0];
                piece[to..to + nx].copy_from_slice(&values[from..from + nx]);
            }
        }
        piece
    }
}
