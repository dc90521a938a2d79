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
    let [nx, ny, nz] = size;
    let coarse = coarsened_size(size, 1);
    let mut out = Vec::with_capacity(coarse.iter().product());
    for z in 0..coarse[2] {
        for y in 0..coarse[1] {
            let rows: [&[f32]; 4] = std::array::from_fn(|corner| {
                let row_y = (2 * y + (corner & 1)).min(ny - 1);
                let row_z = (2 * z + (corner >> 1)).min(nz - 1);
                &values[(row_z * ny + row_y) * nx..][..nx]
            });
            let pairs = nx / 2;
            out.extend((0..pairs).map(|x| {
                let sum: f32 = rows.iter().map(|row| row[2 * x] + row[2 * x + 1]).sum();
                if sum.is_finite() { sum * 0.125 } else { finite_mean(&rows, 2 * x, 2 * x + 1) }
            }));
            if nx % 2 == 1 {
                out.push(finite_mean(&rows, nx - 1, nx - 1));
            }
        }
    }
    (out, coarse)
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
