//! Reads a source whole, several times, and prints the rate: `read_speed URL [TIMES]`.

use std::time::Instant;

use visapult_volume_io::{ReadRequest, SourceError, open};

fn main() -> Result<(), SourceError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let url = arguments.first().map_or("", String::as_str);
    let times = arguments.get(1).and_then(|n| n.parse().ok()).unwrap_or(5);
    let started = Instant::now();
    let source = open(url)?;
    let opened_ms = started.elapsed().as_secs_f64() * 1e3;
    let bounds = source.info().grid().bounds();
    // Touched before the clock starts: what is measured is the reader.
    let mut out = vec![1.0_f32; bounds.volume()];
    let mut rates: Vec<f64> = (0..times)
        .map(|_| {
            let started = Instant::now();
            let request = ReadRequest { field: 0, step: source.steps().last, level: 0, bounds };
            source.read(&request, &mut out).map(|()| started.elapsed().as_secs_f64())
        })
        .map(|seconds| seconds.map(|s| out_bytes(bounds.volume()) / s / 1e9))
        .collect::<Result<_, _>>()?;
    rates.sort_by(f64::total_cmp);
    let median = rates[rates.len() / 2];
    let (lowest, highest) = (rates[0], rates[rates.len() - 1]);
    println!("{url}: open {opened_ms:.1} ms; {median:.2} GB/s of f32 handed out ({lowest:.2} to {highest:.2})");
    Ok(())
}

fn out_bytes(values: usize) -> f64 {
    (values * size_of::<f32>()) as f64
}
