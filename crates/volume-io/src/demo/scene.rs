//! Where the sources of the wave simulation are, and how they push.

use std::f64::consts::{PI, TAU};

use crate::wave::{COURANT, Push};

/// Peak of the field at a source that is alone and at rest, in Pa.
///
/// Waves fall with the distance from their source, so that this leaves a tenth of the samples above a quarter of it.
const PEAK: f64 = 1.0;
/// Height of the pulses the simulation starts with.
const START: f64 = 0.9;

/// Samples of absorbing layer per face on a grid of `n^3`.
pub(super) fn sponge(n: usize) -> usize {
    (n / 9).max(4)
}

/// Sources on tilted circular orbits, each with its own pitch.
pub(super) struct Scene {
    n: usize,
    orbits: Vec<Orbit>,
    peak: f64,
}

/// Lengths are in edges of the cube, times in edges travelled by sound.
struct Orbit {
    axes: [[f64; 3]; 2],
    radius: f64,
    /// Speed over the speed of sound.
    mach: f64,
    phase: f64,
    wavelength: f64,
    /// Where in its swing the source begins, radians.
    beat: f64,
}

impl Scene {
    pub(super) fn new(n: usize, sources: usize) -> Self {
        // Far waves of many sources add up like a random walk.
        let crowd = (sources as f64 / 5.0).sqrt().max(1.0);
        Self { n, orbits: (0..sources).map(|i| Orbit::numbered(i, n)).collect(), peak: PEAK / crowd }
    }

    /// What the sources do at solver step `substep`.
    pub(super) fn pushes(&self, substep: u64) -> Vec<Push> {
        let time = substep as f64 * f64::from(COURANT) / (self.n - 1) as f64;
        self.orbits.iter().map(|orbit| orbit.push(self.n, time, self.peak)).collect()
    }

    /// Pulses at rest where the sources begin.
    pub(super) fn pulses(&self) -> Vec<Push> {
        let height = (START * self.peak / PEAK) as f32;
        self.orbits.iter().map(|orbit| Push { strength: height, ..orbit.push(self.n, 0.0, 1.0) }).collect()
    }
}

impl Orbit {
    fn numbered(index: usize, n: usize) -> Self {
        // Steps of the golden ratio spread any number of sources evenly.
        let spread = |seed: f64| (seed + index as f64 * 0.618_033_988_749_895).fract();
        let (tilt, turn) = ((2.0 * spread(0.31) - 1.0).acos(), TAU * spread(0.77));
        let axes = [[turn.cos() * tilt.cos(), turn.sin() * tilt.cos(), -tilt.sin()], [-turn.sin(), turn.cos(), 0.0]];
        // Eight samples per wave at least, whatever the grid.
        let wavelength = (0.17 + 0.1 * spread(0.5)).max(8.0 / (n - 1) as f64);
        Self {
            axes,
            radius: 0.16 + 0.14 * spread(0.13),
            mach: 0.12 + 0.2 * spread(0.9),
            phase: TAU * spread(0.0),
            wavelength,
            beat: TAU * spread(0.4),
        }
    }

    fn push(&self, n: usize, time: f64, peak: f64) -> Push {
        let angle = self.phase + time * self.mach / self.radius;
        let at = |axis: usize| {
            let offset = self.radius * (angle.cos() * self.axes[0][axis] + angle.sin() * self.axes[1][axis]);
            ((0.5 + offset) * (n - 1) as f64) as f32
        };
        // With k times the Gaussian's radius = 1 the field at a source at rest peaks at 0.81 radius^2 times q:
        // the Helmholtz Green function exp(ikr) / 4 pi r integrated over the Gaussian.
        let radius = self.wavelength / TAU * (n - 1) as f64;
        let fade_in = (time / self.wavelength).min(1.0) * PI / 2.0;
        let swing = (TAU * time / self.wavelength + self.beat).sin() * fade_in.sin().powi(2);
        Push {
            at: [at(0), at(1), at(2)],
            radius: radius as f32,
            strength: (peak * swing / (0.81 * radius * radius)) as f32,
        }
    }
}
