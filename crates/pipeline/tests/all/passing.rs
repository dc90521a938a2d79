//! Steps that do not fit in memory, rendered block by block, against the same in one piece.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use visapult_pipeline::{BackEndConfig, Camera, Device, PipelineError, RenderConfig, RenderProxy, Rendered, render};
use visapult_render::{CodeBits, Quality};

const KEY_DEG: [f64; 2] = [30.0, 20.0];
/// Of 60 x 48 x 52 samples.
const STEP_BYTES: u64 = 684_000;

/// A file of a smooth field with a hole in it.
fn field(folder: &Path) -> String {
    let size = [60, 48, 52];
    let header =
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}, {}), }}", size[2], size[1], size[0]);
    let padded = format!("{header:117}\n");
    let mut bytes = [b"\x93NUMPY\x01\x00", &(padded.len() as u16).to_le_bytes()[..], padded.as_bytes()].concat();
    for i in 0..size.iter().product() {
        let at: [usize; 3] = [i % size[0], i / size[0] % size[1], i / (size[0] * size[1])];
        let [x, y, z] = at.map(|n| n as f32);
        let value = (x * 0.21).sin() * (y * 0.17).cos() + (z * 0.13).sin();
        let is_hole = at.iter().all(|n| (20..26).contains(n));
        bytes.extend(if is_hole { f32::NAN } else { value }.to_le_bytes());
    }
    let path = folder.join("field.npy");
    fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

fn rendered(source: &str, proxy: RenderProxy, memory: Option<u64>) -> Result<Rendered, PipelineError> {
    render(&RenderConfig {
        back_end: BackEndConfig { source: source.to_owned(), pes: 1, threads: 2, device: Device::Cpu, crew: None },
        field: None,
        step: None,
        size: [150, 120],
        camera: Camera {
            azimuth_deg: 45.0,
            stretch: [0.5, 1.0, 1.5],
            crop: [[0.0, 0.75], [0.25, 1.0], [0.0, 1.0]],
            ..Camera::default()
        },
        transfer_function: None,
        sample_step: 1.0,
        proxy,
        memory,
    })
}

#[test]
fn a_step_that_is_read_block_by_block_gives_the_picture_of_the_whole() {
    let folder = TempDir::new().unwrap();
    let source = field(folder.path());
    for (proxy, floor_db) in [
        (RenderProxy::Exact, 60.0),
        (RenderProxy::Slabs { key_deg: KEY_DEG, slabs: 32 }, 60.0),
        (RenderProxy::ScalarSlabs { key_deg: KEY_DEG, slabs: None }, 150.0),
        (RenderProxy::Segments { key_deg: KEY_DEG, segments: 64 }, 45.0),
        // Bricks end where blocks do.
        (RenderProxy::Bricks { level: 1, bits: CodeBits::EIGHT }, 50.0),
    ] {
        let whole = rendered(&source, proxy, Some(10 * STEP_BYTES)).unwrap();
        assert_eq!(whole.statistics.blocks, None);
        for share in [2, 6] {
            let parts = rendered(&source, proxy, Some(STEP_BYTES / share)).unwrap();
            assert!(parts.statistics.blocks.unwrap() >= 2 * share as usize, "{:?}", parts.statistics.blocks);
            assert_eq!(parts.statistics.transfer_function, whole.statistics.transfer_function);
            let quality = Quality::of(&parts.image, &whole.image).unwrap();
            assert!(quality.psnr_db >= floor_db, "{proxy:?} in {:?} blocks: {quality:?}", parts.statistics.blocks);
            let bytes = [&parts, &whole].map(|made| made.statistics.wire_bytes as f64);
            let is_same = floor_db < 60.0 || (bytes[0] / bytes[1] - 1.0).abs() < 0.01;
            assert!(is_same, "{proxy:?}: {bytes:?}");
        }
    }
}

#[test]
fn what_cannot_be_had_block_by_block_is_refused_with_what_to_do() {
    let folder = TempDir::new().unwrap();
    let source = field(folder.path());
    let refusal = |source: &str, proxy, memory| rendered(source, proxy, Some(memory)).unwrap_err().to_string();
    let little = STEP_BYTES / 4;
    let auto = refusal(&source, RenderProxy::Auto { key_deg: KEY_DEG, budget: 1_000_000 }, little);
    assert!(auto.contains("name one (--proxy)"), "{auto}");
    let bricks = refusal(&source, RenderProxy::Bricks { level: 0, bits: CodeBits::EIGHT }, little);
    assert!(bricks.contains("bricks of level 0 take 685 kB") && bricks.contains("--bricks-level"), "{bricks}");
    let tiny = refusal(&source, RenderProxy::Exact, 1000);
    assert!(tiny.contains("cannot be passed through within 1.0 kB: --memory "), "{tiny}");
    let live = refusal("demo:wave?n=32", RenderProxy::Exact, 1000);
    assert!(live.contains("received whole"), "{live}");
}
