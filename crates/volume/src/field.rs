//! What is known of a field before any of its values is read.

use std::fmt;
use std::ops::RangeInclusive;

/// How the values of a field are stored at the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum ScalarType {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F16,
    F32,
    F64,
}

impl ScalarType {
    /// Every type there is.
    pub const ALL: [Self; 11] = {
        use ScalarType::{F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        [U8, I8, U16, I16, U32, I32, U64, I64, F16, F32, F64]
    };

    /// The type that is displayed so.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.to_string() == name)
    }

    /// Bytes per value.
    pub const fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 | Self::F16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }
}

impl fmt::Display for ScalarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::U8 => "u8",
            Self::I8 => "i8",
            Self::U16 => "u16",
            Self::I16 => "i16",
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        })
    }
}

/// A named scalar on a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldInfo {
    /// Name as the source gives it.
    pub name: String,
    /// Unit of the values; empty where none is known.
    pub unit: String,
    /// How the source stores the values; readers hand them out as `f32`.
    pub scalar_type: ScalarType,
    /// Range declared by the source for all steps, where it declares one.
    pub declared_range: Option<ValueRange>,
}

/// Smallest and largest finite value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueRange {
    /// Smallest finite value.
    pub lo: f32,
    /// Largest finite value.
    pub hi: f32,
}

impl ValueRange {
    /// The range of the finite values, or `None` where there is none.
    pub fn of(values: &[f32]) -> Option<Self> {
        const LANES: usize = 16;
        let mut lo = [f32::INFINITY; LANES];
        let mut hi = [f32::NEG_INFINITY; LANES];
        let mut widen = |lane: usize, value: f32| {
            let finite = value.is_finite();
            lo[lane] = if finite && value < lo[lane] { value } else { lo[lane] };
            hi[lane] = if finite && value > hi[lane] { value } else { hi[lane] };
        };
        // As many each time, so that the compiler makes SIMD of it.
        let (chunks, rest) = values.as_chunks::<LANES>();
        for chunk in chunks {
            (0..LANES).for_each(|lane| widen(lane, chunk[lane]));
        }
        rest.iter().enumerate().for_each(|(lane, &value)| widen(lane, value));
        let lo = lo.into_iter().fold(f32::INFINITY, f32::min);
        let hi = hi.into_iter().fold(f32::NEG_INFINITY, f32::max);
        (lo <= hi).then_some(Self { lo, hi })
    }

    /// The smallest range that holds both.
    pub fn union(self, other: Self) -> Self {
        Self { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    /// What both hold, or `None` where that is not more than one value.
    pub fn overlap(self, other: Self) -> Option<Self> {
        let (lo, hi) = (self.lo.max(other.lo), self.hi.min(other.hi));
        (lo < hi).then_some(Self { lo, hi })
    }

    /// Why pictures do not hold the values, in words to be shown: they are smaller, and yet not all 0, or larger.
    pub fn unfit(&self) -> Option<&'static str> {
        const HELD: RangeInclusive<f32> = 1e-35..=1e37;
        let largest = self.lo.abs().max(self.hi.abs());
        if largest == 0.0 || HELD.contains(&largest) {
            return None;
        }
        Some(if largest < *HELD.start() {
            "too small for pictures to hold: multiply them, and say so in their unit"
        } else {
            "too large for pictures to hold: divide them, and say so in their unit"
        })
    }

    /// Whether the field has one value only.
    pub fn is_constant(&self) -> bool {
        self.lo == self.hi
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_types_apart() {
        assert!(ScalarType::ALL.into_iter().all(|known| ScalarType::of_name(&known.to_string()) == Some(known)));
        assert_eq!(ScalarType::of_name("F32"), None);
    }

    #[test]
    fn range_ignores_what_is_not_finite() {
        let values = [f32::NAN, 3.0, f32::INFINITY, -2.0, f32::NEG_INFINITY];
        assert_eq!(ValueRange::of(&values), Some(ValueRange { lo: -2.0, hi: 3.0 }));
        assert_eq!(ValueRange::of(&[f32::NAN]), None);
        assert_eq!(ValueRange::of(&[]), None);
    }

    #[test]
    fn ranges_that_only_touch_do_not_overlap() {
        let range = |lo, hi| ValueRange { lo, hi };
        assert_eq!(range(0.0, 2.0).overlap(range(1.0, 5.0)), Some(range(1.0, 2.0)));
        assert_eq!(range(0.0, 2.0).overlap(range(2.0, 5.0)), None);
    }
}
