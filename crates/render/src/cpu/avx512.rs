//! Sixteen lanes in one AVX-512 register.
#![expect(
    unsafe_code,
    reason = "vector intrinsics; every function is reached through an `Avx512`, which proves the CPU"
)]

use std::arch::x86_64::*;

use super::dispatch::Task;
use super::lanes::{Cells, Indices, LANES, Lanes};
use super::table::Table;

/// Proof that the processor has AVX-512 F, BW, DQ and VL.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx512(());

impl Avx512 {
    pub(super) fn detect() -> Option<Self> {
        let found = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("fma");
        found.then_some(Self(()))
    }

    pub(super) fn run<T: Task>(self, task: T) -> T::Output {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,fma")]
        fn run<T: Task>(lanes: Avx512, task: T) -> T::Output {
            task.run(lanes)
        }
        // SAFETY: `self` proves the features.
        unsafe { run(self, task) }
    }
}

// SAFETY of the register-only methods below: `self` proves the features, and they touch no memory.
impl Lanes for Avx512 {
    type F = __m512;
    /// Rays 0-3, 4-7, 8-11, 12-15; each in its own 128 bits.
    type Colors = [__m512; 4];

    #[inline(always)]
    fn load(self, values: &[f32; LANES]) -> __m512 {
        // SAFETY: sixteen readable values.
        unsafe { _mm512_loadu_ps(values.as_ptr()) }
    }

    #[inline(always)]
    fn store(self, values: __m512) -> [f32; LANES] {
        let mut out = [0.0; LANES];
        // SAFETY: sixteen writable values.
        unsafe { _mm512_storeu_ps(out.as_mut_ptr(), values) };
        out
    }

    #[inline(always)]
    fn splat(self, value: f32) -> __m512 {
        // SAFETY: registers only.
        unsafe { _mm512_set1_ps(value) }
    }

    #[inline(always)]
    fn add(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: registers only.
        unsafe { _mm512_add_ps(a, b) }
    }

    #[inline(always)]
    fn sub(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: registers only.
        unsafe { _mm512_sub_ps(a, b) }
    }

    #[inline(always)]
    fn mul_add(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: registers only.
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn min(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: registers only.
        unsafe { _mm512_min_ps(a, b) }
    }

    #[inline(always)]
    fn max(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: registers only.
        unsafe { _mm512_max_ps(a, b) }
    }

    #[inline(always)]
    fn any_less(self, a: __m512, b: __m512, x: __m512, y: __m512) -> bool {
        // SAFETY: registers only.
        unsafe { _mm512_mask_cmp_ps_mask::<_CMP_LT_OQ>(_mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b), x, y) != 0 }
    }

    #[inline(always)]
    fn interpolate<const N: usize>(self, cells: Cells<'_>, positions: [[__m512; 3]; N]) -> [__m512; N] {
        // SAFETY: `corners_of` gives corners of cells of `cells`.
        unsafe {
            let mut corners = [([0; LANES], [_mm512_setzero_ps(); 3]); N];
            for i in 0..N {
                corners[i] = corners_of(&cells, positions[i]);
            }
            let mut out = [_mm512_setzero_ps(); N];
            for i in 0..N {
                let (at, weight) = &corners[i];
                out[i] = interpolate_at(&cells, at, *weight);
            }
            out
        }
    }

    #[inline(always)]
    fn load_colors(self, colors: &[[f32; 4]; LANES]) -> Self::Colors {
        // SAFETY: each quarter is sixteen readable values.
        std::array::from_fn(|q| unsafe { _mm512_loadu_ps(colors.as_flattened()[16 * q..][..16].as_ptr()) })
    }

    #[inline(always)]
    fn store_colors(self, colors: Self::Colors) -> [[f32; 4]; LANES] {
        let mut out = [[0.0; 4]; LANES];
        for (q, color) in colors.into_iter().enumerate() {
            // SAFETY: each quarter is sixteen writable values.
            unsafe { _mm512_storeu_ps(out.as_flattened_mut()[16 * q..][..16].as_mut_ptr(), color) };
        }
        out
    }

    #[inline(always)]
    fn entries(self, table: &Table, value: __m512, x: __m512, limit: __m512) -> Indices {
        let [lo, scale, shift] = table.index_map();
        let mut entries = Indices::default();
        // SAFETY: `Indices` are as large and aligned as a register; numbers are held below `Table::LEN`.
        unsafe {
            let place = _mm512_sub_ps(value, _mm512_set1_ps(lo));
            let place = _mm512_fmadd_ps(place, _mm512_set1_ps(scale), _mm512_set1_ps(shift));
            // `min` and `max` give their second operand for NaN: NaN stays NaN, and its conversion is negative.
            let place = _mm512_max_ps(_mm512_set1_ps(1.0), place);
            let place = _mm512_min_ps(_mm512_set1_ps((Table::LEN - 1) as f32), place);
            let inside = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(x, limit);
            let index = _mm512_maskz_max_epi32(inside, _mm512_cvttps_epi32(place), _mm512_setzero_si512());
            // Volatile, so that single indices are read back from memory: quicker than taking the register apart.
            std::ptr::write_volatile(std::ptr::from_mut(&mut entries).cast(), index);
            entries
        }
    }

    #[inline(always)]
    fn composite(self, front: Self::Colors, table: &Table, entries: &Indices) -> Self::Colors {
        let table: *const f32 = table.entries().as_ptr().cast();
        let mut colors = front;
        for (color, at) in colors.iter_mut().zip(entries.get().as_chunks::<4>().0) {
            // SAFETY: `Indices` lie inside every table, and entries are aligned to 16 bytes.
            unsafe {
                let behind = _mm512_castps128_ps512(_mm_load_ps(table.add(4 * at[0] as usize)));
                let behind = _mm512_insertf32x4::<1>(behind, _mm_load_ps(table.add(4 * at[1] as usize)));
                let behind = _mm512_insertf32x4::<2>(behind, _mm_load_ps(table.add(4 * at[2] as usize)));
                let behind = _mm512_insertf32x4::<3>(behind, _mm_load_ps(table.add(4 * at[3] as usize)));
                let through = _mm512_sub_ps(_mm512_set1_ps(1.0), _mm512_permute_ps::<0xff>(*color));
                *color = _mm512_fmadd_ps(through, behind, *color);
            }
        }
        colors
    }

    #[inline(always)]
    fn alphas(self, colors: Self::Colors) -> __m512 {
        // SAFETY: registers only.
        unsafe {
            let pick = _mm512_setr_epi32(3, 7, 11, 15, 19, 23, 27, 31, 3, 7, 11, 15, 19, 23, 27, 31);
            let low = _mm512_permutex2var_ps(colors[0], pick, colors[1]);
            let high = _mm512_permutex2var_ps(colors[2], pick, colors[3]);
            _mm512_shuffle_f32x4::<0b01_00_01_00>(low, high)
        }
    }
}

/// Cell corners of sixteen positions, as indices into the values, and the weights between corners.
///
/// Positions are held between 0 (also NaN) and the last sample, cells at the last cell: by the invariant of `Cells` the
/// corners at `+1`, `+sy` and `+sz` lie inside the values too.
#[inline(always)]
unsafe fn corners_of(cells: &Cells<'_>, position: [__m512; 3]) -> ([u32; LANES], [__m512; 3]) {
    let [sy, sz] = cells.strides();
    let (last, last_cell) = (cells.last_sample(), cells.last_cell());
    let mut at = [0; LANES];
    // SAFETY: registers, and sixteen writable numbers; callers have an `Avx512`.
    unsafe {
        let mut weight = [_mm512_setzero_ps(); 3];
        let mut cell = [_mm512_setzero_si512(); 3];
        for axis in 0..3 {
            let held = _mm512_max_ps(position[axis], _mm512_setzero_ps());
            let held = _mm512_min_ps(held, _mm512_set1_ps(last[axis]));
            cell[axis] = _mm512_cvttps_epi32(_mm512_min_ps(held, _mm512_set1_ps(last_cell[axis])));
            weight[axis] = _mm512_sub_ps(held, _mm512_cvtepi32_ps(cell[axis]));
        }
        let yx = _mm512_add_epi32(_mm512_mullo_epi32(cell[1], _mm512_set1_epi32(sy as i32)), cell[0]);
        let index = _mm512_add_epi32(_mm512_mullo_epi32(cell[2], _mm512_set1_epi32(sz as i32)), yx);
        _mm512_storeu_si512(at.as_mut_ptr().cast(), index);
        (at, weight)
    }
}

/// Trilinear interpolation, eight rays and two x-neighbours in a register until the last step.
///
/// # Safety
/// `at` must come from [`corners_of`] the same cells.
#[inline(always)]
unsafe fn interpolate_at(cells: &Cells<'_>, at: &[u32; LANES], [fx, fy, fz]: [__m512; 3]) -> __m512 {
    let [sy, sz] = cells.strides();
    let corner = cells.values().as_ptr();
    // SAFETY: as the function's; callers have an `Avx512`.
    unsafe {
        let doubled = [
            _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7),
            _mm512_setr_epi32(8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15),
        ];
        let mut x_pairs = [_mm512_setzero_ps(); 2];
        for (half, at) in at.as_chunks::<8>().0.iter().enumerate() {
            let fy = _mm512_permutexvar_ps(doubled[half], fy);
            let fz = _mm512_permutexvar_ps(doubled[half], fz);
            let near = lerp(pairs(corner, at), pairs(corner.add(sy), at), fy);
            let far = lerp(pairs(corner.add(sz), at), pairs(corner.add(sy + sz), at), fy);
            x_pairs[half] = lerp(near, far, fz);
        }
        let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        let odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
        let below = _mm512_permutex2var_ps(x_pairs[0], even, x_pairs[1]);
        let above = _mm512_permutex2var_ps(x_pairs[0], odd, x_pairs[1]);
        lerp(below, above, fx)
    }
}

/// `a + f * (b - a)`.
#[inline(always)]
unsafe fn lerp(a: __m512, b: __m512, f: __m512) -> __m512 {
    // SAFETY: registers only; callers have an `Avx512`.
    unsafe { _mm512_fmadd_ps(f, _mm512_sub_ps(b, a), a) }
}

/// The values at `index` and `index + 1`, side by side, for eight indices.
///
/// # Safety
/// Both must be readable from `values` on, for all indices.
#[inline(always)]
unsafe fn pairs(values: *const f32, index: &[u32; 8]) -> __m512 {
    // SAFETY: as the function's; callers have an `Avx512`.
    unsafe {
        let a = two(values, index[0], index[1]);
        let b = two(values, index[2], index[3]);
        let c = two(values, index[4], index[5]);
        let d = two(values, index[6], index[7]);
        let ab = _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(a), b);
        let cd = _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(c), d);
        _mm512_castpd_ps(_mm512_insertf64x4::<1>(_mm512_castpd256_pd512(ab), cd))
    }
}

#[inline(always)]
unsafe fn two(values: *const f32, i: u32, j: u32) -> __m128d {
    // SAFETY: as for `pairs`.
    unsafe { _mm_loadh_pd(_mm_load_sd(values.add(i as usize).cast()), values.add(j as usize).cast()) }
}
