//! Prints how long keyframes and exact images take on one thread and on several: a line of JSON for each.
//!
//! `proxy_costs NX,NY,NZ,DX,DY,DZ FIELD.raw TF.json RUNS`: samples and their distances along x, y and z, little-endian `f32` values with x fastest, the
//! transfer function, and how many times each is made, in turn. `bench/proxies/keyframes.py` runs this.

mod clocks;
mod inputs;

use std::error::Error;
use std::time::Instant;

use rayon::{ThreadPool, ThreadPoolBuilder};
use serde_json::json;
use visapult_render::{Camera, KeyView, TransferFunction, Volume, make_scalar_slabs, make_slabs, render_exact};
use visapult_volume::ValueRange;

/// Rays along the edges of a keyframe, and pixels of an image.
const SIZE: u16 = 512;
const SLABS: u16 = 128;
const THREADS: [usize; 2] = [1, 2];
const WORK: [&str; 3] = ["exact", "slabs", "scalar slabs"];

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [grid, field, function, runs] = &arguments[..] else {
        return Err("usage: proxy_costs NX,NY,NZ,DX,DY,DZ FIELD.raw TF.json RUNS".into());
    };
    let volume = inputs::volume(grid, field)?;
    let range = volume.range().ok_or("a field without values")?;
    let subject = Subject { function: inputs::transfer_function(function)?, volume, range };
    let pools = THREADS.map(|threads| ThreadPoolBuilder::new().num_threads(threads).build());
    let [one, two] = pools;
    let pools = [one?, two?];
    for _ in 0..runs.parse::<usize>()? {
        for work in WORK {
            for pool in &pools {
                println!("{}", subject.timed(work, pool));
            }
        }
    }
    Ok(())
}

struct Subject {
    volume: Volume,
    function: TransferFunction,
    range: ValueRange,
}

impl Subject {
    /// Does `work` on the threads of `pool`.
    fn timed(&self, work: &str, pool: &ThreadPool) -> serde_json::Value {
        let (began, cpu_before) = (Instant::now(), clocks::cpu_seconds());
        let bytes = pool.install(|| self.bytes_of(work));
        let (seconds, cpu_s) = (began.elapsed().as_secs_f64(), clocks::cpu_seconds() - cpu_before);
        json!({ "work": work, "threads": pool.current_num_threads(), "seconds": seconds, "cpu_s": cpu_s, "bytes": bytes })
    }

    fn bytes_of(&self, work: &str) -> usize {
        let key = KeyView { slabs: SLABS, width: SIZE, height: SIZE, ..KeyView::new(Camera::default()) };
        let edge = usize::from(SIZE);
        match work {
            "slabs" => make_slabs(&self.volume, &key, &self.function, 1.0).wire_bytes(),
            "scalar slabs" => make_scalar_slabs(&self.volume, &key, self.range).wire_bytes(),
            _ => 4 * render_exact(&self.volume, &key.camera, &self.function, edge, edge, 1.0).image.rgba.len(),
        }
    }
}
