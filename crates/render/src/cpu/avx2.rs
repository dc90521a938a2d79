//! Sixteen lanes in two AVX2 registers.
#![expect(unsafe_code, reason = "vector intrinsics; every function is reached through an `Avx2`, which proves the CPU")]

use std::arch::x86_64::*;

use super::dispatch::Task;
use super::lanes::{Cells, Indices, LANES, Lanes};
use super::table::Table;

/// Proof that the processor has AVX2 and FMA.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

impl Avx2 {
    pub(super) fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")).then_some(Self(()))
    }

    pub(super) fn run<T: Task>(self, task: T) -> T::Output {
        #[target_feature(enable = "avx2,fma")]
        fn run<T: Task>(lanes: Avx2, task: T) -> T::Output {
            task.run(lanes)
        }
        // SAFETY: `self` proves the features.
        unsafe { run(self, task) }
    }
}

/// Applies a two-operand intrinsic to both halves.
macro_rules! halves {
    ($intrinsic:ident, $a:expr, $b:expr) => {
        // SAFETY: registers only; `self` proves the features.
        unsafe { [$intrinsic($a[0], $b[0]), $intrinsic($a[1], $b[1])] }
    };
}

impl Lanes for Avx2 {
    type F = [__m256; 2];
    /// Two rays to a register.
    type Colors = [__m256; 8];

    #[inline(always)]
    fn load(self, values: &[f32; LANES]) -> Self::F {
        // SAFETY: sixteen readable values.
        unsafe { [_mm256_loadu_ps(values.as_ptr()), _mm256_loadu_ps(values.as_ptr().add(8))] }
    }

    #[inline(always)]
    fn store(self, values: Self::F) -> [f32; LANES] {
        let mut out = [0.0; LANES];
        // SAFETY: sixteen writable values.
        unsafe {
            _mm256_storeu_ps(out.as_mut_ptr(), values[0]);
            _mm256_storeu_ps(out.as_mut_ptr().add(8), values[1]);
        }
        out
    }

    #[inline(always)]
    fn splat(self, value: f32) -> Self::F {
        // SAFETY: registers only; `self` proves the features.
        unsafe { [_mm256_set1_ps(value); 2] }
    }

    #[inline(always)]
    fn add(self, a: Self::F, b: Self::F) -> Self::F {
        halves!(_mm256_add_ps, a, b)
    }

    #[inline(always)]
    fn sub(self, a: Self::F, b: Self::F) -> Self::F {
        halves!(_mm256_sub_ps, a, b)
    }

    #[inline(always)]
    fn mul_add(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F {
        // SAFETY: registers only; `self` proves the features.
        unsafe { [_mm256_fmadd_ps(a[0], b[0], c[0]), _mm256_fmadd_ps(a[1], b[1], c[1])] }
    }

    #[inline(always)]
    fn min(self, a: Self::F, b: Self::F) -> Self::F {
        halves!(_mm256_min_ps, a, b)
    }

    #[inline(always)]
    fn max(self, a: Self::F, b: Self::F) -> Self::F {
        halves!(_mm256_max_ps, a, b)
    }

    #[inline(always)]
    fn any_less(self, a: Self::F, b: Self::F, x: Self::F, y: Self::F) -> bool {
        // SAFETY: registers only; `self` proves the features.
        unsafe {
            let first = _mm256_and_ps(_mm256_cmp_ps::<_CMP_LT_OQ>(a[0], b[0]), _mm256_cmp_ps::<_CMP_LT_OQ>(x[0], y[0]));
            let second =
                _mm256_and_ps(_mm256_cmp_ps::<_CMP_LT_OQ>(a[1], b[1]), _mm256_cmp_ps::<_CMP_LT_OQ>(x[1], y[1]));
            _mm256_movemask_ps(_mm256_or_ps(first, second)) != 0
        }
    }

    #[inline(always)]
    fn interpolate<const N: usize>(self, cells: Cells<'_>, positions: [[Self::F; 3]; N]) -> [Self::F; N] {
        let mut corners = [([0; LANES], [self.splat(0.0); 3]); N];
        for i in 0..N {
            // SAFETY: `self` proves the features.
            corners[i] = unsafe { corners_of(&cells, positions[i]) };
        }
        let mut out = [self.splat(0.0); N];
        for i in 0..N {
            let (at, [fx, fy, fz]) = &corners[i];
            for half in 0..2 {
                let weight = [fx[half], fy[half], fz[half]];
                // SAFETY: the corners are of these cells.
                out[i][half] = unsafe { interpolate_at(&cells, &at.as_chunks::<8>().0[half], weight) };
            }
        }
        out
    }

    #[inline(always)]
    fn load_colors(self, colors: &[[f32; 4]; LANES]) -> Self::Colors {
        let mut out = [self.splat(0.0)[0]; 8];
        for (color, pair) in out.iter_mut().zip(colors.as_chunks::<2>().0) {
            // SAFETY: eight readable values.
            *color = unsafe { _mm256_loadu_ps(pair.as_flattened().as_ptr()) };
        }
        out
    }

    #[inline(always)]
    fn store_colors(self, colors: Self::Colors) -> [[f32; 4]; LANES] {
        let mut out = [[0.0; 4]; LANES];
        for (color, pair) in colors.iter().zip(out.as_chunks_mut::<2>().0) {
            // SAFETY: eight writable values.
            unsafe { _mm256_storeu_ps(pair.as_flattened_mut().as_mut_ptr(), *color) };
        }
        out
    }

    #[inline(always)]
    fn entries(self, table: &Table, value: Self::F, x: Self::F, limit: Self::F) -> Indices {
        let [lo, scale, shift] = table.index_map();
        let mut entries = Indices::default();
        let out: *mut __m256i = std::ptr::from_mut(&mut entries).cast();
        for half in 0..2 {
            // SAFETY: `Indices` are as large as two registers and aligned; numbers are held below `Table::LEN`.
            unsafe {
                let place = _mm256_sub_ps(value[half], _mm256_set1_ps(lo));
                let place = _mm256_fmadd_ps(place, _mm256_set1_ps(scale), _mm256_set1_ps(shift));
                // `min` and `max` give their second operand for NaN: NaN stays NaN, and its conversion is negative.
                let place = _mm256_max_ps(_mm256_set1_ps(1.0), place);
                let place = _mm256_min_ps(_mm256_set1_ps((Table::LEN - 1) as f32), place);
                let index = _mm256_max_epi32(_mm256_cvttps_epi32(place), _mm256_setzero_si256());
                let inside = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_LT_OQ>(x[half], limit[half]));
                // Volatile, so that single indices are read back from memory: quicker than taking the register apart.
                out.add(half).write_volatile(_mm256_and_si256(index, inside));
            }
        }
        entries
    }

    #[inline(always)]
    fn composite(self, front: Self::Colors, table: &Table, entries: &Indices) -> Self::Colors {
        let table: *const f32 = table.entries().as_ptr().cast();
        let mut colors = front;
        for (color, at) in colors.iter_mut().zip(entries.get().as_chunks::<2>().0) {
            // SAFETY: `Indices` lie inside every table, and entries are aligned to 16 bytes.
            unsafe {
                let behind = _mm256_castps128_ps256(_mm_load_ps(table.add(4 * at[0] as usize)));
                let behind = _mm256_insertf128_ps::<1>(behind, _mm_load_ps(table.add(4 * at[1] as usize)));
                let through = _mm256_sub_ps(_mm256_set1_ps(1.0), _mm256_permute_ps::<0xff>(*color));
                *color = _mm256_fmadd_ps(through, behind, *color);
            }
        }
        colors
    }

    #[inline(always)]
    fn alphas(self, colors: Self::Colors) -> Self::F {
        let colors = self.store_colors(colors);
        let mut alphas = [0.0; LANES];
        for (alpha, color) in alphas.iter_mut().zip(&colors) {
            *alpha = color[3];
        }
        self.load(&alphas)
    }
}

/// Cell corners of sixteen positions, as indices into the values, and the weights between corners.
///
/// Positions are held between 0 (also NaN) and the last sample, cells at the last cell: by the invariant of `Cells` the
/// corners at `+1`, `+sy` and `+sz` lie inside the values too.
#[inline(always)]
unsafe fn corners_of(cells: &Cells<'_>, position: [[__m256; 2]; 3]) -> ([u32; LANES], [[__m256; 2]; 3]) {
    let [sy, sz] = cells.strides();
    let (last, last_cell) = (cells.last_sample(), cells.last_cell());
    let mut at = [0; LANES];
    // SAFETY: registers, and sixteen writable numbers; callers have an `Avx2`.
    unsafe {
        let mut weight = [[_mm256_setzero_ps(); 2]; 3];
        for half in 0..2 {
            let mut cell = [_mm256_setzero_si256(); 3];
            for axis in 0..3 {
                let held = _mm256_max_ps(position[axis][half], _mm256_setzero_ps());
                let held = _mm256_min_ps(held, _mm256_set1_ps(last[axis]));
                cell[axis] = _mm256_cvttps_epi32(_mm256_min_ps(held, _mm256_set1_ps(last_cell[axis])));
                weight[axis][half] = _mm256_sub_ps(held, _mm256_cvtepi32_ps(cell[axis]));
            }
            let yx = _mm256_add_epi32(_mm256_mullo_epi32(cell[1], _mm256_set1_epi32(sy as i32)), cell[0]);
            let index = _mm256_add_epi32(_mm256_mullo_epi32(cell[2], _mm256_set1_epi32(sz as i32)), yx);
            _mm256_storeu_si256(at.as_mut_ptr().add(8 * half).cast(), index);
        }
        (at, weight)
    }
}

/// Trilinear interpolation, four rays and two x-neighbours in a register until the last step.
///
/// # Safety
/// `at` must come from [`corners_of`] the same cells.
#[inline(always)]
unsafe fn interpolate_at(cells: &Cells<'_>, at: &[u32; 8], [fx, fy, fz]: [__m256; 3]) -> __m256 {
    let [sy, sz] = cells.strides();
    let corner = cells.values().as_ptr();
    // SAFETY: as the function's; callers have an `Avx2`.
    unsafe {
        let doubled = [_mm256_setr_epi32(0, 0, 1, 1, 4, 4, 5, 5), _mm256_setr_epi32(2, 2, 3, 3, 6, 6, 7, 7)];
        let rays = [[at[0], at[1], at[4], at[5]], [at[2], at[3], at[6], at[7]]];
        let mut x_pairs = [_mm256_setzero_ps(); 2];
        for half in 0..2 {
            let fy = _mm256_permutevar8x32_ps(fy, doubled[half]);
            let fz = _mm256_permutevar8x32_ps(fz, doubled[half]);
            let rays = &rays[half];
            let near = lerp(pairs(corner, rays), pairs(corner.add(sy), rays), fy);
            let far = lerp(pairs(corner.add(sz), rays), pairs(corner.add(sy + sz), rays), fy);
            x_pairs[half] = lerp(near, far, fz);
        }
        // Rays 0, 1, 4, 5 and 2, 3, 6, 7: shuffling within 128 bits leaves them in order.
        let below = _mm256_shuffle_ps::<0b10_00_10_00>(x_pairs[0], x_pairs[1]);
        let above = _mm256_shuffle_ps::<0b11_01_11_01>(x_pairs[0], x_pairs[1]);
        lerp(below, above, fx)
    }
}

/// `a + f * (b - a)`.
#[inline(always)]
unsafe fn lerp(a: __m256, b: __m256, f: __m256) -> __m256 {
    // SAFETY: registers only; callers have an `Avx2`.
    unsafe { _mm256_fmadd_ps(f, _mm256_sub_ps(b, a), a) }
}

/// The values at `index` and `index + 1`, side by side, for four indices.
///
/// # Safety
/// Both must be readable from `values` on, for all indices.
#[inline(always)]
unsafe fn pairs(values: *const f32, index: &[u32; 4]) -> __m256 {
    // SAFETY: as the function's; callers have an `Avx2`.
    unsafe {
        let low = _mm_load_sd(values.add(index[0] as usize).cast());
        let low = _mm_loadh_pd(low, values.add(index[1] as usize).cast());
        let high = _mm_load_sd(values.add(index[2] as usize).cast());
        let high = _mm_loadh_pd(high, values.add(index[3] as usize).cast());
        _mm256_castpd_ps(_mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(low), high))
    }
}
