//! Values along the rays of key views: what scalar slabs and segments are made of, tile by tile.

use rayon::prelude::*;
use visapult_volume::ValueRange;

use super::chunks::GpuVolume;
use super::device::GpuError;
use super::rays::RaysTold;
use crate::key_rays::Planes;
use crate::scalar_slabs::FaceMaker;
use crate::segments::SegmentMaker;
use crate::slabs::TilePlace;
use crate::world_box::WorldBox;
use crate::{KeyView, ScalarKeyframe, SegmentKey, SegmentKeyframe, TransferFunction, View, Volume};

const SOURCE: &str = concat!(include_str!("scene.wgsl"), include_str!("lines.wgsl"));

/// How the values of a tile follow one another.
#[derive(Clone, Copy)]
enum Order {
    PlaneByPlane,
    RayByRay,
}

impl GpuVolume {
    /// What [`make_scalar_slabs`](crate::make_scalar_slabs) makes of `volume`, which is the one that is here, with values read by the device.
    ///
    /// # Errors
    /// [`GpuError`] if the device fails.
    pub fn make_scalar_slabs(
        &self,
        volume: &Volume,
        key: &KeyView,
        range: ValueRange,
    ) -> Result<ScalarKeyframe, GpuError> {
        let maker = FaceMaker::new(volume, key, range);
        let (view, planes) = (key.view(), maker.planes());
        let tiles = maker.places().into_par_iter().with_max_len(1).map(|place| {
            let tiles = |found: &[f32]| maker.tiles(&place, found);
            self.gpu.attempt(|| self.values_of(&view, &planes, &place, Order::PlaneByPlane, tiles))
        });
        let tiles = tiles.collect::<Result<Vec<_>, GpuError>>()?.concat();
        Ok(ScalarKeyframe::of_tiles(volume, key, range, tiles))
    }

    /// What [`make_segments`](crate::make_segments) makes of `volume`, which is the one that is here, with values read by the device.
    ///
    /// # Errors
    /// [`GpuError`] if the device fails.
    pub fn make_segments(
        &self,
        volume: &Volume,
        key: &SegmentKey,
        transfer_function: &TransferFunction,
        range: ValueRange,
    ) -> Result<SegmentKeyframe, GpuError> {
        let maker = SegmentMaker::new(volume, key, transfer_function, range);
        let (view, planes) = (key.view(), maker.planes());
        let strips = maker.strips().into_par_iter().with_max_len(1).map(|strip| {
            let follow = |found: &[f32]| {
                let ray = |[x, y]: [usize; 2]| (y - strip.lo[1]) * strip.size[0] + x - strip.lo[0];
                maker.follow(&strip, |at, on, values| {
                    values.extend_from_slice(&found[ray(at) * planes.count + on.first..][..on.count]);
                })
            };
            self.gpu.attempt(|| self.values_of(&view, &planes, &strip, Order::RayByRay, follow))
        });
        let strips = strips.collect::<Result<_, GpuError>>()?;
        Ok(maker.keyframe(strips))
    }

    /// Hands out the values at all planes of the rays of `place`; those outside the box mean nothing.
    fn values_of<T>(
        &self,
        view: &View,
        planes: &Planes,
        place: &TilePlace,
        order: Order,
        take: impl FnOnce(&[f32]) -> T,
    ) -> Result<T, GpuError> {
        let count = place.size[0] * place.size[1];
        let distances = match order {
            Order::PlaneByPlane => [1, count],
            Order::RayByRay => [planes.count, 1],
        };
        let rays = self.gpu.told(&RaysTold {
            distance: planes.spacing as f32,
            count: planes.count as f32,
            distances: distances.map(|n| n as u32),
            ..RaysTold::new(
                view,
                planes.near,
                &WorldBox::centred(planes.edges),
                &self.frame.placement(view.stretch),
                place.lo,
                place.size,
            )
        });
        let bytes = 4 * (count * planes.count) as u64;
        let found = self.gpu.lend(bytes);
        let kernel = self.gpu.kernel(&self.gpu.kernels().lines, SOURCE, "take");
        let mut encoder = self.gpu.encoder();
        self.cast(&mut encoder, kernel, self.chunks(), place.size, |chunk| {
            vec![&rays, &chunk.told, &chunk.values, &found]
        });
        self.gpu.fetch(encoder, &[(&found, bytes)]).take(|fetched| take(bytemuck::cast_slice(fetched[0])))
    }
}
