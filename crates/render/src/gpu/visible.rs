//! What a transfer function shows of a volume: its table, and the way to the nearest visible cube, found on the device.

use std::sync::{Arc, MutexGuard, PoisonError};

use bytemuck::{Pod, Zeroable};
use wgpu::{Buffer, CommandEncoder};

use super::chunks::{Chunk, GpuVolume};
use super::device::{Gpu, GpuError};
use crate::TransferFunction;
use crate::cpu::table::Table;
use crate::transfer_function::REFERENCE_LENGTH;

const SOURCE: &str = include_str!("visible.wgsl");
/// Layers of empty cubes beyond which distance is not told apart.
const MOST_LAYERS: u32 = 15;
/// Threads of a group along each axis.
const GROUP_EDGE: u32 = 4;

/// What kernels know of a transfer function for samples that stand for one length.
#[derive(Clone)]
pub(super) struct Shown {
    function: TransferFunction,
    length: f64,
    pub(super) table: Buffer,
    /// `lo` and `scale` of the table.
    pub(super) index_map: [f32; 2],
    /// By number of the chunk; the same for all lengths.
    pub(super) empty_layers: Arc<[Buffer]>,
}

/// `Cubes` of `visible.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Cubes {
    counts: [u32; 3],
    lowest: f32,
    axis: [u32; 3],
    per_value: f32,
    most: u32,
    unused: [u32; 3],
}

impl GpuVolume {
    /// What is seen through `function` of samples that stand for `length`; `None` where there is no value. To be called within an attempt.
    pub(super) fn shown(&self, function: &TransferFunction, length: f64) -> Result<Option<Shown>, GpuError> {
        // Nobody holds the lock while tables are made: whoever waits for its threads may be given other work, which comes here, too.
        let kept = self.lock_shown().as_ref().filter(|shown| shown.function == *function).cloned();
        if let Some(shown) = kept.as_ref().filter(|shown| shown.length == length) {
            return Ok(Some(shown.clone()));
        }
        let Some(range) = function.resolved_range(self.range) else { return Ok(None) };
        let table = Table::new(function, range, length);
        let index_map = [table.index_map()[0], table.index_map()[1]];
        let empty_layers = match kept {
            Some(shown) => shown.empty_layers,
            None => self.empty_layers(&Table::new(function, range, REFERENCE_LENGTH))?,
        };
        let table = self.gpu.filled(&entries_of(&table))?;
        let shown = Shown { function: function.clone(), length, table, index_map, empty_layers };
        *self.lock_shown() = Some(shown.clone());
        Ok(Some(shown))
    }

    fn lock_shown(&self) -> MutexGuard<'_, Option<Shown>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn empty_layers(&self, table: &Table) -> Result<Arc<[Buffer]>, GpuError> {
        let finder = Finder {
            gpu: &self.gpu,
            table: &self.gpu.filled(&entries_of(table))?,
            visible_before: &self.gpu.filled(table.visible_before())?,
            index_map: [table.index_map()[0], table.index_map()[1]],
        };
        let mut encoder = self.gpu.encoder();
        let empty_layers = self.chunks().map(|chunk| finder.empty_layers(&mut encoder, chunk)).collect();
        self.gpu.submit(encoder);
        Ok(empty_layers)
    }
}

fn entries_of(table: &Table) -> Vec<[f32; 4]> {
    table.entries().iter().map(|entry| entry.0).collect()
}

/// Finds out what is visible of one chunk after another.
struct Finder<'a> {
    gpu: &'a Gpu,
    table: &'a Buffer,
    visible_before: &'a Buffer,
    index_map: [f32; 2],
}

impl Finder<'_> {
    /// How many layers of cubes around each show nothing: largest distances along one axis after another.
    fn empty_layers(&self, encoder: &mut CommandEncoder, chunk: &Chunk) -> Buffer {
        let bytes = 4 * chunk.cubes.iter().map(|&n| u64::from(n)).product::<u64>();
        let (a, b) = (self.gpu.lend(bytes), self.gpu.scratch(bytes));
        let kernels = self.gpu.kernels();
        let classify = self.gpu.kernel(&kernels.classify, SOURCE, "classify");
        let told = self.told(chunk, 0);
        let buffers = [(0, &told), (1, &chunk.ranges), (2, self.table), (3, self.visible_before), (5, &a)];
        let groups = chunk.cubes.map(|n| n.div_ceil(GROUP_EDGE));
        self.gpu.dispatch(encoder, classify, &buffers, groups);
        let spread = self.gpu.kernel(&kernels.spread, SOURCE, "spread");
        for (axis, (before, after)) in [(&*a, &b), (&b, &*a), (&*a, &b)].into_iter().enumerate() {
            let told = self.told(chunk, axis);
            self.gpu.dispatch(encoder, spread, &[(0, &told), (4, before), (5, after)], groups);
        }
        b
    }

    fn told(&self, chunk: &Chunk, axis: usize) -> Buffer {
        self.gpu.told(&Cubes {
            counts: chunk.cubes,
            lowest: self.index_map[0],
            axis: std::array::from_fn(|a| u32::from(a == axis)),
            per_value: self.index_map[1],
            most: MOST_LAYERS,
            unused: [0; 3],
        })
    }
}
