//! Stored numbers to `f32`: every integer and float type, both byte orders, scaling, missing values.
//!
//! Owns no file. Invariant: a value equal to the fill value becomes NaN before any scaling.

use half::f16;
use visapult_volume::ScalarType;

/// Order of the bytes of a stored number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    pub(crate) const NATIVE: Self = if cfg!(target_endian = "little") { Self::Little } else { Self::Big };
}

/// How stored numbers become values: `stored * slope + intercept`, and NaN where `stored == fill`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Encoding {
    pub(crate) scalar: ScalarType,
    pub(crate) order: ByteOrder,
    pub(crate) slope: f64,
    pub(crate) intercept: f64,
    pub(crate) fill: Option<f64>,
}

impl Encoding {
    /// Values as they are stored.
    pub(crate) const fn plain(scalar: ScalarType, order: ByteOrder) -> Self {
        Self { scalar, order, slope: 1.0, intercept: 0.0, fill: None }
    }

    /// Whether the stored bytes are the values handed out.
    pub(crate) fn is_native_f32(&self) -> bool {
        self.scalar == ScalarType::F32 && self.order == ByteOrder::NATIVE && self.is_plain()
    }

    /// Whether the stored numbers are the values.
    pub(crate) fn is_plain(&self) -> bool {
        // NaN as fill needs no work: it is NaN already.
        !self.scales() && self.fill.is_none_or(f64::is_nan)
    }

    /// Bytes per stored value.
    pub(crate) const fn bytes(&self) -> usize {
        self.scalar.bytes()
    }

    /// The value that `stored`, not read from a file, stands for.
    pub(crate) fn value_of(&self, stored: f64) -> f32 {
        if self.fill == Some(stored) { f32::NAN } else { (stored * self.slope + self.intercept) as f32 }
    }

    fn scales(&self) -> bool {
        self.slope != 1.0 || self.intercept != 0.0
    }

    /// Converts `bytes`, one stored value after the other, into `out`.
    pub(crate) fn decode(&self, bytes: &[u8], out: &mut [f32]) {
        debug_assert_eq!(bytes.len(), out.len() * self.bytes());
        match self.scalar {
            ScalarType::U8 => self.decode_as::<u8, 1>(bytes, out),
            ScalarType::I8 => self.decode_as::<i8, 1>(bytes, out),
            ScalarType::U16 => self.decode_as::<u16, 2>(bytes, out),
            ScalarType::I16 => self.decode_as::<i16, 2>(bytes, out),
            ScalarType::U32 => self.decode_as::<u32, 4>(bytes, out),
            ScalarType::I32 => self.decode_as::<i32, 4>(bytes, out),
            ScalarType::U64 => self.decode_as::<u64, 8>(bytes, out),
            ScalarType::I64 => self.decode_as::<i64, 8>(bytes, out),
            ScalarType::F16 => self.decode_as::<f16, 2>(bytes, out),
            ScalarType::F32 => self.decode_as::<f32, 4>(bytes, out),
            ScalarType::F64 => self.decode_as::<f64, 8>(bytes, out),
        }
    }

    fn decode_as<T: Stored<N>, const N: usize>(&self, bytes: &[u8], out: &mut [f32]) {
        let stored = bytes.as_chunks::<N>().0;
        match self.order {
            ByteOrder::Little => self.map_values(stored.iter().map(|b| T::from_little(*b)), out),
            ByteOrder::Big => self.map_values(stored.iter().map(|b| T::from_big(*b)), out),
        }
    }

    fn map_values<T: Stored<N>, const N: usize>(&self, stored: impl Iterator<Item = T>, out: &mut [f32]) {
        let (slope, intercept) = (self.slope, self.intercept);
        let scaled = move |v: T| (v.wide() * slope + intercept) as f32;
        match (self.fill.and_then(T::exactly), self.scales()) {
            (None, false) => fill_from(out, stored.map(T::value)),
            (None, true) => fill_from(out, stored.map(scaled)),
            (Some(fill), false) => fill_from(out, stored.map(|v| if v == fill { f32::NAN } else { v.value() })),
            (Some(fill), true) => fill_from(out, stored.map(|v| if v == fill { f32::NAN } else { scaled(v) })),
        }
    }
}

fn fill_from(out: &mut [f32], values: impl Iterator<Item = f32>) {
    for (slot, value) in out.iter_mut().zip(values) {
        *slot = value;
    }
}

/// A number as files store it, in `N` bytes.
trait Stored<const N: usize>: Copy + PartialEq {
    fn from_little(bytes: [u8; N]) -> Self;
    fn from_big(bytes: [u8; N]) -> Self;
    fn value(self) -> f32;
    fn wide(self) -> f64;
    /// `fill` in this type, or `None` where no stored value can equal it.
    fn exactly(fill: f64) -> Option<Self>;
}

macro_rules! stored_integer {
    ($($type:ty, $bytes:literal);*) => {$(
        impl Stored<$bytes> for $type {
            fn from_little(bytes: [u8; $bytes]) -> Self { Self::from_le_bytes(bytes) }
            fn from_big(bytes: [u8; $bytes]) -> Self { Self::from_be_bytes(bytes) }
            fn value(self) -> f32 { self as f32 }
            fn wide(self) -> f64 { self as f64 }
            fn exactly(fill: f64) -> Option<Self> {
                // The largest 64-bit integers have no exact double: an out-of-range double means the end of the range.
                let nearest = fill as Self;
                (nearest as f64 == fill).then_some(nearest)
            }
        }
    )*};
}

stored_integer!(u8, 1; i8, 1; u16, 2; i16, 2; u32, 4; i32, 4; u64, 8; i64, 8);

macro_rules! stored_float {
    ($($type:ty, $bytes:literal, $value:expr, $wide:expr, $narrow:expr);*) => {$(
        impl Stored<$bytes> for $type {
            fn from_little(bytes: [u8; $bytes]) -> Self { Self::from_le_bytes(bytes) }
            fn from_big(bytes: [u8; $bytes]) -> Self { Self::from_be_bytes(bytes) }
            fn value(self) -> f32 { $value(self) }
            fn wide(self) -> f64 { $wide(self) }
            fn exactly(fill: f64) -> Option<Self> { (!fill.is_nan()).then(|| $narrow(fill)) }
        }
    )*};
}

stored_float!(
    f16, 2, f16::to_f32, f16::to_f64, f16::from_f64;
    f32, 4, |v| v, f64::from, |v: f64| v as f32;
    f64, 8, |v: f64| v as f32, |v| v, |v| v
);

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(encoding: Encoding, bytes: &[u8]) -> Vec<f32> {
        let mut out = vec![0.0; bytes.len() / encoding.bytes()];
        encoding.decode(bytes, &mut out);
        out
    }

    #[test]
    fn both_byte_orders_give_the_same_values() {
        let little = Encoding::plain(ScalarType::I16, ByteOrder::Little);
        let big = Encoding::plain(ScalarType::I16, ByteOrder::Big);
        assert_eq!(decoded(little, &[0xfe, 0xff, 0x34, 0x12]), [-2.0, 4660.0]);
        assert_eq!(decoded(big, &[0xff, 0xfe, 0x12, 0x34]), [-2.0, 4660.0]);
    }

    #[test]
    fn fill_is_compared_before_scaling() {
        let encoding = Encoding {
            slope: 0.5,
            intercept: 1.0,
            fill: Some(-9999.0),
            ..Encoding::plain(ScalarType::I32, ByteOrder::Little)
        };
        let bytes: Vec<u8> = [-9999_i32, 4].iter().flat_map(|v| v.to_le_bytes()).collect();
        let values = decoded(encoding, &bytes);
        assert!(values[0].is_nan());
        assert_eq!(values[1], 3.0);
    }

    #[test]
    fn a_fill_the_type_cannot_hold_matches_nothing() {
        let encoding = Encoding { fill: Some(-9999.0), ..Encoding::plain(ScalarType::U16, ByteOrder::Little) };
        assert_eq!(decoded(encoding, &[0, 0, 1, 0]), [0.0, 1.0]);
    }

    #[test]
    fn a_fill_given_in_double_matches_the_single_it_stands_for() {
        let encoding = Encoding { fill: Some(9.96921e36), ..Encoding::plain(ScalarType::F32, ByteOrder::Big) };
        assert!(decoded(encoding, &9.96921e36_f32.to_be_bytes())[0].is_nan());
    }
}
