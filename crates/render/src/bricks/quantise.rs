//! Values as codes of 4 to 8 or 16 bits over a brick's range: code 0 is no data, 1 the smallest value, the largest code the largest.

use serde::{Deserialize, Serialize};
use visapult_volume::ValueRange;

use crate::codec::{interleave_signs, interleave_signs_8, separate_signs, separate_signs_8, whole};

/// Width of a brick's codes: 4 to 8 bits, or 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct CodeBits(u8);

impl CodeBits {
    /// 254 steps over the brick's range.
    pub const EIGHT: Self = Self(8);
    /// 65 534 steps over the brick's range.
    pub const SIXTEEN: Self = Self(16);
    /// Those that are worth their bytes where neighbouring values differ by much, the finest first: 62, 30 and 14 steps.
    pub const COARSE: [Self; 3] = [Self(6), Self(5), Self(4)];

    /// The width that a message names, or `None` where codes have no such.
    pub fn from_bits(bits: u8) -> Option<Self> {
        matches!(bits, 4..=8 | 16).then_some(Self(bits))
    }

    /// Bits per code.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// Whether codes take more than a byte.
    pub fn is_wide(self) -> bool {
        self > Self::EIGHT
    }

    /// Steps between the smallest and the largest value.
    pub fn steps(self) -> f64 {
        f64::from((1_u32 << self.0) - 2)
    }
}

impl TryFrom<u8> for CodeBits {
    type Error = String;

    fn try_from(bits: u8) -> Result<Self, String> {
        Self::from_bits(bits).ok_or_else(|| format!("{bits} bits per code: 4 to 8 and 16 are possible"))
    }
}

impl From<CodeBits> for u8 {
    fn from(bits: CodeBits) -> Self {
        bits.bits()
    }
}

/// A code type: what the two widths share.
pub(super) trait Code: Copy + Default {
    /// The lowest bits of a number.
    fn from_i32(code: i32) -> Self;
    fn to_i32(self) -> i32;
    fn to_f32(self) -> f32;
    /// Of a difference, its symbol; and back.
    fn interleaved(self) -> Self;
    fn separated(self) -> Self;
}

impl Code for u8 {
    fn from_i32(code: i32) -> Self {
        code as Self
    }
    fn to_i32(self) -> i32 {
        i32::from(self)
    }
    fn to_f32(self) -> f32 {
        f32::from(self)
    }
    fn interleaved(self) -> Self {
        interleave_signs_8(self)
    }
    fn separated(self) -> Self {
        separate_signs_8(self)
    }
}

impl Code for u16 {
    fn from_i32(code: i32) -> Self {
        code as Self
    }
    fn to_i32(self) -> i32 {
        i32::from(self)
    }
    fn to_f32(self) -> f32 {
        f32::from(self)
    }
    fn interleaved(self) -> Self {
        interleave_signs(self)
    }
    fn separated(self) -> Self {
        separate_signs(self)
    }
}

/// Appends the codes of `values`, which lie in `range` where they are finite.
pub(super) fn quantise<C: Code>(values: &[f32], range: ValueRange, bits: CodeBits, codes: &mut Vec<C>) {
    let width = f64::from(range.hi) - f64::from(range.lo);
    let scale = if width > 0.0 { bits.steps() / width } else { 0.0 };
    let (lo, scale_f32) = (range.lo, scale as f32);
    if (range.hi - lo).is_finite() && scale_f32.is_finite() {
        codes.extend(values.iter().map(|&v| {
            let code = whole((v - lo) * scale_f32 + 1.5);
            C::from_i32(if v.is_finite() { code } else { 0 })
        }));
    } else {
        codes.extend(values.iter().map(|&v| {
            let code = ((f64::from(v) - f64::from(lo)) * scale + 1.5) as i32;
            C::from_i32(if v.is_finite() { code } else { 0 })
        }));
    }
}

/// The values that `codes` stand for. In double precision: `hi - lo` may exceed what `f32` holds, and be less than the distance of neighbouring values there.
pub(super) fn dequantise<C: Code>(codes: &[C], range: [f32; 2], bits: CodeBits, values: &mut [f32]) {
    let [lo, hi] = range.map(f64::from);
    let step = (hi - lo) / bits.steps();
    let most = bits.steps() as f32 + 1.0;
    for (value, code) in values.iter_mut().zip(codes) {
        let code = code.to_f32().min(most);
        *value = if code == 0.0 { f32::NAN } else { (lo + f64::from(code - 1.0) * step) as f32 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back<C: Code>(values: &[f32], bits: CodeBits) -> Vec<f32> {
        let range = ValueRange::of(values).unwrap();
        let mut codes: Vec<C> = Vec::new();
        quantise(values, range, bits, &mut codes);
        let mut out = vec![0.0; values.len()];
        dequantise(&codes, [range.lo, range.hi], bits, &mut out);
        out
    }

    #[test]
    fn values_come_back_within_half_a_step_even_at_the_ends_of_f32() {
        let cases = [[0.0, 1.0, 0.3], [-5.0e8, 7.0, 1.0e9], [f32::MIN, 1.0e37, f32::MAX], [0.0, 1.0e-45, 1.0e-44]];
        // Neighbours of `f32` are 1/128 apart here.
        let offset = [101_325.0, 101_325.07, 101_325.04];
        for values in cases.into_iter().chain([offset]) {
            let width = f64::from(values[2].max(values[1])) - f64::from(values[0]);
            let narrow = CodeBits::COARSE.into_iter().chain([CodeBits::EIGHT]);
            let narrow = narrow.map(|bits| (bits.steps(), there_and_back::<u8>(&values, bits)));
            let wide = (65534.0, there_and_back::<u16>(&values, CodeBits::SIXTEEN));
            for (steps, got) in narrow.chain([wide]) {
                for (value, got) in values.iter().zip(got) {
                    let error = (f64::from(*value) - f64::from(got)).abs();
                    let rounding = f64::from(f32::EPSILON) * width + 1.0e-45;
                    assert!(error <= 0.505 * width / steps + rounding, "{value} came back as {got}");
                }
            }
        }
    }

    #[test]
    fn what_is_not_finite_has_code_zero_and_comes_back_as_nan() {
        let mut codes: Vec<u8> = Vec::new();
        let values = [f32::NAN, 1.0, f32::INFINITY, 2.0, f32::NEG_INFINITY];
        quantise(&values, ValueRange { lo: 1.0, hi: 2.0 }, CodeBits::EIGHT, &mut codes);
        assert_eq!(codes, [0, 1, 0, 255, 0]);
        let mut out = [0.0; 5];
        dequantise(&codes, [1.0, 2.0], CodeBits::EIGHT, &mut out);
        assert!(out[0].is_nan() && out[2].is_nan() && out[4].is_nan());
        assert_eq!((out[1], out[3]), (1.0, 2.0));
    }

    #[test]
    fn one_value_among_gaps_is_kept() {
        let mut codes: Vec<u16> = Vec::new();
        quantise(&[3.5, f32::NAN], ValueRange { lo: 3.5, hi: 3.5 }, CodeBits::SIXTEEN, &mut codes);
        assert_eq!(codes, [1, 0]);
    }

    #[test]
    fn codes_beyond_the_last_stand_for_the_same() {
        let mut out = [0.0; 3];
        dequantise(&[15_u8, 16, 255], [1.0, 2.0], CodeBits::COARSE[2], &mut out);
        assert_eq!(out, [2.0; 3]);
    }

    #[test]
    fn widths_are_those_that_codes_can_have() {
        let widths: Vec<u8> = (0..=u8::MAX).filter(|bits| CodeBits::from_bits(*bits).is_some()).collect();
        assert_eq!(widths, [4, 5, 6, 7, 8, 16]);
        assert!(CodeBits::try_from(9).unwrap_err().starts_with("9 bits"));
    }
}
