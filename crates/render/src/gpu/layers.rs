//! Slabs of colour, tile by tile: the device casts the rays of one while the processor encodes another.

use std::cell::RefCell;

use rayon::prelude::*;

use super::chunks::GpuVolume;
use super::device::GpuError;
use super::rays::RaysTold;
use super::visible::Shown;
use crate::cpu::{LayerPlanes, LayerTile};
use crate::slabs::{LayerCoder, TilePlace, planes_of};
use crate::{KeyView, SlabKeyframe, SlabTile, TransferFunction, View, Volume, visible_depths};

const SOURCE: &str = concat!(include_str!("scene.wgsl"), include_str!("table.wgsl"), include_str!("layers.wgsl"));

thread_local! {
    static SCRATCH: RefCell<(LayerTile, LayerCoder)> = RefCell::default();
}

/// What is known about all tiles of a keyframe.
struct Layers<'a> {
    volume: &'a GpuVolume,
    view: View,
    planes: LayerPlanes,
    shown: Shown,
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
        let nothing = || Ok(SlabKeyframe::of_tiles(volume, key, None, Vec::new(), 0));
        let Some(depths) = visible_depths(volume, key, transfer_function) else { return nothing() };
        let (geometry, planes) = planes_of(volume, key, sample_step, depths);
        if !planes.are_usable() {
            return nothing();
        }
        let shown = self.gpu.attempt(|| self.shown(transfer_function, planes.sample_length()))?;
        let Some(shown) = shown else { return nothing() };
        let layers = Layers { volume: self, view: key.view(), planes, shown };
        let tiles = geometry.tile_places().into_par_iter().with_max_len(1).map(|place| layers.tiles(&place));
        let (tiles, samples): (Vec<_>, Vec<u64>) = tiles.collect::<Result<Vec<_>, GpuError>>()?.into_iter().unzip();
        Ok(SlabKeyframe { camera: key.camera, geometry, tiles: tiles.concat(), samples: samples.iter().sum() })
    }
}

impl Layers<'_> {
    /// The tiles of all slabs at a place, and the samples taken.
    fn tiles(&self, place: &TilePlace) -> Result<(Vec<SlabTile>, u64), GpuError> {
        SCRATCH.with_borrow_mut(|(layers, coder)| {
            let samples = self.volume.gpu.attempt(|| self.march(place, layers))?;
            Ok((coder.tiles(place, self.planes.count, |slab| layers.layer(slab)), samples))
        })
    }

    /// Casts the rays of `place` into `out`; gives the number of samples taken.
    fn march(&self, place: &TilePlace, out: &mut LayerTile) -> Result<u64, GpuError> {
        let Self { volume: GpuVolume { gpu, placement, .. }, view, planes, shown } = self;
        let rays = gpu.told(&RaysTold {
            distance: planes.sample_length() as f32,
            count: (planes.count * planes.samples) as f32,
            per_slab: planes.samples as u32,
            lowest: shown.index_map[0],
            per_value: shown.index_map[1],
            ..RaysTold::new(view, planes.near, placement.edges, placement, place.lo, place.size)
        });
        let layers = gpu.results(16 * (place.size[0] * place.size[1] * planes.count) as u64);
        let told = gpu.results(4 * (planes.count + 1) as u64);
        let kernel = gpu.kernel(&gpu.kernels().layers, SOURCE, "march");
        let mut encoder = gpu.encoder();
        self.volume.cast(&mut encoder, kernel, self.volume.front_to_back(view), place.size, |chunk| {
            vec![&rays, &chunk.told, &chunk.values, &shown.table, &shown.empty_layers[chunk.number], &layers, &told]
        });
        gpu.finish(encoder, &[&layers, &told], |read| {
            let told: Vec<u32> = bytemuck::pod_collect_to_vec(read[1]);
            out.fill(&place.rect(), &told[..planes.count], read[0]);
            u64::from(told[planes.count])
        })
    }
}
