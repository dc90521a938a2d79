//! Which part of the fields of a source is meant, as one says it to another.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use visapult_volume_io::Samples;

/// A part of the fields of a source, made where that lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldPart {
    /// Names of fields, or paths into the container; all if there is none.
    #[serde(default)]
    pub fields: Vec<String>,
    /// Samples of the level along z, y and x; none is all.
    #[serde(default)]
    pub bounds: Option<[Samples; 3]>,
    /// Of these every so many, along z, y and x.
    pub stride: [u64; 3],
    /// Level of detail: 0 is the finest.
    #[serde(default)]
    pub level: u32,
    /// Steps; none is all.
    #[serde(default)]
    pub steps: Option<Steps>,
    /// How far values may be from the source's.
    #[serde(default)]
    pub rounding: Rounding,
    /// Only what it would be is told: sizes are those before compression.
    #[serde(default)]
    pub is_dry: bool,
}

impl Default for FieldPart {
    fn default() -> Self {
        Self {
            fields: Vec::new(),
            bounds: None,
            stride: [1; 3],
            level: 0,
            steps: None,
            rounding: Rounding::Exact,
            is_dry: false,
        }
    }
}

/// Steps from the first on, before the end, every so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steps {
    /// The first.
    pub first: u64,
    /// After the last; none is the end.
    pub end: Option<u64>,
    /// From one to the next.
    pub every: u64,
}

/// How values are rounded, so that they take fewer bytes when they are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rounding {
    /// Not at all.
    #[default]
    Exact,
    /// To so many bits of the fraction: the error is a part of each value.
    Bits(u8),
    /// To multiples of 2 to this power: the error is the same everywhere.
    Multiples(i16),
}

/// Bits of the fraction of a 32-bit float.
const FRACTION: u8 = 23;
/// The least power of two that it holds.
const LEAST_POWER: i16 = -149;
const MOST_POWER: i16 = 127;

impl Rounding {
    /// The coarsest whose error is at most this part of each value.
    ///
    /// # Errors
    /// If it is no part of a value.
    pub fn relative(most: f64) -> Result<Self, String> {
        if !(most > 0.0 && most <= 0.5) {
            return Err("a part of each value is more than 0 and at most 50%".to_owned());
        }
        // Rounding to `bits` is at most 2^-(bits + 1) off.
        let bits = (-most.log2()).ceil() - 1.0;
        Ok(if bits >= f64::from(FRACTION) { Self::Exact } else { Self::Bits(bits.max(0.0) as u8) })
    }

    /// The coarsest whose error is at most this much, in the unit of the values.
    ///
    /// # Errors
    /// If it is no positive number.
    pub fn absolute(most: f64) -> Result<Self, String> {
        if !(most > 0.0 && most.is_finite()) {
            return Err(
                "an error is a positive number, in the unit of the values, or with % a part of each value".to_owned()
            );
        }
        let power = (2.0 * most).log2().floor();
        Ok(if power < f64::from(LEAST_POWER) {
            Self::Exact
        } else {
            Self::Multiples(power.min(f64::from(MOST_POWER)) as i16)
        })
    }

    pub(super) fn check(self) -> Result<(), String> {
        let is_sound = match self {
            Self::Exact => true,
            Self::Bits(bits) => bits < FRACTION,
            Self::Multiples(power) => (LEAST_POWER..=MOST_POWER).contains(&power),
        };
        if is_sound { Ok(()) } else { Err("it asks for a rounding that there is not".to_owned()) }
    }

    /// What it promises, in words.
    pub(super) fn promise(self) -> Option<String> {
        match self {
            Self::Exact => None,
            Self::Bits(bits) => Some(format!("at most 2^-{} of each value", bits + 1)),
            Self::Multiples(power) => Some(format!("at most {:e}", self.half_step(power))),
        }
    }

    fn half_step(self, power: i16) -> f64 {
        2_f64.powi(i32::from(power) - 1)
    }

    pub(super) fn round(self, values: &mut [f32]) {
        match self {
            Self::Exact => {}
            Self::Bits(bits) => values.iter_mut().for_each(|value| *value = to_bits(*value, FRACTION - bits)),
            Self::Multiples(power) => {
                // Powers of two: neither the quotient nor the product is rounded.
                let step = 2_f64.powi(power.into());
                for value in values.iter_mut().filter(|value| value.is_finite()) {
                    let rounded = ((f64::from(*value) / step).round_ties_even() * step) as f32;
                    *value = if rounded.is_finite() { rounded } else { *value };
                }
            }
        }
    }
}

/// `0.01`, in the unit of the values, or `0.1%`, a part of each value.
impl FromStr for Rounding {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |_| "expected a number, such as 0.01, or with % a part of each value, such as 0.1%".to_owned();
        match text.strip_suffix('%') {
            Some(percent) => Self::relative(percent.trim().parse::<f64>().map_err(wrong)? / 100.0),
            None => Self::absolute(text.trim().parse().map_err(wrong)?),
        }
    }
}

/// Rounds off the last `dropped` bits of the fraction, halves to even.
fn to_bits(value: f32, dropped: u8) -> f32 {
    // What is smaller has fewer bits; their part of the value would be larger.
    if !value.is_normal() || dropped == 0 {
        return value;
    }
    let bits = value.to_bits();
    let half = (1_u32 << (dropped - 1)) - 1 + (bits >> dropped & 1);
    let rounded = f32::from_bits((bits + half) & !((1 << dropped) - 1));
    if rounded.is_finite() { rounded } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Vec<f32> {
        let mut state = 1_u64;
        let next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            f32::from_bits((state >> 32) as u32)
        };
        let extremes = [0.0, -0.0, f32::MAX, f32::MIN, f32::MIN_POSITIVE, 1e-45, f32::NAN, f32::INFINITY, 0.1, -3.7e9];
        extremes.into_iter().chain(std::iter::repeat_with(next).take(100_000)).collect()
    }

    #[test]
    fn errors_stay_within_what_is_promised() {
        for most in [0.5, 0.4, 0.1, 1e-2, 1e-3, 1e-5, 3e-8] {
            let rounding = Rounding::relative(most).unwrap();
            let mut rounded = values();
            rounding.round(&mut rounded);
            for (was, is) in values().into_iter().zip(rounded) {
                let fits = (f64::from(is) - f64::from(was)).abs() <= most * f64::from(was).abs();
                assert!(fits || was.to_bits() == is.to_bits(), "{most}: {was:e} became {is:e}");
            }
        }
        for most in [1e-40, 1e-3, 0.5, 0.7, 1.0, 1e9, 1e38] {
            let rounding = Rounding::absolute(most).unwrap();
            let mut rounded = values();
            rounding.round(&mut rounded);
            for (was, is) in values().into_iter().zip(rounded) {
                let fits = (f64::from(is) - f64::from(was)).abs() <= most;
                assert!(fits || was.to_bits() == is.to_bits(), "{most}: {was:e} became {is:e}");
            }
        }
    }

    #[test]
    fn a_small_error_takes_few_bits_and_none_takes_all() {
        assert_eq!(("0.1%".parse(), "0.5".parse()), (Ok(Rounding::Bits(9)), Ok(Rounding::Multiples(0))));
        assert!(["", "%", "0", "-1", "90%", "nan"].iter().all(|wrong| wrong.parse::<Rounding>().is_err()));
        assert_eq!(Rounding::relative(1e-3), Ok(Rounding::Bits(9)));
        assert_eq!(Rounding::relative(0.5), Ok(Rounding::Bits(0)));
        assert_eq!(Rounding::relative(1e-9), Ok(Rounding::Exact));
        assert_eq!(Rounding::absolute(0.5), Ok(Rounding::Multiples(0)));
        assert_eq!(Rounding::absolute(1e-60), Ok(Rounding::Exact));
        for wrong in [0.0, -1.0, 0.6, f64::NAN, f64::INFINITY] {
            assert!(Rounding::relative(wrong).is_err(), "{wrong}");
        }
        assert!(Rounding::absolute(0.0).is_err() && Rounding::absolute(f64::INFINITY).is_err());
        assert!(Rounding::Bits(23).check().is_err() && Rounding::Multiples(-150).check().is_err());
    }
}
