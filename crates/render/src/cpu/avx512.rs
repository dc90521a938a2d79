//! Sixteen lanes in one AVX-512 register.
#![expect(
    unsafe_code,
    reason = "vector intrinsics; every function is reached through an `Avx512`, which proves the CPU"
)]

use std::arch::x86_64::*;

use super::dispatch::Task;
use super::lanes::{Cells, LANES, Lanes};
use super::table::{Entry, Table};

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
    fn interpolate(self, cells: Cells<'_>, position: [__m512; 3]) -> __m512 {
        let [sy, sz] = cells.strides();
        let (last, last_cell) = (cells.last_sample(), cells.last_cell());
        // SAFETY: positions are held between 0 and the last sample (NaN at 0) and cells at the last cell, so that by the
        // invariant of `Cells` the eight corners of every lane's cell (at `+1`, `+sy`, `+sz`) lie inside the values.
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
            let corner = cells.values().as_ptr();
            let [fx, fy, fz] = weight;
            let halves = [_mm512_castsi512_si256(index), _mm512_extracti64x4_epi64::<1>(index)];
            let doubled = [
                _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7),
                _mm512_setr_epi32(8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15),
            ];
            let mut x_pairs = [_mm512_setzero_ps(); 2];
            for half in 0..2 {
                let fy = _mm512_permutexvar_ps(doubled[half], fy);
                let fz = _mm512_permutexvar_ps(doubled[half], fz);
                let near = lerp(pairs(corner, halves[half]), pairs(corner.add(sy), halves[half]), fy);
                let far = lerp(pairs(corner.add(sz), halves[half]), pairs(corner.add(sy + sz), halves[half]), fy);
                x_pairs[half] = lerp(near, far, fz);
            }
            let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            let odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
            let below = _mm512_permutex2var_ps(x_pairs[0], even, x_pairs[1]);
            let above = _mm512_permutex2var_ps(x_pairs[0], odd, x_pairs[1]);
            lerp(below, above, fx)
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
    fn composite(self, front: Self::Colors, table: &Table, value: __m512, x: __m512, limit: __m512) -> Self::Colors {
        let entries: *const Entry = table.entries().as_ptr();
        let [lo, scale, shift] = table.index_map();
        // SAFETY: indices are held between 0 (also NaN, whose conversion is negative) and `Table::LEN - 1`, and a table
        // has `Table::LEN` entries.
        unsafe {
            let place = _mm512_sub_ps(value, _mm512_set1_ps(lo));
            let place = _mm512_fmadd_ps(place, _mm512_set1_ps(scale), _mm512_set1_ps(shift));
            // `min` and `max` give their second operand for NaN: NaN stays NaN.
            let place = _mm512_max_ps(_mm512_set1_ps(1.0), place);
            let place = _mm512_min_ps(_mm512_set1_ps((Table::LEN - 1) as f32), place);
            let visible = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(x, limit);
            let index = _mm512_maskz_max_epi32(visible, _mm512_cvttps_epi32(place), _mm512_setzero_si512());
            let mut at = [0_u32; LANES];
            _mm512_storeu_si512(at.as_mut_ptr().cast(), index);
            let mut colors = front;
            for (color, at) in colors.iter_mut().zip(at.as_chunks::<4>().0) {
                let behind = _mm512_castps128_ps512(_mm_load_ps(entries.add(at[0] as usize).cast()));
                let behind = _mm512_insertf32x4::<1>(behind, _mm_load_ps(entries.add(at[1] as usize).cast()));
                let behind = _mm512_insertf32x4::<2>(behind, _mm_load_ps(entries.add(at[2] as usize).cast()));
                let behind = _mm512_insertf32x4::<3>(behind, _mm_load_ps(entries.add(at[3] as usize).cast()));
                let through = _mm512_sub_ps(_mm512_set1_ps(1.0), _mm512_permute_ps::<0xff>(*color));
                *color = _mm512_fmadd_ps(through, behind, *color);
            }
            colors
        }
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
unsafe fn pairs(values: *const f32, index: __m256i) -> __m512 {
    // SAFETY: as the function's; callers have an `Avx512`.
    unsafe { _mm512_castpd_ps(_mm512_i32gather_pd::<4>(index, values.cast())) }
}
