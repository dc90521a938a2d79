//! Doubles in single precision.

/// The nearest single. Of what is not 0 and yet nearer to it than any, it is the least there is: a field of small values is not taken for an empty one.
pub fn single(value: f64) -> f32 {
    let nearest = value as f32;
    if nearest == 0.0 && value != 0.0 { f32::from_bits(1).copysign(nearest) } else { nearest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_zero_becomes_zero() {
        let least = f32::from_bits(1);
        for (value, expected) in [(0.0, 0.0), (1e-60, least), (-5e-324, -least), (0.1, 0.1), (1e300, f32::INFINITY)] {
            assert_eq!(single(value), expected, "{value}");
        }
        assert!(single(f64::NAN).is_nan());
    }
}
