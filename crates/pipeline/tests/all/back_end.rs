//! A back end that many ask at once.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use visapult_pipeline::{BackEnd, BackEndConfig, Device, StepKey};

fn back_end(source: &str) -> Arc<BackEnd> {
    let config = BackEndConfig { source: source.to_owned(), pes: 1, threads: 2, device: Device::Cpu, crew: None };
    BackEnd::open(&config).unwrap()
}

/// A file of steps of 8 x 8 x 8 values, ramps from 0 to `highest` of each.
fn steps_up_to(folder: &Path, highest: &[f32]) -> String {
    let ramp = |top: &f32| (0..512).map(|i| top * i as f32 / 511.0).collect::<Vec<_>>();
    let bytes: Vec<u8> = highest.iter().flat_map(ramp).flat_map(f32::to_le_bytes).collect();
    fs::write(folder.join("steps.raw"), bytes).unwrap();
    let steps = highest.len();
    let sidecar = format!(r#"{{"file": "steps.raw", "size": [8, 8, 8], "type": "f32", "steps": {steps}}}"#);
    let path = folder.join("steps.json");
    fs::write(&path, sidecar).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn the_colours_of_a_step_of_a_file_do_not_depend_on_what_was_looked_at_before() {
    let folder = TempDir::new().unwrap();
    let source = steps_up_to(folder.path(), &[1.0, 100.0, 10.0]);
    let function_of =
        |back_end: &BackEnd, step| back_end.load(StepKey { field: 0, step }).unwrap().default_transfer_function();
    let looked_around = back_end(&source);
    let [first, _, last] = [0, 1, 2].map(|step| function_of(&looked_around, step));
    assert_eq!(function_of(&back_end(&source), 2), last);
    assert_eq!([first.range, last.range], [Some([0.0, 1.0]), Some([0.0, 10.0])]);
}

#[test]
fn an_outlier_takes_nobodys_colours() {
    let folder = TempDir::new().unwrap();
    let source = steps_up_to(folder.path(), &[1.0; 4]);
    let path = folder.path().join("steps.raw");
    // One large step of all four.
    let sidecar = fs::read_to_string(&source)
        .unwrap()
        .replace("[8, 8, 8]", "[8, 16, 16]")
        .replace(r#""steps": 4"#, r#""steps": 1"#);
    fs::write(&source, sidecar).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[400..404].copy_from_slice(&1e30_f32.to_le_bytes());
    fs::write(&path, bytes).unwrap();
    let step = back_end(&source).load(StepKey { field: 0, step: 0 }).unwrap();
    assert_eq!(step.default_transfer_function().range, Some([0.0, 1.0]));
    assert_eq!(step.statistics.range.map(|range| range.hi), Some(1e30));
    assert_eq!(step.statistics.finite, 2048);
    assert_eq!(step.statistics.histogram.iter().sum::<u64>(), 2047);
}

/// A thread of the pool that waited for another to load would keep that one from its work.
#[test]
fn whoever_asks_for_a_step_that_is_being_loaded_waits_for_it_alone() {
    for _ in 0..50 {
        let config = BackEndConfig {
            source: "demo:wave?n=32&rate=0.1".to_owned(),
            pes: 2,
            threads: 2,
            device: Device::Cpu,
            crew: None,
        };
        let back_end = BackEnd::open(&config).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| back_end.load(StepKey { field: 0, step: back_end.steps().first }).unwrap());
            }
        });
    }
}
