//! What it brings to receive the next step while one is rendered.
//!
//! `overlap URL STEPS together|in-turn` receives steps of a running simulation and renders each on one thread; prints one JSON object. In turn,
//! a step is asked for when the one before has been rendered.

use std::error::Error;
use std::time::{Duration, Instant};

use rayon::ThreadPoolBuilder;
use visapult_pipeline::Camera;
use visapult_pipeline::flow::{FlowOptions, FlowSource};
use visapult_render::{TransferFunction, Volume, render_exact};
use visapult_volume::{StepIndex, ValueRange};
use visapult_volume_io::{ReadRequest, Source};

const WIDTH: usize = 640;
const HEIGHT: usize = 640;
const PATIENCE: Duration = Duration::from_secs(20);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [urls, steps, how] = arguments.as_slice() else {
        return Err("usage: overlap URL STEPS together|in-turn".into());
    };
    let in_turn = how == "in-turn";
    let ahead = in_turn.then_some(0);
    let mut source = FlowSource::dial(urls, FlowOptions { ahead, ..FlowOptions::default() })?;
    source.look_away();
    let handle = source.handle();
    let _look = (!in_turn).then(|| handle.look());
    let pool = ThreadPoolBuilder::new().num_threads(1).build()?;
    let mut last = source.steps().last;
    let mut rendering = Vec::new();
    let mut began = Instant::now();
    let steps: usize = steps.parse()?;
    // The first steps fill the path.
    let first = steps / 4;
    for done in 0..first + steps {
        if in_turn {
            drop(handle.look());
        }
        last = next(&source, last)?;
        if done == first {
            began = Instant::now();
            rendering.clear();
        }
        let begun = Instant::now();
        pool.install(|| render(&source, last))?;
        rendering.push(begun.elapsed().as_secs_f64());
    }
    let period_s = began.elapsed().as_secs_f64() / steps as f64;
    rendering.sort_by(f64::total_cmp);
    let render_s = rendering[rendering.len() / 2];
    println!("{}", serde_json::json!({ "how": how, "steps": steps, "period_s": period_s, "render_s": render_s }));
    Ok(())
}

/// The first step after `last`.
fn next(source: &FlowSource, last: StepIndex) -> Result<StepIndex, String> {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        let newest = source.wait_beyond(last, PATIENCE);
        if newest > last {
            return Ok(newest);
        }
    }
    Err(format!("no step after {last} has come"))
}

fn render(source: &FlowSource, step: StepIndex) -> Result<(), String> {
    let grid = source.info().grid().clone();
    let mut values = vec![0.0; grid.sample_count()];
    let request = ReadRequest { field: 0, step, level: 0, bounds: grid.bounds() };
    source.read(&request, &mut values).map_err(|cause| cause.to_string())?;
    let volume = Volume::whole(grid, values).map_err(|cause| cause.to_string())?;
    let transfer_function = TransferFunction::default_for(ValueRange { lo: -1.0, hi: 1.0 });
    render_exact(&volume, &Camera::default(), &transfer_function, WIDTH, HEIGHT, 1.0);
    Ok(())
}
