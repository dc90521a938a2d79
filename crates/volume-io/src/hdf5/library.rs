//! Reads a dataset through the HDF5 library: any filter, any byte order, one thread at a time.

use hdf5_metno::filters::Filter;
use hdf5_metno::types::TypeDescriptor;
use hdf5_metno::{Dataset, H5Type, Hyperslab, SliceOrIndex};
use visapult_volume::{Box3, ScalarType, StepIndex};

use super::dataset::{moves, scalar};
use super::find::Found;
use crate::SourceError;
use crate::place::Place;
use crate::roles::{Role, is_in_order, put_in_order};
use crate::scalar::Encoding;
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
    /// Samples read at once: whole chunks.
    piece: [usize; 3],
    moves: bool,
}

impl Library {
    pub(super) fn new(
        place: &Place,
        found: &Found,
        kind: TypeDescriptor,
        encoding: Encoding,
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
        let [_, z, y, x] = chunk.unwrap_or([1; 4]).map(|n| n.max(1));
        let piece = grown([x, y, z], found.shape.size);
        let roles = found.shape.roles().to_vec();
        Ok(Self { shown, dataset: found.dataset.clone(), kind, encoding, roles, piece, moves: moves(found) })
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

    pub(super) fn read(&self, step: StepIndex, bounds: &Box3, out: &mut [f32]) -> Result<(), SourceError> {
        read_tiles(&covering(bounds, self.piece), bounds, out, |tile, out| {
            self.read_in_order(step, tile, out).map_err(|e| {
                let cause = super::one_line(&e);
                let way = if cause.contains("external raw data file") { EXTERNAL } else { "copy it again" };
                SourceError::format(&self.shown, format!("box {tile} of step {step} cannot be read: {cause}; {way}"))
            })
        })
    }

    fn read_in_order(&self, step: StepIndex, tile: &Box3, out: &mut [f32]) -> hdf5_metno::Result<()> {
        if is_in_order(&self.roles) {
            return self.read_piece(step, tile, out);
        }
        let mut stored = vec![0.0; out.len()];
        self.read_piece(step, tile, &mut stored)?;
        put_in_order(&self.roles, &stored, tile.size(), out);
        Ok(())
    }

    fn read_piece(&self, step: StepIndex, tile: &Box3, out: &mut [f32]) -> hdf5_metno::Result<()> {
        match (scalar(&self.kind), &self.kind) {
            (_, TypeDescriptor::Boolean) => {
                let values = self.slice::<bool>(step, tile)?;
                out.iter_mut().zip(values).for_each(|(out, value)| *out = if value { 1.0 } else { 0.0 });
                Ok(())
            }
            (ScalarType::U8, _) => self.decode::<u8>(step, tile, out),
            (ScalarType::I8, _) => self.decode::<i8>(step, tile, out),
            (ScalarType::U16, _) => self.decode::<u16>(step, tile, out),
            (ScalarType::I16, _) => self.decode::<i16>(step, tile, out),
            (ScalarType::U32, _) => self.decode::<u32>(step, tile, out),
            (ScalarType::I32, _) => self.decode::<i32>(step, tile, out),
            (ScalarType::U64, _) => self.decode::<u64>(step, tile, out),
            (ScalarType::I64, _) => self.decode::<i64>(step, tile, out),
            (ScalarType::F16 | ScalarType::F32, _) => {
                // Two-byte floats of any layout fit a single.
                let encoding = Encoding { scalar: ScalarType::F32, ..self.encoding.clone() };
                encoding.decode(bytemuck::cast_slice(&self.slice::<f32>(step, tile)?), out);
                Ok(())
            }
            (ScalarType::F64, _) => self.decode::<f64>(step, tile, out),
        }
    }

    fn decode<T: H5Type + bytemuck::Pod>(
        &self,
        step: StepIndex,
        tile: &Box3,
        out: &mut [f32],
    ) -> hdf5_metno::Result<()> {
        self.encoding.decode(bytemuck::cast_slice(&self.slice::<T>(step, tile)?), out);
        Ok(())
    }

    fn slice<T: H5Type>(&self, step: StepIndex, tile: &Box3) -> hdf5_metno::Result<Vec<T>> {
        let range = |start: usize, end: usize| SliceOrIndex::SliceTo { start, step: 1, end, block: 1 };
        let step = usize::try_from(step).unwrap_or(usize::MAX - 1);
        let of = |role: &Role| match *role {
            Role::Space(axis) => range(tile.lo[axis], tile.hi[axis]),
            Role::Single => range(0, 1),
            Role::Step | Role::Channel => range(step, step + 1),
        };
        let axes: Vec<_> = self.roles.iter().map(of).collect();
        let values = self.dataset.read_slice::<T, _, ndarray::IxDyn>(Hyperslab::new(axes))?;
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

/// Whole chunks side by side, until a piece is worth a call.
fn grown(chunk: [usize; 3], size: [usize; 3]) -> [usize; 3] {
    let mut piece = chunk;
    for axis in 0..3 {
        let volume: usize = piece.iter().fold(1, |n: usize, &edge| n.saturating_mul(edge));
        let times = (PIECE_VALUES / volume.max(1)).clamp(1, size[axis].div_ceil(piece[axis]).max(1));
        piece[axis] = piece[axis].saturating_mul(times);
    }
    piece
}
