//! `demo:wave`: a simulation that runs on in its own thread while it is looked at.
//!
//! Owns the solver's thread and a bounded history of published steps. Invariant: dropping the source ends the thread.

mod history;
mod options;
mod scene;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use visapult_volume::{FieldInfo, Grid, ScalarType, StepIndex, StepSpan, ValueRange};

use crate::wave::{COURANT, Wave};
use crate::{ReadRequest, Source, SourceError, SourceInfo};
use history::History;
use options::Options;
use scene::Scene;

/// Speed of sound in air, metres per second.
const SOUND_M_S: f64 = 343.0;
/// Edge of the simulated cube, metres.
const EDGE_M: f64 = 100.0;
/// What is published, in Pa: fixed, so that a transfer function never jumps.
const DECLARED: ValueRange = ValueRange { lo: -1.0, hi: 1.0 };

/// A running wave simulation.
pub(crate) struct Demo {
    info: SourceInfo,
    /// Seconds between published steps.
    step_s: f64,
    history: Arc<History>,
    solver: Option<JoinHandle<()>>,
}

impl Demo {
    /// Starts the simulation that `url` describes: `demo:wave?n=128&every=4&rate=12`.
    pub(crate) fn open(url: &str) -> Result<Self, SourceError> {
        let options = Options::parse(url)?;
        let n = options.n;
        let no_thread = |cause| SourceError::io(url, cause);
        let sponge = scene::sponge(n);
        let wave = Wave::new(n, sponge, options.threads).map_err(|e| no_thread(std::io::Error::other(e)))?;
        let history = Arc::new(History::new(n * n * n, options.history_bytes));
        let running = Running { wave, scene: Scene::new(n, options.sources), pace: Pace::new(options.rate), options };
        let shared = Arc::clone(&history);
        let solver = std::thread::Builder::new().name("wave".to_owned()).spawn(move || running.run(&shared));
        let solver = solver.map_err(no_thread)?;
        let substep_s = f64::from(COURANT) * EDGE_M / (n - 1) as f64 / SOUND_M_S;
        let step_s = substep_s * f64::from(options.every);
        Ok(Self { info: describe(&options), step_s, history, solver: Some(solver) })
    }
}

fn describe(options: &Options) -> SourceInfo {
    let n = options.n;
    let mut grid = Grid::of_size([n; 3]);
    grid.spacing = [EDGE_M / (n - 1) as f64; 3];
    grid.unit = "m".to_owned();
    SourceInfo {
        name: "wave".to_owned(),
        format: format!("live wave simulation, {} sources, {} solver threads", options.sources, options.threads),
        levels: vec![grid],
        fields: vec![FieldInfo {
            name: "pressure".to_owned(),
            unit: "Pa".to_owned(),
            scalar_type: ScalarType::F32,
            declared_range: Some(DECLARED),
        }],
        times: Vec::new(),
        time_unit: "s".to_owned(),
        calendar: String::new(),
        along: Default::default(),
        live: true,
    }
}

impl Source for Demo {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn steps(&self) -> StepSpan {
        self.history.span()
    }

    fn wait_beyond(&self, step: StepIndex, limit: Duration) -> StepIndex {
        self.history.wait_beyond(step, limit)
    }

    fn time_of(&self, step: StepIndex) -> Option<f64> {
        Some(step as f64 * self.step_s)
    }

    fn read(&self, request: &ReadRequest, out: &mut [f32]) -> Result<(), SourceError> {
        let steps = self.history.span();
        request.check(&self.info, steps, out.len())?;
        let gone = SourceError::StepGone { step: request.step, available: steps };
        let values = self.history.get(request.step).ok_or(gone)?;
        let [nx, ny, _] = request.bounds.size();
        let n = self.info.grid().size[0];
        for (row, part) in out.chunks_exact_mut(nx.max(1)).enumerate() {
            let (y, z) = (request.bounds.lo[1] + row % ny, request.bounds.lo[2] + row / ny);
            part.copy_from_slice(&values[(z * n + y) * n + request.bounds.lo[0]..][..nx]);
        }
        Ok(())
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        self.history.stop();
        if let Some(solver) = self.solver.take() {
            // A panic in the solver has been reported by the thread itself; there is nothing left to save.
            let _ = solver.join();
        }
    }
}

/// What the solver's thread owns.
struct Running {
    wave: Wave,
    scene: Scene,
    pace: Pace,
    options: Options,
}

impl Running {
    fn run(mut self, history: &History) {
        self.scene.pulses().iter().for_each(|pulse| self.wave.lift(pulse));
        let mut substep = 0;
        loop {
            history.publish(|out| {
                self.wave.copy_to(out);
                // Only cores of sources reach beyond: clipped as by a microphone, so that the declared range holds.
                out.iter_mut().for_each(|pressure| *pressure = pressure.clamp(DECLARED.lo, DECLARED.hi));
            });
            for _ in 0..self.options.every {
                if history.is_stopped() {
                    return;
                }
                self.wave.step(&self.scene.pushes(substep));
                substep += 1;
            }
            if !history.sleep(self.pace.until_next(Instant::now())) {
                return;
            }
        }
    }
}

/// Spaces published steps evenly; time lost is not caught up.
struct Pace {
    period: Duration,
    due: Option<Instant>,
}

impl Pace {
    fn new(rate: f64) -> Self {
        Self { period: Duration::from_secs_f64(1.0 / rate), due: None }
    }

    /// How long to wait at `now` before the next step is due.
    fn until_next(&mut self, now: Instant) -> Duration {
        let due = self.due.map_or(now, |due| (due + self.period).max(now));
        self.due = Some(due);
        due - now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use visapult_volume::Box3;

    const LONG: Duration = Duration::from_secs(60);

    fn read_step(source: &Demo, step: StepIndex, bounds: Box3) -> Result<Vec<f32>, SourceError> {
        let mut out = vec![0.0; bounds.volume()];
        source.read(&ReadRequest { field: 0, step, level: 0, bounds }, &mut out).map(|()| out)
    }

    #[test]
    fn steps_arrive_while_watched_and_old_ones_leave() {
        let source = Demo::open("demo:wave?n=64&every=1&rate=1000&history=4&threads=2").unwrap();
        assert_eq!(source.wait_beyond(9, LONG).min(10), 10);
        let span = source.steps();
        assert!(span.last - span.first < 4);
        let gone = read_step(&source, 0, Box3::of_size([64; 3])).unwrap_err();
        assert!(gone.to_string().starts_with("step 0 is not available"), "{gone}");
    }

    #[test]
    fn boxes_agree_with_the_whole_and_the_first_step_is_not_empty() {
        let source = Demo::open("demo:wave?n=32&every=2&rate=1000").unwrap();
        source.wait_beyond(5, LONG);
        let whole = read_step(&source, 5, Box3::of_size([32; 3])).unwrap();
        let bounds = Box3::new([3, 10, 7], [20, 11, 30]);
        let part = read_step(&source, 5, bounds).unwrap();
        for (i, value) in part.iter().enumerate() {
            let [x, y, z] = [3 + i % 17, 10, 7 + i / 17];
            assert_eq!(*value, whole[(z * 32 + y) * 32 + x]);
        }
        assert!(read_step(&source, 0, Box3::of_size([32; 3])).unwrap().iter().any(|v| v.abs() > 0.1));
    }

    #[test]
    fn all_but_the_cores_of_sources_stay_in_the_declared_range_over_a_long_run() {
        for sources in [1, 5, 16] {
            let mut wave = Wave::new(40, scene::sponge(40), 2).unwrap();
            let scene = Scene::new(40, sources);
            let mut out = vec![0.0_f32; 40 * 40 * 40];
            for substep in 0..1000 {
                wave.step(&scene.pushes(substep));
                if substep % 50 == 0 {
                    wave.copy_to(&mut out);
                    let beyond = out.iter().filter(|v| !(-1.0..=1.0).contains(*v)).count();
                    assert!(beyond * 500 < out.len(), "{sources} sources, step {substep}: {beyond} beyond");
                    assert!(out.iter().all(|v| v.abs() < 3.0), "{sources} sources, step {substep}");
                }
            }
        }
    }

    #[test]
    fn pace_neither_drifts_nor_catches_up() {
        let mut pace = Pace::new(10.0);
        let start = Instant::now();
        let ms = Duration::from_millis;
        assert_eq!(pace.until_next(start), ms(0));
        assert_eq!(pace.until_next(start + ms(30)), ms(70));
        assert_eq!(pace.until_next(start + ms(110)), ms(90));
        assert_eq!(pace.until_next(start + ms(950)), ms(0));
        assert_eq!(pace.until_next(start + ms(960)), ms(90));
    }
}
