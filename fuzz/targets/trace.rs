//! Trace files: what is read can be summed up and drawn.
#![no_main]

use visapult_trace::{PlotOptions, Summary, Timeline, lifelines, parse};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(trace) = parse(bytes, "fuzzed") {
        let timeline = Timeline::of([trace]);
        let _ = Summary::of(&timeline);
        let _ = lifelines(&timeline, &PlotOptions { title: String::new(), steps: None });
    }
});
