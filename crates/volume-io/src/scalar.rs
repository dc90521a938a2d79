//! Stored numbers to `f32`: every integer and float type, both byte orders, scaling, missing values.
//!
//! Owns no file. Invariant: a value equal to the fill value becomes NaN before any scaling.

use half::f16;
use visapult_volume::{ScalarType, single};

/// Values that may stand for what is missing.
const MOST_FILLS: usize = 64;

/// Order of the bytes of a stored number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    pub(crate) const NATIVE: Self = if cfg!(target_endian = "little") { Self::Little } else { Self::Big };
}

/// How stored numbers become values: `stored * slope + intercept`, and NaN where `stored` is one of `fills`, or outside what is valid.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Encoding {
    pub(crate) scalar: ScalarType,
    pub(crate) order: ByteOrder,
    pub(crate) slope: f64,
    pub(crate) intercept: f64,
    pub(crate) fills: Vec<f64>,
    /// The least and the greatest stored number that is a value, where that is told.
    pub(crate) valid: Option<[f64; 2]>,
}

impl Encoding {
    /// Values as they are stored.
    pub(crate) const fn plain(scalar: ScalarType, order: ByteOrder) -> Self {
        Self { scalar, order, slope: 1.0, intercept: 0.0, fills: Vec::new(), valid: None }
    }

    /// What netCDF's attributes say of values in the machine's byte order, by their `numbers`, which may be `whole`, and `text`; `own_fill` is what the format
    /// says else is missing.
    pub(crate) fn told(
        scalar: ScalarType,
        numbers: impl Fn(&str) -> Vec<f64>,
        is_whole: impl Fn(&str) -> bool,
        text: impl Fn(&str) -> Option<String>,
        own_fill: impl FnOnce() -> Option<f64>,
    ) -> Self {
        // Some programs write numbers as text.
        let numbers = |name: &str| match numbers(name) {
            none if none.is_empty() => text(name).and_then(|text| text.trim().parse().ok()).into_iter().collect(),
            found => found,
        };
        let finite = |name: &str| numbers(name).first().copied().filter(|number| number.is_finite());
        let mut fills = ["_FillValue", "missing_value"].map(&numbers).concat();
        fills.truncate(MOST_FILLS);
        if fills.is_empty() {
            fills.extend(own_fill());
        }
        fills.iter_mut().for_each(|fill| *fill = narrowed(scalar, *fill));
        let slope = finite("scale_factor").filter(|n| *n != 0.0).unwrap_or(1.0);
        let intercept = finite("add_offset").unwrap_or(0.0);
        let encoding = Self { slope, intercept, fills, ..Self::plain(scalar, ByteOrder::NATIVE) };
        // Of packed values some files tell what is valid unpacked, as numbers that are not whole.
        let bounds = |name: &str| if encoding.scales() && !is_whole(name) { Vec::new() } else { numbers(name) };
        let valid = match bounds("valid_range").as_slice() {
            [least, greatest] => [*least, *greatest],
            _ => {
                let bound = |name: &str, none: f64| bounds(name).first().copied().unwrap_or(none);
                [bound("valid_min", f64::NEG_INFINITY), bound("valid_max", f64::INFINITY)]
            }
        };
        let encoding = Self { valid: Some(valid.map(|bound| narrowed(scalar, bound))), ..encoding };
        let encoding = match text("_Unsigned").map(|text| text.eq_ignore_ascii_case("true")) {
            Some(is_unsigned) => encoding.with_sign(!is_unsigned),
            None => encoding,
        };
        // Which of them is the lesser shows in the type as it is meant.
        let is_range = |valid: &[f64; 2]| valid[0] <= valid[1] && *valid != [f64::NEG_INFINITY, f64::INFINITY];
        Self { valid: encoding.valid.filter(is_range), ..encoding }
    }

    /// Whether the stored bytes are the values handed out.
    pub(crate) fn is_native_f32(&self) -> bool {
        self.scalar == ScalarType::F32 && self.order == ByteOrder::NATIVE && self.is_plain()
    }

    /// Whether the stored numbers are the values.
    pub(crate) fn is_plain(&self) -> bool {
        // NaN as fill needs no work: it is NaN already.
        !self.scales() && self.valid.is_none() && self.fills.iter().all(|fill| fill.is_nan())
    }

    /// Bytes per stored value.
    pub(crate) const fn bytes(&self) -> usize {
        self.scalar.bytes()
    }

    /// The value that `stored` stands for, told in the type as it was declared.
    pub(crate) fn value_of(&self, stored: f64) -> f32 {
        single(self.wide_value_of(stored))
    }

    /// The same in full: coordinates and times have more digits than a single.
    pub(crate) fn wide_value_of(&self, stored: f64) -> f64 {
        self.wide(self.in_own_sign(stored))
    }

    fn wide(&self, stored: f64) -> f64 {
        let is_missing = self.fills.contains(&stored) || !self.is_valid(stored);
        if is_missing { f64::NAN } else { stored * self.slope + self.intercept }
    }

    /// Of coordinates, which may lie beyond what is valid, and among which NumPy and xarray have the least 64-bit integer for a time that is none (NaT).
    pub(crate) fn of_coordinates(mut self) -> Self {
        self.valid = None;
        if self.scalar == ScalarType::I64 {
            self.fills.push(i64::MIN as f64);
        }
        self
    }

    /// The same bytes, of integers that are signed where the type says they are not, or the other way round: netCDF's `_Unsigned`.
    fn with_sign(mut self, is_signed: bool) -> Self {
        use ScalarType::{I8, I16, I32, I64, U8, U16, U32, U64};
        let pairs = [(I8, U8), (I16, U16), (I32, U32), (I64, U64)];
        let Some((signed, unsigned)) = pairs.into_iter().find(|(i, u)| [*i, *u].contains(&self.scalar)) else {
            return self;
        };
        self.scalar = if is_signed { signed } else { unsigned };
        // What is missing is told in the type as it was declared.
        self.fills = self.fills.iter().map(|fill| self.in_own_sign(*fill)).collect();
        self.valid = self.valid.map(|bounds| bounds.map(|bound| self.in_own_sign(bound)));
        self
    }

    /// An integer that may be told as one of the other sign: the one of the same bytes.
    fn in_own_sign(&self, stored: f64) -> f64 {
        use ScalarType::{I8, I16, I32, I64, U8, U16, U32, U64};
        let values = 2.0_f64.powi(8 * self.scalar.bytes() as i32);
        match self.scalar {
            I8 | I16 | I32 | I64 if stored >= values / 2.0 => stored - values,
            U8 | U16 | U32 | U64 if stored < 0.0 => stored + values,
            _ => stored,
        }
    }

    fn is_valid(&self, stored: f64) -> bool {
        self.valid.is_none_or(|[least, greatest]| least <= stored && stored <= greatest)
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

    /// The values that `bytes` stand for in full.
    pub(crate) fn decode_wide(&self, bytes: &[u8]) -> Vec<f64> {
        match self.scalar {
            ScalarType::U8 => self.wide_as::<u8, 1>(bytes),
            ScalarType::I8 => self.wide_as::<i8, 1>(bytes),
            ScalarType::U16 => self.wide_as::<u16, 2>(bytes),
            ScalarType::I16 => self.wide_as::<i16, 2>(bytes),
            ScalarType::U32 => self.wide_as::<u32, 4>(bytes),
            ScalarType::I32 => self.wide_as::<i32, 4>(bytes),
            ScalarType::U64 => self.wide_as::<u64, 8>(bytes),
            ScalarType::I64 => self.wide_as::<i64, 8>(bytes),
            ScalarType::F16 => self.wide_as::<f16, 2>(bytes),
            ScalarType::F32 => self.wide_as::<f32, 4>(bytes),
            ScalarType::F64 => self.wide_as::<f64, 8>(bytes),
        }
    }

    fn wide_as<T: Stored<N>, const N: usize>(&self, bytes: &[u8]) -> Vec<f64> {
        let stored = |bytes: &[u8; N]| match self.order {
            ByteOrder::Little => T::from_little(*bytes),
            ByteOrder::Big => T::from_big(*bytes),
        };
        bytes.as_chunks::<N>().0.iter().map(|bytes| self.wide(stored(bytes).wide())).collect()
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
        let scaled = move |v: T| single(v.wide() * slope + intercept);
        let fills: Vec<T> = self.fills.iter().filter_map(|fill| T::exactly(*fill)).collect();
        if self.valid.is_some() {
            let is_value = |v: T| self.is_valid(v.wide()) && !is_any(v, &fills);
            return fill_from(out, stored.map(|v| if is_value(v) { scaled(v) } else { f32::NAN }));
        }
        match (fills.as_slice(), self.scales()) {
            ([], false) => fill_from(out, stored.map(T::value)),
            ([], true) => fill_from(out, stored.map(scaled)),
            ([fill], false) => fill_from(out, stored.map(|v| if v.is(*fill) { f32::NAN } else { v.value() })),
            ([fill], true) => fill_from(out, stored.map(|v| if v.is(*fill) { f32::NAN } else { scaled(v) })),
            (fills, false) => fill_from(out, stored.map(|v| if is_any(v, fills) { f32::NAN } else { v.value() })),
            (fills, true) => fill_from(out, stored.map(|v| if is_any(v, fills) { f32::NAN } else { scaled(v) })),
        }
    }
}

/// The number that floats of a type make of one that is told with more digits.
fn narrowed(scalar: ScalarType, told: f64) -> f64 {
    match scalar {
        ScalarType::F32 => f64::from(told as f32),
        ScalarType::F16 => f16::from_f64(told).to_f64(),
        _ => told,
    }
}

fn is_any<T: Stored<N>, const N: usize>(value: T, fills: &[T]) -> bool {
    fills.iter().any(|fill| value.is(*fill))
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
    /// Whether it is this fill, as far as files tell one: of the largest 64-bit integers as a double.
    fn is(self, fill: Self) -> bool;
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
            fn is(self, fill: Self) -> bool { if $bytes < 8 { self == fill } else { self as f64 == fill as f64 } }
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
            fn is(self, fill: Self) -> bool { self == fill }
        }
    )*};
}

stored_float!(
    f16, 2, f16::to_f32, f16::to_f64, f16::from_f64;
    f32, 4, |v| v, f64::from, |v: f64| v as f32;
    f64, 8, single, |v| v, |v| v
);

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(encoding: &Encoding, bytes: &[u8]) -> Vec<f32> {
        let mut out = vec![0.0; bytes.len() / encoding.bytes()];
        encoding.decode(bytes, &mut out);
        out
    }

    #[test]
    fn both_byte_orders_give_the_same_values() {
        let little = Encoding::plain(ScalarType::I16, ByteOrder::Little);
        let big = Encoding::plain(ScalarType::I16, ByteOrder::Big);
        assert_eq!(decoded(&little, &[0xfe, 0xff, 0x34, 0x12]), [-2.0, 4660.0]);
        assert_eq!(decoded(&big, &[0xff, 0xfe, 0x12, 0x34]), [-2.0, 4660.0]);
    }

    #[test]
    fn fill_is_compared_before_scaling() {
        let encoding = Encoding {
            slope: 0.5,
            intercept: 1.0,
            fills: vec![-9999.0],
            ..Encoding::plain(ScalarType::I32, ByteOrder::Little)
        };
        let bytes: Vec<u8> = [-9999_i32, 4].iter().flat_map(|v| v.to_le_bytes()).collect();
        let values = decoded(&encoding, &bytes);
        assert!(values[0].is_nan());
        assert_eq!(values[1], 3.0);
    }

    #[test]
    fn several_values_may_stand_for_what_is_missing() {
        let fills = vec![1.0, 3.0];
        let plain = Encoding { fills, ..Encoding::plain(ScalarType::U8, ByteOrder::Little) };
        let scaled = Encoding { slope: 2.0, ..plain.clone() };
        for (encoding, kept) in [(plain, [0.0, 2.0]), (scaled, [0.0, 4.0])] {
            let values = decoded(&encoding, &[0, 1, 2, 3]);
            assert!(values[1].is_nan() && values[3].is_nan());
            assert_eq!([values[0], values[2]], kept);
        }
    }

    /// The encoding of attributes with these numbers, whole ones in integers; integers are unsigned where `is_unsigned`.
    fn told(scalar: ScalarType, attributes: &[(&str, &[f64])], is_unsigned: bool) -> Encoding {
        let numbers = |name: &str| {
            let found = attributes.iter().find(|(known, _)| *known == name);
            found.map_or_else(Vec::new, |(_, numbers)| numbers.to_vec())
        };
        let text = |name: &str| (name == "_Unsigned" && is_unsigned).then(|| "true".to_owned());
        Encoding::told(scalar, numbers, |_| true, text, || None)
    }

    #[test]
    fn a_fill_told_in_double_is_the_number_that_the_type_makes_of_it() {
        for (scalar, fill, stored) in [
            (ScalarType::F32, 1e20, f64::from(1e20_f32)),
            (ScalarType::F16, 0.1, f16::from_f64(0.1).to_f64()),
            (ScalarType::F64, 1e20, 1e20),
        ] {
            let encoding = told(scalar, &[("_FillValue", &[fill])], false);
            assert!(encoding.value_of(stored).is_nan(), "{scalar:?}");
            assert_eq!(encoding.value_of(0.5), 0.5);
        }
        let valid = told(ScalarType::F16, &[("valid_min", &[0.1])], false);
        assert!(decoded(&valid, &f16::from_f64(0.1).to_le_bytes())[0] > 0.0);
    }

    #[test]
    fn numbers_that_are_written_as_text_count() {
        let text = |name: &str| match name {
            "scale_factor" => Some("0.01".to_owned()),
            "add_offset" => Some(" 273.15".to_owned()),
            "missing_value" => Some("-9".to_owned()),
            "valid_max" => Some("none".to_owned()),
            _ => None,
        };
        let encoding = Encoding::told(ScalarType::I16, |_| Vec::new(), |_| true, text, || None);
        assert_eq!((encoding.slope, encoding.intercept, encoding.valid), (0.01, 273.15, None));
        assert!(encoding.value_of(-9.0).is_nan());
    }

    #[test]
    fn a_change_of_sign_takes_the_missing_value_along() {
        let signed = Encoding { fills: vec![-1.0], ..Encoding::plain(ScalarType::I8, ByteOrder::Little) };
        let unsigned = signed.clone().with_sign(false);
        let values = decoded(&unsigned, &[0xff, 0xfe]);
        assert!(values[0].is_nan() && values[1] == 254.0);
        assert_eq!(unsigned.with_sign(true), signed);
        let float = Encoding::plain(ScalarType::F32, ByteOrder::Little);
        assert_eq!(float.clone().with_sign(false), float);
    }

    #[test]
    fn what_is_valid_is_told_in_the_type_as_it_is_meant() {
        let range = |scalar, range: &[f64]| told(scalar, &[("valid_range", range)], true).valid;
        assert_eq!(range(ScalarType::I16, &[0.0, -6.0]), Some([0.0, 65530.0]));
        assert_eq!(range(ScalarType::I8, &[2.0, 100.0]), Some([2.0, 100.0]));
        // All that the declared type holds, which is no range of the other.
        assert_eq!(range(ScalarType::I8, &[-128.0, 127.0]), None);
        assert_eq!(range(ScalarType::I8, &[f64::NAN, 127.0]), None);
        let most = told(ScalarType::I8, &[("valid_max", &[-6.0])], true);
        let values = decoded(&most, &[0, 250, 251]);
        assert!(values[..2] == [0.0, 250.0] && values[2].is_nan(), "{values:?}");
        assert_eq!(told(ScalarType::I8, &[], true), Encoding::plain(ScalarType::U8, ByteOrder::NATIVE));
    }

    #[test]
    fn a_value_that_was_never_written_is_missing_in_either_sign() {
        let declared = Encoding { fills: vec![-1.0], slope: 2.0, ..Encoding::plain(ScalarType::I8, ByteOrder::Little) };
        for encoding in [declared.clone(), declared.with_sign(false)] {
            assert!(encoding.value_of(-1.0).is_nan());
            assert_eq!(encoding.value_of(3.0), 6.0);
        }
    }

    #[test]
    fn the_largest_integers_are_missing_where_a_double_tells_them_so() {
        for (scalar, bytes) in [
            (ScalarType::I64, (-9_223_372_036_854_775_806_i64).to_le_bytes()),
            (ScalarType::U64, 18_446_744_073_709_551_614_u64.to_le_bytes()),
        ] {
            let fill = if scalar == ScalarType::I64 { -2.0_f64.powi(63) } else { 2.0_f64.powi(64) };
            let encoding = Encoding { fills: vec![fill], ..Encoding::plain(scalar, ByteOrder::Little) };
            let values = decoded(&encoding, &[bytes, 7_i64.to_le_bytes()].concat());
            assert!(values[0].is_nan() && values[1] == 7.0, "{values:?}");
        }
    }

    #[test]
    fn coordinates_keep_all_their_digits() {
        let encoding = Encoding { intercept: 0.5, ..Encoding::plain(ScalarType::I64, ByteOrder::Little) };
        assert_eq!(encoding.decode_wide(&1_764_000_001_i64.to_le_bytes()), [1_764_000_001.5]);
    }

    #[test]
    fn coordinates_that_are_missing_are_no_numbers() {
        let nat = Encoding::plain(ScalarType::I64, ByteOrder::Little).of_coordinates();
        let bytes = [i64::MIN.to_le_bytes(), 5_i64.to_le_bytes()].concat();
        assert!(matches!(nat.decode_wide(&bytes)[..], [none, 5.0] if none.is_nan()));
        let filled = Encoding { fills: vec![-1.0], slope: 2.0, ..Encoding::plain(ScalarType::I16, ByteOrder::Little) };
        let bytes = [(-1_i16).to_le_bytes(), 5_i16.to_le_bytes()].concat();
        assert!(matches!(filled.decode_wide(&bytes)[..], [none, 10.0] if none.is_nan()));
    }

    #[test]
    fn a_bound_in_double_holds_for_the_single_it_stands_for() {
        let numbers = |name: &str| if name == "valid_max" { vec![0.1] } else { Vec::new() };
        let mut encoding = Encoding::told(ScalarType::F32, numbers, |_| false, |_| None, || None);
        encoding.order = ByteOrder::Little;
        let values = decoded(&encoding, &[0.1_f32.to_le_bytes(), 0.11_f32.to_le_bytes()].concat());
        assert!(values[0] == 0.1 && values[1].is_nan());
    }

    #[test]
    fn a_fill_the_type_cannot_hold_matches_nothing() {
        let encoding = Encoding { fills: vec![-9999.0], ..Encoding::plain(ScalarType::U16, ByteOrder::Little) };
        assert_eq!(decoded(&encoding, &[0, 0, 1, 0]), [0.0, 1.0]);
    }

    #[test]
    fn a_fill_given_in_double_matches_the_single_it_stands_for() {
        let encoding = Encoding { fills: vec![9.96921e36], ..Encoding::plain(ScalarType::F32, ByteOrder::Big) };
        assert!(decoded(&encoding, &9.96921e36_f32.to_be_bytes())[0].is_nan());
    }
}
