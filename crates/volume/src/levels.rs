//! Levels of detail: level L + 1 holds the mean of each 2 x 2 x 2 cube of level L.
//!
//! In the coordinates of level 0, sample `i` of level L sits at `(i + 1/2) * 2^L - 1/2`. Odd edges end in thinner cubes.

use crate::Box3;

/// Samples per axis of `size` coarsened by `level` halvings, rounded up.
pub fn coarsened_size(size: [usize; 3], level: u32) -> [usize; 3] {
    size.map(|n| n.div_ceil(1 << level))
}

/// The samples of `level` that cover `fine`, a box of level 0.
pub fn coarsen_box(fine: &Box3, level: u32) -> Box3 {
    Box3 { lo: fine.lo.map(|n| n >> level), hi: fine.hi.map(|n| n.div_ceil(1 << level)) }
}

/// Number of levels, the finest included, until no edge is longer than `coarsest_edge`.
pub fn level_count(size: [usize; 3], coarsest_edge: usize) -> u32 {
    let longest = size.into_iter().max().unwrap_or(1);
    (0..).find(|&level| longest.div_ceil(1 << level) <= coarsest_edge).map_or(1, |level| level + 1)
}

/// Halves `values` (`[z, y, x]` of `size`) along every axis by averaging the finite values of each cube.
///
/// A cube without a finite value gives NaN: no data stays no data.
pub fn halve(values: &[f32], size: [usize; 3]) -> (Vec<f32>, [usize; 3]) {
    let [nx, ny, _] = size;
    let coarse = coarsened_size(size, 1);
    let mut out = vec![0.0; coarse.iter().product()];
    for (z, plane) in out.chunks_exact_mut((coarse[0] * coarse[1]).max(1)).enumerate() {
        halve_plane(|y, z| &values[(z * ny + y) * nx..][..nx], size, z, plane);
    }
    (out, coarse)
}

/// Makes plane `z` of the halved values: what [`halve`] does, one plane at a time, from rows that may lie anywhere.
///
/// `row(y, z)` is a row of `size[0]` values of a box of `size`; `out` is `[y, x]` of the coarsened size.
pub fn halve_plane<'a>(row: impl Fn(usize, usize) -> &'a [f32], size: [usize; 3], z: usize, out: &mut [f32]) {
    let [nx, ny, nz] = size;
    for (y, out) in out.chunks_exact_mut(nx.div_ceil(2).max(1)).enumerate() {
        let rows =
            std::array::from_fn(|corner| row((2 * y + (corner & 1)).min(ny - 1), (2 * z + (corner >> 1)).min(nz - 1)));
        halve_rows(&rows, out);
    }
}

/// Averages four rows, two values at a time. The sums of whole rows first: they vectorise, and mostly are all finite.
fn halve_rows(rows: &[&[f32]; 4], out: &mut [f32]) {
    let [a, b, c, d] = rows.map(|row| row.chunks_exact(2));
    for ((((out, a), b), c), d) in out.iter_mut().zip(a).zip(b).zip(c).zip(d) {
        *out = ((a[0] + a[1]) + (b[0] + b[1]) + ((c[0] + c[1]) + (d[0] + d[1]))) * 0.125;
    }
    let nx = rows[0].len();
    if nx % 2 == 1 {
        out[nx / 2] = finite_mean(rows, nx - 1, nx - 1);
    }
    for (x, out) in out.iter_mut().enumerate().filter(|(_, mean)| !mean.is_finite()) {
        *out = finite_mean(rows, 2 * x, (2 * x + 1).min(nx - 1));
    }
}

fn finite_mean(rows: &[&[f32]; 4], x0: usize, x1: usize) -> f32 {
    let cube = rows.iter().flat_map(|row| [row[x0], row[x1]]);
    let (sum, count) = cube.filter(|v| v.is_finite()).fold((0.0_f64, 0_u32), |(s, n), v| (s + f64::from(v), n + 1));
    if count == 0 { f32::NAN } else { (sum / f64::from(count)) as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halving_a_linear_ramp_keeps_it_at_the_new_sample_positions() {
        let size = [8, 6, 4];
        let values: Vec<f32> =
            (0..4).flat_map(|z| (0..6).flat_map(move |y| (0..8).map(move |x| (x + 10 * y + 100 * z) as f32))).collect();
        let (coarse, coarse_size) = halve(&values, size);
        assert_eq!(coarse_size, [4, 3, 2]);
        assert_eq!(coarse[0], 0.5 + 5.0 + 50.0);
        assert_eq!(coarse[(4 * 3) + 4 + 1], 2.5 + 25.0 + 250.0);
    }

    #[test]
    fn odd_edges_and_missing_values_average_what_is_there() {
        let (coarse, size) = halve(&[1.0, f32::NAN, 5.0], [3, 1, 1]);
        assert_eq!((coarse, size), (vec![1.0, 5.0], [2, 1, 1]));
        let (gone, _) = halve(&[f32::NAN, f32::INFINITY], [2, 1, 1]);
        assert!(gone[0].is_nan());
    }

    #[test]
    fn levels_end_at_the_coarsest_edge() {
        assert_eq!(level_count([256, 256, 256], 32), 4);
        assert_eq!(level_count([20, 20, 20], 32), 1);
        assert_eq!(coarsened_size([5, 256, 1], 3), [1, 32, 1]);
    }
}
