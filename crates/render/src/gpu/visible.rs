//! What a transfer function shows of a volume: its table, and the way to the nearest visible cube, found on the device.

use bytemuck::{Pod, Zeroable};
use wgpu::{Buffer, CommandEncoder, ComputePassDescriptor, ComputePipeline};

use super::chunks::{Chunk, GpuVolume};
use super::device::{Gpu, GpuError};
use crate::TransferFunction;
use crate::cpu::table::Table;

const SOURCE: &str = include_str!("visible.wgsl");
/// Layers of empty cubes beyond which distance is not told apart.
const MOST_LAYERS: u32 = 15;
/// Threads of a group along each axis.
const GROUP_EDGE: u32 = 4;

/// What kernels know of a transfer function for samples that stand for one length.
#[derive(Clone)]
pub(super) struct Shown {
    of: (TransferFunction, f64),
    pub(super) table: Buffer,
    /// `lo` and `scale` of the table.
    pub(super) index_map: [f32; 2],
    /// By number of the chunk.
    pub(super) empty_layers: Vec<Buffer>,
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
        let mut kept = self.shown.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(shown) = kept.as_ref().filter(|shown| shown.of.0 == *function && shown.of.1 == length) {
            return Ok(Some(shown.clone()));
        }
        let Some(range) = function.resolved_range(self.range) else { return Ok(None) };
        let table = Table::new(function, range, length);
        let entries: Vec<[f32; 4]> = table.entries().iter().map(|entry| entry.0).collect();
        let finder = Finder {
            gpu: &self.gpu,
            table: &self.gpu.filled(&entries)?,
            visible_before: &self.gpu.filled(table.visible_before())?,
            index_map: [table.index_map()[0], table.index_map()[1]],
        };
        let mut encoder = self.gpu.encoder();
        let empty_layers = self.chunks().map(|chunk| finder.empty_layers(&mut encoder, chunk)).collect();
        self.gpu.submit(encoder);
        let (table, index_map) = (finder.table.clone(), finder.index_map);
        let shown = Shown { of: (function.clone(), length), table, index_map, empty_layers };
        *kept = Some(shown.clone());
        Ok(Some(shown))
    }
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
        let [a, b] = [(); 2].map(|()| self.gpu.scratch(bytes));
        let kernels = self.gpu.kernels();
        let classify = self.gpu.kernel(&kernels.classify, SOURCE, "classify");
        let told = self.told(chunk, 0);
        let buffers = [(0, &told), (1, &chunk.ranges), (2, self.table), (3, self.visible_before), (5, &a)];
        self.dispatch(encoder, classify, &buffers, chunk);
        let spread = self.gpu.kernel(&kernels.spread, SOURCE, "spread");
        for (axis, (before, after)) in [(&a, &b), (&b, &a), (&a, &b)].into_iter().enumerate() {
            let told = self.told(chunk, axis);
            self.dispatch(encoder, spread, &[(0, &told), (4, before), (5, after)], chunk);
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

    fn dispatch(
        &self,
        encoder: &mut CommandEncoder,
        kernel: &ComputePipeline,
        buffers: &[(u32, &Buffer)],
        chunk: &Chunk,
    ) {
        let bound = self.gpu.bound(kernel, buffers);
        let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
        pass.set_pipeline(kernel);
        pass.set_bind_group(0, &bound, &[]);
        let [x, y, z] = chunk.cubes.map(|n| n.div_ceil(GROUP_EDGE));
        pass.dispatch_workgroups(x, y, z);
    }
}
