//! Reads a dataset through the HDF5 library: any filter, any byte order, one thread at a time.

use std::ops::Range;
use std::sync::Arc;

use hdf5_metno::filters::Filter;
use hdf5_metno::types::TypeDescriptor;
use hdf5_metno::{Dataset, H5Type, Hyperslab, SliceOrIndex};
use visapult_volume::{Box3, ScalarType, StepIndex};

use super::dataset::{moves, scalar};
use super::find::Found;
use crate::SourceError;
use crate::decoded::{Decoded, Shelf, cut_out, together};
use crate::flat::Layout;
use crate::place::Place;
use crate::roles::Role;
use crate::scalar::{ByteOrder, Encoding};
use crate::source::Together;
use crate::tiles::{covering, read_tiles};

/// Values asked of the library at once: 1 MiB of `f32`.
const PIECE_VALUES: usize = 1 << 18;

/// What to do where a file of values is not found.
const EXTERNAL: &str = "the names of such files count from the folder that you are in: go to that of the HDF5 file, or set HDF5_EXTFILE_PREFIX='${ORIGIN}'";

/// A dataset that the library reads.
pub(super) struct Library {
    shown: String,
    dataset: Dataset,
    kind: TypeDescriptor,
    encoding: Encoding,
    /// What each axis of the dataset is.
    roles: Vec<Role>,
    /// Samples and steps of the dataset.
    size: [usize; 3],
    steps: u64,
    /// Samples read at once: whole chunks.
    piece: [usize; 3],
    /// Steps of a chunk.
    chunk_steps: u64,
    /// Of pieces of chunks that hold several steps.
    shelf: Option<Shelf>,
    moves: bool,
}

impl Library {
    pub(super) fn new(
        place: &Place,
        found: &Found,
        kind: TypeDescriptor,
        encoding: Encoding,
        decoded: &Arc<Decoded>,
    ) -> Result<Self, SourceError> {
        let shown = format!("{}:/{}", place.display(), found.path);
        let filters = found.dataset.create_plist().is_ok_and(|created| created.all_filters_avail());
        if !filters {
            let name = plugin_of(&found.dataset);
            let problem = format!(
                "it is compressed by {name}, which is not built in: write it with gzip (h5repack -f GZIP=4 in.h5 out.h5, where the filter is installed)"
            );
            return Err(SourceError::format(shown, problem));
        }
        let chunk = found.dataset.chunk().and_then(|chunk| found.shape.by_axis(&chunk, 1));
        let [steps, z, y, x] = chunk.unwrap_or([1; 4]).map(|n| n.max(1));
        let chunk_steps = (steps as u64).min(found.shape.steps);
        let size = found.shape.size;
        let piece = grown([x, y, z], size, PIECE_VALUES / chunk_steps as usize);
        let samples = (0..3).map(|axis| piece[axis].min(size[axis])).product();
        // Its types are read as they are, but for booleans and floats of two bytes.
        let width = if kind == TypeDescriptor::Boolean { 1 } else { as_read(&encoding).bytes() };
        let shelf = if chunk_steps > 1 { decoded.shelf(samples, chunk_steps, width) } else { None };
        let (dataset, roles) = (found.dataset.clone(), found.shape.roles().to_vec());
        let steps = found.shape.steps;
        Ok(Self { shown, dataset, kind, encoding, roles, size, steps, piece, chunk_steps, shelf, moves: moves(found) })
    }

    pub(super) const fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    pub(super) const fn moves(&self) -> bool {
        self.moves
    }

    pub(super) const fn piece(&self) -> [usize; 3] {
        self.piece
    }

    pub(super) fn together(&self) -> Together {
        together(self.shelf.as_ref(), self.chunk_steps)
    }

    pub(super) fn read(
        &self,
        step: StepIndex,
        channel: u64,
        bounds: &Box3,
        out: &mut [f32],
    ) -> Result<(), SourceError> {
        read_tiles(&covering(bounds, self.piece), bounds, out, |tile, out| {
            self.read_tile(step, channel, tile, out).map_err(|e| {
                let cause = super::one_line(&e);
                let way = if cause.contains("external raw data file") { EXTERNAL } else { "copy it again" };
                SourceError::format(&self.shown, format!("box {tile} of step {step} cannot be read: {cause}; {way}"))
            })
        })
    }

    fn read_tile(&self, step: StepIndex, channel: u64, tile: &Box3, out: &mut [f32]) -> hdf5_metno::Result<()> {
        let Some(shelf) = &self.shelf else {
            let values = self.values(step..step + 1, channel, tile)?;
            return self.cut_out(&values, tile, 0..1, 0, tile, out);
        };
        let [x, y, z]: [usize; 3] = std::array::from_fn(|axis| tile.lo[axis] / self.piece[axis]);
        let lo = [x * self.piece[0], y * self.piece[1], z * self.piece[2]];
        let hi = std::array::from_fn(|axis| lo[axis].saturating_add(self.piece[axis]).min(self.size[axis]));
        let row = step / self.chunk_steps;
        let steps = row * self.chunk_steps..((row + 1) * self.chunk_steps).min(self.steps);
        let piece = Box3 { lo, hi };
        let number = [row, z as u64, y as u64, x as u64];
        let values = shelf.chunk(channel, number, || self.values(steps.clone(), channel, &piece))?;
        self.cut_out(&values, &piece, steps, step, tile, out)
    }

    /// Puts those of `values`, which are the stored ones of `piece` in `steps`, in order that are of `tile` and `step`.
    fn cut_out(
        &self,
        values: &[u8],
        piece: &Box3,
        steps: Range<StepIndex>,
        step: StepIndex,
        tile: &Box3,
        out: &mut [f32],
    ) -> hdf5_metno::Result<()> {
        let layout = Layout::in_order(piece.size(), steps.end - steps.start, 1, &self.roles);
        let layout = layout.ok_or("it is too large")?;
        let first = std::array::from_fn(|axis| tile.lo[axis] - piece.lo[axis]);
        let encoding = match self.kind {
            TypeDescriptor::Boolean => Encoding::plain(ScalarType::U8, ByteOrder::NATIVE),
            _ => as_read(&self.encoding),
        };
        cut_out(&encoding, values, &layout, layout.start(step - steps.start, 0), first, tile.size(), out);
        Ok(())
    }

    /// The stored values of a box and a channel in some steps, in the order in which they are stored.
    fn values(&self, steps: Range<StepIndex>, channel: u64, tile: &Box3) -> hdf5_metno::Result<Vec<u8>> {
        let part = self.part(steps, channel, tile);
        match (scalar(&self.kind), &self.kind) {
            (_, TypeDescriptor::Boolean) => Ok(self.slice::<bool>(part)?.into_iter().map(u8::from).collect()),
            (ScalarType::U8, _) => self.slice::<u8>(part),
            (ScalarType::I8, _) => self.bytes::<i8>(part),
            (ScalarType::U16, _) => self.bytes::<u16>(part),
            (ScalarType::I16, _) => self.bytes::<i16>(part),
            (ScalarType::U32, _) => self.bytes::<u32>(part),
            (ScalarType::I32, _) => self.bytes::<i32>(part),
            (ScalarType::U64, _) => self.bytes::<u64>(part),
            (ScalarType::I64, _) => self.bytes::<i64>(part),
            (ScalarType::F16 | ScalarType::F32, _) => self.bytes::<f32>(part),
            (ScalarType::F64, _) => self.bytes::<f64>(part),
        }
    }

    fn part(&self, steps: Range<StepIndex>, channel: u64, tile: &Box3) -> Hyperslab {
        let range = |start: usize, end: usize| SliceOrIndex::SliceTo { start, step: 1, end, block: 1 };
        let [first, end, channel] = [steps.start, steps.end, channel].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        let of = |role: &Role| match *role {
            Role::Space(axis) => range(tile.lo[axis], tile.hi[axis]),
            Role::Single => range(0, 1),
            Role::Channel => range(channel, channel.saturating_add(1)),
            Role::Step => range(first, end),
        };
        Hyperslab::new(self.roles.iter().map(of).collect::<Vec<_>>())
    }

    fn bytes<T: H5Type + bytemuck::Pod>(&self, part: Hyperslab) -> hdf5_metno::Result<Vec<u8>> {
        Ok(bytemuck::cast_slice(&self.slice::<T>(part)?).to_vec())
    }

    fn slice<T: H5Type>(&self, part: Hyperslab) -> hdf5_metno::Result<Vec<T>> {
        let values = self.dataset.read_slice::<T, _, ndarray::IxDyn>(part)?;
        Ok(values.into_raw_vec_and_offset().0)
    }
}

/// What the filter is called by which a dataset is compressed and that is not built in (HDF5 registered filter plug-ins).
fn plugin_of(dataset: &Dataset) -> String {
    let filters = dataset.create_plist().map(|created| created.filters()).unwrap_or_default();
    let user = filters.iter().find_map(|filter| if let Filter::User(id, _) = filter { Some(*id) } else { None });
    let szip = filters.iter().any(|filter| matches!(filter, Filter::SZip(..)));
    match user {
        _ if szip => "szip".to_owned(),
        Some(307) => "bzip2".to_owned(),
        Some(32000) => "LZF".to_owned(),
        Some(32001) => "Blosc".to_owned(),
        Some(32004) => "LZ4".to_owned(),
        Some(32008) => "bitshuffle".to_owned(),
        Some(32013) => "ZFP".to_owned(),
        Some(32015) => "Zstandard".to_owned(),
        Some(32026) => "Blosc2".to_owned(),
        Some(id) => format!("filter {id}"),
        None => "a filter".to_owned(),
    }
}

/// How values are decoded that the library has read: two-byte floats of any layout fit a single.
fn as_read(stored: &Encoding) -> Encoding {
    match stored.scalar {
        ScalarType::F16 => Encoding { scalar: ScalarType::F32, ..stored.clone() },
        _ => stored.clone(),
    }
}

/// Whole chunks side by side, until a piece has so many values.
fn grown(chunk: [usize; 3], size: [usize; 3], values: usize) -> [usize; 3] {
    let mut piece = chunk;
    for axis in 0..3 {
        let volume: usize = piece.iter().fold(1, |n: usize, &edge| n.saturating_mul(edge));
        let times = (values / volume.max(1)).clamp(1, size[axis].div_ceil(piece[axis]).max(1));
        piece[axis] = piece[axis].saturating_mul(times);
    }
    piece
}
