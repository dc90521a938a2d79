//! A dense array of numbers at an offset of a file: what `.npy`, raw and NIfTI files hold.
//!
//! Invariant: the whole array lies inside the bytes there are; [`FlatArray::new`] refuses anything else.

use std::path::PathBuf;

use rayon::prelude::*;
use visapult_volume::{Box3, Reversed, StepIndex, StepSpan};

use crate::axes::remarked;
use crate::bytes::BytesAt;
use crate::reversed::turn;
use crate::roles::Role;
use crate::scalar::Encoding;
use crate::tiles::{covering, read_tiles};
use crate::witness::Witness;
use crate::{ReadRequest, Source, SourceError, SourceInfo, outside};

/// Values one thread converts at a time: 1 MiB of `f32`.
const PIECE_VALUES: usize = 1 << 18;
/// Stored bytes fetched at a time before conversion: stays in the first-level caches.
const CHUNK_BYTES: usize = 1 << 15;
/// Samples of the tiles in which an array with slow x is turned, along the axis on which they are nearest first: 512 KiB of `f32`.
const TILE: [usize; 3] = [256, 32, 16];

/// Where the samples of an array lie, in values from its first one.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Samples per axis, `[nx, ny, nz]`.
    pub(crate) size: [usize; 3],
    /// Distance between neighbours along x, y, z.
    pub(crate) strides: [u64; 3],
    /// Number of steps.
    pub(crate) steps: u64,
    /// Distance between neighbouring steps.
    pub(crate) step_stride: u64,
    /// Number of values for each sample of a step.
    pub(crate) channels: u64,
    /// Distance between neighbours of them.
    pub(crate) channel_stride: u64,
}

impl Layout {
    /// x fastest, then y, z, steps. `None` where the number of values overflows.
    pub(crate) fn x_fastest(size: [usize; 3], steps: u64) -> Option<Self> {
        Self::in_order(size, steps, 1, &[Role::Step, Role::Space(2), Role::Space(1), Role::Space(0)])
    }

    /// Steps fastest, then z, y, x. `None` where the number of values overflows.
    pub(crate) fn steps_fastest(size: [usize; 3], steps: u64) -> Option<Self> {
        Self::in_order(size, steps, 1, &[Role::Space(0), Role::Space(1), Role::Space(2), Role::Step])
    }

    /// Of an array with such axes, the last of them fastest; those that it lacks have one sample. `None` where the number of values overflows.
    pub(crate) fn in_order(size: [usize; 3], steps: u64, channels: u64, roles: &[Role]) -> Option<Self> {
        let mut layout = Self { size, strides: [0; 3], steps, step_stride: 0, channels, channel_stride: 0 };
        let mut values = 1_u64;
        for role in roles.iter().rev() {
            let (stride, length) = match *role {
                Role::Space(axis) => (&mut layout.strides[axis], size[axis] as u64),
                Role::Single => continue,
                Role::Step => (&mut layout.step_stride, steps),
                Role::Channel => (&mut layout.channel_stride, channels),
            };
            *stride = values;
            values = values.checked_mul(length)?;
        }
        Some(layout)
    }

    /// Where the first sample of a step and channel is, in values from the first of all.
    pub(crate) fn start(&self, step: StepIndex, channel: u64) -> u64 {
        step * self.step_stride + channel * self.channel_stride
    }

    /// Where a sample is, in values from the first of its step and channel.
    pub(crate) fn place(&self, at: [usize; 3]) -> u64 {
        (0..3).map(|axis| at[axis] as u64 * self.strides[axis]).sum()
    }

    /// The axes of space, those first along which samples are nearest to each other.
    fn nearest(&self) -> [usize; 3] {
        let mut axes = [0, 1, 2];
        // Along an axis of one sample nothing is near.
        axes.sort_by_key(|&axis| (self.size[axis] == 1, self.strides[axis]));
        axes
    }

    /// Samples of the tiles in which it is turned.
    fn tile(&self) -> [usize; 3] {
        let mut tile = [1; 3];
        self.nearest().into_iter().zip(TILE).for_each(|(axis, samples)| tile[axis] = samples);
        tile
    }

    /// Number of values in all steps.
    pub(crate) fn values(&self) -> u64 {
        let of_sample = self.steps.saturating_mul(self.channels);
        self.size.iter().fold(of_sample, |n, &edge| n.saturating_mul(edge as u64))
    }
}

/// A source whose one field is a dense array.
pub(crate) struct FlatSource<B> {
    info: SourceInfo,
    array: FlatArray<B>,
    reversed: Reversed,
    witness: Witness,
    /// The file that holds it, where that lies outside the folder of the one that was named.
    outside: Vec<PathBuf>,
}

impl<B: BytesAt> FlatSource<B> {
    /// `reversed`: the axes that run backwards in the array; `witness`: of the file that holds it.
    pub(crate) fn new(info: SourceInfo, array: FlatArray<B>, reversed: Reversed, witness: Witness) -> Self {
        Self { info, array, reversed, witness, outside: Vec::new() }
    }

    /// The same, of an array in a file outside the folder of the one that was named.
    pub(crate) fn outside(mut self, outside: Vec<PathBuf>) -> Self {
        self.info.format = remarked(self.info.format, outside::remark(&outside).as_slice());
        Self { outside, ..self }
    }
}

impl<B: BytesAt> Source for FlatSource<B> {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn outside(&self) -> Vec<PathBuf> {
        self.outside.clone()
    }

    fn steps(&self) -> StepSpan {
        StepSpan { first: 0, last: self.array.layout.steps - 1 }
    }

    fn grain(&self, _field: usize, _level: usize) -> [usize; 3] {
        if self.array.layout.strides[0] == 1 { [1; 3] } else { self.array.layout.tile() }
    }

    fn is_as_stored(&self, _field: usize, _level: usize) -> bool {
        self.array.encoding.is_plain()
    }

    fn read(&self, request: &ReadRequest, out: &mut [f32]) -> Result<(), SourceError> {
        request.check(&self.info, self.steps(), out.len())?;
        let bounds = self.reversed.in_source(&request.bounds, self.info.grid().size);
        self.witness.during(|| self.array.read(request.step, 0, &bounds, out))?;
        turn(self.reversed, bounds.size(), out);
        Ok(())
    }
}

/// A dense array at an offset of some bytes.
pub(crate) struct FlatArray<B> {
    path: String,
    bytes: B,
    offset: u64,
    encoding: Encoding,
    layout: Layout,
}

impl<B: BytesAt> FlatArray<B> {
    /// An array whose first value is at byte `offset` of `available` bytes.
    ///
    /// # Errors
    /// [`SourceError::Format`] if it does not lie inside the bytes there are.
    pub(crate) fn new(
        path: String,
        bytes: B,
        available: u64,
        offset: u64,
        encoding: Encoding,
        layout: Layout,
    ) -> Result<Self, SourceError> {
        let need = layout.values().checked_mul(encoding.bytes() as u64).and_then(|n| n.checked_add(offset));
        if need.is_none_or(|need| need > available) {
            let [nx, ny, nz] = layout.size;
            let need = need.map_or_else(|| "more bytes than can be addressed".to_owned(), |n| format!("{n} bytes"));
            let problem = format!(
                "{nx} x {ny} x {nz} samples of {} in {} step(s) from byte {offset} on need {need}, the file has \
                 {available}: it is truncated or its header is wrong; write it again",
                encoding.scalar, layout.steps
            );
            return Err(SourceError::Format { path, problem });
        }
        Ok(Self { path, bytes, offset, encoding, layout })
    }

    pub(crate) const fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// The byte after the last value.
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.layout.values() * self.encoding.bytes() as u64
    }

    /// Reads `bounds` of a step and channel into `out`, `[z, y, x]`.
    pub(crate) fn read(
        &self,
        step: StepIndex,
        channel: u64,
        bounds: &Box3,
        out: &mut [f32],
    ) -> Result<(), SourceError> {
        let start = self.layout.start(step, channel);
        if out.is_empty() {
            Ok(())
        } else if self.layout.strides[0] == 1 {
            self.read_rows(start, bounds, out)
        } else {
            self.read_turned(start, bounds, out)
        }
    }

    fn read_rows(&self, start: u64, bounds: &Box3, out: &mut [f32]) -> Result<(), SourceError> {
        let [nx, ny, _] = bounds.size();
        let run = self.run_length(bounds);
        out.par_chunks_mut(PIECE_VALUES).enumerate().try_for_each_init(Vec::new, |scratch, (index, piece)| {
            let mut done = 0;
            while done < piece.len() {
                let at = index * PIECE_VALUES + done;
                let count = (run - at % run).min(piece.len() - done);
                let sample = [at % nx, at / nx % ny, at / (nx * ny)];
                let sample = std::array::from_fn(|axis| bounds.lo[axis] + sample[axis]);
                self.read_run(start + self.layout.place(sample), &mut piece[done..done + count], scratch)?;
                done += count;
            }
            Ok(())
        })
    }

    /// Values of `bounds` that follow each other in the file.
    fn run_length(&self, bounds: &Box3) -> usize {
        let size = bounds.size();
        let mut run = size[0];
        for axis in 1..3 {
            let is_whole = size[axis - 1] == self.layout.size[axis - 1];
            if !(is_whole && (size[axis] == 1 || self.layout.strides[axis] == run as u64)) {
                break;
            }
            run *= size[axis];
        }
        run
    }

    fn read_run(&self, first: u64, out: &mut [f32], scratch: &mut Vec<u8>) -> Result<(), SourceError> {
        let width = self.encoding.bytes();
        if self.encoding.is_native_f32() {
            return self.fetch(first, bytemuck::cast_slice_mut(out));
        }
        for (index, part) in out.chunks_mut(CHUNK_BYTES / width).enumerate() {
            scratch.resize(part.len() * width, 0);
            self.fetch(first + (index * (CHUNK_BYTES / width)) as u64, scratch)?;
            self.encoding.decode(scratch, part);
        }
        Ok(())
    }

    fn fetch(&self, first: u64, out: &mut [u8]) -> Result<(), SourceError> {
        let offset = self.offset + first * self.encoding.bytes() as u64;
        self.bytes.read_at(offset, out).map_err(|cause| SourceError::io(&self.path, cause))
    }

    /// Another axis than x is fastest in the file: tiles are fetched in lines along the one of space that is fastest, and turned in memory.
    fn read_turned(&self, start: u64, bounds: &Box3, out: &mut [f32]) -> Result<(), SourceError> {
        let [near, next, far] = self.layout.nearest();
        read_tiles(&covering(bounds, self.layout.tile()), bounds, out, |tile, out| {
            let size = tile.size();
            let apart = [1, size[0], size[0] * size[1]];
            let mut lines = vec![0.0; size[near] * size[next]];
            let mut scratch = Vec::new();
            for i in 0..size[far] {
                let mut at = tile.lo;
                at[far] += i;
                self.read_lines(start, at, size[near], &mut lines, &mut scratch)?;
                for (j, line) in lines.chunks_exact(size[near]).enumerate() {
                    let first = i * apart[far] + j * apart[next];
                    out[first..].iter_mut().step_by(apart[near]).zip(line).for_each(|(out, value)| *out = *value);
                }
            }
            Ok(())
        })
    }

    /// Lines of `length` samples along the fastest axis, one after another along the next, from `at` on.
    fn read_lines(
        &self,
        start: u64,
        at: [usize; 3],
        length: usize,
        lines: &mut [f32],
        scratch: &mut Vec<u8>,
    ) -> Result<(), SourceError> {
        let [near, next, _] = self.layout.nearest();
        let strides = self.layout.strides;
        if strides[near] == 1 && (strides[next] == length as u64 || lines.len() == length) {
            return self.read_run(start + self.layout.place(at), lines, scratch);
        }
        lines.chunks_exact_mut(length).enumerate().try_for_each(|(number, line)| {
            let mut at = at;
            at[next] += number;
            self.read_line(start + self.layout.place(at), strides[near], line, scratch)
        })
    }

    /// Values that are `stride` apart, fetched together where that is not far.
    fn read_line(&self, first: u64, stride: u64, out: &mut [f32], scratch: &mut Vec<u8>) -> Result<(), SourceError> {
        if stride == 1 {
            return self.read_run(first, out, scratch);
        }
        let width = self.encoding.bytes();
        let span = (out.len() as u64 - 1).saturating_mul(stride).saturating_add(1).saturating_mul(width as u64);
        if span > CHUNK_BYTES as u64 {
            return out.iter_mut().enumerate().try_for_each(|(number, value)| {
                self.read_run(first + number as u64 * stride, std::slice::from_mut(value), scratch)
            });
        }
        scratch.resize(span as usize, 0);
        self.fetch(first, scratch)?;
        for (value, stored) in out.iter_mut().zip(scratch.chunks(stride as usize * width)) {
            self.encoding.decode(&stored[..width], std::slice::from_mut(value));
        }
        Ok(())
    }
}
