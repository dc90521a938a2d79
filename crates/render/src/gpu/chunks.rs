//! A volume in a graphics processor's memory: its blocks, cut into chunks that fit a buffer.

use std::sync::Mutex;

use bytemuck::{Pod, Zeroable};
use visapult_volume::{Block, Box3, Decomposition, ValueRange};
use wgpu::{Buffer, CommandEncoder, ComputePassDescriptor, ComputePipeline};

use super::device::{Gpu, GpuError};
use super::visible::Shown;
use crate::cpu::rays::RaySetup;
use crate::macrocells::Macrocells;
use crate::volume::Frame;
use crate::{View, Volume};

/// Rays of a group of threads along each axis.
const GROUP_EDGE: u32 = 8;
/// Stands for a plane that bounds nothing.
const NOWHERE: f32 = 1e30;

/// A volume that a graphics processor has in its memory. It does not change with the volume that it was made of.
pub struct GpuVolume {
    pub(super) gpu: Gpu,
    pub(super) frame: Frame,
    pub(super) range: Option<ValueRange>,
    /// Largest buffer that is made for it.
    pub(super) most_bytes: u64,
    decomposition: Decomposition,
    /// Those of each PE, along z; none of PEs of other processes.
    chunks: Vec<Vec<Chunk>>,
    /// What was seen of it last.
    pub(super) shown: Mutex<Option<Shown>>,
}

/// Layers of a block that have a buffer to themselves.
pub(super) struct Chunk {
    /// Its place in what is [`Shown`].
    pub(super) number: usize,
    pub(super) values: Buffer,
    /// Least and largest value of each cube.
    pub(super) ranges: Buffer,
    pub(super) cubes: [u32; 3],
    pub(super) told: Buffer,
    /// Where it begins and ends along z, in samples.
    owned_z: [f64; 2],
}

/// A chunk as kernels see it: `Chunk` of `scene.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct ChunkTold {
    owned_lo: [f32; 4],
    owned_hi: [f32; 4],
    origin: [f32; 4],
    last: [f32; 4],
    last_cell: [f32; 4],
    stride: [u32; 4],
    next: [u32; 4],
    cubes: [u32; 4],
}

/// Layers of cubes of a block, and what they make of it.
#[derive(Clone, Debug, PartialEq)]
struct Piece {
    owned: Box3,
    stored: Box3,
    /// The first and past the last layer of cubes.
    cubes: [usize; 2],
}

impl Gpu {
    /// Copies `volume` into the device's memory.
    ///
    /// # Errors
    /// [`GpuError`], most likely for want of memory.
    pub fn upload(&self, volume: &Volume) -> Result<GpuVolume, GpuError> {
        self.upload_in_pieces(volume, self.most_bytes())
    }

    /// The same, in buffers of at most so many bytes.
    ///
    /// # Errors
    /// As [`Gpu::upload`].
    #[doc(hidden)]
    pub fn upload_in_pieces(&self, volume: &Volume, most_bytes: u64) -> Result<GpuVolume, GpuError> {
        let attempt = || self.attempt(|| self.chunks_of(volume, most_bytes));
        let chunks = match attempt() {
            Err(GpuError::OutOfMemory { .. }) if self.tidy_up() => attempt()?,
            attempted => attempted?,
        };
        Ok(GpuVolume {
            gpu: self.clone(),
            frame: volume.frame().clone(),
            range: volume.range(),
            most_bytes,
            decomposition: volume.decomposition().clone(),
            chunks,
            shown: Mutex::default(),
        })
    }

    /// Those of each PE.
    fn chunks_of(&self, volume: &Volume, most_bytes: u64) -> Result<Vec<Vec<Chunk>>, GpuError> {
        let pes = volume.decomposition().counts().iter().product();
        let mut chunks: Vec<Vec<Chunk>> = (0..pes).map(|_| Vec::new()).collect();
        let mut number = 0;
        let bounds = volume.grid().bounds();
        for (index, (block, cells)) in volume.blocks().iter().zip(volume.macrocells()).enumerate() {
            let pieces = pieces_of(block, cells, most_bytes)
                .ok_or_else(|| self.failed("two layers of the field are larger than a buffer may be"))?;
            for piece in pieces {
                chunks[volume.first() + index].push(self.chunk(number, block, cells, &piece, &bounds)?);
                number += 1;
            }
        }
        Ok(chunks)
    }

    fn chunk(
        &self,
        number: usize,
        block: &Block,
        cells: &Macrocells,
        piece: &Piece,
        bounds: &Box3,
    ) -> Result<Chunk, GpuError> {
        let layer: usize = block.stored.size()[..2].iter().product();
        let first = piece.stored.lo[2] - block.stored.lo[2];
        let values = &block.values[first * layer..][..piece.stored.volume()];
        let layer: usize = cells.counts[..2].iter().product();
        let ranges = &cells.ranges[piece.cubes[0] * layer..piece.cubes[1] * layer];
        let cubes = [cells.counts[0], cells.counts[1], piece.cubes[1] - piece.cubes[0]].map(|n| n as u32);
        Ok(Chunk {
            number,
            values: self.filled(values)?,
            ranges: self.filled(ranges)?,
            cubes,
            told: self.told(&ChunkTold::of(piece, cubes, bounds)),
            owned_z: [piece.owned.lo[2] as f64, piece.owned.hi[2] as f64],
        })
    }
}

impl ChunkTold {
    fn of(piece: &Piece, [x, y, z]: [u32; 3], bounds: &Box3) -> Self {
        let (owned, stored, size) = (&piece.owned, &piece.stored, piece.stored.size());
        let wide = |of: &dyn Fn(usize) -> f32| [of(0), of(1), of(2), 0.0];
        let stride = [1, size[0], size[0] * size[1]].map(|n| n as u32);
        let next: [u32; 3] = std::array::from_fn(|axis| if size[axis] > 1 { stride[axis] } else { 0 });
        let face = |at: usize, outer: usize, beyond: f32| if at == outer { beyond } else { at as f32 };
        Self {
            owned_lo: wide(&|axis| face(owned.lo[axis], bounds.lo[axis], -NOWHERE)),
            owned_hi: wide(&|axis| face(owned.hi[axis], bounds.hi[axis], NOWHERE)),
            origin: wide(&|axis| stored.lo[axis] as f32),
            last: wide(&|axis| (size[axis] - 1) as f32),
            last_cell: wide(&|axis| (size[axis].max(2) - 2) as f32),
            stride: [stride[0], stride[1], stride[2], 0],
            next: [next[0], next[1], next[2], 0],
            cubes: [x, y, z, 0],
        }
    }
}

impl GpuVolume {
    /// The device that has it.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Casts rays of a picture of `size` through `chunks`, one after another; `buffers` are those of a chunk, by binding.
    pub(super) fn cast<'a>(
        &'a self,
        encoder: &mut CommandEncoder,
        kernel: &ComputePipeline,
        chunks: impl IntoIterator<Item = &'a Chunk>,
        size: [usize; 2],
        buffers: impl Fn(&'a Chunk) -> Vec<&'a Buffer>,
    ) {
        let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
        pass.set_pipeline(kernel);
        for chunk in chunks {
            let buffers: Vec<_> = (0..).zip(buffers(chunk)).collect();
            pass.set_bind_group(0, &self.gpu.bound(kernel, &buffers), &[]);
            let [x, y, z] = groups_of(size);
            pass.dispatch_workgroups(x, y, z);
        }
    }

    /// All chunks.
    pub(super) fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        self.chunks.iter().flatten()
    }

    /// The chunks as they lie behind one another in `view`.
    pub(super) fn front_to_back(&self, view: &View) -> Vec<&Chunk> {
        let eye = RaySetup::new(view, &self.frame).eye();
        let nearest_first = |pe: usize| {
            let mut chunks: Vec<&Chunk> = self.chunks[pe].iter().collect();
            let [lo, hi] = [0, 1].map(|end| move |chunk: &Chunk| chunk.owned_z[end]);
            let away = |chunk: &Chunk| (lo(chunk) - eye[2]).max(eye[2] - hi(chunk)).max(0.0);
            chunks.sort_by(|a, b| away(a).total_cmp(&away(b)));
            chunks
        };
        self.decomposition.front_to_back(eye).into_iter().flat_map(nearest_first).collect()
    }
}

/// Groups of threads for so many rays.
pub(super) fn groups_of(size: [usize; 2]) -> [u32; 3] {
    let [x, y] = size.map(|n| (n as u32).div_ceil(GROUP_EDGE));
    [x, y, 1]
}

/// Cuts a block between layers of cubes so that each piece fits `most_bytes`; `None` where a layer of cubes does not.
fn pieces_of(block: &Block, cells: &Macrocells, most_bytes: u64) -> Option<Vec<Piece>> {
    let [nx, ny, nz] = block.stored.size();
    let most_layers = usize::try_from(most_bytes / (nx * ny * size_of::<f32>()) as u64).unwrap_or(usize::MAX);
    let most_cubes = if nz <= most_layers { cells.counts[2] } else { most_layers.checked_sub(1)? / Macrocells::EDGE };
    if most_cubes == 0 {
        return None;
    }
    let layer_of = |cube: usize| (block.stored.lo[2] + cube * Macrocells::EDGE).min(block.stored.hi[2] - 1);
    let piece = |first: usize| {
        let end = (first + most_cubes).min(cells.counts[2]);
        let (mut owned, mut stored) = (block.owned, block.stored);
        if first > 0 {
            (owned.lo[2], stored.lo[2]) = (layer_of(first), layer_of(first));
        }
        if end < cells.counts[2] {
            // The layer behind the last cell is read, and belongs to the next piece.
            (owned.hi[2], stored.hi[2]) = (layer_of(end), layer_of(end) + 1);
        }
        Piece { owned, stored, cubes: [first, end] }
    };
    Some((0..cells.counts[2]).step_by(most_cubes).map(piece).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(layers: usize, most_layers: u64) -> Option<Vec<Piece>> {
        let stored = Box3 { lo: [2, 0, 7], hi: [7, 3, 7 + layers] };
        let owned = Box3 { lo: [3, 0, 8], hi: [6, 3, 6 + layers] };
        let mut block = Block { owned, stored, values: vec![0.0; stored.volume()].into() };
        let cells = Macrocells::of(&mut block);
        pieces_of(&block, &cells, most_layers * 5 * 3 * 4)
    }

    #[test]
    fn pieces_own_each_layer_once_and_have_what_is_read_of_it() {
        for layers in 4..40 {
            for most in 5..13 {
                let pieces = pieces(layers, most).unwrap();
                assert_eq!((pieces[0].owned.lo[2], pieces[0].stored.lo[2]), (8, 7));
                assert_eq!(
                    pieces.last().map(|last| (last.owned.hi[2], last.stored.hi[2])),
                    Some((6 + layers, 7 + layers))
                );
                for pair in pieces.windows(2) {
                    assert_eq!((pair[0].owned.hi[2], pair[0].cubes[1]), (pair[1].owned.lo[2], pair[1].cubes[0]));
                }
                for piece in &pieces {
                    assert!(
                        piece.owned.lo[2] < piece.owned.hi[2]
                            && piece.stored.size()[2] as u64 <= most.max(layers as u64)
                    );
                    assert!(pieces.len() == 1 || piece.stored.size()[2] as u64 <= most);
                    assert!(piece.stored.lo[2] <= piece.owned.lo[2] && piece.owned.hi[2] < piece.stored.hi[2]);
                }
            }
        }
        assert_eq!(pieces(30, 4), None);
        assert_eq!(pieces(4, 4).map(|pieces| pieces.len()), Some(1));
    }
}
