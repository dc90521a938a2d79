//! Casts the rays of a tile through all slabs.

use std::cell::RefCell;

use super::geometry::{KeyView, SlabGeometry, TilePlace};
use super::tile::{SlabTile, TILE_EDGE_MAX, TexelPlanes};
use crate::camera::{dot, intersect_box};
use crate::transfer_function::REFERENCE_LENGTH;
use crate::{TransferFunction, View, Volume};

/// What all rays of a keyframe share.
pub(super) struct Marcher<'a> {
    volume: &'a Volume,
    view: View,
    geometry: SlabGeometry,
    samples_per_slab: usize,
    table: Vec<[f32; 4]>,
    range: [f32; 2],
}

thread_local! {
    static LAYERS: RefCell<Vec<TexelPlanes>> = const { RefCell::new(Vec::new()) };
}

const TABLE: usize = 4096;

impl<'a> Marcher<'a> {
    pub(super) fn new(
        volume: &'a Volume,
        key: &KeyView,
        geometry: &SlabGeometry,
        transfer_function: &TransferFunction,
        sample_step: f64,
    ) -> Self {
        let wanted = geometry.thickness() / (sample_step * volume.grid().world_step());
        let samples_per_slab = (wanted.ceil() as usize).max(1);
        let length = geometry.thickness() / samples_per_slab as f64;
        let entry = |i: usize| {
            let [r, g, b, a] = transfer_function.evaluate(i as f32 / TABLE as f32);
            [r, g, b, (1.0 - (1.0 - f64::from(a)).powf(length / REFERENCE_LENGTH)) as f32]
        };
        let range = transfer_function.resolved_range(volume.range()).unwrap_or([0.0, 1.0]);
        Self {
            volume,
            view: key.view(),
            geometry: *geometry,
            samples_per_slab,
            table: (0..=TABLE).map(entry).collect(),
            range,
        }
    }

    /// The tiles of all slabs at one place, and the number of samples taken.
    pub(super) fn tiles_at(&self, place: &TilePlace) -> (Vec<SlabTile>, u64) {
        LAYERS.with_borrow_mut(|layers| {
            let slabs = usize::from(self.geometry.slabs);
            layers.resize_with(slabs, || TexelPlanes::of_size(TILE_EDGE_MAX * TILE_EDGE_MAX));
            let count = place.size[0] * place.size[1];
            for layer in layers.iter_mut() {
                layer.rgb.iter_mut().for_each(|plane| plane.resize(count, 0));
                layer.alpha.clear();
                layer.alpha.resize(count, 0);
            }
            let mut samples = 0;
            for i in 0..count {
                samples += self.cast([place.lo[0] + i % place.size[0], place.lo[1] + i / place.size[0]], i, layers);
            }
            (self.encode(place, layers), samples)
        })
    }

    fn encode(&self, place: &TilePlace, layers: &mut [TexelPlanes]) -> Vec<SlabTile> {
        let filled = layers.iter_mut().enumerate().filter(|(_, layer)| layer.alpha.iter().any(|&a| a > 0));
        filled
            .map(|(slab, layer)| SlabTile {
                slab: slab as u16,
                lo: place.lo.map(|n| n as u16),
                size: place.size.map(|n| n as u16),
                payload: layer.encode(),
            })
            .collect()
    }

    fn cast(&self, texel: [usize; 2], index: usize, layers: &mut [TexelPlanes]) -> u64 {
        let direction = self.view.direction(texel[0] as f64 + 0.5, texel[1] as f64 + 0.5);
        let Some((t_in, t_out)) = intersect_box(self.view.eye, direction, self.volume.grid().world_edges()) else {
            return 0;
        };
        let cos = dot(direction, self.geometry.normal.map(f64::from));
        if cos <= 0.0 {
            return 0;
        }
        let (n, mut samples) = (self.samples_per_slab, 0);
        let dz = self.geometry.thickness() / n as f64;
        for (slab, layer) in layers.iter_mut().enumerate() {
            let mut color = [0.0_f32; 4];
            for k in slab * n..(slab + 1) * n {
                let front = f64::from(self.geometry.near) + k as f64 * dz;
                let (lo, hi) = (front.max(t_in * cos), (front + dz).min(t_out * cos));
                if lo < hi {
                    let t = 0.5 * (lo + hi) / cos;
                    let share = ((hi - lo) / dz) as f32;
                    samples += 1;
                    let value = self.value_at(std::array::from_fn(|axis| self.view.eye[axis] + t * direction[axis]));
                    let [r, g, b, a] = self.classify(value);
                    let a = 1.0 - (1.0 - a).powf(share);
                    let weight = (1.0 - color[3]) * a;
                    color = [color[0] + weight * r, color[1] + weight * g, color[2] + weight * b, color[3] + weight];
                }
            }
            let alpha = (color[3] * 65535.0 + 0.5) as u16;
            if alpha > 0 {
                layer.alpha[index] = alpha;
                for c in 0..3 {
                    layer.rgb[c][index] = (color[c] / color[3] * 255.0 + 0.5) as u8;
                }
            }
        }
        samples
    }

    fn classify(&self, value: f32) -> [f32; 4] {
        let s = (value - self.range[0]) / (self.range[1] - self.range[0]);
        if s.is_nan() {
            return [0.0; 4];
        }
        let at = (s * TABLE as f32).clamp(0.0, TABLE as f32 - 0.001);
        let (i, w) = (at as usize, at.fract());
        std::array::from_fn(|c| self.table[i][c] + w * (self.table[i + 1][c] - self.table[i][c]))
    }

    fn value_at(&self, world: [f64; 3]) -> f32 {
        let block = &self.volume.blocks()[0];
        let grid = self.volume.grid();
        let (scale, offset) = grid.sample_from_world();
        let [nx, ny, _] = grid.size;
        let mut below = [0; 3];
        let mut weight = [0.0; 3];
        for axis in 0..3 {
            let last = grid.size[axis] - 1;
            let position = (world[axis] * scale[axis] + offset[axis]).clamp(0.0, last as f64);
            below[axis] = (position as usize).min(last.saturating_sub(1));
            weight[axis] = (position - below[axis] as f64) as f32;
        }
        let at = |x, y, z| block.values[((below[2] + z) * ny + below[1] + y) * nx + below[0] + x];
        let lerp = |a: f32, b: f32, w: f32| a + w * (b - a);
        let plane =
            |z| lerp(lerp(at(0, 0, z), at(1, 0, z), weight[0]), lerp(at(0, 1, z), at(1, 1, z), weight[0]), weight[1]);
        lerp(plane(0), plane(1), weight[2])
    }
}
