//! Whole numbers of values, for codes.

/// From here on up to twice as much, the bits of an `f32` count in ones.
const COUNTS_IN_ONES: f32 = (1 << 23) as f32;

/// The whole part of `value`, from 0 to below 2^22; of another value or NaN, any number.
///
/// Vectorises on any processor, where `as` does not: that gives the nearest `i32` of values beyond those.
#[inline(always)]
pub(crate) fn whole(value: f32) -> i32 {
    let sum = value + COUNTS_IN_ONES;
    let is_rounded_up = sum - COUNTS_IN_ONES > value;
    (sum.to_bits() & 0x7f_ffff) as i32 - i32::from(is_rounded_up)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    #[test]
    fn whole_parts_are_those_of_a_cast() {
        let mut random = Random::new(41);
        let near = (0..2000)
            .flat_map(|n| [f32::from(n as u16).next_down(), f32::from(n as u16), f32::from(n as u16).next_up()]);
        let far = (0..100_000).map(|_| random.unit().powi(4) * (1 << 22) as f32);
        for value in near.chain(far).filter(|value| *value >= 0.0) {
            assert_eq!(whole(value), value as i32, "{value}");
        }
    }
}
