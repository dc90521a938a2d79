//! Values in a program's own memory, of any real type and in any order: copied once, into float32 `[z, y, x]`.

use std::marker::PhantomData;
use std::ptr::copy_nonoverlapping;

use half::f16;
use visapult_volume::{Reversed, ScalarType, single};

/// Edge of the squares in which values are turned round that lie next to each other along another axis than x.
const TILE: usize = 32;

/// A box of values in memory that is not ours.
#[derive(Clone, Copy, Debug)]
pub struct Strided {
    /// The first value of the box; it need not be aligned.
    pub first: *const u8,
    /// Type of the values.
    pub scalar: ScalarType,
    /// The bytes of each value are in the order that is not this machine's.
    pub swapped: bool,
    /// Values per axis, `[nx, ny, nz]`.
    pub size: [usize; 3],
    /// Bytes from a value to the next along x, y and z; none, or back, is possible too.
    pub strides: [isize; 3],
}

impl Strided {
    /// Values without gaps, x fastest.
    #[must_use]
    pub fn contiguous(first: *const u8, scalar: ScalarType, size: [usize; 3]) -> Self {
        let row = scalar.bytes() * size[0];
        let strides = [scalar.bytes(), row, row * size[1]].map(|bytes| bytes as isize);
        Self { first, scalar, swapped: false, size, strides }
    }

    /// The same values with some of their axes run through the other way.
    #[must_use]
    pub fn turned(mut self, reversed: Reversed) -> Self {
        for axis in (0..3).filter(|axis| reversed.0[*axis]) {
            let to_last = self.strides[axis].wrapping_mul(self.size[axis].saturating_sub(1) as isize);
            self.first = self.first.wrapping_offset(to_last);
            self.strides[axis] = self.strides[axis].wrapping_neg();
        }
        self
    }

    /// Copies the values to `out`, `[z, y, x]` with x fastest, rounded to the nearest float32; only 0 becomes 0.
    ///
    /// # Safety
    /// Every value of the box can be read while this takes, and none of them lies in `out`.
    ///
    /// # Panics
    /// If `out` is of another size than the box.
    #[expect(unsafe_code, reason = "the values are another program's")]
    pub unsafe fn copy_to(&self, out: &mut [f32]) {
        let [nx, ny, nz] = self.size;
        let values = nx.checked_mul(ny).and_then(|plane| plane.checked_mul(nz));
        assert_eq!(values, Some(out.len()), "values of the box, and room for them");
        if out.is_empty() {
            return;
        }
        // SAFETY: as our caller promises.
        unsafe {
            match self.scalar {
                ScalarType::U8 => self.copy_of::<u8>(out),
                ScalarType::I8 => self.copy_of::<i8>(out),
                ScalarType::U16 => self.copy_of::<u16>(out),
                ScalarType::I16 => self.copy_of::<i16>(out),
                ScalarType::U32 => self.copy_of::<u32>(out),
                ScalarType::I32 => self.copy_of::<i32>(out),
                ScalarType::U64 => self.copy_of::<u64>(out),
                ScalarType::I64 => self.copy_of::<i64>(out),
                ScalarType::F16 => self.copy_of::<f16>(out),
                ScalarType::F32 => self.copy_of::<f32>(out),
                ScalarType::F64 => self.copy_of::<f64>(out),
            }
        }
    }

    #[expect(unsafe_code, reason = "the values are another program's")]
    unsafe fn copy_of<T>(&self, out: &mut [f32])
    where
        T: Value,
        Swapped<T>: Value,
    {
        // SAFETY: as the caller of `copy_to` promises.
        unsafe {
            match (self.scalar, self.swapped) {
                (ScalarType::F32, false) if self.is_tight() => self.copy_rows(out),
                (_, false) => self.convert::<T>(out),
                (_, true) => self.convert::<Swapped<T>>(out),
            }
        }
    }

    /// The values of a row follow each other without gaps.
    fn is_tight(&self) -> bool {
        self.strides[0] == self.scalar.bytes() as isize
    }

    fn at(&self, [x, y, z]: [usize; 3]) -> *const u8 {
        let [dx, dy, dz] = self.strides;
        self.first.wrapping_offset(x as isize * dx + y as isize * dy + z as isize * dz)
    }

    /// Rows of float32 without gaps, many at a time where there are none between them either.
    #[expect(unsafe_code, reason = "the values are another program's")]
    unsafe fn copy_rows(&self, out: &mut [f32]) {
        let [nx, ny, nz] = self.size;
        let row = (nx * 4) as isize;
        let (run, rows) = match (self.strides[1] == row, self.strides[2] == row * ny as isize) {
            (true, true) => (nx * ny * nz, 1),
            (true, false) => (nx * ny, 1),
            (false, _) => (nx, ny),
        };
        for (number, into) in out.chunks_exact_mut(run).enumerate() {
            let from = self.at([0, number % rows, number / rows]);
            // SAFETY: `run` values follow each other in the box, and none lies in `out`.
            unsafe { copy_nonoverlapping(from, into.as_mut_ptr().cast(), run * 4) };
        }
    }

    #[expect(unsafe_code, reason = "the values are another program's")]
    unsafe fn convert<V: Value>(&self, out: &mut [f32]) {
        let [nx, ny, _] = self.size;
        let distance = |axis: usize| if self.size[axis] > 1 { self.strides[axis].unsigned_abs() } else { usize::MAX };
        let near = if distance(1) <= distance(2) { 1 } else { 2 };
        if distance(near) < distance(0) && nx > 1 {
            // SAFETY: as the caller of `copy_to` promises.
            return unsafe { self.turn::<V>(near, out) };
        }
        for (number, into) in out.chunks_exact_mut(nx).enumerate() {
            let row = self.at([0, number % ny, number / ny]);
            // The compiler sees the distance in the first: it reads many at a time.
            // SAFETY: values of the box.
            unsafe {
                if self.is_tight() {
                    fill(into, |x| V::read(row.wrapping_add(x * V::BYTES)));
                } else {
                    fill(into, |x| V::read(row.wrapping_offset(x as isize * self.strides[0])));
                }
            }
        }
    }

    /// Square by square, so that what lies next to each other along `near`, 1 or 2, is read while it is in the cache.
    #[expect(unsafe_code, reason = "the values are another program's")]
    unsafe fn turn<V: Value>(&self, near: usize, out: &mut [f32]) {
        let [nx, ny, _] = self.size;
        let other = 3 - near;
        let squares = |count: usize| (0..count).step_by(TILE).map(move |lo| lo..(lo + TILE).min(count));
        for along_other in 0..self.size[other] {
            for (rows, columns) in squares(self.size[near]).flat_map(|rows| squares(nx).map(move |x| (rows.clone(), x)))
            {
                for along_near in rows {
                    let mut place = [columns.start, 0, 0];
                    (place[near], place[other]) = (along_near, along_other);
                    let (from, first) = (self.at(place), place[0] + nx * (place[1] + ny * place[2]));
                    let into = &mut out[first..first + columns.len()];
                    // SAFETY: values of the box.
                    unsafe { fill(into, |x| V::read(from.wrapping_offset(x as isize * self.strides[0]))) };
                }
            }
        }
    }
}

fn fill(out: &mut [f32], value: impl Fn(usize) -> f32) {
    out.iter_mut().enumerate().for_each(|(x, out)| *out = value(x));
}

/// How a value is read.
trait Value {
    const BYTES: usize;
    /// # Safety
    /// So many bytes can be read there.
    #[expect(unsafe_code, reason = "the values are another program's")]
    unsafe fn read(at: *const u8) -> f32;
}

/// A value whose bytes are in the other order.
struct Swapped<T>(PhantomData<T>);

macro_rules! values {
    ($($type:ty, $bits:ty, $from_bits:expr, $to_f32:expr;)*) => {$(
        #[expect(unsafe_code, reason = "the values are another program's")]
        impl Value for $type {
            const BYTES: usize = size_of::<$type>();
            #[inline(always)]
            unsafe fn read(at: *const u8) -> f32 {
                // SAFETY: as the caller promises.
                $to_f32($from_bits(unsafe { at.cast::<$bits>().read_unaligned() }))
            }
        }
        #[expect(unsafe_code, reason = "the values are another program's")]
        impl Value for Swapped<$type> {
            const BYTES: usize = size_of::<$type>();
            #[inline(always)]
            unsafe fn read(at: *const u8) -> f32 {
                // SAFETY: as the caller promises.
                $to_f32($from_bits(unsafe { at.cast::<$bits>().read_unaligned() }.swap_bytes()))
            }
        }
    )*};
}

values! {
    u8, u8, |bits| bits, f32::from;
    i8, u8, |bits| bits as i8, f32::from;
    u16, u16, |bits| bits, f32::from;
    i16, u16, |bits| bits as i16, f32::from;
    u32, u32, |bits| bits, |value| value as f32;
    i32, u32, |bits| bits as i32, |value| value as f32;
    u64, u64, |bits| bits, |value| value as f32;
    i64, u64, |bits| bits as i64, |value| value as f32;
    f16, u16, f16::from_bits, f16::to_f32;
    f32, u32, f32::from_bits, |value| value;
    f64, u64, f64::from_bits, single;
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: [usize; 3] = [37, 5, 41];

    fn copied(view: &Strided) -> Vec<f32> {
        let mut out = vec![f32::NAN; view.size.iter().product()];
        #[expect(unsafe_code, reason = "the test owns the values")]
        // SAFETY: every test describes values that it holds.
        unsafe {
            view.copy_to(&mut out);
        }
        out
    }

    fn expected(value: impl Fn([usize; 3]) -> f32, [nx, ny, nz]: [usize; 3]) -> Vec<f32> {
        (0..nx * ny * nz).map(|i| value([i % nx, i / nx % ny, i / (nx * ny)])).collect()
    }

    #[test]
    fn every_order_of_axes_comes_out_with_x_fastest() {
        let values: Vec<f64> = (0..SIZE.iter().product::<usize>()).map(|i| i as f64 * 0.25).collect();
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut strides = [0; 3];
            let mut step = 1;
            for axis in order {
                strides[axis] = step;
                step *= SIZE[axis];
            }
            let value = |place: [usize; 3]| (0..3).map(|axis| place[axis] * strides[axis]).sum::<usize>() as f32 * 0.25;
            let first = values.as_ptr().cast();
            let bytes = strides.map(|values| (values * 8) as isize);
            let view = Strided { first, scalar: ScalarType::F64, swapped: false, size: SIZE, strides: bytes };
            assert!(copied(&view) == expected(value, SIZE), "{order:?}");
        }
    }

    #[test]
    fn float32_is_copied_as_it_is_with_gaps_or_without() {
        let values: Vec<f32> = (0..6 * 5 * 4).map(|i| i as f32).collect();
        let whole = Strided::contiguous(values.as_ptr().cast(), ScalarType::F32, [6, 5, 4]);
        assert_eq!(copied(&whole), values);
        let value = |[x, y, z]: [usize; 3]| (x + 6 * (y + 5 * z)) as f32;
        for size in [[6, 3, 4], [4, 5, 4], [6, 5, 2], [1, 1, 1], [1, 5, 4]] {
            assert_eq!(copied(&Strided { size, ..whole }), expected(value, size), "{size:?}");
        }
    }

    #[test]
    fn strides_may_go_back_or_nowhere() {
        let values: Vec<i16> = (0..6).collect();
        let first = values[5..].as_ptr().cast();
        let back = Strided { first, scalar: ScalarType::I16, swapped: false, size: [3, 2, 1], strides: [-2, -6, 0] };
        assert_eq!(copied(&back), [5.0, 4.0, 3.0, 2.0, 1.0, 0.0]);
        let same = Strided { size: [2, 2, 2], strides: [0; 3], ..back };
        assert_eq!(copied(&same), [5.0; 8]);
        assert_eq!(copied(&back.turned(Reversed([true, false, true]))), [3.0, 4.0, 5.0, 0.0, 1.0, 2.0]);
        assert_eq!(copied(&back.turned(Reversed([true, true, false]))), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    }

    #[test]
    fn every_type_is_read_in_both_byte_orders() {
        macro_rules! check {
            ($($scalar:ident $value:expr => $expected:expr),* $(,)?) => {$(
                for swapped in [false, true] {
                    let mut bytes = $value.to_ne_bytes();
                    if swapped {
                        bytes.reverse();
                    }
                    // Not aligned.
                    let mut memory = vec![0_u8];
                    memory.extend_from_slice(&bytes);
                    let first = memory[1..].as_ptr();
                    let view = Strided { swapped, ..Strided::contiguous(first, ScalarType::$scalar, [1; 3]) };
                    assert_eq!(copied(&view), [$expected], stringify!($scalar));
                }
            )*};
        }
        check! {
            U8 200_u8 => 200.0, I8 (-100_i8) => -100.0, U16 60_000_u16 => 60_000.0, I16 (-30_000_i16) => -30_000.0,
            U32 4_000_000_000_u32 => 4_000_000_000.0, I32 (-2_000_000_001_i32) => -2_000_000_000.0,
            U64 u64::MAX => 18_446_744_073_709_551_616.0, I64 (-3_i64) => -3.0,
            F16 f16::from_f32(-1.5) => -1.5, F32 1.25e-40_f32 => 1.25e-40, F64 0.1_f64 => 0.1, F64 1e300_f64 => f32::INFINITY,
            F64 (-1e-60_f64) => -f32::from_bits(1),
        }
    }
}
