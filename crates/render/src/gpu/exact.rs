//! The exact image, band by band.

use rayon::prelude::*;

use super::chunks::GpuVolume;
use super::device::GpuError;
use super::rays::RaysTold;
use super::visible::Shown;
use crate::camera::dot;
use crate::cpu::OPAQUE;
use crate::{Camera, Image, Rendering, TransferFunction, View};

const SOURCE: &str = concat!(include_str!("scene.wgsl"), include_str!("table.wgsl"), include_str!("exact.wgsl"));
/// Most pixels that are rendered at once.
const MOST_PIXELS: usize = 1 << 22;

impl GpuVolume {
    /// What [`render_exact`](crate::render_exact) gives, made by the device.
    ///
    /// # Errors
    /// [`GpuError`] if the device fails.
    pub fn render_exact(
        &self,
        camera: &Camera,
        transfer_function: &TransferFunction,
        width: usize,
        height: usize,
        sample_step: f64,
    ) -> Result<Rendering, GpuError> {
        let dt = sample_step * self.frame.placement(camera.stretch).step;
        let view = camera.view(width, height);
        let mut image = Image { width, height, rgba: Vec::with_capacity(width * height) };
        let mut samples = 0;
        self.gpu.attempt(|| {
            let Some(shown) = self.shown(transfer_function, dt)? else { return Ok(()) };
            let rows = (MOST_PIXELS / width.max(1)).max(1);
            for first in (0..height).step_by(rows) {
                samples += self.band(&view, &shown, dt, [first, rows.min(height - first)], &mut image.rgba)?;
            }
            Ok(())
        })?;
        image.rgba.resize(width * height, [0.0; 4]);
        Ok(Rendering { image, samples })
    }

    /// Appends the colours of `rows` from row `first` on; gives the number of samples taken.
    fn band(
        &self,
        view: &View,
        shown: &Shown,
        dt: f64,
        [first, rows]: [usize; 2],
        rgba: &mut Vec<[f32; 4]>,
    ) -> Result<u64, GpuError> {
        let (size, placement) = ([view.width, rows], self.frame.placement(view.stretch));
        let passed = view.shown(placement.edges);
        let rays = RaysTold {
            distance: dt as f32,
            lowest: shown.index_map[0],
            per_value: shown.index_map[1],
            opaque: OPAQUE,
            ..RaysTold::new(view, near_of(view, placement.edges), &passed, &placement, [0, first], size)
        };
        let gpu = &self.gpu;
        let rays = gpu.told(&rays);
        let bytes = [16 * size[0] * rows, 4 * rows].map(|bytes| bytes as u64);
        let mut encoder = gpu.encoder();
        let [colors, taken] = bytes.map(|bytes| gpu.lend_zeros(&mut encoder, bytes));
        let kernel = gpu.kernel(&gpu.kernels().exact, SOURCE, "march");
        self.cast(&mut encoder, kernel, self.front_to_back(view), size, |chunk| {
            let empty = &shown.empty_layers[chunk.number];
            vec![&rays, &chunk.told, &chunk.values, &shown.table, empty, &colors, &taken]
        });
        gpu.fetch(encoder, &[(&colors, bytes[0]), (&taken, bytes[1])]).take(|fetched| {
            // Memory that was not used before costs more time than what is written there: all threads share it.
            rgba.par_extend(bytemuck::cast_slice::<u8, [f32; 4]>(fetched[0]).par_iter());
            bytemuck::cast_slice::<u8, u32>(fetched[1]).iter().map(|&row| u64::from(row)).sum()
        })
    }
}

/// Depth of the nearest corner of the box of these edges; 0 where the eye lies in it or it lies behind.
fn near_of(view: &View, edges: [f64; 3]) -> f64 {
    let reach: f64 = (0..3).map(|axis| edges[axis] / 2.0 * view.forward[axis].abs()).sum();
    (-dot(view.eye, view.forward) - reach).max(0.0)
}
