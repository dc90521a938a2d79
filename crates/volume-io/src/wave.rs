//! The scalar wave equation `u_tt = c^2 (lap u + q)` on a cube of `n^3` samples.
//!
//! Leapfrog in time (second order), five-point differences per axis in space (fourth order), sources `q` that move,
//! a sponge that absorbs at the faces. Stable while the Courant number `c dt / dx` stays below 1/2: on the shortest
//! waves the difference operator reaches `3 * 16/3 / dx^2`, and leapfrog needs `(c dt)^2` times that to stay below 4.
//! Invariant: every sample is computed by the same operations in the same order, however many threads share the work.

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

/// Samples of zero around the cube, so that differences need no cases at the faces.
const PAD: usize = 2;
/// Nine tenths of the stability limit.
pub(crate) const COURANT: f32 = 0.45;
/// Weights of the fourth-order second difference at distances 0, 1, 2 (Fornberg 1988, table 1).
const WEIGHTS: [f64; 3] = [-5.0 / 2.0, 4.0 / 3.0, -1.0 / 12.0];

/// A ball that pushes the medium, Gaussian in space. Lengths are in samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Push {
    /// Centre, in samples.
    pub(crate) at: [f32; 3],
    /// Standard deviation, in samples.
    pub(crate) radius: f32,
    /// Value of `q dx^2` at the centre.
    pub(crate) strength: f32,
}

/// The field now and one step ago.
pub(crate) struct Wave {
    n: usize,
    now: Vec<f32>,
    before: Vec<f32>,
    /// What a step leaves of a wave, per sample along one axis; the sponge is the product over the axes.
    taper: Vec<f32>,
    threads: ThreadPool,
}

impl Wave {
    /// A field at rest on `n^3` samples, with a sponge `sponge` samples thick, stepped by `threads` threads.
    pub(crate) fn new(n: usize, sponge: usize, threads: usize) -> Result<Self, ThreadPoolBuildError> {
        let padded = n + 2 * PAD;
        let threads = ThreadPoolBuilder::new().num_threads(threads).thread_name(|i| format!("wave {i}")).build()?;
        let zeros = vec![0.0; padded * padded * padded];
        Ok(Self { n, now: zeros.clone(), before: zeros, taper: taper(n, sponge), threads })
    }

    /// Sets the field now and one step ago from functions of the sample `[x, y, z]`.
    #[cfg(test)]
    pub(crate) fn set(&mut self, now: impl Fn([usize; 3]) -> f32, before: impl Fn([usize; 3]) -> f32) {
        let n = self.n;
        for (z, y, x) in (0..n * n * n).map(|i| (i / (n * n), i / n % n, i % n)) {
            let index = self.row(y, z) + x;
            self.now[index] = now([x, y, z]);
            self.before[index] = before([x, y, z]);
        }
    }

    /// Adds a Gaussian of height `strength` to the field, at rest.
    pub(crate) fn lift(&mut self, push: &Push) {
        let padded = self.n + 2 * PAD;
        for field in [&mut self.now, &mut self.before] {
            for (plane, values) in field.chunks_mut(padded * padded).enumerate().skip(PAD).take(self.n) {
                push.add_to_plane(values, self.n, plane - PAD, push.strength);
            }
        }
    }

    /// One time step, with `pushes` acting.
    pub(crate) fn step(&mut self, pushes: &[Push]) {
        let n = self.n;
        let padded = n + 2 * PAD;
        let plane = padded * padded;
        let slab = n.div_ceil(self.threads.current_num_threads());
        let (now, taper) = (&self.now, &self.taper);
        let inner = &mut self.before[PAD * plane..(PAD + n) * plane];
        self.threads.install(|| {
            inner.par_chunks_mut(slab * plane).enumerate().for_each(|(index, next)| {
                for (z, next) in next.chunks_mut(plane).enumerate() {
                    let z = index * slab + z;
                    step_plane(next, &now[z * plane..][..(2 * PAD + 1) * plane], n, taper, taper[z]);
                    for push in pushes {
                        push.add_to_plane(next, n, z, push.strength * COURANT * COURANT);
                    }
                }
            });
        });
        std::mem::swap(&mut self.now, &mut self.before);
    }

    /// Copies the field into `out`, `[z, y, x]`, `n^3` values.
    pub(crate) fn copy_to(&self, out: &mut [f32]) {
        let n = self.n;
        for (index, row) in out.chunks_exact_mut(n).enumerate() {
            let at = self.row(index % n, index / n);
            row.copy_from_slice(&self.now[at..at + n]);
        }
    }

    fn row(&self, y: usize, z: usize) -> usize {
        let padded = self.n + 2 * PAD;
        ((z + PAD) * padded + y + PAD) * padded + PAD
    }
}

/// Steps one plane: `next` holds the plane one step ago and receives the new one; `planes` are the five around it.
fn step_plane(next: &mut [f32], planes: &[f32], n: usize, taper: &[f32], taper_z: f32) {
    let padded = n + 2 * PAD;
    let plane = padded * padded;
    for y in 0..n {
        let row = (y + PAD) * padded + PAD;
        let from = |z: usize, y_shift: usize, x_shift: usize| {
            &planes[z * plane + row + y_shift * padded + x_shift - PAD * padded - PAD..][..n]
        };
        let neighbours = Neighbours {
            centre: from(2, 2, 2),
            near: [from(2, 2, 1), from(2, 2, 3), from(2, 1, 2), from(2, 3, 2), from(1, 2, 2), from(3, 2, 2)],
            far: [from(2, 2, 0), from(2, 2, 4), from(2, 0, 2), from(2, 4, 2), from(0, 2, 2), from(4, 2, 2)],
        };
        step_row(&mut next[row..row + n], &neighbours, &taper[..n], taper[y] * taper_z);
    }
}

/// A row and the rows one and two samples away from it, all equally long.
struct Neighbours<'a> {
    centre: &'a [f32],
    near: [&'a [f32]; 6],
    far: [&'a [f32]; 6],
}

fn step_row(next: &mut [f32], rows: &Neighbours<'_>, taper: &[f32], taper_yz: f32) {
    const C2: f32 = COURANT * COURANT;
    const CENTRE: f32 = 2.0 + 3.0 * C2 * WEIGHTS[0] as f32;
    const NEAR: f32 = C2 * WEIGHTS[1] as f32;
    const FAR: f32 = C2 * WEIGHTS[2] as f32;
    let n = next.len();
    // Equal lengths known to the compiler: no bounds checks, and the loop runs in vector registers.
    let (centre, taper) = (&rows.centre[..n], &taper[..n]);
    let [a, b, c, d, e, f] = rows.near.map(|row| &row[..n]);
    let [g, h, i, j, k, l] = rows.far.map(|row| &row[..n]);
    for x in 0..n {
        let near = (a[x] + b[x]) + (c[x] + d[x]) + (e[x] + f[x]);
        let far = (g[x] + h[x]) + (i[x] + j[x]) + (k[x] + l[x]);
        let keep = taper[x] * taper_yz;
        let undamped = CENTRE * centre[x] + (NEAR * near + FAR * far);
        // With keep = exp(-s) this is leapfrog for u e^(s t): damping that cannot make the scheme unstable.
        next[x] = keep * (undamped - keep * next[x]);
    }
}

/// `exp` of minus a cubic ramp towards both ends; 1 inside.
fn taper(n: usize, sponge: usize) -> Vec<f32> {
    // The ramp's integral makes a wave that crosses the sponge and comes back lose a factor of a thousand or more.
    let strength = 4.0 * 7.0 * f64::from(COURANT) / (2.0 * sponge.max(1) as f64);
    let depth = |i: usize| sponge.saturating_sub(i.min(n - 1 - i)) as f64 / sponge.max(1) as f64;
    (0..n).map(|i| (-strength * depth(i).powi(3)).exp() as f32).collect()
}

impl Push {
    /// Adds `height` times the Gaussian to one padded plane at `z`.
    fn add_to_plane(&self, plane: &mut [f32], n: usize, z: usize, height: f32) {
        const REACH: f32 = 4.0;
        let gauss = |i: usize, axis: usize| (-0.5 * ((i as f32 - self.at[axis]) / self.radius).powi(2)).exp();
        let range = |axis: usize| {
            let lo = (self.at[axis] - REACH * self.radius).ceil().clamp(0.0, n as f32) as usize;
            lo..((self.at[axis] + REACH * self.radius).floor() + 1.0).clamp(lo as f32, n as f32) as usize
        };
        if !range(2).contains(&z) {
            return;
        }
        let along_x: Vec<f32> = range(0).map(|x| gauss(x, 0)).collect();
        for y in range(1) {
            let height = height * gauss(z, 2) * gauss(y, 1);
            let row = &mut plane[(y + PAD) * (n + 2 * PAD) + PAD + range(0).start..][..along_x.len()];
            row.iter_mut().zip(&along_x).for_each(|(value, gauss)| *value += height * gauss);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A spherical pulse from a Gaussian at rest: `u = [(r - ct) f(r - ct) + (r + ct) f(r + ct)] / 2r` exactly.
    fn pulse(n: usize, width: f64, time: f64) -> impl Fn([usize; 3]) -> f32 {
        let f = move |s: f64| s * (-(s * s) / (2.0 * width * width)).exp();
        move |at| {
            let dx = 1.0 / (n - 1) as f64;
            let r = at.iter().map(|&i| (i as f64 * dx - 0.5).powi(2)).sum::<f64>().sqrt().max(1e-9);
            ((f(r - time) + f(r + time)) / (2.0 * r)) as f32
        }
    }

    fn error_against_pulse(n: usize) -> f64 {
        let dt = f64::from(COURANT) / (n - 1) as f64;
        let steps = (0.15 / dt).round() as usize;
        let mut wave = Wave::new(n, 0, 2).unwrap();
        wave.set(pulse(n, 0.07, 0.0), pulse(n, 0.07, dt));
        (0..steps).for_each(|_| wave.step(&[]));
        let mut got = vec![0.0; n * n * n];
        wave.copy_to(&mut got);
        let exact = pulse(n, 0.07, steps as f64 * dt);
        let square: f64 =
            got.iter().enumerate().map(|(i, v)| f64::from(v - exact([i % n, i / n % n, i / (n * n)])).powi(2)).sum();
        (square / got.len() as f64).sqrt()
    }

    #[test]
    fn a_spherical_pulse_converges_to_the_exact_one_at_second_order_in_the_time_step() {
        let (coarse, fine) = (error_against_pulse(41), error_against_pulse(81));
        assert!(fine < 2e-3, "error {fine}");
        // Second order gives 4; the coarse grid still shows some fourth-order error, of the opposite sign.
        assert!((3.2..5.0).contains(&(coarse / fine)), "errors {coarse} and {fine}");
    }

    #[test]
    fn the_second_difference_is_of_fourth_order() {
        // With Courant number C, one step of a plane wave gives 2 cos(w dt) = 2 - C^2 K, where K -> (k dx)^2.
        let error = |kdx: f64| {
            let w = WEIGHTS;
            let symbol = -(w[0] + 2.0 * w[1] * kdx.cos() + 2.0 * w[2] * (2.0 * kdx).cos());
            (symbol / (kdx * kdx) - 1.0).abs()
        };
        let order = (error(0.4) / error(0.2)).log2();
        assert!((order - 4.0).abs() < 0.1, "order {order}");
    }

    fn energy(wave: &Wave) -> f64 {
        // Conserved by leapfrog: |u' - u|^2 - C^2 <L u', u>.
        let n = wave.n;
        let padded = n + 2 * PAD;
        let c2 = f64::from(COURANT).powi(2);
        let mut total = 0.0;
        for (z, y, x) in (0..n * n * n).map(|i| (i / (n * n), i / n % n, i % n)) {
            let at = wave.row(y, z) + x;
            let u = |shift: isize| f64::from(wave.now[at.wrapping_add_signed(shift)]);
            let axes = [1, padded as isize, (padded * padded) as isize];
            let lap: f64 = axes
                .iter()
                .map(|&s| WEIGHTS[0] * u(0) + WEIGHTS[1] * (u(s) + u(-s)) + WEIGHTS[2] * (u(2 * s) + u(-2 * s)))
                .sum();
            let before = f64::from(wave.before[at]);
            total += (u(0) - before).powi(2) - c2 * lap * before;
        }
        total
    }

    #[test]
    fn energy_stays_without_a_sponge_and_leaves_with_one() {
        let n = 40;
        let push = Push { at: [19.5; 3], radius: 3.0, strength: 1.0 };
        let after = |sponge: usize| {
            let mut wave = Wave::new(n, sponge, 1).unwrap();
            wave.lift(&push);
            wave.step(&[]);
            let start = energy(&wave);
            (0..400).for_each(|_| wave.step(&[]));
            energy(&wave) / start
        };
        let kept = after(0);
        assert!((kept - 1.0).abs() < 1e-3, "kept {kept}");
        let left = after(8);
        assert!((0.0..3e-3).contains(&left), "left {left}");
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let run = |threads: usize| {
            let mut wave = Wave::new(31, 5, threads).unwrap();
            let pushes = [
                Push { at: [10.0, 14.5, 20.0], radius: 2.0, strength: 0.5 },
                Push { at: [22.0, 9.0, 3.0], radius: 3.0, strength: -0.25 },
            ];
            (0..40).for_each(|_| wave.step(&pushes));
            let mut out = vec![0.0; 31 * 31 * 31];
            wave.copy_to(&mut out);
            out.iter().map(|v| v.to_bits()).collect::<Vec<_>>()
        };
        let one = run(1);
        assert!(one.iter().any(|bits| f32::from_bits(*bits).abs() > 0.1));
        for threads in [2, 3, 4, 7] {
            assert!(run(threads) == one, "{threads} threads differ");
        }
    }
}
