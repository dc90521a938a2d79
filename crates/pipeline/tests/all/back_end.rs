//! A back end that many ask at once.

use visapult_pipeline::{BackEnd, BackEndConfig, Device, StepKey};

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
