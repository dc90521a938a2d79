//! Prints how close proxies come to the exact image, and what they cost, as a Markdown table.
//!
//! `cargo run --release -p visapult-render --example proxy_quality [-- --edge 256 --size 512 --fields waves,turbulence]`

use std::collections::HashMap;
use std::time::Instant;

use visapult_render::{
    Camera, CodeBits, KeyView, Pyramid, Quality, SlabStack, TransferFunction, Volume, encode_level, make_slabs,
    render_exact, volume_of_bricks,
};
use visapult_volume::Grid;

const ANGLES: [f64; 7] = [0.0, 5.0, 10.0, 16.0, 20.0, 30.0, 45.0];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let options: HashMap<&str, &str> =
        arguments.chunks_exact(2).map(|pair| (pair[0].trim_start_matches("--"), pair[1].as_str())).collect();
    let number = |name: &str, default: usize| options.get(name).and_then(|n| n.parse().ok()).unwrap_or(default);
    let (edge, size) = (number("edge", 256), number("size", 512));
    let chosen = options.get("fields").copied().unwrap_or("waves,shells,turbulence,blobs");
    println!("{edge}^3, {size} x {size} pixels, key view (30, 20), turned in azimuth, truth at step 1/2.");
    println!("PSNR over the foreground in dB / SSIM.\n");
    let angles: String = ANGLES.iter().map(|angle| format!(" {angle} |")).collect();
    println!("| field | proxy | MB | seconds |{angles}\n|---|---|---|---|{}", "---|".repeat(ANGLES.len()));
    for name in chosen.split(',') {
        let volume = Volume::whole(Grid::of_size([edge; 3]), field(name, edge)).expect("a cube is a grid");
        let range = volume.range().map_or([0.0, 1.0], |range| [range.lo, range.hi]);
        Subject { name, volume, transfer_function: transfer_function(name, range), size }.report();
    }
}

struct Subject<'a> {
    name: &'a str,
    volume: Volume,
    transfer_function: TransferFunction,
    size: usize,
}

impl Subject<'_> {
    fn report(&self) {
        let cameras = ANGLES.map(|angle| Camera { azimuth_deg: 30.0 + angle, ..Camera::default() });
        let truth = cameras.map(|camera| self.exact(&self.volume, &camera, 0.5));
        let row = |proxy: &str, bytes: usize, seconds: f64, draw: &dyn Fn(&Camera) -> visapult_render::Image| {
            let cells: String = cameras
                .iter()
                .zip(&truth)
                .map(|(camera, truth)| {
                    let quality = Quality::of(&draw(camera), truth).expect("one size");
                    format!(" {:.1} / {:.3} |", quality.foreground_psnr_db, quality.ssim)
                })
                .collect();
            println!("| {} | {proxy} | {:.2} | {seconds:.3} |{cells}", self.name, bytes as f64 / 1e6);
        };
        row("exact, step 1", 0, 0.0, &|camera| self.exact(&self.volume, camera, 1.0));
        for slabs in [64, 128] {
            let key = KeyView { slabs, width: self.size as u16, height: self.size as u16, ..KeyView::new(cameras[0]) };
            make_slabs(&self.volume, &key, &self.transfer_function, 1.0);
            let start = Instant::now();
            let keyframe = make_slabs(&self.volume, &key, &self.transfer_function, 1.0);
            let seconds = start.elapsed().as_secs_f64();
            let stack = SlabStack::from_keyframe(&keyframe).expect("tiles of our own decode");
            row(&format!("{slabs} slabs"), keyframe.wire_bytes(), seconds, &|c| stack.render(c, self.size, self.size));
        }
        for level in [0, 1] {
            let start = Instant::now();
            let block = &self.volume.blocks()[0];
            let pyramid = Pyramid::of(block, level + 1);
            let bricks = encode_level(block, &pyramid, level, CodeBits::Eight);
            let seconds = start.elapsed().as_secs_f64();
            let bytes: usize = bricks.iter().map(|brick| brick.wire_bytes()).sum();
            let volume = volume_of_bricks(self.volume.grid(), level, CodeBits::Eight, &bricks).expect("our own bricks");
            row(&format!("bricks level {level}"), bytes, seconds, &|camera| self.exact(&volume, camera, 1.0));
        }
    }

    fn exact(&self, volume: &Volume, camera: &Camera, step: f64) -> visapult_render::Image {
        render_exact(volume, camera, &self.transfer_function, self.size, self.size, step).image
    }
}

fn transfer_function(name: &str, range: [f32; 2]) -> TransferFunction {
    let points: &[[f32; 5]] = match name {
        "waves" => &[
            [0.0, 0.1, 0.2, 0.8, 0.20],
            [0.3, 0.3, 0.6, 0.9, 0.04],
            [0.5, 0.9, 0.9, 0.9, 0.0],
            [0.7, 0.9, 0.6, 0.3, 0.04],
            [1.0, 0.8, 0.1, 0.1, 0.20],
        ],
        "shells" => &[
            [0.0, 0.1, 0.2, 0.8, 0.0],
            [0.34, 0.2, 0.4, 0.9, 0.0],
            [0.36, 0.2, 0.4, 0.9, 0.9],
            [0.38, 0.2, 0.4, 0.9, 0.0],
            [0.62, 0.9, 0.5, 0.2, 0.0],
            [0.64, 0.9, 0.5, 0.2, 0.9],
            [0.66, 0.9, 0.5, 0.2, 0.0],
            [1.0, 0.8, 0.1, 0.1, 0.0],
        ],
        "turbulence" => &[
            [0.0, 0.0, 0.0, 0.3, 0.0],
            [0.35, 0.3, 0.1, 0.5, 0.0],
            [0.6, 0.8, 0.3, 0.3, 0.08],
            [0.8, 1.0, 0.7, 0.2, 0.25],
            [1.0, 1.0, 1.0, 0.8, 0.5],
        ],
        _ => &[
            [0.0, 0.2, 0.0, 0.3, 0.0],
            [0.1, 0.2, 0.3, 0.6, 0.0],
            [0.5, 0.2, 0.7, 0.5, 0.06],
            [1.0, 1.0, 0.9, 0.1, 0.3],
        ],
    };
    TransferFunction { range: Some(range), points: points.to_vec() }
}

fn field(name: &str, edge: usize) -> Vec<f32> {
    use rayon::prelude::*;
    let at = |i: usize| {
        let place = [i % edge, i / edge % edge, i / (edge * edge)];
        place.map(|n| n as f32 / (edge - 1) as f32)
    };
    let value: fn([f32; 3]) -> f32 = match name {
        "waves" | "shells" => waves,
        "turbulence" => turbulence,
        _ => blobs,
    };
    (0..edge * edge * edge).into_par_iter().map(|i| value(at(i))).collect()
}

fn distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    (0..3).map(|axis| (a[axis] - b[axis]).powi(2)).sum::<f32>().sqrt()
}

/// Interfering spherical waves.
fn waves(p: [f32; 3]) -> f32 {
    let sources = [[0.3, 0.35, 0.4, 38.0], [0.7, 0.6, 0.45, 31.0], [0.45, 0.7, 0.75, 25.0]];
    let wave = |&[x, y, z, k]: &[f32; 4]| {
        let r = distance(p, [x, y, z]);
        (k * r).sin() * (-2.5 * r).exp()
    };
    sources.iter().map(wave).sum()
}

/// Gaussian blobs that merge.
fn blobs(p: [f32; 3]) -> f32 {
    let blob = |i: u32| {
        let center = [hash(i, 1, 7), hash(i, 2, 7), hash(i, 3, 7)].map(|c| 0.15 + 0.7 * c);
        let radius = 0.05 + 0.07 * hash(i, 4, 7);
        (-(distance(p, center) / radius).powi(2)).exp()
    };
    (0..24).map(blob).sum()
}

/// Octaves of value noise with an energy spectrum near k^(-5/3).
fn turbulence(p: [f32; 3]) -> f32 {
    (0..6)
        .map(|octave| 0.57_f32.powi(octave) * value_noise(p.map(|c| c * 4.0 * 2.0_f32.powi(octave)), octave as u32))
        .sum()
}

fn value_noise(p: [f32; 3], seed: u32) -> f32 {
    let cell = p.map(|c| c.floor() as u32);
    let weight = p.map(|c| c.fract()).map(|t| t * t * t * (t * (t * 6.0 - 15.0) + 10.0));
    let corner = |i: u32| hash(cell[0] + (i & 1), cell[1] + (i >> 1 & 1), (cell[2] + (i >> 2)) ^ seed << 20);
    let lerp = |a: f32, b: f32, w: f32| a + w * (b - a);
    let row = |i| lerp(corner(i), corner(i + 1), weight[0]);
    lerp(lerp(row(0), row(2), weight[1]), lerp(row(4), row(6), weight[1]), weight[2])
}

fn hash(x: u32, y: u32, z: u32) -> f32 {
    let mut h = x.wrapping_mul(0x8da6_b343) ^ y.wrapping_mul(0xd816_3841) ^ z.wrapping_mul(0xcb1a_b31f);
    h = (h ^ (h >> 15)).wrapping_mul(0x2c1b_3c6d);
    h = (h ^ (h >> 12)).wrapping_mul(0x297a_2d39);
    (h ^ (h >> 15)) as f32 / u32::MAX as f32
}
