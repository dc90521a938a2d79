//! A small simulation that is steered: lumps run round on a ring, as many, as wide and as fast as its viewers want them.
//!
//! Prints the URL to look at (`visapult view URL`), then what is changed before which step. With the URL of a back end that waits as its
//! argument, or in `VISAPULT_URL`, it publishes there; `RANK/RANKS` behind it makes it one of several, each with its share of the planes.

use std::convert::Infallible;
use std::error::Error;
use std::f64::consts::TAU;
use std::ops::Range;
use std::thread;
use std::time::Duration;

use visapult_publish::{
    Box3, Centering, Change, FieldInfo, Grid, Meeting, Parameter, ParameterKind, Publisher, PublisherOptions,
    ScalarType, ValueRange,
};

/// Samples along each side, a millimetre apart.
const SIDE: usize = 64;
/// Of the ring, in millimetres.
const RADIUS: f64 = 18.0;
/// Time from one step to the next, in the simulation and on the clock.
const STEP: Duration = Duration::from_millis(50);

struct Lumps {
    /// Turns a second.
    speed: f64,
    /// Standard deviation of a lump, in millimetres.
    width: f64,
    count: f64,
    /// Turns so far.
    turned: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1);
    let share = Share::of(std::env::args().nth(2).as_deref())?;
    let here = Meeting::Here { at: ([127, 0, 0, 1], 0).into(), host: "127.0.0.1".to_owned() };
    let meeting = Meeting::find(url.as_deref(), None, None)?.unwrap_or(here);
    let mut lumps = Lumps { speed: 0.25, width: 5.0, count: 3.0, turned: 0.0 };
    let mut publisher = Publisher::open(&meeting, lumps.declared(&share))?;
    if let Some(url) = publisher.url() {
        println!("{url}");
    }
    for step in 0_u32.. {
        let steering = publisher.steer();
        for change in steering.changes {
            println!("before step {step}: {} is {}", change.name, change.value);
            lumps.change(&change);
        }
        if steering.stop {
            println!("stopped before step {step}");
            break;
        }
        publisher.begin(f64::from(step) * STEP.as_secs_f64())?;
        publisher.put(0, |values| {
            lumps.write(values, &share);
            Ok::<_, Infallible>(())
        })??;
        publisher.end()?;
        lumps.turned += lumps.speed * STEP.as_secs_f64();
        thread::sleep(STEP);
    }
    Ok(())
}

/// The planes of one rank.
struct Share {
    rank: u32,
    ranks: u32,
    planes: Range<usize>,
}

impl Share {
    /// Of `RANK/RANKS`; everything where nothing is said.
    fn of(said: Option<&str>) -> Result<Self, Box<dyn Error>> {
        let (rank, ranks) = said.unwrap_or("0/1").split_once('/').ok_or("expected RANK/RANKS, such as 0/2")?;
        let (rank, ranks): (u32, u32) = (rank.parse()?, ranks.parse()?);
        if rank >= ranks || ranks as usize > SIDE {
            return Err(format!("rank {rank} of {ranks}: at most {SIDE}, counted from 0").into());
        }
        let first = |rank: u32| SIDE * rank as usize / ranks as usize;
        Ok(Self { rank, ranks, planes: first(rank)..first(rank + 1) })
    }
}

impl Lumps {
    fn declared(&self, share: &Share) -> PublisherOptions {
        let grid = Grid {
            size: [SIDE; 3],
            spacing: [1.0; 3],
            origin: [0.0; 3],
            unit: "mm".to_owned(),
            centering: Centering::Point,
        };
        let density = FieldInfo {
            name: "density".to_owned(),
            unit: "g/ml".to_owned(),
            scalar_type: ScalarType::F32,
            declared_range: Some(ValueRange { lo: 0.0, hi: 1.0 }),
        };
        PublisherOptions {
            rank: share.rank,
            ranks: share.ranks,
            block: Box3::new([0, 0, share.planes.start], [SIDE, SIDE, share.planes.end]),
            time_unit: "s".to_owned(),
            parameters: vec![
                parameter("speed", "turns/s", ParameterKind::Number, [0.0, 2.0], self.speed),
                parameter("width", "mm", ParameterKind::Number, [1.0, 10.0], self.width),
                parameter("count", "", ParameterKind::Integer, [1.0, 8.0], self.count),
            ],
            ..PublisherOptions::of_simulation("lumps".to_owned(), grid, vec![density])
        }
    }

    fn change(&mut self, change: &Change) {
        match change.name.as_str() {
            "speed" => self.speed = change.value,
            "width" => self.width = change.value,
            _ => self.count = change.value,
        }
    }

    /// Fills the values of its planes, `[z, y, x]`, with the greatest of the lumps at each place.
    fn write(&self, values: &mut [f32], share: &Share) {
        values.fill(0.0);
        // A Gaussian of three dimensions is the product of three of one.
        let along = |centre: f64| -> [f32; SIDE] {
            std::array::from_fn(|i| (-((i as f64 - centre) / self.width).powi(2) / 2.0).exp() as f32)
        };
        let middle = (SIDE - 1) as f64 / 2.0;
        let in_z = along(middle);
        for lump in 0..self.count as u32 {
            let (sin, cos) = (TAU * (self.turned + f64::from(lump) / self.count)).sin_cos();
            let (in_x, in_y) = (along(middle + RADIUS * cos), along(middle + RADIUS * sin));
            for (row, values) in values.chunks_exact_mut(SIDE).enumerate() {
                let over = in_z[share.planes.start + row / SIDE] * in_y[row % SIDE];
                values.iter_mut().zip(in_x).for_each(|(value, at)| *value = value.max(over * at));
            }
        }
    }
}

fn parameter(name: &str, unit: &str, kind: ParameterKind, [least, most]: [f64; 2], value: f64) -> Parameter {
    Parameter { name: name.to_owned(), unit: unit.to_owned(), kind, least, most, value }
}
