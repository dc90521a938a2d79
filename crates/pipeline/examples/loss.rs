//! What lost datagrams do to a picture: receives every step of a served file, and compares each picture with that of the file itself.
//!
//! `loss URL FILE` prints one JSON object per step. Bytes that are lost keep the values of the step before.

use std::error::Error;
use std::time::Instant;

use visapult_pipeline::flow::{FlowOptions, FlowSource};
use visapult_pipeline::{Camera, Image, open_local};
use visapult_render::{Quality, TransferFunction, Volume, render_exact};
use visapult_ripp_net::Mode;
use visapult_volume::{StepIndex, ValueRange};
use visapult_volume_io::{ReadRequest, Source};

const PES: usize = 4;
const WIDTH: usize = 512;
const HEIGHT: usize = 512;
/// Of pictures that are equal, in place of infinity.
const EQUAL_DB: f64 = 99.0;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(file)) = (arguments.next(), arguments.next()) else {
        return Err("usage: loss URL FILE".into());
    };
    let truth = open_local(&file)?;
    let flow = FlowSource::dial(&url, FlowOptions { pes: PES, mode: Mode::Lossy, ..FlowOptions::default() })?;
    let handle = flow.handle();
    let steps = truth.steps();
    let range = ValueRange::of(&read(truth.as_ref(), steps.first)?).ok_or("no value of the file is finite")?;
    let transfer_function = TransferFunction::default_for(range);
    for step in steps.first..=steps.last {
        let began = Instant::now();
        let received = read(&flow, step)?;
        let seconds = began.elapsed().as_secs_f64();
        let picture = |source: &dyn Source, values| picture(source, values, &transfer_function);
        let quality = Quality::of(&picture(&flow, received)?, &picture(&flow, read(truth.as_ref(), step)?)?)?;
        let fresh = handle.freshness(step).map(|freshness| freshness.fresh);
        let psnr_db = quality.foreground_psnr_db.min(EQUAL_DB);
        let told = serde_json::json!({ "step": step, "fresh_share": fresh, "psnr_db": psnr_db, "seconds": seconds });
        println!("{told}");
    }
    Ok(())
}

fn read(source: &dyn Source, step: StepIndex) -> Result<Vec<f32>, Box<dyn Error>> {
    let bounds = source.info().grid().bounds();
    let mut values = vec![0.0; bounds.volume()];
    source.read(&ReadRequest { field: 0, step, level: 0, bounds }, &mut values)?;
    Ok(values)
}

fn picture(
    source: &dyn Source,
    values: Vec<f32>,
    transfer_function: &TransferFunction,
) -> Result<Image, Box<dyn Error>> {
    let volume = Volume::whole(source.info().grid().clone(), values)?;
    Ok(render_exact(&volume, &Camera::default(), transfer_function, WIDTH, HEIGHT, 1.0).image)
}
