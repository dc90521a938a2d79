//! One Zarr array and which of its axes are steps, channels and space.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use visapult_volume::{Box3, ScalarType, StepIndex};
use zarrs::array::{
    Array, ArrayBytes, ArrayError, ArrayMetadata, ArrayShardedExt, ArraySubset, CodecError, CodecOptions,
};
use zarrs::metadata::v2::DataTypeMetadataV2;
use zarrs::storage::StorageError;

use super::attributes;
use super::store::{Store, of_request};
use crate::SourceError;
use crate::coordinates::cut;
use crate::decoded::{Shelf, cut_out, together};
use crate::flat::Layout;
use crate::roles::{Role, as_told, is_in_order, put_in_order, singles, staying, usual, with_singles};
use crate::scalar::Encoding;
use crate::shape::{too_many_axes, wrong_axes};
use crate::source::Together;
use crate::tiles::{covering, fetch_tiles, read_tiles};

/// Largest chunk that is decoded, in bytes.
pub(super) const MAX_CHUNK_BYTES: u64 = 1 << 30;
/// Chunks that are waited for at one time, and bytes of them when they are decoded, where they come from far away.
const MOST_FETCHES: u64 = 32;
const MOST_WAITING: u64 = 128 << 20;
/// Steps, channels, z, y, x.
const MOST_AXES: usize = 5;
/// Values read at once from a shard larger than this.
const PIECE_VALUES: usize = 1 << 20;

/// An array that can be read as fields.
pub(super) struct Stored {
    shown: String,
    array: Array<Store>,
    encoding: Encoding,
    roles: Vec<Role>,
    /// Samples decoded at once.
    tile: [usize; 3],
    /// Steps decoded at once.
    tile_steps: u64,
    /// Of tiles that hold several steps.
    shelf: Option<Shelf>,
    /// Chunks that are waited for at one time, where they come from far away.
    fetches: usize,
}

impl Stored {
    /// `roles` are those of the array's axes.
    pub(super) fn new(shown: String, array: Array<Store>, roles: Vec<Role>) -> Result<Self, String> {
        let encoding = encoding(&array)?;
        if roles.len() != array.shape().len() {
            return Err(format!("it has {} axes, {} are named", array.shape().len(), roles.len()));
        }
        if array.shape().contains(&0) {
            return Err(format!("its shape {:?} holds no value: every axis needs at least one", array.shape()));
        }
        let store = array.storage();
        let (tile, bytes) = tile(&array, &roles, encoding.bytes() as u64, store.is_far())?;
        let fetches = (MOST_WAITING / bytes.max(1)).clamp(1, MOST_FETCHES) as usize;
        let size = space(&roles, array.shape());
        let samples = (0..3).map(|axis| tile[axis].min(size[axis])).fold(1, usize::saturating_mul);
        let tile_steps = steps_together(&array, &roles);
        let shelf = if tile_steps > 1 { store.decoded().shelf(samples, tile_steps, encoding.bytes()) } else { None };
        let array = if array.is_sharded() { array.with_storage(Arc::new(store.in_parts())) } else { array };
        Ok(Self { shown, array, encoding, roles, tile, tile_steps, shelf, fetches })
    }

    /// What each axis is, as it is stored.
    pub(super) fn roles(&self) -> &[Role] {
        &self.roles
    }

    /// The names of the axes, as they are stored, where the array names them.
    pub(super) fn axis_names(&self) -> Vec<String> {
        axis_names(&self.array).unwrap_or_default()
    }

    pub(super) fn attributes(&self) -> &attributes::Attributes {
        self.array.attributes()
    }

    pub(super) fn scalar(&self) -> ScalarType {
        self.encoding.scalar
    }

    /// Samples decoded at once.
    pub(super) const fn grain(&self) -> [usize; 3] {
        self.tile
    }

    /// Steps decoded at once.
    pub(super) fn together(&self) -> Together {
        together(self.shelf.as_ref(), self.tile_steps)
    }

    pub(super) fn is_as_stored(&self) -> bool {
        self.encoding.is_plain()
    }

    pub(super) fn shape(&self) -> &[u64] {
        self.array.shape()
    }

    pub(super) fn size(&self) -> [usize; 3] {
        space(&self.roles, self.array.shape())
    }

    pub(super) fn steps(&self) -> u64 {
        self.length(Role::Step)
    }

    /// Whether it has an axis of steps.
    pub(super) fn has_steps(&self) -> bool {
        self.roles.contains(&Role::Step)
    }

    pub(super) fn channels(&self) -> u64 {
        self.length(Role::Channel)
    }

    fn length(&self, role: Role) -> u64 {
        self.roles.iter().position(|r| *r == role).map_or(1, |axis| self.array.shape()[axis])
    }

    /// Names of the axes of space, x first, and of the steps, where the array names its axes.
    pub(super) fn axis_name(&self, role: Role) -> Option<String> {
        let axis = self.roles.iter().position(|r| *r == role)?;
        axis_names(&self.array)?.into_iter().nth(axis)
    }

    pub(super) fn format(&self) -> String {
        let version = match self.array.metadata() {
            ArrayMetadata::V2(_) => 2,
            ArrayMetadata::V3(_) => 3,
        };
        format!("version {version}{}", if self.array.is_sharded() { ", sharded" } else { "" })
    }

    pub(super) fn read(
        &self,
        step: StepIndex,
        channel: u64,
        bounds: &Box3,
        out: &mut [f32],
    ) -> Result<(), SourceError> {
        let tiles = covering(bounds, self.tile);
        let store = self.array.storage();
        if store.is_far() {
            let missing = store.missing_chunks();
            let mut options = CodecOptions::default();
            options.set_concurrent_target(1);
            fetch_tiles(&tiles, self.fetches, bounds, out, |tile, out| {
                self.read_tile(step, channel, tile, &options, out, |bytes, out| self.encoding.decode(bytes, out))
            })?;
            return if store.missing_chunks() == missing { Ok(()) } else { store.check_is_still_there() };
        }
        // Where there are tiles for all threads, the decoder of each needs no threads of its own.
        let mut options = CodecOptions::default();
        if tiles.len() >= rayon::current_num_threads() {
            options.set_concurrent_target(1);
        }
        read_tiles(&tiles, bounds, out, |tile, out| {
            self.read_tile(step, channel, tile, &options, out, |bytes, out| self.decode(bytes, out))
        })?;
        store.check_is_still_there()
    }

    fn read_tile(
        &self,
        step: StepIndex,
        channel: u64,
        tile: &Box3,
        options: &CodecOptions,
        out: &mut [f32],
        decode: impl Fn(&[u8], &mut [f32]),
    ) -> Result<(), SourceError> {
        let Some(shelf) = &self.shelf else {
            let bytes = self.retrieve(&self.subset(step..step + 1, channel, tile), options)?;
            if is_in_order(&self.roles) {
                decode(&bytes, out);
            } else {
                let mut stored = vec![0.0; out.len()];
                decode(&bytes, &mut stored);
                put_in_order(&self.roles, &stored, tile.size(), out);
            }
            return Ok(());
        };
        let size = self.size();
        let [x, y, z]: [usize; 3] = std::array::from_fn(|axis| tile.lo[axis] / self.tile[axis]);
        let lo = [x * self.tile[0], y * self.tile[1], z * self.tile[2]];
        let hi = std::array::from_fn(|axis| lo[axis].saturating_add(self.tile[axis]).min(size[axis]));
        let row = step / self.tile_steps;
        let steps = row * self.tile_steps..((row + 1) * self.tile_steps).min(self.steps());
        let whole = self.subset(steps.clone(), channel, &Box3 { lo, hi });
        let number = [row, z as u64, y as u64, x as u64];
        let bytes = shelf.chunk(channel, number, || self.retrieve(&whole, options))?;
        let roles: Vec<Role> = self.roles.iter().copied().filter(|role| *role != Role::Channel).collect();
        let size = std::array::from_fn(|axis| hi[axis] - lo[axis]);
        let Some(layout) = Layout::in_order(size, steps.end - steps.start, 1, &roles) else {
            return Err(SourceError::format(&self.shown, "its chunks are too large"));
        };
        let first = std::array::from_fn(|axis| tile.lo[axis] - lo[axis]);
        cut_out(&self.encoding, &bytes, &layout, layout.start(step - steps.start, 0), first, tile.size(), out);
        Ok(())
    }

    /// The stored values of a part, in the order in which they are stored.
    fn retrieve(&self, subset: &ArraySubset, options: &CodecOptions) -> Result<Vec<u8>, SourceError> {
        let wrong = |problem: String| {
            let problem = format!("{} cannot be read: {problem}; copy it again", self.told(subset));
            SourceError::format(&self.shown, problem)
        };
        let read = self.array.retrieve_array_subset_opt::<ArrayBytes<'_>>(subset, options);
        let bytes = read.map_err(|e| asked_in_vain(&e).unwrap_or_else(|| wrong(super::one_line(&e))))?;
        match bytes {
            ArrayBytes::Fixed(bytes) if bytes.len() as u64 == subset.num_elements() * self.encoding.bytes() as u64 => {
                Ok(bytes.into_owned())
            }
            _ => Err(wrong("it holds less than it should".to_owned())),
        }
    }

    /// Which box, step and chunk a part is, or begins in.
    fn told(&self, subset: &ArraySubset) -> String {
        let (start, end) = (subset.start(), subset.end_exc());
        let place = |role: Role| self.roles.iter().position(|known| *known == role);
        let bound = |bounds: &[u64], none| {
            std::array::from_fn(|axis| place(Role::Space(axis)).map_or(none, |place| bounds[place] as usize))
        };
        let tile = Box3 { lo: bound(start, 0), hi: bound(&end, 1) };
        let step = place(Role::Step).map_or(0, |place| start[place]);
        let chunks = self.array.chunks_in_array_subset(subset).ok().flatten();
        let chunk = chunks.map(|chunks| format!(" in chunk {}", self.array.chunk_key(chunks.start())));
        format!("box {tile} of step {step}{}", chunk.unwrap_or_default())
    }

    fn decode(&self, bytes: &[u8], out: &mut [f32]) {
        let width = self.encoding.bytes();
        out.par_chunks_mut(PIECE_VALUES).zip(bytes.par_chunks(PIECE_VALUES * width)).for_each(|(out, bytes)| {
            self.encoding.decode(bytes, out);
        });
    }

    fn subset(&self, steps: Range<StepIndex>, channel: u64, tile: &Box3) -> ArraySubset {
        let range = |role: &Role| match *role {
            Role::Step => steps.clone(),
            Role::Channel => channel..channel + 1,
            Role::Single => 0..1,
            Role::Space(axis) => tile.lo[axis] as u64..tile.hi[axis] as u64,
        };
        ArraySubset::new_with_ranges(&self.roles.iter().map(range).collect::<Vec<_>>())
    }
}

/// The lengths of the axes of space.
fn space(roles: &[Role], shape: &[u64]) -> [usize; 3] {
    let length = |role| roles.iter().position(|known| *known == role).map_or(1, |axis| shape[axis]);
    std::array::from_fn(|axis| usize::try_from(length(Role::Space(axis))).unwrap_or(usize::MAX))
}

/// Steps of an array that are decoded at once.
fn steps_together(array: &Array<Store>, roles: &[Role]) -> u64 {
    let Some(axis) = roles.iter().position(|role| *role == Role::Step) else { return 1 };
    let shape = array.effective_subchunk_shape().or_else(|| array.chunk_shape(&vec![0; roles.len()]).ok());
    shape.map_or(1, |shape| shape[axis].get().min(array.shape()[axis]))
}

/// What became of a request, if that is why a chunk cannot be had.
fn asked_in_vain(error: &ArrayError) -> Option<SourceError> {
    match error {
        ArrayError::StorageError(StorageError::IOError(cause))
        | ArrayError::CodecError(CodecError::StorageError(StorageError::IOError(cause))) => of_request(cause),
        _ => None,
    }
}

/// The fill value of the array itself, where it stands for what is missing: in version 2, where there is one only if somebody chose it. Every array of version
/// 3 has one, which is what chunks hold that were never written, and no more (as xarray has it, too). Zero is what most writers give without meaning "missing".
fn own_fill(array: &Array<Store>) -> Option<f64> {
    let ArrayMetadata::V2(metadata) = array.metadata() else { return None };
    metadata.fill_value.as_f64().filter(|fill| fill.is_finite() && *fill != 0.0)
}

/// Whether an array holds the coordinates of the axis that it is named after.
pub(super) fn is_coordinates(array: &Array<Store>, name: &str) -> bool {
    array.shape().len() == 1 && axis_names(array).is_some_and(|names| names == [name])
}

pub(super) fn axis_names(array: &Array<Store>) -> Option<Vec<String>> {
    if let Some(names) = array.dimension_names() {
        return Some(names.iter().map(|name| name.clone().unwrap_or_default()).collect());
    }
    // Version 2 has no names; this is where xarray puts them.
    let names = array.attributes().get("_ARRAY_DIMENSIONS")?.as_array()?;
    names.iter().map(|name| name.as_str().map(str::to_owned)).collect()
}

/// What the axes of an array are: what is `told` of those of such names, what they are called where that contradicts itself, else z, y, x in the end and
/// before them steps and channels.
pub(super) fn roles_of(array: &Array<Store>, told: impl FnMut(&str) -> Option<Role>) -> Result<Vec<Role>, String> {
    let shape = array.shape();
    if shape.len() < 3 {
        return Err(wrong_axes(shape));
    }
    let names = axis_names(array).unwrap_or_default();
    let told: Vec<_> = names.iter().map(String::as_str).map(told).collect();
    let by_name: Vec<_> = names.iter().map(|name| Role::of_name(name)).collect();
    let known =
        if shape.len() <= MOST_AXES { roles_as(shape, &told).or_else(|| roles_as(shape, &by_name)) } else { None };
    known.or_else(|| roles_without_singles(shape, &told)).or_else(|| roles_without_singles(shape, &by_name)).ok_or_else(|| {
        if shape.len() > MOST_AXES {
            return too_many_axes(shape, &names, &told);
        }
        let names: Vec<_> = names.iter().map(|name| cut(name)).collect();
        let named = names.join(", ");
        format!("nothing tells which of its axes ({named}) is which: name them t, c, z, y, x, or store them in this order")
    })
}

/// The roles where axes of one sample are left out.
fn roles_without_singles(shape: &[u64], told: &[Option<Role>]) -> Option<Vec<Role>> {
    (3..=MOST_AXES).rev().filter(|most| *most < shape.len()).find_map(|most| {
        let is_single = singles(shape, told, most)?;
        let roles = roles_as(&staying(shape, &is_single), &staying(told, &is_single))?;
        Some(with_singles(roles, &is_single))
    })
}

/// The roles of axes that are `named` so; `None` where that is neither clear nor the usual order.
fn roles_as(shape: &[u64], named: &[Option<Role>]) -> Option<Vec<Role>> {
    let is_once = |role: &Option<Role>| named.iter().filter(|other| *other == role).count() == 1;
    let has = |axis| named.contains(&Some(Role::Space(axis)));
    if named.len() == shape.len() && named.iter().all(|role| role.is_some() && is_once(role)) && has(0) && has(1) {
        return Some(named.iter().copied().flatten().collect());
    }
    if let Some(roles) = as_told(named).or_else(|| with_members(named)) {
        return Some(roles);
    }
    let guessed = match shape.len() {
        3 => usual(named),
        axes => roles_in_order(axes, named.first() == Some(&Some(Role::Channel))),
    };
    let agrees = |(guess, named): (&Role, &Option<Role>)| named.is_none_or(|named| named == *guess);
    guessed.iter().zip(named).all(agrees).then_some(guessed)
}

/// The roles of 5 axes of which one alone is none of steps, z, y, x: what lies along it are members of an ensemble, each a field as channels are.
fn with_members(named: &[Option<Role>]) -> Option<Vec<Role>> {
    let all = [Role::Step, Role::Space(2), Role::Space(1), Role::Space(0)];
    let is_all = named.len() == MOST_AXES && all.iter().all(|role| named.contains(&Some(*role)));
    is_all.then(|| named.iter().map(|role| role.unwrap_or(Role::Channel)).collect())
}

/// The roles of 4 or 5 axes that nothing names.
fn roles_in_order(axes: usize, has_channels_first: bool) -> Vec<Role> {
    let before: &[Role] = match axes {
        4 if has_channels_first => &[Role::Channel],
        4 => &[Role::Step],
        _ if has_channels_first => &[Role::Channel, Role::Step],
        _ => &[Role::Step, Role::Channel],
    };
    [before, &[Role::Space(2), Role::Space(1), Role::Space(0)]].concat()
}

/// How the values of an array are stored.
fn encoding(array: &Array<Store>) -> Result<Encoding, String> {
    encoding_told(array, || own_fill(array))
}

/// The same of coordinates, of which only what their attributes say is missing.
pub(super) fn encoding_of_coordinates(array: &Array<Store>) -> Result<Encoding, String> {
    Ok(encoding_told(array, || None)?.of_coordinates())
}

fn encoding_told(array: &Array<Store>, own_fill: impl FnOnce() -> Option<f64>) -> Result<Encoding, String> {
    let found = array.attributes();
    let (numbers, text) = (|name: &str| attributes::numbers(found, name), |name: &str| attributes::text(found, name));
    let is_whole = |name: &str| attributes::are_whole(found, name);
    Ok(Encoding::told(scalar(array.metadata())?, numbers, is_whole, text, own_fill))
}

/// Samples to decode at once, a chunk or part of a shard, and the bytes that are decoded for them.
fn tile(array: &Array<Store>, roles: &[Role], bytes: u64, is_far: bool) -> Result<([usize; 3], u64), String> {
    let wrong = |e: &dyn std::fmt::Display| format!("its chunks are not understood: {}", super::one_line(e));
    let chunk = array.chunk_shape(&vec![0; roles.len()]).map_err(|e| wrong(&e))?;
    let inner = array.effective_subchunk_shape();
    let decoded = inner.as_ref().unwrap_or(&chunk);
    let size = decoded.iter().try_fold(bytes, |n, edge| n.checked_mul(edge.get()));
    let Some(size) = size.filter(|size| *size <= MAX_CHUNK_BYTES) else {
        return Err(format!("its chunks of {decoded:?} values are larger than 1 GiB: store it in smaller chunks"));
    };
    let edge_of = |shape: &[std::num::NonZeroU64]| {
        let mut edge = [1; 3];
        for (role, n) in roles.iter().zip(shape) {
            if let Role::Space(axis) = role {
                edge[*axis] = usize::try_from(n.get()).unwrap_or(usize::MAX);
            }
        }
        edge
    };
    let Some(inner) = inner else { return Ok((edge_of(&chunk), size)) };
    let (inner, shard) = (edge_of(&inner), edge_of(&chunk));
    let grown = grown(inner, shard, PIECE_VALUES / (steps_together(array, roles) as usize).clamp(1, PIECE_VALUES));
    // From far away inner chunks come one by one, unless it is all of a shard.
    let tile = if is_far && grown != shard { inner } else { grown };
    let times: u64 = (0..3).map(|axis| (tile[axis] / inner[axis]) as u64).product();
    Ok((tile, size.saturating_mul(times)))
}

/// Inner chunks side by side, at most a shard, until they have so many samples.
fn grown(inner: [usize; 3], shard: [usize; 3], samples: usize) -> [usize; 3] {
    let mut tile = inner;
    for axis in 0..3 {
        let volume: usize = tile.iter().fold(1, |n: usize, &edge| n.saturating_mul(edge));
        let most = (shard[axis] / inner[axis]).max(1);
        // A divisor of the shard's edge, so that no piece reaches into two shards.
        let times =
            (1..=most).rev().find(|times| most.is_multiple_of(*times) && volume.saturating_mul(*times) <= samples);
        tile[axis] = tile[axis].saturating_mul(times.unwrap_or(1));
    }
    tile
}

fn scalar(metadata: &ArrayMetadata) -> Result<ScalarType, String> {
    let name = match metadata {
        ArrayMetadata::V2(metadata) => match &metadata.dtype {
            DataTypeMetadataV2::Simple(name) => name.clone(),
            DataTypeMetadataV2::Structured(_) => "a structure".to_owned(),
        },
        ArrayMetadata::V3(metadata) => metadata.data_type.name().to_owned(),
    };
    Ok(match name.trim_start_matches(['<', '>', '|']) {
        "u1" | "b1" | "uint8" | "bool" => ScalarType::U8,
        "i1" | "int8" => ScalarType::I8,
        "u2" | "uint16" => ScalarType::U16,
        "i2" | "int16" => ScalarType::I16,
        "u4" | "uint32" => ScalarType::U32,
        "i4" | "int32" => ScalarType::I32,
        "u8" | "uint64" => ScalarType::U64,
        "i8" | "int64" => ScalarType::I64,
        "f2" | "float16" => ScalarType::F16,
        "f4" | "float32" => ScalarType::F32,
        "f8" | "float64" => ScalarType::F64,
        _ => return Err(format!("its values ({name}) are not real numbers of 1 to 8 bytes: save one part of them")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_a_shard_end_where_the_shard_ends() {
        assert_eq!(grown([64, 64, 64], [512, 512, 512], PIECE_VALUES), [256, 64, 64]);
        assert_eq!(grown([100, 10, 10], [300, 300, 300], PIECE_VALUES), [300, 300, 10]);
        assert_eq!(grown([2000, 2000, 1], [2000, 2000, 64], PIECE_VALUES), [2000, 2000, 1]);
        assert_eq!(grown([4, 4, 4], [4, 8, 12], PIECE_VALUES), [4, 8, 12]);
    }
}
