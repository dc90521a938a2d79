//! Reads the chunks of a dataset straight from the file, by all threads, where their filters are deflate and shuffle.
//!
//! Chunks and filters: HDF5 File Format Specification, "Data Storage - Filter Pipeline". Filters are undone last first.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use flate2::read::ZlibDecoder;
use hdf5_metno::Dataset;
use hdf5_metno::filters::Filter;
use hdf5_metno::sync::sync;
use hdf5_metno_sys::h5d::{H5D_CHUNK_IDX_BTREE, H5D_chunk_index_t, H5Dget_chunk_index_type};
use visapult_volume::{Box3, StepIndex};

use super::dataset::{moves, own_fill};
use super::find::Found;
use crate::SourceError;
use crate::bytes::BytesAt;
use crate::decoded::{Decoded, Shelf, cut_out, together};
use crate::flat::Layout;
use crate::roles::Role;
use crate::scalar::Encoding;
use crate::source::Together;
use crate::tiles::{covering, read_tiles};

/// Largest chunk that is decoded here, in bytes; the library takes larger ones.
const MAX_CHUNK_BYTES: usize = 1 << 28;
/// Extensible arrays among the kinds of index (H5Dpublic.h).
const H5D_CHUNK_IDX_EARRAY: H5D_chunk_index_t = 4;

/// Where a chunk is in the file.
#[derive(Clone, Copy, Debug)]
struct Place {
    offset: u64,
    bytes: u64,
    /// Bit i set: filter i was left out.
    skipped: u32,
}

/// A chunked dataset.
pub(super) struct Chunks {
    shown: String,
    bytes: File,
    file_length: u64,
    encoding: Encoding,
    /// The samples and steps of a chunk.
    chunk: Layout,
    /// By chunk number: step, z, y, x.
    places: HashMap<[u64; 4], Place>,
    filters: Vec<Filter>,
    /// Of those that hold several steps.
    shelf: Option<Shelf>,
    /// Steps that a chunk holds of the dataset.
    steps: u64,
    /// Value of samples whose chunk was never written.
    unwritten: f32,
    moves: bool,
}

impl Chunks {
    /// `None` where the library has to read the dataset.
    pub(super) fn new(
        shown: String,
        bytes: File,
        found: &Found,
        encoding: Encoding,
        decoded: &Arc<Decoded>,
    ) -> Option<Self> {
        let dataset = &found.dataset;
        let filters = dataset.filters();
        if !filters.iter().all(|filter| matches!(filter, Filter::Deflate(_) | Filter::Shuffle)) {
            return None;
        }
        // Those may be chunks at the edges that no filter has seen: rare, and the library knows them.
        if dataset.dcpl().ok()?.chunk_opts().is_some_and(|options| !options.is_empty()) {
            return None;
        }
        let chunk = dataset.chunk()?;
        let [steps, z, y, x] = found.shape.by_axis(&chunk, 1)?;
        let volume = chunk.iter().try_fold(encoding.bytes(), |n, &edge| n.checked_mul(edge))?;
        if volume == 0 || volume > MAX_CHUNK_BYTES {
            return None;
        }
        let channels = found.shape.channels;
        // What is decoded has all of them.
        if found.shape.place(Role::Channel).is_some_and(|axis| (chunk[axis] as u64) < channels) {
            return None;
        }
        let layout = Layout::in_order([x, y, z], steps as u64, channels, found.shape.roles())?;
        let places = places(found, &chunk)?;
        // After that: a program that writes for readers may have written more meanwhile.
        let file_length = bytes.metadata().ok()?.len();
        let unwritten = encoding.value_of(own_fill(dataset).unwrap_or(0.0));
        let steps = layout.steps.min(found.shape.steps);
        let width = encoding.bytes() * usize::try_from(channels).unwrap_or(usize::MAX);
        let shelf = if steps > 1 { decoded.shelf(x * y * z, layout.steps, width) } else { None };
        Some(Self {
            shown,
            bytes,
            file_length,
            encoding,
            chunk: layout,
            places,
            filters,
            shelf,
            steps,
            unwritten,
            moves: moves(found),
        })
    }

    pub(super) const fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    pub(super) const fn moves(&self) -> bool {
        self.moves
    }

    pub(super) fn together(&self) -> Together {
        together(self.shelf.as_ref(), self.steps)
    }

    pub(super) fn edge(&self) -> [usize; 3] {
        self.chunk.size
    }

    pub(super) fn read(
        &self,
        step: StepIndex,
        channel: u64,
        bounds: &Box3,
        out: &mut [f32],
    ) -> Result<(), SourceError> {
        let Layout { size: edge, steps, .. } = self.chunk;
        read_tiles(&covering(bounds, edge), bounds, out, |tile, out| {
            let [x, y, z]: [u64; 3] = std::array::from_fn(|axis| (tile.lo[axis] / edge[axis]) as u64);
            let number = [step / steps, z, y, x];
            let Some(place) = self.places.get(&number) else {
                out.fill(self.unwritten);
                return Ok(());
            };
            let decode = || {
                self.chunk(place).map_err(|problem| {
                    let at = place.offset;
                    SourceError::format(&self.shown, format!("its chunk at byte {at} {problem}: copy the file again"))
                })
            };
            let chunk = match &self.shelf {
                Some(shelf) => shelf.chunk(0, number, decode)?,
                None => Arc::new(decode()?),
            };
            let first = std::array::from_fn(|axis| tile.lo[axis] % edge[axis]);
            cut_out(
                &self.encoding,
                &chunk,
                &self.chunk,
                self.chunk.start(step % steps, channel),
                first,
                tile.size(),
                out,
            );
            Ok(())
        })
    }

    fn chunk_bytes(&self) -> usize {
        self.chunk.values() as usize * self.encoding.bytes()
    }

    /// The stored values of a chunk, filters undone.
    fn chunk(&self, place: &Place) -> Result<Vec<u8>, String> {
        let whole = self.chunk_bytes();
        // Deflate grows what it cannot shrink by a few bytes in a thousand.
        let in_file = place.offset.checked_add(place.bytes).is_some_and(|end| end <= self.file_length);
        if !in_file || place.bytes > (whole + whole / 100 + 1024) as u64 {
            return Err(format!("claims {} bytes, which are not there", place.bytes));
        }
        let mut bytes = vec![0; place.bytes as usize];
        self.bytes.read_at(place.offset, &mut bytes).map_err(|e| format!("cannot be read: {e}"))?;
        for (index, filter) in self.filters.iter().enumerate().rev() {
            if place.skipped & (1 << index) != 0 {
                continue;
            }
            bytes = match filter {
                Filter::Deflate(_) => inflate(&bytes, whole)?,
                _ => unshuffle(&bytes, self.encoding.bytes()),
            };
        }
        if bytes.len() == whole { Ok(bytes) } else { Err(format!("has {} bytes, not {whole}", bytes.len())) }
    }
}

/// Where the chunks are, by their numbers; `None` where that cannot be told.
fn places(found: &Found, chunk: &[usize]) -> Option<HashMap<[u64; 4], Place>> {
    let dataset = &found.dataset;
    if are_misnumbered(dataset)? {
        return None;
    }
    let extent = dataset.shape();
    let mut places = HashMap::new();
    let visited = dataset.chunks_visit(|info| {
        let axes = || info.offset.iter().zip(chunk).zip(&extent);
        let is_chunk = axes().all(|((&at, &edge), &length)| at % edge as u64 == 0 && at < length as u64);
        let at: Vec<u64> = axes().map(|((&at, &edge), _)| at / edge as u64).collect();
        let Some(number) = found.shape.by_axis(&at, 0).filter(|_| is_chunk) else { return -1 };
        let place = Place { offset: info.addr, bytes: info.size, skipped: info.filter_mask };
        if places.insert(number, place).is_none() { 0 } else { -1 }
    });
    visited.ok()?;
    Some(places)
}

/// Whether the library counts wrongly where chunks are when it lists them: those of an extensible array are stored with the unlimited axis first, and counted
/// as if it were where it is (H5D__earray_idx_iterate_cb, seen in 2.2.0). Their values it reads rightly.
#[expect(unsafe_code, reason = "no safe wrapper of this call")]
fn are_misnumbered(dataset: &Dataset) -> Option<bool> {
    let mut index = H5D_CHUNK_IDX_BTREE;
    // SAFETY: the dataset is open while `dataset` is there, and the number has a place of its own; one thread at a time calls the library.
    let told = sync(|| unsafe { H5Dget_chunk_index_type(dataset.id(), &raw mut index) });
    let first_is_unlimited = dataset.space().ok()?.maxdims().first().is_some_and(Option::is_none);
    (told >= 0).then_some(index == H5D_CHUNK_IDX_EARRAY && !first_is_unlimited)
}

fn inflate(bytes: &[u8], whole: usize) -> Result<Vec<u8>, String> {
    let mut inflated = Vec::with_capacity(whole);
    // One byte more than there may be, to tell a chunk that is too long.
    let limited = ZlibDecoder::new(bytes).take(whole as u64 + 1).read_to_end(&mut inflated);
    limited.map_err(|e| format!("cannot be decompressed ({e})"))?;
    Ok(inflated)
}

/// Puts the bytes of each value together again: the filter stores all first bytes, then all second ones, ...
fn unshuffle(bytes: &[u8], width: usize) -> Vec<u8> {
    let count = bytes.len() / width;
    let mut values = bytes.to_vec();
    for (place, column) in bytes.chunks_exact(count.max(1)).take(width).enumerate() {
        for (value, &byte) in values.chunks_exact_mut(width).zip(column) {
            value[place] = byte;
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unshuffling_puts_bytes_together_and_leaves_a_rest_alone() {
        assert_eq!(unshuffle(&[1, 3, 5, 2, 4, 6], 2), [1, 2, 3, 4, 5, 6]);
        assert_eq!(unshuffle(&[1, 3, 2, 4, 9], 2), [1, 2, 3, 4, 9]);
        assert_eq!(unshuffle(&[7], 4), [7]);
        assert!(unshuffle(&[], 8).is_empty());
    }
}
