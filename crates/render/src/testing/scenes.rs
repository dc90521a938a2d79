//! Fields, transfer functions and views that tests look at; `tests/gpu.rs` does, too.

use visapult_volume::{Block, Box3, Decomposition, Grid};

use crate::{Camera, TransferFunction, Up, Volume};

/// Cuts `values` (`[z, y, x]` of `size`) into `count` blocks with ghosts, at multiples of `alignment`.
pub(crate) fn blocks_of(values: &[f32], size: [usize; 3], count: usize, alignment: usize) -> Vec<Block> {
    let whole = Block { owned: Box3::of_size(size), stored: Box3::of_size(size), values: values.to_vec().into() };
    let boxes = Decomposition::new(size, count, alignment).expect("the boxes fit").boxes();
    let cut = |owned: Box3| {
        let stored = Block::stored_for(&owned, &whole.stored);
        let [nx, ny, nz] = stored.size();
        let at = |i: usize| [i % nx, i / nx % ny, i / (nx * ny)];
        let value = |i: usize| whole.values[whole.index_of(std::array::from_fn(|a| stored.lo[a] + at(i)[a]))];
        Block { owned, stored, values: (0..nx * ny * nz).map(value).collect::<Vec<_>>().into() }
    };
    boxes.into_iter().map(cut).collect()
}

/// The field as `pes` PEs have it.
pub(crate) fn split(values: &[f32], size: [usize; 3], pes: usize) -> Volume {
    let decomposition = Decomposition::new(size, pes, 1).expect("the boxes fit");
    let blocks = blocks_of(values, size, pes, 1);
    Volume::new(Grid::of_size(size), decomposition, blocks).expect("the blocks are those of the boxes")
}

/// Values of a field of places from -1/2 to 1/2 along each axis, `[z, y, x]`.
pub(crate) fn values_of(size: [usize; 3], f: impl Fn([f32; 3]) -> f32) -> Vec<f32> {
    let unit = |i: usize, n: usize| if n > 1 { i as f32 / (n - 1) as f32 - 0.5 } else { 0.0 };
    let [nx, ny, nz] = size;
    let at = |i: usize| [unit(i % nx, nx), unit(i / nx % ny, ny), unit(i / (nx * ny), nz)];
    (0..nx * ny * nz).map(|i| f(at(i))).collect()
}

pub(crate) fn ripples([x, y, z]: [f32; 3]) -> f32 {
    ((x * x + 1.3 * y * y + 0.8 * (z - 0.1).powi(2)).sqrt() * 25.0).sin() + 0.3 * (9.0 * x - 4.0 * z).cos()
}

pub(crate) fn blobs([x, y, z]: [f32; 3]) -> f32 {
    let blob = |a: f32, b: f32, c: f32| (-60.0 * ((x - a).powi(2) + (y - b).powi(2) + (z - c).powi(2))).exp();
    blob(0.2, 0.1, -0.2) + blob(-0.25, 0.0, 0.1) - blob(0.0, -0.3, 0.3)
}

/// Changes from one sample to the next.
pub(crate) fn noise([x, y, z]: [f32; 3]) -> f32 {
    (ripples([x, y, z]) * 917.3).sin().fract() * 0.5 + blobs([x, y, z])
}

pub(crate) const FIELDS: [fn([f32; 3]) -> f32; 3] = [ripples, blobs, noise];

/// Shows all, nothing of it opaque.
pub(crate) fn soft() -> TransferFunction {
    let points = vec![[0.0, 0.1, 0.2, 0.9, 0.1], [0.4, 0.9, 0.9, 0.8, 0.0], [1.0, 0.9, 0.1, 0.0, 0.3]];
    TransferFunction { range: None, points }
}

/// Thin shells, one of them nearly opaque.
pub(crate) fn shells() -> TransferFunction {
    let shell =
        |s: f32, r: f32, b: f32, a: f32| [[s - 0.01, r, 0.4, b, 0.0], [s, r, 0.4, b, a], [s + 0.01, r, 0.4, b, 0.0]];
    let points = [shell(0.3, 0.1, 0.9, 0.5), shell(0.7, 1.0, 0.2, 0.9)].concat();
    TransferFunction { range: None, points }
}

/// From several sides, the fourth from inside; the sixth sees axes of other lengths, and another one upwards, the last a part of the box.
pub(crate) fn cameras() -> [Camera; 7] {
    let camera = Camera::default();
    [
        camera,
        Camera { azimuth_deg: 0.0, elevation_deg: 0.0, ..camera },
        Camera { azimuth_deg: -140.0, elevation_deg: 90.0, fov_deg: 50.0, ..camera },
        Camera { azimuth_deg: 200.0, elevation_deg: -35.0, distance: 0.35, fov_deg: 70.0, ..camera },
        Camera { distance: 1.4, target: [0.3, -0.2, 0.1], ..camera },
        Camera { azimuth_deg: 75.0, stretch: [0.5, 1.0, 2.0], up: Up::Z, ..camera },
        Camera { crop: [[0.0, 0.55], [0.25, 1.0], [0.1, 0.7]], ..camera },
    ]
}
