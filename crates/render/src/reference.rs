//! The reference ray caster: the equations of exact rendering, one sample after another, in double precision.
//!
//! Plain scalar code that shares nothing with the fast path but the camera and the transfer function. It is the
//! yardstick of tests and benchmarks, not for use.

use rayon::prelude::*;

use crate::camera::View;
use crate::transfer_function::REFERENCE_LENGTH;
use crate::volume::Placement;
use crate::{Camera, Image, Rendering, TransferFunction, Volume};

/// Below this transparency a ray ends.
const OPAQUE: f64 = 1.0 / 1024.0;

/// Renders `volume` as [`crate::render_exact`] does, slowly and literally.
pub fn render_reference(
    volume: &Volume,
    camera: &Camera,
    transfer_function: &TransferFunction,
    width: usize,
    height: usize,
    sample_step: f64,
) -> Rendering {
    let Some([lo, hi]) = transfer_function.resolved_range(volume.range()) else {
        return Rendering { image: Image::transparent(width, height), samples: 0 };
    };
    let (view, placement) = (camera.view(width, height), volume.placement(camera.stretch));
    let scene = Scene {
        volume,
        placement,
        transfer_function,
        range: [f64::from(lo), f64::from(hi)],
        dt: sample_step * placement.step,
    };
    let pixels: Vec<([f32; 4], u64)> =
        (0..width * height).into_par_iter().map(|index| scene.cast(&view, index % width, index / width)).collect();
    let samples = pixels.iter().map(|(_, samples)| samples).sum();
    let rgba = pixels.into_iter().map(|(pixel, _)| pixel).collect();
    Rendering { image: Image { width, height, rgba }, samples }
}

struct Scene<'a> {
    volume: &'a Volume,
    placement: Placement,
    transfer_function: &'a TransferFunction,
    range: [f64; 2],
    dt: f64,
}

impl Scene<'_> {
    fn cast(&self, view: &View, column: usize, row: usize) -> ([f32; 4], u64) {
        let direction = view.direction(column as f64 + 0.5, row as f64 + 0.5);
        let Some((t_in, t_out)) = view.shown(self.placement.edges).passed(view.eye, direction) else {
            return ([0.0; 4], 0);
        };
        let (mut color, mut transparency, mut samples) = ([0.0_f64; 3], 1.0_f64, 0);
        for k in 0_u64.. {
            let t = t_in + (k as f64 + 0.5) * self.dt;
            if t >= t_out || transparency < OPAQUE {
                break;
            }
            let value = self.value_at(std::array::from_fn(|axis| view.eye[axis] + t * direction[axis]));
            let [rgb @ .., alpha] = self.classify(value);
            for channel in 0..3 {
                color[channel] += transparency * alpha * rgb[channel];
            }
            transparency *= 1.0 - alpha;
            samples += 1;
        }
        let [r, g, b] = color.map(|c| c as f32);
        ([r, g, b, (1.0 - transparency) as f32], samples)
    }

    /// Colour, and opacity over one step, of a value.
    fn classify(&self, value: f64) -> [f64; 4] {
        let [lo, hi] = self.range;
        let [r, g, b, a] = self.transfer_function.evaluate(((value - lo) / (hi - lo)) as f32).map(f64::from);
        [r, g, b, 1.0 - (1.0 - a).powf(self.dt / REFERENCE_LENGTH)]
    }

    /// Trilinear interpolation at a world position.
    fn value_at(&self, world: [f64; 3]) -> f64 {
        let grid = self.volume.grid();
        let Placement { scale, offset, .. } = self.placement;
        let mut below = [0; 3];
        let mut weight = [0.0; 3];
        for axis in 0..3 {
            let last = grid.size[axis] - 1;
            let position = (world[axis] * scale[axis] + offset[axis]).clamp(0.0, last as f64);
            below[axis] = (position as usize).min(last.saturating_sub(1));
            weight[axis] = position - below[axis] as f64;
        }
        let mut sum = 0.0;
        for corner in 0..8 {
            let step = [corner & 1, corner >> 1 & 1, corner >> 2];
            let at = std::array::from_fn(|axis| (below[axis] + step[axis]).min(grid.size[axis] - 1));
            let share: f64 =
                (0..3).map(|axis| if step[axis] == 1 { weight[axis] } else { 1.0 - weight[axis] }).product();
            sum += share * f64::from(self.sample(at));
        }
        sum
    }

    fn sample(&self, at: [usize; 3]) -> f32 {
        let owns = |axis: usize, lo: usize, hi: usize| lo <= at[axis] && at[axis] < hi;
        let block = self.volume.blocks().iter().find(|b| (0..3).all(|a| owns(a, b.owned.lo[a], b.owned.hi[a])));
        block.map_or(f32::NAN, |block| block.values[block.index_of(at)])
    }
}

#[cfg(test)]
mod tests {
    use visapult_volume::{Centering, Grid};

    use super::*;

    fn constant_opacity(alpha: f32) -> TransferFunction {
        TransferFunction { range: Some([0.0, 1.0]), points: vec![[0.0, 1.0, 0.5, 0.0, alpha]] }
    }

    #[test]
    fn a_homogeneous_medium_attenuates_exponentially() {
        let volume = Volume::whole(Grid::of_size([33, 33, 33]), vec![0.5; 33 * 33 * 33]).unwrap();
        let camera = Camera { azimuth_deg: 0.0, elevation_deg: 0.0, ..Camera::default() };
        for step in [1.0, 0.25] {
            let rendering = render_reference(&volume, &camera, &constant_opacity(0.01), 1, 1, step);
            let expected = 1.0 - 0.99_f64.powf(1.0 / REFERENCE_LENGTH);
            let [r, g, b, a] = rendering.image.rgba[0];
            assert!((f64::from(a) - expected).abs() < 1e-6, "{a} is not {expected}");
            assert!((r - a).abs() < 1e-6 && (g - 0.5 * a).abs() < 1e-6 && b == 0.0);
            assert_eq!(rendering.samples, (32.0 / step) as u64);
        }
    }

    #[test]
    fn missing_values_are_transparent() {
        let volume = Volume::whole(Grid::of_size([4, 4, 4]), vec![f32::NAN; 64]).unwrap();
        let rendering = render_reference(&volume, &Camera::default(), &constant_opacity(1.0), 8, 8, 1.0);
        assert!(rendering.image.rgba.iter().all(|pixel| *pixel == [0.0; 4]));
    }

    #[test]
    fn cells_are_constant_beyond_the_outermost_centres() {
        let grid = Grid { centering: Centering::Cell, ..Grid::of_size([2, 1, 1]) };
        let volume = Volume::whole(grid, vec![0.0, 1.0]).unwrap();
        let (transfer_function, placement) = (&constant_opacity(1.0), volume.placement([1.0; 3]));
        let scene = Scene { volume: &volume, placement, transfer_function, range: [0.0, 1.0], dt: 0.1 };
        for (x, expected) in [(-0.5, 0.0), (-0.26, 0.0), (0.0, 0.5), (0.125, 0.75), (0.4, 1.0)] {
            assert!((scene.value_at([x, 0.1, -0.1]) - expected).abs() < 1e-12);
        }
    }
}
