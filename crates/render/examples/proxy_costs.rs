//! Prints how long keyframes, exact images, and predictions of what proxies are worth take on one thread, on two, and so on up to the machine's cores: a line of JSON for each.
//!
//! `proxy_costs NX,NY,NZ,DX,DY,DZ FIELD.raw TF.json RUNS [WHAT]`: samples and their distances along x, y and z, little-endian `f32` values with x fastest, the
//! transfer function, and how many times each is made, in turn, or `WHAT` alone. Of 64 slabs: how close they come to the exact image, too, when the view turns.
//! `bench/proxies/keyframes.py` runs this.

mod clocks;
mod inputs;

use std::error::Error;
use std::iter;
use std::time::Instant;

use rayon::{ThreadPool, ThreadPoolBuilder};
use serde_json::json;
use visapult_render::{
    Camera, CodeBits, Form, KeyView, Predictor, Pyramid, Quality, SegmentKey, SlabStack, TransferFunction, Volume,
    make_scalar_slabs, make_slabs, render_exact, slab_counts,
};
use visapult_volume::ValueRange;

/// Rays along the edges of a keyframe, and pixels of an image.
const SIZE: u16 = 512;
const SLABS: u16 = 128;
const FEW_SLABS: u16 = 64;
/// Turn of the view in which these are looked at.
const TURNED_DEG: f64 = 20.0;
const WORK: [&str; 6] = ["exact", "slabs", FEW, "scalar slabs", "predictions", "predictions with colour"];
const FEW: &str = "64 slabs";
/// Levels of bricks that predictions look at, and turns of the view.
const LEVELS: u32 = 4;
const TURNS_DEG: [f64; 4] = [0.0, 16.0, 30.0, 45.0];

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let ([grid, field, function, runs] | [grid, field, function, runs, _]) = &arguments[..] else {
        return Err("usage: proxy_costs NX,NY,NZ,DX,DY,DZ FIELD.raw TF.json RUNS [WHAT]".into());
    };
    let is_asked = |work: &&&str| arguments.get(4).is_none_or(|asked| asked == **work);
    let volume = inputs::volume(grid, field)?;
    let range = volume.range().ok_or("a field without values")?;
    let pyramids = volume.blocks().iter().map(|block| Pyramid::of(block, LEVELS)).collect();
    let subject = Subject { function: inputs::transfer_function(function)?, volume, pyramids, range };
    let cores = std::thread::available_parallelism()?.get().max(2);
    let pools = iter::successors(Some(1), |threads| Some(2 * threads))
        .take_while(|threads| *threads <= cores)
        .map(|threads| ThreadPoolBuilder::new().num_threads(threads).build())
        .collect::<Result<Vec<_>, _>>()?;
    let few_db = if is_asked(&&FEW) { Some(subject.few_db()?) } else { None };
    for _ in 0..runs.parse::<usize>()? {
        for work in WORK.iter().filter(is_asked) {
            for pool in &pools {
                let mut row = subject.timed(work, pool);
                if *work == FEW {
                    row["psnr_db"] = json!(few_db);
                }
                println!("{row}");
            }
        }
    }
    Ok(())
}

struct Subject {
    volume: Volume,
    pyramids: Vec<Pyramid>,
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
        let key = key_view(SLABS);
        let edge = usize::from(SIZE);
        match work {
            "slabs" => make_slabs(&self.volume, &key, &self.function, 1.0).wire_bytes(),
            FEW => make_slabs(&self.volume, &key_view(FEW_SLABS), &self.function, 1.0).wire_bytes(),
            "scalar slabs" => make_scalar_slabs(&self.volume, &key, self.range).wire_bytes(),
            "predictions" => self.predicted(&[]),
            "predictions with colour" => self.predicted(&[64, 128, 192].map(|slabs| Form::Slabs { slabs })),
            _ => 4 * render_exact(&self.volume, &key.camera, &self.function, edge, edge, 1.0).image.rgba.len(),
        }
    }

    /// How close few slabs come to the exact image over the foreground when the view has turned.
    fn few_db(&self) -> Outcome<f64> {
        let key = key_view(FEW_SLABS);
        let (camera, edge) = (key.camera.turned(TURNED_DEG), usize::from(SIZE));
        let stack = SlabStack::from_keyframe(&make_slabs(&self.volume, &key, &self.function, 1.0))?;
        let truth = render_exact(&self.volume, &camera, &self.function, edge, edge, 0.5).image;
        Ok(Quality::of(&stack.render(&camera, edge, edge), &truth)?.foreground_psnr_db)
    }

    /// What a session asks for, and forms `beside`: the bytes of all.
    fn predicted(&self, beside: &[Form]) -> usize {
        let key = Camera::default();
        let forms: Vec<Form> = (0..LEVELS)
            .map(|level| Form::Bricks { level, bits: CodeBits::EIGHT })
            .chain(CodeBits::COARSE.map(|bits| Form::Bricks { level: 0, bits }))
            .chain(slab_counts(&self.volume, key).map(|slabs| Form::ScalarSlabs { slabs }))
            .chain([Form::Segments { segments: SegmentKey::SEGMENTS }])
            .collect();
        let subject = visapult_render::Subject {
            volume: &self.volume,
            pyramids: &self.pyramids,
            transfer_function: &self.function,
            key,
            aspect: 1.0,
        };
        let predictor = Predictor::new(subject, &TURNS_DEG.map(|turn| key.turned(turn)));
        let predictions = [&forms[..], beside].map(|forms| predictor.predict(forms)).concat();
        predictions.iter().map(|prediction| prediction.bytes as usize).sum()
    }
}

fn key_view(slabs: u16) -> KeyView {
    KeyView { slabs, width: SIZE, height: SIZE, ..KeyView::new(Camera::default()) }
}
