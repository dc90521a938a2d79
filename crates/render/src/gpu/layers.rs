//! Slabs of colour: the device casts the rays and makes what is compressed of tiles; the processor compresses some while it is given the next.

use std::time::Instant;

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use wgpu::Buffer;

use super::chunks::{GpuVolume, groups_of};
use super::device::{Fetch, GpuError, Lent};
use super::rays::RaysTold;
use super::visible::Shown;
use crate::cpu::LayerPlanes;
use crate::slabs::{TEXEL_BYTES, TilePlace, planes_of};
use crate::{KeyView, SlabGeometry, SlabKeyframe, SlabTile, TILE_EDGE, TransferFunction, View, Volume, visible_depths};

const RAYS_SOURCE: &str = concat!(include_str!("scene.wgsl"), include_str!("table.wgsl"), include_str!("layers.wgsl"));
const PLANES_SOURCE: &str = include_str!("planes.wgsl");

/// Most bytes of codes on the device at once: those of 512 x 512 rays in 128 slabs, and some more.
const MOST_CODE_BYTES: u64 = 320 << 20;
/// Bytes of a code there.
const CODE_BYTES: usize = 8;
/// Bytes of `Going` of `layers.wgsl`.
const GOING_BYTES: usize = 32;
/// Bytes of symbols, about, that are fetched at once.
const FETCHED_BYTES: u64 = 16 << 20;
/// Most layers that are fetched at once: so many groups of threads every device allows.
const MOST_FETCHED: usize = 65_535;

/// Seconds that the stages of a keyframe took.
#[derive(Clone, Copy, Debug, Default)]
#[doc(hidden)]
pub struct SlabStages {
    /// Finding out what is visible.
    pub looking: f64,
    /// Until the device had cast the rays.
    pub casting: f64,
    /// Waiting for what is compressed.
    pub fetching: f64,
    /// Compressing it.
    pub compressing: f64,
}

/// What is known about all tiles of a keyframe.
struct Layers<'a> {
    volume: &'a GpuVolume,
    view: View,
    planes: LayerPlanes,
    shown: Shown,
}

/// Neighbouring tiles of which the rays are cast at once.
#[derive(Debug, PartialEq)]
struct Part {
    /// Row by row.
    places: Vec<TilePlace>,
    /// What they cover.
    whole: TilePlace,
}

/// A part whose rays were cast, on the device.
struct Cast {
    size: Buffer,
    places: Buffer,
    codes: Lent,
    /// `[tile, slab]`: where anything shows.
    shows: Vec<bool>,
}

/// Layers of tiles that are fetched at once.
#[derive(Default)]
struct Batch {
    layers: Vec<LayerTold>,
    bytes: usize,
}

/// A layer of a tile, and where what is compressed of it begins, in words: `Layer` of `planes.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct LayerTold {
    tile: u32,
    slab: u32,
    start: u32,
}

impl GpuVolume {
    /// What [`make_slabs`](crate::make_slabs) makes of `volume`, which is the one that is here, made by the device.
    ///
    /// # Errors
    /// [`GpuError`] if the device fails.
    pub fn make_slabs(
        &self,
        volume: &Volume,
        key: &KeyView,
        transfer_function: &TransferFunction,
        sample_step: f64,
    ) -> Result<SlabKeyframe, GpuError> {
        Ok(self.make_slabs_in_stages(volume, key, transfer_function, sample_step)?.0)
    }

    /// The same, and where the time went.
    ///
    /// # Errors
    /// As [`GpuVolume::make_slabs`].
    #[doc(hidden)]
    pub fn make_slabs_in_stages(
        &self,
        volume: &Volume,
        key: &KeyView,
        transfer_function: &TransferFunction,
        sample_step: f64,
    ) -> Result<(SlabKeyframe, SlabStages), GpuError> {
        let mut stages = SlabStages::default();
        let nothing = || Ok((SlabKeyframe::of_tiles(volume, key, None, Vec::new(), 0), SlabStages::default()));
        let started = Instant::now();
        let Some(depths) = visible_depths(volume, key, transfer_function) else { return nothing() };
        let (geometry, planes) = planes_of(volume, key, sample_step, depths);
        if !planes.are_usable() {
            return nothing();
        }
        self.gpu.attempt(|| {
            let Some(shown) = self.shown(transfer_function, planes.sample_length())? else { return nothing() };
            stages.looking = started.elapsed().as_secs_f64();
            let layers = Layers { volume: self, view: key.view(), planes, shown };
            let most_bytes = MOST_CODE_BYTES.min(self.most_bytes) as usize;
            let (mut tiles, mut samples) = (Vec::new(), 0);
            for part in Part::all(&geometry, most_bytes / (CODE_BYTES * planes.count)) {
                let started = Instant::now();
                let (cast, taken) = layers.cast(&part)?;
                stages.casting += started.elapsed().as_secs_f64();
                layers.add_tiles(&part, &cast, &mut tiles, &mut stages)?;
                samples += taken;
            }
            Ok((SlabKeyframe { camera: key.camera, geometry, tiles, samples }, stages))
        })
    }
}

impl Layers<'_> {
    /// Casts the rays of `part`; gives the number of samples taken, too.
    fn cast(&self, part: &Part) -> Result<(Cast, u64), GpuError> {
        let Self { volume: GpuVolume { gpu, frame, .. }, view, planes, shown } = self;
        let placement = frame.placement(view.stretch);
        let TilePlace { lo, size } = part.whole;
        let rays = gpu.told(&RaysTold {
            distance: planes.sample_length() as f32,
            count: (planes.count * planes.samples) as f32,
            per_slab: planes.samples as u32,
            lowest: shown.index_map[0],
            per_value: shown.index_map[1],
            ..RaysTold::new(view, planes.near, &view.shown(placement.edges), &placement, lo, size)
        });
        let (told, places) = (gpu.told(&size.map(|n| n as u32)), gpu.filled(&part.places_told())?);
        let mut encoder = gpu.encoder();
        let texels = size[0] * size[1];
        let bytes = [
            GOING_BYTES * texels,
            CODE_BYTES * texels * planes.count,
            4 * size[1],
            4 * part.places.len() * planes.count,
        ];
        let bytes = bytes.map(|bytes| bytes as u64);
        let [going, codes, taken, shows] = bytes.map(|bytes| gpu.lend_zeros(&mut encoder, bytes));

        let kernels = gpu.kernels();
        let march = gpu.kernel(&kernels.layers, RAYS_SOURCE, "march");
        self.volume.cast(&mut encoder, march, self.volume.front_to_back(view), size, |chunk| {
            let empty = &shown.empty_layers[chunk.number];
            vec![&rays, &chunk.told, &chunk.values, &shown.table, empty, &going, &codes, &taken]
        });
        let finish = gpu.kernel(&kernels.last_layers, RAYS_SOURCE, "finish");
        gpu.dispatch(&mut encoder, finish, &[(0, &rays), (5, &going), (6, &codes)], groups_of(size));
        let look = gpu.kernel(&kernels.look, PLANES_SOURCE, "look");
        let groups = [part.places.len() as u32, planes.count as u32, 1];
        gpu.dispatch(&mut encoder, look, &[(0, &told), (1, &places), (2, &codes), (3, &shows)], groups);

        let fetch = gpu.fetch(encoder, &[(&taken, bytes[2]), (&shows, bytes[3])]);
        let (samples, shows) = fetch.take(|fetched| {
            let [taken, shows] = [0, 1].map(|i| bytemuck::cast_slice::<u8, u32>(fetched[i]));
            (taken.iter().map(|&row| u64::from(row)).sum(), shows.iter().map(|&shows| shows > 0).collect())
        })?;
        Ok((Cast { size: told, places, codes, shows }, samples))
    }

    /// Appends the tiles of `part`.
    fn add_tiles(
        &self,
        part: &Part,
        cast: &Cast,
        tiles: &mut Vec<SlabTile>,
        stages: &mut SlabStages,
    ) -> Result<(), GpuError> {
        let most_bytes = FETCHED_BYTES.min(self.volume.most_bytes);
        let batches = part.batches(&cast.shows, self.planes.count, most_bytes as usize);
        let mut fetches = batches.iter().map(|batch| Ok((batch, self.fetch(cast, batch)?)));
        let mut next = fetches.next().transpose()?;
        while let Some((batch, fetch)) = next {
            // The device makes the next while these are compressed.
            next = fetches.next().transpose()?;
            let (started, mut compressing) = (Instant::now(), 0.0);
            tiles.extend(fetch.take(|fetched| {
                let started = Instant::now();
                let tile = |layer: &LayerTold| part.tile(layer, fetched[0]);
                let tiles: Vec<SlabTile> = batch.layers.par_iter().map(tile).collect();
                compressing = started.elapsed().as_secs_f64();
                tiles
            })?);
            stages.fetching += started.elapsed().as_secs_f64() - compressing;
            stages.compressing += compressing;
        }
        Ok(())
    }

    /// Has the symbols of some layers made and fetched.
    fn fetch(&self, cast: &Cast, batch: &Batch) -> Result<Fetch, GpuError> {
        let gpu = &self.volume.gpu;
        let (layers, planes) = (gpu.filled(&batch.layers)?, gpu.lend(batch.bytes as u64));
        let mut encoder = gpu.encoder();
        let differ = gpu.kernel(&gpu.kernels().differ, PLANES_SOURCE, "differ");
        let buffers = [(0, &cast.size), (1, &cast.places), (2, &*cast.codes), (4, &layers), (5, &*planes)];
        gpu.dispatch(&mut encoder, differ, &buffers, [batch.layers.len() as u32, 1, 1]);
        Ok(gpu.fetch(encoder, &[(&planes, batch.bytes as u64)]))
    }
}

impl Part {
    /// All tiles of a keyframe, row by row, cut into parts of at most so many texels, or of one tile.
    fn all(geometry: &SlabGeometry, most_texels: usize) -> Vec<Self> {
        let [columns, rows] = geometry.tile_counts();
        let edges = |texels: usize, most: usize| (texels.saturating_sub(2) / TILE_EDGE).clamp(1, most.max(1));
        let across = edges(most_texels / (TILE_EDGE + 2), columns);
        // Parts that do not have all columns have one row: tiles follow one another as they lie.
        let down = if across < columns { 1 } else { edges(most_texels / (columns * TILE_EDGE + 2), rows) };
        let starts =
            (0..rows).step_by(down).flat_map(|row| (0..columns).step_by(across).map(move |column| [column, row]));
        let part = |[column, row]: [usize; 2]| {
            let cells = (row..rows.min(row + down))
                .flat_map(|row| (column..columns.min(column + across)).map(move |column| [column, row]));
            Self::of(cells.map(|cell| geometry.tile_place(cell)).collect())
        };
        starts.map(part).collect()
    }

    fn of(places: Vec<TilePlace>) -> Self {
        let [first, last] = [places.first(), places.last()].map(|place| place.copied().unwrap_or_default());
        let size = [0, 1].map(|axis| last.lo[axis] + last.size[axis] - first.lo[axis]);
        Self { places, whole: TilePlace { lo: first.lo, size } }
    }

    /// The tiles as `Tile` of `planes.wgsl`.
    fn places_told(&self) -> Vec<[[u32; 2]; 2]> {
        let told = |place: &TilePlace| {
            let first = [0, 1].map(|axis| place.lo[axis] - self.whole.lo[axis]);
            [first, place.size].map(|pair| pair.map(|n| n as u32))
        };
        self.places.iter().map(told).collect()
    }

    /// Bytes of symbols of a layer of a tile.
    fn tile_bytes(&self, tile: usize) -> usize {
        TEXEL_BYTES * self.places[tile].size.iter().product::<usize>()
    }

    /// The layers in which something `shows`, of so many slabs, as they are fetched at once.
    fn batches(&self, shows: &[bool], slabs: usize, most_bytes: usize) -> Vec<Batch> {
        let mut batches: Vec<Batch> = Vec::new();
        for shown in (0..self.places.len() * slabs).filter(|i| shows[*i]) {
            let (tile, slab) = (shown / slabs, shown % slabs);
            let bytes = self.tile_bytes(tile).next_multiple_of(4);
            let has_room = |batch: &Batch| batch.bytes + bytes <= most_bytes && batch.layers.len() < MOST_FETCHED;
            let mut batch = batches.pop_if(|batch| has_room(batch)).unwrap_or_default();
            batch.layers.push(LayerTold { tile: tile as u32, slab: slab as u32, start: (batch.bytes / 4) as u32 });
            batch.bytes += bytes;
            batches.push(batch);
        }
        batches
    }

    /// A layer of a tile, of the symbols of its batch.
    fn tile(&self, layer: &LayerTold, symbols: &[u8]) -> SlabTile {
        let tile = layer.tile as usize;
        let symbols = &symbols[4 * layer.start as usize..][..self.tile_bytes(tile)];
        SlabTile::of_symbols(layer.slab as usize, &self.places[tile], symbols)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Camera;

    #[test]
    fn parts_are_all_tiles_in_their_order_and_no_larger_than_allowed() {
        for (width, height) in [(512, 512), (130, 20), (64, 700), (1, 1), (2000, 65)] {
            let geometry = KeyView { width, height, ..KeyView::new(Camera::default()) }.geometry([1.0; 3]);
            for most_texels in [0, 66 * 66, 20_000, 66 * 700, 200_000, 1 << 20] {
                let parts = Part::all(&geometry, most_texels);
                let places: Vec<TilePlace> = parts.iter().flat_map(|part| part.places.clone()).collect();
                assert_eq!(places, geometry.tile_places(), "{width} x {height}, {most_texels}");
                for part in parts {
                    let [texels, largest] = [part.whole.size, [66, 66]].map(|size| size.iter().product::<usize>());
                    assert!(texels <= most_texels.max(largest));
                    assert!(part.places_told().iter().all(|[first, size]| {
                        (0..2).all(|axis| (first[axis] + size[axis]) as usize <= part.whole.size[axis])
                    }));
                }
            }
        }
    }
}
